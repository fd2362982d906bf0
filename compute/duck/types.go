package duck

import (
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// plain are the types without parameters that have a kind of their own, with the width
// of their values where the vector's bytes equal Arrow's (0: they need converting).
var plain = map[bindings.Type]struct {
	kind  connectors.Kind
	width int
}{
	bindings.TypeBoolean:     {connectors.Boolean, 0},
	bindings.TypeTinyInt:     {connectors.TinyInt, 1},
	bindings.TypeSmallInt:    {connectors.SmallInt, 2},
	bindings.TypeInteger:     {connectors.Integer, 4},
	bindings.TypeBigInt:      {connectors.BigInt, 8},
	bindings.TypeHugeInt:     {connectors.HugeInt, 16},
	bindings.TypeUTinyInt:    {connectors.UTinyInt, 1},
	bindings.TypeUSmallInt:   {connectors.USmallInt, 2},
	bindings.TypeUInteger:    {connectors.UInteger, 4},
	bindings.TypeUBigInt:     {connectors.UBigInt, 8},
	bindings.TypeFloat:       {connectors.Float, 4},
	bindings.TypeDouble:      {connectors.Double, 8},
	bindings.TypeVarchar:     {connectors.Varchar, 0},
	bindings.TypeBlob:        {connectors.Blob, 0},
	bindings.TypeDate:        {connectors.Date, 4},
	bindings.TypeTime:        {connectors.Time, 8},
	bindings.TypeTimeTZ:      {connectors.TimeTZ, 8},
	bindings.TypeTimestamp:   {connectors.Timestamp, 8},
	bindings.TypeTimestampNS: {connectors.TimestampNS, 8},
	bindings.TypeTimestampTZ: {connectors.TimestampTZ, 8},
	bindings.TypeTimestampS:  {connectors.Timestamp, 0},
	bindings.TypeTimestampMS: {connectors.Timestamp, 0},
	bindings.TypeInterval:    {connectors.Interval, 0},
	bindings.TypeUUID:        {connectors.UUID, 0},
	bindings.TypeBit:         {connectors.Bit, 0},
	bindings.TypeEnum:        {connectors.Varchar, 0},
	bindings.TypeSQLNull:     {connectors.Integer, 4}, // as CREATE TABLE AS does
}

// unsupported names the types that no kind carries.
var unsupported = map[bindings.Type]string{
	bindings.TypeUHugeInt: "UHUGEINT", bindings.TypeUnion: "UNION", bindings.TypeArray: "ARRAY", bindings.TypeBigNum: "BIGNUM",
	bindings.TypeTimeNS: "TIME_NS", bindings.TypeGeometry: "GEOMETRY", bindings.TypeVariant: "VARIANT", bindings.TypeAny: "ANY",
}

// layout is a logical type together with how DuckDB's vectors hold it.
type layout struct {
	typ   connectors.Type
	id    bindings.Type // what the vector holds
	phys  bindings.Type // Decimal, Enum: the integers inside
	width int           // bytes of a value that are the same in Arrow, 0: converted
	dict  []string      // Enum
	kids  []layout
}

// own takes a logical type handle and frees it.
func own(column string, lt bindings.LogicalType) (layout, error) {
	defer bindings.DestroyLogicalType(&lt)
	return layoutOf(column, lt)
}

func layoutOf(column string, lt bindings.LogicalType) (layout, error) {
	id := bindings.GetTypeId(lt)
	l := layout{id: id}
	if p, ok := plain[id]; ok {
		l.typ, l.width = connectors.T(p.kind), p.width
		switch {
		case id == bindings.TypeVarchar && bindings.LogicalTypeGetAlias(lt) == "JSON":
			l.typ.Kind = connectors.JSON
		case id == bindings.TypeEnum:
			l.phys = bindings.EnumInternalType(lt)
			l.dict = make([]string, bindings.EnumDictionarySize(lt))
			for i := range l.dict {
				l.dict[i] = bindings.EnumDictionaryValue(lt, bindings.IdxT(i))
			}
		}
		return l, nil
	}
	switch id {
	case bindings.TypeDecimal:
		l.typ = connectors.Dec(int(bindings.DecimalWidth(lt)), int(bindings.DecimalScale(lt)))
		l.phys = bindings.DecimalInternalType(lt)
		return l, nil
	case bindings.TypeList:
		elem, err := own(column, bindings.ListTypeChildType(lt))
		l.typ, l.kids = connectors.ListOf(elem.typ), []layout{elem}
		return l, err
	case bindings.TypeStruct:
		return structLayout(column, lt)
	case bindings.TypeMap:
		return mapLayout(column, lt)
	}
	native := unsupported[id]
	if native == "" {
		native = "UNKNOWN"
	}
	return l, &connectors.TypeError{Column: column, Native: native, Reason: "dvt has no such type: cast it, to VARCHAR for its text"}
}

func structLayout(column string, lt bindings.LogicalType) (layout, error) {
	l := layout{id: bindings.TypeStruct, typ: connectors.T(connectors.Struct)}
	for i := range bindings.StructTypeChildCount(lt) {
		name := bindings.StructTypeChildName(lt, i)
		if name == "" {
			return l, &connectors.TypeError{Column: column, Native: "STRUCT", Reason: "its fields have no names: build it with struct_pack or {'name': value}"}
		}
		kid, err := own(column, bindings.StructTypeChildType(lt, i))
		if err != nil {
			return l, err
		}
		l.kids = append(l.kids, kid)
		l.typ.Fields = append(l.typ.Fields, connectors.Field{Name: name, Type: kid.typ})
	}
	return l, nil
}

// mapLayout describes a map as DuckDB and Arrow both hold it: a list of key and value
// structs.
func mapLayout(column string, lt bindings.LogicalType) (layout, error) {
	l := layout{id: bindings.TypeMap, typ: connectors.T(connectors.Map)}
	key, err := own(column, bindings.MapTypeKeyType(lt))
	if err != nil {
		return l, err
	}
	value, err := own(column, bindings.MapTypeValueType(lt))
	if err != nil {
		return l, err
	}
	l.typ.Fields = []connectors.Field{{Name: "key", Type: key.typ}, {Name: "value", Type: value.typ}}
	entry := layout{id: bindings.TypeStruct, typ: connectors.Type{Kind: connectors.Struct, Fields: l.typ.Fields}, kids: []layout{key, value}}
	l.kids = []layout{entry}
	return l, nil
}
