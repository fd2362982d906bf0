package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Keys of Column.Attrs.
const (
	attrCharset = "charset" // a text column's character set
	// attrDefault is set where a row that does not name the column gets a value anyway:
	// a default, the next number, what the column is generated from.
	attrDefault = "default"
	attrStorage = "storage" // the table's storage engine, where it has no transactions
)

// Describe reads the columns of rel from information_schema.
func (c *Conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	var t *connectors.Table
	err := c.with(ctx, func(s *session) (err error) {
		t, _, err = s.describe(ctx, c.at(rel))
		return err
	})
	return t, err
}

// extra is what the catalog says of a column beyond connectors.Column.
type extra struct {
	deflt     cell // the default's text
	attribute string
	comment   string
}

// details are the facts that a swap keeps.
type details struct {
	kind    string // BASE TABLE, VIEW, SYSTEM VERSIONED, SEQUENCE
	engine  string
	comment string
	columns []extra
}

func (s *session) describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, *details, error) {
	d := dialect{s.c}
	rows, err := s.rows(ctx, d.tableSQL(rel))
	if err != nil {
		return nil, nil, err
	}
	if len(rows) != 1 {
		return nil, nil, fmt.Errorf("%s: relation %s: %w", s.c.where, rel, connectors.ErrNotFound)
	}
	info := &details{kind: rows[0][0].s, engine: rows[0][1].s, comment: rows[0][3].s}
	t := &connectors.Table{Relation: rel, View: strings.Contains(info.kind, "VIEW"), RowEstimate: -1}
	if n, err := strconv.ParseInt(rows[0][2].s, 10, 64); err == nil {
		t.RowEstimate = n
	}
	t.Stable = info.kind == "BASE TABLE" && strings.EqualFold(info.engine, "InnoDB")
	json, err := s.jsonColumns(ctx, rel)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = s.rows(ctx, d.columnsSQL(rel)); err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		col := s.c.column(r, json[r[0].s])
		if !col.Nullable && (!r[6].null || strings.Contains(r[7].s, "auto_increment") || isGenerated(r[7].s)) {
			setAttr(&col, attrDefault, "yes")
		}
		if info.kind == "BASE TABLE" && notTransactional(info.engine) != "" {
			setAttr(&col, attrStorage, info.engine)
		}
		t.Columns = append(t.Columns, col)
		info.columns = append(info.columns, extra{deflt: r[6], attribute: r[7].s, comment: r[8].s})
	}
	if len(t.Columns) == 0 {
		// A view whose base table is gone is listed and has no columns; so has a
		// relation that was dropped between the two reads.
		return nil, nil, fmt.Errorf("%s: relation %s has no columns: %w", s.c.where, rel, connectors.ErrNotFound)
	}
	if !t.View {
		if rows, err = s.rows(ctx, d.indexesSQL(rel)); err != nil {
			return nil, nil, err
		}
		t.Stats = make([]connectors.Stat, len(t.Columns))
		for _, r := range rows {
			if r[1].s == "1" {
				t.PrimaryKey = append(t.PrimaryKey, r[0].s)
			}
			if i := t.Index(r[0].s); i >= 0 && r[2].s == "1" {
				n, _ := strconv.ParseInt(r[3].s, 10, 64) // NULL: 0, not known
				t.Stats[i].Distinct = max(t.Stats[i].Distinct, n)
			}
		}
	}
	return t, info, nil
}

func setAttr(col *connectors.Column, key, value string) {
	if col.Attrs == nil {
		col.Attrs = map[string]string{}
	}
	col.Attrs[key] = value
}

// isGenerated reads the catalog's EXTRA.
func isGenerated(attribute string) bool {
	return strings.Contains(attribute, "GENERATED") && !strings.Contains(attribute, "DEFAULT_GENERATED")
}

// column maps one row of columnsSQL.
func (c *Conn) column(r []cell, json bool) connectors.Column {
	length, _ := strconv.Atoi(r[5].s) // absent or too long for an int: no bound
	col := connectors.Column{
		Name:      r[0].s,
		Native:    r[1].s,
		Engine:    c.server().engine,
		Nullable:  r[2].s == "YES",
		Collation: r[4].s,
		Type:      sourceType(r[1].s, length, c.tinyint1IsBool),
	}
	if json && col.Type.Kind == connectors.Varchar {
		col.Type = connectors.T(connectors.JSON)
	}
	if !r[3].null {
		col.Attrs = map[string]string{attrCharset: r[3].s}
	}
	return col
}

// jsonColumns are the columns that MariaDB calls longtext and that were declared JSON:
// it adds CHECK (json_valid(`c`)) to them.
func (s *session) jsonColumns(ctx context.Context, rel connectors.Relation) (map[string]bool, error) {
	if !s.c.server().atLeast(engineMariaDB, 10, 2, 22) {
		return nil, nil // older ones do not list their checks
	}
	rows, err := s.rows(ctx, dialect{s.c}.jsonChecksSQL(rel))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, r := range rows {
		name, ok := strings.CutPrefix(r[0].s, "json_valid(`")
		name, ok2 := strings.CutSuffix(name, "`)")
		if ok && ok2 {
			found[strings.ReplaceAll(name, "``", "`")] = true
		}
	}
	return found, nil
}

// Probe finds the decimals whose declared precision DuckDB lacks: 38 digits hold most
// values of a decimal(65,30).
func (c *Conn) Probe(ctx context.Context, t *connectors.Table, cols []int, where string) ([]connectors.Type, error) {
	if len(cols) == 0 {
		return nil, nil
	}
	var row []cell
	err := c.with(ctx, func(s *session) error {
		rows, err := s.rows(ctx, dialect{c}.probeSQL(t, cols, where))
		if err == nil {
			row = rows[0]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	types := make([]connectors.Type, len(cols))
	for i, k := range cols {
		whole, _ := strconv.Atoi(row[2*i].s) // NULL over no rows: 0
		scale, _ := strconv.Atoi(row[2*i+1].s)
		col := &t.Columns[k]
		if whole+scale > 38 {
			return nil, &connectors.TypeError{Column: col.Name, Native: col.Native,
				Reason: fmt.Sprintf("its values need %d digits before and %d after the point, DECIMAL holds 38: give the column of the source data_type varchar, or double", whole, scale)}
		}
		types[i] = connectors.Dec(38, scale)
	}
	return types, nil
}
