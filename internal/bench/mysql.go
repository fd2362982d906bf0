package main

import (
	"bufio"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	my "github.com/go-sql-driver/mysql"
)

func myConfig() *my.Config {
	cfg := my.NewConfig()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(env("MY", "HOST"), env("MY", "PORT"))
	cfg.User, cfg.Passwd, cfg.DBName = env("MY", "USER"), env("MY", "PASSWORD"), schema
	cfg.AllowAllFiles = true
	return cfg
}

// myDiscard reads the binary protocol's rows of a SELECT and throws them away. The driver
// logs in, then the connection is read without it.
func myDiscard(sql string) job {
	return func(ctx context.Context, _ settings, timed func(func() (int64, error)) error) error {
		cfg := myConfig()
		var wire net.Conn
		cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			wire = c
			return c, err
		}
		dialer, err := my.NewConnector(cfg)
		if err != nil {
			return err
		}
		c, err := dialer.Connect(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		return timed(func() (int64, error) { return discardRows(wire, sql) })
	}
}

type packets struct {
	r   *bufio.Reader
	buf []byte
}

func (p *packets) next() ([]byte, error) {
	head, err := p.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n == 1<<24-1 {
		return nil, errors.New("a row of 16 MB: the raw reader takes none")
	}
	_, _ = p.r.Discard(4)
	if body, err := p.r.Peek(n); err == nil {
		_, err = p.r.Discard(n)
		return body, err
	}
	p.buf = append(p.buf[:0], make([]byte, n)...)
	_, err = io.ReadFull(p.r, p.buf)
	if err == nil && n > 0 && p.buf[0] == 0xff {
		err = fmt.Errorf("the server says %q", p.buf)
	}
	return p.buf, err
}

func send(w io.Writer, cmd byte, body []byte) error {
	n := len(body) + 1
	_, err := w.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0, cmd}, body...))
	return err
}

func discardRows(wire net.Conn, sql string) (rows int64, err error) {
	p := &packets{r: bufio.NewReaderSize(wire, 1<<20)}
	if err := send(wire, 0x16, []byte(sql)); err != nil {
		return 0, err
	}
	ok, err := p.next()
	if err != nil {
		return 0, err
	}
	if ok[0] != 0 {
		return 0, fmt.Errorf("preparing %s: %q", sql, ok)
	}
	execute := binary.LittleEndian.AppendUint32(nil, binary.LittleEndian.Uint32(ok[1:]))
	execute = append(execute, 0, 1, 0, 0, 0)
	for range binary.LittleEndian.Uint16(ok[5:]) {
		if _, err := p.next(); err != nil {
			return 0, err
		}
	}
	if err := send(wire, 0x17, execute); err != nil {
		return 0, err
	}
	head, err := p.next()
	if err == nil && head[0] == 0xfe && len(head) < 9 { // closes the prepared columns on older protocols
		head, err = p.next()
	}
	if err != nil {
		return 0, err
	}
	defs := int(head[0])
	if len(head) > 1 && head[1] == 0 { // the columns are not sent again
		defs = 0
	}
	for range defs {
		if _, err := p.next(); err != nil {
			return 0, err
		}
	}
	for {
		row, err := p.next()
		switch {
		case err != nil:
			return rows, err
		case row[0] == 0:
			rows++
		case row[0] == 0xfe && rows == 0 && len(row) < 9: // closes the columns, or the result
			if next, err := p.r.Peek(p.r.Buffered()); err == nil && len(next) == 0 {
				return rows, nil
			}
		default:
			return rows, nil
		}
	}
}

// myLoadFile is LOAD DATA LOCAL of a ready file into an empty table.
func myLoadFile(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	dialer, err := my.NewConnector(myConfig())
	if err != nil {
		return err
	}
	c, err := dialer.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	exec := func(sql string) (int64, error) {
		res, err := c.(driver.ExecerContext).ExecContext(ctx, sql, nil)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	return timed(func() (n int64, err error) {
		for _, sql := range []string{"DROP TABLE IF EXISTS raw", "CREATE TABLE raw LIKE t",
			"LOAD DATA LOCAL INFILE '" + tsvFile(s) + "' INTO TABLE raw CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (" + quoted("`") + ")"} {
			if n, err = exec(sql); err != nil {
				return n, err
			}
		}
		return n, nil
	})
}
