// Package all registers every connector. It is the one place that imports engines.
package all

import (
	_ "github.com/dvt-dev/dvt/connectors/blob"
	_ "github.com/dvt-dev/dvt/connectors/clickhouse"
	_ "github.com/dvt-dev/dvt/connectors/duckdb"
	_ "github.com/dvt-dev/dvt/connectors/file"
	_ "github.com/dvt-dev/dvt/connectors/mysql"
	_ "github.com/dvt-dev/dvt/connectors/postgres"
	_ "github.com/dvt-dev/dvt/connectors/sqlite"
)
