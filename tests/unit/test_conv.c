/* test_conv.c: the op `conv2d`: its reference against values worked out by hand and against a plain
 * loop that goes the other way round, from pixels to windows; its modes and cost; then every kernel
 * that can run here, over awkward shapes and values; and mistakes that the check must refuse. */
#include "contender.h"

#include "bench/verify.h"
#include "op/conv.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static assay_kernel_registry *registry;
static const struct assay_op *op;
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};

struct shape {
    int64_t axes[7]; /* batch, height, width, in, out, kernel, stride */
    const char *mode;
};

static struct assay_problem problem_of(enum assay_dtype dtype, const struct shape *s)
{
    struct assay_problem p;
    struct assay_error err = {0};
    if (assay_op_problem(op, dtype, s->mode, s->axes, 1, &p, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return p;
}

/* ---- the op ---------------------------------------------------------------------------------- */

static void expect(const struct shape *s, const void *const *in, const double *want, int64_t n)
{
    struct assay_problem p = problem_of(ASSAY_DTYPE_F64, s);
    int64_t length = assay_op_row_length(&p);
    assert_int_equal(assay_tensor_count(&p.outputs[0]), n);
    for (int64_t row = 0; row < n / length; row++)
        for (int64_t first = 0; first < length; first++) {
            double out[8];
            op->reference(&p, in, row, first, length - first, out);
            for (int64_t i = first; i < length; i++)
                assert_near(out[i - first], want[row * length + i], 1e-12);
        }
}

/* 1 2 3     1 10      Each window of 2 x 2 as a number whose digits are its pixels, from the last
 * 4 5 6  *  100 1000  to the first. Padding is 0.
 * 7 8 9                                            */
static void the_reference_gives_the_worked_values(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[] = {1, 10, 100, 1000};
    const void *in[] = {x, w};
    expect(&(struct shape){{1, 3, 3, 1, 1, 2, 1}, "pad0"}, in,
           (const double[]){5421, 6532, 8754, 9865}, 4);
    expect(&(struct shape){{1, 3, 3, 1, 1, 2, 2}, "pad0"}, in, (const double[]){5421}, 1);
    expect(&(struct shape){{1, 3, 3, 1, 1, 2, 1}, "pad1"}, in,
           (const double[]){1000, 2100, 3200, 300, 4010, 5421, 6532, 603, 7040, 8754, 9865, 906, 70,
                            87, 98, 9},
           16);
    expect(&(struct shape){{1, 3, 3, 1, 1, 2, 3}, "pad1"}, in, (const double[]){1000, 300, 70, 9},
           4);
}

/* Two images of one row of two pixels of two channels; two filters of 1 x 1; bias and residual. */
static void the_reference_sums_channels_last(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, w[] = {1, 10, 100, 1000};
    const double bias[] = {0.25, 0.5}, residual[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const void *in[] = {x, w, bias, residual};
    expect(&(struct shape){{2, 1, 2, 2, 2, 1, 1}, "bias+add"}, in,
           (const double[]){22.25, 2102.5, 46.25, 4304.5, 70.25, 6506.5, 94.25, 8708.5}, 8);
    const void *without_bias[] = {x, w, residual};
    expect(&(struct shape){{2, 1, 2, 2, 2, 1, 2}, "add"}, without_bias,
           (const double[]){22, 2102, 68, 6504}, 4);
}

static void modes_say_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int64_t pad;
        int32_t bias, residual;
    } modes[] = {{NULL, 2, -1, -1},     {"", 2, -1, -1},        {"none", 2, -1, -1},
                 {"pad0", 0, -1, -1},   {"bias", 2, 2, -1},     {"add", 2, -1, 2},
                 {"add+bias", 2, 2, 3}, {"pad3+bias", 3, 2, -1}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct shape s = {{2, 11, 9, 3, 4, 5, 2}, modes[i].mode};
        struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, &s);
        struct assay_conv c = assay_conv_of(&p);
        assert_int_equal(c.pad, modes[i].pad);
        assert_int_equal(c.bias, modes[i].bias);
        assert_int_equal(c.residual, modes[i].residual);
        assert_int_equal(p.n_inputs, 2 + (c.bias >= 0) + (c.residual >= 0));
        assert_int_equal(p.outputs[0].dims[1], (11 + 2 * c.pad - 5) / 2 + 1);
        assert_int_equal(p.outputs[0].dims[2], (9 + 2 * c.pad - 5) / 2 + 1);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        const char *says;
    } wrong[] = {
        {{{1, 5, 5, 1, 1, 3, 1}, "pad3"}, "less than the kernel"},
        {{{1, 2, 9, 1, 1, 3, 1}, "pad0"}, "does not fit"},
        {{{1, 5, 5, 1, 1, 3, 1}, "pad"}, "unknown mode"},
        {{{1, 5, 5, 1, 1, 3, 1}, "bias+bias"}, "unknown mode"},
        {{{1, 5, 5, 1, 1, 3, 1}, "pad1+pad1"}, "unknown mode"},
        {{{1, 5, 5, 1, 1, 3, 1}, "relu"}, "unknown mode"},
        {{{1, 5, 5, INT64_C(1) << 31, 1, 3, 1}, ""}, "too large"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, wrong[i].shape.mode,
                                          wrong[i].shape.axes, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, wrong[i].says));
    }
}

/* 2 images of 4 x 3 pixels, 5 filters over 3 * 3 * 7 elements. */
static void it_costs_a_product_for_each_tap(void **state)
{
    (void)state;
    struct shape s = {{2, 4, 3, 7, 5, 3, 1}, "bias"};
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, &s);
    struct assay_cost cost = op->cost(&p);
    assert_near(cost.flops, 2.0 * 24 * 5 * 63, 0);
    assert_near(cost.bytes_read, 2 * (2 * 12 * 7 + 5 * 63 + 5), 0);
    assert_near(cost.bytes_written, 2 * 24 * 5, 0);
    assert_near(cost.weight_bytes, 2 * 5 * 63, 0);
    assert_int_equal(cost.math, ASSAY_MATH_BF16);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

enum mistake {
    NONE,
    TAPS_TURNED,      /* kernel rows and columns exchanged */
    TAPS_MIRRORED,    /* the filter of the mathematicians */
    LAST_TAP_MISSING, /* one product of each sum */
    CHANNELS_FIRST,   /* W read as [out, in, kernel, kernel] */
    OUT_AND_IN,       /* W of the next filter */
    PADDED_WITH_EDGE, /* the image's edge repeated instead of zeros */
    SHIFTED,          /* padding before the image forgotten: windows one pixel too far */
    NO_BIAS,
    NO_RESIDUAL,
    OTHER_IMAGE, /* the next of the batch */
    MISTAKES
};

static int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* Where W has the tap (ky, kx) of filter o and channel i. */
static int64_t tap(const struct assay_conv *c, int64_t o, int64_t ky, int64_t kx, int64_t i,
                   enum mistake mistake)
{
    int64_t k = c->kernel;
    if (mistake == TAPS_TURNED)
        return ((o * k + kx) * k + ky) * c->in + i;
    if (mistake == TAPS_MIRRORED)
        return ((o * k + k - 1 - ky) * k + k - 1 - kx) * c->in + i;
    if (mistake == CHANNELS_FIRST)
        return ((o * c->in + i) * k + ky) * k + kx;
    if (mistake == OUT_AND_IN)
        o = (o + 1) % c->out;
    return ((o * k + ky) * k + kx) * c->in + i;
}

/* Adds what the pixel (y, x) of image b, or of the padding, gives to the windows that have it as
 * tap (ky, kx). */
static void scatter(const struct assay_problem *p, const void *const *in, const int64_t at[5],
                    enum mistake mistake, double *out)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t b = at[0], y = at[1], x = at[2], ky = at[3], kx = at[4];
    int64_t shift = mistake == SHIFTED ? 1 : 0;
    int64_t oy = y + c.pad - shift - ky, ox = x + c.pad - shift - kx;
    bool outside = y < 0 || x < 0 || y >= c.height || x >= c.width;
    if (oy < 0 || ox < 0 || oy % c.stride || ox % c.stride || oy / c.stride >= c.out_height ||
        ox / c.stride >= c.out_width || (outside && mistake != PADDED_WITH_EDGE))
        return;
    int64_t image = mistake == OTHER_IMAGE ? (b + 1) % c.batch : b;
    int64_t from = ((image * c.height + clamp(y, c.height)) * c.width + clamp(x, c.width)) * c.in;
    int64_t to = ((b * c.out_height + oy / c.stride) * c.out_width + ox / c.stride) * c.out;
    for (int64_t o = 0; o < c.out; o++)
        for (int64_t i = 0; i < c.in; i++) {
            bool last = i == c.in - 1 && kx == c.kernel - 1 && ky == c.kernel - 1;
            if (last && mistake == LAST_TAP_MISSING)
                continue;
            out[to + o] += element(p->dtype, in[ASSAY_CONV_X], from + i) *
                           element(p->dtype, in[ASSAY_CONV_W], tap(&c, o, ky, kx, i, mistake));
        }
}

/* The whole output, in double. */
static double *plain(const struct assay_problem *p, const void *const *in, enum mistake mistake)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t count = assay_tensor_count(&p->outputs[0]), pad = c.pad;
    double *out = assay_calloc((size_t)count, sizeof *out);
    assert_non_null(out);
    for (int64_t b = 0; b < c.batch; b++)
        for (int64_t y = -pad; y < c.height + pad; y++)
            for (int64_t x = -pad; x < c.width + pad; x++)
                for (int64_t k = 0; k < c.kernel * c.kernel; k++) {
                    const int64_t at[] = {b, y, x, k / c.kernel, k % c.kernel};
                    scatter(p, in, at, mistake, out);
                }
    for (int64_t i = 0; i < count; i++) {
        if (c.bias >= 0 && mistake != NO_BIAS)
            out[i] += element(p->dtype, in[c.bias], i % c.out);
        if (c.residual >= 0 && mistake != NO_RESIDUAL)
            out[i] += element(p->dtype, in[c.residual], i);
    }
    return out;
}

static void the_reference_agrees_with_a_plain_loop(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {{2, 5, 7, 3, 4, 3, 1}, ""},         {{1, 6, 4, 2, 3, 2, 2}, "pad1"},
        {{1, 9, 8, 1, 2, 5, 3}, "pad4+add"}, {{3, 1, 1, 5, 2, 3, 1}, "bias"},
        {{1, 2, 3, 2, 2, 7, 1}, "bias+add"}, {{2, 4, 4, 3, 5, 1, 2}, "bias"},
        {{1, 300, 1, 1, 1, 3, 7}, ""},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, &shapes[s]);
        struct operands o;
        make_operands(op, &p, s + 1, &o);
        double *want = plain(&p, o.in, NONE), got[8];
        int64_t length = assay_op_row_length(&p);
        for (int64_t row = 0; row < assay_op_rows(&p); row++) {
            op->reference(&p, o.in, row, 0, length, got);
            for (int64_t i = 0; i < length; i++)
                assert_near(got[i], want[row * length + i], 1e-12);
        }
        assay_free(want);
        free_operands(&o);
    }
}

static assay_reference *reference_of(const struct assay_problem *p, const struct operands *o)
{
    assay_reference *reference = NULL;
    struct assay_reference_how how = {.seed = 3, .most = ASSAY_VERIFY_MOST};
    assert_int_equal(assay_reference_create(op, p, o->in, &how, &reference, NULL), ASSAY_OK);
    return reference;
}

/* The right output passes, in every dtype, and no wrong one does. */
static void mistakes_are_refused(void **state)
{
    (void)state;
    static const struct shape shape = {{2, 6, 5, 9, 6, 3, 1}, "bias+add"};
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], &shape);
        struct operands o;
        make_operands(op, &p, 7, &o);
        assay_reference *reference = reference_of(&p, &o);
        assert_int_equal(assay_reference_controls(reference, NULL), ASSAY_OK);
        for (int mistake = NONE; mistake < MISTAKES; mistake++) {
            struct assay_comparison c;
            double *values = plain(&p, o.in, (enum mistake)mistake);
            assay_dtype_store(p.dtype, values, o.out[0], 0, assay_tensor_count(&p.outputs[0]));
            assay_free(values);
            assay_reference_compare(reference, o.out[0], &c);
            if ((c.mismatches == 0) != (mistake == NONE))
                fail_msg("%s: mistake %d has %lld mismatches", assay_dtype_name(dtypes[d]), mistake,
                         (long long)c.mismatches);
        }
        assay_reference_destroy(reference);
        free_operands(&o);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->op, "conv2d") == 0 && strcmp(kernel->device, "cpu") == 0 &&
           is_looked_at(kernel->name) && !is_large_ref(kernel, p) &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                const struct assay_work *work)
{
    void *own = NULL;
    struct assay_error err = {0};
    if (kernel->setup(p, &own, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    prepare_sets(kernel, own, work->sets, (int)work->n_sets);
    assert_int_equal(kernel->run(own, work), ASSAY_OK);
    kernel->teardown(own);
}

static void check(const struct assay_kernel *kernel, const struct assay_problem *p,
                  const assay_reference *reference, const void *out, const char *what)
{
    struct assay_comparison c;
    const int64_t *a = p->axes;
    assay_reference_compare(reference, out, &c);
    if (c.mismatches)
        fail_msg("%s %s %lldx%lldx%lldx%lldx%lldx%lldx%lld pad %g bias %g add %g, %d threads, %s: "
                 "%lld of %lld wrong; element %lld is %.9g, should be %.9g",
                 kernel->name, assay_dtype_name(p->dtype), (long long)a[0], (long long)a[1],
                 (long long)a[2], (long long)a[3], (long long)a[4], (long long)a[5],
                 (long long)a[6], p->params[ASSAY_CONV_PAD], p->params[ASSAY_CONV_BIAS],
                 p->params[ASSAY_CONV_ADD], p->threads, what, (long long)c.mismatches,
                 (long long)c.compared, (long long)c.first_mismatch, c.first_got, c.first_ref);
}

/* Every kernel with 1 … most threads, on what the operands hold; guards and inputs stay. */
static void every_kernel(struct assay_problem *p, struct operands *o, int32_t most,
                         const char *what)
{
    assay_reference *reference = reference_of(p, o);
    uint64_t checksum[ASSAY_MAX_INPUTS];
    for (int32_t i = 0; i < p->n_inputs; i++)
        checksum[i] = assay_tensor_checksum(o->in[i], assay_tensor_bytes(&p->inputs[i]));
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (p->threads = 1; p->threads <= most && takes(kernel, p); p->threads++) {
            struct assay_args args = {.in = o->in, .out = o->out};
            struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
            memset(o->out[0], 0xff, assay_tensor_bytes(&p->outputs[0]));
            run(kernel, p, &work);
            check(kernel, p, reference, o->out[0], what);
        }
    }
    p->threads = 1;
    for (int32_t i = 0; i < p->n_inputs; i++)
        assert_true(checksum[i] ==
                    assay_tensor_checksum(o->in[i], assay_tensor_bytes(&p->inputs[i])));
    assay_reference_destroy(reference);
}

static void every_dtype(const struct shape *shape, int32_t threads)
{
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], shape);
        struct operands o;
        if (left_out(threads))
            continue;
        make_operands(op, &p, (uint64_t)(shape->axes[1] * 1000 + shape->axes[4]), &o);
        every_kernel(&p, &o, threads, "filled");
        free_operands(&o);
    }
}

/* All kernels, strides and numbers of channels, each pair of them at least once; the image has 7 to
 * 9 rows. */
static void kernels_agree_on_awkward_shapes(void **state)
{
    (void)state;
    static const int64_t kernels[] = {1, 2, 3, 5, 7}, channels[] = {1, 3, 17, 64, 130};
    static const char *const modes[] = {"", "bias", "pad0", "add", "bias+add"};
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < 5; i++) {
            int o = (i + k) % 5, stride = (i + 2 * k) % 3 + 1;
            struct shape shape = {
                {i % 3 + 1, 7 + k % 2, 8 + i % 2, channels[i], channels[o], kernels[k], stride},
                modes[(i + 2 * k) % 5]};
            every_dtype(&shape, (i + k) % 3 + 1);
        }
}

/* Padding of every width; images smaller than the kernel; one pixel; many rows and columns. */
static void kernels_agree_at_the_edges(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {{3, 2, 2, 64, 17, 3, 1}, ""},       {{1, 1, 1, 32, 3, 5, 1}, "bias"},
        {{2, 1, 1, 3, 16, 3, 1}, "add"},     {{1, 3, 2, 16, 17, 7, 1}, "pad6"},
        {{1, 4, 5, 32, 33, 3, 1}, "pad2"},   {{1, 5, 5, 32, 16, 5, 2}, "pad4+bias"},
        {{2, 9, 33, 32, 32, 3, 1}, "pad0"},  {{1, 3, 200, 16, 16, 3, 1}, "pad1"},
        {{3, 11, 13, 32, 48, 3, 2}, "bias"}, {{1, 40, 7, 64, 64, 3, 3}, "pad1+bias+add"},
        {{1, 13, 13, 96, 40, 2, 1}, "pad1"}, {{2, 10, 10, 48, 64, 1, 3}, "bias+add"},
        {{3, 9, 9, 64, 64, 1, 1}, "add"},    {{1, 10, 40, 64, 48, 3, 1}, "bias"},
        {{1, 9, 80, 32, 40, 3, 2}, ""},      {{2, 7, 50, 32, 33, 2, 1}, "pad1+add"},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        every_dtype(&shapes[s], (int32_t)s % 3 + 1);
}

/* Long sums and enough rows that a part is cut: slices of k, bands of rows. */
static void kernels_agree_on_large_ones(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{{1, 20, 20, 256, 48, 3, 1}, "bias"},
                                          {{1, 24, 24, 512, 40, 3, 1}, "add"}};
    every_dtype(&shapes[0], 2);
    every_dtype(&shapes[1], 1);
}

static void put(const struct assay_problem *p, const struct operands *o, int64_t at, double value)
{
    assay_dtype_store(p->dtype, &value, (void *)(uintptr_t)o->in[ASSAY_CONV_X], at, 1);
}

/* Only windows that contain it become NaN or infinite: the first pixel, one at the right edge, one
 * in the middle, the last. */
static void unusual_values_stay_in_their_windows(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{{2, 8, 9, 17, 20, 3, 1}, ""},
                                          {{2, 8, 9, 32, 20, 3, 1}, "bias"},
                                          {{2, 8, 9, 64, 20, 2, 2}, "pad1+add"},
                                          {{2, 8, 9, 32, 20, 1, 2}, ""}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int d = 0; d < 3; d++) {
            struct assay_problem p = problem_of(dtypes[d], &shapes[s]);
            int64_t in = p.axes[ASSAY_CONV2D_IN], places[] = {0, 8, 72 + 40, 143};
            struct operands o;
            make_operands(op, &p, 5, &o);
            for (int i = 0; i < 4; i++)
                put(&p, &o, places[i] * in + i, i % 2 ? (double)INFINITY : (double)NAN);
            every_kernel(&p, &o, 2, "NaN and infinity");
            free_operands(&o);
        }
}

/* Three sets, seven calls: every set gets its own output. The weights are the same in all. */
static void sets_rotate(void **state)
{
    (void)state;
    static const struct shape shape = {{2, 6, 6, 32, 33, 3, 1}, "bias+add"};
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], &shape);
        struct operands o[3];
        struct assay_args sets[3];
        assay_reference *reference[3];
        for (int i = 0; i < 3; i++) {
            make_operands(op, &p, (uint64_t)i + 1, &o[i]);
            memcpy(o[i].base[ASSAY_CONV_W] + GUARD, o[0].in[ASSAY_CONV_W],
                   assay_tensor_bytes(&p.inputs[ASSAY_CONV_W]));
            sets[i] = (struct assay_args){.in = o[i].in, .out = o[i].out};
            reference[i] = reference_of(&p, &o[i]);
        }
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            if (!takes(kernel, &p))
                continue;
            for (int k = 0; k < 3; k++)
                memset(o[k].out[0], 0xff, assay_tensor_bytes(&p.outputs[0]));
            struct assay_work work = {.iters = 7, .first = 1, .n_sets = 3, .sets = sets};
            run(kernel, &p, &work);
            for (int k = 0; k < 3; k++)
                check(kernel, &p, reference[k], o[k].out[0], "one of three sets");
        }
        for (int i = 0; i < 3; i++) {
            assay_reference_destroy(reference[i]);
            free_operands(&o[i]);
        }
    }
}

static void setup_without_memory_is_an_error(void **state)
{
    (void)state;
    static const struct shape shape = {{1, 6, 6, 32, 33, 3, 1}, "bias+add"};
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, &shape);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        enum assay_status status = ASSAY_ERR_NOMEM;
        if (!takes(kernel, &p))
            continue;
        for (int64_t nth = 1; status != ASSAY_OK; nth++) {
            void *own = NULL;
            assay_alloc_fail_after(nth);
            status = kernel->setup(&p, &own, NULL);
            assay_alloc_fail_after(0);
            if (status == ASSAY_OK)
                kernel->teardown(own);
            else
                assert_int_equal(status, ASSAY_ERR_NOMEM);
            assert_true(nth < 50);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_gives_the_worked_values),
        cmocka_unit_test(the_reference_sums_channels_last),
        cmocka_unit_test(the_reference_agrees_with_a_plain_loop),
        cmocka_unit_test(modes_say_what_there_is),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(it_costs_a_product_for_each_tap),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(kernels_agree_on_awkward_shapes),
        cmocka_unit_test(kernels_agree_at_the_edges),
        cmocka_unit_test(kernels_agree_on_large_ones),
        cmocka_unit_test(unusual_values_stay_in_their_windows),
        cmocka_unit_test(sets_rotate),
        cmocka_unit_test(setup_without_memory_is_an_error),
    };
    op = assay_op_find("conv2d");
    omp_set_num_threads(1); /* of the references; kernels say how many they want */
    registry = assay_kernel_registry_create();
    int failed = cmocka_run_group_tests_name("conv2d", tests, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
