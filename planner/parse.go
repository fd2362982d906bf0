package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Name is one place of the SQL that names a relation.
type Name struct {
	Catalog, Schema, Name string // Catalog without Marker
	Offset                int    // of the name in the SQL, in bytes
}

// query is a model's SQL as DuckDB's parser sees it: the gate in front of everything
// else, and the places of names.
type query struct {
	sql     string
	node    obj // the statement's query node
	names   []Name
	ordered bool
	// unstable is a function that DuckDB folds to a constant when it plans and whose
	// value may differ when the model runs: nothing that was folded may be trusted.
	unstable string
	volatile string // a function that gives another value at each call
	clock    string // a function, or a name that may be one, of the frozen clock
}

// tableFunctions are those that a model may use: they compute rows from their
// arguments alone. All others read files, settings or catalogs.
var tableFunctions = []string{"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"}

// unstableFunctions have results that depend on the instance or the transaction.
// Functions of the clock are not among them: they are frozen.
var unstableFunctions = []string{
	"current_database", "current_schema", "current_schemas", "in_search_path", "txid_current", "getvariable",
	"current_setting", "current_user", "session_user", "user", "current_role", "current_catalog",
}

var volatileFunctions = []string{
	"random", "setseed", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "nextval", "currval", "current_connection_id", "current_query",
	"current_query_id", "current_transaction_id", "sleep_ms", "stats", "write_log", "error",
}

// frozenFunctions have a value that ClockMacros freezes, directly or inside a macro of
// DuckDB.
var frozenFunctions = append([]string{"ago", "pg_conf_load_time", "pg_postmaster_start_time"}, clockFunctions...)

// clockNames are frozen functions where no column has the name.
var clockNames = []string{"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}

// clockFunctions read the clock when they are called past the macros that freeze it:
// system.main.now().
var clockFunctions = []string{
	"now", "get_current_timestamp", "transaction_timestamp", "current_date", "today", "current_localtimestamp",
	"current_localtime", "get_current_time", "age",
}

const useRefs = "name tables with source() or ref()"

// parse accepts exactly one SELECT that names relations in full.
func (s *shadow) parse(ctx context.Context, sql string) (*query, error) {
	if q := s.parsed.get(sql); q != nil {
		return q, nil
	}
	q, err := s.parseNew(ctx, sql)
	if err == nil {
		s.parsed.put(sql, q)
	}
	return q, err
}

func (s *shadow) parseNew(ctx context.Context, sql string) (*query, error) {
	root, err := s.serialize(ctx, "json_serialize_sql", sql, "")
	if err != nil {
		return nil, err
	}
	if root["error"] == true {
		fault := duckFault(sql, root)
		if str(root, "error_type") == "not implemented" { // DuckDB parses it, and it is no SELECT
			why := ": " + fault.Msg
			if strings.Contains(why, "Only SELECT statements") {
				why = ", and this is another statement (a PIVOT is one too, unless it names its values with IN)"
			}
			fault = faultAt(sql, firstWord(sql), "a model is one SELECT%s", why)
		}
		return nil, fault
	}
	statements := list(root, "statements")
	if len(statements) == 0 {
		return nil, faultAt(sql, 0, "a model is one SELECT: there is no statement here")
	}
	if len(statements) > 1 {
		return nil, faultAt(sql, secondStatement(sql), "a model is one SELECT: there are %d statements", len(statements))
	}
	st, _ := statements[0].(obj)
	q := &query{sql: plainEnd(sql), node: sub(st, "node")}
	for _, m := range list(q.node, "modifiers") {
		if mo, ok := m.(obj); ok && str(mo, "type") == "ORDER_MODIFIER" {
			q.ordered = true
		}
	}
	if err := q.visit(q.node, nil); err != nil {
		return nil, err
	}
	slices.SortStableFunc(q.names, func(a, b Name) int { return a.Offset - b.Offset })
	return q, nil
}

// visit walks the parse tree with the names of the common table expressions in scope.
func (q *query) visit(v any, ctes []string) error {
	switch x := v.(type) {
	case []any:
		for _, c := range x {
			if err := q.visit(c, ctes); err != nil {
				return err
			}
		}
	case obj:
		if m := sub(x, "cte_map"); m != nil {
			var err error
			if ctes, err = q.visitCTEs(m, ctes); err != nil {
				return err
			}
		}
		if err := q.check(x, ctes); err != nil {
			return err
		}
		for k, c := range x {
			if k == "cte_map" {
				continue
			}
			if err := q.visit(c, ctes); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitCTEs visits the definitions of one WITH, each with those before it in scope
// (and itself, if it recurs), and returns the scope of the query below.
func (q *query) visitCTEs(m obj, ctes []string) ([]string, error) {
	ctes = slices.Clone(ctes)
	for _, e := range list(m, "map") {
		entry, _ := e.(obj)
		name, value := str(entry, "key"), sub(entry, "value")
		inside := ctes
		if node := sub(sub(value, "query"), "node"); str(node, "type") == "RECURSIVE_CTE_NODE" {
			inside = append(slices.Clone(ctes), name)
		}
		if err := q.visit(value, inside); err != nil {
			return nil, err
		}
		ctes = append(ctes, name)
	}
	return ctes, nil
}

func (q *query) check(o obj, ctes []string) error {
	at := num(o, "query_location")
	switch str(o, "type") {
	case "BASE_TABLE":
		return q.checkTable(o, at, ctes)
	case "TABLE_FUNCTION":
		name := str(sub(o, "function"), "function_name")
		if !slices.Contains(tableFunctions, strings.ToLower(name)) {
			return faultAt(q.sql, at, "table function %s is not allowed: %s", name, useRefs)
		}
	case "JOIN":
		if str(o, "ref_type") == "POSITIONAL" {
			return faultAt(q.sql, at, "POSITIONAL JOIN needs rows in an order, and relations have none: join on a column")
		}
	case "SHOW_REF":
		return faultAt(q.sql, at, "a model is one SELECT: DESCRIBE, SHOW and SUMMARIZE are not")
	}
	switch str(o, "class") {
	case "PARAMETER":
		return faultAt(q.sql, at, "parameters have no value in a model: use Jinja")
	case "FUNCTION":
		name := strings.ToLower(str(o, "function_name"))
		qualified := str(o, "catalog") != "" || str(o, "schema") != ""
		if slices.Contains(unstableFunctions, name) || qualified && slices.Contains(clockFunctions, name) {
			q.unstable = name
		}
		if slices.Contains(volatileFunctions, name) {
			q.volatile = name
		}
		if slices.Contains(frozenFunctions, name) {
			q.clock = name
		}
	case "COLUMN_REF":
		for _, name := range columnRef(o) {
			if slices.Contains(clockNames, strings.ToLower(name)) {
				q.clock = name
			}
		}
	}
	return nil
}

func (q *query) checkTable(o obj, at int, ctes []string) error {
	catalog, schema, table := str(o, "catalog_name"), str(o, "schema_name"), str(o, "table_name")
	isCTE := func(n string) bool { return strings.EqualFold(n, table) }
	if catalog == "" && schema == "" && slices.ContainsFunc(ctes, isCTE) {
		return nil
	}
	name, marked := strings.CutSuffix(catalog, Marker)
	if !marked {
		full := strings.TrimPrefix(strings.TrimPrefix(catalog+"."+schema+"."+table, "."), ".")
		return faultAt(q.sql, at, "table %q: %s", full, useRefs)
	}
	q.names = append(q.names, Name{name, schema, table, at})
	return nil
}

// resolve finds the relations of in that the query names, each once, in order of
// appearance.
func (q *query) resolve(in Input) ([]*Relation, error) {
	var used []*Relation
	for _, n := range q.names {
		i := slices.IndexFunc(in.Relations, func(r Relation) bool {
			return r.Catalog == n.Catalog && r.Schema == n.Schema && r.Name == n.Name
		})
		if i < 0 {
			return nil, faultAt(q.sql, n.Offset, "table %q: %s", n.Catalog+"."+n.Schema+"."+n.Name, useRefs)
		}
		if r := &in.Relations[i]; !slices.Contains(used, r) {
			used = append(used, r)
		}
	}
	for i, r := range used {
		for _, o := range used[:i] {
			if strings.EqualFold(r.Catalog+"."+r.Schema+"."+r.Name, o.Catalog+"."+o.Schema+"."+o.Name) {
				return nil, &Error{Msg: fmt.Sprintf("relations %s and %s differ only in the case of their names, which DuckDB cannot tell apart", o.Label, r.Label)}
			}
		}
	}
	return used, nil
}
