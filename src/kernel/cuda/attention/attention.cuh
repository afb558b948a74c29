// attention.cuh: what the kernels of attention share: where a head's rows lie, tiles of them on
// their way to shared memory, and softmax over keys as they come.
//
// Compile with -DELEMENT=…, -DVECTOR=1 where rows of a head are a multiple of 16 bytes, else 0,
// and -DDIM=…: dim, rounded up to what the kernel takes; the columns added are zeros. -DSAVE=1: what
// the gradient needs of each query is left, too.
#ifndef ASSAY_ATTENTION_CUH
#define ASSAY_ATTENTION_CUH

#include "exp_sum.cuh"
#include "mma.cuh"

// What stays the same in a launch; attention_cuda.c has the same struct.
struct attention_args {
    const element *q, *k, *v; // of the first head
    element *out;
    s64 pitch, out_pitch; // elements from one position of q, k and v, and of out, to the next
    int seq, heads, dim;
    int causal; // 0 or 1
    int batch_heads;
    int blocks;  // of queries of a head
    float scale; // of scores, for exp2: log2(e) / sqrt(dim)
    float *lse;  // with SAVE, [batch, heads, seq]
};

// One head of one batch.
struct head {
    const element *q, *k, *v;
    element *out;
};

DEVICE struct head head_of(const struct attention_args *a, int index)
{
    const s64 first = (s64)(index / a->heads) * a->seq, column = (s64)(index % a->heads) * a->dim;
    const s64 in = first * a->pitch + column;
    return {a->q + in, a->k + in, a->v + in, a->out + first * a->out_pitch + column};
}

// How many keys query `row` sees. Rows beyond the last one see what that one sees.
DEVICE int keys_of(const struct attention_args *a, int row)
{
    return a->causal ? min(row + 1, a->seq) : a->seq;
}

// The logarithm of the sum of exponentials of query `row` of a head, where `mine` to leave: `sum` is
// of powers of two, relative to 2^shift.
DEVICE void save_lse(const struct attention_args *a, int head, int row, float shift, float sum,
                     bool mine)
{
#if SAVE
    if (mine && row < a->seq)
        a->lse[(s64)head * a->seq + row] = (shift + log2f(sum)) * 0.693147181f;
#endif
}

// ---- rows ---------------------------------------------------------------------------------------

#define CHUNK VEC_ELEMENTS // elements of 16 bytes

// CHUNK elements of a row of `dim`, from `column` on; zeros behind the row, or where not `wanted`.
DEVICE uint4 chunk_load(const element *row, int column, int dim, bool wanted)
{
#if VECTOR
    return load_once(row + column, wanted && column < dim, 0);
#else
    float v[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        v[i] = wanted && column + i < dim ? element_get(row[column + i]) : 0.0f;
    return vec_pack(v);
#endif
}

DEVICE void chunk_store(element *row, int column, int dim, bool wanted, uint4 chunk)
{
#if VECTOR
    store_once(row + column, chunk, wanted && column < dim);
#else
    float v[CHUNK];
    vec_unpack(chunk, v);
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        if (wanted && column + i < dim)
            row[column + i] = element_from(v[i]);
#endif
}

// Rows in shared memory are 16 bytes longer than DIM. That is an odd number of 16 bytes, so those
// of 8 rows at the same column lie in different banks.
#define ROW (DIM + CHUNK)
#define ROW_CHUNKS (DIM / CHUNK)

// So many threads take a row, or as many chunks as it has, if that is less.
#define ROW_THREADS                                                                                \
    (ROW_CHUNKS > 32 ? 64 : ROW_CHUNKS > 16 ? 32 : ROW_CHUNKS > 8 ? 16 : ROW_CHUNKS > 4 ? 8 : 4)

// Starts copying ROWS rows, of which `rows` are there, by all THREADS of the block. A thread stays
// in its column, and its pointers go down from row to row: more of them would need registers.
template <int ROWS, int THREADS>
DEVICE void copy_rows(element *to, const element *from, s64 pitch, int rows, int dim)
{
    const int AT_ONCE = THREADS / ROW_THREADS;
    const int column = (int)threadIdx.x % ROW_THREADS * CHUNK;
    int row = (int)threadIdx.x / ROW_THREADS;
    const element *source = from + row * pitch + column;
    element *target = to + row * ROW + column;
    if (column >= DIM)
        return;
#pragma unroll
    for (; row < ROWS; row += AT_ONCE) {
#if VECTOR
        copy_16(target, source, row < rows && column < dim);
#else
        *(uint4 *)target = chunk_load(source - column, column, dim, row < rows);
#endif
        source += AT_ONCE * pitch;
        target += AT_ONCE * ROW;
    }
}

// ---- softmax ------------------------------------------------------------------------------------

// What is known of a query after some of its keys. Exponentials are taken relative to `shift`, the
// greatest score there was when it was last set, scaled. As long as later ones are not greater by
// more than GROWTH it stays, because everything summed up so far would have to be scaled: exp2 of
// GROWTH is far from the end of any type's range, and the shift cancels in the quotient.
#define GROWTH 8.0f

struct online {
    float shift, sum; // of this thread's keys
};

DEVICE struct online online_none(void) { return {-FLOAT_INFINITY, 0.0f}; }

DEVICE bool online_grows(struct online o, float most) { return most > o.shift + GROWTH; }

// Takes `most`, a scaled score, as the new shift if it is greater; returns what earlier sums are to
// be multiplied by.
DEVICE float online_shift(struct online *o, float most)
{
    const float fresh = fmaxf(o->shift, most);
    const float factor = fast_exp2(o->shift - exp_sum_shift(fresh));
    *o = {fresh, o->sum * factor};
    return factor;
}

#endif
