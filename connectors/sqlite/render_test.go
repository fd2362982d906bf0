package sqlite

import (
	"math"
	"math/big"
	"testing"
)

// TestAppendDecimal compares the short way of decimals with the long one.
func TestAppendDecimal(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 9, 10, -10, 99, 100, 12345, -12345, 1_000_000, math.MaxInt64, math.MinInt64} {
		for scale := range 39 {
			if got, want := string(appendDecimal(nil, n, scale)), decimalText(big.NewInt(n), scale); got != want {
				t.Errorf("%d of scale %d is %s, want %s", n, scale, got, want)
			}
		}
	}
}
