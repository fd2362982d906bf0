package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

// chPost runs a statement over HTTP; body follows it.
func chPost(sql string, body io.Reader) (io.ReadCloser, error) {
	q := url.Values{"user": {env("CH", "USER")}, "password": {env("CH", "PASSWORD")}, "query": {sql}}
	res, err := http.Post("http://"+env("CH", "HOST")+":"+env("CH", "HTTP_PORT")+"/?"+q.Encode(), "application/octet-stream", body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		return nil, errors.Join(fmt.Errorf("clickhouse: %s", strings.TrimSpace(string(text))), res.Body.Close())
	}
	return res.Body, nil
}

// chDecode reads native blocks and decodes their columns.
func chDecode(_ context.Context, _ settings, timed func(func() (int64, error)) error) error {
	return timed(func() (rows int64, err error) {
		body, err := chPost("SELECT "+quoted("`")+" FROM "+schema+".t FORMAT Native", nil)
		if err != nil {
			return 0, err
		}
		defer func() { _ = body.Close() }()
		in := bufio.NewReaderSize(body, 1<<20)
		r := proto.NewReader(in)
		for {
			if _, err := in.Peek(1); errors.Is(err, io.EOF) {
				return rows, nil
			}
			var res proto.Results
			var block proto.Block
			if err := block.DecodeRawBlock(r, 0, res.Auto()); err != nil {
				return rows, fmt.Errorf("decoding a block: %w", err)
			}
			rows += int64(block.Rows)
		}
	})
}

func chBytes(s settings) error {
	body, err := chPost("SELECT "+quoted("`")+" FROM "+schema+".t FORMAT Native", nil)
	if err != nil {
		return err
	}
	f, err := os.Create(nativeFile(s))
	if err != nil {
		return errors.Join(err, body.Close())
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close(), body.Close())
}

// chInsert sends ready native blocks into an empty table.
func chInsert(_ context.Context, s settings, timed func(func() (int64, error)) error) error {
	return timed(func() (int64, error) {
		for _, sql := range []string{"DROP TABLE IF EXISTS " + schema + ".raw", "CREATE TABLE " + schema + ".raw AS " + schema + ".t"} {
			body, err := chPost(sql, nil)
			if err != nil {
				return 0, err
			}
			_ = body.Close()
		}
		f, err := os.Open(nativeFile(s))
		if err != nil {
			return 0, err
		}
		defer func() { _ = f.Close() }()
		body, err := chPost("INSERT INTO "+schema+".raw ("+quoted("`")+") FORMAT Native", f)
		if err != nil {
			return 0, err
		}
		return s.rows, body.Close()
	})
}
