package planner

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// testDialect speaks DuckDB's SQL, in which every predicate is exact, and can be told
// to be worse: text says how good it is with text, and refuse names what it has no
// answer for.
type testDialect struct {
	text   connectors.Verdict
	refuse func(*connectors.Pred) bool
	// catalog is where the relations are, "" where none is run.
	catalog string
}

func (d testDialect) Quote(ident string) string { return quote(ident) }

func (d testDialect) Relation(r connectors.Relation) string {
	name := quote(r.Schema) + "." + quote(r.Name)
	if d.catalog != "" {
		name = quote(d.catalog) + "." + name
	}
	return name
}

func (d testDialect) Select(e connectors.Extract) string {
	cols := []string{}
	for _, c := range e.Columns {
		cols = append(cols, quote(e.Table.Columns[c].Name))
	}
	if len(cols) == 0 {
		cols = append(cols, "1")
	}
	return d.selectFrom(e, cols)
}

func (d testDialect) Extreme(t *connectors.Table, col int, highest bool) (string, bool) {
	c := &t.Columns[col]
	return extremeName(highest) + "(" + quote(c.Name) + ")", c.Type.Kind < connectors.List && (c.Type.Kind != connectors.Varchar || d.text == connectors.Exact)
}

func (d testDialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	cols := []string{}
	for i, c := range e.Columns {
		cols = append(cols, exprs[i]+" AS "+quote(e.Table.Columns[c].Name))
	}
	return d.selectFrom(e, cols)
}

// mute is a dialect without further abilities.
type mute struct{ connectors.Dialect }

func (d testDialect) selectFrom(e connectors.Extract, cols []string) string {
	q := "SELECT " + strings.Join(cols, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		q += " WHERE " + e.Where
	}
	if len(e.OrderBy) > 0 {
		q += " ORDER BY " + strings.Join(e.OrderBy, ", ")
	}
	if e.Limit >= 0 {
		q += fmt.Sprintf(" LIMIT %d", e.Limit)
	}
	return q
}

func (d testDialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	if d.refuse != nil && d.refuse(p) {
		return connectors.Answer{Reason: "the test refuses it"}
	}
	a := connectors.Answer{SQL: leafText(p, t), Verdict: connectors.Exact}
	if t.Columns[p.Col].Type.Kind == connectors.Varchar && p.Kind != connectors.PNull && d.text != connectors.Exact {
		a.Verdict, a.Reason = d.text, "text ignores case"
		if d.text == connectors.No {
			a.SQL = ""
		}
	}
	return a
}

func leafText(p *connectors.Pred, t *connectors.Table) string {
	c, not := quote(t.Columns[p.Col].Name), ""
	if p.Neg {
		not = "NOT "
	}
	switch p.Kind {
	case connectors.PCmp:
		return c + " " + p.Op + " " + valueText(p.Vals[0])
	case connectors.PColCmp:
		return c + " " + p.Op + " " + quote(t.Columns[p.Col2].Name)
	case connectors.PIn:
		vals := make([]string, len(p.Vals))
		for i, v := range p.Vals {
			vals[i] = valueText(v)
		}
		return c + " " + not + "IN (" + strings.Join(vals, ", ") + ")"
	case connectors.PNull:
		return c + " IS " + not + "NULL"
	case connectors.PBool:
		return not + c
	case connectors.PLike:
		if p.Op == "like" {
			return c + " " + not + "LIKE " + literal(p.Vals[0].Text)
		}
		return not + p.Op + "(" + c + ", " + literal(p.Vals[0].Text) + ")"
	}
	panic("no leaf")
}

func valueText(v connectors.Value) string {
	switch v.Type.Kind {
	case connectors.Varchar, connectors.UUID, connectors.JSON:
		return literal(v.Text)
	case connectors.Float, connectors.Double:
		return literal(strconv.FormatFloat(v.Float, 'g', -1, 64)) + "::" + v.Type.String()
	case connectors.Boolean:
		return strconv.FormatBool(v.Int.Sign() != 0)
	case connectors.Decimal:
		return decimalText(v.Int, v.Type.Scale)
	case connectors.Date:
		return "DATE " + literal(dateText(v.Int.Int64()))
	case connectors.Time:
		return "TIME " + literal(time.UnixMicro(v.Int.Int64()).UTC().Format("15:04:05.999999"))
	case connectors.Timestamp:
		return "TIMESTAMP " + literal(timestampText(v.Int.Int64()))
	case connectors.TimestampTZ:
		return "TIMESTAMPTZ " + literal(instantText(v.Int.Int64()))
	}
	return v.Int.String()
}

func (d testDialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	if t.Columns[k.Col].Type.Kind == connectors.Varchar && d.text != connectors.Exact {
		return "", false
	}
	s := quote(t.Columns[k.Col].Name)
	if k.Desc {
		s += " DESC"
	}
	if k.NullsLast {
		return s + " NULLS LAST", true
	}
	return s + " NULLS FIRST", true
}

func (d testDialect) TargetType(c connectors.Column) (string, error) { return c.Type.String(), nil }

// rel builds a relation from "name TYPE" column texts.
func rel(catalog, schema, name string, d connectors.Dialect, columns ...string) Relation {
	t := &connectors.Table{Relation: connectors.Relation{Schema: schema, Name: name}, RowEstimate: -1}
	for _, c := range columns {
		n, typ, _ := strings.Cut(c, ":")
		lt, err := connectors.ParseType(typ)
		if err != nil {
			panic(err)
		}
		t.Columns = append(t.Columns, connectors.Column{Name: n, Type: lt, Native: strings.ToLower(typ) + " native", Engine: catalog, Nullable: true})
	}
	return Relation{Catalog: catalog, Schema: schema, Name: name, Label: catalog + "." + name, Connection: catalog, Table: t, Dialect: d}
}

// measured gives a relation an engine's statistics, each "column distinct width".
func measured(r Relation, rows int64, stable bool, stats ...string) Relation {
	t := r.Table
	t.RowEstimate, t.Stable, t.Stats = rows, stable, make([]connectors.Stat, len(t.Columns))
	for _, s := range stats {
		f := strings.Fields(s)
		at := &t.Stats[t.Index(f[0])]
		at.Distinct, _ = strconv.ParseInt(f[1], 10, 64)
		at.Width, _ = strconv.Atoi(f[2])
	}
	return r
}

// testRelations are those of the corpus. Text of my is compared without case.
func testRelations() []Relation {
	exact := testDialect{text: connectors.Exact}
	return []Relation{
		rel("pg", "public", "orders", exact, "id:BIGINT", "customer_id:BIGINT", "amount:DECIMAL(18,2)", "status:VARCHAR", "note:VARCHAR",
			"created_at:TIMESTAMP", "updated_at:TIMESTAMPTZ", "d:DATE", "qty:INTEGER", "tags:VARCHAR[]", "addr:STRUCT(city VARCHAR, zip INTEGER)",
			"js:JSON", "f:DOUBLE", "flag:BOOLEAN", "u:UBIGINT", "group:VARCHAR", "Order Note:VARCHAR"),
		rel("my", "shop", "customers", testDialect{text: connectors.Superset}, "id:BIGINT", "name:VARCHAR", "email:VARCHAR", "region:VARCHAR",
			"created_at:TIMESTAMP", "score:DOUBLE", "active:BOOLEAN"),
		rel("ch", "default", "events", exact, "ts:TIMESTAMP", "user_id:UBIGINT", "kind:VARCHAR", "payload:VARCHAR", "value:DOUBLE", "d:DATE"),
		rel("lite", "main", "regions", mute{testDialect{text: connectors.No}}, "code:VARCHAR", "title:VARCHAR", "select:INTEGER", "parent:VARCHAR"),
		rel("files", "main", "prices", exact, "item_id:BIGINT", "ts:TIMESTAMP", "price:DOUBLE"),
		measured(rel("pg", "public", "sales", exact, "id:BIGINT", "customer_id:BIGINT", "status:VARCHAR", "channel:VARCHAR", "region:VARCHAR", "ts:TIMESTAMP",
			"d:DATE", "qty:INTEGER", "amount:DECIMAL(18,2)", "note:VARCHAR", "payload:JSON", "parent:BIGINT"), 10_000_000, true,
			"id 10000000 8", "customer_id 100000 8", "status 5 8", "channel 400 8", "region 200 8", "note 0 120", "payload 0 400", "parent 2000000 8"),
		measured(rel("pg", "public", "codes", exact, "id:BIGINT", "label:VARCHAR", "parent:BIGINT", "text:VARCHAR"), 1000, true, "id 1000 8", "parent 20 8", "label 900 8"),
		measured(rel("ch", "default", "clicks", exact, "id:BIGINT", "parent:BIGINT", "kind:VARCHAR", "payload:VARCHAR"), 50_000_000, false, "kind 1000 8"),
		measured(rel("pg", "public", "drafts", exact, "id:BIGINT", "parent:BIGINT", "kind:VARCHAR", "body:VARCHAR"), -1, true, "kind 1000 8"),
		rel("dw", "main", "this", exact, "id:BIGINT", "customer_id:BIGINT", "updated_at:TIMESTAMPTZ", "total:DECIMAL(18,2)"),
	}
}

var testNow = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// refs puts the full, marked names in place of {{ name }}.
func refs(sql string, rels []Relation) string {
	for i := range rels {
		sql = strings.ReplaceAll(sql, "{{ "+rels[i].Name+" }}", viewName(&rels[i]))
	}
	return sql
}
