#include "lite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int on_busy(void *arg, int n) {
	lite_wait *w = arg;
	int ms = n < 10 ? n + 1 : 20;
	if (n == 0) w->waited_ms = 0;
	if (__atomic_load_n(&w->cancel, __ATOMIC_RELAXED) || w->waited_ms >= w->limit_ms) return 0;
	usleep(ms * 1000);
	w->waited_ms += ms;
	return 1;
}

static int on_progress(void *arg) { return __atomic_load_n(&((lite_wait *)arg)->cancel, __ATOMIC_RELAXED); }

void lite_set_wait(sqlite3 *db, lite_wait *w) {
	sqlite3_busy_handler(db, on_busy, w);
	sqlite3_progress_handler(db, 20000, on_progress, w);
}

void lite_cancel(lite_wait *w, int cancel) { __atomic_store_n(&w->cancel, cancel, __ATOMIC_RELAXED); }

// ---- texts to values: 1 when the whole text is the value, else 0 ----------------

static int two(const char *p, int *v) {
	if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return 0;
	*v = (p[0] - '0') * 10 + p[1] - '0';
	return 1;
}

static int64_t days_from_civil(int y, int m, int d) {
	y -= m <= 2;
	int era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
	int doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
	return (int64_t)era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

// date reads YYYY-MM-DD, a day that exists.
static int date(const char *p, int64_t *days) {
	static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int c, y, m, d;
	if (!two(p, &c) || !two(p + 2, &y) || p[4] != '-' || !two(p + 5, &m) || p[7] != '-' || !two(p + 8, &d)) return 0;
	y += c * 100;
	if (m < 1 || m > 12 || d < 1) return 0;
	int leap = m == 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
	if (d > length[m - 1] + leap) return 0;
	*days = days_from_civil(y, m, d);
	return 1;
}

// clock_time reads HH:MM[:SS[.f]] with at most six digits of f and sets *used.
static int clock_time(const char *p, int n, int64_t *us, int *used) {
	int h, m, s = 0, i = 5;
	int64_t f = 0;
	if (n < 5 || !two(p, &h) || p[2] != ':' || !two(p + 3, &m)) return 0;
	if (n >= 8 && p[5] == ':') {
		if (!two(p + 6, &s)) return 0;
		i = 8;
		if (n > 9 && p[8] == '.') {
			int64_t unit = 100000;
			for (i = 9; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
				if (unit == 0) return 0;
				f += (p[i] - '0') * unit;
				unit /= 10;
			}
			if (i == 9) return 0;
		}
	}
	if (h > 23 || m > 59 || s > 59) return 0;
	*us = ((h * 60 + m) * 60 + s) * 1000000LL + f;
	*used = i;
	return 1;
}

// stamp reads a date, 'T' or a blank, a time, and Z or an offset. Without a zone
// (zoned = 0) only Z and +00:00 may stand there, for they leave the digits as they are.
static int stamp(const char *p, int n, int zoned, int64_t *us) {
	int64_t days, t;
	int used, h, m;
	if (n < 16 || !date(p, &days) || (p[10] != ' ' && p[10] != 'T')) return 0;
	if (!clock_time(p + 11, n - 11, &t, &used)) return 0;
	p += 11 + used;
	n -= 11 + used;
	if (n == 0) {
		if (zoned) return 0;
	} else if (n == 6 && (p[0] == '+' || p[0] == '-')) {
		if (!two(p + 1, &h) || p[3] != ':' || !two(p + 4, &m) || m > 59 || h > 15) return 0;
		int64_t off = (h * 60 + m) * 60000000LL;
		if (!zoned && off != 0) return 0;
		t += p[0] == '+' ? -off : off;
	} else if (n != 1 || p[0] != 'Z') {
		return 0;
	}
	*us = days * 86400000000LL + t;
	return 1;
}

// hex holds the value of a digit plus one, 0 for what is none.
static const uint8_t hex[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

static int uuid(const char *p, int n, uint8_t *out) {
	static const uint8_t at[] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
	if (n != 36 || p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-') return 0;
	const uint8_t *u = (const uint8_t *)p;
	int ok = 1;
	for (int i = 0; i < 16; i++) {
		unsigned hi = hex[u[at[i]]], lo = hex[u[at[i] + 1]];
		ok &= hi > 0 && lo > 0;
		out[i] = (hi - 1) << 4 | ((lo - 1) & 15);
	}
	return ok;
}

// utf8 reports whether the text is valid UTF-8: no overlong forms, no surrogates.
static int utf8(const char *s, int n) {
	const uint8_t *p = (const uint8_t *)s, *end = p + n;
	while (p < end) {
		uint64_t eight;
		if (end - p >= 8) {
			memcpy(&eight, p, 8);
			if ((eight & 0x8080808080808080ULL) == 0) {
				p += 8;
				continue;
			}
		}
		if (*p < 0x80) {
			p++;
			continue;
		}
		int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
		if (*p < 0xc2 || *p > 0xf4 || end - p <= more) return 0;
		if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f)) return 0;
		if ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f)) return 0;
		for (int i = 1; i <= more; i++)
			if ((p[i] & 0xc0) != 0x80) return 0;
		p += more + 1;
	}
	return 1;
}

// ---- JSON: is it one value? 0 may also mean that it nests too deeply to say here --

static const char *blanks(const char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
	return p;
}

static const char *digits(const char *p, const char *end) {
	const char *from = p;
	while (p < end && *p >= '0' && *p <= '9') p++;
	return p == from ? NULL : p;
}

static const char *json_string(const char *p, const char *end) {
	for (p++; p < end; p++) {
		if (*p == '"') return p + 1;
		if ((unsigned char)*p < 0x20) return NULL;
		if (*p != '\\') continue;
		if (++p == end) return NULL;
		if (*p == 'u') {
			if (end - p < 5) return NULL;
			for (int i = 1; i <= 4; i++)
				if (!((p[i] >= '0' && p[i] <= '9') || ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'f'))) return NULL;
			p += 4;
		} else if (strchr("\"\\/bfnrt", *p) == NULL || *p == 0) {
			return NULL;
		}
	}
	return NULL;
}

static const char *json_number(const char *p, const char *end) {
	if (*p == '-') p++;
	if (p < end && *p == '0') p++;
	else if ((p = digits(p, end)) == NULL) return NULL;
	if (p < end && *p == '.' && (p = digits(p + 1, end)) == NULL) return NULL;
	if (p < end && (*p | 32) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-')) p++;
		p = digits(p, end);
	}
	return p;
}

static const char *json_value(const char *p, const char *end, int depth) {
	p = blanks(p, end);
	if (p == end || depth > 500) return NULL;
	char open = *p;
	if (open == '"') return json_string(p, end);
	if (open == 't') return end - p >= 4 && memcmp(p, "true", 4) == 0 ? p + 4 : NULL;
	if (open == 'f') return end - p >= 5 && memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
	if (open == 'n') return end - p >= 4 && memcmp(p, "null", 4) == 0 ? p + 4 : NULL;
	if (open != '{' && open != '[') return json_number(p, end);
	char shut = open == '{' ? '}' : ']';
	p = blanks(p + 1, end);
	if (p < end && *p == shut) return p + 1;
	for (;;) {
		if (open == '{') {
			p = blanks(p, end);
			if (p == end || *p != '"' || (p = json_string(p, end)) == NULL) return NULL;
			p = blanks(p, end);
			if (p == end || *p != ':') return NULL;
			p++;
		}
		if ((p = json_value(p, end, depth + 1)) == NULL) return NULL;
		p = blanks(p, end);
		if (p == end) return NULL;
		if (*p == shut) return p + 1;
		if (*p++ != ',') return NULL;
	}
}

static int json(const char *p, int n) {
	const char *end = p + n;
	p = json_value(p, end, 0);
	return p != NULL && blanks(p, end) == end;
}

// ---- decimals ------------------------------------------------------------------

typedef unsigned __int128 u128;

static u128 limit_of(const lite_col *c) { return (u128)c->limit[1] << 64 | c->limit[0]; }

static int put_dec(lite_col *c, int row, int negative, u128 v) {
	if (v >= limit_of(c)) return 0;
	__int128 s = negative ? -(__int128)v : (__int128)v;
	memcpy((char *)c->data + 16 * (int64_t)row, &s, 16);
	return 1;
}

static int dec_of_int(lite_col *c, int row, int64_t v) {
	u128 m = v < 0 ? -(u128)v : (u128)v, limit = limit_of(c);
	for (int i = 0; i < c->scale; i++) {
		if (m >= limit) return 0;
		m *= 10;
	}
	return put_dec(c, row, v < 0, m);
}

static int dec_of_text(lite_col *c, int row, const char *p, int n) {
	int negative = 0, digits = 0, fraction = -1;
	u128 v = 0;
	if (n > 0 && (*p == '-' || *p == '+')) {
		negative = *p == '-';
		p++, n--;
	}
	for (int i = 0; i < n; i++) {
		if (p[i] == '.' && fraction < 0) {
			fraction = 0;
			continue;
		}
		if (p[i] < '0' || p[i] > '9') return 0;
		if (fraction == c->scale || ++digits > 38) return 0;
		v = v * 10 + (p[i] - '0');
		if (fraction >= 0) fraction++;
	}
	if (digits == 0) return 0;
	for (int i = fraction < 0 ? 0 : fraction; i < c->scale; i++) {
		if (++digits > 38) return 0;
		v *= 10;
	}
	return put_dec(c, row, negative, v);
}

static const double ten[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// dec_of_real is exact: a decimal of at most 15 digits is the only one of its length
// that reads as the double n / 10^s, and that division is correctly rounded.
static int dec_of_real(lite_col *c, int row, double r) {
	if (c->scale > 15) return 0;
	double x = r * ten[c->scale];
	if (!(x > -1e15 && x < 1e15)) return 0;
	int64_t n = llround(x);
	if ((double)n / ten[c->scale] != r || n >= 1000000000000000LL || n <= -1000000000000000LL) return 0;
	return put_dec(c, row, n < 0, (u128)(n < 0 ? -n : n));
}

// ---- batches -------------------------------------------------------------------

void lite_begin_batch(lite_batch *b) {
	b->row = b->col = b->inside = 0;
	b->bytes = 0;
	for (int i = 0; i < b->ncols; i++) {
		lite_col *c = &b->cols[i];
		memset(c->valid, 0xff, (b->max_rows + 7) / 8);
		c->nulls = c->nbytes = 0;
		if (c->width == 0) c->offsets[0] = 0;
	}
}

void lite_null(lite_batch *b, lite_col *c) {
	c->valid[b->row >> 3] &= ~(1 << (b->row & 7));
	c->nulls++;
	if (c->width == 0) c->offsets[b->row + 1] = (int32_t)c->nbytes;
	else if (c->mode != READ_BOOL) memset((char *)c->data + (int64_t)c->width * b->row, 0, c->width);
}

int lite_append(lite_batch *b, lite_col *c, const char *p, int64_t n) {
	if (c->nbytes + n > c->cap) {
		int64_t cap = c->cap * 2 > c->nbytes + n ? c->cap * 2 : c->nbytes + n;
		char *bytes = c->nbytes + n > INT32_MAX ? NULL : realloc(c->bytes, cap);
		if (bytes == NULL) return LITE_NOMEM;
		c->bytes = bytes;
		c->cap = cap;
	}
	memcpy(c->bytes + c->nbytes, p, n);
	c->nbytes += n;
	b->bytes += n;
	c->offsets[b->row + 1] = (int32_t)c->nbytes;
	return LITE_OK;
}

static int append_int(lite_batch *b, lite_col *c, int64_t v) {
	char s[24];
	int i = sizeof s;
	uint64_t m = v < 0 ? -(uint64_t)v : (uint64_t)v;
	do s[--i] = '0' + m % 10;
	while (m /= 10);
	if (v < 0) s[--i] = '-';
	return lite_append(b, c, s + i, sizeof s - i);
}

static int put_int(lite_col *c, int row, int64_t v) {
	if (v < c->lo || v > c->hi) return 0;
	switch (c->width) {
	case 1: ((int8_t *)c->data)[row] = v; break;
	case 2: ((int16_t *)c->data)[row] = v; break;
	case 4: ((int32_t *)c->data)[row] = v; break;
	default: ((int64_t *)c->data)[row] = v;
	}
	return 1;
}

// value decodes column i of the current row: LITE_OK, LITE_ASK or an error.
static int value(sqlite3_stmt *st, lite_batch *b, int i) {
	lite_col *c = &b->cols[i];
	// The value is fetched once: sqlite3_column_… would look for it at every call. A
	// session belongs to one goroutine at a time, so nothing else touches it meanwhile.
	sqlite3_value *val = sqlite3_column_value(st, i);
	int row = b->row, class = sqlite3_value_type(val), ok = 0;
	if (class == LITE_NULL) {
		lite_null(b, c);
		return LITE_OK;
	}
	if (class == LITE_INTEGER) {
		int64_t v = sqlite3_value_int64(val);
		switch (c->mode) {
		case READ_INT: ok = put_int(c, row, v); break;
		case READ_BOOL:
			if ((ok = v == 0 || v == 1)) {
				uint8_t *bits = c->data;
				bits[row >> 3] = (bits[row >> 3] & ~(1 << (row & 7))) | v << (row & 7);
			}
			break;
		case READ_DOUBLE:
			if ((ok = v >= -(1LL << 53) && v <= 1LL << 53)) ((double *)c->data)[row] = v;
			break;
		case READ_DEC: ok = dec_of_int(c, row, v); break;
		case READ_UNIX:
			ok = !__builtin_mul_overflow(v, c->factor, &v) && v >= c->lo && v <= c->hi;
			if (ok) ((int64_t *)c->data)[row] = v;
			break;
		case READ_ANY:
		case READ_JSON: return append_int(b, c, v);
		}
		return ok ? LITE_OK : LITE_ASK;
	}
	if (class == LITE_FLOAT) {
		double v = sqlite3_value_double(val);
		if (c->mode == READ_DOUBLE) {
			((double *)c->data)[row] = v;
			return LITE_OK;
		}
		return c->mode == READ_DEC && dec_of_real(c, row, v) ? LITE_OK : LITE_ASK;
	}
	if (class == LITE_BLOBBY) {
		if (c->mode != READ_BLOB) return LITE_ASK;
		const char *p = sqlite3_value_blob(val);
		int n = sqlite3_value_bytes(val);
		if (p == NULL && n > 0) return LITE_NOMEM;
		return lite_append(b, c, p == NULL ? "" : p, n);
	}
	if (c->mode == READ_ASK || c->mode == READ_INT || c->mode == READ_BLOB) return LITE_ASK;
	const char *p = (const char *)sqlite3_value_text(val);
	int n = sqlite3_value_bytes(val), used;
	int64_t v;
	if (p == NULL) return LITE_NOMEM;
	switch (c->mode) {
	case READ_TEXT:
	case READ_ANY: return utf8(p, n) ? lite_append(b, c, p, n) : LITE_ASK;
	case READ_JSON: return utf8(p, n) && json(p, n) ? lite_append(b, c, p, n) : LITE_ASK;
	case READ_DATE:
		if ((ok = n == 10 && date(p, &v))) ((int32_t *)c->data)[row] = v;
		break;
	case READ_TIME:
		if ((ok = clock_time(p, n, &v, &used) && used == n)) ((int64_t *)c->data)[row] = v;
		break;
	case READ_TS:
	case READ_TSTZ:
		if ((ok = stamp(p, n, c->mode == READ_TSTZ, &v))) ((int64_t *)c->data)[row] = v;
		break;
	case READ_UUID: ok = uuid(p, n, (uint8_t *)c->data + 16 * (int64_t)row); break;
	case READ_DEC: ok = dec_of_text(c, row, p, n); break;
	}
	return ok ? LITE_OK : LITE_ASK;
}

int lite_fill(sqlite3_stmt *st, lite_batch *b) {
	for (;;) {
		if (!b->inside) {
			if (b->row >= b->max_rows || b->bytes >= b->max_bytes) return LITE_FULL;
			int rc = sqlite3_step(st);
			if (rc != LITE_ROW) return rc == LITE_DONE ? LITE_DONE : -rc;
			b->inside = 1;
			b->col = 0;
		}
		for (; b->col < b->ncols; b->col++) {
			b->bytes += b->cols[b->col].width + 4;
			int rc = value(st, b, b->col);
			if (rc == LITE_ASK) return rc;
			if (rc != LITE_OK) return -rc;
		}
		b->inside = 0;
		b->row++;
	}
}
