// Package lite steps a SQLite statement and reads its columns in C: the limit that the
// reading of SQLite is measured against.
package lite

/*
#cgo linux LDFLAGS: -lm
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#include <stdint.h>
#include <stdlib.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
__attribute__((weak)) int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
__attribute__((weak)) int sqlite3_close_v2(sqlite3 *);
__attribute__((weak)) int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
__attribute__((weak)) int sqlite3_finalize(sqlite3_stmt *);
__attribute__((weak)) int sqlite3_step(sqlite3_stmt *);
__attribute__((weak)) int sqlite3_column_count(sqlite3_stmt *);
__attribute__((weak)) int sqlite3_column_type(sqlite3_stmt *, int);
__attribute__((weak)) int sqlite3_column_bytes(sqlite3_stmt *, int);
__attribute__((weak)) const unsigned char *sqlite3_column_text(sqlite3_stmt *, int);
__attribute__((weak)) double sqlite3_column_double(sqlite3_stmt *, int);
__attribute__((weak)) int64_t sqlite3_column_int64(sqlite3_stmt *, int);

// step_all returns the rows, -1 on an error. The values go into sum, so that the
// compiler cannot leave them out.
static int64_t step_all(const char *path, const char *sql, int64_t *sum) {
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t rows = -1;
	if (sqlite3_open_v2(path, &db, 0x1 | 0x8000, NULL) == 0 && sqlite3_prepare_v2(db, sql, -1, &st, NULL) == 0) {
		int n = sqlite3_column_count(st), rc;
		for (rows = 0; (rc = sqlite3_step(st)) == 100; rows++)
			for (int i = 0; i < n; i++)
				switch (sqlite3_column_type(st, i)) {
				case 1: *sum += sqlite3_column_int64(st, i); break;
				case 2: *sum += (int64_t)sqlite3_column_double(st, i); break;
				case 3: case 4: {
					const unsigned char *p = sqlite3_column_text(st, i);
					int len = sqlite3_column_bytes(st, i);
					*sum += len > 0 ? p[len - 1] : 0;
				}
				}
		if (rc != 101) rows = -1;
	}
	sqlite3_finalize(st);
	sqlite3_close_v2(db);
	return rows;
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // compiles SQLite into the program
)

// StepAll reads all rows of a statement.
func StepAll(path, sql string) (rows int64, err error) {
	p, q := C.CString(path), C.CString(sql)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(q))
	var sum C.int64_t
	if rows = int64(C.step_all(p, q, &sum)); rows < 0 {
		return 0, fmt.Errorf("reading %s: the statement failed: %s", path, sql)
	}
	return rows, nil
}
