package clickhouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/dvt-dev/dvt/connectors"
)

func TestMain(m *testing.M) {
	if db := os.Getenv(childEnv); db != "" {
		if err := child(db); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func env(t testing.TB, name string) string {
	t.Helper()
	v := os.Getenv("DVT_TEST_CH_" + name)
	if v == "" {
		t.Fatalf("DVT_TEST_CH_%s is not set: these tests need a ClickHouse server", name)
	}
	return v
}

// serverOutput is a connection to the test server. driver is native or http.
func serverOutput(t testing.TB, driver, database string) connectors.Output {
	portKey := "PORT"
	if driver == "http" {
		portKey = "HTTP_PORT"
	}
	port, err := strconv.Atoi(env(t, portKey))
	if err != nil {
		t.Fatal(err)
	}
	return connectors.Output{Name: "ch", Type: "clickhouse", Keys: map[string]any{
		"host": env(t, "HOST"), "port": port, "user": env(t, "USER"), "password": env(t, "PASSWORD"), "schema": database, "driver": driver,
	}}
}

// fixture is a database of the test's own.
type fixture struct {
	*conn
	t  testing.TB
	db string
}

func newFixture(t testing.TB, driver string) *fixture {
	t.Helper()
	if driver == "" {
		driver = drivers()[0]
	}
	var b [4]byte
	_, _ = rand.Read(b[:])
	db := fmt.Sprintf("dvt_ch_%d_%s", os.Getpid(), hex.EncodeToString(b[:]))
	f := &fixture{conn: openConn(t, serverOutput(t, driver, db)), t: t, db: db}
	f.exec("CREATE DATABASE " + db)
	t.Cleanup(func() {
		if err := f.Exec(context.Background(), "DROP DATABASE "+db); err != nil {
			t.Error(err)
		}
		_ = f.Close()
	})
	return f
}

// both runs a test over each protocol.
func both(t *testing.T, test func(t *testing.T, f *fixture)) {
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) { test(t, newFixture(t, driver)) })
	}
}

// drivers are the protocols under test: DVT_TEST_CH_DRIVER, if set, else both.
func drivers() []string {
	if d := os.Getenv("DVT_TEST_CH_DRIVER"); d != "" {
		return []string{d}
	}
	return []string{"native", "http"}
}

// openConn opens a connection whose Arrow memory is checked at the end of the test.
func openConn(t testing.TB, out connectors.Output) *conn {
	t.Helper()
	k, err := connectors.Lookup(out.Type)
	if err != nil {
		t.Fatal(err)
	}
	c, err := k.Open(out, connectors.Env{RunID: "run1"})
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	c.(*conn).alloc = mem
	t.Cleanup(func() {
		mem.AssertSize(t, 0)
		_ = c.Close()
	})
	return c.(*conn)
}

// exec runs a statement; an INSERT goes over HTTP, where the server itself parses values.
func (f *fixture) exec(sql string) {
	f.t.Helper()
	if strings.HasPrefix(sql, "INSERT") {
		f.post(sql)
		return
	}
	if err := f.Exec(context.Background(), sql); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func (f *fixture) post(sql string) string {
	f.t.Helper()
	url := fmt.Sprintf("http://%s:%s/?user=%s&password=%s", env(f.t, "HOST"), env(f.t, "HTTP_PORT"), env(f.t, "USER"), env(f.t, "PASSWORD"))
	resp, err := http.Post(url, "text/plain", strings.NewReader(sql))
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: %s %v", sql, body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(body)
}

func (f *fixture) rel(name string) connectors.Relation {
	return connectors.Relation{Schema: f.db, Name: name}
}

func (f *fixture) describe(name string) *connectors.Table {
	f.t.Helper()
	t, err := f.Describe(context.Background(), f.rel(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// strings runs a query and gives its values as Arrow prints them.
func (f *fixture) rows(q connectors.Query) [][]string {
	f.t.Helper()
	rows, err := readRows(f.conn, q)
	if err != nil {
		f.t.Fatalf("%s: %v", q.SQL, err)
	}
	return rows
}

func readRows(c *conn, q connectors.Query) (rows [][]string, err error) {
	err = c.Read(context.Background(), q, func(rec arrow.RecordBatch) error {
		for r := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for i := range row {
				row[i] = rec.Column(i).ValueStr(r)
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// table reads a whole relation through Describe and Select.
func (f *fixture) table(name, order string) [][]string {
	f.t.Helper()
	t := f.describe(name)
	e := connectors.Extract{Table: t, Limit: -1}
	for i := range t.Columns {
		e.Columns = append(e.Columns, i)
	}
	if order != "" {
		e.OrderBy = strings.Split(order, ",")
	}
	return f.rows(connectors.Query{SQL: f.Dialect().Select(e), Columns: t.Columns})
}
