package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// The object identifiers of built-in types are part of the wire format and fixed.
const (
	oidBool, oidBytea, oidChar, oidName           = 16, 17, 18, 19
	oidInt8, oidInt2, oidInt4                     = 20, 21, 23
	oidText, oidJSON, oidXML                      = 25, 114, 142
	oidFloat4, oidFloat8, oidUnknown              = 700, 701, 705
	oidBpchar, oidVarchar                         = 1042, 1043
	oidDate, oidTime, oidTimestamp                = 1082, 1083, 1114
	oidTimestampTZ, oidInterval, oidTimeTZ        = 1184, 1186, 1266
	oidBit, oidVarbit, oidNumeric                 = 1560, 1562, 1700
	oidUUID, oidJSONB                      uint32 = 2950, 3802
)

// arrayOf maps the array types of the built-in types above to their elements.
var arrayOf = map[uint32]uint32{
	1000: oidBool, 1001: oidBytea, 1003: oidName, 1016: oidInt8, 1005: oidInt2, 1007: oidInt4, 1009: oidText, 199: oidJSON,
	1021: oidFloat4, 1022: oidFloat8, 1014: oidBpchar, 1015: oidVarchar, 1182: oidDate, 1183: oidTime, 1115: oidTimestamp,
	1185: oidTimestampTZ, 1187: oidInterval, 1270: oidTimeTZ, 1561: oidBit, 1563: oidVarbit, 1231: oidNumeric, 2951: oidUUID,
	3807: oidJSONB, 1002: oidChar,
}

// Keys of Column.Attrs.
const (
	// attrForm is the type to which a column, or each element of its arrays, is cast to
	// be read; formText is the engine's own spelling.
	attrForm = "form"
	formText = "text"
	// attrAddress is set on inet and arrays of it, whose cast to text has a netmask that
	// their own spelling leaves out: 10.0.0.1/32.
	attrAddress = "address"
	// attrComposite is set on composite types, whose IS NULL asks for the fields.
	attrComposite = "composite"
	// attrPadded is set on char(n) and domains over it, which compare without their
	// padding but are read with it.
	attrPadded = "padded"
	// attrDeterministic is "false" when the collation calls unequal bytes equal.
	attrDeterministic = "deterministic"
	// attrProvider is the collation's provider: c, i, b or d.
	attrProvider = "provider"
	// attrEncoding names the database's encoding when it is not UTF8: bytes then sort
	// otherwise, and some literals cannot be said.
	attrEncoding = "encoding"
)

// typeInfo is what the catalog says of one type after domains have been looked through.
type typeInfo struct {
	oid     uint32
	typmod  int32
	dims    int    // declared dimensions of an array
	kind    byte   // pg_type.typtype
	receive string // pg_type.typreceive: what reads its binary form
	elem    uint32 // base type of an array's elements, 0 if it is no array; oid is then the same
	sent    uint32 // element type that stands in the binary form: elem, or a domain over it
}

// logical maps a type to the kind it travels as and the form in which it is read.
func (t typeInfo) logical() (typ connectors.Type, asText bool) {
	if t.elem == 0 {
		return scalarType(t.oid, t.typmod)
	}
	elem, asText := scalarType(t.elem, t.typmod)
	if elem.Kind == connectors.Decimal && elem.Precision == 0 {
		// Elements have no probe: their own spelling is exact.
		elem, asText = connectors.T(connectors.Varchar), true
	}
	if elem.Kind == connectors.Invalid {
		return elem, false
	}
	elem.Length = 0
	typ = connectors.ListOf(elem)
	for i := 1; i < t.dims; i++ {
		typ = connectors.ListOf(typ)
	}
	return typ, asText
}

var scalarKinds = map[uint32]connectors.Kind{
	oidBool: connectors.Boolean, oidInt2: connectors.SmallInt, oidInt4: connectors.Integer, oidInt8: connectors.BigInt,
	oidFloat4: connectors.Float, oidFloat8: connectors.Double, oidBytea: connectors.Blob, oidDate: connectors.Date,
	oidTime: connectors.Time, oidTimeTZ: connectors.TimeTZ, oidTimestamp: connectors.Timestamp,
	oidTimestampTZ: connectors.TimestampTZ, oidInterval: connectors.Interval, oidUUID: connectors.UUID,
	oidJSON: connectors.JSON, oidJSONB: connectors.JSON, oidBit: connectors.Bit, oidVarbit: connectors.Bit,
	oidText: connectors.Varchar, oidName: connectors.Varchar, oidUnknown: connectors.Varchar,
	oidVarchar: connectors.Varchar, oidBpchar: connectors.Varchar,
}

func scalarType(oid uint32, typmod int32) (typ connectors.Type, asText bool) {
	switch oid {
	case oidNumeric:
		return numericType(typmod), false
	case oidVarchar, oidBpchar:
		typ = connectors.T(connectors.Varchar)
		if typmod >= 4 {
			typ.Length = int(typmod - 4)
		}
		return typ, false
	}
	if k, ok := scalarKinds[oid]; ok {
		return connectors.T(k), false
	}
	return connectors.T(connectors.Varchar), true
}

// numericType is the decimal that a numeric's modifier declares. numeric(39,0) is how
// dvt stores HUGEINT, so it comes back as one; anything longer than 38 digits otherwise
// has no kind.
func numericType(typmod int32) connectors.Type {
	if typmod < 4 {
		return connectors.Dec(0, 0)
	}
	p, s := numericModifier(typmod)
	switch {
	case p == 39 && s == 0:
		return connectors.T(connectors.HugeInt)
	case s < 0: // numeric(3,-2) holds 99900
		p, s = p-s, 0
	case s > p: // numeric(3,5) holds 0.00999
		p = s
	}
	if p > 38 {
		return connectors.T(connectors.Invalid)
	}
	return connectors.Dec(p, s)
}

// numericModifier takes precision and scale, which may be negative, out of a typmod.
func numericModifier(typmod int32) (precision, scale int) {
	m := typmod - 4
	return int(m >> 16 & 0xffff), int((m&0x7ff)^1024) - 1024
}

// TargetType implements connectors.Dialect. Types that exist only in some databases
// (enums, citext, domains) are given back where the target is known: see (*conn).Stage.
func (d dialect) TargetType(c connectors.Column) (string, error) {
	if c.Engine == engineName && c.Native != "" && nativeHolds(c.Native, c.Type) {
		return c.Native, nil
	}
	return targetType(c.Type, c)
}

func targetType(t connectors.Type, c connectors.Column) (string, error) {
	switch t.Kind {
	case connectors.Boolean:
		return "boolean", nil
	case connectors.TinyInt, connectors.UTinyInt, connectors.SmallInt:
		return "smallint", nil
	case connectors.USmallInt, connectors.Integer:
		return "integer", nil
	case connectors.UInteger, connectors.BigInt:
		return "bigint", nil
	case connectors.UBigInt:
		return "numeric(20,0)", nil
	case connectors.HugeInt:
		return "numeric(39,0)", nil
	case connectors.Float:
		return "real", nil
	case connectors.Double:
		return "double precision", nil
	case connectors.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			break
		}
		return fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale), nil
	case connectors.Varchar:
		return "text", nil
	case connectors.Blob:
		return "bytea", nil
	case connectors.Date:
		return "date", nil
	case connectors.Time:
		return "time without time zone", nil
	case connectors.TimeTZ:
		return "time with time zone", nil
	case connectors.Timestamp, connectors.TimestampNS:
		return "timestamp without time zone", nil
	case connectors.TimestampTZ:
		return "timestamp with time zone", nil
	case connectors.Interval:
		return "interval", nil
	case connectors.UUID:
		return "uuid", nil
	case connectors.JSON:
		return "json", nil
	case connectors.Bit:
		return "bit varying", nil
	case connectors.Struct, connectors.Map:
		return "jsonb", nil
	case connectors.List:
		switch t.Elem.Kind {
		case connectors.List, connectors.Struct, connectors.Map:
			return "jsonb", nil
		}
		elem, err := targetType(*t.Elem, c)
		return elem + "[]", err
	}
	return "", &connectors.TypeError{Column: c.Name, Native: t.String(), Reason: "PostgreSQL has no type that holds it"}
}

// nativeHolds reports whether the built-in type spelled native is one that a column of
// type t was read from. A type that an override or a cast has replaced is not given
// back.
func nativeHolds(native string, t connectors.Type) bool {
	info, ok := parseNative(native)
	if !ok {
		return false
	}
	for e := t; e.Kind == connectors.List && e.Elem.Kind == connectors.List; e = *e.Elem {
		info.dims++ // the spelling of an array does not tell its dimensions
	}
	got, _ := info.logical()
	if got.Kind == connectors.Decimal && got.Precision == 0 {
		return t.Kind == connectors.Decimal // unconstrained numeric holds whatever a probe found
	}
	return got.Kind != connectors.Invalid && got.Equal(t)
}

// nativeNames are the built-in types as format_type spells them. They exist in every
// database, so they can be given back without asking.
var nativeNames = map[string]uint32{
	"boolean": oidBool, "bytea": oidBytea, "name": oidName, "bigint": oidInt8, "smallint": oidInt2, "integer": oidInt4,
	"text": oidText, "json": oidJSON, "xml": oidXML, "real": oidFloat4, "double precision": oidFloat8, "character": oidBpchar,
	"bpchar": oidBpchar, "character varying": oidVarchar, "date": oidDate, "time without time zone": oidTime,
	"timestamp without time zone": oidTimestamp, "timestamp with time zone": oidTimestampTZ, "interval": oidInterval,
	"time with time zone": oidTimeTZ, "bit": oidBit, "bit varying": oidVarbit, "numeric": oidNumeric, "uuid": oidUUID,
	"jsonb": oidJSONB, "inet": 869, "cidr": 650, "macaddr": 829, "macaddr8": 774, "money": 790, "point": 600, "lseg": 601,
	"path": 602, "box": 603, "polygon": 604, "line": 628, "circle": 718, "tsvector": 3614, "tsquery": 3615, "int4range": 3904,
	"numrange": 3906, "tsrange": 3908, "tstzrange": 3910, "daterange": 3912, "int8range": 3926, "oid": 26, "pg_lsn": 3220,
	"jsonpath": 4072, "xid": 28, "txid_snapshot": 2970,
}

// parseNative reads a format_type spelling of a built-in type: "numeric(10,2)[]",
// "timestamp(3) without time zone".
func parseNative(native string) (typeInfo, bool) {
	info := typeInfo{typmod: -1}
	base, array := strings.CutSuffix(native, "[]")
	if open := strings.IndexByte(base, '('); open >= 0 {
		end := strings.IndexByte(base, ')')
		if end < open {
			return info, false
		}
		var mods []int
		for _, m := range strings.Split(base[open+1:end], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(m))
			if err != nil {
				return info, false
			}
			mods = append(mods, n)
		}
		base = strings.TrimSpace(base[:open]) + base[end+1:]
		info.typmod = modifier(nativeNames[base], mods)
	}
	if strings.HasPrefix(base, "interval ") { // interval day to second
		base = "interval"
	}
	oid, ok := nativeNames[base]
	if base == "character" && info.typmod < 0 {
		info.typmod = 5 // character is character(1)
	}
	info.oid = oid
	if array {
		info.elem, info.sent, info.dims = oid, oid, 1
	}
	return info, ok
}

func modifier(oid uint32, mods []int) int32 {
	switch {
	case oid == oidNumeric && len(mods) == 2:
		return int32(mods[0]<<16|mods[1]&0x7ff) + 4
	case (oid == oidVarchar || oid == oidBpchar) && len(mods) == 1:
		return int32(mods[0]) + 4
	}
	return -1
}

// spellOID names a type in a message.
func spellOID(oid uint32) string {
	for name, o := range nativeNames {
		if o == oid {
			return name
		}
	}
	if elem, ok := arrayOf[oid]; ok {
		return spellOID(elem) + "[]"
	}
	return "with oid " + strconv.FormatUint(uint64(oid), 10)
}
