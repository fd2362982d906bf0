package mysql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Fingerprinter = dialect{}

// SelectFingerprint implements connectors.Fingerprinter.
func (d dialect) SelectFingerprint(t *connectors.Table, cols []int) (connectors.Query, bool) {
	parts := make([]string, len(cols))
	for i, at := range cols {
		value, ok := d.spelled(&t.Columns[at])
		if !ok {
			return connectors.Query{}, false
		}
		head := "'v', "
		if i < len(cols)-1 {
			head += "OCTET_LENGTH(" + value + "), ':', "
		}
		parts[i] = "IFNULL(CONCAT(" + head + value + "), 'n')"
	}
	mark := "CAST(CONV(LEFT(MD5(CONCAT(" + strings.Join(parts, ", ") + ")), 15), 16, 10) AS UNSIGNED)"
	sql := "SELECT CAST(COUNT(*) AS CHAR), CAST(IFNULL(MOD(SUM(" + mark + "), 18446744073709551616), 0) AS CHAR) FROM " + d.Relation(t.Relation)
	text := connectors.Column{Native: "varchar(80)", Attrs: map[string]string{attrCharset: "utf8mb4"}}
	return connectors.Query{SQL: sql, Columns: connectors.FingerprintColumns(text)}, len(cols) > 0
}

// spelled is a column's value as a fingerprint spells it.
func (d dialect) spelled(c *connectors.Column) (string, bool) {
	q := quote(c.Name)
	binary := func(x string) string { return "CAST(" + x + " AS BINARY)" }
	switch kindOf(c) {
	case classInt:
		if operand(c) == q {
			return binary(q), true
		}
	case classDecimal:
		if c.Type.Scale == 0 {
			return binary(q), true
		}
		return binary("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(" + q + " AS CHAR)))"), true
	case classDate:
		if d.c.zeroDates == zeroError {
			return "", false
		}
		form := "'%Y-%m-%d %H:%i:%s.%f'"
		if c.Type.Kind == connectors.Date {
			form = "'%Y-%m-%d'"
		}
		return binary("IF(" + nullDate(q) + ", NULL, DATE_FORMAT(" + q + ", " + form + "))"), true
	case classText:
		if whole(c.Attrs[attrCharset]) {
			return binaryForm(c), true
		}
	case classUUID:
		return binary("LOWER(CAST(" + q + " AS CHAR))"), true
	}
	return "", false
}
