package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dvt-dev/dvt/connectors"
)

// staging is one load: one session, one transaction from CREATE TABLE to the swap. A
// run that dies leaves nothing behind, for nothing of it was ever committed.
type staging struct {
	c       *conn
	spec    connectors.StageSpec
	target  connectors.Relation
	rel     connectors.Relation // the staging table
	session *pgxpool.Conn       // nil once given back
	enc     *encoder
	copy    *copyIn // the running COPY, nil before the first batch
	count   int64   // rows that the server holds, after Seal
	sealed  bool
	placed  []placed // once constrained
}

var _ connectors.Staging = (*staging)(nil)

// Stage implements connectors.Stager.
func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (connectors.Staging, error) {
	target := c.fill(spec.Target)
	if err := checkNames(target, spec.Columns); err != nil {
		return nil, err
	}
	if err := c.createSchema(ctx, target.Schema); err != nil {
		return nil, err
	}
	session, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	st := &staging{c: c, spec: spec, target: target, rel: stagingName(spec.RunID, target), session: session}
	if err := st.create(ctx); err != nil {
		st.drop()
		return nil, err
	}
	return st, nil
}

func checkNames(target connectors.Relation, cols []connectors.Column) error {
	if err := checkIdent("schema", target.Schema); err != nil {
		return err
	}
	if err := checkIdent("relation", target.Name); err != nil {
		return err
	}
	for _, col := range cols {
		if err := checkIdent("column", col.Name); err != nil {
			return err
		}
	}
	return nil
}

// createSchema runs in a transaction of its own: inside the load's it would make every
// other load into that schema wait for this one's end.
func (c *conn) createSchema(ctx context.Context, schema string) error {
	return c.session(ctx, func(pc *pgconn.PgConn) error {
		rows, err := c.query(ctx, pc, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text", schema)
		if err != nil || len(rows) > 0 {
			return err
		}
		err = c.exec(ctx, pc, createSchemaSQL(schema))
		if hasCode(err, codeDuplicateSchema, codeUniqueViolation) {
			return nil // another session was quicker, IF NOT EXISTS notwithstanding
		}
		return err
	})
}

// create opens the transaction, creates the table and looks up what its columns are.
func (st *staging) create(ctx context.Context) error {
	c, pc := st.c, st.conn()
	if err := c.exec(ctx, pc, beginSQL(modeWrite, c.settings.session)); err != nil {
		return err
	}
	names := make([]string, len(st.spec.Columns))
	types := make([]string, len(st.spec.Columns))
	for i, col := range st.spec.Columns {
		var err error
		names[i] = col.Name
		if types[i], err = c.columnType(ctx, pc, col, st.spec.Options.ColumnTypes); err != nil {
			return err
		}
	}
	if err := c.exec(ctx, pc, c.dialect.createStagingSQL(st.rel, names, types)); err != nil {
		return err
	}
	rows, err := c.query(ctx, pc, columnsQuery, c.dialect.Relation(st.rel), "", "", "")
	if err != nil {
		return err
	}
	infos := make([]typeInfo, len(rows))
	for i, row := range rows {
		infos[i] = scanType(row)
	}
	st.enc, err = newEncoder(st.spec.Columns, types, infos, st.spec.Options.RowKey(), c.settings.stripNUL)
	return err
}

// columnType is the type of one staging column: what the model asks for, else its own
// type back if it comes from PostgreSQL, else the narrowest that holds every value.
func (c *conn) columnType(ctx context.Context, pc *pgconn.PgConn, col connectors.Column, asked map[string]string) (string, error) {
	if t, ok := asked[col.Name]; ok {
		return t, plausibleType(t)
	}
	if _, builtin := parseNative(col.Native); col.Engine == engineName && col.Native != "" && !builtin && col.Native != `"char"` {
		// An enum, a domain or an extension's type: only if this database has it.
		// ("char" would keep one byte of a text without a word.)
		rows, err := c.query(ctx, pc, "SELECT 1 WHERE pg_catalog.to_regtype($1) IS NOT NULL", col.Native)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			return col.Native, nil
		}
	}
	return c.dialect.TargetType(col)
}

func (st *staging) conn() *pgconn.PgConn { return st.session.Conn().PgConn() }

// Write implements connectors.Staging.
func (st *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if st.session == nil || st.sealed {
		return fmt.Errorf("loading %s: the staging table is closed", st.target)
	}
	if st.copy == nil {
		sql := st.c.dialect.copyFromSQL(st.rel, st.enc.names, st.enc.binary)
		st.copy = startCopy(ctx, st.conn(), sql)
		st.enc.out = append(st.copy.buffer(), st.enc.header()...)
	}
	err := st.enc.batch(rec, func(full []byte) ([]byte, error) {
		if err := st.copy.send(ctx, full); err != nil {
			return nil, err
		}
		return st.copy.buffer(), nil
	})
	if err != nil {
		return st.copyError(err)
	}
	return nil
}

func (st *staging) copyError(err error) error {
	if st.copy != nil && errors.Is(err, st.copy.failed()) {
		return st.c.statementError(st.copy.sql, 0, err)
	}
	return err
}

// Seal implements connectors.Staging. COPY itself tells how many rows it put into the
// table, which nobody else can see yet: no second look at all of them is needed.
func (st *staging) Seal(ctx context.Context) (int64, error) {
	if st.session == nil || st.sealed {
		return 0, fmt.Errorf("loading %s: the staging table is closed", st.target)
	}
	if st.copy != nil {
		err := st.copy.send(ctx, append(st.enc.out, st.enc.trailer()...))
		if err == nil {
			err = st.copy.end(ctx)
		}
		if err != nil {
			return 0, st.copyError(err)
		}
		st.count = st.copy.rows
	}
	st.sealed = true
	return st.count, nil
}

// Discard implements connectors.Staging. Its own context does not matter: the
// transaction must end even if that of the load has been cancelled.
func (st *staging) Discard(context.Context) error {
	st.drop()
	return nil
}

func (st *staging) drop() {
	if st.session == nil {
		return
	}
	if st.copy != nil {
		st.copy.abort()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if st.c.exec(ctx, st.conn(), "ROLLBACK") != nil {
		closeNow(st.conn()) // the server rolls back when the session ends
	}
	st.session.Release()
	st.session = nil
}

// CleanStaging implements connectors.Stager. Loads of this version leave nothing, but a
// staging table committed by another is dropped all the same.
func (c *conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	target = c.fill(target)
	return c.session(ctx, func(pc *pgconn.PgConn) error {
		rows, err := c.query(ctx, pc, `SELECT c.relname FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1::text AND c.relkind = 'r' AND c.relname ~ $2`, target.Schema, leftoverPattern(target))
		if err != nil {
			return err
		}
		for _, row := range rows {
			rel := connectors.Relation{Schema: target.Schema, Name: row[0].s}
			if err := c.exec(ctx, pc, c.dialect.dropTableSQL(rel)); err != nil {
				return fmt.Errorf("dropping the staging table of a dead run: %w", err)
			}
			c.log.Debug("dropped the staging table of a dead run", "relation", rel.String())
		}
		return nil
	})
}

// copyIn is a COPY FROM STDIN fed by buffers. The goroutine that the driver reads in
// ends when the buffers end, the server refuses, or abort is called; each of these is
// waited for.
type copyIn struct {
	sql    string
	full   chan []byte
	free   chan []byte
	stop   chan struct{} // closed by abort
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{} // closed when the COPY has ended
	err    error         // why, after done
	rows   int64         // that the server took, after done

	current, owned []byte // what the driver is reading
}

// The stream's buffers: encoding and sending overlap.
const (
	copyBuffers = 3
	copyBuffer  = 256 << 10
)

func startCopy(ctx context.Context, pc *pgconn.PgConn, sql string) *copyIn {
	// The context of one Write must not end the stream of the next.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &copyIn{sql: sql, full: make(chan []byte), free: make(chan []byte, copyBuffers), stop: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		var tag pgconn.CommandTag
		tag, x.err = pc.CopyFrom(ctx, x, sql)
		x.rows = tag.RowsAffected()
	}()
	return x
}

// Read implements io.Reader for the driver.
func (x *copyIn) Read(p []byte) (int, error) {
	for len(x.current) == 0 {
		if x.owned != nil {
			select {
			case x.free <- x.owned[:0]:
			default:
			}
			x.owned = nil
		}
		select {
		case b, ok := <-x.full:
			if !ok {
				return 0, io.EOF
			}
			x.current, x.owned = b, b
		case <-x.stop:
			return 0, errAborted
		}
	}
	n := copy(p, x.current)
	x.current = x.current[n:]
	return n, nil
}

// buffer is an empty buffer to fill.
func (x *copyIn) buffer() []byte {
	select {
	case b := <-x.free:
		if cap(b) <= 4*copyBuffer { // one huge value must not pin its memory
			return b
		}
	default:
	}
	return make([]byte, 0, copyBuffer+copyBuffer/4)
}

// send hands b to the stream.
func (x *copyIn) send(ctx context.Context, b []byte) error {
	select {
	case x.full <- b:
		return nil
	case <-x.done:
		return x.failed()
	case <-ctx.Done():
		x.abort()
		return ctx.Err()
	}
}

// failed is why the COPY ended before its data did.
func (x *copyIn) failed() error {
	select {
	case <-x.done:
	default:
		return nil
	}
	if x.err == nil {
		x.err = io.ErrUnexpectedEOF
	}
	return x.err
}

// end closes the stream and waits for the server's verdict.
func (x *copyIn) end(ctx context.Context) error {
	close(x.full)
	select {
	case <-x.done:
	case <-ctx.Done():
		x.abort()
		return ctx.Err()
	}
	x.cancel()
	return x.err
}

var errAborted = errors.New("the load was given up")

// abort ends the COPY, whatever its state, and waits for it. The server is told in the
// stream itself; only if it does not listen is the statement cancelled.
func (x *copyIn) abort() {
	x.once.Do(func() { close(x.stop) })
	select {
	case <-x.done:
	case <-time.After(2 * time.Second):
		x.cancel()
		<-x.done
	}
	x.cancel()
}
