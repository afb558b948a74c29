/* test_kernels.c: every registered kernel that can run here against its op's reference, over many
 * shapes, numbers of threads and kinds of values; nothing outside the tensors is touched.
 *
 * Each tensor has its own mapping, which ends in an inaccessible page; the bytes between a tensor
 * and its page's bounds hold a pattern that is checked.
 *
 * TEST_FILTER='relu: *' runs the tests with such a name alone. */
#include "unit.h"

#include "base/alloc.h"
#include "device/cpu/cpu_info.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"
#include "quant/quant.h"

#include <glob.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef ASSAY_SOURCE_DIR
#define ASSAY_SOURCE_DIR "."
#endif

enum { PAGE = 4096, ALIGN = 64, GUARD = 0xC3, MAX_THREADS = 3 };

static assay_kernel_registry *registry;

/* A tensor's memory: [untouchable page][guard … data … guard][untouchable page]. */
struct fenced {
    unsigned char *map, *data;
    size_t map_bytes, bytes;
};

static struct fenced fenced_create(size_t bytes)
{
    size_t padded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    size_t middle = (padded + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.map_bytes = middle + 2 * PAGE, .bytes = bytes};
    f.map = mmap(NULL, f.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + PAGE, middle, PROT_READ | PROT_WRITE), 0);
    f.data = f.map + PAGE + middle - padded;
    memset(f.map + PAGE, GUARD, middle);
    return f;
}

static void fenced_destroy(struct fenced *f) { munmap(f->map, f->map_bytes); }

/* The first guard byte that is no longer what it was, as a distance from the data; 0 if none. */
static ptrdiff_t fenced_damage(const struct fenced *f)
{
    for (const unsigned char *p = f->map + PAGE; p < f->map + f->map_bytes - PAGE; p++) {
        if (p == f->data)
            p += f->bytes;
        if (p < f->map + f->map_bytes - PAGE && *p != GUARD)
            return p - f->data;
    }
    return 0;
}

/* One set of operands and the right outputs. */
struct operands {
    struct fenced in[ASSAY_MAX_INPUTS], out[ASSAY_MAX_OUTPUTS];
    const void *in_data[ASSAY_MAX_INPUTS];
    void *out_data[ASSAY_MAX_OUTPUTS];
    uint64_t checksum[ASSAY_MAX_INPUTS];
    double *expected[ASSAY_MAX_OUTPUTS], *sizes[ASSAY_MAX_OUTPUTS];
    int64_t count[ASSAY_MAX_OUTPUTS];
};

/* An output from what the inputs hold now, or from what a recipe makes of them. */
static void settle_output(struct operands *o, const struct assay_op *op,
                          const struct assay_problem *p, int32_t k)
{
    struct assay_problem plain = *p;
    void *made[ASSAY_MAX_INPUTS] = {0};
    const void *in[ASSAY_MAX_INPUTS];
    const struct assay_tensor *t = &p->outputs[k];
    int64_t length = t->dims[t->rank - 1];
    if (op->dequantised)
        assert_int_equal(op->dequantised(p, o->in_data, k, &plain, made, NULL), ASSAY_OK);
    for (int32_t i = 0; i < p->n_inputs; i++)
        in[i] = made[i] ? made[i] : o->in_data[i];
#pragma omp parallel for schedule(static) num_threads(2) if (o->count[k] > 100000)
    for (int64_t row = 0; row < o->count[k] / length; row++)
        assay_op_reference(op, &plain, k, in, row, 0, length, o->expected[k] + row * length,
                           o->sizes[k] + row * length);
    for (int32_t i = 0; i < p->n_inputs; i++)
        assay_free(made[i]);
}

static void operands_settle(struct operands *o, const struct assay_op *op,
                            const struct assay_problem *p)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        o->checksum[i] = assay_tensor_checksum(o->in[i].data, o->in[i].bytes);
    for (int32_t k = 0; k < p->n_outputs; k++)
        settle_output(o, op, p, k);
}

static void operands_create(struct operands *o, const struct assay_op *op,
                            const struct assay_problem *p, uint64_t seed)
{
    memset(o, 0, sizeof *o);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        o->in[i] = fenced_create(assay_tensor_bytes(&p->inputs[i]));
        o->in_data[i] = o->in[i].data;
        assay_op_fill(op, p, i, o->in[i].data, seed);
    }
    for (int32_t k = 0; k < p->n_outputs; k++) {
        o->out[k] = fenced_create(assay_tensor_bytes(&p->outputs[k]));
        o->out_data[k] = o->out[k].data;
        o->count[k] = assay_tensor_count(&p->outputs[k]);
        o->expected[k] = calloc((size_t)o->count[k], sizeof *o->expected[k]);
        o->sizes[k] = calloc((size_t)o->count[k], sizeof *o->sizes[k]);
        assert_non_null(o->expected[k]);
        assert_non_null(o->sizes[k]);
    }
    operands_settle(o, op, p);
}

static void operands_destroy(struct operands *o, const struct assay_problem *p)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        fenced_destroy(&o->in[i]);
    for (int32_t k = 0; k < p->n_outputs; k++) {
        fenced_destroy(&o->out[k]);
        free(o->expected[k]);
        free(o->sizes[k]);
    }
}

/* 0xff is NaN in every float type: an element nobody writes is seen. As s32 it is -1, so there it
 * is 0x80, which no sum comes near. */
static void operands_poison(struct operands *o, const struct assay_problem *p)
{
    for (int32_t k = 0; k < p->n_outputs; k++) {
        bool is_float = assay_dtype_info(p->outputs[k].dtype)->is_float;
        memset(o->out[k].data, is_float ? 0xff : 0x80, o->out[k].bytes);
    }
}

static bool is_of(const struct assay_kernel *kernel, const char *implementation)
{
    return strcmp(kernel->implementation, implementation) == 0;
}

/* The op's tolerance; more only for libraries, whose exactness is not for these tests to demand. */
static struct assay_tolerance tolerance_of(const struct assay_kernel *kernel,
                                           const struct assay_op *op, const struct assay_problem *p,
                                           int32_t output)
{
    struct assay_tolerance tolerance = assay_op_tolerance(op, p, output);
    if (!is_of(kernel, "native") && !is_of(kernel, "ref")) /* a library need not be as exact */
        tolerance.relative *= 16, tolerance.absolute *= 16, tolerance.summed *= 16;
    return tolerance;
}

static void check_within(const struct assay_kernel *kernel, const struct assay_problem *p,
                         const struct operands *o, int32_t output, struct assay_tolerance tolerance,
                         const char *what)
{
    struct assay_comparison comparison;
    const struct fenced *out = &o->out[output];
    assay_comparison_init(&comparison, tolerance);
    assay_comparison_add_sums(&comparison, p->outputs[output].dtype, out->data, 0,
                              o->expected[output], o->sizes[output], o->count[output]);
    if (comparison.mismatches)
        fail_msg("%s %s %s %lldx%lldx%lld, %d threads, %s: output %d: %lld of %lld wrong; element "
                 "%lld is %.9g, should be %.9g",
                 kernel->name, p->recipe ? p->recipe : "", assay_dtype_name(p->dtype),
                 (long long)p->axes[0], (long long)p->axes[1], (long long)p->axes[2], p->threads,
                 what, output, (long long)comparison.mismatches, (long long)comparison.compared,
                 (long long)comparison.first_mismatch, comparison.first_got, comparison.first_ref);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (assay_tensor_checksum(o->in[i].data, o->in[i].bytes) != o->checksum[i])
            fail_msg("%s changed its input %d", kernel->name, i);
        if (fenced_damage(&o->in[i]))
            fail_msg("%s wrote near its input %d", kernel->name, i);
    }
    if (fenced_damage(out))
        fail_msg("%s %s %lldx%lldx%lld wrote at byte %lld of an output of %zu", kernel->name,
                 assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)p->axes[1],
                 (long long)p->axes[2], (long long)fenced_damage(out), out->bytes);
}

static void check(const struct assay_kernel *kernel, const struct assay_op *op,
                  const struct assay_problem *p, const struct operands *o, const char *what)
{
    for (int32_t k = 0; k < p->n_outputs; k++)
        check_within(kernel, p, o, k, tolerance_of(kernel, op, p, k), what);
}

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                const struct assay_work *work)
{
    void *state = NULL;
    struct assay_error err = {0};
    if (kernel->setup && kernel->setup(p, &state, &err) != ASSAY_OK)
        fail_msg("%s: setup: %s", kernel->name, err.message);
    for (int64_t set = 0; set < work->n_sets && kernel->prepare; set++)
        if (kernel->prepare(state, set, &work->sets[set], &err) != ASSAY_OK)
            fail_msg("%s: prepare: %s", kernel->name, err.message);
    assert_int_equal(kernel->run(state, work), ASSAY_OK);
    if (kernel->teardown)
        kernel->teardown(state);
}

static void run_once(const struct assay_kernel *kernel, const struct assay_problem *p,
                     struct operands *o)
{
    struct assay_args args = {.in = o->in_data, .out = o->out_data};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    operands_poison(o, p);
    run(kernel, p, &work);
}

static struct assay_problem problem_of(const struct assay_op *op, enum assay_dtype dtype,
                                       int64_t batch, int64_t seq, int64_t dim)
{
    struct assay_problem p;
    int64_t axes[ASSAY_MAX_AXES] = {batch, seq, dim, 1, 1, 1, 1, 1};
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 1, &p, NULL), ASSAY_OK);
    return p;
}

/* Code that a library generates while it runs crashes the leak checker; under ASan only assay's own
 * kernels are run. */
enum { LIBRARIES = !HAVE_ASAN };

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    if (!LIBRARIES && !is_of(kernel, "native") && !is_of(kernel, "ref"))
        return false;
    return strcmp(kernel->op, p->op) == 0 && strcmp(kernel->device, "cpu") == 0 &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* Every kernel of the op on one problem, with 1 … max_threads threads. */
static void every_kernel(const struct assay_op *op, struct assay_problem *p, struct operands *o,
                         const char *implementation, int32_t max_threads, const char *what)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (p->threads = 1; p->threads <= max_threads; p->threads++) {
            if (!takes(kernel, p) || (implementation && !is_of(kernel, implementation)))
                continue;
            run_once(kernel, p, o);
            check(kernel, op, p, o, what);
        }
    }
    p->threads = 1;
}

/* read and copy move bytes, whatever they mean: values are all the same to them, and so are two
 * dtypes of one size. Not tried twice, because their setup finds out which loop is the fastest,
 * which takes time. */
static bool moves_bytes(const struct assay_op *op)
{
    return strcmp(op->name, "read") == 0 || strcmp(op->name, "copy") == 0;
}

static bool is_tried(const struct assay_op *op, enum assay_dtype dtype)
{
    return !moves_bytes(op) || dtype != ASSAY_DTYPE_F16;
}

/* ------------------------------------------------------------------------------------------------
 * Shapes */

static void test_shapes(void **state)
{
    static const int64_t shapes[][3] = {{2, 3, 1},
                                        {3, 1, 2},
                                        {2, 3, 3},
                                        {1, 7, 5},
                                        {2, 3, 7},
                                        {2, 2, 8},
                                        {2, 3, 15},
                                        {1, 5, 16},
                                        {2, 3, 17},
                                        {2, 3, 31},
                                        {1, 5, 33},
                                        {2, 3, 63},
                                        {2, 2, 64},
                                        {1, 7, 65},
                                        {1, 3, 127},
                                        {1, 5, 129},
                                        {2, 3, 768},
                                        {1, 3, 1000},
                                        {1, 3, 1031},
                                        {1, 2, 4099},
                                        {1, 1, 1},
                                        {1, 1, 8192},
                                        {1, 2, 8193},
                                        {1, 2, 20011},
                                        /* large enough that threads share the work */
                                        {1, 50021, 1},
                                        {16411, 1, 3},
                                        {7, 11, 768},
                                        {1, 61, 1031},
                                        {1, 4, 12301},
                                        {1, 1, 50021}};
    const struct assay_op *op = *state;
    for (int d = 0; d < N_DTYPES; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            struct assay_problem p =
                problem_of(op, dtypes[d], shapes[s][0], shapes[s][1], shapes[s][2]);
            int32_t threads = shapes[s][0] * shapes[s][1] * shapes[s][2] > 40000 ? 2 : 1;
            if (shapes[s][2] == 768)
                threads = MAX_THREADS;
            if (!is_tried(op, dtypes[d]) || left_out(threads))
                continue;
            struct operands o;
            operands_create(&o, op, &p, s + 1);
            every_kernel(op, &p, &o, NULL, threads, "filled");
            operands_destroy(&o, &p);
        }
}

/* Outputs larger than the L2 cache: the kernels stream their stores. Rows that do not begin on a
 * cache line, rows shorter than one, and rows that fit. */
static void test_large(void **state)
{
    static const int64_t dims[] = {1031, 9, 256};
    const struct assay_op *op = *state;
    size_t l2 = assay_cpu_info()->l2_bytes ? assay_cpu_info()->l2_bytes : (size_t)1 << 20;
    if (l2 > (size_t)4 << 20)
        l2 = (size_t)4 << 20;
    for (int d = 0; d < N_DTYPES; d++)
        for (size_t s = 0; s < sizeof dims / sizeof dims[0]; s++) {
            int64_t row_bytes = dims[s] * (int64_t)assay_dtype_bytes(dtypes[d]);
            struct assay_problem p =
                problem_of(op, dtypes[d], 1, (int64_t)l2 / row_bytes + 2, dims[s]);
            if (!is_tried(op, dtypes[d]) || left_out(1) ||
                assay_op_rows(&p) == 1) /* a loss writes one number */
                continue;
            struct operands o;
            operands_create(&o, op, &p, s + 100);
            every_kernel(op, &p, &o, "native", 1, "streamed");
            operands_destroy(&o, &p);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Values */

/* Behind the gradient of a loss, which is one number. */
static int32_t first_of_rows(const struct assay_problem *p)
{
    return assay_tensor_count(&p->inputs[0]) == 1 && p->n_inputs > 1;
}

static void put(const struct assay_problem *p, struct operands *o, int64_t at, double value)
{
    assay_dtype_store(p->dtype, &value, o->in[first_of_rows(p)].data, at, 1);
}

static const double unusual[] = {(double)NAN,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 -0.0,
                                 0,
                                 100,
                                 -100,
                                 88.5,
                                 -87,
                                 -5.5,
                                 -5.6,
                                 20,
                                 -20,
                                 6e4, /* and, not for f16 or mse: */
                                 1e30,
                                 -1e30, /* and not for gradients, which are multiplied: */
                                 3e38,
                                 -3e38};
enum { N_UNUSUAL = sizeof unusual / sizeof unusual[0], N_HUGE = 4, N_LARGEST = 2 };

/* Row 3 v + k gets one unusual value, v, as its first, middle or last element. */
static void put_unusual(const struct assay_problem *p, struct operands *o, int64_t row,
                        double value)
{
    int64_t dim = p->axes[2];
    const int64_t places[] = {0, dim / 2, dim - 1};
    put(p, o, row * dim + places[row % 3], value);
}

static bool is_loss(const struct assay_op *op)
{
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 2, 2, 2);
    return assay_tensor_count(&p.outputs[0]) == 1;
}

/* Only assay's own kernels: what a library makes of NaN is its own affair. */
static void values_in_rows(const struct assay_op *op, enum assay_dtype dtype, int64_t dim)
{
    int n = dtype == ASSAY_DTYPE_F16                   ? N_UNUSUAL - N_HUGE
            : assay_op_pass(op) == ASSAY_PASS_BACKWARD ? N_UNUSUAL - N_LARGEST
                                                       : N_UNUSUAL;
    struct assay_problem p = problem_of(op, dtype, n, 3, dim);
    struct operands o;
    operands_create(&o, op, &p, 7);
    for (int64_t row = 0; row < 3 * n; row++)
        put_unusual(&p, &o, row, unusual[row / 3]);
    operands_settle(&o, op, &p);
    every_kernel(op, &p, &o, "native", 1, "unusual values");
    operands_destroy(&o, &p);
}

/* A loss has one output for all rows: one value at a time, in the middle one of three rows. */
static void values_one_by_one(const struct assay_op *op, enum assay_dtype dtype, int64_t dim)
{
    bool no_huge =
        dtype == ASSAY_DTYPE_F16 || strcmp(op->name, "mse") == 0; /* squares: not floats */
    struct assay_problem p = problem_of(op, dtype, 1, 3, dim);
    for (int v = 0; v < (no_huge ? N_UNUSUAL - N_HUGE : N_UNUSUAL); v++) {
        struct operands o;
        operands_create(&o, op, &p, 7);
        put_unusual(&p, &o, 1, unusual[v]);
        operands_settle(&o, op, &p);
        every_kernel(op, &p, &o, "native", 1, "an unusual value");
        operands_destroy(&o, &p);
    }
}

static void test_values(void **state)
{
    const struct assay_op *op = *state;
    for (int d = 0; d < N_DTYPES && !moves_bytes(op); d++)
        for (int64_t dim = 1; dim < 200; dim = dim * 3 + 1)
            if (!left_out(1))
                (is_loss(op) ? values_one_by_one : values_in_rows)(op, dtypes[d], dim);
}

/* A whole row of one unusual value, and rows of two. */
static void test_value_rows(void **state)
{
    static const double pairs[][2] = {{(double)NAN, (double)NAN},
                                      {-(double)INFINITY, -(double)INFINITY},
                                      {(double)INFINITY, (double)INFINITY},
                                      {(double)INFINITY, -(double)INFINITY},
                                      {-(double)INFINITY, (double)NAN},
                                      {0, 0},
                                      {-3, -3},
                                      {1, -(double)INFINITY}};
    const struct assay_op *op = *state;
    for (int d = 0; d < N_DTYPES && !moves_bytes(op); d++)
        for (int64_t dim = 1; dim < 10000; dim = dim * 9 + 4)
            for (size_t v = 0; v < sizeof pairs / sizeof pairs[0]; v++) {
                struct assay_problem p = problem_of(op, dtypes[d], 1, 3, dim);
                struct operands o;
                if (left_out(1))
                    continue;
                operands_create(&o, op, &p, 11);
                for (int64_t i = 0; i < dim; i++) /* the first half one, the second the other */
                    put(&p, &o, dim + i, pairs[v][i > dim / 2]);
                operands_settle(&o, op, &p);
                every_kernel(op, &p, &o, "native", 1, "a row of unusual values");
                operands_destroy(&o, &p);
            }
}

/* Every 16-bit pattern, and many floats, through the ops of one element. */
static void test_sweep(void **state)
{
    const struct assay_op *op = *state;
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 1, 100003);
    if (HAVE_TSAN || p.n_inputs != 1 || strcmp(op->name, "softmax") == 0)
        return;
    struct operands o;
    operands_create(&o, op, &p, 13);
    for (int64_t i = 0; i < p.axes[2]; i++) /* from -12 to 12, denser around 0 */
        put(&p, &o, i, 12 * pow((double)(i - 50001) / 50001, 3));
    operands_settle(&o, op, &p);
    every_kernel(op, &p, &o, "native", 1, "swept");
    operands_destroy(&o, &p);
    for (int d = 1; d < N_DTYPES; d++) {
        p = problem_of(op, dtypes[d], 1, 1, 65536);
        operands_create(&o, op, &p, 13);
        for (int64_t i = 0; i < 65536; i++)
            ((uint16_t *)(void *)o.in[0].data)[i] = (uint16_t)i;
        operands_settle(&o, op, &p);
        every_kernel(op, &p, &o, "native", 1, "all bit patterns");
        operands_destroy(&o, &p);
    }
}

/* Rows far from 0 against their spread, and with one value far from the others. */
static void test_offsets(void **state)
{
    static const double offsets[] = {100, -100, 1000, 1e4};
    const struct assay_op *op = *state;
    for (int d = 0; d < N_DTYPES && !moves_bytes(op); d++)
        for (int64_t dim = 2; dim < 5000; dim = dim * 5 + 3)
            for (size_t v = 0; v < sizeof offsets / sizeof offsets[0]; v++) {
                struct assay_problem p = problem_of(op, dtypes[d], 1, 3, dim);
                struct operands o;
                if (left_out(1))
                    continue;
                operands_create(&o, op, &p, 17);
                for (int64_t i = 0; i < dim; i++) {
                    double x;
                    assay_dtype_load(p.dtype, o.in[first_of_rows(&p)].data, i, 1, &x);
                    put(&p, &o, i, x + offsets[v]);
                }
                put(&p, &o, dim, offsets[v]);
                operands_settle(&o, op, &p);
                every_kernel(op, &p, &o, "native", 1, "offset");
                operands_destroy(&o, &p);
            }
}

/* ------------------------------------------------------------------------------------------------
 * Calling */

/* Seven calls over three sets of operands, beginning with the second: all three outputs. */
static void test_rotation(void **state)
{
    const struct assay_op *op = *state;
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 3, 37, 311);
    struct operands o[3];
    struct assay_args sets[3];
    for (int i = 0; i < 3; i++) {
        operands_create(&o[i], op, &p, (uint64_t)i + 23);
        sets[i] = (struct assay_args){.in = o[i].in_data, .out = o[i].out_data};
    }
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        for (p.threads = 1; p.threads <= 2; p.threads++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            if (!takes(kernel, &p))
                continue;
            for (int k = 0; k < 3; k++)
                operands_poison(&o[k], &p);
            run(kernel, &p,
                &(struct assay_work){.iters = 7, .first = 1, .n_sets = 3, .sets = sets});
            for (int k = 0; k < 3; k++)
                check(kernel, op, &p, &o[k], "one of three sets");
        }
    for (int i = 0; i < 3; i++)
        operands_destroy(&o[i], &p);
}

/* The same output, bit for bit, each time for the same number of threads. */
static void test_repeats(void **state)
{
    const struct assay_op *op = *state;
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 97, 1031);
    struct operands o;
    operands_create(&o, op, &p, 29);
    p.threads = 2;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, &p) || !is_of(kernel, "native"))
            continue;
        uint64_t first[ASSAY_MAX_OUTPUTS];
        run_once(kernel, &p, &o);
        for (int32_t k = 0; k < p.n_outputs; k++)
            first[k] = assay_tensor_checksum(o.out[k].data, o.out[k].bytes);
        run_once(kernel, &p, &o);
        for (int32_t k = 0; k < p.n_outputs; k++)
            if (assay_tensor_checksum(o.out[k].data, o.out[k].bytes) != first[k])
                fail_msg("%s gives another answer the second time", kernel->name);
    }
    operands_destroy(&o, &p);
}

/* Setting up without memory is an error, and leaks nothing (the leak checker sees to that). */
static void test_no_memory(void **state)
{
    const struct assay_op *op = *state;
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 2, 3);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, &p) || !is_of(kernel, "native"))
            continue;
        for (int64_t nth = 1; nth <= 2; nth++) {
            void *kernel_state = NULL;
            assay_alloc_fail_after(nth);
            enum assay_status status = kernel->setup(&p, &kernel_state, NULL);
            assay_alloc_fail_after(0);
            assert_int_equal(status, ASSAY_ERR_NOMEM);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Properties */

static void test_softmax_sums_to_one(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("softmax");
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 5, 1031);
    struct operands o;
    operands_create(&o, op, &p, 31);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, &p))
            continue;
        run_once(kernel, &p, &o);
        for (int64_t row = 0; row < 5; row++) {
            double sum = 0;
            for (int64_t j = 0; j < 1031; j++)
                sum += (double)((const float *)(const void *)o.out[0].data)[row * 1031 + j];
            if (!(fabs(sum - 1) <= 1e-6))
                fail_msg("%s: a row sums to %.9g", kernel->name, sum);
        }
    }
    operands_destroy(&o, &p);
}

static void test_layernorm_of_constant_is_beta(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("layernorm");
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 1, 777);
    struct operands o;
    operands_create(&o, op, &p, 37);
    for (int64_t i = 0; i < 777; i++)
        put(&p, &o, i, 100.3);
    operands_settle(&o, op, &p);
    const float *beta = (const void *)o.in[2].data, *out = (const void *)o.out[0].data;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, &p) || !is_of(kernel, "native"))
            continue;
        run_once(kernel, &p, &o);
        for (int64_t j = 0; j < 777; j++)
            if (!(fabsf(out[j] - beta[j]) <= 1e-6f))
                fail_msg("%s: %.9g where beta is %.9g", kernel->name, (double)out[j],
                         (double)beta[j]);
    }
    operands_destroy(&o, &p);
}

/* ------------------------------------------------------------------------------------------------
 * linear: other axes, weights that are prepared, and a recipe for them */

static const char *const recipes[] = {"baseline",        "int8wo",         "int8dq",
                                      "int4wo-32",       "int4wo-128-hqq", "float8wo",
                                      "float8dq-tensor", "float8dq-row",   "gemlitewo-8-64"};
enum { N_RECIPES = sizeof recipes / sizeof recipes[0] };

static const int64_t linear_shapes[][3] = {
    {1, 1, 1},     {1, 300, 40}, {40, 300, 1},  {1, 64, 16},   {2, 31, 15},   {3, 32, 17},
    {4, 33, 33},   {5, 63, 31},  {7, 64, 40},   {8, 65, 8},    {15, 96, 2},   {16, 128, 32},
    {16, 256, 16}, {17, 129, 3}, {31, 256, 39}, {32, 128, 32}, {33, 192, 40}, {40, 7, 40},
    {39, 300, 37}, {1, 2, 3},    {40, 288, 1}};

static struct assay_problem linear_of(enum assay_dtype dtype, const char *mode, int64_t m,
                                      int64_t k, int64_t n)
{
    struct assay_problem p;
    int64_t axes[ASSAY_MAX_AXES] = {m, k, n};
    assert_int_equal(assay_op_problem(assay_op_find("linear"), dtype, mode, axes, 1, &p, NULL),
                     ASSAY_OK);
    return p;
}

static bool recipe_fits(struct assay_problem *p, const char *name)
{
    struct assay_recipe recipe;
    p->recipe = name;
    assert_int_equal(assay_recipe_parse(name, &recipe, NULL), ASSAY_OK);
    return assay_recipe_fits(&recipe, p->dtype, p->axes[ASSAY_LINEAR_K], NULL) == ASSAY_OK;
}

static void linear_every_kernel(struct assay_problem *p, int32_t max_threads, const char *what)
{
    const struct assay_op *op = assay_op_find("linear");
    struct operands o;
    if (left_out(max_threads))
        return;
    operands_create(&o, op, p, (uint64_t)(p->axes[0] + p->axes[1]));
    every_kernel(op, p, &o, NULL, max_threads, what);
    operands_destroy(&o, p);
}

static void test_linear_shapes(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof linear_shapes / sizeof linear_shapes[0]; s++)
        for (int d = 0; d < N_DTYPES + 1; d++)
            for (int r = 0; r < N_RECIPES; r++) {
                const int64_t *shape = linear_shapes[s];
                enum assay_dtype dtype = d < N_DTYPES ? dtypes[d] : ASSAY_DTYPE_S8;
                struct assay_problem p = linear_of(dtype, NULL, shape[0], shape[1], shape[2]);
                if (recipe_fits(&p, recipes[r]))
                    linear_every_kernel(&p, shape[0] == 33 ? MAX_THREADS : 1, "filled");
            }
}

/* Wide weights, of which threads take a part each, and all rows of x. */
static void test_linear_threads_cut_weights(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{260, 64, 1024}, {129, 96, 1000}, {70, 64, 830}};
    static const char *const some[] = {"baseline", "int8wo", "int4wo-32"};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int r = 0; r < 3; r++) {
            struct assay_problem p =
                linear_of(ASSAY_DTYPE_BF16, NULL, shapes[s][0], shapes[s][1], shapes[s][2]);
            assert_true(recipe_fits(&p, some[r]));
            linear_every_kernel(&p, MAX_THREADS, "filled");
        }
}

static void test_linear_modes(void **state)
{
    (void)state;
    static const char *const modes[] = {"bias",      "bias+relu", "relu6",     "bias+gelu", "silu",
                                        "bias+silu", "sigmoid",   "leakyrelu", "hardswish"};
    static const char *const some[] = {"baseline", "int8dq", "int4wo-32", "float8wo"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (int d = 0; d < N_DTYPES; d++)
            for (int r = 0; r < 4; r++) {
                struct assay_problem p = linear_of(dtypes[d], modes[i], 19, 96, 37);
                assert_true(recipe_fits(&p, some[r]));
                linear_every_kernel(&p, 1, modes[i]);
            }
}

/* A norm before and a residual behind: m, k and n of these in turns, so that rows are cut and not,
 * tiles are whole and not, and threads share rows or not. k that no group divides comes with the
 * recipes that have none. */
static void test_linear_norms_and_residuals(void **state)
{
    (void)state;
    static const char *const modes[] = {"ln",           "rms",           "add",      "ln+gelu",
                                        "rms+silu+add", "bias+gelu+add", "bias+rms", "relu+add"};
    static const char *const all[] = {"baseline",     "int8wo",        "int8dq",
                                      "int4wo-32",    "float8wo",      "float8dq-tensor",
                                      "float8dq-row", "gemlitewo-8-32"};
    static const int64_t ms[] = {1, 3, 17, 33, 65, 130}, ks[] = {32, 64, 96, 160, 33, 127},
                         ns[] = {1, 15, 16, 17, 48, 100};
    for (int i = 0; i < 8; i++)
        for (int d = 0; d < N_DTYPES; d++)
            for (int r = 0; r < 8; r++)
                for (int s = (i + d + r) % 2; s < 6; s += 2) { /* every other one, in turns */
                    struct assay_problem p = linear_of(
                        dtypes[d], modes[i], ms[s], ks[(s + i + r) % 6], ns[(s + 2 * i + d) % 6]);
                    if (recipe_fits(&p, all[r]))
                        linear_every_kernel(&p, 2, modes[i]);
                }
}

/* On integers every kernel gives the exact product, rounded once: bit for bit. */
static void check_exact(struct assay_problem *p)
{
    const struct assay_op *op = assay_op_find("linear");
    struct operands o;
    if (left_out(1))
        return;
    operands_create(&o, op, p, 1);
    for (int32_t i = 0; i < p->n_inputs; i++)
        op->fill_exact(p, i, o.in[i].data, (uint64_t)i + 41);
    operands_settle(&o, op, p);
    for (int64_t i = 0; i < o.count[0]; i++) {
        double rounded;
        assay_dtype_store(p->outputs[0].dtype, &o.expected[0][i], &rounded, 0, 1);
        assay_dtype_load(p->outputs[0].dtype, &rounded, 0, 1, &o.expected[0][i]);
    }
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, p))
            continue;
        run_once(kernel, p, &o);
        check_within(kernel, p, &o, 0, (struct assay_tolerance){0}, "integers");
    }
    operands_destroy(&o, p);
}

static void test_linear_integers(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 256, 33}, {5, 300, 40}, {33, 128, 17},
                                        {40, 64, 40}, {1, 64, 17},  {70, 96, 100}};
    static const char *const modes[] = {"bias",      "bias+relu", "bias",
                                        "bias+relu", "add",       "bias+relu+add"};
    for (int s = 0; s < 6; s++)
        for (int d = 0; d < N_DTYPES + 1; d++)
            for (int r = 0; r < N_RECIPES; r++) {
                const int64_t *shape = shapes[s];
                enum assay_dtype dtype = d < N_DTYPES ? dtypes[d] : ASSAY_DTYPE_S8;
                const char *mode = dtype == ASSAY_DTYPE_S8 ? "" : modes[s];
                struct assay_problem p = linear_of(dtype, mode, shape[0], shape[1], shape[2]);
                if (recipe_fits(&p, recipes[r]))
                    check_exact(&p);
            }
}

/* Three sets with different x and the same weights, as the harness has them; then set 0 comes with
 * other weights. */
static void test_linear_sets(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    for (int r = 0; r < 2 * N_RECIPES; r++) {
        const char *mode = r % 2 ? "bias+rms+add" : "bias";
        struct assay_problem p = linear_of(ASSAY_DTYPE_BF16, mode, 9, 256, 35);
        struct operands o[3], other;
        struct assay_args sets[3];
        assert_true(recipe_fits(&p, recipes[r / 2]));
        for (int i = 0; i < 3; i++) {
            operands_create(&o[i], op, &p, 7);
            assay_op_fill(op, &p, ASSAY_LINEAR_X, o[i].in[ASSAY_LINEAR_X].data, (uint64_t)i + 90);
            operands_settle(&o[i], op, &p);
            sets[i] = (struct assay_args){.in = o[i].in_data, .out = o[i].out_data};
        }
        operands_create(&other, op, &p, 8);
        struct assay_args again = {.in = other.in_data, .out = other.out_data};
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            void *kernel_state = NULL;
            if (!takes(kernel, &p))
                continue;
            assert_int_equal(kernel->setup(&p, &kernel_state, NULL), ASSAY_OK);
            for (int64_t set = 0; set < 3 && kernel->prepare; set++)
                assert_int_equal(kernel->prepare(kernel_state, set, &sets[set], NULL), ASSAY_OK);
            if (kernel->prepare)
                assert_true(kernel->prepared_bytes(kernel_state) > 0);
            for (int k = 0; k < 3; k++)
                operands_poison(&o[k], &p);
            struct assay_work work = {.iters = 7, .first = 1, .n_sets = 3, .sets = sets};
            assert_int_equal(kernel->run(kernel_state, &work), ASSAY_OK);
            for (int k = 0; k < 3; k++)
                check(kernel, op, &p, &o[k], "one of three sets");
            if (kernel->run_activations) { /* writes no output */
                operands_poison(&o[0], &p);
                uint64_t before = assay_tensor_checksum(o[0].out[0].data, o[0].out[0].bytes);
                assert_int_equal(kernel->run_activations(kernel_state, &work), ASSAY_OK);
                assert_true(assay_tensor_checksum(o[0].out[0].data, o[0].out[0].bytes) == before);
            }
            if (kernel->prepare)
                assert_int_equal(kernel->prepare(kernel_state, 0, &again, NULL), ASSAY_OK);
            operands_poison(&other, &p);
            work = (struct assay_work){.iters = 1, .n_sets = 1, .sets = &again};
            assert_int_equal(kernel->run(kernel_state, &work), ASSAY_OK);
            check(kernel, op, &p, &other, "prepared again");
            kernel->teardown(kernel_state);
        }
        for (int i = 0; i < 3; i++)
            operands_destroy(&o[i], &p);
        operands_destroy(&other, &p);
    }
}

/* A NaN or an infinity in one row of x shows in that row of y and in no other. */
static void test_linear_values(void **state)
{
    (void)state;
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const struct assay_op *op = assay_op_find("linear");
    for (int d = 0; d < N_DTYPES; d++)
        for (int64_t k = 1; k < 200; k = k * 5 + 2) {
            struct assay_problem p = linear_of(dtypes[d], NULL, 19, k, 33);
            struct operands o;
            p.recipe = "baseline";
            operands_create(&o, op, &p, 3);
            for (int v = 0; v < 3; v++)
                put(&p, &o, (5 * v + 2) * k + k / 2, values[v]);
            operands_settle(&o, op, &p);
            every_kernel(op, &p, &o, "native", 1, "unusual values");
            operands_destroy(&o, &p);
        }
}

/* The same holds with a norm; rows of a great mean keep their accuracy, and rows whose squares
 * overflow have a norm. */
static void test_linear_values_normalised(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    for (int d = 0; d < N_DTYPES; d++)
        for (int i = 0; i < 2; i++) {
            enum { K = 97 };
            struct assay_problem p = linear_of(dtypes[d], i ? "rms" : "ln", 19, K, 33);
            struct operands o;
            p.recipe = "baseline";
            operands_create(&o, op, &p, 3);
            put(&p, &o, 2 * K + 5, (double)NAN);
            put(&p, &o, 7 * K + 50, -(double)INFINITY);
            for (int64_t j = 0; j < K; j++) {
                put(&p, &o, 11 * K + j,
                    1000 + (double)(j % 7)); /* a mean 500 times the deviation */
                put(&p, &o, 13 * K + j, 0);
                put(&p, &o, 15 * K + j, (j % 5 - 2) * (dtypes[d] == ASSAY_DTYPE_F16 ? 3e4 : 1e30));
            }
            operands_settle(&o, op, &p);
            every_kernel(op, &p, &o, "native", 1, "unusual values, normalised");
            operands_destroy(&o, &p);
        }
}

/* A NaN anywhere in x is in the one scale of all of it. */
static void test_linear_nan_in_tensor(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "ln", "rms"};
    const struct assay_op *op = assay_op_find("linear");
    for (int d = 0; d < N_DTYPES; d++)
        for (int i = 0; i < 3; i++)
            for (int64_t row = 0; row < 19; row += 9) {
                struct assay_problem p = linear_of(dtypes[d], modes[i], 19, 40, 17);
                struct operands o;
                p.recipe = "float8dq-tensor";
                operands_create(&o, op, &p, 3);
                put(&p, &o, row * 40 + 7, (double)NAN);
                operands_settle(&o, op, &p);
                assert_true(isnan(o.expected[0][0]) && isnan(o.expected[0][o.count[0] - 1]));
                every_kernel(op, &p, &o, "native", 2, "a NaN in x");
                operands_destroy(&o, &p);
            }
}

/* Setting up and preparing without memory are errors, and leave nothing behind. */
static void test_linear_no_memory(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    for (int r = 0; r < N_RECIPES; r++) {
        struct assay_problem p = linear_of(ASSAY_DTYPE_BF16, NULL, 5, 128, 3);
        struct operands o;
        assert_true(recipe_fits(&p, recipes[r]) || strstr(recipes[r], "256"));
        operands_create(&o, op, &p, 1);
        struct assay_args args = {.in = o.in_data, .out = o.out_data};
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            if (!takes(kernel, &p) || !is_of(kernel, "native"))
                continue;
            enum assay_status status = ASSAY_ERR_NOMEM;
            for (int64_t nth = 1; status != ASSAY_OK; nth++) {
                void *kernel_state = NULL;
                assay_alloc_fail_after(nth);
                status = kernel->setup(&p, &kernel_state, NULL);
                bool set_up = status == ASSAY_OK;
                for (int64_t set = 0; set < 2 && status == ASSAY_OK; set++)
                    status = kernel->prepare(kernel_state, set, &args, NULL);
                assay_alloc_fail_after(0);
                if (status != ASSAY_OK)
                    assert_int_equal(status, ASSAY_ERR_NOMEM);
                if (set_up)
                    kernel->teardown(kernel_state);
                assert_true(nth < 50);
            }
        }
        operands_destroy(&o, &p);
    }
}

/* Of each file of `pattern` the kernels: its name without `suffix`, with each of `endings`. */
static void check_files_are_listed(const char *pattern, const char *suffix,
                                   const char *const *endings, size_t least)
{
    glob_t found;
    assert_int_equal(glob(pattern, GLOB_BRACE, NULL, &found), 0);
    assert_true(found.gl_pathc >= least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *base = strrchr(found.gl_pathv[i], '/') + 1;
        for (const char *const *ending = endings; *ending; ending++) {
            char name[128];
            int length = (int)(strlen(base) - strlen(suffix));
            snprintf(name, sizeof name, "%.*s%s", length, base, *ending);
            if (!assay_kernel_find(registry, name))
                fail_msg("%s has no line in kernel_list.h: there is no %s", base, name);
        }
    }
    globfree(&found);
}

/* A file of a kernel without its line in kernel_list.h is compiled and never used. */
static void test_every_file_is_listed(void **state)
{
    (void)state;
    static const char *const itself[] = {"", NULL};
    static const char *const each_isa[] = {"_portable", "_avx2", "_avx512", NULL};
    check_files_are_listed(ASSAY_SOURCE_DIR "/src/kernel/native/*/*_{avx2,avx512}.c", ".c", itself,
                           4);
    check_files_are_listed(ASSAY_SOURCE_DIR "/src/kernel/native/*/*_vec.c", "_vec.c", each_isa, 24);
}

static bool has_native(const struct assay_op *op)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, op->name) == 0 && strcmp(kernel->implementation, "native") == 0)
            return true;
    }
    return false;
}

/* The other way round: each op has native kernels, and the best that can run is chosen. A new op
 * may do with its reference; those there were before may not. */
static void test_every_op_has_native(void **state)
{
    (void)state;
    static const char *const native[] = {"native"};
    int64_t with_native = 0;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        if (!has_native(assay_op_at(i)))
            continue;
        with_native++;
        struct assay_problem p = problem_of(assay_op_at(i), ASSAY_DTYPE_BF16, 1, 1, 8);
        struct assay_kernel_choice choice = {
            .device = "cpu", .implementations = native, .n_implementations = 1};
        struct assay_contender contender[8];
        int64_t n = assay_kernel_choose(registry, &p, &choice, contender, 8);
        assert_int_equal(n, 1);
        assert_int_equal(contender[0].status, ASSAY_OK);
        /* More kernels: which is best is not only the CPU's, or it is one for the matrix unit, or
         * one that has all instruction sets. */
        if (assay_op_at(i)->takes_recipes || contender[0].kernel->units & ASSAY_UNIT_MATRIX ||
            strstr(contender[0].kernel->name, "_native"))
            continue;
        const char *best = assay_cpu_has(ASSAY_CPU_AVX512) ? "avx512"
                           : assay_cpu_has(ASSAY_CPU_AVX2) ? "avx2"
                                                           : "portable";
        assert_non_null(strstr(contender[0].kernel->name, best));
    }
    assert_true(with_native >= 27);
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } of_each_op[] = {
        {"shapes", test_shapes},         {"large", test_large},     {"values", test_values},
        {"value rows", test_value_rows}, {"sweep", test_sweep},     {"offsets", test_offsets},
        {"rotation", test_rotation},     {"repeats", test_repeats}, {"no memory", test_no_memory},
    };
    enum { N_EACH = sizeof of_each_op / sizeof of_each_op[0], MAX_TESTS = 1024 };
    static struct CMUnitTest tests[MAX_TESTS] = {
        cmocka_unit_test(test_every_file_is_listed),
        cmocka_unit_test(test_every_op_has_native),
        cmocka_unit_test(test_softmax_sums_to_one),
        cmocka_unit_test(test_layernorm_of_constant_is_beta),
        cmocka_unit_test(test_linear_shapes),
        cmocka_unit_test(test_linear_threads_cut_weights),
        cmocka_unit_test(test_linear_modes),
        cmocka_unit_test(test_linear_norms_and_residuals),
        cmocka_unit_test(test_linear_integers),
        cmocka_unit_test(test_linear_sets),
        cmocka_unit_test(test_linear_values),
        cmocka_unit_test(test_linear_values_normalised),
        cmocka_unit_test(test_linear_nan_in_tensor),
        cmocka_unit_test(test_linear_no_memory),
    };
    static char names[MAX_TESTS][48];
    size_t n = 0;
    while (tests[n].test_func)
        n++;
    /* Other ops have tests above or in files of their own. */
    for (int64_t i = 0; i < assay_op_count(); i++)
        for (int k = 0; k < N_EACH && n < MAX_TESTS && assay_op_is_of_rows(assay_op_at(i));
             k++, n++) {
            const struct assay_op *op = assay_op_at(i);
            snprintf(names[n], sizeof names[n], "%s: %s", op->name, of_each_op[k].name);
            /* cmocka's initial_state is not const; the tests only read it */
            void *initial;
            memcpy(&initial, &op, sizeof initial);
            tests[n] = (struct CMUnitTest){names[n], of_each_op[k].function, NULL, NULL, initial};
        }
    registry = assay_kernel_registry_create();
    omp_set_num_threads(1); /* of the references; kernels say how many they want */
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    int failed = _cmocka_run_group_tests("kernels", tests, n, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
