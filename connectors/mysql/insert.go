package mysql

import (
	"context"
	"errors"

	my "github.com/go-sql-driver/mysql"

	"github.com/dvt-dev/dvt/connectors"
)

// insertBytes is the size of one multi-row INSERT.
const insertBytes = 1 << 20

// inserter loads by multi-row INSERT, for servers that do not allow LOAD DATA LOCAL.
type inserter struct {
	st    *staging
	head  string
	buf   []byte
	rows  int
	taken int64
}

func newInserter(st *staging) *inserter {
	return &inserter{st: st, head: insertHead(st.rel, st.fields)}
}

func (in *inserter) put(b []byte, i int, f *field, text []byte, null bool) []byte {
	if i == 0 {
		b = append(b, '(')
	} else {
		b = append(b, ',')
	}
	if null {
		return append(b, "NULL"...)
	}
	return appendLiteral(b, f, text)
}

func (in *inserter) end(b []byte) []byte { return append(b, ')') }

func (in *inserter) write(ctx context.Context, row []byte) error {
	limit := insertBytes
	if m := in.st.c.server().maxPacket; m > 0 && m < int64(2*limit) {
		limit = int(m / 2)
	}
	if in.rows > 0 && len(in.buf)+len(row) > limit || in.rows >= connectors.BatchRows {
		if err := in.send(ctx); err != nil {
			return err
		}
	}
	if in.rows == 0 {
		in.buf = append(slim(in.buf)[:0], in.head...)
	} else {
		in.buf = append(in.buf, ',')
	}
	in.buf = append(in.buf, row...)
	in.rows++
	return nil
}

func (in *inserter) send(ctx context.Context) error {
	n, err := in.st.s.exec(ctx, string(in.buf))
	var refused *my.MySQLError
	if errors.As(err, &refused) {
		if verr := placed(refused.Message, "the server refuses it: "+refused.Message); verr != nil {
			return verr
		}
	}
	if err != nil {
		return err
	}
	in.taken += n
	in.rows = 0
	return in.st.s.warnings(ctx)
}

func (in *inserter) finish(ctx context.Context) (int64, error) {
	if in.rows > 0 {
		if err := in.send(ctx); err != nil {
			return 0, err
		}
	}
	return in.taken, nil
}

func (in *inserter) abort() {}
