package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// maxIdent is the longest name in bytes; PostgreSQL cuts longer ones in silence.
const maxIdent = 63

func checkIdent(what, name string) error {
	switch {
	case len(name) > maxIdent:
		return fmt.Errorf("%s name %q has %d bytes: PostgreSQL cuts names after %d", what, name, len(name), maxIdent)
	case name == "":
		return fmt.Errorf("%s without a name: PostgreSQL has none such", what)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("%s name %q has a NUL byte", what, name)
	}
	return nil
}

// stagingPrefix opens the name of every staging table.
const stagingPrefix = "__dvt_"

// stagingName is the staging table of one run beside target.
func stagingName(runID string, target connectors.Relation) connectors.Relation {
	return connectors.Relation{Schema: target.Schema, Name: stagingPrefix + runPart(runID) + relationHash(target)}
}

// runPart is what people can recognise a run by: its first 8 characters.
func runPart(runID string) string {
	if len(runID) >= 8 && strings.IndexFunc(runID[:8], func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0 {
		return runID[:8]
	}
	return hashOf("run", runID)[:8]
}

func relationHash(rel connectors.Relation) string {
	return hashOf("relation", rel.Schema, rel.Name)[:12]
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// leftoverPattern matches the staging tables of target, whatever their run.
func leftoverPattern(target connectors.Relation) string {
	return `^` + stagingPrefix + `.{8}` + relationHash(target) + `$`
}

func createSchemaSQL(schema string) string {
	return "CREATE SCHEMA IF NOT EXISTS " + quoteIdent(schema)
}

func (d dialect) createStagingSQL(rel connectors.Relation, names, types []string) string {
	defs := make([]string, len(names))
	for i, n := range names {
		defs[i] = quoteIdent(n) + " " + types[i]
	}
	return "CREATE TABLE " + d.Relation(rel) + " (" + strings.Join(defs, ", ") + ")"
}

// copyFromSQL loads the table that the same transaction created. FREEZE lets readers
// whose snapshot is older than the load see its rows once the table is swapped in;
// without it they would find the new table empty.
func (d dialect) copyFromSQL(rel connectors.Relation, names []string, binary bool) string {
	format := "text"
	if binary {
		format = "binary"
	}
	return "COPY " + d.Relation(rel) + " (" + quoteIdents(names) + ") FROM STDIN (FORMAT " + format + ", FREEZE)"
}

func (d dialect) dropTableSQL(rel connectors.Relation) string {
	return "DROP TABLE IF EXISTS " + d.Relation(rel)
}

// plausibleType guards against text that is more than a type where the model names one.
func plausibleType(s string) error {
	depth, quoted := 0, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0, r == ';', r == '\'', r == '-' && depth == 0, r == '/', r == '\\', r == 0:
			depth = -1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || quoted || strings.TrimSpace(s) == "" {
		return fmt.Errorf("column_types: %q is no type", s)
	}
	return nil
}
