/* wrong_linear_training.c: kernels of `linear_backward` with the float8 recipes of training, in
 * plain loops: one that is right, and others that are right but for one mistake each, the one their
 * name says. Every mistake is one that people make. Modes dx and dw. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum mistake {
    NONE,
    WRONG_DIMENSION, /* scales of rows where those of columns are due, and the other way round */
    WRONG_FORMAT,    /* e4m3 for dY where e5m2 is due */
    NO_SCALE,        /* the scale of dY is not applied to the sums */
    STALE_AMAX,      /* scales are those of the first call */
    TRUNCATED,       /* codes are cut off, not rounded */
};

struct operand {
    float *values; /* of the codes */
    float *scales; /* of each row and then of each column */
    int64_t rows, columns;
};

struct step {
    int64_t m, k, n;
    enum assay_dtype dtype;
    enum mistake mistake;
    bool dx, tensor, called;
    struct operand dy, other; /* W, or x */
};

static float load(enum assay_dtype dtype, const void *data, int64_t i)
{
    float value;
    if (dtype == ASSAY_DTYPE_F32)
        return ((const float *)data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store(enum assay_dtype dtype, void *data, int64_t i, float value)
{
    uint32_t bits;
    if (dtype == ASSAY_DTYPE_F32) {
        ((float *)data)[i] = value;
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    ((uint16_t *)data)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* To `bits` bits behind the first, the smallest step being 2^least. */
static float round_code(float value, int bits, int least, float most, bool cut)
{
    int exponent = value != 0 ? ilogbf(value) - bits : least;
    float unit = ldexpf(1, exponent > least ? exponent : least), steps = value / unit;
    float code = (cut ? truncf(steps) : rintf(steps)) * unit;
    return fabsf(code) > most ? copysignf(most, value) : code;
}

static void find_scales(struct operand *o, const void *data, enum assay_dtype dtype, bool tensor,
                        float most)
{
    int64_t all = o->rows + o->columns;
    memset(o->scales, 0, (size_t)all * sizeof *o->scales);
    for (int64_t i = 0; i < o->rows * o->columns; i++) {
        float size = fabsf(load(dtype, data, i));
        float *row = &o->scales[i / o->columns], *column = &o->scales[o->rows + i % o->columns];
        *row = size > *row ? size : *row;
        *column = size > *column ? size : *column;
    }
    float whole = 0;
    for (int64_t i = 0; i < o->rows; i++)
        whole = o->scales[i] > whole ? o->scales[i] : whole;
    for (int64_t i = 0; i < all; i++)
        o->scales[i] = (tensor ? whole : o->scales[i]) / most;
}

static float scale_at(const struct operand *o, bool by_column, int64_t i)
{
    return o->scales[by_column ? o->rows + i % o->columns : i / o->columns];
}

/* Codes and scales; `by_column`: what is summed over lies in columns. */
static void cast(const struct step *s, struct operand *o, const void *data, bool by_column,
                 bool is_dy)
{
    bool wide = s->tensor && is_dy && s->mistake != WRONG_FORMAT;
    float most = wide ? 57344.0f : 448.0f;
    if (s->mistake == WRONG_DIMENSION)
        by_column = !by_column;
    if (s->mistake != STALE_AMAX || !s->called)
        find_scales(o, data, s->dtype, s->tensor, most);
    for (int64_t i = 0; i < o->rows * o->columns; i++) {
        float inverse = 1.0f / scale_at(o, by_column, i), x = load(s->dtype, data, i);
        float code =
            round_code(x * inverse, wide ? 2 : 3, wide ? -16 : -9, most, s->mistake == TRUNCATED);
        bool scaled = s->mistake != NO_SCALE || !is_dy;
        o->values[i] = code * (scaled ? scale_at(o, by_column, i) : 1);
    }
}

static void compute(struct step *s, const struct assay_args *args)
{
    int64_t rows = s->dx ? s->m : s->n, sum = s->dx ? s->n : s->m;
    cast(s, &s->dy, args->in[0], !s->dx, true);
    cast(s, &s->other, args->in[1], true, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < s->k; j++) {
            double total = 0;
            for (int64_t l = 0; l < sum; l++)
                total += (double)s->dy.values[s->dx ? i * s->n + l : l * s->n + i] *
                         (double)s->other.values[l * s->k + j];
            store(s->dtype, args->out[0], i * s->k + j, (float)total);
        }
    s->called = true;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
}

static bool make(struct operand *o, int64_t rows, int64_t columns)
{
    o->rows = rows;
    o->columns = columns;
    o->values = calloc((size_t)(rows * columns), sizeof *o->values);
    o->scales = calloc((size_t)(rows + columns), sizeof *o->scales);
    return o->values && o->scales;
}

static void teardown(void *state)
{
    struct step *s = state;
    free(s->dy.values);
    free(s->dy.scales);
    free(s->other.values);
    free(s->other.scales);
    free(s);
}

static enum assay_status setup_with(const struct assay_problem *p, enum mistake mistake,
                                    void **state)
{
    struct step *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    *s = (struct step){.m = p->axes[0],
                       .k = p->axes[1],
                       .n = p->axes[2],
                       .dtype = p->dtype,
                       .mistake = mistake,
                       .dx = p->params[1] == 1, /* "only" */
                       .tensor = strcmp(p->recipe, "float8dq-tensor") == 0};
    *state = s;
    if (make(&s->dy, s->m, s->n) && make(&s->other, s->dx ? s->n : s->m, s->k))
        return ASSAY_OK;
    teardown(s);
    return ASSAY_ERR_NOMEM;
}

/* One product, with a recipe; a mistake in the dimension shows in rows alone, one in the format
 * where e5m2 is due. */
static enum assay_status takes(const struct assay_problem *p, enum mistake mistake)
{
    if (!p)
        return ASSAY_OK;
    bool tensor = p->recipe && strcmp(p->recipe, "float8dq-tensor") == 0;
    bool row = p->recipe && strcmp(p->recipe, "float8dq-row") == 0;
    bool shows = mistake == WRONG_DIMENSION ? row
                 : mistake == WRONG_FORMAT  ? tensor
                                            : tensor || row;
    return p->params[1] != 0 && p->n_outputs == 1 && shows ? ASSAY_OK : ASSAY_UNSUPPORTED;
}

#define BACKWARD(ident, mistake_)                                                                  \
    static enum assay_status can_run_##ident(const struct assay_problem *p,                        \
                                             struct assay_error *why)                              \
    {                                                                                              \
        (void)why;                                                                                 \
        return takes(p, mistake_);                                                                 \
    }                                                                                              \
    static enum assay_status setup_##ident(const struct assay_problem *p, void **state,            \
                                           struct assay_error *err)                                \
    {                                                                                              \
        (void)err;                                                                                 \
        return setup_with(p, mistake_, state);                                                     \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "linear_backward",                                                                   \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),            \
        .can_run = can_run_##ident,                                                                \
        .setup = setup_##ident,                                                                    \
        .run = run,                                                                                \
        .teardown = teardown,                                                                      \
    };

BACKWARD(right, NONE)
BACKWARD(wrong_dimension, WRONG_DIMENSION)
BACKWARD(wrong_format, WRONG_FORMAT)
BACKWARD(no_scale, NO_SCALE)
BACKWARD(stale_amax, STALE_AMAX)
BACKWARD(truncated, TRUNCATED)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&kernel_right,        &kernel_wrong_dimension,
                                                      &kernel_wrong_format, &kernel_no_scale,
                                                      &kernel_stale_amax,   &kernel_truncated};
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
