package file

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// maxHeader bounds the first record of a CSV file.
const maxHeader = 1 << 20

// separators are what a CSV file may be separated by that nobody said a delim of, the
// likelier first.
var separators = []string{",", "\t", ";", "|"}

// csvHead reads the first record of a CSV file and says by what it is separated and how
// its columns are called. The record alone decides: DuckDB's sniffer weighs all rows, and
// takes a file with one row that is too short for a file of one column, a first line that
// the rest does not look like for none, and an apostrophe for a quote.
func csvHead(path string, o csvOptions) (csvOptions, []string, error) {
	head, err := firstBytes(path)
	switch {
	case err != nil:
		return o, nil, fmt.Errorf("reading %s: %w", path, err)
	case len(head) == 0:
		return o, nil, fmt.Errorf("%s is empty: its first line must name the columns", path)
	}
	candidates := separators
	if o.delim != "" {
		candidates = []string{o.delim}
	} else if strings.HasSuffix(strings.ToLower(path), ".tsv") {
		candidates = []string{"\t", ",", ";", "|"}
	}
	var names []string
	end := ""
	for _, d := range candidates {
		if fields, e := firstRecord(head, d, o); names == nil || len(fields) > len(names) {
			o.delim, names, end = d, fields, e
		}
	}
	text := strings.Join(names, "")
	switch {
	case end == "" && len(head) == maxHeader:
		return o, nil, fmt.Errorf("%s: its first row has more than %d bytes, or a quote that is not closed", path, maxHeader)
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return o, nil, fmt.Errorf("%s is not UTF-8, which CSV files must be", path)
	case len(names) == 1 && text == "":
		return o, nil, fmt.Errorf("%s begins with an empty line: its first line must name the columns", path)
	}
	if strings.ContainsAny(text, "\r\n") {
		// DuckDB takes the first line break of the file for that of its lines, and finds
		// no row where it stands in quotes and is another.
		o.newLine = end
	}
	return o, columnNames(names, o.noHeader), nil
}

// firstBytes are up to maxHeader bytes from the beginning of a file, unpacked, without a
// byte order mark.
func firstBytes(path string) (head []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var in io.Reader = f
	switch lower := strings.ToLower(path); {
	case strings.HasSuffix(lower, ".gz"):
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	case strings.HasSuffix(lower, ".zst"):
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	}
	head, err = io.ReadAll(io.LimitReader(in, maxHeader))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the packed file ends early")
	}
	return bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), err
}

// firstRecord splits the first record of a CSV text; end is the line break after it, ""
// where the text ends first.
func firstRecord(text []byte, delim string, o csvOptions) (fields []string, end string) {
	quote, escape := byte('"'), byte('"')
	if o.quote != "" {
		quote, escape = o.quote[0], o.quote[0]
	}
	if o.escape != "" {
		escape = o.escape[0]
	}
	var field []byte
	quoted, begun := false, false // within quotes; the field has begun
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == escape && i+1 < len(text) && (text[i+1] == quote || text[i+1] == escape):
			field = append(field, text[i+1])
			i++
		case quoted && c == quote:
			quoted = false
		case quoted:
			field = append(field, c)
		case c == quote && !begun:
			quoted, begun = true, true
		case c == '\n' || c == '\r':
			if end = string(c); bytes.HasPrefix(text[i:], []byte("\r\n")) {
				end = "\r\n"
			}
			return append(fields, string(field)), end
		case bytes.HasPrefix(text[i:], []byte(delim)):
			fields, field, begun = append(fields, string(field)), nil, false
			i += len(delim) - 1
		default:
			field, begun = append(field, c), true
		}
	}
	return append(fields, string(field)), ""
}

// columnNames makes names of the fields of the first record as DuckDB does: without
// spaces around them, column0 where there is none, and x_1 for the second x.
func columnNames(fields []string, numbered bool) []string {
	out, seen := make([]string, len(fields)), map[string]int{}
	digits := len(strconv.Itoa(len(fields)))
	for i, name := range fields {
		name = strings.TrimSpace(name)
		if name == "" || numbered {
			name = fmt.Sprintf("column%0*d", digits, i)
		}
		for key := strings.ToLower(name); seen[key] > 0; key = strings.ToLower(name) {
			name += "_" + strconv.Itoa(seen[key])
			seen[key]++
		}
		seen[strings.ToLower(name)] = 1
		out[i] = name
	}
	return out
}
