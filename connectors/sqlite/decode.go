package sqlite

/*
#include "lite.h"
*/
import "C"

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/dvt-dev/dvt/connectors"
)

// Time stamps that DuckDB can hold, in µs, a day within its own limits.
const (
	minStamp = -290307 * 365 * day
	maxStamp = 9223372036854775807 - 2*day
)

var maxUint64 = new(big.Int).SetUint64(math.MaxUint64)

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// cell is one value that C left to be judged here.
type cell struct {
	class  int // LITE_INTEGER, LITE_FLOAT, LITE_TEXTUAL or LITE_BLOBBY
	i      int64
	f      float64
	b      []byte // text or blob
	policy mismatch
	native string
}

// ask decodes column i of the current row where C could not, or turns it into what the
// policy says.
func (r *reader) ask(i int) error {
	col := r.cols[i]
	v := cell{class: r.st.class(i), policy: r.policy, native: col.Native}
	switch v.class {
	case C.LITE_INTEGER:
		v.i = r.st.integer(i)
	case C.LITE_FLOAT:
		v.f = r.st.double(i)
	case C.LITE_TEXTUAL:
		v.b = r.st.bytes(i, false)
	default:
		v.b = r.st.bytes(i, true)
	}
	out, reason := v.decode(col.Type)
	if reason == "" {
		return r.put(i, out)
	}
	if r.policy == mismatchNull {
		C.lite_null(r.batch, &r.c[i])
		return nil
	}
	return &connectors.ValueError{Column: col.Name, Value: v.String(), Row: r.row(), Reason: reason + v.advice(col)}
}

// put stores the bytes of a decoded value.
func (r *reader) put(i int, b []byte) error {
	c := &r.c[i]
	row := int(r.batch.row)
	switch {
	case c.width == 0:
		var p *C.char
		if len(b) > 0 {
			p = (*C.char)(unsafe.Pointer(&b[0]))
		} else {
			p = (*C.char)(unsafe.Pointer(c.offsets)) // any address, nothing is read
		}
		if rc := C.lite_append(r.batch, c, p, C.int64_t(len(b))); rc != C.LITE_OK {
			return fmt.Errorf("column %q: out of memory", r.cols[i].Name)
		}
	default:
		copy(unsafe.Slice((*byte)(c.data), (row+1)*int(c.width))[row*int(c.width):], b)
	}
	return nil
}

// String is the value for people.
func (v cell) String() string {
	switch v.class {
	case C.LITE_INTEGER:
		return strconv.FormatInt(v.i, 10)
	case C.LITE_FLOAT:
		return realText(v.f)
	case C.LITE_TEXTUAL:
		return "'" + connectors.Shorten(string(v.b)) + "'"
	}
	return "x'" + connectors.Shorten(fmt.Sprintf("%x", v.b[:min(len(v.b), 64)])) + "'"
}

func (v cell) className() string {
	return map[int]string{C.LITE_INTEGER: "integer", C.LITE_FLOAT: "real", C.LITE_TEXTUAL: "text", C.LITE_BLOBBY: "blob"}[v.class]
}

func (v cell) advice(col connectors.Column) string {
	declared := "declares no type"
	if col.Native != "" {
		declared = "declares " + col.Native
	}
	remedy := "sqlite_type_mismatch: text or null on the connection reads such values"
	if v.class == C.LITE_FLOAT && col.Type.Kind == connectors.Decimal {
		remedy = "data_type: double for the column of the source reads it as it is stored"
	}
	return fmt.Sprintf(" (stored as %s in a column that %s; %s)", v.className(), declared, remedy)
}

func le16(v int64) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
func le32(v int64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func le64(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// le128 is the two's complement of v in 16 bytes.
func le128(v *big.Int) []byte {
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	be := v.FillBytes(make([]byte, 16))
	for i := range 8 {
		be[i], be[15-i] = be[15-i], be[i]
	}
	return be
}

// decode gives the bytes of the value as t, or why it is not one.
func (v cell) decode(t connectors.Type) (out []byte, reason string) {
	switch t.Kind {
	case connectors.Varchar:
		return v.text()
	case connectors.Blob:
		switch {
		case v.policy != mismatchText:
			return nil, "not a blob"
		case v.class == C.LITE_TEXTUAL:
			return v.b, ""
		}
		return v.text()
	case connectors.JSON:
		return v.json()
	case connectors.Bit:
		if v.class == C.LITE_TEXTUAL && len(v.b) > 0 && strings.Trim(string(v.b), "01") == "" {
			return v.b, ""
		}
		return nil, "not a text of 0 and 1"
	case connectors.Boolean:
		return nil, "not 0 or 1"
	case connectors.Float, connectors.Double:
		return v.real(t.Kind)
	case connectors.Decimal, connectors.HugeInt:
		return v.decimal(t)
	case connectors.UUID:
		return v.uuid()
	case connectors.Date, connectors.Time, connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		return v.moment(t.Kind)
	}
	return v.integer(t.Kind)
}

func (v cell) text() ([]byte, string) {
	switch v.class {
	case C.LITE_INTEGER:
		return strconv.AppendInt(nil, v.i, 10), ""
	case C.LITE_FLOAT:
		return []byte(realText(v.f)), ""
	case C.LITE_TEXTUAL:
		return nil, "not valid UTF-8"
	}
	if v.policy == mismatchText && utf8.Valid(v.b) {
		return v.b, ""
	}
	return nil, "not a text"
}

// json has what C does not know as JSON: a document that nests deeply, or a real, which
// is what the numeric affinity of a column declared JSON made of a number.
func (v cell) json() ([]byte, string) {
	switch {
	case v.class == C.LITE_TEXTUAL && utf8.Valid(v.b) && json.Valid(v.b):
		return v.b, ""
	case v.class == C.LITE_FLOAT && !math.IsInf(v.f, 0):
		return []byte(realText(v.f)), ""
	}
	return nil, "not JSON"
}

// realText is the shortest spelling that reads as the same double, with SQLite's ".0".
func realText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e15) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		if mantissa, exp, _ := strings.Cut(s, "e"); !strings.Contains(mantissa, ".") {
			return mantissa + ".0e" + exp
		}
		return s
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func (v cell) real(k connectors.Kind) ([]byte, string) {
	f := v.f
	switch v.class {
	case C.LITE_INTEGER:
		f = float64(v.i)
		if f >= 1<<63 || int64(f) != v.i {
			return nil, "an integer that no double equals"
		}
	case C.LITE_FLOAT:
	default:
		return nil, "not a number"
	}
	if k == connectors.Double {
		return le64(int64(math.Float64bits(f))), ""
	}
	if float64(float32(f)) != f {
		return nil, "not a 32-bit float"
	}
	return le32(int64(math.Float32bits(float32(f)))), ""
}

// number is the value as an unscaled decimal of the wanted scale.
func (v cell) number(scale int) (*big.Int, string) {
	switch v.class {
	case C.LITE_INTEGER:
		return new(big.Int).Mul(big.NewInt(v.i), tenTo(scale)), ""
	case C.LITE_FLOAT:
		if math.IsInf(v.f, 0) {
			return nil, "infinite"
		}
		// The shortest decimal that reads as this double is the one that was stored.
		return scaled(strconv.FormatFloat(v.f, 'e', -1, 64), scale)
	case C.LITE_TEXTUAL:
		return scaled(string(v.b), scale)
	}
	return nil, "not a number"
}

// scaled reads "[-]digits[.digits][e±digits]" exactly.
func scaled(s string, scale int) (*big.Int, string) {
	digits, exp, err := decimalParts(s)
	if err != "" {
		return nil, err
	}
	switch exp += scale; {
	case exp >= 0:
		return digits.Mul(digits, tenTo(exp)), ""
	default:
		q, rest := new(big.Int).QuoRem(digits, tenTo(-exp), new(big.Int))
		if rest.Sign() != 0 {
			return nil, fmt.Sprintf("more than %d digits after the point", scale)
		}
		return q, ""
	}
}

// decimalParts takes a decimal apart: digits × 10^exp.
func decimalParts(s string) (digits *big.Int, exp int, reason string) {
	mantissa, e, hasExp := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if hasExp {
		n, err := strconv.Atoi(e)
		if err != nil || n > 400 || n < -400 {
			return nil, 0, "not a decimal"
		}
		exp = n
	}
	unsigned := strings.TrimLeft(whole, "+-")
	if len(whole)-len(unsigned) > 1 || unsigned+fraction == "" || strings.Trim(unsigned+fraction, "0123456789") != "" || len(s) > 500 {
		return nil, 0, "not a decimal"
	}
	digits, _ = new(big.Int).SetString(unsigned+fraction, 10)
	if strings.HasPrefix(whole, "-") {
		digits.Neg(digits)
	}
	return digits, exp - len(fraction), ""
}

// The range of HUGEINT: 127 bits and a sign.
var (
	maxHuge = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
	minHuge = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))
)

func (v cell) decimal(t connectors.Type) ([]byte, string) {
	n, reason := v.number(t.Scale)
	if reason != "" {
		return nil, reason
	}
	tooLarge := n.Cmp(maxHuge) > 0 || n.Cmp(minHuge) < 0
	if t.Kind == connectors.Decimal {
		tooLarge = n.CmpAbs(tenTo(t.Precision)) >= 0
	}
	if tooLarge {
		return nil, "too large for " + t.String()
	}
	return le128(n), ""
}

// integer: of another class only a real without a fraction is one, and for the types
// that SQLite has no integer for, a text of digits.
func (v cell) integer(k connectors.Kind) ([]byte, string) {
	var n *big.Int
	switch {
	case v.class == C.LITE_INTEGER:
		n = big.NewInt(v.i)
	case v.class == C.LITE_FLOAT && v.f == math.Trunc(v.f) && math.Abs(v.f) < 1<<63:
		n = big.NewInt(int64(v.f))
	case v.class == C.LITE_TEXTUAL && k == connectors.UBigInt:
		var reason string
		if n, reason = scaled(string(v.b), 0); reason != "" {
			return nil, reason
		}
	default:
		return nil, "not an integer"
	}
	bits, signed := 64, true
	switch k {
	case connectors.TinyInt, connectors.UTinyInt:
		bits = 8
	case connectors.SmallInt, connectors.USmallInt:
		bits = 16
	case connectors.Integer, connectors.UInteger:
		bits = 32
	}
	switch k {
	case connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		signed = false
	}
	lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(bits))
	if signed {
		hi.Rsh(hi, 1)
		lo.Neg(hi)
	}
	if n.Cmp(lo) < 0 || n.Cmp(hi) >= 0 {
		return nil, "out of the range of " + k.String()
	}
	word := new(big.Int).And(n, maxUint64).Uint64() // two's complement
	return le64(int64(word))[:bits/8], ""
}

func (v cell) uuid() ([]byte, string) {
	if v.class == C.LITE_BLOBBY && len(v.b) == 16 {
		return v.b, ""
	}
	if v.class == C.LITE_TEXTUAL {
		if u, err := hex.DecodeString(string(v.b)); err == nil && len(u) == 16 {
			return u, ""
		}
	}
	return nil, "not a UUID"
}

// The forms of ISO 8601 beyond those that C reads.
var (
	dateForms  = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"}
	stampForms = append([]string{"2006-01-02"}, dateForms...)
	zoneForms  = []string{"Z07:00", "-07:00", "-0700", "-07"}
)

func parseAny(s string, forms []string) (time.Time, bool) {
	if strings.Contains(s, ",") {
		return time.Time{}, false
	}
	for _, form := range forms {
		// A fraction is accepted behind the seconds, of any length.
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func (v cell) moment(k connectors.Kind) ([]byte, string) {
	if v.class != C.LITE_TEXTUAL {
		if k == connectors.Timestamp && v.class == C.LITE_INTEGER {
			return nil, "not an ISO 8601 text (a column of seconds since 1970 is declared with UNIX in its type)"
		}
		return nil, "not an ISO 8601 text"
	}
	s := string(v.b)
	if fractionDigits(s) > 9 {
		return nil, "finer than nanoseconds"
	}
	var t time.Time
	ok := false
	switch k {
	case connectors.Time:
		if s == "24:00:00" {
			return le64(day), ""
		}
		if t, ok = parseAny("1970-01-01 "+s, dateForms); !ok {
			return nil, "not a time"
		}
	case connectors.Date:
		if t, ok = parseAny(s, dateForms); !ok {
			return nil, "not a date (YYYY-MM-DD)"
		}
		if t.Hour()+t.Minute()+t.Second()+t.Nanosecond() > 0 {
			return nil, "a date with a time"
		}
		return le32(t.Unix() / 86400), ""
	case connectors.TimestampTZ:
		for _, zone := range zoneForms {
			for _, form := range dateForms {
				if t, ok = parseAny(s, []string{form + zone}); ok {
					break
				}
			}
			if ok {
				break
			}
		}
		if !ok {
			return nil, "not a time stamp with Z or an offset"
		}
	default:
		if t, ok = parseAny(strings.TrimSuffix(strings.TrimSuffix(s, "Z"), "+00:00"), stampForms); !ok {
			if _, zoned := parseAny(s, []string{"2006-01-02 15:04:05-07:00", "2006-01-02T15:04:05-07:00"}); zoned {
				return nil, "a time stamp with an offset (data_type: timestamptz for the column of the source reads it)"
			}
			return nil, "not a time stamp (YYYY-MM-DD HH:MM:SS)"
		}
	}
	if k == connectors.TimestampNS {
		if !t.After(time.Unix(0, -math.MaxInt64)) || !t.Before(time.Unix(0, math.MaxInt64)) {
			return nil, "out of the range of TIMESTAMP_NS"
		}
		return le64(t.UnixNano()), ""
	}
	if t.Nanosecond()%1000 != 0 {
		return nil, "finer than microseconds"
	}
	return le64(t.UnixMicro()), ""
}

// fractionDigits counts the digits behind the point, without zeros at the end: time.Parse
// drops what is finer than nanoseconds.
func fractionDigits(s string) int {
	_, f, ok := strings.Cut(s, ".")
	if !ok {
		return 0
	}
	end := 0
	for end < len(f) && f[end] >= '0' && f[end] <= '9' {
		end++
	}
	return len(strings.TrimRight(f[:end], "0"))
}
