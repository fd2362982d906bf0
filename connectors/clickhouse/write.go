package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// Bounds of one block sent to the server.
const (
	blockRows  = 131072
	blockBytes = 32 << 20
)

// staging is a table being filled. Each INSERT statement lasts until Seal; the server
// gathers its blocks into large parts.
type staging struct {
	c       *conn
	facts   *facts
	target  connectors.Relation
	table   connectors.Relation
	run     string
	engine  string
	key     []string
	defs    []columnDef
	enc     []*encoder
	rows    int   // in enc
	total   int64 // rows before those in enc
	session session
	id      string // of the open INSERT
	done    bool   // swapped in or dropped
}

// Stage creates the staging table. The target's database is created if it is missing.
func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (connectors.Staging, error) {
	f, err := c.capabilities(ctx)
	if err != nil {
		return nil, err
	}
	target := c.inDatabase(spec.Target)
	st := &staging{c: c, facts: f, target: target, table: beside(target, stagingPrefix, spec.RunID), run: spec.RunID, engine: spec.Options.Engine, key: spec.Options.RowKey()}
	if len(spec.Columns) == 0 {
		return nil, fmt.Errorf("%s: a table without columns", target)
	}
	if st.defs, err = f.columnDefs(spec); err != nil {
		return nil, err
	}
	if err = c.restore(ctx, target); err == nil {
		err = c.ensureDatabase(ctx, target.Schema)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Exec(ctx, dropSQL(st.sqlName())); err != nil { // of a run of the same name
		return nil, err
	}
	if err := c.run(ctx, false, createSQL(st.sqlName(), st.defs, spec.Options), nil); err != nil {
		return nil, err
	}
	if err := st.learnTypes(ctx); err != nil {
		return nil, errors.Join(err, st.Discard(ctx))
	}
	if merges(st.engine) {
		// The rows staged are counted; merging would take some away before that.
		if err := c.run(ctx, false, stopMergesSQL(st.sqlName()), nil); err != nil {
			c.log.Warn("could not stop merges of a staging table", "table", st.table.String(), "error", err)
		}
	}
	return st, nil
}

// learnTypes asks the server how it spells the types of the staging table, which may
// be aliases in column_types, and makes the encoders.
func (st *staging) learnTypes(ctx context.Context) error {
	rows, err := st.c.text(ctx, columnsSQL(st.facts, st.table))
	if err != nil {
		return err
	}
	types := map[string]string{}
	for _, r := range rows {
		types[r[0]] = r[1]
	}
	for i := range st.defs {
		d := &st.defs[i]
		if d.t, err = parseType(types[d.name]); err != nil {
			return &connectors.TypeError{Column: d.name, Native: types[d.name], Reason: err.Error()}
		}
		e, err := newEncoder(d.t, d.typ, st.facts)
		if err != nil {
			return &connectors.TypeError{Column: d.name, Native: d.typ.String(), Reason: err.Error()}
		}
		st.enc = append(st.enc, e)
	}
	return nil
}

func (c *conn) ensureDatabase(ctx context.Context, name string) error {
	rows, err := c.text(ctx, databaseSQL(name))
	if err != nil || len(rows) > 0 {
		return err
	}
	return c.run(ctx, false, createDatabaseSQL(name), nil)
}

func (st *staging) sqlName() string { return relation(st.table, "") }

// Write takes over the values of rec; a block is sent when enough are there.
func (st *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(st.enc) {
		return fmt.Errorf("a batch of %d columns for %d", rec.NumCols(), len(st.enc))
	}
	n := int(rec.NumRows())
	for from := 0; from < n; {
		to := min(n, from+blockRows-st.rows)
		for i, e := range st.enc {
			if err := e.add(rec.Column(i), from, to); err != nil {
				return st.valueError(err, rec, i, from, to)
			}
		}
		st.rows += to - from
		from = to
		if st.rows >= blockRows || st.bytes() >= blockBytes {
			if err := st.send(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (st *staging) bytes() (n int) {
	for _, e := range st.enc {
		n += e.size()
	}
	return n
}

// valueError names the column and the row of a value that cannot be stored.
func (st *staging) valueError(err error, rec arrow.RecordBatch, col, from, to int) error {
	var f *valueFault
	if !errors.As(err, &f) {
		return err
	}
	at := st.enc[col].at(rec.Column(col), from, to)
	names := make([]string, len(st.defs))
	for i, d := range st.defs {
		names[i] = d.name
	}
	row := connectors.RowName(names, st.key, st.total+int64(st.rows)+int64(at-from)+1, func(i int) string { return rec.Column(i).ValueStr(at) })
	return &connectors.ValueError{Column: st.defs[col].name, Value: connectors.Shorten(f.value), Row: row, Reason: f.reason}
}

// send sends what is collected as one block, starting the INSERT if need be.
func (st *staging) send(ctx context.Context) error {
	if st.session == nil {
		if err := st.start(ctx); err != nil {
			return err
		}
	}
	if err := st.session.sendBlock(ctx, st); err != nil {
		return st.failed(ctx, err)
	}
	for _, e := range st.enc {
		e.reset()
	}
	st.total += int64(st.rows)
	st.rows = 0
	return nil
}

func (st *staging) insertText() string { return insertSQL(st.sqlName(), st.defs) }

func (st *staging) start(ctx context.Context) error {
	s, err := st.c.acquire(ctx, false)
	if err != nil {
		return err
	}
	st.session, st.id = s, queryID()
	cols, err := s.insert(ctx, st.insertText(), st.id)
	if err != nil {
		return st.failed(ctx, err)
	}
	for i, h := range cols {
		if i >= len(st.defs) || h.name != st.defs[i].name || h.typ != st.defs[i].t.text {
			return st.failed(ctx, fmt.Errorf("the server expects column %q of type %s at place %d of an INSERT", h.name, h.typ, i+1))
		}
	}
	return nil
}

// failed ends the INSERT on the server and gives the error to return.
func (st *staging) failed(ctx context.Context, err error) error {
	s := st.session
	st.session = nil
	st.c.stop(s, st.id, err, true)
	s.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return statementError(st.insertText(), st.c.lost(err))
}

// size and column make the collected values a block.
func (st *staging) size() (cols, rows int) { return len(st.enc), st.rows }

func (st *staging) column(o *output, i int) error {
	o.text(st.defs[i].name)
	o.text(st.enc[i].t.text)
	if st.rows == 0 {
		return nil
	}
	st.enc[i].prefixes(o)
	return st.enc[i].write(o)
}

// Seal sends the rest, waits until the server has stored everything and counts.
func (st *staging) Seal(ctx context.Context) (int64, error) {
	if st.rows > 0 {
		if err := st.send(ctx); err != nil {
			return 0, err
		}
	}
	if st.session != nil {
		if err := st.session.finish(ctx); err != nil {
			return 0, st.failed(ctx, err)
		}
		st.c.release(st.session, false)
		st.session = nil
	}
	for end := time.Now().Add(lagTime); ; {
		n, err := st.held(ctx)
		if err != nil || n >= st.total || time.Now().After(end) {
			return n, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(lagPoll):
		}
	}
}

// Behind a balancer another replica may answer than the one that took the rows, which it
// sees a moment later.
const (
	lagTime = 5 * time.Second
	lagPoll = 200 * time.Millisecond
)

// held counts the rows that the server shows.
func (st *staging) held(ctx context.Context) (int64, error) {
	rows, err := st.c.text(ctx, countSQL(st.sqlName()))
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("counting %s: no answer", st.table)
	}
	return strconv.ParseInt(rows[0][0], 10, 64)
}

// Discard drops the staging table unless it was swapped in.
func (st *staging) Discard(ctx context.Context) error {
	if st.session != nil {
		st.c.stop(st.session, st.id, nil, true)
		st.session.close()
		st.session = nil
	}
	if st.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := st.c.run(ctx, false, dropSQL(st.sqlName()), nil); err != nil {
		return err
	}
	st.done = true
	return nil
}
