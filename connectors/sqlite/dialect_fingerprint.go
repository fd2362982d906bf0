package sqlite

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Fingerprinter = dialect{}

// SelectFingerprint implements connectors.Fingerprinter with dvt's own dvt_marks, for
// SQLite has no digest.
func (d dialect) SelectFingerprint(t *connectors.Table, cols []int) (connectors.Query, bool) {
	parts, ok := connectors.FingerprintParts(t.Pick(cols), spelled, func(value string) string { return "length(CAST(" + value + " AS BLOB))" })
	if !ok {
		return connectors.Query{}, false
	}
	sql := "SELECT CAST(count(*) AS TEXT) AS " + quote("rows") + ", dvt_marks(" + strings.Join(parts, " || ") + ") AS marks FROM " + d.Relation(t.Relation)
	return connectors.Query{SQL: sql, Columns: connectors.FingerprintColumns(connectors.Column{Native: "TEXT"})}, true
}

// spelled is a column's value as a fingerprint spells it, if the column holds values of
// its class in the form that dvt writes.
func spelled(c *connectors.Column) (string, bool) {
	if !declaredAs(c) {
		return "", false
	}
	q := quote(c.Name)
	switch c.Type.Kind {
	case connectors.BigInt, connectors.Boolean, connectors.Varchar, connectors.Date, connectors.UUID:
		return "CAST(" + q + " AS TEXT)", true
	case connectors.Timestamp, connectors.TimestampTZ:
		// 2024-02-29 23:59:59, with or without a fraction and Z.
		return "replace(substr(" + q + ", 1, 19), 'T', ' ') || '.' || substr(replace(replace(substr(" + q + ", 21), '+00:00', ''), 'Z', '') || '000000', 1, 6)", true
	}
	return "", false
}
