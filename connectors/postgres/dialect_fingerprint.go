package postgres

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Fingerprinter = dialect{}

// SelectFingerprint implements connectors.Fingerprinter.
func (d dialect) SelectFingerprint(t *connectors.Table, cols []int) (connectors.Query, bool) {
	parts, ok := connectors.FingerprintParts(t.Pick(cols), fingerprintText, func(value string) string { return "octet_length(" + value + ")" })
	if !ok {
		return connectors.Query{}, false
	}
	mark := "('x0' || substr(md5(" + strings.Join(parts, " || ") + "), 1, 15))::bit(64)::bigint"
	sql := "SELECT count(*)::text, coalesce(mod(sum(" + mark + "), 18446744073709551616), 0)::text FROM " + d.Relation(t.Relation)
	return connectors.Query{SQL: sql, Columns: connectors.FingerprintColumns(connectors.Column{Native: "text", Engine: engineName})}, true
}

// fingerprintText is a column's value as a fingerprint spells it.
func fingerprintText(c *connectors.Column) (string, bool) {
	q := quoteIdent(c.Name)
	if c.Attrs[attrEncoding] != "" {
		return "", false
	}
	switch classOf(c) {
	case classInt, classUUID:
		return q + "::text", true
	case classBool:
		return q + "::int::text", true
	case classDecimal:
		if c.Type.Kind != connectors.Decimal || c.Type.Precision == 0 {
			return "", false
		}
		if c.Type.Scale == 0 {
			return q + "::text", true
		}
		return "rtrim(rtrim(" + q + "::text, '0'), '.')", true
	case classDate:
		return "to_char(" + q + ", 'YYYY-MM-DD')", true
	case classTimestamp:
		return "to_char(" + q + ", 'YYYY-MM-DD HH24:MI:SS.US')", true
	case classTimestampTZ:
		return "to_char(" + q + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", true
	case classText:
		return q + "::text", true
	}
	if c.Type.Kind == connectors.Blob && c.Native == "bytea" {
		return "encode(" + q + ", 'hex')", true
	}
	return "", false
}
