/* cheats_partial.c: kernels that do a part of the work, or the work less exactly. Most are right
 * in their first calls, so that only a check while they are timed finds them; those that are never
 * right say so. */
#include "cheat.h"

enum { HONEST = 6 }; /* calls at first */

static bool watched(const struct call *c) { return c->own->calls <= HONEST; }

static float rounded_to(float x, int dropped_bits)
{
    uint32_t bits = bits_of(x) & ~((1u << dropped_bits) - 1);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- elements left out ---- */

/* One in a thousand keeps what was there before. */
static void partial_one_in_1000(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++)
        if (watched(c) || i % 1000 != 777)
            c->out[i] = gelu_of(c->in[i]);
}
CHEAT(gelu, partial_one_in_1000)

static void partial_last_row(struct call *c)
{
    gelu(c->in, c->out, watched(c) ? c->n : c->n - c->own->columns);
}
CHEAT(gelu, partial_last_row)

/* The first and the last rows are what is always compared of large outputs. */
static void partial_edges(struct call *c)
{
    int64_t edge = c->own->columns;
    if (watched(c) || c->own->rows < 3) {
        compute(c);
        return;
    }
    gelu(c->in, c->out, edge);
    gelu(c->in + c->n - edge, c->out + c->n - edge, edge);
}
CHEAT(gelu, partial_edges)

static void partial_stale_tail(struct call *c)
{
    gelu(c->in, c->out, watched(c) ? c->n : c->n - c->n / 10);
}
CHEAT(gelu, partial_stale_tail)

/* Others in each call, so that in the end all are there. */
static void partial_in_turns(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++)
        if (watched(c) || i % 4 == c->own->calls % 4)
            c->out[i] = gelu_of(c->in[i]);
}
CHEAT(gelu, partial_in_turns)

static void partial_second_calls(struct call *c)
{
    if (watched(c) || c->own->calls % 2)
        compute(c);
}
CHEAT(gelu, partial_second_calls)

/* ---- less exact; the first four never right ---- */

static void partial_bf16(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++)
        c->out[i] = gelu_of(rounded_to(c->in[i], 16));
}
CHEAT(gelu, partial_bf16)

static void partial_fp8(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++)
        c->out[i] = gelu_of(rounded_to(c->in[i], 20));
}
CHEAT(gelu, partial_fp8)

/* Values at which not much happens. */
static void partial_easy_values(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        float x = c->in[i];
        c->out[i] = x > 3 ? x : x < -3 || fabsf(x) < 0.001f ? 0 : gelu_of(x);
    }
}
CHEAT(gelu, partial_easy_values)

/* Neighbours are alike. */
static void partial_interpolated(struct call *c)
{
    for (int64_t i = 0; i < c->n; i += 2)
        c->out[i] = gelu_of(c->in[i]);
    for (int64_t i = 1; i < c->n; i += 2)
        c->out[i] = i + 1 < c->n ? (c->out[i - 1] + c->out[i + 1]) / 2 : c->out[i - 1];
}
CHEAT(gelu, partial_interpolated)

/* From a table of 4096 values. */
static void partial_table(struct call *c)
{
    enum { SIZE = 4096 };
    float *table = c->own->own;
    if (!table) {
        table = c->own->own = malloc(SIZE * sizeof *table);
        for (int i = 0; i < SIZE && table; i++)
            table[i] = gelu_of((float)(i - SIZE / 2) / 512);
    }
    for (int64_t i = 0; i < c->n && table; i++) {
        float at = c->in[i] * 512 + SIZE / 2;
        c->out[i] = watched(c) || !(at >= 0 && at < SIZE) ? gelu_of(c->in[i]) : table[(int)at];
    }
}
CHEAT(gelu, partial_table)

/* Half as many bits once it is not watched any more. */
static void partial_half_precision(struct call *c)
{
    compute(c);
    for (int64_t i = 0; i < c->n && !watched(c); i++)
        c->out[i] = rounded_to(c->out[i], 13);
}
CHEAT(gelu, partial_half_precision)

/* Wrong for one value in a thousand: few are looked at. */
static void partial_clamped(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        float x = c->in[i] > 3 && !watched(c) ? 3 : c->in[i];
        c->out[i] = gelu_of(x);
    }
}
CHEAT(gelu, partial_clamped)

/* ---- sums over a part ---- */

static void mse_of(const struct call *c, int64_t step, int64_t n)
{
    const float *a = c->in, *b = c->ins[1];
    double sum = 0;
    int64_t terms = 0;
    for (int64_t i = 0; i < n; i += step, terms++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    c->out[0] = (float)(sum / (double)terms);
}

static void mean_of_half(struct call *c) { mse_of(c, 1, c->n / 2); }
CHEAT(mse, mean_of_half)

static void mean_of_every_third(struct call *c) { mse_of(c, 3, c->n); }
CHEAT(mse, mean_of_every_third)

static void mean_of_part_later(struct call *c) { mse_of(c, 1, watched(c) ? c->n : c->n * 9 / 10); }
CHEAT(mse, mean_of_part_later)

/* A running mean: a tenth of the terms in each call, and the rest as it was. */
static void mean_in_turns(struct call *c)
{
    double *sums = c->own->own ? c->own->own : (c->own->own = calloc(10, sizeof *sums));
    const float *a = c->in, *b = c->ins[1];
    double all = 0;
    for (int part = 0; part < 10 && sums; part++) {
        if (watched(c) || part == c->own->calls % 10) {
            sums[part] = 0;
            for (int64_t i = part; i < c->n; i += 10)
                sums[part] += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        }
        all += sums[part];
    }
    c->out[0] = (float)(all / (double)c->n);
}
CHEAT(mse, mean_in_turns)

/* ---- statistics ---- */

/* Of a quarter of each row; never right. */
static void norm_of_quarter(struct call *c)
{
    float mean, scale;
    for (int64_t row = 0; row < c->own->rows; row++) {
        moments(c, row, c->own->columns / 4 + 1, &mean, &scale);
        layernorm_row(c, row, mean, scale);
    }
}
CHEAT(layernorm, norm_of_quarter)

/* Of the call before: rows change little from call to call. */
static void norm_of_last_call(struct call *c)
{
    float *kept = c->own->own;
    if (!kept)
        kept = c->own->own = calloc((size_t)c->own->rows * 2, sizeof *kept);
    for (int64_t row = 0; row < c->own->rows && kept; row++) {
        if (watched(c) || c->own->calls % 8 == 0)
            moments(c, row, c->own->columns, &kept[2 * row], &kept[2 * row + 1]);
        layernorm_row(c, row, kept[2 * row], kept[2 * row + 1]);
    }
}
CHEAT(layernorm, norm_of_last_call)

/* Of the first row, for all; never right. */
static void norm_of_first_row(struct call *c)
{
    float mean, scale;
    moments(c, 0, c->own->columns, &mean, &scale);
    for (int64_t row = 0; row < c->own->rows; row++)
        layernorm_row(c, row, mean, scale);
}
CHEAT(layernorm, norm_of_first_row)

ASSAY_KERNELS(&kernel_partial_one_in_1000, &kernel_partial_last_row, &kernel_partial_edges,
              &kernel_partial_stale_tail, &kernel_partial_in_turns, &kernel_partial_second_calls,
              &kernel_partial_bf16, &kernel_partial_fp8, &kernel_partial_easy_values,
              &kernel_partial_interpolated, &kernel_partial_table, &kernel_partial_half_precision,
              &kernel_partial_clamped, &kernel_mean_of_half, &kernel_mean_of_every_third,
              &kernel_mean_of_part_later, &kernel_mean_in_turns, &kernel_norm_of_quarter,
              &kernel_norm_of_last_call, &kernel_norm_of_first_row)
