package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// jaffleTables makes the shape's raw tables: amounts in cents, customers without orders,
// orders without payments.
var jaffleTables = map[string]string{
	"raw_customers": `SELECT i::INTEGER AS id, 'First' || i AS first_name, CASE WHEN i % 7 = 0 THEN NULL ELSE 'O''Last ' || i END AS last_name FROM range(1, 101) r(i)`,
	"raw_orders":    `SELECT i::INTEGER AS id, (i * 37 % 90 + 1)::INTEGER AS user_id, DATE '2018-01-01' + (i % 99)::INTEGER AS order_date, ['placed', 'shipped', 'returned', 'completed'][i % 4 + 1] AS status FROM range(1, 401) r(i)`,
	"raw_payments":  `SELECT i::INTEGER AS id, (i * 13 % 380 + 1)::INTEGER AS order_id, ['credit_card', 'coupon', 'bank_transfer', 'gift_card'][i % 4 + 1] AS payment_method, (i * 111 % 3000)::INTEGER AS amount FROM range(1, 501) r(i)`,
}

// TestAcceptanceJaffle runs the jaffle-shop shape: staging models over two engines,
// ephemeral and then as tables, marts on a third engine.
func TestAcceptanceJaffle(t *testing.T) {
	oracle := openDB(t, "duckdb", "")
	schema := newSchema(t)
	t.Setenv("SCHEMA", schema)
	ddl := map[string]string{
		"raw_customers": "id integer, first_name varchar(40), last_name varchar(40)",
		"raw_orders":    "id integer, user_id integer, order_date date, status varchar(20)",
		"raw_payments":  "id integer, order_id integer, payment_method varchar(20), amount integer",
	}
	for table, query := range jaffleTables {
		engine := "pg"
		if table == "raw_payments" {
			engine = "my"
		}
		mustExec(t, oracle, "CREATE TABLE "+table+" AS "+query)
		_, rows := mustQuery(t, oracle, "SELECT COLUMNS(*)::VARCHAR FROM "+table)
		db := openDB(t, engine, "")
		mustExec(t, db, fmt.Sprintf("CREATE TABLE %s.%s (%s)", schema, table, ddl[table]))
		insertRows(t, engine, db, schema+"."+table, rows)
	}
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/jaffle", dir)

	jaffleOracle(t, oracle)
	for _, as := range []string{"ephemeral", "f_table"} {
		out, code := dvtIn(t, dir, "run", "--vars", "{payments_as: "+as+"}")
		t.Log(out)
		if code != 0 {
			t.Fatalf("exit code %d", code)
		}
		for _, mart := range []string{"customers", "orders"} {
			db, err := enginetest.Open("duckdb", filepath.Join(dir, "warehouse.duckdb"))
			if err != nil {
				t.Fatal(err)
			}
			names, rows := mustQuery(t, db, "SELECT COLUMNS(*)::VARCHAR FROM "+mart)
			_ = db.Close()
			compareWithOracle(t, oracle, "want_"+mart, names, rows)
		}
	}
}

// jaffleOracle computes the marts from the raw tables of one DuckDB.
func jaffleOracle(t *testing.T, oracle *enginetest.DB) {
	var sums []string
	for _, m := range []string{"credit_card", "coupon", "bank_transfer", "gift_card"} {
		sums = append(sums, fmt.Sprintf("sum(CASE WHEN payment_method = '%s' THEN (amount / 100)::DECIMAL(16,2) ELSE 0 END) AS %s_amount", m, m))
	}
	mustExec(t, oracle, `CREATE TABLE want_orders AS SELECT o.id AS order_id, o.user_id AS customer_id, o.order_date, o.status,
		p.* EXCLUDE (order_id, amount), p.amount FROM raw_orders o LEFT JOIN (SELECT order_id, `+strings.Join(sums, ", ")+`, sum((amount / 100)::DECIMAL(16,2)) AS amount FROM raw_payments GROUP BY 1) p ON p.order_id = o.id`)
	mustExec(t, oracle, `CREATE TABLE want_customers AS SELECT c.id AS customer_id, c.first_name, c.last_name, o.first_order, o.most_recent_order, o.number_of_orders, p.total AS customer_lifetime_value
		FROM raw_customers c LEFT JOIN (SELECT user_id, min(order_date) AS first_order, max(order_date) AS most_recent_order, count(*) AS number_of_orders FROM raw_orders GROUP BY 1) o ON o.user_id = c.id
		LEFT JOIN (SELECT o.user_id, sum((y.amount / 100)::DECIMAL(16,2)) AS total FROM raw_payments y JOIN raw_orders o ON o.id = y.order_id GROUP BY 1) p ON p.user_id = c.id`)
}
