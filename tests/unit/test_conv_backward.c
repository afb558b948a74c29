/* test_conv_backward.c: the gradients of conv2d and depthwise_conv2d: a worked example, every
 * kernel over awkward shapes, strides and paddings with 1 and more threads, bit for bit on
 * integers; the same bits for the same number of threads; and mistakes that the check must refuse.
 * The references themselves are checked in test_gradients.c. */
#include "contender.h"

#include "bench/verify.h"
#include "op/conv.h"

#include <omp.h>

enum { X = ASSAY_CONV_BACKWARD_X, W = ASSAY_CONV_BACKWARD_W };

struct shape {
    int64_t axes[7]; /* as conv2d has them */
    const char *mode;
};

static assay_kernel_registry *registry;
static const char *const ops[] = {"conv2d_backward", "depthwise_conv2d_backward"};
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};

/* A depthwise one has as many channels as there are on the side of y. */
static struct assay_problem problem_of(int which, enum assay_dtype dtype, const struct shape *shape)
{
    struct assay_problem p;
    struct assay_error err = {0};
    const int64_t *a = shape->axes, own[] = {a[0], a[1], a[2], a[4], a[5], a[6]};
    if (assay_op_problem(assay_op_find(ops[which]), dtype, shape->mode, which ? own : a, 1, &p,
                         &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return p;
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* x = (1, 2, 3), W = (1, 10, 100), padded by 1, so y = (210, 321, 32); dY = (1, 2, 3). */
static void the_reference_gives_the_worked_values(void **state)
{
    (void)state;
    static const struct shape shape = {{1, 1, 3, 1, 1, 3, 1}, "bias"};
    static const double dy[] = {1, 2, 3}, x[] = {1, 2, 3};
    static const double w[] = {0,   0, 0, 1, 10,
                               100, 0, 0, 0}; /* the line above and below: nothing */
    static const double dx[] = {10 + 2, 100 + 20 + 3, 200 + 30};
    static const double dw[] = {0, 0, 0, 2 * 1 + 3 * 2, 1 + 4 + 9, 1 * 2 + 2 * 3, 0, 0, 0};
    for (int which = 0; which < 2; which++) {
        struct assay_problem p = problem_of(which, ASSAY_DTYPE_F64, &shape);
        const struct assay_op *op = assay_op_find(ops[which]);
        const void *const in[] = {dy, x, w};
        double got;
        for (int64_t i = 0; i < 3; i++) {
            assay_op_reference(op, &p, ASSAY_CONV_DX, in, i, 0, 1, &got, NULL);
            assert_near(got, dx[i], 0);
        }
        for (int64_t i = 0; i < 9; i++) {
            assay_op_reference(op, &p, ASSAY_CONV_DW, in, i, 0, 1, &got, NULL);
            assert_near(got, dw[i], 0);
        }
        assay_op_reference(op, &p, ASSAY_CONV_DBIAS, in, 0, 0, 1, &got, NULL);
        assert_near(got, 6, 0);
    }
}

static void it_costs_two_products(void **state)
{
    (void)state;
    static const struct shape shape = {{2, 9, 8, 5, 7, 3, 2}, "bias"};
    for (int which = 0; which < 2; which++) {
        struct assay_problem p = problem_of(which, ASSAY_DTYPE_F32, &shape), forward;
        const struct assay_op *op = assay_op_find(which ? "depthwise_conv2d" : "conv2d");
        assert_int_equal(
            assay_op_problem(op, ASSAY_DTYPE_F32, shape.mode, p.axes, 1, &forward, NULL), ASSAY_OK);
        assert_near(assay_op_find(ops[which])->cost(&p).flops, 2 * op->cost(&forward).flops, 0);
    }
}

static void a_residual_is_refused(void **state)
{
    (void)state;
    static const int64_t axes[] = {1, 4, 4, 2, 3, 3, 1};
    for (int which = 0; which < 2; which++) {
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_problem(assay_op_find(ops[which]), ASSAY_DTYPE_F32, "bias+add",
                                          axes, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, "which is dY itself"));
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A problem with operands, what its outputs should be, and how its inputs looked. */
struct bed {
    struct assay_problem p;
    struct operands o;
    assay_reference *references[3];
    uint64_t inputs;
};

static uint64_t checksum(const struct assay_tensor *tensors, int32_t n, const void *const *data)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum = sum * 31 + assay_tensor_checksum(data[i], assay_tensor_bytes(&tensors[i]));
    return sum;
}

static uint64_t outputs_of(const struct bed *b)
{
    return checksum(b->p.outputs, b->p.n_outputs, (const void *const *)b->o.out);
}

static void bed_judge(struct bed *b, bool exact)
{
    struct assay_reference_how how = {
        .seed = 3, .most = ASSAY_VERIFY_MOST, .integers = exact, .exact = exact};
    for (how.output = 0; how.output < b->p.n_outputs; how.output++)
        assert_int_equal(assay_reference_create(assay_op_find(b->p.op), &b->p, b->o.in, &how,
                                                &b->references[how.output], NULL),
                         ASSAY_OK);
    b->inputs = checksum(b->p.inputs, b->p.n_inputs, b->o.in);
}

static void bed_create(struct bed *b, int which, enum assay_dtype dtype, const struct shape *shape,
                       bool exact)
{
    const struct assay_op *op = assay_op_find(ops[which]);
    b->p = problem_of(which, dtype, shape);
    make_operands(op, &b->p, 5, &b->o);
    assert_true(op->can_be_exact(&b->p));
    for (int32_t i = 0; i < b->p.n_inputs && exact; i++)
        op->fill_exact(&b->p, i, (void *)(uintptr_t)b->o.in[i], 7 + (uint64_t)i);
}

static void bed_destroy(struct bed *b)
{
    for (int32_t k = 0; k < b->p.n_outputs; k++)
        assay_reference_destroy(b->references[k]);
    free_operands(&b->o);
}

static void run(const struct assay_kernel *kernel, struct bed *b)
{
    struct assay_args args = {.in = b->o.in, .out = b->o.out};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    struct assay_error err = {0};
    void *own = NULL;
    for (int32_t k = 0; k < b->p.n_outputs; k++)
        memset(b->o.out[k], 0xff, assay_tensor_bytes(&b->p.outputs[k]));
    if (kernel->setup(&b->p, &own, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    assert_null(kernel->prepare); /* W is no weight here */
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
}

static bool is_native(const struct assay_kernel *kernel)
{
    return strcmp(kernel->implementation, "native") == 0;
}

/* oneDNN 2.6 has no zeros for padding that NaN could not meet, and with strides longer than the
 * kernel its dW in bf16 is sometimes not 0 at a tap that meets nothing but padding. */
static bool is_known_wrong(const struct assay_kernel *kernel, const struct assay_problem *p,
                           const char *what)
{
    struct assay_conv c = assay_conv_of(p);
    return strcmp(kernel->implementation, "onednn") == 0 &&
           (c.stride > c.kernel || strstr(what, "NaN"));
}

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->op, p->op) == 0 && strcmp(kernel->device, "cpu") == 0 &&
           is_looked_at(kernel->name) && !is_large_ref(kernel, p) &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static void check_kernel(const struct assay_kernel *kernel, struct bed *b, const char *what)
{
    const int64_t *a = b->p.axes;
    run(kernel, b);
    for (int32_t k = 0; k < b->p.n_outputs; k++) {
        struct assay_comparison c;
        assay_reference_compare(b->references[k], b->o.out[k], &c);
        if (c.mismatches)
            fail_msg("%s %s %lldx%lldx%lldx%lldx%lldx%lldx%lld pad %g, %d threads, %s: output %d: "
                     "%lld of %lld wrong; element %lld is %.9g, should be %.9g",
                     kernel->name, assay_dtype_name(b->p.dtype), (long long)a[0], (long long)a[1],
                     (long long)a[2], (long long)a[3], (long long)a[4], (long long)a[5],
                     (long long)a[6], b->p.params[ASSAY_CONV_PAD], b->p.threads, what, k,
                     (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                     c.first_got, c.first_ref);
    }
    assert_true(checksum(b->p.inputs, b->p.n_inputs, b->o.in) == b->inputs);
}

/* Native ones twice: the same number of threads gives the same bits. */
static void every_kernel(struct bed *b, int32_t most, const char *what)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (b->p.threads = 1; b->p.threads <= most && takes(kernel, &b->p); b->p.threads++) {
            if (is_known_wrong(kernel, &b->p, what))
                continue;
            check_kernel(kernel, b, what);
            uint64_t before = outputs_of(b);
            if (!is_native(kernel))
                continue;
            run(kernel, b);
            if (outputs_of(b) != before)
                fail_msg("%s, %d threads: not the same bits again", kernel->name, b->p.threads);
        }
    }
    b->p.threads = 1;
}

static void every_dtype(int which, const struct shape *shape, int32_t threads)
{
    for (int d = 0; d < 3; d++)
        for (int exact = 0; exact < 2; exact++) {
            struct bed b = {0};
            if (left_out(threads))
                continue;
            bed_create(&b, which, dtypes[d], shape, exact);
            bed_judge(&b, exact);
            every_kernel(&b, threads, exact ? "integers" : "filled");
            bed_destroy(&b);
        }
}

/* All kernels, strides and numbers of channels, each pair of them at least once. */
static void kernels_agree_on_awkward_shapes(void **state)
{
    (void)state;
    static const int64_t kernels[] = {1, 2, 3, 5, 7}, channels[] = {1, 3, 17, 64, 130};
    static const char *const modes[] = {"none", "bias", "pad0", "bias+pad0", "none"};
    for (int which = 0; which < 2; which++)
        for (int k = 0; k < 5; k++)
            for (int i = 0; i < 5; i++) {
                int o = (i + k) % 5, stride = (i + 2 * k) % 3 + 1;
                struct shape shape = {
                    {i % 3 + 1, 7 + k % 2, 8 + i % 2, channels[i], channels[o], kernels[k], stride},
                    modes[(i + 2 * k) % 5]};
                every_dtype(which, &shape, (i + k) % 3 + 1);
            }
}

/* Padding of every width; images smaller than the kernel; strides beyond it; one pixel; pixels that
 * no window meets; many rows and columns. */
static void kernels_agree_at_the_edges(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {{3, 2, 2, 64, 17, 3, 1}, "none"},   {{1, 1, 1, 32, 3, 5, 1}, "bias"},
        {{1, 3, 2, 16, 17, 7, 1}, "pad6"},   {{1, 4, 5, 32, 33, 3, 1}, "pad2"},
        {{1, 5, 5, 32, 16, 5, 2}, "pad4"},   {{2, 9, 33, 32, 32, 3, 1}, "pad0+bias"},
        {{1, 9, 7, 5, 16, 2, 5}, "pad0"},    {{1, 40, 7, 64, 64, 3, 3}, "pad1+bias"},
        {{1, 13, 13, 96, 40, 2, 1}, "pad1"}, {{2, 10, 10, 48, 64, 1, 3}, "bias"},
        {{3, 9, 9, 64, 64, 1, 1}, "none"},   {{1, 9, 80, 32, 40, 3, 2}, "none"},
        {{1, 6, 50, 32, 33, 4, 2}, "pad3"},  {{1, 12, 12, 16, 32, 3, 2}, "pad0"},
        {{1, 30, 3, 7, 20, 3, 7}, "bias"},   {{1, 70, 31, 16, 33, 3, 1}, "bias"},
        {{2, 41, 27, 3, 18, 3, 1}, "pad0"},
    };
    for (int which = 0; which < 2; which++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            every_dtype(which, &shapes[s], (int32_t)s % 3 + 1);
}

static void put(const struct bed *b, int32_t input, int64_t at, double value)
{
    assay_dtype_store(b->p.dtype, &value, (void *)(uintptr_t)b->o.in[input], at, 1);
}

/* A NaN or an infinity in the middle of dY, and one at the edge of x, go where they belong and
 * nowhere else. At the edge of dY they would meet the padding, which kernels may take for zeros. */
static void unusual_values_stay_in_their_windows(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{{2, 8, 9, 17, 20, 3, 1}, "none"},
                                          {{1, 8, 9, 32, 20, 3, 2}, "bias"},
                                          {{2, 8, 9, 32, 20, 1, 2}, "none"}};
    for (size_t s = 0; s < 2 * sizeof shapes / sizeof shapes[0]; s++)
        for (int d = 0; d < 3; d++) {
            struct bed b = {0};
            bed_create(&b, s % 2, dtypes[d], &shapes[s / 2], false);
            const int64_t *dy = b.p.inputs[0].dims;
            put(&b, 0, (dy[1] / 2 * dy[2] + dy[2] / 2) * dy[3] + 1,
                s % 3 ? (double)NAN : (double)INFINITY);
            put(&b, X, assay_tensor_count(&b.p.inputs[X]) - 1, (double)INFINITY);
            put(&b, X, 3, (double)NAN);
            bed_judge(&b, false);
            every_kernel(&b, 2, "NaN and infinity");
            bed_destroy(&b);
        }
}

/* Three sets of operands, seven calls. */
static void sets_rotate(void **state)
{
    (void)state;
    static const struct shape shape = {{2, 6, 6, 32, 33, 3, 2}, "bias"};
    for (int which = 0; which < 2; which++)
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            struct bed beds[3];
            struct assay_args sets[3];
            struct assay_work work = {.iters = 7, .first = 1, .n_sets = 3, .sets = sets};
            struct assay_problem p = problem_of(which, ASSAY_DTYPE_F32, &shape);
            void *own = NULL;
            if (!takes(kernel, &p))
                continue;
            for (int k = 0; k < 3; k++) {
                const struct assay_op *op = assay_op_find(ops[which]);
                beds[k] = (struct bed){.p = p};
                make_operands(op, &p, (uint64_t)k, &beds[k].o);
                bed_judge(&beds[k], false);
                sets[k] = (struct assay_args){beds[k].o.in, beds[k].o.out};
            }
            assert_int_equal(kernel->setup(&p, &own, NULL), ASSAY_OK);
            assert_int_equal(kernel->run(own, &work), ASSAY_OK);
            kernel->teardown(own);
            for (int k = 0; k < 3; k++)
                for (int32_t output = 0; output < p.n_outputs; output++) {
                    struct assay_comparison c;
                    assay_reference_compare(beds[k].references[output], beds[k].o.out[output], &c);
                    assert_int_equal(c.mismatches, 0);
                }
            for (int k = 0; k < 3; k++)
                bed_destroy(&beds[k]);
        }
}

static void setup_without_memory_is_an_error(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{{1, 6, 6, 32, 33, 3, 1}, "bias"},
                                          {{1, 6, 6, 32, 33, 3, 2}, "none"}};
    for (int i = 0; i < 4 * assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i / 4);
        struct assay_problem p = problem_of(i % 2, ASSAY_DTYPE_BF16, &shapes[i / 2 % 2]);
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

/* ---- mistakes -------------------------------------------------------------------------------- */

enum mistake {
    NONE,
    TRANSPOSED, /* dW with its taps, or its channels, the other way round */
    NOT_TURNED, /* dX meets the taps of the forward pass */
    NO_STRIDE,  /* pixels of y are taken for neighbours in x */
    NO_PADDING, /* x begins where its padding does */
    WRAPPED,    /* the padding is the other end of the row */
    NO_DBIAS,   /* it is zeros */
    TWICE,      /* gradients are added to what was there */
    ONE_IMAGE,  /* dW is the last image's alone */
    LAST_TAP_MISSING,
    MISTAKES
};

struct plain {
    const struct bed *b;
    struct assay_conv c;
    bool depthwise;
    enum mistake mistake;
    double *to[3];
};

/* One pixel of y, a tap, an output channel. */
struct product {
    int64_t image, y, x, ky, kx, o;
};

static double value(const struct plain *w, int32_t input, int64_t at)
{
    return element(w->b->p.dtype, w->b->o.in[input], at);
}

/* The tap of W or dW that a product means, for input channel i. */
static int64_t tap(const struct plain *w, const struct product *m, int64_t i, bool turned)
{
    int64_t k = w->c.kernel, ky = turned ? m->kx : m->ky, kx = turned ? m->ky : m->kx;
    return w->depthwise ? (ky * k + kx) * w->c.in + i : ((m->o * k + ky) * k + kx) * w->c.in + i;
}

static void add_product(const struct plain *w, const struct product *m)
{
    const struct assay_conv *c = &w->c;
    int64_t stride = w->mistake == NO_STRIDE ? 1 : c->stride;
    int64_t pad = w->mistake == NO_PADDING ? 0 : c->pad;
    int64_t y = m->y * stride - pad + m->ky, x = m->x * stride - pad + m->kx;
    if (w->mistake == WRAPPED)
        x = (x + c->width) % c->width;
    bool last = m->ky == c->kernel - 1 && m->kx == c->kernel - 1;
    if (y < 0 || y >= c->height || x < 0 || x >= c->width ||
        (w->mistake == LAST_TAP_MISSING && last))
        return;
    int64_t pixel = ((m->image * c->out_height + m->y) * c->out_width + m->x) * c->out;
    double dy = value(w, 0, pixel + m->o);
    bool counts = w->mistake != ONE_IMAGE || m->image == c->batch - 1;
    for (int64_t i = w->depthwise ? m->o : 0; i < (w->depthwise ? m->o + 1 : c->in); i++) {
        int64_t at = ((m->image * c->height + y) * c->width + x) * c->in + i;
        w->to[ASSAY_CONV_DX][at] += dy * value(w, W, tap(w, m, i, w->mistake == NOT_TURNED));
        w->to[ASSAY_CONV_DW][tap(w, m, i, w->mistake == TRANSPOSED)] +=
            counts ? dy * value(w, X, at) : 0;
    }
}

static void add_pixel(const struct plain *w, int64_t number)
{
    const struct assay_conv *c = &w->c;
    struct product m = {.image = number / (c->out_height * c->out_width),
                        .y = number / c->out_width % c->out_height,
                        .x = number % c->out_width};
    for (m.o = 0; m.o < c->out; m.o++) {
        if (w->mistake != NO_DBIAS)
            w->to[ASSAY_CONV_DBIAS][m.o] += value(w, 0, number * c->out + m.o);
        for (int64_t k = 0; k < c->kernel * c->kernel; k++) {
            m.ky = k / c->kernel;
            m.kx = k % c->kernel;
            add_product(w, &m);
        }
    }
}

static void plain_all(struct plain *w)
{
    const struct assay_problem *p = &w->b->p;
    for (int k = 0; k < 3; k++)
        w->to[k] = assay_calloc((size_t)assay_tensor_count(&p->outputs[k]), sizeof(double));
    for (int64_t i = 0; i < w->c.batch * w->c.out_height * w->c.out_width; i++)
        add_pixel(w, i);
    for (int k = 0; k < 3; k++) {
        int64_t count = assay_tensor_count(&p->outputs[k]);
        for (int64_t i = 0; i < count && w->mistake == TWICE; i++)
            w->to[k][i] *= 2;
        assay_dtype_store(p->dtype, w->to[k], w->b->o.out[k], 0, count);
        assay_free(w->to[k]);
    }
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    static const struct shape shape = {{2, 9, 8, 6, 5, 3, 2}, "bias"};
    for (int i = 0; i < 6; i++) {
        struct bed b = {0};
        bed_create(&b, i % 2, dtypes[i / 2], &shape, false);
        bed_judge(&b, false);
        for (int mistake = NONE; mistake < MISTAKES; mistake++) {
            int64_t mismatches = 0;
            struct plain plain = {
                .b = &b, .c = assay_conv_of(&b.p), .depthwise = i % 2, .mistake = mistake};
            plain_all(&plain);
            for (int k = 0; k < 3; k++) {
                struct assay_comparison c;
                assert_int_equal(assay_reference_controls(b.references[k], NULL), ASSAY_OK);
                assay_reference_compare(b.references[k], b.o.out[k], &c);
                mismatches += c.mismatches;
            }
            if ((mismatches == 0) != (mistake == NONE))
                fail_msg("%s %s: mistake %d has %lld mismatches", ops[i % 2],
                         assay_dtype_name(b.p.dtype), mistake, (long long)mismatches);
        }
        bed_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_gives_the_worked_values),
        cmocka_unit_test(it_costs_two_products),
        cmocka_unit_test(a_residual_is_refused),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(kernels_agree_on_awkward_shapes),
        cmocka_unit_test(kernels_agree_at_the_edges),
        cmocka_unit_test(unusual_values_stay_in_their_windows),
        cmocka_unit_test(sets_rotate),
        cmocka_unit_test(setup_without_memory_is_an_error),
    };
    omp_set_num_threads(1); /* of the references; kernels say how many they want */
    registry = assay_kernel_registry_create();
    int failed = cmocka_run_group_tests_name("conv_backward", tests, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
