package mysql

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/dvt-dev/dvt/connectors"
)

// TestWireLikeDriver reads rows past the driver and through it: all types, their edges,
// dates that are none, and columns read as another type than their own.
func TestWireLikeDriver(t *testing.T) {
	c := connect(t)
	edgeTable(t, c, "e", edges)
	execSQL(t, c, "SET sql_mode='ALLOW_INVALID_DATES'; CREATE TABLE z (i int, d date, t datetime(3), s timestamp NULL, c time(2), y year, u bigint unsigned, f float, b bit(9), m mediumint unsigned);"+
		"INSERT INTO z VALUES (1, '0000-00-00', '0000-00-00', NULL, '-838:59:59', 1901, 18446744073709551615, 0.1, b'101010101', 16777215), (2, '2024-00-10', '2024-01-00 10:00:00', '2024-02-29 23:59:59', '00:00:00.01', 2155, 0, -0.0, b'0', 0),"+
		"(3, '2023-02-28', '9999-12-31 23:59:59.999', NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
	asText := func(name string, cols ...string) connectors.Query {
		q := connectors.Query{SQL: "SELECT " + strings.Join(cols, ", ") + " FROM " + name + " ORDER BY i"}
		for _, col := range cols {
			q.Columns = append(q.Columns, connectors.Column{Name: col, Type: connectors.T(connectors.Varchar)})
		}
		return q
	}
	e, z := all(c, describe(t, c, "e")), all(c, describe(t, c, "z"))
	day := connectors.Query{SQL: "SELECT t FROM z WHERE i = 3", Columns: []connectors.Column{{Name: "t", Type: connectors.T(connectors.Date)}}}
	z.SQL = strings.Replace(z.SQL, "`c`", "NULL", 1) // its hours do not fit a TIME
	for _, q := range []connectors.Query{e, z, asText("z", "i", "d", "t", "s", "c", "y", "u", "f", "b", "m"), day} {
		got, gotErr := tryRead(c, q)
		c.noTap = true
		want, wantErr := tryRead(c, q)
		c.noTap = false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: through the driver (-) and past it (+):\n%s", q.SQL, diff)
		}
		if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
			t.Errorf("%s: got %v, through the driver %v", q.SQL, gotErr, wantErr)
		}
		if gotErr == nil && len(got) == 0 {
			t.Errorf("%s: no rows", q.SQL)
		}
	}
}

// TestWireLongRows reads rows that take several packets among short ones, and the
// session is fit for the next statement.
func TestWireLongRows(t *testing.T) {
	c := connect(t)
	q := connectors.Query{SQL: "SELECT 1 AS n, 'a' AS a, 'b' AS b UNION ALL SELECT 2, REPEAT('x', 10000000), REPEAT('y', 9000000) UNION ALL SELECT 3, REPEAT('z', 16777208 - 1 - 1 - 8 - 4), '' UNION ALL SELECT 4, 'c', 'd'"}
	for _, n := range []string{"n", "a", "b"} {
		q.Columns = append(q.Columns, connectors.Column{Name: n, Type: connectors.T(connectors.Varchar)})
	}
	for range 2 {
		rows, err := tryRead(c, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 4 || len(rows[1][1]) != 10_000_000 || len(rows[1][2]) != 9_000_000 || rows[3][1] != "c" || rows[3][2] != "d" {
			t.Fatalf("%d rows came, or not those that were sent", len(rows))
		}
		if got := query(t, c, "SELECT 5")[0][0]; got != "5" {
			t.Fatal("the next statement gave", got)
		}
	}
}

// TestWireStops ends a read from inside; the server's error in the middle of rows is its
// own.
func TestWireStops(t *testing.T) {
	c := connect(t)
	q := connectors.Query{SQL: "SELECT seq FROM seq_1_to_1000000", Columns: []connectors.Column{{Name: "seq", Type: connectors.T(connectors.BigInt)}}}
	stop := errors.New("enough")
	if err := c.Read(context.Background(), q, func(arrow.RecordBatch) error { return stop }); !errors.Is(err, stop) {
		t.Fatal("got", err)
	}
	q.SQL = "SELECT IF(seq = 50000, (SELECT seq FROM seq_1_to_2), seq) FROM seq_1_to_100000"
	err := c.Read(context.Background(), q, func(arrow.RecordBatch) error { return nil })
	var se *connectors.StatementError
	if !errors.As(err, &se) || !strings.Contains(err.Error(), "Subquery returns more than 1 row") {
		t.Fatal("got", err)
	}
	if got := query(t, c, "SELECT 5")[0][0]; got != "5" {
		t.Fatal("the next statement gave", got)
	}
}
