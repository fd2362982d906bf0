package mysql

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func TestBuilder(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	execSQL(t, c, "CREATE TABLE a (id int, name varchar(20) COLLATE utf8mb4_general_ci, n decimal(10,2), at datetime(6)); INSERT INTO a VALUES (1, 'x', 1.5, NULL), (2, 'X', 2, NULL)")
	view := connectors.Relation{Name: "v"}
	for _, sql := range []string{"SELECT id FROM a; -- a comment", "SELECT name FROM a"} {
		if err := c.CreateView(ctx, view, sql); err != nil {
			t.Fatal(err)
		}
	}
	if got := query(t, c, "SELECT GROUP_CONCAT(name) FROM v"); got[0][0] != "x,X" {
		t.Error(got)
	}
	if err := c.CreateView(ctx, view, "SELECT nope FROM a"); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Error(err)
	}
	cols, err := c.ResultColumns(ctx, "SELECT id, name, n, at FROM a")
	if err != nil || len(cols) != 4 || cols[1].Native != "varchar(20)" || !cols[2].Type.Equal(connectors.Dec(10, 2)) || cols[3].Type.Kind != connectors.Timestamp {
		t.Fatal(cols, err)
	}

	stage := func(unique ...string) error {
		st, sel, err := c.StageSelect(ctx, connectors.StageSelect{StageSpec: connectors.StageSpec{RunID: "run", Target: view, Options: connectors.TargetOptions{UniqueKey: []string{"name"}}},
			SQL: "WITH x AS (SELECT name, n FROM a) SELECT * FROM x", Unique: unique})
		if st != nil {
			defer func() {
				if err := st.Discard(ctx); err != nil {
					t.Error(err)
				}
			}()
		}
		if err == nil && sel.Rows != 2 {
			t.Error("rows:", sel.Rows)
		}
		if err == nil {
			err = c.Replace(ctx, st)
		}
		return err
	}
	// Keys compare by bytes, whatever the collation says.
	if err := stage("name"); err != nil {
		t.Fatal(err)
	}
	if kind := query(t, c, "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'v'"); kind[0][0] != "BASE TABLE" {
		t.Error(kind)
	}
	execSQL(t, c, "UPDATE a SET name = 'x'")
	var repeated *connectors.RepeatedKeyError
	if err := stage("name"); !errors.As(err, &repeated) || repeated.Values[0] != "x" {
		t.Error(err)
	}
	// A table makes room for a view, unless a foreign key points to it.
	if err := c.CreateView(ctx, view, "SELECT id FROM a"); err != nil {
		t.Fatal(err)
	}
	execSQL(t, c, "CREATE TABLE k (id int PRIMARY KEY); CREATE TABLE f (id int, FOREIGN KEY (id) REFERENCES k (id))")
	if err := c.CreateView(ctx, connectors.Relation{Name: "k"}, "SELECT 1 AS id"); err == nil || !strings.Contains(err.Error(), "foreign key") {
		t.Error(err)
	}
	if left := query(t, c, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE '\\_\\_dvt%'"); len(left) > 0 {
		t.Error("left behind:", left)
	}
	row, err := c.FirstRow(ctx, "SELECT SUM(n) AS n, NULL AS x FROM a", []string{"n", "x"})
	if err != nil || *row[0] != "3.50" || row[1] != nil {
		t.Fatal(row, err)
	}
}
