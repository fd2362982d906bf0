package connectors

import (
	"fmt"
	"strconv"
	"strings"
)

var typeNames = map[string]Kind{
	"boolean": Boolean, "bool": Boolean, "logical": Boolean,
	"tinyint": TinyInt, "int1": TinyInt, "smallint": SmallInt, "int2": SmallInt, "short": SmallInt,
	"integer": Integer, "int": Integer, "int4": Integer, "signed": Integer,
	"bigint": BigInt, "int8": BigInt, "long": BigInt, "hugeint": HugeInt, "int128": HugeInt,
	"utinyint": UTinyInt, "uint8": UTinyInt, "usmallint": USmallInt, "uint16": USmallInt,
	"uinteger": UInteger, "uint32": UInteger, "ubigint": UBigInt, "uint64": UBigInt,
	"float": Float, "float4": Float, "real": Float, "double": Double, "float8": Double, "double precision": Double,
	"decimal": Decimal, "numeric": Decimal, "dec": Decimal,
	"varchar": Varchar, "text": Varchar, "string": Varchar, "char": Varchar, "bpchar": Varchar, "character varying": Varchar, "character": Varchar,
	"blob": Blob, "bytea": Blob, "binary": Blob, "varbinary": Blob,
	"date": Date, "time": Time, "time without time zone": Time, "timetz": TimeTZ, "time with time zone": TimeTZ,
	"timestamp": Timestamp, "datetime": Timestamp, "timestamp without time zone": Timestamp, "timestamp_us": Timestamp,
	"timestamp_ns": TimestampNS, "timestamptz": TimestampTZ, "timestamp with time zone": TimestampTZ,
	"interval": Interval, "uuid": UUID, "json": JSON, "bit": Bit, "bitstring": Bit,
}

// ParseType reads a type as DuckDB SQL spells it: "DECIMAL(18,4)", "varchar(20)",
// "BIGINT[]", "STRUCT(a INTEGER, b VARCHAR)", "MAP(VARCHAR, BIGINT)". The names of
// other engines' common types are understood where DuckDB understands them.
func ParseType(s string) (Type, error) {
	p := typeParser{rest: s}
	t, err := p.parse()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("unexpected %q", strings.TrimSpace(p.rest))
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", s, err)
	}
	return t, nil
}

type typeParser struct{ rest string }

func (p *typeParser) skip(prefix string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\n")
	if !strings.HasPrefix(p.rest, prefix) {
		return false
	}
	p.rest = p.rest[len(prefix):]
	return true
}

func (p *typeParser) parse() (Type, error) {
	name := p.words()
	var t Type
	var err error
	switch name {
	case "":
		return t, fmt.Errorf("a type name is missing")
	case "struct", "row":
		t, err = p.fields(Struct)
	case "map":
		t, err = p.fields(Map)
	default:
		t, err = p.scalar(name)
	}
	for err == nil && p.skip("[") {
		if !p.skip("]") {
			return t, fmt.Errorf("only lists of any length ([]) are known")
		}
		t = ListOf(t)
	}
	return t, err
}

// words reads a type name of one or more words, up to a bracket, comma or the end.
func (p *typeParser) words() string {
	i := strings.IndexAny(p.rest, "()[],")
	if i < 0 {
		i = len(p.rest)
	}
	name := strings.ToLower(strings.Join(strings.Fields(p.rest[:i]), " "))
	p.rest = p.rest[i:]
	return name
}

func (p *typeParser) scalar(name string) (Type, error) {
	kind, ok := typeNames[name]
	if !ok {
		return Type{}, fmt.Errorf("unknown type %q", name)
	}
	t := T(kind)
	var args []int
	if p.skip("(") {
		for {
			i := strings.IndexAny(p.rest, ",)")
			if i < 0 {
				return t, fmt.Errorf("a closing bracket is missing")
			}
			n, err := strconv.Atoi(strings.TrimSpace(p.rest[:i]))
			if err != nil || n < 0 {
				return t, fmt.Errorf("%q is not a length", strings.TrimSpace(p.rest[:i]))
			}
			args = append(args, n)
			last := p.rest[i] == ')'
			p.rest = p.rest[i+1:]
			if last {
				break
			}
		}
		// "timestamp(6) with time zone"
		if tail := p.words(); tail != "" {
			if kind, ok = typeNames[name+" "+tail]; !ok {
				return t, fmt.Errorf("unknown type %q", name+" "+tail)
			}
			t.Kind = kind
		}
	}
	switch {
	case kind == Decimal && len(args) == 0:
		t.Precision, t.Scale = 18, 3
	case kind == Decimal:
		t.Precision = args[0]
		if len(args) > 1 {
			t.Scale = args[1]
		}
		if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision {
			return t, fmt.Errorf("decimals have 1 to 38 digits and no more digits after the point than in all")
		}
	case kind == Varchar && len(args) == 1:
		t.Length = args[0]
	}
	return t, nil
}

// fields reads the bracketed part of STRUCT and MAP.
func (p *typeParser) fields(kind Kind) (Type, error) {
	t := T(kind)
	if !p.skip("(") {
		return t, fmt.Errorf("%s needs its fields in brackets", kind)
	}
	for {
		var f Field
		var err error
		if kind == Struct {
			if f.Name, err = p.name(); err != nil {
				return t, err
			}
		}
		if f.Type, err = p.parse(); err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, f)
		if p.skip(")") {
			break
		}
		if !p.skip(",") {
			return t, fmt.Errorf("a comma or closing bracket is missing")
		}
	}
	if kind == Map {
		if len(t.Fields) != 2 {
			return t, fmt.Errorf("MAP has a key and a value type")
		}
		t.Fields[0].Name, t.Fields[1].Name = "key", "value"
	}
	return t, nil
}

// name reads a field's name, quoted or plain.
func (p *typeParser) name() (string, error) {
	if !p.skip(`"`) {
		p.skip("")
		i := strings.IndexAny(p.rest, " \t\n(),")
		if i <= 0 {
			return "", fmt.Errorf("a field name is missing")
		}
		name := p.rest[:i]
		p.rest = p.rest[i:]
		return name, nil
	}
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		if p.rest[i] != '"' {
			b.WriteByte(p.rest[i])
			continue
		}
		if i+1 < len(p.rest) && p.rest[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		p.rest = p.rest[i+1:]
		return b.String(), nil
	}
	return "", fmt.Errorf("a closing quote is missing")
}
