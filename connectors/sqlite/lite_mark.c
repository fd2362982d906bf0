// The sum of marks by which a copy of columns is compared with them (RFC 1321's digest).

#include "lite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
	uint32_t s[4];
} digest;

// Rotations of the four rounds.
static const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
static uint32_t sines[64];

static void block(digest *d, const unsigned char *p) {
	uint32_t a = d->s[0], b = d->s[1], c = d->s[2], e = d->s[3], w[16];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
	for (int i = 0; i < 64; i++) {
		uint32_t f;
		int at;
		switch (i / 16) {
		case 0: f = (b & c) | (~b & e), at = i; break;
		case 1: f = (e & b) | (~e & c), at = (5 * i + 1) % 16; break;
		case 2: f = b ^ c ^ e, at = (3 * i + 5) % 16; break;
		default: f = c ^ (b | ~e), at = (7 * i) % 16;
		}
		uint32_t x = a + f + sines[i] + w[at];
		int r = turns[i / 16][i % 4];
		a = e, e = c, c = b, b += x << r | x >> (32 - r);
	}
	d->s[0] += a, d->s[1] += b, d->s[2] += c, d->s[3] += e;
}

// first15 is the number that the digest's first 15 hexadecimal digits spell.
static uint64_t first15(const unsigned char *p, int64_t n) {
	digest d = {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
	unsigned char last[128] = {0};
	int64_t whole = n / 64 * 64, rest = n - whole;
	for (int64_t i = 0; i < whole; i += 64) block(&d, p + i);
	if (rest > 0) memcpy(last, p + whole, rest);
	last[rest] = 0x80;
	int end = rest < 56 ? 64 : 128;
	for (int i = 0; i < 8; i++) last[end - 8 + i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
	for (int i = 0; i < end; i += 64) block(&d, last + i);
	uint64_t v = 0;
	for (int i = 0; i < 8; i++) v = v << 8 | (d.s[i / 4] >> 8 * (i % 4) & 0xff);
	return v >> 4;
}

static void marks_step(sqlite3_context *c, int n, sqlite3_value **v) {
	uint64_t *sum = sqlite3_aggregate_context(c, sizeof *sum);
	if (!sum) return;
	const unsigned char *p = sqlite3_value_text(v[0]);
	*sum += first15(p ? p : (const unsigned char *)"", sqlite3_value_bytes(v[0]));
}

static void marks_final(sqlite3_context *c) {
	uint64_t *sum = sqlite3_aggregate_context(c, 0);
	char text[24];
	int n = snprintf(text, sizeof text, "%llu", (unsigned long long)(sum ? *sum : 0));
	sqlite3_result_text(c, text, n, (void (*)(void *))-1);
}

// lite_init is called once, before the first session.
void lite_init(void) {
	for (int i = 0; i < 64; i++) sines[i] = (uint32_t)floor(fabs(sin(i + 1.0)) * 4294967296.0);
}

int lite_functions(sqlite3 *db) {
	return sqlite3_create_function_v2(db, "dvt_marks", 1, 1 | 0x800, NULL, NULL, marks_step, marks_final, NULL); // UTF-8, deterministic
}
