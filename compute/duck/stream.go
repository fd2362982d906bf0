package duck

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// Stream fills one table by one INSERT, which asks for rows as it goes. An Appender
// gathers rows first and inserts them a few hundred thousand at a time, on all threads:
// each row is copied once more, twice where a thread's share is less than a row group.
type Stream struct {
	*feed
	into  string
	ended chan struct{} // closed when the INSERT has returned; nil before the first batch
}

// Stream opens a stream into an existing table whose columns are cols, in order. Its
// rows become visible when Close returns nil. The session is busy until then.
func (c *Conn) Stream(ctx context.Context, catalog, schema, table string, cols []connectors.Column) (connectors.Appender, error) {
	f, err := c.feed(ctx, catalog, schema, table, cols)
	if err != nil {
		return nil, err
	}
	return &Stream{feed: f, into: ducksql.Quote(catalog) + "." + ducksql.Quote(schema) + "." + ducksql.Quote(table)}, nil
}

// Append hands rec over; an error may be that of an earlier batch. After one the table is
// as it was before.
func (s *Stream) Append(rec arrow.RecordBatch) error {
	if s.closed {
		return errors.New("appending: the stream has ended")
	}
	if err := s.check(rec); err != nil {
		return err
	}
	if s.ended == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	rec.Retain()
	select {
	case s.batches <- rec:
		return nil
	case <-s.ended: // by a failure
		rec.Release()
		return s.err
	}
}

// begin starts the INSERT.
func (s *Stream) begin() error {
	end, err := s.conn.begin(s.ctx, "")
	if err != nil {
		return err
	}
	s.ended = make(chan struct{})
	s.offer()
	go func() {
		defer close(s.ended)
		err := s.insert("INSERT INTO " + s.into + " SELECT * FROM " + s.From())
		s.withdraw()
		if err != nil && s.wrong != nil {
			err = s.wrong // DuckDB's error only quotes it
		}
		s.err = end(err)
	}()
	return nil
}

func (s *Stream) insert(sql string) error {
	var stmt bindings.PreparedStatement
	defer bindings.DestroyPrepare(&stmt)
	if bindings.Prepare(s.conn.handle, sql, &stmt) == bindings.StateError {
		return statementError(sql, bindings.PrepareError(stmt))
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	return complete(sql, stmt, &res)
}

// Close ends the rows and completes the INSERT; the rows are there only if it returns nil.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	if s.ended == nil {
		return s.Appender.Close()
	}
	s.closed = true
	close(s.batches)
	<-s.ended
	s.free()
	if s.err != nil {
		return fmt.Errorf("appending: %w", s.err)
	}
	return nil
}
