package blob

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// chunkBounds are the bounds that a footer gives for the column with index leaf in one
// row group. Statistics in the fields that old writers filled with signed comparisons of
// bytes are not used.
func chunkBounds(md *metadata.FileMetaData, group, leaf int) bounds {
	var b bounds
	chunk := md.RowGroups[group].Columns[leaf].MetaData
	desc := md.Schema.Column(leaf)
	if chunk == nil || chunk.Statistics == nil || len(desc.ColumnPath()) != 1 || desc.MaxRepetitionLevel() > 0 {
		return b
	}
	st := chunk.Statistics
	if st.NullCount != nil {
		rows := md.RowGroups[group].NumRows
		b.noNulls, b.allNulls = *st.NullCount == 0, rows > 0 && *st.NullCount == rows
	} else if desc.MaxDefinitionLevel() == 0 {
		b.noNulls = true
	}
	if st.MinValue == nil || st.MaxValue == nil {
		return b
	}
	from := b
	if !b.read(desc, st.MinValue, st.MaxValue) {
		return from
	}
	return b
}

// read understands the two ends of the values; false if it does not.
func (b *bounds) read(desc *schema.Column, lo, hi []byte) bool {
	logical := desc.LogicalType()
	switch desc.PhysicalType() {
	case pq.Types.Float:
		return len(lo) == 4 && len(hi) == 4 && b.floatsOf(floats, float64(math.Float32frombits(binary.LittleEndian.Uint32(lo))), float64(math.Float32frombits(binary.LittleEndian.Uint32(hi))))
	case pq.Types.Double:
		return len(lo) == 8 && len(hi) == 8 && b.floatsOf(doubles, math.Float64frombits(binary.LittleEndian.Uint64(lo)), math.Float64frombits(binary.LittleEndian.Uint64(hi)))
	case pq.Types.Int32, pq.Types.Int64:
		width := 4
		if desc.PhysicalType() == pq.Types.Int64 {
			width = 8
		}
		return len(lo) == width && len(hi) == width && b.integers(logical, lo, hi)
	case pq.Types.ByteArray, pq.Types.FixedLenByteArray:
		if d, ok := logical.(schema.DecimalLogicalType); ok {
			b.class, b.scale = decimals, int(d.Scale())
			b.lo, b.hi = bigEndian(lo), bigEndian(hi)
			return len(lo) > 0 && len(hi) > 0 && b.lo.Cmp(b.hi) <= 0
		}
		if _, ok := logical.(schema.StringLogicalType); ok && desc.PhysicalType() == pq.Types.ByteArray {
			b.class, b.textLo, b.textHi = texts, string(lo), string(hi)
			return b.textLo <= b.textHi
		}
	}
	return false
}

func (b *bounds) floatsOf(c class, lo, hi float64) bool {
	b.class, b.floatLo, b.floatHi = c, lo, hi
	return lo <= hi // false for NaN
}

func (b *bounds) integers(logical schema.LogicalType, lo, hi []byte) bool {
	unit := int64(1)
	signed := true
	switch l := logical.(type) {
	case schema.NoLogicalType, nil:
		b.class = whole
	case schema.IntLogicalType:
		b.class, signed = whole, l.IsSigned()
	case schema.DecimalLogicalType:
		b.class, b.scale = decimals, int(l.Scale())
	case schema.DateLogicalType:
		b.class = days
	case schema.TimestampLogicalType:
		b.class = micros
		if l.IsAdjustedToUTC() {
			b.class = microsTZ
		}
		switch l.TimeUnit() {
		case schema.TimeUnitMillis:
			unit = 1000
		case schema.TimeUnitMicros:
		case schema.TimeUnitNanos:
			if l.IsAdjustedToUTC() {
				return false
			}
			b.class = nanos
		default:
			return false
		}
	default:
		return false
	}
	b.lo, b.hi = littleEndian(lo, signed), littleEndian(hi, signed)
	if unit != 1 {
		b.lo.Mul(b.lo, big.NewInt(unit))
		b.hi.Mul(b.hi, big.NewInt(unit))
		if !b.lo.IsInt64() || !b.hi.IsInt64() {
			return false
		}
	}
	return b.lo.Cmp(b.hi) <= 0
}

func littleEndian(raw []byte, signed bool) *big.Int {
	if len(raw) == 4 {
		n := binary.LittleEndian.Uint32(raw)
		if signed {
			return big.NewInt(int64(int32(n)))
		}
		return big.NewInt(int64(n))
	}
	n := binary.LittleEndian.Uint64(raw)
	if signed {
		return big.NewInt(int64(n))
	}
	return new(big.Int).SetUint64(n)
}

// bigEndian is a number in two's complement.
func bigEndian(raw []byte) *big.Int {
	n := new(big.Int).SetBytes(raw)
	if len(raw) > 0 && bits.LeadingZeros8(raw[0]) == 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return n
}
