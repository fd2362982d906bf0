package ducksql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Fingerprint sums up the rows of a FROM item over columns of it, as
// connectors.Fingerprinter says, in two texts.
func Fingerprint(from string, cols []connectors.Column) (sql string, ok bool) {
	parts, ok := connectors.FingerprintParts(cols, spelled, func(value string) string { return "strlen(" + value + ")" })
	if !ok {
		return "", false
	}
	mark := "('0x' || left(md5(" + strings.Join(parts, " || ") + "), 15))::BIGINT"
	return "SELECT count(*)::VARCHAR AS \"rows\", (coalesce(sum(" + mark + "), 0) % 18446744073709551616)::VARCHAR AS marks FROM " + from, true
}

// spelled is a column's value as a fingerprint spells it.
func spelled(c *connectors.Column) (string, bool) {
	q := column(c)
	switch k := c.Type.Kind; k {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt, connectors.UTinyInt,
		connectors.USmallInt, connectors.UInteger, connectors.UBigInt, connectors.UUID, connectors.Date:
		return q + "::VARCHAR", true
	case connectors.Varchar:
		return q, true
	case connectors.Boolean:
		return q + "::INTEGER::VARCHAR", true
	case connectors.Decimal:
		if c.Type.Precision == 0 {
			return "", false
		}
		if c.Type.Scale == 0 {
			return q + "::VARCHAR", true
		}
		return "rtrim(rtrim(" + q + "::VARCHAR, '0'), '.')", true
	case connectors.Blob:
		return "lower(hex(" + q + "))", true
	case connectors.Timestamp, connectors.TimestampTZ:
		if k == connectors.TimestampTZ {
			q = "make_timestamp(epoch_us(" + q + "))"
		}
		return "strftime(" + q + ", '%Y-%m-%d %H:%M:%S.%f')", true
	}
	return "", false
}
