/* attention_amx.h: what the two ways of attention on the matrix unit share.
 *
 * attention_amx.c packs keys and values into tiles and decides: scores that are known to be small
 * go through attention_bounded_vbmi_amx.c, which needs no greatest score; the others stay. */
#ifndef ASSAY_KERNEL_NATIVE_ATTENTION_AMX_H
#define ASSAY_KERNEL_NATIVE_ATTENTION_AMX_H

#include "base/math.h"
#include "device/cpu/cpu_tiles_amx.h"
#include "kernel/native/attention/attention_native.h"
#include "kernel/native/vec/vec_avx512.h"

/* Bytes and rows of a tile; elements of bf16 in one of its rows. */
enum { TILE = 1024, TILE_ROWS = 16, PAIR = 32 };

/* Rows that a pass over the keys works on at once: two tiles. Rows of a call, at most: passes whose
 * scores are bounded follow each other without a gap. */
enum { PASS_ROWS = 2 * TILE_ROWS, CALL_ROWS = 1024 };

static inline int64_t attention_padded_dim(const struct attention_job *job)
{
    return assay_round_up(job->dim, PAIR);
}

/* What the exponent of 2 is, of a score: its scale over ln 2. */
static inline float attention_factor(const struct attention_job *job)
{
    return job->scale * 0x1.715476p0f;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Outputs that are complete, on their way to where they belong. */
struct attention_writer {
    const float *sums; /* [row][padded dim], in the order of the tiles */
    const float *by;   /* [row]: 1 over the sum of the exponentials */
    uint16_t *to;      /* the next row */
    int64_t row, rows; /* the next; how many there are */
    int64_t step;      /* elements from row to row */
    int64_t padded;    /* dim */
    __mmask32 last;    /* of the last 32 elements, those that are there */
    bool stream;       /* by streaming stores: all are there */
};

/* `by` holds PASS_ROWS values: `one` over `totals`, 16 for each row. `one` is 1, or as much more as
 * the totals are too large. */
struct attention_writer attention_writer_of(const struct attention_job *job,
                                            const struct attention_head *head, int64_t row,
                                            int64_t rows, const float *sums, const float *totals,
                                            float one, float *by);

/* Of two tiles' columns, four come from the first, then four from the second. */
VEC_INLINE void attention_write_row(struct attention_writer *w)
{
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const float *sums = w->sums + w->row * w->padded;
    vec by = vec_set(w->by[w->row]);
    for (int64_t d = 0; d < w->padded; d += PAIR) {
        vec a = vec_mul(_mm512_load_ps(sums + d), by);
        vec b = vec_mul(_mm512_load_ps(sums + d + 16), by);
        __m512i y = _mm512_permutexvar_epi64(order, (__m512i)_mm512_cvtne2ps_pbh(b, a));
        if (w->stream)
            _mm512_stream_si512((void *)(w->to + d), y);
        else if (d + PAIR < w->padded)
            _mm512_storeu_si512(w->to + d, y);
        else
            _mm512_mask_storeu_epi16(w->to + d, w->last, y);
    }
    w->to += w->step;
    w->row++;
}

/* ---- scores that are bounded ----------------------------------------------------------------- */

/* Keys are dealt with so many at a time: tiles of keys and values behind the last one are read up
 * to a multiple of it. */
enum { BOUNDED_KEYS = 64 };

size_t attention_bounded_bytes(const struct attention_job *job);

/* What no score, times its factor, is beyond, given the greatest sums of squares of a row of q and
 * of a key; NaN or infinite where one of them is. Up to MOST_BOUND it is small enough. */
enum { MOST_BOUND = 44 };
float attention_bound(const struct attention_job *job, float q_square, float k_square);

/* Computes rows [row, row + rows) from q [pass][32 elements' worth][row][32], of which whole passes
 * can be read. */
void attention_bounded(const struct attention_job *job, const struct attention_head *head,
                       int64_t row, int64_t rows, float bound, const uint16_t *q,
                       const unsigned char *k, const unsigned char *v, void *scratch);

#endif
