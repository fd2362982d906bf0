package sqlite

import (
	"context"
	"math/big"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/connectors"
)

// A whole table is read by two sessions, which take ranges of rowids in turn: stepping
// and decoding cost more than DuckDB's staging, and one session uses one core.
const (
	rangeReaders = 2
	rangeCount   = 16
	// leastSpan is the number of rowids from which on a second session is worth opening.
	leastSpan = 200_000
)

// rowRange is from lo to hi, both included.
type rowRange struct{ lo, hi int64 }

// wholeTable reports whether sql is the extract of all rows of one table by rowid, to
// which a predicate can be added.
func wholeTable(sql string) bool {
	if !strings.Contains(sql, " AS "+quote(rowKeyColumn)+" FROM ") {
		return false
	}
	for _, clause := range []string{" WHERE ", " ORDER BY ", " LIMIT "} {
		if strings.Contains(sql, clause) {
			return false
		}
	}
	return true
}

// cutRows divides the rowids from lo to hi into n ranges.
func cutRows(lo, hi int64, n int) []rowRange {
	first, count := big.NewInt(lo), new(big.Int).Sub(big.NewInt(hi), big.NewInt(lo))
	count.Add(count, big.NewInt(1))
	at := func(i int) int64 {
		x := new(big.Int).Mul(count, big.NewInt(int64(i)))
		return x.Add(x.Quo(x, big.NewInt(int64(n))), first).Int64()
	}
	var all []rowRange
	for i := range n {
		end := hi
		if i < n-1 {
			end = at(i+1) - 1
		}
		if from := at(i); from <= end {
			all = append(all, rowRange{from, end})
		}
	}
	return all
}

// readRanges reads q by two sessions that see the same rows. done is false, and nothing
// has been read, where that is not to be had: s then reads alone.
func (c *conn) readRanges(ctx context.Context, s *session, q connectors.Query, emit func(arrow.RecordBatch) error) (done bool, err error) {
	if runtime.NumCPU() < rangeReaders || len(c.attached) != 1 || !wholeTable(q.SQL) {
		return false, nil
	}
	ranges, err := c.ranges(ctx, s, q)
	if err != nil || ranges == nil {
		return false, err
	}
	other, err := c.twin(ctx, s)
	if err != nil || other == nil {
		return false, err
	}
	defer c.leave(other)
	var mu sync.Mutex // emit is called by one at a time
	one := func(rec arrow.RecordBatch) error {
		mu.Lock()
		defer mu.Unlock()
		return emit(rec)
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range []*session{s, other} {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(ranges)); i = next.Add(1) - 1 {
				part := connectors.Query{SQL: inRange(q.SQL, ranges[i]), Columns: q.Columns}
				if err := c.readAlone(ctx, s, part, one); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return true, group.Wait()
}

// ranges are the pieces of a table, nil if it is too small for several.
func (c *conn) ranges(ctx context.Context, s *session, q connectors.Query) ([]rowRange, error) {
	var ends []int64
	for _, descending := range []bool{false, true} {
		err := s.rows(ctx, endRow(q.SQL, descending), func(st *stmt) error {
			ends = append(ends, st.integer(st.columns()-1))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(ends) != 2 || uint64(ends[1])-uint64(ends[0]) < leastSpan {
		return nil, nil
	}
	// Rows that are added meanwhile belong to the outer ranges.
	ranges := cutRows(ends[0], ends[1], rangeCount)
	ranges[0].lo, ranges[len(ranges)-1].hi = -1<<63, 1<<63-1
	return ranges, nil
}

// twin is a session in a read transaction that sees what s sees, which is in one as
// well then; nil if there is none. The caller leaves it.
func (c *conn) twin(ctx context.Context, s *session) (other *session, err error) {
	if other, err = c.take(ctx); err != nil {
		return nil, err
	}
	same, err := sameView(ctx, s, other)
	if err != nil || !same {
		c.leave(other)
		return nil, err
	}
	return other, nil
}

// sameView begins a read transaction of other, and of s where it is in none, and
// reports whether both see the same rows. Without a write-ahead log they do: while s
// reads, nobody commits. With one, a commit could come in between; it changes the
// version that other tells.
func sameView(ctx context.Context, s, other *session) (bool, error) {
	before, err := other.word(ctx, dataVersion)
	if err != nil {
		return false, err
	}
	began := !s.inTransaction()
	if began {
		if err := s.begin(ctx); err != nil {
			return false, err
		}
	}
	// A writer that waits for s lets nobody else begin: it is not waited for.
	wait := other.setWait(0)
	err = other.begin(ctx)
	other.setWait(wait)
	if hasCode(err, codeBusy, codeLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mode, err := s.word(ctx, journalMode("main"))
	if err != nil || mode != "wal" {
		return err == nil, err
	}
	after, err := other.word(ctx, dataVersion)
	return err == nil && began && before == after, err
}

// begin begins a transaction that sees main as it is now.
func (s *session) begin(ctx context.Context) error {
	if err := s.exec(ctx, beginRead); err != nil {
		return err
	}
	return s.exec(ctx, touch("main"))
}

// word runs a statement of one text.
func (s *session) word(ctx context.Context, sql string) (word string, err error) {
	err = s.rows(ctx, sql, func(st *stmt) error {
		word = st.text(0)
		return nil
	})
	return word, err
}

// endRow gives the first row of an extract by rowid, or the last.
func endRow(sql string, last bool) string {
	sql += " ORDER BY " + quote(rowKeyColumn)
	if last {
		sql += " DESC"
	}
	return sql + " LIMIT 1"
}

func inRange(sql string, r rowRange) string {
	if r.lo == -1<<63 { // there is no literal for it: its digits alone are too large
		return sql + " WHERE " + quote(rowKeyColumn) + " <= " + strconv.FormatInt(r.hi, 10)
	}
	return sql + " WHERE " + quote(rowKeyColumn) + " BETWEEN " + strconv.FormatInt(r.lo, 10) + " AND " + strconv.FormatInt(r.hi, 10)
}
