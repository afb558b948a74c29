/* math.h: the smaller, the larger, and division that rounds up, of counts and of bytes. */
#ifndef ASSAY_BASE_MATH_H
#define ASSAY_BASE_MATH_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t assay_min(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t assay_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* a / b rounded up: a >= 0, b > 0. */
static inline int64_t assay_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The least multiple of `to` that is at least n. */
static inline int64_t assay_round_up(int64_t n, int64_t to) { return assay_ceil_div(n, to) * to; }

static inline size_t assay_max_bytes(size_t a, size_t b) { return a > b ? a : b; }

static inline size_t assay_round_up_bytes(size_t n, size_t to) { return (n + to - 1) / to * to; }

#endif
