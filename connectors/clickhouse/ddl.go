package clickhouse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Names of what dvt keeps beside a target.
const (
	stagingPrefix = "__dvt_"
	oldPrefix     = "__dvt_old_"
	lockPrefix    = "__dvt_lock_"
	claimPrefix   = "__dvt_claim_"
)

func hash(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(h[:])
}

func relationHash(rel connectors.Relation) string { return hash(rel.Schema, rel.Name)[:12] }

// runPart is 8 characters by which a run is recognised.
func runPart(run string) string {
	if len(run) >= 8 && strings.IndexFunc(run[:8], func(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) }) < 0 {
		return run[:8]
	}
	return hash(run)[:8]
}

func beside(target connectors.Relation, prefix, run string) connectors.Relation {
	return connectors.Relation{Schema: target.Schema, Name: prefix + runPart(run) + relationHash(target)}
}

// columnDef is a column of a staging table.
type columnDef struct {
	name string
	text string  // its type as dvt writes it
	t    *chType // and as the server has it
	typ  connectors.Type
}

// columnDefs are the columns of the staging table. Those that a sorting or partition
// key names are not Nullable: ClickHouse refuses NULL there.
func (f *facts) columnDefs(spec connectors.StageSpec) ([]columnDef, error) {
	keyed := keyWords(append(slices.Clone(spec.Options.OrderBy), spec.Options.PartitionBy...))
	required, err := requiredColumns(spec)
	if err != nil {
		return nil, err
	}
	var defs []columnDef
	for _, c := range spec.Columns {
		text, own := spec.Options.ColumnTypes[c.Name]
		if !own {
			var err error
			if text, err = f.columnType(c); err != nil {
				return nil, err
			}
		}
		if keyed[c.Name] && !own || required[c.Name] {
			t, err := parseType(text)
			if err != nil {
				return nil, &connectors.TypeError{Column: c.Name, Native: text, Reason: err.Error()}
			}
			text = t.withoutNull()
		}
		defs = append(defs, columnDef{name: c.Name, text: text, typ: c.Type})
	}
	return defs, nil
}

// keyWords are the identifiers in key expressions, as written and unquoted.
func keyWords(keys []string) map[string]bool {
	words := map[string]bool{}
	for _, k := range keys {
		words[k] = true
		for p := (scanner{s: k}); ; {
			_, tok := p.next()
			if tok == "" {
				break
			}
			if t, err := (&typeParser{s: tok}).word(); err == nil {
				tok = t
			}
			words[tok] = true
		}
	}
	return words
}

// keyList quotes the keys that are columns and leaves expressions as the model has them.
func keyList(keys []string, defs []columnDef) string {
	parts := slices.Clone(keys)
	for i, k := range keys {
		if slices.ContainsFunc(defs, func(d columnDef) bool { return d.name == k }) {
			parts[i] = quote(k)
		}
	}
	return strings.Join(parts, ", ")
}

// createSQL creates the staging table. Engines of the MergeTree family get the keys of
// the model; an engine text that brings its own clauses or parameters in the old style
// is left alone.
func createSQL(rel string, defs []columnDef, o connectors.TargetOptions) string {
	cols := make([]string, len(defs))
	for i, d := range defs {
		cols[i] = quote(d.name) + " " + d.text
	}
	engine := strings.TrimSpace(o.Engine)
	if engine == "" {
		engine = "MergeTree"
	}
	family := engineFamily(engine)
	oldStyle := family == "MergeTree" && strings.Contains(engine, ",")
	if strings.HasSuffix(family, "MergeTree") && !oldStyle && !strings.Contains(strings.ToUpper(engine), "ORDER BY") {
		if len(o.PartitionBy) > 0 {
			engine += " PARTITION BY (" + keyList(o.PartitionBy, defs) + ")"
		}
		if len(o.OrderBy) > 0 {
			engine += " ORDER BY (" + keyList(o.OrderBy, defs) + ")"
		} else {
			engine += " ORDER BY tuple()"
		}
	}
	return "CREATE TABLE " + rel + " (" + strings.Join(cols, ", ") + ") ENGINE = " + engine
}

func engineFamily(engine string) string {
	end := strings.IndexFunc(engine, func(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) })
	if end < 0 {
		return engine
	}
	return engine[:end]
}

// merges reports whether an engine drops or joins rows when it merges parts.
func merges(engine string) bool {
	family := strings.TrimPrefix(strings.TrimPrefix(engineFamily(engine), "Replicated"), "Shared")
	return strings.HasSuffix(family, "MergeTree") && family != "MergeTree"
}

func insertSQL(rel string, defs []columnDef) string {
	cols := make([]string, len(defs))
	for i, d := range defs {
		cols[i] = quote(d.name)
	}
	return "INSERT INTO " + rel + " (" + strings.Join(cols, ", ") + ") FORMAT Native"
}

func createDatabaseSQL(name string) string { return "CREATE DATABASE IF NOT EXISTS " + quote(name) }
func dropSQL(rel string) string            { return "DROP TABLE IF EXISTS " + rel }
func stopMergesSQL(rel string) string      { return "SYSTEM STOP MERGES " + rel }
func startMergesSQL(rel string) string     { return "SYSTEM START MERGES " + rel }
func exchangeSQL(a, b string) string       { return "EXCHANGE TABLES " + a + " AND " + b }

func renameSQL(pairs ...string) string {
	s := "RENAME TABLE "
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			s += ", "
		}
		s += pairs[i] + " TO " + pairs[i+1]
	}
	return s
}

func commentSQL(rel, column, comment string) string {
	return "ALTER TABLE " + rel + " COMMENT COLUMN " + quote(column) + " " + literal(comment)
}

func databaseEngineSQL(name string) string {
	return "SELECT CAST(engine AS String) FROM system.databases WHERE name = " + literal(name)
}

// besideSQL lists the tables that dvt left beside a target, newest first.
func besideSQL(target connectors.Relation) string {
	return "SELECT CAST(name AS String) FROM system.tables WHERE database = " + literal(target.Schema) +
		" AND startsWith(name, " + literal(stagingPrefix) + ") AND endsWith(name, " + literal(relationHash(target)) + ") ORDER BY metadata_modification_time DESC"
}

// ---- lock ----

// ownerColumn names the owner in the lock table's definition, so that creating the
// table and owning it are one act, and a heartbeat of a former owner fails.
func ownerColumn(owner string) string { return "owner_" + owner }

func createLockSQL(rel, owner string) string {
	return "CREATE TABLE " + rel + " (at DateTime, " + quote(ownerColumn(owner)) + " UInt8) ENGINE = MergeTree ORDER BY tuple()"
}

func heartbeatSQL(rel, owner string) string {
	return "INSERT INTO " + rel + " (at, " + quote(ownerColumn(owner)) + ") SELECT now(), 1"
}

// lockOwnerSQL gives the owner column of a lock and the seconds since it was created.
func lockOwnerSQL(rel connectors.Relation) string {
	return "SELECT CAST(name AS String), (SELECT CAST(toString(toInt64(toUInt32(now())) - toInt64(toUInt32(any(metadata_modification_time)))) AS String) FROM system.tables WHERE " +
		named(rel, "name") + ") FROM system.columns WHERE " + named(rel, "table") + " AND startsWith(name, 'owner_')"
}

// lockAgeSQL gives the seconds since the last heartbeat, ” if there is none.
func lockAgeSQL(rel string) string {
	return fmt.Sprintf("SELECT if(count() = 0, '', CAST(toString(toInt64(toUInt32(now())) - toInt64(toUInt32(max(at)))) AS String)) FROM %s", rel)
}
