/* benchmark_twice.c: the benchmark of the repository that tools/sweep-failures measures. */
#include <assay/assay_kernel.h>

enum { ROWS = 7, COLUMNS = 33 };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_count_flops(s, ROWS * COLUMNS);
}

static int twice(const assay_call *call)
{
    const float *x = (const float *)call->in[0];
    float *out = (float *)call->out[0];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i] = 2 * x[i];
    return 0;
}

static int verify(const assay_call *call)
{
    const float *x = (const float *)call->in[0];
    float *out = (float *)call->out[0];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i] = x[i] + x[i];
    return 0;
}

ASSAY_BENCHMARK(Twice, 7, setup, {"small", twice, verify}, {"alone", twice})
