/* test_images.c: the kernels of depthwise_conv2d, groupnorm and swiglu that can run here against
 * the ops' references, over awkward shapes and values; and mistakes that the check must refuse. */
#include "contender.h"

#include "bench/verify.h"
#include "op/conv.h"
#include "op/groupnorm.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static assay_kernel_registry *registry;
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0], MOST_COMPARED = 200000 };

#define AXES(...)                                                                                  \
    (const int64_t[ASSAY_MAX_AXES]) { __VA_ARGS__ }

static bool make_problem(const char *op, enum assay_dtype dtype, const char *mode,
                         const int64_t *axes, struct assay_problem *p)
{
    return assay_op_problem(assay_op_find(op), dtype, mode, axes, 1, p, NULL) == ASSAY_OK;
}

static struct assay_problem problem_of(const char *op, enum assay_dtype dtype, const char *mode,
                                       const int64_t *axes)
{
    struct assay_problem p;
    assert_true(make_problem(op, dtype, mode, axes, &p));
    return p;
}

/* ---- running and comparing ------------------------------------------------------------------- */

enum { LIBRARIES = !HAVE_ASAN }; /* see test_kernels.c */

static bool is_native(const struct assay_kernel *kernel)
{
    return strcmp(kernel->implementation, "native") == 0;
}

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p, bool libraries)
{
    return strcmp(kernel->op, p->op) == 0 && strcmp(kernel->device, "cpu") == 0 &&
           (is_native(kernel) || (libraries && LIBRARIES)) && !is_large_ref(kernel, p) &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static assay_reference *reference_of(const struct assay_problem *p, const struct operands *o,
                                     bool exact)
{
    struct assay_reference_how how = {
        .seed = 3, .most = MOST_COMPARED, .integers = exact, .exact = exact};
    assay_reference *reference = NULL;
    assert_int_equal(assay_reference_create(assay_op_find(p->op), p, o->in, &how, &reference, NULL),
                     ASSAY_OK);
    return reference;
}

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                const struct assay_work *work)
{
    void *state = NULL;
    struct assay_error err = {0};
    if (kernel->setup(p, &state, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    for (int64_t set = 0; set < work->n_sets && kernel->prepare; set++)
        assert_int_equal(kernel->prepare(state, set, &work->sets[set], &err), ASSAY_OK);
    assert_int_equal(kernel->run(state, work), ASSAY_OK);
    if (kernel->teardown)
        kernel->teardown(state);
}

static void check(const struct assay_kernel *kernel, const struct assay_problem *p,
                  const assay_reference *reference, const void *got, const char *what)
{
    struct assay_comparison c;
    assay_reference_compare(reference, got, &c);
    if (c.mismatches)
        fail_msg("%s %s %lldx%lldx%lldx%lldx%lldx%lld, pad %g, %d threads, %s: %lld of %lld wrong; "
                 "element %lld is %.9g, should be %.9g",
                 kernel->name, assay_dtype_name(p->dtype), (long long)p->axes[0],
                 (long long)p->axes[1], (long long)p->axes[2], (long long)p->axes[3],
                 (long long)p->axes[4], (long long)p->axes[5], p->params[0], p->threads, what,
                 (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                 c.first_got, c.first_ref);
}

static void run_once(const struct assay_kernel *kernel, const struct assay_problem *p,
                     struct operands *o)
{
    struct assay_args args = {.in = o->in, .out = o->out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    memset(o->out[0], 0xff, assay_tensor_bytes(&p->outputs[0])); /* NaN: what nobody writes shows */
    run(kernel, p, &work);
}

/* Every kernel with 1 … `threads` threads on these operands, which stay as they are. */
static void every_kernel(struct assay_problem *p, struct operands *o, int32_t threads, bool exact,
                         bool libraries, const char *what)
{
    assay_reference *reference = reference_of(p, o, exact);
    uint64_t checksum[ASSAY_MAX_INPUTS];
    int ran = 0;
    for (int32_t i = 0; i < p->n_inputs; i++)
        checksum[i] = assay_tensor_checksum(o->in[i], assay_tensor_bytes(&p->inputs[i]));
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (p->threads = 1; p->threads <= threads && takes(kernel, p, libraries); p->threads++) {
            run_once(kernel, p, o);
            check(kernel, p, reference, o->out[0], what);
            ran++;
        }
    }
    p->threads = 1;
    assert_true(ran > 0);
    for (int32_t i = 0; i < p->n_inputs; i++)
        assert_true(checksum[i] ==
                    assay_tensor_checksum(o->in[i], assay_tensor_bytes(&p->inputs[i])));
    assay_reference_destroy(reference);
}

static void filled(struct assay_problem p, int32_t threads)
{
    struct operands o;
    if (left_out(threads))
        return;
    make_operands(assay_op_find(p.op), &p, (uint64_t)(p.axes[1] * 100 + p.axes[3]), &o);
    every_kernel(&p, &o, threads, false, true, "filled");
    free_operands(&o);
}

static void put(const struct assay_problem *p, const struct operands *o, int32_t input, int64_t at,
                double value)
{
    assay_dtype_store(p->dtype, &value, (void *)(uintptr_t)o->in[input], at, 1);
}

static int64_t nans_in(const struct assay_problem *p, const struct operands *o)
{
    int64_t n = 0;
    for (int64_t i = 0; i < assay_tensor_count(&p->outputs[0]); i++)
        n += isnan(element(p->dtype, o->out[0], i)) != 0;
    return n;
}

/* This many NaN, and where the reference has them. */
static void expect_nans(struct assay_problem *p, struct operands *o, int64_t n, const char *what)
{
    every_kernel(p, o, 2, false, false, what);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, p, false))
            continue;
        run_once(kernel, p, o);
        if (nans_in(p, o) != n)
            fail_msg("%s: %lld NaN instead of %lld: %s", kernel->name, (long long)nans_in(p, o),
                     (long long)n, what);
    }
}

/* ---- depthwise_conv2d ------------------------------------------------------------------------ */

static const char depthwise[] = "depthwise_conv2d";

static void depthwise_agrees_on_awkward_shapes(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "bias", "pad0", "pad0+bias", "pad1", "pad2+bias"};
    static const int64_t images[][2] = {{1, 1}, {1, 7}, {5, 3}, {9, 20}};
    static const int64_t channels[] = {1, 3, 17, 64, 130}, kernels[] = {1, 2, 3, 5};
    int tried = 0;
    for (int i = 0; i < 4 * 5 * 4 * 2 * 6; i++) {
        const int64_t *image = images[i % 4];
        int64_t kernel = kernels[i / 4 % 4], stride = i / 16 % 2 + 1;
        const int64_t *axes =
            AXES(1 + i % 2, image[0], image[1], channels[i / 32 % 5], kernel, stride);
        struct assay_problem p;
        if (!make_problem(depthwise, dtypes[i % N_DTYPES], modes[i / 160], axes, &p))
            continue; /* more padding than the kernel, or a kernel beyond the image */
        filled(p, i % 7 == 0 ? 3 : 1);
        tried++;
    }
    assert_true(tried > 400);
}

/* Threads share it, lines are cut in the middle, and more channels than have their W in L1. */
static void depthwise_is_cut_anywhere(void **state)
{
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        filled(problem_of(depthwise, dtypes[d], "bias", AXES(1, 64, 64, 17, 3, 1)), 3);
        filled(problem_of(depthwise, dtypes[d], "", AXES(2, 7, 11, 1000, 3, 2)), 3);
        filled(problem_of(depthwise, dtypes[d], "bias", AXES(1, 9, 9, 400, 5, 1)), 3);
        filled(problem_of(depthwise, dtypes[d], "", AXES(1, 1, 1021, 64, 3, 1)), 3);
        filled(problem_of(depthwise, dtypes[d], "pad3", AXES(1, 12, 9, 40, 7, 3)), 2);
    }
}

/* Outputs beyond the L2 cache are streamed; with 130 channels, pixels do not begin on a cache
 * line. */
static void depthwise_streams(void **state)
{
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        filled(problem_of(depthwise, dtypes[d], "bias", AXES(1, 100, 101, 256, 3, 1)), 1);
        filled(problem_of(depthwise, dtypes[d], "", AXES(1, 110, 103, 230, 3, 1)), 1);
    }
}

static void depthwise_is_exact_on_integers(void **state)
{
    (void)state;
    static const int64_t shapes[][6] = {
        {1, 5, 7, 33, 3, 1}, {2, 8, 9, 64, 3, 2}, {1, 11, 10, 48, 5, 1}, {1, 6, 6, 130, 2, 1}};
    const struct assay_op *op = assay_op_find(depthwise);
    for (int i = 0; i < 4 * N_DTYPES; i++) {
        struct operands o;
        struct assay_problem p =
            problem_of(depthwise, dtypes[i % N_DTYPES], i % 2 ? "bias" : "", shapes[i / N_DTYPES]);
        make_operands(op, &p, 1, &o);
        for (int32_t input = 0; input < p.n_inputs; input++)
            op->fill_exact(&p, input, (void *)(uintptr_t)o.in[input], (uint64_t)input + 7);
        every_kernel(&p, &o, 1, true, true, "integers");
        free_operands(&o);
    }
}

/* A NaN in x is in the windows over it, of its channel; one in W in all pixels but those where its
 * tap is outside the image. */
static void depthwise_nan_spreads_where_it_must(void **state)
{
    (void)state;
    enum { H = 6, W = 9, C = 37 };
    for (int d = 0; d < N_DTYPES; d++)
        for (int64_t c = 0; c < C; c += 9) {
            struct operands o;
            struct assay_problem p =
                problem_of(depthwise, dtypes[d], "bias", AXES(1, H, W, C, 3, 1));
            make_operands(assay_op_find(depthwise), &p, 1, &o);
            put(&p, &o, ASSAY_CONV_X, (2 * W + 4) * C + c, (double)NAN);
            expect_nans(&p, &o, 9, "a NaN in x");
            put(&p, &o, ASSAY_CONV_X, (2 * W + 4) * C + c, -(double)INFINITY);
            expect_nans(&p, &o, 0, "an infinity in x");
            put(&p, &o, ASSAY_CONV_X, (2 * W + 4) * C + c, 0);
            put(&p, &o, ASSAY_CONV_W, c, (double)NAN); /* up and to the left */
            expect_nans(&p, &o, (H - 1) * (W - 1), "a NaN in W");
            put(&p, &o, ASSAY_CONV_W, c, 0);
            put(&p, &o, 2, c, (double)NAN);
            expect_nans(&p, &o, H * W, "a NaN in the bias");
            free_operands(&o);
        }
}

/* ---- groupnorm ------------------------------------------------------------------------------- */

static void groupnorm_agrees_on_awkward_shapes(void **state)
{
    (void)state;
    static const int64_t images[][2] = {{1, 1}, {1, 7}, {5, 3}, {16, 17}};
    static const int64_t channels[][4] = {{1, 1, 1, 1},   {3, 1, 3, 3},      {17, 1, 17, 17},
                                          {64, 1, 8, 64}, {130, 1, 13, 130}, {48, 3, 16, 24},
                                          {96, 3, 12, 32}};
    for (int i = 0; i < 4 * 7 * 3 * 2; i++) {
        const int64_t *image = images[i % 4], *of = channels[i / 4 % 7];
        const int64_t *axes = AXES(1 + i % 3, image[0], image[1], of[0], of[1 + i / 28 % 3]);
        for (int d = 0; d < N_DTYPES; d++)
            filled(problem_of("groupnorm", dtypes[d], i / 84 ? "silu" : "", axes),
                   i % 5 == 0 ? 3 : 1);
    }
}

/* Few images for several threads; images beyond the L2 cache, in slices and not; streamed. */
static void groupnorm_is_cut_anywhere(void **state)
{
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        const char *mode = d % 2 ? "silu" : "";
        filled(problem_of("groupnorm", dtypes[d], mode, AXES(1, 64, 64, 17, 1)), 3);
        filled(problem_of("groupnorm", dtypes[d], "silu", AXES(2, 31, 33, 96, 3)), 3);
        filled(problem_of("groupnorm", dtypes[d], mode, AXES(1, 128, 65, 256, 32)), 3);
        filled(problem_of("groupnorm", dtypes[d], mode, AXES(1, 70, 81, 510, 3)), 2);
        filled(problem_of("groupnorm", dtypes[d], "silu", AXES(5, 8, 8, 640, 20)), 3);
    }
}

/* Of a problem whose outputs are several. */
static void every_output(struct assay_problem p, int32_t threads)
{
    struct operands o;
    const struct assay_op *op = assay_op_find(p.op);
    if (left_out(threads))
        return;
    make_operands(op, &p, (uint64_t)(p.axes[1] * 100 + p.axes[3]), &o);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (p.threads = 1; p.threads <= threads && takes(kernel, &p, true); p.threads++) {
            for (int32_t k = 1; k < p.n_outputs; k++)
                memset(o.out[k], 0xff, assay_tensor_bytes(&p.outputs[k]));
            run_once(kernel, &p, &o);
            for (int32_t k = 0; k < p.n_outputs; k++) {
                struct assay_reference_how how = {.seed = 3, .most = MOST_COMPARED, .output = k};
                assay_reference *reference = NULL;
                assert_int_equal(assay_reference_create(op, &p, o.in, &how, &reference, NULL),
                                 ASSAY_OK);
                check(kernel, &p, reference, o.out[k], "an output");
                assay_reference_destroy(reference);
            }
        }
    }
    free_operands(&o);
}

static void groupnorm_backward_agrees_on_awkward_shapes(void **state)
{
    (void)state;
    static const int64_t images[][2] = {{1, 1}, {1, 7}, {5, 3}, {16, 17}};
    static const int64_t channels[][3] = {{1, 1, 1},   {3, 1, 3},   {17, 1, 17},
                                          {64, 8, 64}, {48, 3, 16}, {96, 3, 32}};
    for (int i = 0; i < 4 * 6 * 3; i++) {
        const int64_t *image = images[i % 4], *of = channels[i / 4 % 6];
        const int64_t *axes = AXES(1 + i % 3, image[0], image[1], of[0], of[i / 24]);
        for (int d = 0; d < N_DTYPES; d++)
            every_output(
                problem_of("groupnorm_backward", dtypes[d], (i + d) % 2 ? "silu" : "", axes),
                i % 5 == 0 ? 3 : 1);
    }
    for (int d = 0; d < N_DTYPES; d++) {
        every_output(problem_of("groupnorm_backward", dtypes[d], "", AXES(1, 64, 64, 17, 1)), 3);
        every_output(problem_of("groupnorm_backward", dtypes[d], "silu", AXES(2, 31, 33, 96, 3)),
                     3);
        every_output(problem_of("groupnorm_backward", dtypes[d], "", AXES(5, 8, 9, 640, 20)), 2);
    }
}

/* x of one group of an image: value(number of the element). */
static void put_group(const struct assay_problem *p, const struct operands *o, int64_t image,
                      int64_t group, double (*value)(int64_t))
{
    int64_t pixels = p->axes[1] * p->axes[2], channels = p->axes[3];
    int64_t n = channels / p->axes[ASSAY_GROUPNORM_GROUPS];
    for (int64_t i = 0; i < pixels * n; i++)
        put(p, o, 0, (image * pixels + i / n) * channels + group * n + i % n, value(i));
}

static double far_from_0(int64_t i) { return 1000 + (double)(i % 7); }
static double constant(int64_t i) { return i >= 0 ? 100.5 : 0; }
static double zero(int64_t i) { return i >= 0 ? 0 : 1; }
static double huge(int64_t i) { return (double)(i % 5 - 2) * 1e30; }
static double huge_once(int64_t i) { return i ? (double)(i % 3) : 1e4; }
static double near_infinity(int64_t i) { return i % 2 ? 3e38 : 2.5e38; }

/* Groups of a great mean keep their accuracy, groups whose sums are no floats have a norm, and
 * their neighbours do not notice. */
static void groupnorm_is_stable(void **state)
{
    (void)state;
    static double (*const values[])(int64_t) = {far_from_0, constant, zero,
                                                huge_once,  huge,     near_infinity};
    for (int d = 0; d < N_DTYPES; d++)
        for (int v = 0; v < (dtypes[d] == ASSAY_DTYPE_F16 ? 4 : 6); v++)
            for (int64_t side = 3; side < 100; side += 26) {
                struct operands o;
                struct assay_problem p = problem_of("groupnorm", dtypes[d], v % 2 ? "" : "silu",
                                                    AXES(2, side, side, 40, 5));
                make_operands(assay_op_find("groupnorm"), &p, 9, &o);
                put_group(&p, &o, 0, 4, values[v]);
                put_group(&p, &o, 1, 2, values[v]);
                every_kernel(&p, &o, 3, false, false, "a group that is not like the others");
                free_operands(&o);
            }
}

static void groupnorm_nan_stays_in_its_group(void **state)
{
    (void)state;
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int d = 0; d < N_DTYPES; d++)
        for (int v = 0; v < 3; v++)
            for (int64_t c = 0; c < 51; c += 10) {
                struct operands o;
                struct assay_problem p =
                    problem_of("groupnorm", dtypes[d], "silu", AXES(2, 25, 31, 51, 17));
                make_operands(assay_op_find("groupnorm"), &p, 9, &o);
                put(&p, &o, 0, (25 * 31 + 700) * 51 + c, values[v]);
                expect_nans(&p, &o, 25 * 31 * 3, "in one group of the second image");
                free_operands(&o);
            }
}

/* ---- swiglu ---------------------------------------------------------------------------------- */

/* Rows that threads cut; every gate of 16 bits; a NaN on either side affects its element alone. */
static void swiglu_pairs_each_value_with_its_gate(void **state)
{
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        struct operands o;
        struct assay_problem p = problem_of("swiglu", dtypes[d], "", AXES(1, 3, 65536));
        make_operands(assay_op_find("swiglu"), &p, 1, &o);
        for (int64_t i = 0; i < 65536 && dtypes[d] != ASSAY_DTYPE_F32; i++)
            ((uint16_t *)(uintptr_t)o.in[0])[65536 + i] = (uint16_t)i;
        every_kernel(&p, &o, 3, false, false, "every gate");
        free_operands(&o);

        p = problem_of("swiglu", dtypes[d], "", AXES(1, 7, 4001));
        make_operands(assay_op_find("swiglu"), &p, 1, &o);
        put(&p, &o, 0, 3 * 8002 + 4000, (double)NAN);
        put(&p, &o, 0, 5 * 8002 + 4001 + 77, (double)NAN);
        put(&p, &o, 0, 6 * 8002 + 4001 + 4000, -(double)INFINITY); /* times sigmoid, which is 0 */
        expect_nans(&p, &o, 3, "in x and among the gates");
        free_operands(&o);
    }
}

/* ---- calling --------------------------------------------------------------------------------- */

static struct assay_problem some_problem(int i)
{
    return i == 0   ? problem_of(depthwise, ASSAY_DTYPE_BF16, "bias", AXES(1, 13, 17, 96, 3, 1))
           : i == 1 ? problem_of("groupnorm", ASSAY_DTYPE_F16, "silu", AXES(1, 40, 17, 96, 3))
                    : problem_of("swiglu", ASSAY_DTYPE_F32, "", AXES(2, 5, 5000));
}

/* Seven calls over three sets, whose weights are the same; the same bits each time. */
static void sets_rotate(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct assay_problem p = some_problem(i);
        const struct assay_op *op = assay_op_find(p.op);
        struct operands o[3];
        struct assay_args sets[3];
        assay_reference *references[3];
        for (int k = 0; k < 3; k++) {
            make_operands(op, &p, 5, &o[k]);
            assay_op_fill(op, &p, 0, (void *)(uintptr_t)o[k].in[0], (uint64_t)k + 50);
            sets[k] = (struct assay_args){.in = o[k].in, .out = o[k].out};
            references[k] = reference_of(&p, &o[k], false);
        }
        for (int64_t n = 0; n < assay_kernel_count(registry); n++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, n);
            struct assay_work work = {.iters = 7, .first = 1, .n_sets = 3, .sets = sets};
            p.threads = 2;
            if (!takes(kernel, &p, true))
                continue;
            for (int k = 0; k < 3; k++)
                memset(o[k].out[0], 0xff, assay_tensor_bytes(&p.outputs[0]));
            run(kernel, &p, &work);
            uint64_t first = assay_tensor_checksum(o[2].out[0], assay_tensor_bytes(&p.outputs[0]));
            for (int k = 0; k < 3; k++)
                check(kernel, &p, references[k], o[k].out[0], "one of three sets");
            run(kernel, &p, &work);
            assert_true(first ==
                        assay_tensor_checksum(o[2].out[0], assay_tensor_bytes(&p.outputs[0])));
        }
        for (int k = 0; k < 3; k++) {
            assay_reference_destroy(references[k]);
            free_operands(&o[k]);
        }
    }
}

static void setting_up_without_memory_is_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct assay_problem p = some_problem(i);
        for (int64_t n = 0; n < assay_kernel_count(registry); n++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, n);
            enum assay_status status = ASSAY_ERR_NOMEM;
            for (int64_t nth = 1; takes(kernel, &p, false) && status != ASSAY_OK; nth++) {
                void *own = NULL;
                assay_alloc_fail_after(nth);
                status = kernel->setup(&p, &own, NULL);
                assay_alloc_fail_after(0);
                assert_true(nth < 20 && (nth > 1 || status != ASSAY_OK));
                if (status == ASSAY_OK)
                    kernel->teardown(own);
                else
                    assert_int_equal(status, ASSAY_ERR_NOMEM);
            }
        }
    }
}

/* ---- mistakes -------------------------------------------------------------------------------- */

/* The right output of another problem: what a kernel with a mistake in it would give. Must be
 * refused as the output of p. */
static void expect_refused(const struct assay_problem *p, const struct operands *o,
                           const struct assay_problem *other, const struct operands *other_o,
                           const char *mistake)
{
    assay_reference *reference = reference_of(p, o, false);
    struct assay_comparison c;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        struct assay_args args = {.in = other_o->in, .out = o->out};
        struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
        if (strcmp(kernel->op, other->op) != 0 || strcmp(kernel->implementation, "ref") != 0)
            continue;
        run(kernel, other, &work);
        assay_reference_compare(reference, o->out[0], &c);
        if (c.mismatches == 0)
            fail_msg("%s %s: %s passed", p->op, assay_dtype_name(p->dtype), mistake);
        run(kernel, p,
            &(struct assay_work){
                .iters = 1, .n_sets = 1, .sets = &(struct assay_args){o->in, o->out}});
        assay_reference_compare(reference, o->out[0], &c);
        assert_int_equal(c.mismatches, 0); /* and the right output is accepted */
    }
    assay_reference_destroy(reference);
}

/* Input `input` of one, element by element from elsewhere. */
static void permute(const struct assay_problem *p, const struct operands *from,
                    const struct operands *to, int32_t input, int64_t (*place)(int64_t))
{
    for (int64_t i = 0; i < assay_tensor_count(&p->inputs[input]); i++)
        put(p, to, input, i, element(p->dtype, from->in[input], place(i)));
}

enum { CHANNELS = 12 };
static int64_t transposed(int64_t i)
{
    int64_t tap = i / CHANNELS;
    return (tap % 3 * 3 + tap / 3) * CHANNELS + i % CHANNELS;
}
static int64_t flipped(int64_t i) { return (8 - i / CHANNELS) * CHANNELS + i % CHANNELS; }
static int64_t next_channel(int64_t i) { return i / CHANNELS * CHANNELS + (i + 1) % CHANNELS; }
static int64_t halves_swapped(int64_t i) { return i < 50 ? i + 50 : i - 50; }

static void mistakes_of_depthwise_are_refused(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find(depthwise);
    static const int64_t axes[ASSAY_MAX_AXES] = {1, 7, 7, CHANNELS, 3, 1};
    for (int d = 0; d < N_DTYPES; d++) {
        struct assay_problem p = problem_of(depthwise, dtypes[d], "bias", axes);
        struct assay_problem without = problem_of(depthwise, dtypes[d], "", axes);
        struct operands o, other;
        make_operands(op, &p, 1, &o);
        expect_refused(&p, &o, &without, &o, "no bias");
        make_operands(op, &p, 1, &other);
        permute(&p, &o, &other, ASSAY_CONV_W, transposed);
        expect_refused(&p, &o, &p, &other, "a transposed kernel");
        permute(&p, &o, &other, ASSAY_CONV_W, flipped);
        expect_refused(&p, &o, &p, &other, "a flipped kernel");
        permute(&p, &o, &other, ASSAY_CONV_W, next_channel);
        expect_refused(&p, &o, &p, &other, "the next channel's kernel");
        free_operands(&other);
        free_operands(&o);
    }
}

static void mistakes_of_groupnorm_are_refused(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("groupnorm");
    static const int64_t axes[ASSAY_MAX_AXES] = {1, 7, 7, CHANNELS, 3};
    for (int d = 0; d < N_DTYPES; d++) {
        struct assay_problem p = problem_of("groupnorm", dtypes[d], "silu", axes), other = p;
        struct operands o, swapped;
        make_operands(op, &p, 1, &o);
        struct assay_problem plain = problem_of("groupnorm", dtypes[d], "", axes);
        expect_refused(&p, &o, &plain, &o, "no silu");
        other.axes[ASSAY_GROUPNORM_GROUPS] = 2;
        expect_refused(&p, &o, &other, &o, "wider groups");
        other.axes[ASSAY_GROUPNORM_GROUPS] = 12;
        expect_refused(&p, &o, &other, &o, "each channel by itself");
        other = p;
        other.params[ASSAY_GROUPNORM_EPS] = 0.1;
        expect_refused(&p, &o, &other, &o, "another eps");
        make_operands(op, &p, 1, &swapped);
        permute(&p, &o, &swapped, 1, next_channel);
        expect_refused(&p, &o, &p, &swapped, "the next channel's gamma");
        free_operands(&swapped);
        free_operands(&o);
    }
}

static void mistakes_of_swiglu_are_refused(void **state)
{
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        struct assay_problem p = problem_of("swiglu", dtypes[d], "", AXES(1, 1, 50));
        struct operands o, other;
        make_operands(assay_op_find("swiglu"), &p, 1, &o);
        make_operands(assay_op_find("swiglu"), &p, 1, &other);
        permute(&p, &o, &other, 0, halves_swapped);
        expect_refused(&p, &o, &p, &other, "silu of the other half");
        free_operands(&other);
        free_operands(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depthwise_agrees_on_awkward_shapes),
        cmocka_unit_test(depthwise_is_cut_anywhere),
        cmocka_unit_test(depthwise_streams),
        cmocka_unit_test(depthwise_is_exact_on_integers),
        cmocka_unit_test(depthwise_nan_spreads_where_it_must),
        cmocka_unit_test(groupnorm_agrees_on_awkward_shapes),
        cmocka_unit_test(groupnorm_is_cut_anywhere),
        cmocka_unit_test(groupnorm_backward_agrees_on_awkward_shapes),
        cmocka_unit_test(groupnorm_is_stable),
        cmocka_unit_test(groupnorm_nan_stays_in_its_group),
        cmocka_unit_test(swiglu_pairs_each_value_with_its_gate),
        cmocka_unit_test(sets_rotate),
        cmocka_unit_test(setting_up_without_memory_is_an_error),
        cmocka_unit_test(mistakes_of_depthwise_are_refused),
        cmocka_unit_test(mistakes_of_groupnorm_are_refused),
        cmocka_unit_test(mistakes_of_swiglu_are_refused),
    };
    registry = assay_kernel_registry_create();
    omp_set_num_threads(2); /* of the references; kernels say how many they want */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
