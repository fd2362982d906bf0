package planner

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// keptViews bounds what a shadow remembers: a view costs memory by its columns.
const keptViews = 64

// view is one that exists in the shadow.
type view struct {
	id      int    // the argument of its scanFunction
	name    string // as in SQL
	columns string // their names and types
}

// show makes the relations that a model names visible under their names: a view each
// over scanFunction with the relation's columns, in catalogs that stay attached. A view
// that is there with the same columns serves again. Others that are there are out of
// reach: the SQL names only what it was given.
func (s *shadow) show(ctx context.Context, rels []*Relation) error {
	s.scanned = map[int]*Relation{}
	for _, r := range rels {
		infos, err := s.columnInfos(ctx, r)
		if err != nil {
			return err
		}
		id, err := s.showOne(ctx, r, infos)
		if err != nil {
			return fmt.Errorf("relation %s: %w", r.Label, err)
		}
		s.scanned[id] = r
	}
	return nil
}

func (s *shadow) showOne(ctx context.Context, r *Relation, infos []duckdb.ColumnInfo) (id int, err error) {
	var columns strings.Builder
	for _, c := range r.Table.Columns {
		fmt.Fprintf(&columns, "%s %s,", quote(c.Name), shadowType(c.Type))
	}
	v := view{name: viewName(r), columns: columns.String()}
	// DuckDB's names ignore case: a view of the name in another case is replaced.
	at := slices.IndexFunc(s.views, func(o view) bool { return strings.EqualFold(o.name, v.name) })
	if at >= 0 && s.views[at].name == v.name && s.views[at].columns == v.columns {
		v = s.views[at]
		s.views = append(slices.Delete(s.views, at, at+1), v) // used last
		return v.id, nil
	}
	if at >= 0 {
		s.forget(s.views[at].id)
		s.views = slices.Delete(s.views, at, at+1)
	}
	s.lastID++
	v.id = s.lastID
	s.mu.Lock()
	s.shown[v.id] = infos
	s.mu.Unlock()
	if err := s.schema(ctx, r); err != nil {
		return 0, err
	}
	if err := s.exec(ctx, createView(r, v.id)); err != nil {
		return 0, err
	}
	s.views = append(s.views, v)
	return v.id, nil
}

func (s *shadow) forget(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shown, id)
}

// hide ends a plan: it drops the views beyond keptViews that were not used for longest.
func (s *shadow) hide(ctx context.Context) {
	for len(s.views) > keptViews {
		if err := s.exec(context.WithoutCancel(ctx), dropView(s.views[0].name)); err != nil {
			s.broken = true
		}
		s.forget(s.views[0].id)
		s.views = slices.Delete(s.views, 0, 1)
	}
}

func (s *shadow) schema(ctx context.Context, r *Relation) error {
	catalog := quote(r.Catalog + Marker)
	schema := catalog + "." + quote(r.Schema)
	for _, step := range [][2]string{{catalog, "ATTACH ':memory:' AS "}, {schema, "CREATE SCHEMA IF NOT EXISTS "}} {
		name := strings.ToLower(step[0]) // DuckDB's names ignore case
		if s.schemas[name] {
			continue
		}
		if err := s.exec(ctx, step[1]+step[0]); err != nil {
			return err
		}
		s.schemas[name] = true
	}
	return nil
}

func (s *shadow) columnInfos(ctx context.Context, r *Relation) ([]duckdb.ColumnInfo, error) {
	if r.Table == nil || len(r.Table.Columns) == 0 {
		return nil, &Error{Msg: fmt.Sprintf("relation %s has no columns", r.Label)}
	}
	seen := map[string]string{}
	var missing []string
	for _, c := range r.Table.Columns {
		low := strings.ToLower(c.Name)
		if other, ok := seen[low]; ok {
			return nil, &Error{Msg: fmt.Sprintf("relation %s has the columns %q and %q, which DuckDB cannot tell apart: select one of them in a view on the source, under another name", r.Label, other, c.Name)}
		}
		seen[low] = c.Name
		if t := shadowType(c.Type).String(); s.types[t] == nil && !slices.Contains(missing, t) {
			missing = append(missing, t)
		}
	}
	if err := s.learnTypes(ctx, missing); err != nil {
		return nil, fmt.Errorf("relation %s: %w", r.Label, err)
	}
	var infos []duckdb.ColumnInfo
	for _, c := range r.Table.Columns {
		infos = append(infos, duckdb.ColumnInfo{Name: c.Name, T: s.types[shadowType(c.Type).String()]})
	}
	return infos, nil
}

// learnTypes asks DuckDB for its descriptions of types. They cannot be built in Go
// alone: the driver's constructors do not know JSON.
func (s *shadow) learnTypes(ctx context.Context, types []string) error {
	if len(types) == 0 {
		return nil
	}
	q := "SELECT CAST(NULL AS " + strings.Join(types, "), CAST(NULL AS ") + ")"
	return s.prepare(ctx, q, func(st *duckdb.Stmt) error {
		for i, t := range types {
			info, err := st.ColumnTypeInfo(i)
			if err != nil {
				return err
			}
			s.types[t] = info
		}
		return nil
	})
}

// prepare hands the prepared statement of q to f. It runs nothing.
func (s *shadow) prepare(ctx context.Context, q string, f func(*duckdb.Stmt) error) error {
	return s.conn.Raw(func(c any) error {
		st, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, q)
		if err != nil {
			return err
		}
		return errors.Join(f(st.(*duckdb.Stmt)), st.Close())
	})
}

// logicalType maps DuckDB's description of a type back; ok is false for types that
// the contract has no kind for.
func logicalType(info duckdb.TypeInfo) (t connectors.Type, ok bool) {
	if a := info.Alias(); a != "" {
		return connectors.T(connectors.JSON), a == "JSON"
	}
	if k, found := kinds[info.InternalType()]; found {
		return connectors.T(k), true
	}
	switch d := info.Details().(type) {
	case *duckdb.DecimalDetails:
		return connectors.Dec(int(d.Width), int(d.Scale)), true
	case *duckdb.ListDetails:
		elem, ok := logicalType(d.Child)
		return connectors.ListOf(elem), ok
	case *duckdb.MapDetails:
		k, ok1 := logicalType(d.Key)
		v, ok2 := logicalType(d.Value)
		return connectors.Type{Kind: connectors.Map, Fields: []connectors.Field{{Name: "key", Type: k}, {Name: "value", Type: v}}}, ok1 && ok2
	case *duckdb.StructDetails:
		t := connectors.Type{Kind: connectors.Struct}
		for _, e := range d.Entries {
			ft, ok := logicalType(e.Info())
			if !ok {
				return t, false
			}
			t.Fields = append(t.Fields, connectors.Field{Name: e.Name(), Type: ft})
		}
		return t, true
	}
	return t, false
}

var kinds = map[duckdb.Type]connectors.Kind{
	duckdb.TYPE_BOOLEAN: connectors.Boolean, duckdb.TYPE_TINYINT: connectors.TinyInt, duckdb.TYPE_SMALLINT: connectors.SmallInt,
	duckdb.TYPE_INTEGER: connectors.Integer, duckdb.TYPE_BIGINT: connectors.BigInt, duckdb.TYPE_HUGEINT: connectors.HugeInt,
	duckdb.TYPE_UTINYINT: connectors.UTinyInt, duckdb.TYPE_USMALLINT: connectors.USmallInt, duckdb.TYPE_UINTEGER: connectors.UInteger,
	duckdb.TYPE_UBIGINT: connectors.UBigInt, duckdb.TYPE_FLOAT: connectors.Float, duckdb.TYPE_DOUBLE: connectors.Double,
	duckdb.TYPE_VARCHAR: connectors.Varchar, duckdb.TYPE_BLOB: connectors.Blob, duckdb.TYPE_DATE: connectors.Date,
	duckdb.TYPE_TIME: connectors.Time, duckdb.TYPE_TIME_TZ: connectors.TimeTZ, duckdb.TYPE_TIMESTAMP: connectors.Timestamp,
	duckdb.TYPE_TIMESTAMP_NS: connectors.TimestampNS, duckdb.TYPE_TIMESTAMP_TZ: connectors.TimestampTZ,
	duckdb.TYPE_INTERVAL: connectors.Interval, duckdb.TYPE_UUID: connectors.UUID, duckdb.TYPE_BIT: connectors.Bit,
}
