package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// relationQuery finds a relation. The names are compared as text: as type name they
// would be cut at 63 bytes in silence and another relation be found.
const relationQuery = `
SELECT c.oid::text, c.relkind::text, c.reltuples::int8::text, c.relpages::text, getdatabaseencoding(),
       (c.relkind IN ('r','m') AND NOT c.relhassubclass AND NOT c.relrowsecurity)::text
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::text AND c.relname = $2::text AND c.relkind IN ('r','v','m','p','f')`

// columnsQuery lists the columns of a relation with the types that domains and arrays
// stand for. A domain may be over a domain, an array over a domain, hence the walk. With
// schema, name and kind it tells what ANALYZE found, with three empty texts it does not.
const columnsQuery = `
WITH RECURSIVE col AS (
  SELECT a.attnum, a.attname, a.atttypid, a.atttypmod, a.attndims, a.attnotnull, a.attcollation,
         a.atthasdef OR a.attidentity <> '' AS filled
    FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
), base(attnum, typid, typmod, dims, elem, depth) AS (
  SELECT attnum, atttypid, atttypmod, attndims::int, 0::oid, 0 FROM col
  UNION ALL
  SELECT b.attnum,
         CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,
         CASE WHEN t.typtype = 'd' AND t.typtypmod >= 0 THEN t.typtypmod ELSE b.typmod END,
         CASE WHEN t.typtype = 'd' AND t.typndims > 0 THEN t.typndims ELSE b.dims END,
         CASE WHEN t.typtype = 'd' THEN b.elem ELSE t.typelem END, b.depth + 1
    FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid
   WHERE t.typtype = 'd'
      OR b.elem = 0 AND t.typelem <> 0
         AND t.oid = (SELECT e.typarray FROM pg_catalog.pg_type e WHERE e.oid = t.typelem)
), last AS (
  SELECT DISTINCT ON (attnum) * FROM base ORDER BY attnum, depth DESC
)
SELECT c.attname, pg_catalog.format_type(c.atttypid, c.atttypmod), c.attnotnull::text,
       l.typid::text, l.typmod::text, l.dims::text, l.elem::text, t.typtype::text, t.typreceive::regproc::text,
       co.collname, co.collprovider::text, coalesce(to_jsonb(co)->>'collisdeterministic', 'true'), c.filled::text,
       st.n_distinct::text, st.avg_width::text
  FROM col c
  JOIN last l USING (attnum)
  JOIN pg_catalog.pg_type t ON t.oid = l.typid
  LEFT JOIN pg_catalog.pg_collation co ON co.oid = c.attcollation
  LEFT JOIN pg_catalog.pg_stats st
    ON st.schemaname = $2::text AND st.tablename = $3::text AND st.attname = c.attname AND st.inherited = ($4::text = 'p')
 ORDER BY c.attnum`

const primaryKeyQuery = `
SELECT a.attname
  FROM pg_catalog.pg_index i
  CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, n)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
 WHERE i.indrelid = $1::oid AND i.indisprimary AND k.n <= i.indnkeyatts
 ORDER BY k.n`

// Describe implements connectors.Conn.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	t := &connectors.Table{Relation: c.fill(rel), RowEstimate: -1}
	err := c.transaction(ctx, modeSnapshot, func(pc *pgconn.PgConn) error {
		found, err := c.query(ctx, pc, relationQuery, t.Schema, t.Name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("relation %s on %s: %w", t.Relation, c.name, connectors.ErrNotFound)
		}
		r := found[0]
		t.View = r[1].s != "r"
		// Partitions and children may be foreign, and a policy may ask for the time.
		t.Stable = r[5].s == "true"
		if n, err := strconv.ParseInt(r[2].s, 10, 64); err == nil && (n > 0 || n == 0 && !t.View && r[3].s != "0") {
			t.RowEstimate = n // before 14 what was never analyzed says 0 rows on 0 pages, and views always do
		}
		columns, err := c.query(ctx, pc, columnsQuery, r[0].s, t.Schema, t.Name, r[1].s)
		if err != nil {
			return err
		}
		for _, row := range columns {
			t.Columns = append(t.Columns, describeColumn(row, r[4].s))
			t.Stats = append(t.Stats, statOf(row, t.RowEstimate))
		}
		key, err := c.query(ctx, pc, primaryKeyQuery, r[0].s)
		for _, row := range key {
			t.PrimaryKey = append(t.PrimaryKey, row[0].s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func describeColumn(row []cell, encoding string) connectors.Column {
	col := connectors.Column{Name: row[0].s, Native: row[1].s, Engine: engineName, Nullable: row[2].s != "true",
		Collation: row[9].s, Attrs: map[string]string{}}
	info := scanType(row)
	typ, asText := info.logical()
	col.Type = typ
	switch {
	case asText:
		col.Attrs[attrForm] = formText
	case info.elem != info.sent: // elements of a domain are sent under its number
		col.Attrs[attrForm] = spellOID(info.elem)
	}
	if info.oid == nativeNames["inet"] {
		col.Attrs[attrAddress] = "true"
	}
	if info.kind == 'c' && info.elem == 0 {
		col.Attrs[attrComposite] = "true"
	}
	if info.oid == oidBpchar && info.elem == 0 {
		col.Attrs[attrPadded] = "true"
	}
	if row[11].s == "false" {
		col.Attrs[attrDeterministic] = "false"
	}
	if row[12].s == "true" { // a default, identity or generated value: inserts may leave it out
		col.Attrs["default"] = "true"
	}
	if !row[10].null {
		col.Attrs[attrProvider] = row[10].s
	}
	if encoding != "UTF8" {
		col.Attrs[attrEncoding] = encoding
	}
	return col
}

// statOf reads what ANALYZE found: a number of values, or below zero their share of the
// rows.
func statOf(row []cell, rows int64) (s connectors.Stat) {
	s.Width = row[14].int()
	n, err := strconv.ParseFloat(row[13].s, 64)
	if err != nil { // never analyzed, or not to be seen by this user
		return s
	}
	if n < 0 {
		n *= -float64(max(rows, 0))
	}
	s.Distinct = int64(n)
	return s
}

// scanType reads the type of one row of columnsQuery.
func scanType(row []cell) typeInfo {
	info := typeInfo{oid: row[3].uint32(), typmod: int32(row[4].int()), dims: row[5].int(), kind: row[7].s[0], receive: row[8].s}
	if row[6].s != "0" {
		info.elem, info.sent, info.dims = info.oid, row[6].uint32(), max(info.dims, 1)
	}
	return info
}

// cell is one value of a catalog query, in text.
type cell struct {
	s    string
	null bool
}

func (c cell) int() int       { n, _ := strconv.Atoi(c.s); return n }
func (c cell) uint32() uint32 { n, _ := strconv.ParseUint(c.s, 10, 32); return uint32(n) }

// query runs one small statement with text parameters and gathers its rows.
func (c *conn) query(ctx context.Context, pc *pgconn.PgConn, sql string, args ...string) ([][]cell, error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	var rows [][]cell
	r := pc.ExecParams(ctx, sql, params, nil, nil, nil)
	for r.NextRow() {
		row := make([]cell, len(r.Values()))
		for i, v := range r.Values() {
			row[i] = cell{s: string(v), null: v == nil}
		}
		rows = append(rows, row)
	}
	if _, err := r.Close(); err != nil {
		return nil, c.statementError(sql, 0, err)
	}
	return rows, nil
}

// statement is one with a parameter.
type statement struct{ sql, arg string }

// queries runs small statements in one round trip, one after the other, and gathers the
// rows of each. None runs after one that failed.
func (c *conn) queries(ctx context.Context, pc *pgconn.PgConn, all []statement) ([][][]cell, error) {
	batch := &pgconn.Batch{}
	for _, s := range all {
		batch.ExecParams(s.sql, [][]byte{[]byte(s.arg)}, nil, nil, nil)
	}
	r := pc.ExecBatch(ctx, batch)
	answers := make([][][]cell, 0, len(all))
	for r.NextResult() {
		res := r.ResultReader().Read()
		if res.Err != nil {
			break
		}
		rows := make([][]cell, len(res.Rows))
		for i, values := range res.Rows {
			for _, v := range values {
				rows[i] = append(rows[i], cell{s: string(v), null: v == nil})
			}
		}
		answers = append(answers, rows)
	}
	err := r.Close()
	if err == nil && len(answers) != len(all) {
		err = fmt.Errorf("%d answers to %d statements", len(answers), len(all))
	}
	if err != nil {
		return nil, c.statementError(all[min(len(answers), len(all)-1)].sql, 0, err)
	}
	return answers, nil
}
