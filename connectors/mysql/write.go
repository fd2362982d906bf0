package mysql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// cleanupTimeout bounds what is done after a run was cancelled.
const cleanupTimeout = 60 * time.Second

// The staging table of a relation is __dvt_ + 8 characters of the run + 12 of the
// relation's hash; what the swap needs besides has the same name and a suffix.
const (
	stagingPrefix  = "__dvt_"
	suffixOld      = "_old" // the content being replaced
	suffixTriggers = "_trg" // the definitions of its triggers
)

func (c *Conn) stagingName(run string, target connectors.Relation) string {
	var id []byte
	for i := 0; i < len(run) && len(id) < 8; i++ {
		switch x := run[i]; {
		case x >= 'a' && x <= 'z', x >= '0' && x <= '9':
			id = append(id, x)
		case x >= 'A' && x <= 'Z':
			id = append(id, x+'a'-'A')
		}
	}
	for len(id) < 8 {
		id = append(id, '0')
	}
	return stagingPrefix + string(id) + c.relationHash(target)
}

// relationHash is the same for all spellings that the server takes for one table.
func (c *Conn) relationHash(rel connectors.Relation) string {
	rel = c.at(rel)
	if c.server().foldNames {
		rel.Schema, rel.Name = strings.ToLower(rel.Schema), strings.ToLower(rel.Name)
	}
	sum := sha256.Sum256([]byte(rel.Schema + "\x00" + rel.Name))
	return hex.EncodeToString(sum[:])[:12]
}

// staging is one staging table being filled, on one session from the first row to the
// count.
type staging struct {
	c      *Conn
	spec   connectors.StageSpec
	target connectors.Relation
	rel    connectors.Relation
	cols   []*target
	fields []*field
	schema *arrow.Schema

	s       *session
	sink    sink
	text    []byte // one value's
	row     []byte // one row's
	written int64
	sealed  bool
	swapped bool
	done    bool
}

// sink takes encoded rows.
type sink interface {
	// start begins a row into b, put appends one value (nil = NULL), end ends it.
	put(b []byte, i int, f *field, text []byte, null bool) []byte
	end(b []byte) []byte
	// write sends one row; finish sends what is left and returns the rows the
	// server has taken in all.
	write(ctx context.Context, row []byte) error
	finish(ctx context.Context) (int64, error)
	// abort ends a load under way. It returns when nothing runs any more.
	abort()
}

// Stage creates the staging table of s.
func (c *Conn) Stage(ctx context.Context, spec connectors.StageSpec) (connectors.Staging, error) {
	target := c.at(spec.Target)
	if target.Schema == "" {
		return nil, fmt.Errorf("%s: no schema (database) is set for %s", c.where, target.Name)
	}
	s, err := c.acquire(ctx)
	if isCode(err, errUnknownDatabase) {
		if err = c.ensureDatabase(ctx, c.schema); err == nil {
			s, err = c.acquire(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.server().checkTarget(); err != nil {
		c.release(s)
		return nil, err
	}
	if target.Schema != c.schema {
		if err := s.ensureDatabase(ctx, target.Schema); err != nil {
			c.release(s)
			return nil, err
		}
	}
	st := &staging{c: c, spec: spec, target: target, s: s, schema: connectors.ArrowSchema(spec.Columns)}
	st.rel = connectors.Relation{Schema: target.Schema, Name: c.stagingName(spec.RunID, target)}
	if err := st.create(ctx); err != nil {
		c.release(s)
		return nil, err
	}
	if c.server().localInfile && !c.noInfile {
		st.sink = newLoader(st)
	} else {
		c.warnInsert.Do(func() {
			c.log.Warn("the server has local_infile off: rows are loaded by INSERT, which is slower")
		})
		st.sink = newInserter(st)
	}
	return st, nil
}

func (st *staging) create(ctx context.Context) error {
	keys, err := st.keyLengths(ctx)
	if err != nil {
		return err
	}
	d := dialect{st.c}
	for _, col := range st.spec.Columns {
		t, err := d.target(col, st.spec.Options.ColumnTypes[col.Name], keys[col.Name])
		if err != nil {
			return err
		}
		f, err := newField(t)
		if err != nil {
			return err
		}
		st.cols, st.fields = append(st.cols, t), append(st.fields, f)
	}
	// Of this very run and target: an earlier attempt whose Discard failed.
	if _, err := st.s.exec(ctx, dropTableSQL(st.rel)); err != nil {
		return fmt.Errorf("creating staging for %s: %w", st.target, err)
	}
	if _, err := st.s.exec(ctx, createStagingSQL(st.rel, st.cols)); err != nil {
		return fmt.Errorf("creating staging for %s: %w", st.target, err)
	}
	return nil
}

// keyLengths gives each text column that has to stand in an index as a whole its length
// in characters: those of the model's keys and indexes, and those of unique and foreign
// keys that the present target has.
func (st *staging) keyLengths(ctx context.Context) (map[string]int, error) {
	old, err := st.s.keyColumns(ctx, st.target)
	if err != nil {
		return nil, err
	}
	o := &st.spec.Options
	names := append([]string{o.Watermark}, o.UniqueKey...)
	for _, ix := range o.Indexes {
		names = append(names, ix.Columns...)
	}
	for _, c := range o.Constraints {
		if c.Kind != connectors.NotNull && c.Kind != connectors.Check {
			names = append(names, c.Columns...)
		}
	}
	for n := range old {
		names = append(names, n)
	}
	lengths := map[string]int{}
	for _, n := range names {
		for i := range st.spec.Columns {
			if c := &st.spec.Columns[i]; c.Name == n {
				switch {
				case c.Type.Length > 0:
					lengths[n] = c.Type.Length
				case old[n] > 0:
					lengths[n] = old[n]
				default:
					lengths[n] = keyLength
				}
			}
		}
	}
	return lengths, nil
}

func (c *Conn) ensureDatabase(ctx context.Context, db string) error {
	s, err := c.open(ctx, "", false)
	if err != nil {
		return err
	}
	defer s.close()
	return s.ensureDatabase(ctx, db)
}

func (s *session) ensureDatabase(ctx context.Context, db string) error {
	rows, err := s.rows(ctx, schemaSQL(db))
	if err != nil || len(rows) > 0 {
		return err
	}
	if _, err := s.exec(ctx, createDatabaseSQL(db)); err != nil {
		return fmt.Errorf("creating database %s: %w", db, err)
	}
	return nil
}

// Write encodes rec row by row.
func (st *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if st.sealed || st.done {
		return errors.New("writing to staging: it is closed")
	}
	if !rec.Schema().Equal(st.schema) {
		return fmt.Errorf("writing to staging: batch has schema %s, staging %s", rec.Schema(), st.schema)
	}
	n := int(rec.NumRows())
	type column struct {
		arr arrow.Array
		put func([]byte, int) ([]byte, string)
	}
	cols := make([]column, len(st.fields))
	for k, f := range st.fields {
		cols[k] = column{rec.Column(k), f.bind(rec.Column(k))}
	}
	for i := range n {
		row := slim(st.row)[:0]
		for k, f := range st.fields {
			if cols[k].arr.IsNull(i) {
				row = st.sink.put(row, k, f, nil, true)
				continue
			}
			text, reason := cols[k].put(slim(st.text)[:0], i)
			if reason != "" {
				return st.fault(rec, k, i, reason)
			}
			st.text = text
			row = st.sink.put(row, k, f, text, false)
		}
		st.row = st.sink.end(row)
		if err := st.sink.write(ctx, st.row); err != nil {
			return fmt.Errorf("loading staging for %s: %w", st.target, err)
		}
		st.written++
	}
	return nil
}

// fault names the value that the target cannot hold, and its row.
func (st *staging) fault(rec arrow.RecordBatch, k, i int, reason string) error {
	row := connectors.RowName(connectors.Names(st.spec.Columns), st.spec.Options.RowKey(), st.written+1, func(j int) string { return valueText(rec.Column(j), i) })
	return &connectors.ValueError{Column: st.cols[k].col.Name, Value: connectors.Shorten(valueText(rec.Column(k), i)), Row: row, Reason: reason}
}

// valueText is a value for people. Arrow shows times that time.Time cannot hold as bare
// numbers.
func valueText(arr arrow.Array, i int) string {
	var us int64
	switch a := arr.(type) {
	case *array.Date32:
		d := a.Value(i)
		if d == math.MaxInt32 || d == -math.MaxInt32 {
			return infinity(int64(d))
		}
		y, m, day := dateOf(int64(d))
		return fmt.Sprintf("%04d-%02d-%02d", y, m, day)
	case *array.Timestamp:
		us = int64(a.Value(i))
		if us == math.MaxInt64 || us == -math.MaxInt64 {
			return infinity(us)
		}
		if a.DataType().(*arrow.TimestampType).Unit == arrow.Nanosecond {
			return arr.ValueStr(i)
		}
		y, m, day := dateOf(floorDiv(us, dayMicros))
		us -= floorDiv(us, dayMicros) * dayMicros
		return fmt.Sprintf("%04d-%02d-%02d %s", y, m, day, appendTime(nil, us))
	}
	return arr.ValueStr(i)
}

func infinity(sign int64) string {
	if sign < 0 {
		return "-infinity"
	}
	return "infinity"
}

// Seal ends the load and lets the server count.
func (st *staging) Seal(ctx context.Context) (int64, error) {
	if st.sealed || st.done {
		return 0, errors.New("sealing staging: it is closed")
	}
	taken, err := st.sink.finish(ctx)
	if err != nil {
		return 0, fmt.Errorf("loading staging for %s: %w", st.target, err)
	}
	if taken != st.written {
		return 0, fmt.Errorf("loading staging for %s: the server took %d of %d rows", st.target, taken, st.written)
	}
	rows, err := st.s.rows(ctx, countSQL(st.rel))
	if err != nil {
		return 0, fmt.Errorf("counting staging for %s: %w", st.target, err)
	}
	n, err := strconv.ParseInt(rows[0][0].s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("counting staging for %s: %w", st.target, err)
	}
	st.sealed = true
	return n, nil
}

// Discard ends the load if it still runs, and drops the table unless it is the target
// by now.
func (st *staging) Discard(ctx context.Context) error {
	if st.done {
		return nil
	}
	st.sink.abort()
	if !st.sealed {
		st.s.bad = true // a load may have been cut short on it
	}
	st.c.release(st.s)
	st.done = true
	if st.swapped {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	err := st.c.with(ctx, func(s *session) error {
		_, err := s.exec(ctx, dropTableSQL(st.rel))
		return err
	})
	if err != nil {
		return fmt.Errorf("dropping staging for %s: %w", st.target, err)
	}
	return nil
}

// warnings fails if the last statement of s changed a value on its way in.
func (s *session) warnings(ctx context.Context) error {
	rows, err := s.rows(ctx, warningCountSQL)
	if err != nil {
		return err
	}
	if rows[0][0].s == "0" {
		return nil
	}
	first, err := s.rows(ctx, warningsSQL)
	if err != nil {
		return err
	}
	if len(first) == 0 {
		return fmt.Errorf("the server reports %s warnings", rows[0][0].s)
	}
	level, code, text := strings.ToLower(first[0][0].s), first[0][1].s, first[0][2].s
	reason := fmt.Sprintf("the server would change it: %s %s: %s (%s warnings)", level, code, text, rows[0][0].s)
	if err := placed(text, reason); err != nil {
		return err
	}
	return errors.New(reason)
}

// placed makes a *ValueError of a server's message that names a column and a row, nil of
// others.
func placed(text, reason string) error {
	m := warningPlace.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return &connectors.ValueError{Column: m[1], Value: "?", Row: "number " + m[2] + " of the statement", Reason: reason}
}

// warningPlace reads "… for column 'v' at row 3", also with the table's name.
var warningPlace = regexp.MustCompile("(?i)column ['`](?:.*`\\.`)?([^'`]*)['`] at row (\\d+)")
