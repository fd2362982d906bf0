package sqlite

/*
#include <stdlib.h>
#include "lite.h"
*/
import "C"

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// holdTime is how long a load keeps one transaction open. Other processes cannot write
// meanwhile, nor, outside of WAL, read once the page cache has spilled.
const holdTime = 250 * time.Millisecond

// stagingPrefix begins the names of all staging tables.
const stagingPrefix = "__dvt_"

// hash12 is the part of a staging or lock name that says which relation it is for.
// Names compare without regard to case.
func hash12(s string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(s)))
	return hex.EncodeToString(sum[:6])
}

func stagingName(run string, target connectors.Relation) string {
	return stagingPrefix + strings.ReplaceAll(fmt.Sprintf("%-8.8s", run), " ", "_") + hash12(target.Name)
}

// staging is a table of the target's file, filled in short transactions.
type staging struct {
	c      *conn
	s      *session
	f      *file
	spec   connectors.StageSpec
	target connectors.Relation // with its schema
	rel    connectors.Relation // the staging table
	types  []string            // declared types, by column

	mu      sync.Mutex // the timer commits from a goroutine of its own
	insert  *stmt
	unlock  func() // the file's write lock, nil when no transaction is open
	since   time.Time
	timer   *time.Timer
	failed  error // of the timer's commit
	rows    int64
	swapped bool

	contract []connectors.Constraint // what the staging table holds its rows to
}

func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (connectors.Staging, error) {
	if err := c.knows(spec.Target); err != nil {
		return nil, err
	}
	st := &staging{c: c, spec: spec, f: c.fileOf(spec.Target)}
	st.target = connectors.Relation{Schema: c.d.schemaOf(spec.Target), Name: spec.Target.Name}
	st.rel = connectors.Relation{Schema: st.target.Schema, Name: stagingName(spec.RunID, spec.Target)}
	for _, col := range spec.Columns {
		ddl, err := declare(col, spec.Options.ColumnTypes[col.Name])
		if err != nil {
			return nil, err
		}
		st.types = append(st.types, ddl)
	}
	var err error
	if st.s, err = c.writer(ctx); err != nil {
		return nil, err
	}
	if err := st.create(ctx); err != nil {
		return nil, errors.Join(err, st.Discard(context.WithoutCancel(ctx)))
	}
	return st, nil
}

// create makes the staging table. Where the target exists with the same columns it is
// made like it, so that keys, NOT NULL, CHECK, DEFAULT and collations outlive the swap.
func (st *staging) create(ctx context.Context) error {
	if err := st.begin(ctx); err != nil {
		return err
	}
	err := st.s.exec(ctx, st.c.d.drop("TABLE", st.rel))
	if err != nil {
		return err
	}
	like, err := st.likeTarget(ctx)
	if err != nil {
		return err
	}
	if like != "" {
		if err = st.s.exec(ctx, like); err != nil && st.c.env.Log != nil {
			st.c.env.Log.Warn("the target's constraints are not kept", "relation", st.spec.Target.String(), "error", err)
		}
	}
	if like == "" || err != nil {
		sql, err := st.createSQL(st.spec.Columns, st.types)
		if err != nil {
			return err
		}
		if err := st.s.exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := st.commit(ctx); err != nil {
		return err
	}
	st.insert, err = st.s.prepare(st.c.d.insert(st.rel, st.spec.Columns))
	return err
}

// likeTarget is the target's own CREATE TABLE under the staging table's name, "" when
// it has other columns or is no plain table.
func (st *staging) likeTarget(ctx context.Context) (string, error) {
	if st.spec.Options.Contract { // which decides about all constraints
		return "", nil
	}
	t, err := st.c.describe(ctx, st.s, st.target)
	if errors.Is(err, connectors.ErrNotFound) || err == nil && (t.View || len(t.Columns) != len(st.types)) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for i, col := range t.Columns {
		if col.Name != st.spec.Columns[i].Name || !strings.EqualFold(col.Native, st.types[i]) {
			return "", nil
		}
	}
	plain := true
	err = st.s.rows(ctx, st.c.d.tableInfo(t.Relation), func(s *stmt) error {
		plain = plain && s.integer(4) == 0 // no generated columns
		return nil
	})
	sql := ""
	if err == nil && plain {
		err = st.s.rows(ctx, st.c.d.findRelation(st.target), func(s *stmt) error {
			sql = renamed(s.text(2), st.c.d.Relation(st.rel))
			return nil
		})
	}
	return sql, err
}

// renamed puts another name into a stored CREATE TABLE: the name is its third word.
func renamed(sql, name string) string {
	const create = "CREATE TABLE "
	if len(sql) < len(create) || !strings.EqualFold(sql[:len(create)], create) {
		return ""
	}
	rest := strings.TrimLeft(sql[len(create):], " \t\r\n")
	if rest == "" {
		return ""
	}
	var end int
	shut, quoted := map[byte]byte{'"': '"', '`': '`', '\'': '\'', '[': ']'}[rest[0]]
	if !quoted {
		end = strings.IndexAny(rest, " \t\r\n(")
	} else {
		for end = 1; end < len(rest); end++ {
			if rest[end] != shut {
				continue
			}
			if shut != ']' && end+1 < len(rest) && rest[end+1] == shut {
				end++ // a doubled quote
				continue
			}
			end++
			break
		}
	}
	if end <= 0 {
		return ""
	}
	return create + name + rest[end:]
}

// begin opens a transaction, queueing behind the other writers of the file.
func (st *staging) begin(ctx context.Context) error {
	unlock, err := st.f.write(ctx)
	if err != nil {
		return err
	}
	if err := st.s.exec(ctx, beginWrite); err != nil {
		unlock()
		return err
	}
	st.unlock, st.since = unlock, time.Now()
	return nil
}

// commit ends the open transaction, if there is one.
func (st *staging) commit(ctx context.Context) error {
	if st.unlock == nil {
		return nil
	}
	err := st.s.exec(ctx, commit)
	if err != nil {
		st.rollback()
	}
	st.release()
	return err
}

func (st *staging) rollback() {
	if st.s.inTransaction() {
		// Fails only when the engine has rolled back already.
		_ = st.s.exec(context.Background(), rollback)
	}
	st.release()
}

func (st *staging) release() {
	if st.unlock != nil {
		st.unlock()
		st.unlock = nil
	}
}

// Write inserts the rows of rec and leaves the transaction open for the next batch, for
// holdTime at most.
func (st *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	params, err := st.encode(rec)
	if err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.failed != nil {
		return st.failed
	}
	if st.unlock == nil {
		if err := st.begin(ctx); err != nil {
			return err
		}
	}
	if err := st.run(ctx, params, rec.NumRows()); err != nil {
		st.rollback()
		return st.blame(err)
	}
	st.rows += rec.NumRows()
	if held := time.Since(st.since); held < holdTime {
		st.timer = time.AfterFunc(holdTime-held, st.commitIdle)
		return nil
	}
	return st.commit(ctx)
}

// commitIdle commits when no further batch came in time.
func (st *staging) commitIdle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := st.commit(context.Background()); err != nil && st.failed == nil {
		st.failed = err
	}
}

// run binds and steps all rows in C. The buffers are Arrow's own, pinned for the call.
func (st *staging) run(ctx context.Context, params []param, rows int64) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	address := func(b []byte) unsafe.Pointer {
		if len(b) == 0 {
			return nil
		}
		pin.Pin(&b[0])
		return unsafe.Pointer(&b[0])
	}
	all := (*C.lite_param)(C.calloc(C.size_t(len(params)), C.sizeof_lite_param))
	defer C.free(unsafe.Pointer(all))
	for i, c := range unsafe.Slice(all, len(params)) {
		p := params[i]
		c.mode, c.offset = C.int(p.mode), C.int64_t(p.offset)
		c.valid = (*C.uint8_t)(address(p.valid))
		c.data = address(p.data)
		c.offsets = (*C.int32_t)(address(p.offsets))
		c.bytes = (*C.char)(address(p.bytes))
		unsafe.Slice(all, len(params))[i] = c
	}
	return st.s.guard(ctx, func() error {
		var at C.int64_t
		if rc := C.lite_insert(st.insert.c, all, C.int(len(params)), C.int64_t(rows), &at); rc != C.LITE_OK {
			err := st.s.fail(st.insert.sql, int(rc))
			if hasCode(err, codeInterrupt, codeFull) {
				return err
			}
			return fmt.Errorf("row %d of the load: %w", st.rows+int64(at)+1, err)
		}
		return nil
	})
}

// Seal commits and counts.
func (st *staging) Seal(ctx context.Context) (int64, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.failed != nil {
		return 0, st.failed
	}
	if err := st.commit(ctx); err != nil {
		return 0, err
	}
	unlock, err := st.f.read(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	rows := int64(-1)
	err = st.s.rows(ctx, st.c.d.count(st.rel), func(s *stmt) error {
		rows = s.integer(0)
		return nil
	})
	return rows, err
}

func (st *staging) Discard(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.s == nil {
		return nil
	}
	if st.insert != nil {
		st.insert.close()
		st.insert = nil
	}
	st.rollback()
	var err error
	if !st.swapped {
		if err = st.begin(ctx); err == nil {
			if err = st.s.exec(ctx, st.c.d.drop("TABLE", st.rel)); err == nil {
				err = st.commit(ctx)
			} else {
				st.rollback()
			}
		}
	}
	st.s.close()
	st.s = nil
	return err
}
