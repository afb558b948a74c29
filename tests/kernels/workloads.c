/* workloads.c: benchmarks for test_workload.c: what they declare is checked to the digit. */
#include <assay/assay_kernel.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 5 };

static int taken_down; /* state is taken down as often as it was set up */

static void fill_threes(const struct assay_tensor *tensor, void *data, int64_t count, uint64_t seed)
{
    (void)tensor, (void)seed;
    for (int64_t i = 0; i < count; i++)
        ((float *)data)[i] = 3;
}

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_input(s, "threes", ASSAY_DTYPE_F32, COLUMNS);
    assay_fill_with(s, fill_threes);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "sums", ASSAY_DTYPE_F32, ROWS);
    assay_count_flops(s, 30);
    s->state = malloc(1);
}

static void teardown(void *state)
{
    taken_down++;
    free(state);
}

/* out = x * 3, sums over its rows. */
static int scale(const assay_call *call)
{
    const float *x = (const float *)call->in[0], *threes = (const float *)call->in[1];
    float *out = (float *)call->out[0], *sums = (float *)call->out[1];
    memset(sums, 0, ROWS * sizeof *sums);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        out[i] = x[i] * threes[i % COLUMNS];
        sums[i / COLUMNS] += out[i];
    }
    return call->state ? 0 : 1;
}

static int says_41(const assay_call *call) { return (void)call, 41; }

static void counted(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_BF16, 2, 8);
    assay_output(s, "out", ASSAY_DTYPE_S8, 2, 8);
    assay_count_bytes(s, 96);
    assay_tolerate(s, 0.5, 0.25);
}

static void too_many(assay_setup *s)
{
    for (int i = 0; i <= ASSAY_MAX_OUTPUTS; i++)
        assay_output(s, "out", ASSAY_DTYPE_F32, 1);
}

static void no_size(assay_setup *s) { assay_output(s, "out", ASSAY_DTYPE_F32, 4, -1); }
static void no_dtype(assay_setup *s) { assay_output(s, "out", (enum assay_dtype)77, 4); }

ASSAY_BENCHMARK(Scaled, 11, setup, {"both", scale, scale, NULL, teardown},
                {"alone", scale, NULL, NULL, teardown},
                {"host", scale, scale, NULL, teardown, ASSAY_WORKLOAD_VERIFY_ON_HOST},
                {"fails", says_41, says_41, NULL, teardown}, {"counted", says_41, NULL, counted})
ASSAY_BENCHMARK(Refused, 0, too_many, {"too_many", scale}, {"no_size", scale, NULL, no_size},
                {"no_dtype", scale, NULL, no_dtype})
