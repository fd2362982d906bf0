// Rows of a statement to columns and back, one call for a whole batch: crossing from Go
// to C costs more than reading a value does.

#ifndef DVT_LITE_H
#define DVT_LITE_H

#include <stdint.h>

// The part of SQLite's interface that is used here. The functions are those that
// go-sqlite3 compiles into the same program; weak, so that this package links alone.
#define WEAK __attribute__((weak))
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_value sqlite3_value;
WEAK const char *sqlite3_libversion(void);
WEAK int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
WEAK int sqlite3_close(sqlite3 *);
WEAK int sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
WEAK void sqlite3_interrupt(sqlite3 *);
WEAK void sqlite3_progress_handler(sqlite3 *, int, int (*)(void *), void *);
WEAK int sqlite3_busy_handler(sqlite3 *, int (*)(void *, int), void *);
WEAK int sqlite3_extended_errcode(sqlite3 *);
WEAK int sqlite3_error_offset(sqlite3 *);
WEAK const char *sqlite3_errmsg(sqlite3 *);
WEAK int sqlite3_get_autocommit(sqlite3 *);
WEAK int sqlite3_table_column_metadata(sqlite3 *, const char *, const char *, const char *, const char **, const char **, int *, int *, int *);
WEAK int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
WEAK int sqlite3_finalize(sqlite3_stmt *);
WEAK int sqlite3_step(sqlite3_stmt *);
WEAK int sqlite3_reset(sqlite3_stmt *);
WEAK int sqlite3_clear_bindings(sqlite3_stmt *);
WEAK int sqlite3_stmt_readonly(sqlite3_stmt *);
WEAK int sqlite3_column_count(sqlite3_stmt *);
WEAK const char *sqlite3_column_name(sqlite3_stmt *, int);
WEAK sqlite3_value *sqlite3_column_value(sqlite3_stmt *, int);
WEAK int sqlite3_value_type(sqlite3_value *);
WEAK int64_t sqlite3_value_int64(sqlite3_value *);
WEAK double sqlite3_value_double(sqlite3_value *);
WEAK const unsigned char *sqlite3_value_text(sqlite3_value *);
WEAK const void *sqlite3_value_blob(sqlite3_value *);
WEAK int sqlite3_value_bytes(sqlite3_value *);
WEAK int sqlite3_column_type(sqlite3_stmt *, int);
WEAK int64_t sqlite3_column_int64(sqlite3_stmt *, int);
WEAK double sqlite3_column_double(sqlite3_stmt *, int);
WEAK const unsigned char *sqlite3_column_text(sqlite3_stmt *, int);
WEAK const void *sqlite3_column_blob(sqlite3_stmt *, int);
WEAK int sqlite3_column_bytes(sqlite3_stmt *, int);
WEAK int sqlite3_bind_int64(sqlite3_stmt *, int, int64_t);
WEAK int sqlite3_bind_double(sqlite3_stmt *, int, double);
WEAK int sqlite3_bind_text(sqlite3_stmt *, int, const char *, int, void (*)(void *));
WEAK int sqlite3_bind_blob(sqlite3_stmt *, int, const void *, int, void (*)(void *));
WEAK int sqlite3_bind_null(sqlite3_stmt *, int);
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_value sqlite3_value;
WEAK int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *, void (*)(sqlite3_context *, int, sqlite3_value **),
	void (*)(sqlite3_context *, int, sqlite3_value **), void (*)(sqlite3_context *), void (*)(void *));
WEAK void *sqlite3_aggregate_context(sqlite3_context *, int);
WEAK const unsigned char *sqlite3_value_text(sqlite3_value *);
WEAK int sqlite3_value_bytes(sqlite3_value *);
WEAK void sqlite3_result_text(sqlite3_context *, const char *, int, void (*)(void *));

// lite_functions gives a connection dvt_marks(text), the sum of its texts' marks as a
// fingerprint has them. lite_init comes before, once.
void lite_init(void);
int lite_functions(sqlite3 *db);

// Result codes and storage classes.
enum { LITE_OK = 0, LITE_NOMEM = 7, LITE_ROW = 100, LITE_DONE = 101 };
enum { LITE_INTEGER = 1, LITE_FLOAT = 2, LITE_TEXTUAL = 3, LITE_BLOBBY = 4, LITE_NULL = 5 };

// lite_wait is how long a connection waits for a lock of another process. cancel ends
// the wait, and the running statement, at once. sqlite3_interrupt alone does not: it is
// forgotten when it comes between two statements.
typedef struct {
	int64_t limit_ms;
	int64_t waited_ms;
	int cancel;
} lite_wait;
void lite_set_wait(sqlite3 *db, lite_wait *w);
void lite_cancel(lite_wait *w, int cancel);

// ---- reading ------------------------------------------------------------------

// How a column is decoded. A value that its mode does not cover in the plain way is
// left to the caller (LITE_ASK).
enum {
	READ_ASK,    // every value is left to the caller
	READ_INT,    // width 1, 2, 4 or 8, from lo to hi
	READ_BOOL,   // one bit
	READ_DOUBLE, // float64
	READ_DEC,    // decimal128 of the given scale below limit
	READ_DATE,   // days
	READ_TIME,   // µs
	READ_TS,     // µs, no zone
	READ_TSTZ,   // µs, an offset is required
	READ_UNIX,   // integers times factor are µs
	READ_UUID,   // 16 bytes
	READ_TEXT,   // text only
	READ_JSON,   // valid JSON texts, and integers
	READ_ANY,    // text, and integers as text
	READ_BLOB    // blobs only
};

typedef struct {
	int mode;
	int width;      // bytes of a fixed value, 0 for texts and blobs
	int scale;      // READ_DEC
	int64_t factor; // READ_UNIX
	int64_t lo, hi; // READ_INT
	uint64_t limit[2]; // READ_DEC: 10^precision, low half first
	void *data;     // fixed values
	uint8_t *valid; // Arrow validity bits
	int32_t *offsets;
	char *bytes;
	int64_t nbytes, cap;
	int64_t nulls;
} lite_col;

typedef struct {
	lite_col *cols;
	int ncols;
	int max_rows;
	int64_t max_bytes;
	int row, col; // where the next value goes
	int inside;   // stepped to row already, its columns before col are done
	int64_t bytes;
} lite_batch;

// lite_fill steps the statement until the batch is full (LITE_FULL), the rows end
// (LITE_DONE), a value has to be asked for (LITE_ASK: at row, col; go on with col + 1)
// or an error, returned negative.
enum { LITE_FULL = 1000, LITE_ASK = 1001 };
int lite_fill(sqlite3_stmt *st, lite_batch *b);
void lite_begin_batch(lite_batch *b);
void lite_null(lite_batch *b, lite_col *c);
int lite_append(lite_batch *b, lite_col *c, const char *p, int64_t n);

// ---- writing ------------------------------------------------------------------

enum {
	WRITE_I8, WRITE_I16, WRITE_I32, WRITE_I64, WRITE_U8, WRITE_U16, WRITE_U32,
	WRITE_BOOL, WRITE_F32, WRITE_F64, WRITE_TEXT, WRITE_BLOB,
	WRITE_DATE, WRITE_TS, WRITE_TSTZ, WRITE_UUID
};

typedef struct {
	int mode;
	int64_t offset;       // of the first row in the buffers below
	const uint8_t *valid; // NULL: no NULLs
	const void *data;
	const int32_t *offsets;
	const char *bytes;
} lite_param;

// lite_insert runs the statement once for each row. It returns LITE_OK, or an error
// and in *at its row.
int lite_insert(sqlite3_stmt *st, const lite_param *p, int n, int64_t rows, int64_t *at);

#endif
