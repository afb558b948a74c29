/* test_attention.c: the op `attention`: its reference against values worked out by hand and against
 * a plain softmax of its own, its modes and cost; then every kernel that can run here, over
 * awkward shapes and values; and mistakes that the check must refuse. */
#include "contender.h"

#include "bench/verify.h"
#include "device/cpu/cpu_info.h"
#include "op/attention.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define LN3 1.09861228866810969140

static assay_kernel_registry *registry;
static const struct assay_op *op;
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};

static struct assay_problem problem_of(enum assay_dtype dtype, const char *mode, int64_t batch,
                                       int64_t seq, int64_t heads, int64_t dim)
{
    struct assay_problem p;
    const int64_t axes[] = {batch, seq, heads, dim};
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 1, &p, NULL), ASSAY_OK);
    return p;
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* One head of one element: scores 0 and ln 3 give 1/4 and 3/4. */
static void the_reference_gives_the_worked_values(void **state)
{
    (void)state;
    const double q[] = {1, 0}, k[] = {0, LN3}, v[] = {4, 8};
    const void *in[] = {q, k, v};
    double out[2];
    struct assay_problem p = problem_of(ASSAY_DTYPE_F64, NULL, 1, 2, 1, 1);
    op->reference(&p, in, 0, 0, 1, &out[0]);
    op->reference(&p, in, 1, 0, 1, &out[1]);
    assert_near(out[0], 7, 1e-12);
    assert_near(out[1], 6, 1e-12);
    p = problem_of(ASSAY_DTYPE_F64, "causal", 1, 2, 1, 1);
    op->reference(&p, in, 0, 0, 1, &out[0]);
    op->reference(&p, in, 1, 0, 1, &out[1]);
    assert_near(out[0], 4, 1e-12);
    assert_near(out[1], 6, 1e-12);
}

/* Two heads of four elements, all three in one tensor. Of the score 2 ln 3 the scale 1 / sqrt(4)
 * leaves ln 3. Head 1 has q = 0: the mean of its values. */
static void the_reference_reads_one_tensor_of_heads(void **state)
{
    (void)state;
    const double qkv[2][3][2][4] = {
        {{{2, 0, 0, 0}, {0}}, {{0}, {5, 5, 5, 5}}, {{4, 0, 8, 1}, {1, 2, 3, 4}}},
        {{{0, 0, 0, 1}, {0}}, {{LN3, 0, 0, 0}, {7, 7, 7, 7}}, {{8, 4, 0, 1}, {3, 2, 1, 0}}},
    };
    const double want[4][4] = {{7, 3, 2, 1}, {2, 2, 2, 2}, {6, 2, 4, 1}, {2, 2, 2, 2}};
    const void *in[] = {qkv};
    struct assay_problem p = problem_of(ASSAY_DTYPE_F64, "qkv", 1, 2, 2, 4);
    assert_int_equal(assay_op_rows(&p), 4);
    for (int64_t row = 0; row < 4; row++)
        for (int64_t first = 0; first < 4; first++) {
            double out[4];
            op->reference(&p, in, row, first, 4 - first, out);
            for (int64_t i = first; i < 4; i++)
                assert_near(out[i - first], want[row][i], 1e-12);
        }
}

static void modes_say_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        bool packed, causal;
    } modes[] = {{NULL, 0, 0},     {"", 0, 0},           {"none", 0, 0},      {"qkv", 1, 0},
                 {"CAUSAL", 0, 1}, {"qkv+causal", 1, 1}, {"causal+qkv", 1, 1}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, modes[i].mode, 2, 3, 5, 7);
        assert_int_equal(p.n_inputs, modes[i].packed ? 1 : 3);
        assert_int_equal(assay_tensor_count(&p.inputs[0]), (modes[i].packed ? 3 : 1) * 210);
        assert_int_equal(assay_tensor_count(&p.outputs[0]), 210);
        assert_int_equal(p.outputs[0].dims[3], 7);
        assert_true((p.params[ASSAY_ATTENTION_CAUSAL] != 0) == modes[i].causal);
        assert_true((p.params[ASSAY_ATTENTION_PACKED] != 0) == modes[i].packed);
    }
}

static void an_unknown_mode_suggests_the_nearest(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"casual", "\"causal\"?"},
                                           {"qkv+qkv", "\"qkv\"?"},
                                           {"causal+", "A mode is"},
                                           {"nothing-like-that-and-much-too-long", "\"causal\"?"}};
    const int64_t axes[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, wrong[i][0], axes, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_string_equal(err.where, "attention");
        assert_non_null(strstr(err.message, wrong[i][1]));
    }
}

static void its_other_name_is_sdpa(void **state)
{
    (void)state;
    const struct assay_op *found[2];
    int64_t n;
    assert_int_equal(assay_op_resolve("SDPA", found, 2, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 1);
    assert_ptr_equal(found[0], op);
}

/* 2 * 3 heads of 10 by 10 scores over 8 elements, two products: 4 * 6 * 100 * 8. */
static void it_costs_two_products(void **state)
{
    (void)state;
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, NULL, 2, 10, 3, 8);
    struct assay_cost cost = op->cost(&p);
    assert_near(cost.flops, 19200, 0);
    assert_near(cost.bytes_read, 3 * 480 * 2, 0);
    assert_near(cost.bytes_written, 480 * 2, 0);
    assert_int_equal(cost.math, ASSAY_MATH_BF16);
    p = problem_of(ASSAY_DTYPE_F32, "qkv+causal", 2, 10, 3, 8);
    cost = op->cost(&p);
    assert_near(cost.flops, 9600, 0);
    assert_near(cost.bytes_read, 3 * 480 * 4, 0);
    assert_int_equal(cost.math, ASSAY_MATH_F32);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    static const int64_t axes[] = {1, 1, INT64_C(1) << 62, 1};
    struct assay_problem p;
    struct assay_error err = {0};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "qkv", axes, 1, &p, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "too large"));
}

/* ---- mistakes -------------------------------------------------------------------------------- */

enum mistake {
    NONE,
    NO_SCALE,       /* 1 / sqrt(dim) is forgotten */
    OTHER_HEAD,     /* values of the next head */
    ONE_MORE,       /* causal, and one key too many */
    ONE_LESS,       /* the last key is not seen */
    NOT_CAUSAL,     /* every key is seen */
    NOT_NORMALISED, /* the sum misses a key */
    MISTAKES
};

/* Plain and apart from the reference: element d of the row (b, i, h). */
static double plain(const struct assay_problem *p, const void *const *in, int64_t b, int64_t i,
                    int64_t h, int64_t d, enum mistake mistake)
{
    int64_t seq = p->axes[1], heads = p->axes[2], dim = p->axes[3];
    bool packed = p->params[ASSAY_ATTENTION_PACKED] != 0;
    bool causal = p->params[ASSAY_ATTENTION_CAUSAL] != 0 && mistake != NOT_CAUSAL;
    int64_t keys = causal ? i + 1 + (mistake == ONE_MORE && i + 1 < seq) : seq;
    int64_t value_head = mistake == OTHER_HEAD ? (h + 1) % heads : h;
    double sum = 0, total = 0, scale = mistake == NO_SCALE ? 1 : sqrt((double)dim);
    for (int64_t j = 0; j < keys - (mistake == ONE_LESS && keys > 1); j++) {
        double score = 0, x[3];
        for (int64_t e = 0; e < dim; e++) {
            int64_t at[] = {i, j, j}, head[] = {h, h, value_head}, element[] = {e, e, d};
            for (int w = 0; w < 3; w++) {
                int64_t token = b * seq + at[w];
                int64_t row = packed ? (token * 3 + w) * heads + head[w] : token * heads + head[w];
                assay_dtype_load(p->dtype, in[packed ? 0 : w], row * dim + element[w], 1, &x[w]);
            }
            score += x[0] * x[1];
        }
        double weight = exp(score / scale);
        sum += weight * x[2];
        total += mistake == NOT_NORMALISED && j == 1 ? 0 : weight;
    }
    return sum / total;
}

static void plain_all(const struct assay_problem *p, const void *const *in, enum mistake mistake,
                      void *out)
{
    int64_t seq = p->axes[1], heads = p->axes[2], dim = p->axes[3];
    for (int64_t b = 0, at = 0; b < p->axes[0]; b++)
        for (int64_t i = 0; i < seq; i++)
            for (int64_t h = 0; h < heads; h++)
                for (int64_t d = 0; d < dim; d++, at++) {
                    double value = plain(p, in, b, i, h, d, mistake);
                    assay_dtype_store(p->dtype, &value, out, at, 1);
                }
}

static assay_reference *reference_of(const struct assay_problem *p, const struct operands *o)
{
    assay_reference *reference = NULL;
    struct assay_reference_how how = {.seed = 3, .most = ASSAY_VERIFY_MOST};
    assert_int_equal(assay_reference_create(op, p, o->in, &how, &reference, NULL), ASSAY_OK);
    return reference;
}

/* The right output passes, in every layout and dtype, and no wrong one does. */
static void mistakes_are_refused(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "qkv", "causal", "qkv+causal"};
    for (int d = 0; d < 3; d++)
        for (int m = 0; m < 4; m++) {
            struct assay_problem p = problem_of(dtypes[d], modes[m], 2, 19, 3, 12);
            struct operands o;
            make_operands(op, &p, 7, &o);
            assay_reference *reference = reference_of(&p, &o);
            assert_int_equal(assay_reference_controls(reference, NULL), ASSAY_OK);
            for (int mistake = NONE; mistake < MISTAKES; mistake++) {
                struct assay_comparison c;
                if ((mistake == ONE_MORE || mistake == NOT_CAUSAL) && m < 2)
                    continue;
                plain_all(&p, o.in, (enum mistake)mistake, o.out[0]);
                assay_reference_compare(reference, o.out[0], &c);
                if ((c.mismatches == 0) != (mistake == NONE))
                    fail_msg("%s %s: mistake %d has %lld mismatches", assay_dtype_name(dtypes[d]),
                             modes[m], mistake, (long long)c.mismatches);
            }
            assay_reference_destroy(reference);
            free_operands(&o);
        }
}

/* Long sequences have small outputs: the tolerance must shrink with them. */
static void long_sequences_can_be_told_from_zeros(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 1},   {1, 2, 1, 1},     {3, 1, 2, 5},
                                        {1, 700, 1, 8}, {1, 2000, 1, 64}, {32, 16, 8, 128}};
    for (int d = 0; d < 3; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            const int64_t *a = shapes[s];
            struct assay_problem p =
                problem_of(dtypes[d], s % 2 ? "causal" : "qkv", a[0], a[1], a[2], a[3]);
            struct operands o;
            struct assay_error why = {0};
            make_operands(op, &p, 11, &o);
            assay_reference *reference = NULL;
            struct assay_reference_how how = {.seed = 3, .most = 4096};
            assert_int_equal(assay_reference_create(op, &p, o.in, &how, &reference, NULL),
                             ASSAY_OK);
            if (assay_reference_controls(reference, &why) != ASSAY_OK)
                fail_msg("%lldx%lldx%lldx%lld %s: %s", (long long)a[0], (long long)a[1],
                         (long long)a[2], (long long)a[3], assay_dtype_name(dtypes[d]),
                         why.message);
            assay_reference_destroy(reference);
            free_operands(&o);
        }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->op, "attention") == 0 && strcmp(kernel->device, "cpu") == 0 &&
           is_looked_at(kernel->name) && !is_large_ref(kernel, p) &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                const struct assay_work *work)
{
    void *kernel_state = NULL;
    assert_int_equal(kernel->setup(p, &kernel_state, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(kernel_state, work), ASSAY_OK);
    kernel->teardown(kernel_state);
}

static void check(const struct assay_kernel *kernel, const struct assay_problem *p,
                  const assay_reference *reference, const void *out, const char *what)
{
    struct assay_comparison c;
    assay_reference_compare(reference, out, &c);
    if (c.mismatches)
        fail_msg("%s %s %lldx%lldx%lldx%lld%s%s, %d threads, %s: %lld of %lld wrong; element %lld "
                 "is %.9g, should be %.9g",
                 kernel->name, assay_dtype_name(p->dtype), (long long)p->axes[0],
                 (long long)p->axes[1], (long long)p->axes[2], (long long)p->axes[3],
                 p->params[ASSAY_ATTENTION_PACKED] != 0 ? " qkv" : "",
                 p->params[ASSAY_ATTENTION_CAUSAL] != 0 ? " causal" : "", p->threads, what,
                 (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                 c.first_got, c.first_ref);
}

/* Every kernel with 1 … most threads, on what the operands hold; guards and inputs stay. */
static void every_kernel(struct assay_problem *p, struct operands *o, int32_t most,
                         const char *what)
{
    assay_reference *reference = reference_of(p, o);
    uint64_t checksum[3];
    size_t bytes = assay_tensor_bytes(&p->outputs[0]);
    for (int32_t i = 0; i < p->n_inputs; i++)
        checksum[i] = assay_tensor_checksum(o->in[i], assay_tensor_bytes(&p->inputs[i]));
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (p->threads = 1; p->threads <= most && takes(kernel, p); p->threads++) {
            struct assay_args args = {.in = o->in, .out = o->out};
            struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
            memset(o->out[0], 0xff, bytes);
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

/* Two of the four modes, in turn from shape to shape. */
static void shape(int64_t batch, int64_t seq, int64_t heads, int64_t dim, int32_t threads)
{
    static const char *const modes[] = {"", "qkv", "causal", "qkv+causal"};
    for (int d = 0; d < 3; d++)
        for (int m = (int)((seq + dim) % 2); m < 4; m += 2) {
            if (left_out(threads))
                continue;
            struct assay_problem p = problem_of(dtypes[d], modes[m], batch, seq, heads, dim);
            struct operands o;
            make_operands(op, &p, (uint64_t)(seq * 1000 + dim), &o);
            every_kernel(&p, &o, threads, "filled");
            free_operands(&o);
        }
}

static void kernels_agree_on_awkward_shapes(void **state)
{
    (void)state;
    static const int64_t seqs[] = {1, 7, 16, 17, 33, 64}, dims[] = {1, 3, 31, 64, 80, 128, 256};
    for (int s = 0; s < 6; s++)
        for (int d = 0; d < 7; d++)
            shape(s % 2 + 1, seqs[s], d % 2 ? 3 : 1, dims[d], dims[d] == 80 ? 2 : 1);
    shape(1, 130, 3, 80, 3);
    shape(2, 130, 1, 128, 2);
    shape(1, 200, 1, 256, 2);
    shape(1, 300, 1, 33, 3);
    shape(1, 513, 1, 17, 2);
    shape(1, 600, 1, 64, 2);
    shape(1, 430, 1, 128, 2);
    shape(1, 300, 1, 8, 2);
    shape(5, 2, 3, 96, 3);
    shape(3, 40, 11, 64, 2); /* enough heads that threads take them as they become free, */
    shape(50, 20, 4, 16, 2); /* and several at a time */
}

/* Outputs beyond one thread's L2 cache may be written with streaming stores. */
static void larger_than_the_cache(int64_t seq, const char *mode)
{
    enum { HEADS = 4, DIM = 64 };
    size_t l2 = assay_cpu_info()->l2_bytes;
    int64_t batch = (int64_t)(l2 ? l2 : (size_t)1 << 20) / (seq * HEADS * DIM * 2) + 1;
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, mode, batch, seq, HEADS, DIM);
    struct operands o;
    make_operands(op, &p, 7, &o);
    every_kernel(&p, &o, 1, "larger than L2");
    free_operands(&o);
}

/* Few keys at a time, and as many as tiles take at once: then outputs are written between
 * products. */
static void answers_larger_than_the_cache_are_right(void **state)
{
    (void)state;
    larger_than_the_cache(130, "causal");
    larger_than_the_cache(256, "");
}

/* With exact exponentials that are rounded to bf16 it is 53.3 dB, by the tables of attention_amx
 * 52.3. The tolerance of an element hardly notices when one exponential in 64 is off by 1.6 % (51.4
 * dB), or all totals by 0.06 % (52.0 dB). */
static void as_exact_as_bf16(int64_t seq)
{
    const double least_db = 52.1;
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, "", 1, seq, 2, 64);
    struct operands o;
    make_operands(op, &p, 3, &o);
    assay_reference *reference = reference_of(&p, &o);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        struct assay_args args = {.in = o.in, .out = o.out};
        struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
        struct assay_comparison c;
        if (strcmp(kernel->implementation, "native") != 0 || !takes(kernel, &p))
            continue;
        run(kernel, &p, &work);
        assay_reference_compare(reference, o.out[0], &c);
        if (!(assay_comparison_sqnr_db(&c) >= least_db))
            fail_msg("%s, %d keys: %.2f dB", kernel->name, (int)seq, assay_comparison_sqnr_db(&c));
    }
    assay_reference_destroy(reference);
    free_operands(&o);
}

/* Enough keys to have tiles full all the time, and so few that they seldom are. */
static void exponentials_are_as_exact_as_bf16(void **state)
{
    (void)state;
    as_exact_as_bf16(512);
    as_exact_as_bf16(192);
}

/* q times 60 makes scores of some hundreds: without subtracting the maximum they overflow, and the
 * softmax is nearly one-hot. Later keys have the greater scores, so that sums are rescaled on the
 * way; then earlier ones. */
static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    for (int d = 0; d < 3; d++)
        for (int turn = 0; turn < 2; turn++) {
            struct assay_problem p = problem_of(dtypes[d], turn ? "causal" : "", 1, 200, 2, 64);
            struct operands o;
            make_operands(op, &p, 5, &o);
            int64_t count = assay_tensor_count(&p.inputs[0]);
            for (int64_t i = 0; i < count; i++) {
                int64_t token = i / 128;
                double slope = (double)(turn ? 200 - token : token) / 200;
                double q = 16, k = 16 * slope + (double)((i * 7) % 5) / 8;
                assay_dtype_store(p.dtype, &q, (void *)(uintptr_t)o.in[0], i, 1);
                assay_dtype_store(p.dtype, &k, (void *)(uintptr_t)o.in[1], i, 1);
            }
            every_kernel(&p, &o, 2, "large scores");
            free_operands(&o);
        }
}

/* Kernels of bf16 may treat scores differently that they know to be small. Here |q| |k| / 8 / ln 2
 * is close to 44, which is where one of them ends, and scores take all values up to it; on both
 * sides of it. Then one row is far greater, or NaN: its neighbours must stay right. */
static void scores_near_a_bound_stay_right(void **state)
{
    (void)state;
    enum { SEQ = 300, DIM = 64, GREAT = 150 * DIM + 3 };
    const double sizes[] = {1.8, 1.93, 1.96, 2.1}, great[] = {1000, (double)NAN};
    for (int size = 0; size < 4; size++) {
        const char *mode = size % 2 ? "causal" : "";
        struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, mode, 1, SEQ, 1, DIM);
        struct operands o;
        make_operands(op, &p, 5, &o);
        for (int64_t i = 0; i < SEQ * DIM; i++) {
            double slope = (double)((i / DIM * 37) % SEQ) * 2 / SEQ - 1;
            double q = sizes[size], k = sizes[size] * slope;
            assay_dtype_store(p.dtype, &q, (void *)(uintptr_t)o.in[0], i, 1);
            assay_dtype_store(p.dtype, &k, (void *)(uintptr_t)o.in[1], i, 1);
        }
        every_kernel(&p, &o, 2, "scores near the bound");
        for (int i = 0; i < 2; i++) {
            assay_dtype_store(p.dtype, &great[i], (void *)(uintptr_t)o.in[0], GREAT, 1);
            every_kernel(&p, &o, 2, "one great element of q");
        }
        free_operands(&o);
    }
}

static void put(const struct assay_problem *p, const struct operands *o, int32_t input, int64_t at,
                double value)
{
    assay_dtype_store(p->dtype, &value, (void *)(uintptr_t)o->in[input], at, 1);
}

/* A NaN, or an infinity whose score is +infinity, makes its rows NaN and leaves others alone. A
 * score of -infinity counts for nothing; a row of nothing else is NaN. */
static void unusual_values_do_what_the_op_says(void **state)
{
    (void)state;
    enum { SEQ = 90, DIM = 24 };
    const double infinity = (double)INFINITY;
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], NULL, 1, SEQ, 2, DIM);
        struct operands o;
        make_operands(op, &p, 5, &o);
        put(&p, &o, 0, (5 * 2 + 0) * DIM + 3, (double)NAN); /* row 5 of head 0 */
        for (int64_t i = 0; i < DIM; i++)                   /* row 70 of head 0: all +infinity */
            put(&p, &o, 0, (70 * 2 + 0) * DIM + i, i ? 0 : infinity);
        every_kernel(&p, &o, 2, "NaN and infinity in q");
        free_operands(&o);

        make_operands(op, &p, 6, &o);
        for (int64_t i = 0; i < SEQ * 2 * DIM; i++) /* scores have the sign of the key */
            put(&p, &o, 0, i, 1);
        for (int64_t token = 0; token < SEQ; token++) /* of head 1 all; of head 0 some */
            for (int64_t h = 0; h < 2; h++)
                if (h || token < 70 || token % 3 == 0)
                    put(&p, &o, 1, (token * 2 + h) * DIM + 2, -infinity);
        every_kernel(&p, &o, 2, "scores of -infinity");
        free_operands(&o);

        make_operands(op, &p, 7, &o);
        put(&p, &o, 2, (40 * 2 + 1) * DIM + 7, (double)NAN); /* column 7 of head 1 */
        put(&p, &o, 2, (80 * 2 + 0) * DIM + 9, infinity);
        every_kernel(&p, &o, 2, "NaN and infinity in v");
        free_operands(&o);
    }
}

/* Three sets, seven calls: every set gets its own output. */
static void sets_rotate(void **state)
{
    (void)state;
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], "qkv", 4, 16, 3, 32);
        struct operands o[3];
        struct assay_args sets[3];
        assay_reference *reference[3];
        for (int i = 0; i < 3; i++) {
            make_operands(op, &p, (uint64_t)i + 1, &o[i]);
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
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, NULL, 1, 20, 1, 32);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        enum assay_status status = ASSAY_ERR_NOMEM;
        if (!takes(kernel, &p))
            continue;
        for (int64_t nth = 1; status != ASSAY_OK; nth++) {
            void *kernel_state = NULL;
            assay_alloc_fail_after(nth);
            status = kernel->setup(&p, &kernel_state, NULL);
            assay_alloc_fail_after(0);
            if (status == ASSAY_OK)
                kernel->teardown(kernel_state);
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
        cmocka_unit_test(the_reference_reads_one_tensor_of_heads),
        cmocka_unit_test(modes_say_what_there_is),
        cmocka_unit_test(an_unknown_mode_suggests_the_nearest),
        cmocka_unit_test(its_other_name_is_sdpa),
        cmocka_unit_test(it_costs_two_products),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(long_sequences_can_be_told_from_zeros),
        cmocka_unit_test(kernels_agree_on_awkward_shapes),
        cmocka_unit_test(answers_larger_than_the_cache_are_right),
        cmocka_unit_test(exponentials_are_as_exact_as_bf16),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(scores_near_a_bound_stay_right),
        cmocka_unit_test(unusual_values_do_what_the_op_says),
        cmocka_unit_test(sets_rotate),
        cmocka_unit_test(setup_without_memory_is_an_error),
    };
    op = assay_op_find("attention");
    omp_set_num_threads(1); /* of the references; kernels say how many they want */
    registry = assay_kernel_registry_create();
    int failed = cmocka_run_group_tests_name("attention", tests, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
