package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// object is a relation with all that hangs on it and would be lost with it.
type object struct {
	oid, kind, owner, comment, options string
	name                               string // qualified and quoted by the server
	columns                            []objectColumn
	indexes                            []objectPart // those that no constraint owns
	keyIndexes                         []objectPart // those of constraints
	constraints                        []objectPart
	triggers                           []objectPart
	statements                         []string // rules and statistics, which name the relation themselves
	grants                             []grant
	foreign                            []objectPart // foreign keys of other tables to this one
	sequences                          [][2]string  // qualified name, owning column
	views                              []*object    // that depend on it, each before those that depend on that one
	viewDef                            string       // of a view
	others                             []string     // dependents that are no plain views, described
	hard, soft                         []string     // what a new table would lack: refused, or lost, when columns change
	print                              string       // changes with any of the above
}

type objectColumn struct {
	name, typ string // typ: numbers of type, modifier and collation
	notNull   bool
	def       string
	comment   string
}

// objectPart is an index, constraint or trigger.
type objectPart struct {
	name    string
	kind    string // constraint: p, u, x, c, f; index: u if unique; trigger: how it is enabled
	def     string
	columns []string
	comment string
	on      string // foreign: the table it belongs to
}

type grant struct {
	column, grantee, privilege string
	grantable                  bool
}

const objectQuery = `
SELECT c.oid::text, c.relkind::text, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
       (SELECT string_agg(quote_ident(split_part(o, '=', 1)) || '=' || quote_literal(substr(o, strpos(o, '=') + 1)), ', ')
          FROM unnest(c.reloptions) o),
       c.oid::regclass::text,
       CASE WHEN c.relkind IN ('v', 'm') THEN rtrim(pg_get_viewdef(c.oid), '; ') END,
       (c.relrowsecurity OR EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid))::text,
       (c.relispartition OR c.relkind IN ('p', 'f') OR c.reloftype <> 0
         OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid OR inhparent = c.oid))::text,
       (SELECT string_agg(quote_ident(p.pubname), ', ') FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
         WHERE r.prrelid = c.oid),
       (c.relpersistence = 'u')::text, (c.relkind = 'r' AND c.relreplident <> 'd')::text,
       EXISTS (SELECT FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = c.oid)::text
  FROM pg_class c WHERE c.oid = $1::oid`

const objectColumnsQuery = `
SELECT a.attname, format('%s:%s:%s', a.atttypid, a.atttypmod, a.attcollation), a.attnotnull::text,
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, col_description(a.attrelid, a.attnum),
       a.attidentity::text, a.attgenerated::text
  FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum`

const objectPartsQuery = `
WITH used AS (
  SELECT d.classid, d.objid, json_agg(DISTINCT a.attname)::text AS cols
    FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
   WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1::oid AND d.refobjsubid > 0
   GROUP BY 1, 2
)
SELECT CASE WHEN k.oid IS NULL THEN 'index' ELSE 'keyindex' END, c.relname, CASE WHEN i.indisunique THEN 'u' ELSE '' END,
       pg_get_indexdef(c.oid), coalesce(u.cols, '[]'), obj_description(c.oid, 'pg_class'), ''
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
  LEFT JOIN used u ON u.classid = CASE WHEN k.oid IS NULL THEN 'pg_class'::regclass ELSE 'pg_constraint'::regclass END
                  AND u.objid = coalesce(k.oid, c.oid)
 WHERE i.indrelid = $1::oid AND i.indisvalid
UNION ALL
SELECT 'constraint', k.conname, k.contype::text, pg_get_constraintdef(k.oid), coalesce(u.cols, '[]'),
       obj_description(k.oid, 'pg_constraint'), ''
  FROM pg_constraint k
  LEFT JOIN used u ON u.classid = 'pg_constraint'::regclass AND u.objid = k.oid
 WHERE k.conrelid = $1::oid AND k.contype IN ('p', 'u', 'x', 'c', 'f') AND k.conparentid = 0
UNION ALL
SELECT 'foreign', k.conname, k.contype::text, pg_get_constraintdef(k.oid), '[]', obj_description(k.oid, 'pg_constraint'),
       k.conrelid::regclass::text
  FROM pg_constraint k
 WHERE k.confrelid = $1::oid AND k.conrelid <> $1::oid AND k.contype = 'f' AND k.conparentid = 0
UNION ALL
SELECT 'trigger', t.tgname, t.tgenabled::text, pg_get_triggerdef(t.oid), '[]', obj_description(t.oid, 'pg_trigger'), ''
  FROM pg_trigger t WHERE t.tgrelid = $1::oid AND NOT t.tgisinternal
UNION ALL
SELECT 'statement', r.rulename, '', pg_get_ruledef(r.oid), '[]', NULL, ''
  FROM pg_rewrite r WHERE r.ev_class = $1::oid AND r.rulename <> '_RETURN'
UNION ALL
SELECT 'statement', s.stxname, '', pg_get_statisticsobjdef(s.oid), '[]', NULL, ''
  FROM pg_statistic_ext s WHERE s.stxrelid = $1::oid
UNION ALL
SELECT 'sequence', s.oid::regclass::text, '', '', json_build_array(a.attname)::text, NULL, ''
  FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
 WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1::oid AND d.deptype = 'a'
 ORDER BY 1, 2`

const grantsQuery = `
SELECT '', CASE g.grantee WHEN 0 THEN 'public' ELSE quote_ident(pg_get_userbyid(g.grantee)) END, g.privilege_type, bool_or(g.is_grantable)::text
  FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) g
 WHERE c.oid = $1::regclass GROUP BY 1, 2, 3
UNION ALL
SELECT a.attname, CASE g.grantee WHEN 0 THEN 'public' ELSE quote_ident(pg_get_userbyid(g.grantee)) END, g.privilege_type, bool_or(g.is_grantable)::text
  FROM pg_attribute a, aclexplode(a.attacl) g
 WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped GROUP BY 1, 2, 3
 ORDER BY 1, 2, 3`

// viewsQuery lists the views over a relation, those over views after them.
const viewsQuery = `
WITH RECURSIVE dep(oid, depth) AS (
  SELECT $1::oid, 0
  UNION
  SELECT r.ev_class, dep.depth + 1
    FROM dep JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = dep.oid AND d.classid = 'pg_rewrite'::regclass
    JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> dep.oid
)
SELECT oid::text FROM dep WHERE depth > 0 GROUP BY oid ORDER BY max(depth), oid`

// othersQuery describes what else depends on a relation or on its row type: functions,
// columns of its type, policies of other tables. Its own parts do not count.
const othersQuery = `
SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid)
  FROM pg_class c
  LEFT JOIN pg_type t ON t.oid = c.reltype
  JOIN pg_depend d ON d.deptype = 'n'
   AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
     OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray))
 WHERE c.oid = $1::oid
   AND NOT (d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass)
   AND NOT EXISTS (SELECT FROM pg_constraint k WHERE d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
                      AND (k.conrelid = c.oid OR k.contype = 'f'))
   AND NOT EXISTS (SELECT FROM pg_trigger g WHERE d.classid = 'pg_trigger'::regclass AND g.oid = d.objid AND g.tgrelid = c.oid)
   AND NOT EXISTS (SELECT FROM pg_attrdef f WHERE d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid AND f.adrelid = c.oid)
   AND NOT EXISTS (SELECT FROM pg_policy p WHERE d.classid = 'pg_policy'::regclass AND p.oid = d.objid AND p.polrelid = c.oid)
   AND NOT EXISTS (SELECT FROM pg_index i WHERE d.classid = 'pg_class'::regclass AND i.indexrelid = d.objid AND i.indrelid = c.oid)
 ORDER BY 1`

const findQuery = `SELECT c.oid::text, c.relkind::text, current_setting('search_path') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::text AND c.relname = $2::text`

const searchPathQuery = "SELECT set_config('search_path', $1, true)"

// inspect reads what hangs on rel; nil if there is no such relation. The definitions
// that the server spells are qualified in full, for it sees an empty search_path. The
// swap does it holding the lock of its target, so it takes few round trips: two, and one
// more where views depend on rel.
func (c *conn) inspect(ctx context.Context, pc *pgconn.PgConn, rel connectors.Relation) (*object, error) {
	found, err := c.query(ctx, pc, findQuery, rel.Schema, rel.Name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	oid, path := found[0][0].s, found[0][2].s
	o := &object{}
	var views []string
	err = c.inspectAll(ctx, pc, path, append(o.parts(oid), part{viewsQuery, oid, func(r []cell) error {
		views = append(views, r[0].s)
		return nil
	}}))
	if err != nil {
		return nil, err
	}
	if o.oid == "" {
		return nil, errChanged
	}
	return o, c.inspectViews(ctx, pc, path, o, views)
}

func (c *conn) inspectViews(ctx context.Context, pc *pgconn.PgConn, path string, o *object, oids []string) error {
	if len(oids) == 0 {
		return nil
	}
	all := make([]*object, len(oids))
	var parts []part
	for i, oid := range oids {
		all[i] = &object{}
		parts = append(parts, all[i].parts(oid)...)
	}
	if err := c.inspectAll(ctx, pc, path, parts); err != nil {
		return err
	}
	for _, v := range all {
		if v.oid == "" {
			return errChanged
		}
		o.print += v.print
		if v.kind == "v" {
			o.views = append(o.views, v)
			o.others = append(o.others, v.others...)
		} else {
			o.others = append(o.others, kindNames[v.kind]+" "+v.name)
		}
	}
	return nil
}

var kindNames = map[string]string{"r": "table", "v": "view", "m": "materialized view", "p": "partitioned table", "f": "foreign table",
	"S": "sequence", "i": "index", "I": "index", "c": "type", "t": "toast table"}

// part is one query about the relation of an oid.
type part struct {
	sql, oid string
	scan     func([]cell) error
}

// parts are the queries that fill o. What they give goes into its print.
func (o *object) parts(oid string) []part {
	printed := func(scan func([]cell) error) func([]cell) error {
		return func(r []cell) error {
			o.print += fmt.Sprintf("%v\n", r)
			return scan(r)
		}
	}
	return []part{
		{objectQuery, oid, printed(o.scanObject)}, {objectColumnsQuery, oid, printed(o.scanColumn)}, {objectPartsQuery, oid, printed(o.scanPart)},
		{grantsQuery, oid, printed(o.scanGrant)}, {othersQuery, oid, printed(o.scanOther)},
	}
}

// inspectAll runs parts in one round trip, with an empty search_path, and sets path again.
func (c *conn) inspectAll(ctx context.Context, pc *pgconn.PgConn, path string, parts []part) error {
	statements := []statement{{searchPathQuery, ""}}
	for _, p := range parts {
		statements = append(statements, statement{p.sql, p.oid})
	}
	answers, err := c.queries(ctx, pc, append(statements, statement{searchPathQuery, path}))
	if err != nil {
		return err
	}
	for i, p := range parts {
		for _, row := range answers[i+1] {
			if err := p.scan(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *object) scanObject(r []cell) error {
	o.oid, o.kind, o.owner, o.comment, o.options, o.name, o.viewDef = r[0].s, r[1].s, r[2].s, r[3].s, r[4].s, r[5].s, r[6].s
	for _, h := range []struct {
		is   cell
		what string
	}{{r[7], "row-level security"}, {r[8], "partitions, inheritance or a foreign server"}} {
		if h.is.s == "true" {
			o.hard = append(o.hard, h.what)
		}
	}
	if !r[9].null {
		o.hard = append(o.hard, "a place in the publication "+r[9].s)
	}
	for _, s := range []struct {
		is   cell
		what string
	}{{r[10], "the UNLOGGED attribute"}, {r[11], "a replica identity"}, {r[12], "a security label"}} {
		if s.is.s == "true" {
			o.soft = append(o.soft, s.what)
		}
	}
	return nil
}

func (o *object) scanColumn(r []cell) error {
	o.columns = append(o.columns, objectColumn{name: r[0].s, typ: r[1].s, notNull: r[2].s == "true", def: r[3].s, comment: r[4].s})
	if r[5].s != "" {
		o.soft = append(o.soft, fmt.Sprintf("the identity column %q", r[0].s))
	}
	if r[6].s != "" {
		o.soft = append(o.soft, fmt.Sprintf("the generated column %q", r[0].s))
	}
	return nil
}

func (o *object) scanPart(r []cell) error {
	p := objectPart{name: r[1].s, kind: r[2].s, def: r[3].s, comment: r[5].s, on: r[6].s}
	if err := json.Unmarshal([]byte(r[4].s), &p.columns); err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	switch r[0].s {
	case "index", "keyindex":
		tail, ok := indexTail(p.def)
		if !ok {
			return fmt.Errorf("reading the catalog: the definition of index %q is not understood: %s", p.name, p.def)
		}
		p.def = tail
		if r[0].s == "keyindex" {
			o.keyIndexes = append(o.keyIndexes, p)
		} else {
			o.indexes = append(o.indexes, p)
		}
	case "constraint":
		o.constraints = append(o.constraints, p)
	case "foreign":
		o.foreign = append(o.foreign, p)
	case "trigger":
		o.triggers = append(o.triggers, p)
	case "statement":
		o.statements = append(o.statements, p.def)
	case "sequence":
		o.sequences = append(o.sequences, [2]string{p.name, p.columns[0]})
	}
	return nil
}

func (o *object) scanGrant(r []cell) error {
	o.grants = append(o.grants, grant{r[0].s, r[1].s, r[2].s, r[3].s == "true"})
	return nil
}

func (o *object) scanOther(r []cell) error {
	o.others = append(o.others, r[0].s)
	return nil
}

// indexTail cuts "CREATE INDEX name ON schema.table" off an index definition: what is
// left, from " USING", fits any table with those columns.
func indexTail(def string) (string, bool) {
	rest, ok := strings.CutPrefix(def, "CREATE ")
	if !ok {
		return "", false
	}
	rest, _ = strings.CutPrefix(rest, "UNIQUE ")
	if rest, ok = strings.CutPrefix(rest, "INDEX "); !ok {
		return "", false
	}
	rest = skipIdent(rest)
	if rest, ok = strings.CutPrefix(rest, " ON "); !ok {
		return "", false
	}
	rest, _ = strings.CutPrefix(rest, "ONLY ")
	rest = skipIdent(rest)
	if after, dotted := strings.CutPrefix(rest, "."); dotted {
		rest = skipIdent(after)
	}
	return rest, strings.HasPrefix(rest, " USING ")
}

// skipIdent cuts one identifier, quoted or not, off the head of s.
func skipIdent(s string) string {
	if !strings.HasPrefix(s, `"`) {
		if i := strings.IndexAny(s, " ."); i >= 0 {
			return s[i:]
		}
		return ""
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return s[i+1:]
	}
	return ""
}
