package duckdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// staging holds the rows of a load in a temporary table of the compute engine. The file
// is opened for writing only when they are complete; what then happens in it is one
// transaction, so that a run that dies leaves nothing there.
type staging struct {
	c     *conn
	spec  connectors.StageSpec
	types []string // of the target's columns
	s     connectors.Session
	app   connectors.Appender
	sent  int64 // rows numbered so far, in an ordered load
	rows  int64
	from  []string // types of the rows table's columns, as the catalog spells them

	release func() // of the writable file, once it is open
	inTx    bool
	filled  bool // the rows are in the table stagingName of the open transaction

	contract []connectors.Constraint // what the staging table holds its rows to
}

// Stage checks the types and makes the table for the rows.
func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (_ connectors.Staging, err error) {
	x := &staging{c: c, spec: spec}
	for _, col := range spec.Columns {
		ddl := spec.Options.ColumnTypes[col.Name]
		if ddl == "" {
			if ddl, err = c.dialect.TargetType(col); err != nil {
				return nil, err
			}
		}
		x.types = append(x.types, ddl)
	}
	if err := c.file.check(writing); err != nil {
		return nil, err
	}
	e, err := c.env.Engine(ctx)
	if err != nil {
		return nil, err
	}
	if x.s, err = e.Session(ctx); err != nil {
		return nil, err
	}
	if err = x.open(ctx); err != nil {
		return nil, errors.Join(err, x.s.Close())
	}
	return x, nil
}

func (x *staging) open(ctx context.Context) error {
	cols := x.spec.Columns
	if x.spec.Options.Ordered {
		cols = append(slices.Clone(cols), rowNumber)
	}
	if err := x.s.Exec(ctx, createRows(cols)); err != nil {
		return err
	}
	rows, err := queryTexts(ctx, x.s, rowTypes)
	if err != nil {
		return err
	}
	for _, r := range rows {
		x.from = append(x.from, r[1])
	}
	x.app, err = x.s.Appender(ctx, "temp", "main", "__dvt_rows", cols)
	return err
}

// Write appends a batch.
func (x *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if !x.spec.Options.Ordered {
		return x.app.Append(rec)
	}
	numbered := ducksql.Numbered(x.c.env.Allocator(), rec, rowNumber.Name, x.sent)
	defer numbered.Release()
	x.sent += rec.NumRows()
	return x.app.Append(numbered)
}

// Seal ends the appending and counts.
func (x *staging) Seal(ctx context.Context) (int64, error) {
	if x.filled {
		return x.rows, nil
	}
	if err := x.app.Close(); err != nil {
		return 0, err
	}
	var err error
	x.rows, err = x.s.Count(ctx, countOf(rowsTable))
	return x.rows, err
}

// Fill lets the compute engine put the rows of a SELECT into the file itself, in place
// of Write; Seal still has to be called.
func (x *staging) Fill(ctx context.Context, sql string) (int64, error) {
	if err := x.begin(ctx); err != nil {
		return 0, err
	}
	if err := x.load(ctx, inParens(sql)); err != nil {
		return 0, err
	}
	return x.rows, nil
}

// Discard ends what is open and drops the rows. It works when the run is cancelled.
func (x *staging) Discard(ctx context.Context) error {
	if x.s == nil {
		return nil
	}
	var errs []error
	if x.inTx {
		errs = append(errs, x.s.Exec(ctx, "ROLLBACK"))
		x.inTx = false
	}
	if x.app != nil {
		_ = x.app.Close() // its rows are dropped anyway
	}
	errs = append(errs, x.s.Close())
	x.s = nil
	if x.release != nil {
		x.release()
	}
	return errors.Join(errs...)
}

// begin opens the file for writing and starts the transaction.
func (x *staging) begin(ctx context.Context) error {
	if x.inTx {
		return nil
	}
	if x.release == nil {
		e, err := x.c.env.Engine(ctx)
		if err != nil {
			return err
		}
		if x.release, err = x.c.file.acquire(ctx, e, writing); err != nil {
			return err
		}
		if err := x.c.ensureSchema(ctx, x.s, x.spec.Target); err != nil {
			return err
		}
	}
	if err := x.s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	x.inTx = true
	return nil
}

// ensureSchema makes the default database of s the file and creates the schema of rel,
// outside of any longer transaction: two that create it would collide.
func (c *conn) ensureSchema(ctx context.Context, s connectors.Session, rel connectors.Relation) error {
	c.file.swap.Lock()
	defer c.file.swap.Unlock()
	if err := s.Exec(ctx, use(c.file.alias)); err != nil {
		return err
	}
	have, err := queryText(ctx, s, c.dialect.schemaQuery(rel))
	if err != nil || have != "" {
		return err
	}
	return s.Exec(ctx, c.dialect.createSchema(rel))
}

// name is the staging table, which exists only inside the transaction.
func (x *staging) name() connectors.Relation {
	return x.c.dialect.stagingName(x.spec.RunID, x.spec.Target)
}

// rowName names a staged row in errors; alias is the rows' own.
func (x *staging) rowName(alias string) string {
	return ducksql.RowName(alias, connectors.Names(x.spec.Columns), x.spec.Options.RowKey())
}

// load makes the staging table in the file and fills it from source.
func (x *staging) load(ctx context.Context, source string) error {
	d, st := x.c.dialect, x.name()
	if err := x.s.Exec(ctx, d.createTable(st, x.spec.Columns, x.types)); err != nil {
		return err
	}
	made, err := queryTexts(ctx, x.s, d.columnsQuery(st))
	if err != nil {
		return err
	}
	if err := x.keepConstraints(ctx, st, made); err != nil {
		return err
	}
	names, exprs := make([]string, len(made)), make([]string, len(made))
	row := x.rowName("")
	for i, col := range made {
		names[i] = col[0]
		exprs[i] = cast(quote(col[0]), col[0], x.from[i], col[1], row)
	}
	ordered := source
	if source == rowsTable && x.spec.Options.Ordered {
		ordered = inOrder(source)
	}
	x.rows, err = x.s.Count(ctx, d.insert(d.Relation(st), names, exprs, ordered))
	if err != nil {
		return x.blame(ctx, source, ducksql.ValueError(err))
	}
	x.filled = true
	return nil
}

// keepConstraints makes the staging table anew with the constraints of the contract, or
// from the target's own definition when the columns are the same, so that keys, checks and
// defaults stay.
func (x *staging) keepConstraints(ctx context.Context, st connectors.Relation, made [][]string) error {
	if x.spec.Options.Contract {
		return x.underContract(ctx, st, made)
	}
	d := x.c.dialect
	old, err := x.c.find(ctx, x.s, x.spec.Target)
	if errors.Is(err, connectors.ErrNotFound) || err == nil && old.view {
		return nil
	}
	if err != nil {
		return err
	}
	cols, err := queryTexts(ctx, x.s, d.columnsQuery(old.Relation))
	if err != nil || len(cols) != len(made) {
		return err
	}
	for i := range cols {
		if !strings.EqualFold(cols[i][0], made[i][0]) || cols[i][1] != made[i][1] {
			return nil
		}
	}
	kept, err := queryTexts(ctx, x.s, d.constraintsQuery(old.Relation))
	if err != nil || len(kept) == 0 || strings.Contains(old.ddl, " GENERATED ALWAYS ") {
		return err
	}
	sql, ok := d.createLike(old.ddl, st)
	if !ok {
		return fmt.Errorf("keeping the constraints of %s: its definition is not understood: %s", old.Relation, connectors.Shorten(old.ddl))
	}
	if err := x.s.Exec(ctx, d.drop(st, false)); err != nil {
		return err
	}
	return x.s.Exec(ctx, sql)
}

// CleanStaging drops what dead runs left; loads leave nothing, but older files may have it.
func (c *conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	s, err := c.session(ctx, reading)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := queryTexts(ctx, s, c.dialect.leftoversQuery(target))
	if err = errors.Join(err, s.Close()); err != nil || len(left) == 0 {
		return err
	}
	if s, err = c.session(ctx, writing); err != nil {
		return err
	}
	for _, r := range left {
		err = errors.Join(err, s.Exec(ctx, c.dialect.dropIfExists(connectors.Relation{Schema: r[0], Name: r[1]})))
	}
	return errors.Join(err, s.Close())
}
