#include "lite.h"

#define STATIC ((void (*)(void *))0)
#define TRANSIENT ((void (*)(void *))-1)

static void two(char *p, int v) {
	p[0] = '0' + v / 10;
	p[1] = '0' + v % 10;
}

// put_date writes YYYY-MM-DD; the caller has checked that the year has four digits.
static void put_date(char *p, int64_t days) {
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9, y = yoe + era * 400 + (m <= 2);
	two(p, y / 100);
	two(p + 2, y % 100);
	p[4] = p[7] = '-';
	two(p + 5, m);
	two(p + 8, d);
}

// put_stamp writes a date and a time, with six digits of a second or none.
static int put_stamp(char *p, int64_t us) {
	int64_t day = us / 86400000000LL, t = us % 86400000000LL;
	if (t < 0) {
		t += 86400000000LL;
		day--;
	}
	put_date(p, day);
	int s = t / 1000000, f = t % 1000000;
	p[10] = ' ';
	two(p + 11, s / 3600);
	two(p + 14, s / 60 % 60);
	two(p + 17, s % 60);
	p[13] = p[16] = ':';
	if (f == 0) return 19;
	p[19] = '.';
	two(p + 20, f / 10000);
	two(p + 22, f / 100 % 100);
	two(p + 24, f % 100);
	return 26;
}

static void put_uuid(char *p, const uint8_t *u) {
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
		*p++ = "0123456789abcdef"[u[i] >> 4];
		*p++ = "0123456789abcdef"[u[i] & 15];
	}
}

static int bind(sqlite3_stmt *st, int at, const lite_param *p, int64_t i) {
	char s[48];
	int n;
	switch (p->mode) {
	case WRITE_I8: return sqlite3_bind_int64(st, at, ((const int8_t *)p->data)[i]);
	case WRITE_I16: return sqlite3_bind_int64(st, at, ((const int16_t *)p->data)[i]);
	case WRITE_I32: return sqlite3_bind_int64(st, at, ((const int32_t *)p->data)[i]);
	case WRITE_I64: return sqlite3_bind_int64(st, at, ((const int64_t *)p->data)[i]);
	case WRITE_U8: return sqlite3_bind_int64(st, at, ((const uint8_t *)p->data)[i]);
	case WRITE_U16: return sqlite3_bind_int64(st, at, ((const uint16_t *)p->data)[i]);
	case WRITE_U32: return sqlite3_bind_int64(st, at, ((const uint32_t *)p->data)[i]);
	case WRITE_BOOL: return sqlite3_bind_int64(st, at, ((const uint8_t *)p->data)[i >> 3] >> (i & 7) & 1);
	case WRITE_F32: return sqlite3_bind_double(st, at, ((const float *)p->data)[i]);
	case WRITE_F64: return sqlite3_bind_double(st, at, ((const double *)p->data)[i]);
	case WRITE_DATE:
		put_date(s, ((const int32_t *)p->data)[i]);
		return sqlite3_bind_text(st, at, s, 10, TRANSIENT);
	case WRITE_TS: return sqlite3_bind_text(st, at, s, put_stamp(s, ((const int64_t *)p->data)[i]), TRANSIENT);
	case WRITE_TSTZ:
		n = put_stamp(s, ((const int64_t *)p->data)[i]);
		__builtin_memcpy(s + n, "+00:00", 6);
		return sqlite3_bind_text(st, at, s, n + 6, TRANSIENT);
	case WRITE_UUID:
		put_uuid(s, (const uint8_t *)p->data + 16 * i);
		return sqlite3_bind_text(st, at, s, 36, TRANSIENT);
	}
	// A NULL pointer would bind NULL: an empty text stays a text.
	n = p->offsets[i + 1] - p->offsets[i];
	const char *bytes = n == 0 ? "" : p->bytes + p->offsets[i];
	if (p->mode == WRITE_BLOB) return sqlite3_bind_blob(st, at, bytes, n, STATIC);
	return sqlite3_bind_text(st, at, bytes, n, STATIC);
}

int lite_insert(sqlite3_stmt *st, const lite_param *p, int n, int64_t rows, int64_t *at) {
	int rc = LITE_OK;
	for (int64_t r = 0; r < rows && rc == LITE_OK; r++) {
		*at = r;
		for (int c = 0; c < n && rc == LITE_OK; c++) {
			int64_t i = p[c].offset + r;
			if (p[c].valid != 0 && !(p[c].valid[i >> 3] >> (i & 7) & 1)) rc = sqlite3_bind_null(st, c + 1);
			else rc = bind(st, c + 1, &p[c], i);
		}
		if (rc != LITE_OK) break;
		rc = sqlite3_step(st);
		if (rc == LITE_DONE) rc = sqlite3_reset(st);
		else sqlite3_reset(st);
	}
	sqlite3_clear_bindings(st);
	return rc;
}
