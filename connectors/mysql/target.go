package mysql

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// keyLength is the longest value in characters of a text column that is part of a key
// or an index, where the source does not say.
const keyLength = 255

// target is a staging column: its type, and how values reach it.
type target struct {
	col   connectors.Column
	ddl   string // type with character set and collation
	nat   native // of ddl
	chars int    // varchar(n), char(n): n; 0: no bound of its own
	// labels are the values of an enum or the elements of a set.
	labels map[string]bool
	chosen bool // by column_types
	depth  int  // json: how deep arrays and objects may be nested
}

// TargetType is the type in which the engine holds c outside of keys.
func (d dialect) TargetType(c connectors.Column) (string, error) {
	t, err := d.target(c, "", 0)
	if err != nil {
		return "", err
	}
	return t.ddl, nil
}

// target chooses the type of a staging column: what the model asks for (override), the
// column's own type if it comes from this engine unchanged, or the narrowest that holds
// every value. key is the length that text gets as part of a key, 0 outside of keys.
func (d dialect) target(c connectors.Column, override string, key int) (*target, error) {
	t := &target{col: c}
	switch {
	case override != "":
		t.ddl, t.chosen = override, true
		n := parseNative(override)
		if why := convertible(c.Type.Kind, n.base); why != "" {
			return nil, &connectors.TypeError{Column: c.Name, Native: override, Reason: why}
		}
		if isCharacter(n.base) && !mentionsCharset(override) {
			t.ddl += d.binaryText()
		}
	case d.ownType(c) != "" && !(key > 0 && isLong(parseNative(c.Native).base)):
		t.ddl = d.ownType(c)
	default:
		ddl, err := d.foreignType(c, key)
		if err != nil {
			return nil, err
		}
		t.ddl = ddl
	}
	t.nat = parseNative(t.ddl)
	switch t.nat.base {
	case "char", "varchar":
		t.chars = t.nat.arg(0, 1)
	case "enum", "set":
		t.labels = parseLabels(t.nat.args)
	case "json":
		if t.depth = 100; d.c.server().engine == engineMariaDB {
			t.depth = 31
		}
	}
	return t, nil
}

func (d dialect) binaryText() string {
	return " CHARACTER SET utf8mb4 COLLATE " + d.c.server().binaryCollation()
}

func isCharacter(base string) bool {
	switch base {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		return true
	}
	return false
}

// isLong: an index on the type needs a prefix.
func isLong(base string) bool {
	return strings.HasSuffix(base, "text") || strings.HasSuffix(base, "blob") || base == "json"
}

func mentionsCharset(ddl string) bool {
	s := strings.ToLower(ddl)
	return strings.Contains(s, "character set") || strings.Contains(s, "charset") || strings.Contains(s, "collate")
}

// ownType is the type that a column brings from this very engine, "" if it has none that
// is valid here. A geometry is not recreated: what was read is WKB, which has lost the
// column's spatial reference.
func (d dialect) ownType(c connectors.Column) string {
	here := d.c.server().engine
	if c.Native == "" || c.Engine != engineMySQL && c.Engine != engineMariaDB {
		return ""
	}
	n := parseNative(c.Native)
	length := c.Type.Length
	switch n.base {
	case "uuid", "inet4", "inet6":
		if here != engineMariaDB || c.Engine != here {
			return ""
		}
		return c.Native
	case "decimal":
		if n.arg(0, 10) > 38 && c.Type.Kind == connectors.Decimal {
			return c.Native // read into fewer digits, written into no fewer
		}
	case "json":
		return "json"
	}
	if isGeometry(n.base) {
		return ""
	}
	read := sourceType(c.Native, length, c.Type.Kind == connectors.Boolean)
	if c.Type.Kind == connectors.JSON && n.base == "longtext" {
		return "json"
	}
	if !read.Equal(c.Type) || read.Kind == connectors.Invalid {
		return "" // read as another type by the project's wish
	}
	if !isCharacter(n.base) {
		return c.Native
	}
	if c.Collation == "" || c.Engine != here {
		return c.Native + d.binaryText()
	}
	return c.Native + " COLLATE " + c.Collation
}

// foreignType is the narrowest type that holds every value of c's.
func (d dialect) foreignType(c connectors.Column, key int) (string, error) {
	switch k := c.Type.Kind; k {
	case connectors.Boolean:
		return "tinyint(1)", nil
	case connectors.TinyInt:
		return "tinyint", nil
	case connectors.SmallInt:
		return "smallint", nil
	case connectors.Integer:
		return "int", nil
	case connectors.BigInt:
		return "bigint", nil
	case connectors.HugeInt:
		return "decimal(39,0)", nil
	case connectors.UTinyInt:
		return "tinyint unsigned", nil
	case connectors.USmallInt:
		return "smallint unsigned", nil
	case connectors.UInteger:
		return "int unsigned", nil
	case connectors.UBigInt:
		return "bigint unsigned", nil
	case connectors.Float:
		return "float", nil
	case connectors.Double:
		return "double", nil
	case connectors.Decimal:
		if c.Type.Precision < 1 || c.Type.Precision > 38 || c.Type.Scale > c.Type.Precision {
			break
		}
		return fmt.Sprintf("decimal(%d,%d)", c.Type.Precision, c.Type.Scale), nil
	case connectors.Varchar, connectors.Bit, connectors.Interval:
		return d.textType(key), nil
	case connectors.TimeTZ:
		return "varchar(32)" + d.binaryText(), nil
	case connectors.UUID:
		// MariaDB's uuid refuses values without the variant bits of RFC 4122 up to
		// 10.11, and MySQL has none.
		return "char(36)" + d.binaryText(), nil
	case connectors.Blob:
		return "longblob", nil
	case connectors.Date:
		return "date", nil
	case connectors.Time:
		return "time(6)", nil
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		return "datetime(6)", nil
	case connectors.JSON, connectors.List, connectors.Struct, connectors.Map:
		if err := jsonable(c.Type); err != nil {
			return "", &connectors.TypeError{Column: c.Name, Native: c.Type.String(), Reason: err.Error()}
		}
		return "json", nil
	}
	return "", &connectors.TypeError{Column: c.Name, Native: c.Type.String(), Reason: d.c.server().text + " has no type that holds it"}
}

func (d dialect) textType(key int) string {
	if key > 0 && key <= 16383 { // what one row of utf8mb4 can hold at most
		return fmt.Sprintf("varchar(%d)", key) + d.binaryText()
	}
	return "longtext" + d.binaryText()
}

// definition is the column as CREATE TABLE has it. NULL DEFAULT NULL must be said: a
// TIMESTAMP would otherwise be NOT NULL and update itself.
func (t *target) definition() string { return quote(t.col.Name) + " " + t.ddl + " NULL DEFAULT NULL" }

// parseLabels reads 'a','it”s'.
func parseLabels(args string) map[string]bool {
	m := map[string]bool{}
	var cur []byte
	in := false
	for i := 0; i < len(args); i++ {
		switch c := args[i]; {
		case !in && c == '\'':
			in, cur = true, cur[:0]
		case in && c == '\'' && i+1 < len(args) && args[i+1] == '\'':
			cur = append(cur, '\'')
			i++
		case in && c == '\'':
			in = false
			m[string(cur)] = true
		case in:
			cur = append(cur, c)
		}
	}
	return m
}
