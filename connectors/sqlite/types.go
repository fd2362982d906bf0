package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// engine is the registered type name.
const engine = "sqlite"

// Facts of a column that only this package understands (connectors.Column.Attrs).
const (
	attrRowKey   = "rowid"    // the name under which the table's rowid can be selected
	attrFixed    = "fixed"    // the engine itself holds values to the type: STRICT, or the rowid's alias
	attrEncoding = "encoding" // the file's text encoding where it is not UTF-8
)

// maxExactDigits is how many digits of a decimal a REAL keeps for certain.
const maxExactDigits = 15

// affinity is what SQLite makes of the values of a column, by its declared type.
type affinity uint8

const (
	affNone affinity = iota // stores what it is given
	affText
	affNumeric
	affInteger
	affReal
)

// affinityOf follows the five rules of SQLite's documentation, in their order.
func affinityOf(declared string) affinity {
	d := strings.ToUpper(declared)
	has := func(s string) bool { return strings.Contains(d, s) }
	switch {
	case has("INT"):
		return affInteger
	case has("CHAR"), has("CLOB"), has("TEXT"):
		return affText
	case d == "", has("BLOB"):
		return affNone
	case has("REAL"), has("FLOA"), has("DOUB"):
		return affReal
	}
	return affNumeric
}

// splitDeclared takes "Decimal (10, 2)" apart: "DECIMAL", [10 2].
func splitDeclared(declared string) (name string, args []int) {
	name, rest, ok := strings.Cut(declared, "(")
	if inside, after, closed := strings.Cut(rest, ")"); ok && closed {
		for _, a := range strings.Split(inside, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(a))
			if err != nil {
				args = nil
				break
			}
			args = append(args, n)
		}
		name += " " + after
	}
	return strings.ToUpper(strings.Join(strings.Fields(name), " ")), args
}

var declaredKinds = map[string]connectors.Kind{
	"BOOLEAN": connectors.Boolean, "BOOL": connectors.Boolean,
	"DATE":     connectors.Date,
	"DATETIME": connectors.Timestamp, "TIMESTAMP": connectors.Timestamp,
	"TIMESTAMP WITHOUT TIME ZONE": connectors.Timestamp,
	"TIMESTAMPTZ":                 connectors.TimestampTZ, "TIMESTAMP WITH TIME ZONE": connectors.TimestampTZ,
	"TIMESTAMP_NS": connectors.TimestampNS,
	"TIME":         connectors.Time,
	"UUID":         connectors.UUID, "UUID_TEXT": connectors.UUID, "GUID": connectors.UUID,
	"JSON": connectors.JSON, "JSON_TEXT": connectors.JSON, "JSONB": connectors.JSON,
}

var decimalNames = map[string]bool{"DECIMAL": true, "NUMERIC": true, "DEC": true, "NUMBER": true, "DECIMAL_TEXT": true}

// typeOf is the logical type of a declared type. Nothing is Invalid: a type that
// SQLite does not know either (MONEY, an empty one, that of an expression in a view)
// holds values of any class, which are read as text.
func typeOf(declared string) connectors.Type {
	name, args := splitDeclared(declared)
	if k, ok := declaredKinds[name]; ok {
		return connectors.T(k)
	}
	if _, ok := unixFactor(declared); ok {
		return connectors.T(connectors.Timestamp)
	}
	if decimalNames[name] {
		return decimalOf(name, args)
	}
	switch affinityOf(declared) {
	case affInteger:
		return connectors.T(connectors.BigInt)
	case affReal:
		return connectors.T(connectors.Double)
	case affText:
		t := connectors.T(connectors.Varchar)
		if len(args) == 1 && args[0] > 0 {
			t.Length = args[0]
		}
		return t
	case affNone:
		if name != "" {
			return connectors.T(connectors.Blob)
		}
	}
	return connectors.T(connectors.Varchar)
}

// decimalOf is DECIMAL(p,s), with precision 0 where only a probe can tell.
func decimalOf(name string, args []int) connectors.Type {
	if len(args) == 1 {
		args = append(args, 0)
	}
	if len(args) != 2 || args[0] < 1 || args[1] < 0 || args[1] > args[0] {
		return connectors.T(connectors.Decimal)
	}
	if name == "DECIMAL_TEXT" && args[0] == 39 && args[1] == 0 {
		return connectors.T(connectors.HugeInt)
	}
	if args[0] > 38 {
		return connectors.T(connectors.Decimal)
	}
	return connectors.Dec(args[0], args[1])
}

// unixFactor recognises a declared type that says that integers count from 1970:
// "UNIX", "UNIXTIME", "UNIX_TIMESTAMP", "TIMESTAMP_UNIX_MS", "DATETIME UNIX". It
// returns what one unit is in microseconds.
func unixFactor(declared string) (us int64, ok bool) {
	d := strings.ToUpper(declared)
	if !strings.Contains(d, "UNIX") {
		return 0, false
	}
	switch {
	case strings.HasSuffix(d, "MS"):
		return 1000, true
	case strings.HasSuffix(d, "US"):
		return 1, true
	}
	return 1_000_000, true
}

// targetType is the declared type under which c is stored exactly.
func targetType(c connectors.Column) (string, error) {
	if c.Engine == engine && keepsNative(c) {
		return c.Native, nil
	}
	t := c.Type
	switch t.Kind {
	case connectors.Boolean:
		return "BOOLEAN", nil
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger:
		return "INTEGER", nil
	case connectors.UBigInt:
		return "DECIMAL_TEXT(20,0)", nil
	case connectors.HugeInt:
		return "DECIMAL_TEXT(39,0)", nil
	case connectors.Decimal:
		if t.Precision > maxExactDigits {
			return fmt.Sprintf("DECIMAL_TEXT(%d,%d)", t.Precision, t.Scale), nil
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale), nil
	case connectors.Float, connectors.Double:
		return "DOUBLE", nil
	case connectors.Varchar, connectors.Interval, connectors.TimeTZ, connectors.Bit:
		return "TEXT", nil
	case connectors.Blob:
		return "BLOB", nil
	case connectors.Date:
		return "DATE", nil
	case connectors.Time:
		return "TIME", nil
	case connectors.Timestamp:
		return "DATETIME", nil
	case connectors.TimestampNS:
		return "TIMESTAMP_NS", nil
	case connectors.TimestampTZ:
		return "TIMESTAMPTZ", nil
	case connectors.UUID:
		return "UUID_TEXT", nil
	case connectors.JSON, connectors.List, connectors.Struct, connectors.Map:
		// Not "JSON": that has numeric affinity and would make 1e2 of a document 100.
		return "JSON_TEXT", nil
	}
	return "", &connectors.TypeError{Column: c.Name, Native: t.String(), Reason: "sqlite has no type for it"}
}

// keepsNative reports whether the column's own declared type keeps every value as it
// is written here. DECIMAL(30,2), STRING or JSON do not: their affinity turns texts
// that look like numbers into numbers.
func keepsNative(c connectors.Column) bool {
	if c.Native == "" || !typeOf(c.Native).Equal(c.Type) {
		return false
	}
	if _, unix := unixFactor(c.Native); unix {
		return false // written as text
	}
	aff := affinityOf(c.Native)
	switch c.Type.Kind {
	case connectors.Varchar, connectors.JSON:
		return aff == affText
	case connectors.HugeInt:
		return aff == affText
	case connectors.Decimal:
		return aff == affText || c.Type.Precision <= maxExactDigits && c.Type.Precision > 0
	case connectors.Blob:
		return aff == affNone
	}
	return true
}
