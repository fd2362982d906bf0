package clickhouse

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Fingerprinter = (*dialect)(nil)

// SelectFingerprint implements connectors.Fingerprinter. A sum of UInt64 is one modulo
// 2^64.
func (d *dialect) SelectFingerprint(t *connectors.Table, cols []int) (connectors.Query, bool) {
	parts := make([]string, len(cols))
	for i, at := range cols {
		c := &t.Columns[at]
		value, ok := d.spelled(c)
		if !ok {
			return connectors.Query{}, false
		}
		parts[i] = "concat('v', " + value + ")"
		if i < len(cols)-1 {
			parts[i] = "concat('v', concat(toString(length(" + value + ")), concat(':', " + value + ")))"
		}
		if c.Nullable {
			parts[i] = "if(isNull(" + quote(c.Name) + "), 'n', " + parts[i] + ")"
		}
	}
	row := parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- { // concat takes two on old servers where one is a constant
		row = "concat(" + parts[i] + ", " + row + ")"
	}
	mark := "bitShiftRight(reinterpretAsUInt64(reverse(substring(MD5(" + row + "), 1, 8))), 4)"
	sql := "SELECT toString(count()), toString(sum(" + mark + ")) FROM " + d.Relation(t.Relation)
	return connectors.Query{SQL: sql, Columns: connectors.FingerprintColumns(connectors.Column{Native: "String", Engine: engineName})}, true
}

// spelled is a column's value as a fingerprint spells it, for rows where it is not NULL.
func (d *dialect) spelled(c *connectors.Column) (string, bool) {
	if strings.HasPrefix(c.Native, "LowCardinality(") {
		return "", false
	}
	q := quote(c.Name)
	if c.Nullable {
		q = "assumeNotNull(" + q + ")"
	}
	cl, _ := classOf(c)
	switch {
	case cl == classInt, cl == classDate, c.Type.Kind == connectors.UUID:
		return "toString(" + q + ")", true
	case cl == classDecimal:
		if c.Type.Scale == 0 {
			return "toString(" + q + ")", true
		}
		return "replaceRegexpOne(toString(" + q + "), '\\\\.?0*$', '')", true
	case cl == classTime && strings.Contains(c.Native, "DateTime64"):
		return "", false
	case cl == classTime:
		return "concat(toString(" + q + ", 'UTC'), '.000000')", true
	case cl == classText && c.Type.Kind == connectors.Varchar && !strings.Contains(c.Native, "Fixed"):
		return q, true
	}
	return "", false
}
