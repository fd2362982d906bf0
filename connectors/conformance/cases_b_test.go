package conformance

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// textColumn is text in each source's own words, with values as literals of any bytes
// but NUL.
func textColumn(engine string, values ...string) *Column {
	native := map[string]string{
		"postgres": "text", "mysql": "longtext character set utf8mb4", "clickhouse": "Nullable(String)", "sqlite": "TEXT", "duckdb": "VARCHAR", "file": "VARCHAR",
	}[family(engine)]
	return &Column{Name: "c", Native: native, Want: "VARCHAR", Values: each(textLiteral(engine), values...)}
}

// blobColumn is binary data in each source's own words.
func blobColumn(engine, native string, values ...string) *Column {
	c := &Column{Name: "c", Native: native, Want: "BLOB"}
	switch engine {
	case "postgres":
		c.Values = each(hexed(`'\x%s'`), values...)
	case "mysql", "sqlite":
		c.Values = each(myBytes, values...)
	case "clickhouse":
		c.As, c.Values = "BLOB", each(hexed("unhex('%s')"), values...)
	default:
		c.Values = each(hexed("unhex('%s')"), values...)
	}
	return c
}

// textArrives moves texts from every engine to every engine.
func textArrives(t *testing.T, values ...string) {
	t.Helper()
	b := NewBench(t)
	for _, from := range Engines {
		everywhere(t, b, func(to *Site) {
			move(b.Site(from), to, textColumn(from, values...)).want("c", "VARCHAR", append(values, "NULL")...)
		})
	}
}

// blobArrives moves bytes from some engines to every engine.
func blobArrives(t *testing.T, native map[string]string, values ...string) {
	t.Helper()
	b := NewBench(t)
	want := each(hexed("%s"), values...)
	for from, typ := range native {
		everywhere(t, b, func(to *Site) {
			move(b.Site(from), to, blobColumn(from, typ, values...)).want("c", "BLOB", append(want, "NULL")...)
		})
	}
}

// A NUL in text stays where the target has it. PostgreSQL has not: an error that names
// row and column, before the target is touched, or what the connection says.
func TestCaseB1(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, engine := range []string{"mysql", "clickhouse", "sqlite", "duckdb", "file"} {
		c := textColumn(engine, "fine", "a\x00b")
		everywhere(t, b, func(to *Site) {
			if to.Engine != "postgres" {
				move(b.Site(engine), to, c).want("c", "VARCHAR", "fine", "a\x00b", "NULL")
				return
			}
			target := to.Name()
			from := b.Site(engine)
			_, err := attemptFrom(from, from.Create(c), to, target, connectors.TargetOptions{})
			refused(t, err, "c", "row number 2", "NUL")
			if _, err := to.Conn.Describe(b.ctx, target); err == nil {
				t.Error("the target was made")
			}
			move(from, b.OpenSite("postgres", map[string]any{"nul_bytes": "strip"}), c).want("c", "VARCHAR", "fine", "ab", "NULL")
		})
	}
}

// Binary data is no text.
func TestCaseB2(t *testing.T) {
	t.Parallel()
	blobArrives(t, map[string]string{"mysql": "blob", "postgres": "bytea", "sqlite": "BLOB", "clickhouse": "Nullable(String)", "duckdb": "BLOB", "file": "BLOB"}, "a\x00\xff")
}

// Bytes in an array stay bytes; in JSON they are base64.
func TestCaseB2Arrays(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	c := &Column{Name: "c", Native: "bytea[]", Want: "BLOB[]", Values: []string{`ARRAY['\x00ff'::bytea, '\x', NULL]`}, Full: true}
	for engine, want := range map[string]string{
		"postgres": `["\\x00ff","\\x",null]`, "mysql": `["AP8=","",null]`, "sqlite": `["AP8=","",null]`, "duckdb": `["\\x00\\xFF","",null]`, "file": `["\\x00\\xFF","",null]`,
	} {
		m := move(b.Site("postgres"), b.Site(engine), c)
		if got := *m.texts["c"][0]; got != want {
			t.Errorf("%s: %s, want %s", engine, got, want)
		}
	}
}

// Bytes that are no UTF-8, that look like escapes, and many of them.
func TestCaseB3(t *testing.T) {
	t.Parallel()
	random := make([]byte, 256<<10)
	r := rand.NewChaCha8([32]byte{'b', '3'})
	_, _ = r.Read(random)
	blobArrives(t, map[string]string{"mysql": "mediumblob"}, "\x00\x01\x02\xfd\xfe\xff,\"\n\r\\N", string(random))
}

func TestCaseB5(t *testing.T) {
	t.Parallel()
	blobArrives(t, map[string]string{"mysql": "varbinary(300)"}, allBytes(), "\\N", "")
}

// NULL and text that looks like it, in one row with tabs and quotes.
func TestCaseB7(t *testing.T) {
	t.Parallel()
	textArrives(t, `\N`, "NULL", "a\tb\t", `"`, `'`, `\`, "\n", "")
}

// ” is not NULL, also in a column that has no NULLs.
func TestCaseB8(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, native := range map[string]string{"postgres": "text NOT NULL", "mysql": "varchar(10) NOT NULL", "clickhouse": "String", "sqlite": "TEXT NOT NULL", "duckdb": "VARCHAR NOT NULL"} {
		everywhere(t, b, func(to *Site) {
			move(b.Site(engine), to, &Column{Name: "c", Native: native, Want: "VARCHAR", Values: []string{"''", "'x'"}, Full: true}).want("c", "VARCHAR", "", "x")
		})
	}
}

// Letters of all planes, composed and not.
func TestCaseB9(t *testing.T) {
	t.Parallel()
	textArrives(t, "ñ", "العربية", "中文", "🎉", "e\u0301", "\u00e9")
}

// é once, in the encodings that sources have.
func TestCaseB10(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	var cols []*Column
	for _, set := range []string{"latin1", "utf8", "utf8mb4", "ucs2", "utf16", "utf32", "cp1250", "macroman"} {
		cols = append(cols, &Column{Name: set, Native: "varchar(10) character set " + set, Want: "VARCHAR", Values: each(myText, "café")})
	}
	everywhere(t, b, func(to *Site) {
		m := move(b.Site("mysql"), to, cols...)
		for _, c := range cols {
			m.want(c.Name, "VARCHAR", "café", "NULL")
		}
	})
}

// Bytes that are no text are an error with its place.
func TestCaseB12(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, value := range map[string]string{"clickhouse": "unhex('61eda0bd')", "sqlite": "CAST(X'61eda0bd' AS TEXT)"} {
		c := textColumn(engine, "fine")
		c.Values = append(c.Values, value)
		_, err := attempt(b.Site(engine), b.Site("duckdb"), connectors.TargetOptions{}, c)
		refused(t, err, "c", "UTF-8", "2")
	}
}

// windows-1252 is decoded by the column's character set.
func TestCaseB13(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	c := &Column{Name: "c", Native: "varchar(10) character set latin1", Want: "VARCHAR", Values: each(hexed("_latin1 X'%s'"), "\x91\x92\x93\x94\x80", "\x98")}
	everywhere(t, b, func(to *Site) { move(b.Site("mysql"), to, c).want("c", "VARCHAR", "‘’“”€", "\u02dc", "NULL") })
}

// A very long text arrives.
func TestCaseB15(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	long := longText(longSize())
	if !full() {
		long = strings.Repeat(long, 4)
	}
	everywhere(t, b, func(to *Site) {
		move(b.Site("postgres"), to, textColumn("postgres", long)).want("c", "VARCHAR", long, "NULL")
	})
	move(b.Site("sqlite"), b.Site("duckdb"), textColumn("sqlite", long)).want("c", "VARCHAR", long, "NULL")
	c := textColumn("mysql")
	c.Values = []string{longMySQL("CONVERT(X'%s' USING utf8mb4)", longSize())}
	move(b.Site("mysql"), b.Site("duckdb"), c).want("c", "VARCHAR", strings.Repeat(longText(longSize()/1024), 1024), "NULL")
}

// A first row of NULLs is a row.
func TestCaseB16(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, from := range Engines {
		c := textColumn(from, "x")
		c.Values = append([]string{"NULL"}, c.Values...)
		everywhere(t, b, func(to *Site) { move(b.Site(from), to, c).want("c", "VARCHAR", "NULL", "x", "NULL") })
	}
}

// A SQLite file in UTF-16 holds the same texts.
func TestUTF16(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	s := b.OpenSite("sqlite", nil)
	s.Exec("PRAGMA encoding = 'UTF-16'; CREATE TABLE encoded (n)")
	if got := s.Query("PRAGMA encoding"); got[0][0] == nil || !strings.HasPrefix(*got[0][0], "UTF-16") {
		t.Fatal("the file is not in UTF-16")
	}
	values := make([]string, 0, len(texts))
	for _, v := range texts {
		if !strings.Contains(v, "\ufeff") { // SQLite itself takes it off when it converts
			values = append(values, v)
		}
	}
	c := &Column{Name: "c", Native: "TEXT", Want: "VARCHAR", Values: each(plain, values...)}
	move(s, b.Site("duckdb"), c).want("c", "VARCHAR", append(values, "NULL")...)
	move(b.Site("postgres"), s, textColumn("postgres", values...)).want("c", "VARCHAR", append(values, "NULL")...)
}
