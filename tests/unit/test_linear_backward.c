/* test_linear_backward.c: every kernel of `linear_backward` against its reference, over awkward
 * shapes, all modes, numbers of threads and kinds of values; its own kernels bit for bit on
 * integers, and the same bits each time. Tensors lie between untouchable pages. */
#include "unit.h"

#include "base/alloc.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"

#include <sys/mman.h>

enum { PAGE = 4096, GUARD = 0xC3, TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS };

static assay_kernel_registry *registry;
static const struct assay_op *op;

/* A tensor ends where an untouchable page begins, or so near it that it is aligned to 64 bytes. */
struct fenced {
    unsigned char *map, *data;
    size_t map_bytes, bytes;
};

static struct fenced fenced_create(size_t bytes)
{
    size_t padded = (bytes + 63) / 64 * 64, middle = (padded + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.map_bytes = middle + PAGE, .bytes = bytes};
    f.map = mmap(NULL, f.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + middle, PAGE, PROT_NONE), 0);
    memset(f.map, GUARD, middle);
    f.data = f.map + middle - padded;
    return f;
}

static bool fenced_is_whole(const struct fenced *f)
{
    for (const unsigned char *p = f->map; p < f->map + f->map_bytes - PAGE; p++)
        if ((p < f->data || p >= f->data + f->bytes) && *p != GUARD)
            return false;
    return true;
}

/* A problem, its operands and what its outputs should be. */
struct bed {
    struct assay_problem problem;
    struct fenced in[ASSAY_MAX_INPUTS], out[ASSAY_MAX_OUTPUTS];
    const void *in_data[ASSAY_MAX_INPUTS];
    void *out_data[ASSAY_MAX_OUTPUTS];
    double *want[ASSAY_MAX_OUTPUTS], *sizes[ASSAY_MAX_OUTPUTS];
    uint64_t checksum[ASSAY_MAX_INPUTS];
};

static void bed_settle(struct bed *b, bool exact)
{
    const struct assay_problem *p = &b->problem;
    for (int32_t i = 0; i < p->n_inputs; i++)
        b->checksum[i] = assay_tensor_checksum(b->in[i].data, b->in[i].bytes);
    for (int32_t k = 0; k < p->n_outputs; k++) {
        const struct assay_tensor *t = &p->outputs[k];
        int64_t length = t->dims[t->rank - 1], count = assay_tensor_count(t);
        for (int64_t row = 0; row < count / length; row++)
            assay_op_reference(op, p, k, b->in_data, row, 0, length, b->want[k] + row * length,
                               b->sizes[k] + row * length);
        for (int64_t i = 0; i < count && exact; i++) {
            double rounded;
            assay_dtype_store(t->dtype, &b->want[k][i], &rounded, 0, 1);
            assay_dtype_load(t->dtype, &rounded, 0, 1, &b->want[k][i]);
        }
    }
}

static void bed_create(struct bed *b, enum assay_dtype dtype, const char *mode, const int64_t *axes,
                       bool exact, uint64_t seed)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 1, &b->problem, NULL), ASSAY_OK);
    for (int32_t i = 0; i < b->problem.n_inputs; i++) {
        b->in[i] = fenced_create(assay_tensor_bytes(&b->problem.inputs[i]));
        b->in_data[i] = b->in[i].data;
        if (exact)
            op->fill_exact(&b->problem, i, b->in[i].data, seed + (uint64_t)i);
        else
            assay_op_fill(op, &b->problem, i, b->in[i].data, seed);
    }
    for (int32_t k = 0; k < b->problem.n_outputs; k++) {
        const struct assay_tensor *t = &b->problem.outputs[k];
        b->out[k] = fenced_create(assay_tensor_bytes(t));
        b->out_data[k] = b->out[k].data;
        b->want[k] = assay_calloc((size_t)assay_tensor_count(t), sizeof(double));
        b->sizes[k] = assay_calloc((size_t)assay_tensor_count(t), sizeof(double));
    }
    bed_settle(b, exact);
}

static void bed_destroy(struct bed *b)
{
    for (int32_t i = 0; i < b->problem.n_inputs; i++)
        munmap(b->in[i].map, b->in[i].map_bytes);
    for (int32_t k = 0; k < b->problem.n_outputs; k++) {
        munmap(b->out[k].map, b->out[k].map_bytes);
        assay_free(b->want[k]);
        assay_free(b->sizes[k]);
    }
}

/* Code that a library generates while it runs crashes the leak checker. */
static bool is_native(const struct assay_kernel *kernel)
{
    return strcmp(kernel->implementation, "native") == 0;
}

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return (is_native(kernel) || !HAVE_ASAN) && strcmp(kernel->op, p->op) == 0 &&
           strcmp(kernel->device, "cpu") == 0 && is_looked_at(kernel->name) &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

/* 0xff is NaN in every float type: an element nobody writes is seen. */
static void poison(struct bed *b)
{
    for (int32_t k = 0; k < b->problem.n_outputs; k++)
        memset(b->out[k].data, 0xff, b->out[k].bytes);
}

static void run(const struct assay_kernel *kernel, struct bed *b)
{
    struct assay_args args = {.in = b->in_data, .out = b->out_data};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    struct assay_error err = {0};
    void *state = NULL;
    poison(b);
    if (kernel->setup(&b->problem, &state, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    assert_null(kernel->prepare); /* W is no weight here */
    assert_int_equal(kernel->run(state, &work), ASSAY_OK);
    kernel->teardown(state);
}

static void judge(const struct assay_kernel *kernel, const struct bed *b, bool exact,
                  const char *what)
{
    const struct assay_problem *p = &b->problem;
    for (int32_t k = 0; k < p->n_outputs; k++) {
        struct assay_tolerance tolerance = assay_op_tolerance(op, p, k);
        struct assay_comparison c;
        assay_comparison_init(&c, exact ? (struct assay_tolerance){0} : tolerance);
        assay_comparison_add_sums(&c, p->outputs[k].dtype, b->out[k].data, 0, b->want[k],
                                  b->sizes[k], assay_tensor_count(&p->outputs[k]));
        if (c.mismatches)
            fail_msg("%s %s %lldx%lldx%lld, %d threads, %s: output %d: %lld of %lld wrong; element "
                     "%lld is %.9g, should be %.9g",
                     kernel->name, assay_dtype_name(p->dtype), (long long)p->axes[0],
                     (long long)p->axes[1], (long long)p->axes[2], p->threads, what, k,
                     (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                     c.first_got, c.first_ref);
        if (!fenced_is_whole(&b->out[k]))
            fail_msg("%s wrote near its output %d", kernel->name, k);
    }
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (!fenced_is_whole(&b->in[i]) ||
            assay_tensor_checksum(b->in[i].data, b->in[i].bytes) != b->checksum[i])
            fail_msg("%s wrote to its input %d or near it", kernel->name, i);
}

static void every_kernel(struct bed *b, int32_t most_threads, bool native, bool exact,
                         const char *what)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (b->problem.threads = 1; b->problem.threads <= most_threads; b->problem.threads++)
            if (takes(kernel, &b->problem) && (is_native(kernel) || !native)) {
                run(kernel, b);
                judge(kernel, b, exact, what);
            }
    }
    b->problem.threads = 1;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
static const char *const modes[] = {"", "bias", "dx", "dw", "bias+dw"};
enum { DTYPES = 3, MODES = 5 };

/* 1, primes, and around what tiles, panels and blocks have of each axis. */
static const int64_t shapes[][3] = {
    {1, 1, 1},    {1, 40, 300},  {300, 1, 40},  {40, 300, 1},  {2, 3, 5},    {3, 17, 31},
    {4, 16, 16},  {15, 15, 15},  {16, 16, 16},  {17, 17, 17},  {31, 33, 32}, {32, 32, 33},
    {33, 31, 31}, {64, 48, 64},  {65, 63, 67},  {63, 65, 129}, {7, 127, 64}, {128, 15, 16},
    {97, 71, 53}, {130, 20, 70}, {20, 130, 257}};

static void gradients_agree_with_the_reference(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int d = 0; d < DTYPES; d++)
            for (int i = 0; i < MODES; i++) {
                int32_t threads = s % 3 == 0 ? 3 : 1;
                bool turn = i == 1 || (s + (size_t)(d + i)) % 4 == 0; /* the others in turns */
                if (!turn || left_out(threads))
                    continue;
                struct bed b;
                bed_create(&b, dtypes[d], modes[i], shapes[s], false, s + 1);
                every_kernel(&b, threads, false, false, modes[i]);
                bed_destroy(&b);
            }
}

/* So many rows that sums are taken in slices and chunks, that threads share rows, and that a
 * product is packed more than once. */
static void gradients_of_larger_ones_agree(void **state)
{
    (void)state;
    static const int64_t large[][3] = {{2100, 33, 40}, {200, 70, 1500}, {270, 540, 260}};
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++)
        for (int d = 0; d < DTYPES; d++) {
            if (left_out(2))
                continue;
            struct bed b;
            bed_create(&b, dtypes[d], "bias", large[s], false, s + 70);
            every_kernel(&b, 2, true, false, "large");
            bed_destroy(&b);
        }
}

/* On integers every kernel gives the exact sums, rounded once: bit for bit, every output. */
static void integers_are_exact(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s += 2)
        for (int d = 0; d < DTYPES; d++) {
            if (left_out(1))
                continue;
            struct bed b;
            bed_create(&b, dtypes[d], "bias", shapes[s], true, s + 200);
            assert_true(op->can_be_exact(&b.problem));
            every_kernel(&b, 1, false, true, "integers");
            bed_destroy(&b);
        }
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put(struct bed *b, int32_t input, int64_t at, double value)
{
    assay_dtype_store(b->problem.dtype, &value, b->in[input].data, at, 1);
}

/* A NaN or an infinity of dY shows in its row of dX, in its row of dW and in its column's sum; one
 * of x in its column of dW, and one of W in its column of dX. */
static void unusual_values_show_where_they_are(void **state)
{
    (void)state;
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const int64_t axes[] = {37, 35, 41};
    for (int d = 0; d < DTYPES; d++)
        for (int32_t input = 0; input < 3; input++)
            for (int v = 0; v < 3; v++) {
                if (left_out(1))
                    continue;
                struct bed b;
                bed_create(&b, dtypes[d], "bias", axes, false, 9);
                put(&b, input, assay_tensor_count(&b.problem.inputs[input]) / 2 + 3, values[v]);
                bed_settle(&b, false);
                every_kernel(&b, 1, true, false, "unusual values");
                bed_destroy(&b);
            }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The same bits each time for the same number of threads, and dbias for any. */
static void the_same_bits_each_time(void **state)
{
    (void)state;
    const int64_t axes[] = {1100, 71, 150};
    for (int d = 0; d < DTYPES; d++) {
        struct bed b;
        bed_create(&b, dtypes[d], "bias", axes, false, 5);
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            uint64_t sums = 0;
            for (b.problem.threads = 1; b.problem.threads <= 3; b.problem.threads++) {
                uint64_t first[3] = {0};
                for (int again = 0; again < 3 && is_native(kernel) && takes(kernel, &b.problem);
                     again++) {
                    run(kernel, &b);
                    for (int k = 0; k < 3; k++) {
                        uint64_t bits = assay_tensor_checksum(b.out[k].data, b.out[k].bytes);
                        if (again > 0 && bits != first[k])
                            fail_msg("%s: other bits in output %d", kernel->name, k);
                        first[k] = bits;
                    }
                    if (sums && first[2] != sums)
                        fail_msg("%s: dbias depends on threads", kernel->name);
                    sums = first[2];
                }
            }
        }
        bed_destroy(&b);
    }
}

/* Seven calls over three sets with different values, W among them: what one call packed must not
 * serve the next. */
static void every_call_takes_its_own_operands(void **state)
{
    (void)state;
    const int64_t axes[] = {33, 40, 37};
    for (int d = 0; d < DTYPES; d++) {
        struct bed b[3];
        struct assay_args sets[3];
        for (int i = 0; i < 3; i++) {
            bed_create(&b[i], dtypes[d], "bias", axes, false, (uint64_t)i + 50);
            sets[i] = (struct assay_args){.in = b[i].in_data, .out = b[i].out_data};
        }
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            void *own = NULL;
            if (!takes(kernel, &b[0].problem))
                continue;
            struct assay_work work = {.iters = 7, .first = 1, .n_sets = 3, .sets = sets};
            for (int k = 0; k < 3; k++)
                poison(&b[k]);
            assert_int_equal(kernel->setup(&b[0].problem, &own, NULL), ASSAY_OK);
            assert_int_equal(kernel->run(own, &work), ASSAY_OK);
            kernel->teardown(own);
            for (int k = 0; k < 3; k++)
                judge(kernel, &b[k], false, "one of three sets");
        }
        for (int i = 0; i < 3; i++)
            bed_destroy(&b[i]);
    }
}

/* Setting up without memory is an error, and leaks nothing (the leak checker sees to that). */
static void without_memory_there_is_no_state(void **state)
{
    (void)state;
    const int64_t axes[] = {40, 40, 40};
    for (int d = 0; d < DTYPES; d++) {
        struct assay_problem p;
        assert_int_equal(assay_op_problem(op, dtypes[d], "bias", axes, 1, &p, NULL), ASSAY_OK);
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            for (int64_t nth = 1; nth <= 7 && is_native(kernel) && takes(kernel, &p); nth++) {
                void *own = NULL;
                assay_alloc_fail_after(nth);
                enum assay_status status = kernel->setup(&p, &own, NULL);
                assay_alloc_fail_after(0);
                assert_int_equal(status, nth <= 6 ? ASSAY_ERR_NOMEM : ASSAY_OK);
                if (own)
                    kernel->teardown(own);
            }
        }
    }
}

/* The matrix unit takes no product of fewer rows than it is worth while for. */
static void few_rows_are_refused(void **state)
{
    (void)state;
    const int64_t few_n[] = {64, 64, 3}, few_m[] = {3, 64, 64};
    const struct assay_kernel *kernel = assay_kernel_find(registry, "linear_backward_amx");
    struct assay_error why = {0};
    struct assay_problem p;
    if (assay_kernel_can_run(kernel, NULL, NULL) != ASSAY_OK)
        skip();
    assay_op_problem(op, ASSAY_DTYPE_BF16, "", few_n, 1, &p, NULL);
    assert_int_equal(assay_kernel_can_run(kernel, &p, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "for products of 4 rows and more");
    assay_op_problem(op, ASSAY_DTYPE_BF16, "dx", few_n, 1, &p, NULL);
    assert_int_equal(assay_kernel_can_run(kernel, &p, NULL), ASSAY_OK);
    assay_op_problem(op, ASSAY_DTYPE_BF16, "dw", few_m, 1, &p, NULL);
    assert_int_equal(assay_kernel_can_run(kernel, &p, NULL), ASSAY_OK);
}

static int begin(void **state)
{
    (void)state;
    registry = assay_kernel_registry_create();
    op = assay_op_find("linear_backward");
    return registry && op ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    assay_kernel_registry_destroy(registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_the_reference),
        cmocka_unit_test(gradients_of_larger_ones_agree),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(unusual_values_show_where_they_are),
        cmocka_unit_test(the_same_bits_each_time),
        cmocka_unit_test(every_call_takes_its_own_operands),
        cmocka_unit_test(without_memory_there_is_no_state),
        cmocka_unit_test(few_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
