package clickhouse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ClickHouse/ch-go/compress"
)

// Bounds that keep a damaged stream from asking for absurd amounts of memory.
const (
	maxBlockRows    = 1 << 30
	maxBlockColumns = 1 << 16
	maxText         = 1 << 30
	readStep        = 1 << 20
)

// input reads the primitives of the native format. Parts of a native stream are
// compressed frames, so it switches between two readers over one connection.
type input struct {
	plain  *bufio.Reader
	zipped *bufio.Reader
	*bufio.Reader
}

func newInput(r io.Reader) *input {
	plain := bufio.NewReaderSize(r, 1<<18)
	return &input{plain: plain, zipped: bufio.NewReaderSize(compress.NewReader(plain), 1<<12), Reader: plain}
}

// unzip makes the following reads come out of compressed frames. The server ends a
// frame with each block, so no byte of the plain stream is lost in the buffer.
func (in *input) unzip(on bool) {
	in.Reader = in.plain
	if on {
		in.Reader = in.zipped
	}
}

func (in *input) full(p []byte) error {
	_, err := io.ReadFull(in.Reader, p)
	return noEOF(err)
}

func (in *input) uvarint() (uint64, error) {
	v, err := binary.ReadUvarint(in.Reader)
	return v, noEOF(err)
}

// size reads a length or a count of at most limit.
func (in *input) size(limit int) (int, error) {
	v, err := in.uvarint()
	if err != nil {
		return 0, err
	}
	if v > uint64(limit) {
		return 0, fmt.Errorf("damaged stream: a length of %d", v)
	}
	return int(v), nil
}

func (in *input) text() (string, error) {
	n, err := in.size(maxText)
	if err != nil {
		return "", err
	}
	b, err := in.more(nil, n)
	return string(b), err
}

// more appends n bytes to b, growing it as the bytes arrive.
func (in *input) more(b []byte, n int) ([]byte, error) {
	for n > 0 {
		step := min(n, readStep)
		at := len(b)
		b = append(b, make([]byte, step)...)
		if err := in.full(b[at:]); err != nil {
			return b, err
		}
		n -= step
	}
	return b, nil
}

func (in *input) byte() (byte, error) {
	b, err := in.ReadByte()
	return b, noEOF(err)
}

func (in *input) uint32() (uint32, error) {
	var b [4]byte
	err := in.full(b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

func (in *input) uint64() (uint64, error) {
	var b [8]byte
	err := in.full(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// noEOF: inside a message an end of the stream is never a proper end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// blockSink takes the columns of blocks as they come off the stream.
type blockSink interface {
	// begin announces a block. rows is 0 for a header, which has types but no data.
	begin(cols, rows int) error
	// column must read all data of one column; it is called for headers too.
	column(in *input, i, rows int, name, typ string) error
	end() error
}

// readBlock reads one block of the native format; withInfo is how blocks look inside
// the native protocol, without it they look as FORMAT Native.
func readBlock(in *input, withInfo bool, sink blockSink) error {
	if withInfo {
		if err := skipBlockInfo(in); err != nil {
			return err
		}
	}
	cols, err := in.size(maxBlockColumns)
	if err != nil {
		return err
	}
	rows, err := in.size(maxBlockRows)
	if err != nil {
		return err
	}
	if err := sink.begin(cols, rows); err != nil {
		return err
	}
	for i := range cols {
		name, err := in.text()
		if err != nil {
			return err
		}
		typ, err := in.text()
		if err != nil {
			return err
		}
		if err := sink.column(in, i, rows, name, typ); err != nil {
			return err
		}
	}
	return sink.end()
}

func skipBlockInfo(in *input) error {
	for {
		field, err := in.uvarint()
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return nil
		case 1:
			_, err = in.byte() // overflow rows
		case 2:
			_, err = in.uint32() // bucket
		default:
			err = fmt.Errorf("damaged stream: block field %d", field)
		}
		if err != nil {
			return err
		}
	}
}
