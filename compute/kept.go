package compute

import (
	"context"
	"errors"
	"strings"

	"github.com/dvt-dev/dvt/planner"
)

// keptCatalog holds results that are queried more than once; no output can have its
// name, for a profile's names end before the marker.
const keptCatalog = "__dvt_kept"

// Kept is a materialized result of a model, to be named in SQL for Query and Columns.
func Kept(name string) string {
	return relationName(keptCatalog+planner.Marker, "main", name)
}

// Keep runs a SELECT once and keeps its rows under name (see Kept), spilling like
// everything else. It returns the rows.
func (m *Model) Keep(ctx context.Context, name, sql string) (rows int64, err error) {
	m.mu.Lock()
	err = m.ensure(ctx, keptCatalog+m.suffix, "main")
	m.mu.Unlock()
	if err != nil {
		return 0, m.failed("keeping", name, err)
	}
	session, err := m.db.Connect(ctx)
	if err != nil {
		return 0, m.failed("keeping", name, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	rows, err = session.Count(ctx, marked("CREATE TABLE "+Kept(name)+" AS "+trimmed(sql), m.suffix))
	return rows, m.unmark(err)
}

// Int runs a query of one integer.
func (m *Model) Int(ctx context.Context, sql string) (n int64, err error) {
	session, err := m.db.Connect(ctx)
	if err != nil {
		return 0, m.failed("querying", m.name, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	n, err = session.Count(ctx, marked(sql, m.suffix))
	return n, m.unmark(err)
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}

// SurplusRows counts the rows of a kept result beyond one for each key; NULL equals NULL.
func SurplusRows(kept string, key []string) string {
	return "SELECT (SELECT count(*) FROM " + kept + ") - (SELECT count(*) FROM (SELECT DISTINCT " + quoteAll(key) + " FROM " + kept + "))"
}

// RepeatedKey gives one key that repeats, by the columns of key.
func RepeatedKey(kept string, key []string) string {
	k := quoteAll(key)
	return "SELECT " + k + " FROM " + kept + " GROUP BY " + k + " HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
}

// LatestRows gives one row for each key: the one with the highest watermark.
func LatestRows(kept string, key []string, watermark string) string {
	return "SELECT * FROM " + kept + " QUALIFY row_number() OVER (PARTITION BY " + quoteAll(key) + " ORDER BY " + quote(watermark) + " DESC NULLS LAST) = 1"
}

// TiedKey gives one key of which several rows share the highest watermark.
func TiedKey(kept string, key []string, watermark string) string {
	k := quoteAll(key)
	return "SELECT " + k + " FROM (SELECT * FROM " + kept + " QUALIFY rank() OVER (PARTITION BY " + k + " ORDER BY " + quote(watermark) +
		" DESC NULLS LAST) = 1) GROUP BY " + k + " HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
}

// Highest is the highest value of a column of a kept result.
func Highest(kept, column string) string {
	return "SELECT max(" + quote(column) + ") AS value FROM " + kept
}

// Filtered is a SELECT with a condition over its output columns.
func Filtered(sql, condition string) string {
	return "SELECT * FROM (" + trimmed(sql) + "\n) AS __dvt_delta WHERE " + condition
}

// Probe is an aggregate over a SELECT's output column.
func Probe(sql, aggregate, column string) string {
	return "SELECT " + aggregate + "(" + quote(column) + ") AS value FROM (" + trimmed(sql) + "\n) AS __dvt_probe"
}

// Quote quotes an identifier for DuckDB.
func Quote(ident string) string { return quote(ident) }

// CastColumns gives the columns of a kept result under new names and, where to is set,
// cast to that type. A column without a name is NULL.
func CastColumns(kept string, names []string, as []string, to []string) string {
	exprs := make([]string, len(names))
	for i, n := range names {
		exprs[i] = quote(n)
		if n == "" {
			exprs[i] = "NULL"
		}
		if to[i] != "" {
			exprs[i] = "CAST(" + exprs[i] + " AS " + to[i] + ")"
		}
		exprs[i] += " AS " + quote(as[i])
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + kept
}

// LostValue gives one value of a column that a cast to another type does not keep, and the
// columns that name its row.
func LostValue(kept, column, from, to string, named []string) string {
	c := quote(column)
	return "SELECT CAST(" + c + " AS VARCHAR) AS value" + textColumns(named) + " FROM " + kept + " WHERE " + c + " IS NOT NULL AND TRY_CAST(TRY_CAST(" + c + " AS " + to +
		") AS " + from + ") IS DISTINCT FROM " + c + " LIMIT 1"
}

// textColumns is a list of columns as text, to follow others.
func textColumns(names []string) string {
	out := ""
	for _, n := range names {
		out += ", CAST(" + quote(n) + " AS VARCHAR) AS " + quote(n)
	}
	return out
}

// SameName says that DuckDB takes two identifiers for one.
func SameName(a, b string) bool { return strings.EqualFold(a, b) }
