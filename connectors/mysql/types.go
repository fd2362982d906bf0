package mysql

import (
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// native is a column type of the catalog taken apart: "decimal(18,4) unsigned".
type native struct {
	base     string // lower case, synonyms resolved
	args     string // what stands between the parentheses
	unsigned bool
}

var synonyms = map[string]string{
	"integer": "int", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "real": "double",
	"boolean": "tinyint", "bool": "tinyint", "geomcollection": "geometrycollection", "character": "char",
}

// parseNative reads a type as the catalog or a user spells it. What follows the
// parentheses (character set, collation) only matters for "unsigned".
func parseNative(s string) native {
	s = strings.TrimSpace(s)
	low := strings.ToLower(s)
	for long, short := range map[string]string{"double precision": "double", "character varying": "varchar"} {
		if strings.HasPrefix(low, long) {
			s = short + s[len(long):]
		}
	}
	i := strings.IndexAny(s, "( ")
	if i < 0 {
		i = len(s)
	}
	n := native{base: strings.ToLower(s[:i])}
	rest := strings.TrimSpace(s[i:])
	if strings.HasPrefix(rest, "(") {
		end := closing(rest)
		n.args, rest = rest[1:end], rest[min(end+1, len(rest)):]
	}
	rest = strings.ToLower(rest)
	n.unsigned = strings.Contains(rest, "unsigned") || strings.Contains(rest, "zerofill")
	if b, ok := synonyms[n.base]; ok {
		n.base = b
	}
	return n
}

// closing is the position of the parenthesis that closes s[0]; labels of an enum may
// hold others.
func closing(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\'':
			quoted = !quoted
		case s[i] == ')' && !quoted:
			return i
		}
	}
	return len(s)
}

// arg is the i-th number between the parentheses, def if there is none.
func (n native) arg(i, def int) int {
	part := strings.Split(n.args, ",")
	if i >= len(part) {
		return def
	}
	v, err := strconv.Atoi(strings.TrimSpace(part[i]))
	if err != nil {
		return def
	}
	return v
}

func isGeometry(base string) bool {
	switch base {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		return true
	}
	return false
}

// sourceType is the logical type of a column. length is its longest value in
// characters as the catalog says, 0 if it has none. Invalid means that dvt cannot
// carry the type; Decimal with Precision 0 that only its values can tell.
func sourceType(nat string, length int, tinyint1IsBool bool) connectors.Type {
	n := parseNative(nat)
	pick := func(signed, unsigned connectors.Kind) connectors.Type {
		if n.unsigned {
			return connectors.T(unsigned)
		}
		return connectors.T(signed)
	}
	switch n.base {
	case "tinyint":
		if tinyint1IsBool && n.args == "1" && !n.unsigned {
			return connectors.T(connectors.Boolean)
		}
		return pick(connectors.TinyInt, connectors.UTinyInt)
	case "smallint":
		return pick(connectors.SmallInt, connectors.USmallInt)
	case "mediumint", "int":
		return pick(connectors.Integer, connectors.UInteger)
	case "bigint":
		return pick(connectors.BigInt, connectors.UBigInt)
	case "decimal":
		p, s := n.arg(0, 10), n.arg(1, 0)
		if p > 38 {
			return connectors.T(connectors.Decimal)
		}
		return connectors.Dec(p, s)
	case "float":
		return connectors.T(connectors.Float)
	case "double":
		return connectors.T(connectors.Double)
	case "char", "varchar", "enum", "set":
		return connectors.Type{Kind: connectors.Varchar, Length: length}
	case "tinytext", "text", "mediumtext", "longtext", "inet4", "inet6":
		return connectors.T(connectors.Varchar)
	case "json":
		return connectors.T(connectors.JSON)
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return connectors.T(connectors.Blob)
	case "date":
		return connectors.T(connectors.Date)
	case "datetime":
		return connectors.T(connectors.Timestamp)
	case "timestamp":
		return connectors.T(connectors.TimestampTZ)
	case "time":
		return connectors.T(connectors.Time)
	case "year":
		return connectors.T(connectors.SmallInt)
	case "bit":
		if n.arg(0, 1) == 1 {
			return connectors.T(connectors.Boolean)
		}
		return connectors.T(connectors.UBigInt)
	case "uuid":
		return connectors.T(connectors.UUID)
	}
	if isGeometry(n.base) {
		return connectors.T(connectors.Blob)
	}
	return connectors.T(connectors.Invalid)
}

func isInteger(k connectors.Kind) bool { return k >= connectors.TinyInt && k <= connectors.UBigInt }
func isText(k connectors.Kind) bool    { return k == connectors.Varchar || k == connectors.JSON }
