package planner

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/dvt-dev/dvt/connectors"
)

// duckType is a type as DuckDB's JSON has it.
type duckType struct {
	id           string // DuckDB's LogicalTypeId
	width, scale int
	alias        string
	collation    string
	elem         *duckType
	fields       []duckField
}

type duckField struct {
	name string
	typ  duckType
}

var booleanType = duckType{id: "BOOLEAN"}

func parseType(o obj) duckType {
	t := duckType{id: str(o, "id")}
	info := sub(o, "type_info")
	if info == nil {
		return t
	}
	t.width, t.scale = num(info, "width"), num(info, "scale")
	t.alias, t.collation = str(info, "alias"), str(info, "collation")
	if c := sub(info, "child_type"); c != nil {
		e := parseType(c)
		t.elem = &e
	}
	for _, f := range list(info, "child_types") {
		if fo, ok := f.(obj); ok {
			t.fields = append(t.fields, duckField{str(fo, "first"), parseType(sub(fo, "second"))})
		}
	}
	return t
}

var kindOfID = map[string]connectors.Kind{
	"BOOLEAN": connectors.Boolean, "TINYINT": connectors.TinyInt, "SMALLINT": connectors.SmallInt, "INTEGER": connectors.Integer,
	"BIGINT": connectors.BigInt, "HUGEINT": connectors.HugeInt, "UTINYINT": connectors.UTinyInt, "USMALLINT": connectors.USmallInt,
	"UINTEGER": connectors.UInteger, "UBIGINT": connectors.UBigInt, "FLOAT": connectors.Float, "DOUBLE": connectors.Double,
	"VARCHAR": connectors.Varchar, "BLOB": connectors.Blob, "DATE": connectors.Date, "TIME": connectors.Time,
	"TIME WITH TIME ZONE": connectors.TimeTZ, "TIMESTAMP": connectors.Timestamp, "TIMESTAMP_NS": connectors.TimestampNS,
	"TIMESTAMP WITH TIME ZONE": connectors.TimestampTZ, "INTERVAL": connectors.Interval, "UUID": connectors.UUID, "BIT": connectors.Bit,
}

// logical is t as the contract knows it; the kind is Invalid where it does not.
func (t duckType) logical() connectors.Type {
	switch {
	case t.alias == "JSON":
		return connectors.T(connectors.JSON)
	case t.alias != "":
		return connectors.Type{}
	case t.id == "DECIMAL":
		return connectors.Dec(t.width, t.scale)
	case t.id == "LIST" && t.elem != nil:
		return connectors.ListOf(t.elem.logical())
	case t.id == "MAP" && t.elem != nil && len(t.elem.fields) == 2:
		s := t.elem.logical()
		s.Kind = connectors.Map
		return s
	case t.id == "STRUCT":
		s := connectors.Type{Kind: connectors.Struct}
		for _, f := range t.fields {
			s.Fields = append(s.Fields, connectors.Field{Name: f.name, Type: f.typ.logical()})
		}
		return s
	}
	return connectors.T(kindOfID[t.id])
}

func (t duckType) String() string {
	if l := t.logical(); l.Kind != connectors.Invalid {
		return l.String()
	}
	if t.alias != "" {
		return t.alias
	}
	return t.id
}

// constant is a typed constant of a plan. Values that no predicate may carry (nested
// ones, intervals, blobs, what is not understood) are opaque.
type constant struct {
	typ    duckType
	null   bool
	opaque bool
	num    *big.Int // booleans, integers, decimals (unscaled), dates, times, timestamps
	float  float64  // FLOAT, DOUBLE
	text   string   // VARCHAR
	show   string   // opaque: what to print
}

func parseConstant(o obj) constant {
	c := constant{typ: parseType(sub(o, "type"))}
	if c.null = o["is_null"] == true; c.null {
		return c
	}
	switch v := o["value"].(type) {
	case bool:
		c.num = big.NewInt(0)
		if v {
			c.num = big.NewInt(1)
		}
	case string:
		c.parseText(v)
	case json.Number:
		c.parseNumber(string(v))
	case obj:
		c.parseObject(v)
	default:
		c.opaque = true
	}
	return c
}

func (c *constant) parseText(v string) {
	switch c.typ.id {
	case "VARCHAR":
		c.text = v
	case "FLOAT", "DOUBLE": // NaN and the infinities
		c.parseNumber(v)
	default: // a blob's text cannot be told from escapes of its bytes
		c.opaque, c.show = true, literal(v)+"::"+c.typ.String()
	}
}

func (c *constant) parseNumber(v string) {
	var err error
	switch c.typ.id {
	case "FLOAT":
		c.float, err = strconv.ParseFloat(v, 32)
	case "DOUBLE":
		c.float, err = strconv.ParseFloat(v, 64)
	default:
		var ok bool
		c.num, ok = new(big.Int).SetString(v, 10)
		c.opaque = !ok
	}
	if err != nil {
		c.opaque = true
	}
}

// parseObject reads integers of 128 bits, intervals and nested values.
func (c *constant) parseObject(v obj) {
	upper, ok1 := v["upper"].(json.Number)
	lower, ok2 := v["lower"].(json.Number)
	if !ok1 || !ok2 {
		c.opaque = true
		if v["months"] != nil {
			c.show = intervalText(num(v, "months"), num(v, "days"), num(v, "micros"))
		}
		return
	}
	up, ok1 := new(big.Int).SetString(string(upper), 10)
	lo, ok2 := new(big.Int).SetString(string(lower), 10)
	if !ok1 || !ok2 {
		c.opaque = true
		return
	}
	c.num = up.Lsh(up, 64).Add(up, lo)
	if c.typ.id == "UUID" {
		c.text = uuidText(c.num)
	}
}

// uuidText is the canonical text of a UUID. DuckDB keeps one as a signed integer with
// the first bit flipped, so that its order is that of the text.
func uuidText(n *big.Int) string {
	bits := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 127))
	h := fmt.Sprintf("%032x", bits)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// value is c for a predicate; ok is false for what a predicate may not carry.
func (c constant) value() (v connectors.Value, ok bool) {
	v.Type = c.typ.logical()
	switch v.Type.Kind {
	case connectors.Invalid, connectors.Blob, connectors.Bit, connectors.Interval, connectors.TimeTZ,
		connectors.List, connectors.Struct, connectors.Map:
		return v, false
	case connectors.Float, connectors.Double:
		v.Float = c.float
	case connectors.Varchar, connectors.JSON, connectors.UUID:
		v.Text = c.text
	default:
		v.Int = c.num
		if v.Int == nil {
			return v, false
		}
	}
	return v, !c.opaque && !c.null
}
