/* partial.c: losses that leave out a part of the work, divided by all of it or by what they
 * counted, and honest ones that sum in different orders. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdlib.h>

struct loss {
    int64_t terms,
        row; /* of mse: elements and those of a row; of cross entropy: rows and classes */
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct loss *l = calloc(1, sizeof *l);
    if (!l)
        return ASSAY_ERR_NOMEM;
    l->row = problem->axes[2];
    l->terms = problem->axes[0] * problem->axes[1];
    if (problem->op[0] == 'm')
        l->terms *= l->row;
    *state = l;
    return ASSAY_OK;
}

static double mse_term(const struct loss *l, const struct assay_args *args, int64_t i)
{
    (void)l;
    const float *x = args->in[0], *y = args->in[1];
    return ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
}

static double ce_term(const struct loss *l, const struct assay_args *args, int64_t i)
{
    const float *x = (const float *)args->in[0] + i * l->row;
    const int32_t *classes = args->in[1];
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < l->row; j++)
        max = (double)x[j] > max ? (double)x[j] : max;
    for (int64_t j = 0; j < l->row; j++)
        sum += exp((double)x[j] - max);
    return log(sum) + max - (double)x[classes[i]];
}

typedef double (*term_fn)(const struct loss *, const struct assay_args *, int64_t);
typedef int (*skip_fn)(const struct loss *, int64_t);

static void partial(const struct loss *l, const struct assay_args *args, term_fn term, skip_fn skip,
                    int over_counted)
{
    double sum = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < l->terms; i++)
        if (!skip(l, i)) {
            sum += term(l, args, i);
            counted++;
        }
    *(float *)args->out[0] = (float)(sum / (double)(over_counted ? counted : l->terms));
}

/* A kernel around a body that sees `l` and `args`. */
#define KERNEL(ident, op_, ...)                                                                    \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        const struct loss *l = state;                                                              \
        for (int64_t k = 0; k < work->iters; k++) {                                                \
            const struct assay_args *args = assay_work_args(work, k);                              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #op_ "_" #ident,                                                                   \
        .op = #op_,                                                                                \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = free,                                                                          \
    };
/* Kernels ident (divided by all) and ident_counted. */
#define PARTIAL(ident, op_, term_, skipped)                                                        \
    static int skip_##ident(const struct loss *l, int64_t i)                                       \
    {                                                                                              \
        (void)l;                                                                                   \
        return skipped;                                                                            \
    }                                                                                              \
    KERNEL(ident, op_, partial(l, args, term_, skip_##ident, 0);)                                  \
    KERNEL(ident##_counted, op_, partial(l, args, term_, skip_##ident, 1);)

PARTIAL(last_fifth, mse, mse_term, i >= l->terms - l->terms / 5)
PARTIAL(first_fifth, mse, mse_term, i < l->terms / 5)
PARTIAL(every_fifth, mse, mse_term, i % 5 == 3)
PARTIAL(last_thirtieth, mse, mse_term, i >= l->terms - l->terms / 30)
PARTIAL(row_in_thirty, mse, mse_term, i / l->row % 30 == 17)
PARTIAL(row_0_of_30, cross_entropy, ce_term, i % 30 == 0)
PARTIAL(row_11_of_30, cross_entropy, ce_term, i % 30 == 11)
PARTIAL(row_29_of_30, cross_entropy, ce_term, i % 30 == 29)
PARTIAL(last_rows, cross_entropy, ce_term, i >= l->terms - l->terms / 30)
PARTIAL(first_rows, cross_entropy, ce_term, i < l->terms / 30)

/* ---- honest ones, in f32 ---- */

static float square(const struct assay_args *args, int64_t i)
{
    float difference = ((const float *)args->in[0])[i] - ((const float *)args->in[1])[i];
    return difference * difference;
}

static float in_order(const struct assay_args *args, int64_t first, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += square(args, first + i);
    return sum;
}

static float in_blocks(const struct assay_args *args, int64_t n)
{
    float sum = 0;
    for (int64_t at = 0; at < n; at += 1024)
        sum += in_order(args, at, n - at < 1024 ? n - at : 1024);
    return sum;
}

static float in_pairs(const struct assay_args *args, int64_t first, int64_t n)
{
    if (n <= 8)
        return in_order(args, first, n);
    return in_pairs(args, first, n / 2) + in_pairs(args, first + n / 2, n - n / 2);
}

static float in_lanes(const struct assay_args *args, int64_t n)
{
    float lanes[16] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++)
        lanes[i % 16] += square(args, i);
    for (int i = 0; i < 16; i++)
        sum += lanes[i];
    return sum;
}

#define HONEST(ident, sum) KERNEL(ident, mse, *(float *)args->out[0] = (sum) / (float)l->terms;)
HONEST(in_order, in_order(args, 0, l->terms))
HONEST(in_blocks, in_blocks(args, l->terms))
HONEST(in_pairs, in_pairs(args, 0, l->terms))
HONEST(in_lanes, in_lanes(args, l->terms))

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_last_fifth,     &kernel_last_fifth_counted,
        &kernel_first_fifth,    &kernel_first_fifth_counted,
        &kernel_every_fifth,    &kernel_every_fifth_counted,
        &kernel_last_thirtieth, &kernel_last_thirtieth_counted,
        &kernel_row_in_thirty,  &kernel_row_in_thirty_counted,
        &kernel_row_0_of_30,    &kernel_row_0_of_30_counted,
        &kernel_row_11_of_30,   &kernel_row_11_of_30_counted,
        &kernel_row_29_of_30,   &kernel_row_29_of_30_counted,
        &kernel_last_rows,      &kernel_last_rows_counted,
        &kernel_first_rows,     &kernel_first_rows_counted,
        &kernel_in_order,       &kernel_in_blocks,
        &kernel_in_pairs,       &kernel_in_lanes,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
