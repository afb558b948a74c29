/* twins.h: kernels that are equal, or slower by a known share, for finding out how often assay
 * calls equals different and misses a difference (tests/perf/twins).
 *
 * twins_a.c and twins_b.c make two plug-ins of this text, so that the code of both lies at the same
 * offsets within a page. Each call is timed by the kernel itself and then waits for its share of
 * that time: 0, 1, 2 or 5 %. The equal ones read the clock as often as the others.
 *
 *   OP_twin_a              of twins_a.so
 *   OP_twin_b              of twins_b.so, equal to it
 *   OP_twin_b1 _b2 _b5     1, 2 and 5 % slower
 *
 * of relu, add, softmax and mse. They call no function of another library in their loops: where the
 * loader happens to put it, and what that does to the branch predictor, made copies of one kernel
 * differ by up to 16 % for as long as the process lived. Nor do they branch on their data: copies
 * share a branch predictor, and one had it trained better. The includer defines TWIN, the name's
 * last letter. */
#include <assay/assay_kernel.h>

#include <stdlib.h>
#include <time.h>

struct twin {
    int64_t rows, columns;
    double slower_frac;
};

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void relu(const struct twin *t, const struct assay_args *args)
{
    const float *x = args->in[0];
    float *y = args->out[0];
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        y[i] = (x[i] + __builtin_fabsf(x[i])) * 0.5f; /* no branch on the data */
}

/* e^x for x <= 0, to some units of the last place: 2^n times a series of what is left. */
static inline float exp_of(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    x = x < -87.0f ? -87.0f : x;
    float n = (x * 1.44269504f + magic) - magic;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    union {
        int32_t bits;
        float value;
    } power = {.bits = ((int32_t)n + 127) * (1 << 23)};
    return (p * r * r + r + 1.0f) * power.value;
}

static inline void add(const struct twin *t, const struct assay_args *args)
{
    const float *a = args->in[0], *b = args->in[1];
    float *y = args->out[0];
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        y[i] = a[i] + b[i];
}

static inline void softmax(const struct twin *t, const struct assay_args *args)
{
    for (int64_t r = 0; r < t->rows; r++) {
        const float *x = (const float *)args->in[0] + r * t->columns;
        float *y = (float *)args->out[0] + r * t->columns;
        float most = x[0], sum = 0;
        for (int64_t i = 1; i < t->columns; i++)
            most = x[i] > most ? x[i] : most;
        for (int64_t i = 0; i < t->columns; i++)
            sum += y[i] = exp_of(x[i] - most);
        for (int64_t i = 0; i < t->columns; i++)
            y[i] /= sum;
    }
}

static inline void mse(const struct twin *t, const struct assay_args *args)
{
    const float *a = args->in[0], *b = args->in[1];
    double sum = 0;
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        sum += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    ((float *)args->out[0])[0] = (float)(sum / (double)(t->rows * t->columns));
}

static inline void wait_for_share(const struct twin *t, int64_t start)
{
    int64_t end = clock_ns();
    int64_t until = end + (int64_t)(t->slower_frac * (double)(end - start));
    while (clock_ns() < until)
        ;
}

#define RUN(op)                                                                                    \
    static __attribute__((noinline)) enum assay_status run_##op(void *state,                       \
                                                                const struct assay_work *work)     \
    {                                                                                              \
        const struct twin *t = state;                                                              \
        for (int64_t i = 0; i < work->iters; i++) {                                                \
            int64_t start = clock_ns();                                                            \
            op(t, assay_work_args(work, i));                                                       \
            wait_for_share(t, start);                                                              \
        }                                                                                          \
        return ASSAY_OK;                                                                           \
    }

static enum assay_status setup(const struct assay_problem *problem, double slower_frac,
                               void **state)
{
    const struct assay_tensor *x = &problem->inputs[0];
    struct twin *t = malloc(sizeof *t);
    if (!t)
        return ASSAY_ERR_NOMEM;
    *t = (struct twin){.rows = 1, .columns = x->dims[x->rank - 1], .slower_frac = slower_frac};
    for (int32_t i = 0; i + 1 < x->rank; i++)
        t->rows *= x->dims[i];
    *state = t;
    return ASSAY_OK;
}

#define SETUP(percent)                                                                             \
    static enum assay_status setup_##percent(const struct assay_problem *problem, void **state,    \
                                             struct assay_error *err)                              \
    {                                                                                              \
        (void)err;                                                                                 \
        return setup(problem, percent / 100.0, state);                                             \
    }
SETUP(0)
SETUP(1)
SETUP(2)
SETUP(5)

#define KERNEL(op_, percent, suffix)                                                               \
    static const struct assay_kernel kernel_##op_##_##percent = {                                  \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #op_ "_twin_" TWIN suffix,                                                         \
        .op = #op_,                                                                                \
        .implementation = "twin_" TWIN suffix,                                                     \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup_##percent,                                                                  \
        .run = run_##op_,                                                                          \
        .teardown = free,                                                                          \
    };

#define TWINS(op)                                                                                  \
    RUN(op)                                                                                        \
    KERNEL(op, 0, "")                                                                              \
    KERNEL(op, 1, "1")                                                                             \
    KERNEL(op, 2, "2")                                                                             \
    KERNEL(op, 5, "5")
TWINS(relu)
TWINS(add)
TWINS(softmax)
TWINS(mse)

#define LIST(op) &kernel_##op##_0, &kernel_##op##_1, &kernel_##op##_2, &kernel_##op##_5

const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels);
const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const all[] = {LIST(relu), LIST(add), LIST(softmax),
                                                     LIST(mse)};
    *n_kernels = sizeof all / sizeof all[0];
    return abi == ASSAY_KERNEL_ABI ? all : NULL;
}
