/* test_attention_backward.c: every kernel of attention's gradients over awkward shapes, with 1 and
 * more threads; the same bits for the same number of threads; and mistakes that the check must
 * refuse. The reference itself is checked in test_gradients.c. */
#include "contender.h"

#include "bench/verify.h"
#include "op/attention.h"

#include <math.h>
#include <string.h>

enum { OUTPUTS = 3 };

static assay_kernel_registry *registry;
static const struct assay_op *op;
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};

static struct assay_problem problem_of(enum assay_dtype dtype, const char *mode,
                                       const int64_t *axes)
{
    struct assay_problem p;
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 1, &p, NULL), ASSAY_OK);
    return p;
}

static assay_reference *reference_of(const struct assay_problem *p, const struct operands *o,
                                     int32_t output)
{
    assay_reference *reference = NULL;
    struct assay_reference_how how = {.seed = 3, .most = ASSAY_VERIFY_MOST, .output = output};
    assert_int_equal(assay_reference_create(op, p, o->in, &how, &reference, NULL), ASSAY_OK);
    return reference;
}

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                struct operands *o)
{
    struct assay_args args = {.in = o->in, .out = o->out};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    void *own = NULL;
    for (int k = 0; k < p->n_outputs; k++)
        memset(o->out[k], 0xff, assay_tensor_bytes(&p->outputs[k]));
    assert_int_equal(kernel->setup(p, &own, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
}

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->op, "attention_backward") == 0 && strcmp(kernel->device, "cpu") == 0 &&
           !is_large_ref(kernel, p) && assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static uint64_t checksum(const struct assay_problem *p, const struct operands *o)
{
    uint64_t sum = 0;
    for (int k = 0; k < p->n_outputs; k++)
        sum = sum * 31 + assay_tensor_checksum(o->out[k], assay_tensor_bytes(&p->outputs[k]));
    return sum;
}

/* Run twice: the parts that threads share are added up in the same order. */
static void check_kernel(const struct assay_kernel *kernel, const struct assay_problem *p,
                         struct operands *o, assay_reference *const *references)
{
    run(kernel, p, o);
    for (int k = 0; k < p->n_outputs; k++) {
        struct assay_comparison c;
        assay_reference_compare(references[k], o->out[k], &c);
        if (c.mismatches)
            fail_msg("%s %s %lldx%lldx%lldx%lld%s%s, %d threads: output %d: %lld of %lld wrong; "
                     "element %lld is %.9g, should be %.9g",
                     kernel->name, assay_dtype_name(p->dtype), (long long)p->axes[0],
                     (long long)p->axes[1], (long long)p->axes[2], (long long)p->axes[3],
                     p->params[ASSAY_ATTENTION_PACKED] != 0 ? " qkv" : "",
                     p->params[ASSAY_ATTENTION_CAUSAL] != 0 ? " causal" : "", p->threads, k,
                     (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                     c.first_got, c.first_ref);
    }
    uint64_t before = checksum(p, o);
    run(kernel, p, o);
    if (checksum(p, o) != before)
        fail_msg("%s, %d threads: not the same bits again", kernel->name, p->threads);
}

static void kernels_are_right(void **state)
{
    (void)state;
    static const char *const modes[2][2] = {{"none", "causal"}, {"qkv", "qkv+causal"}};
    static const int64_t shapes[][4] = {{1, 1, 1, 1},   {2, 5, 3, 7},    {1, 64, 1, 16},
                                        {1, 65, 2, 33}, {1, 131, 1, 64}, {2, 200, 1, 20},
                                        {1, 17, 2, 300}};
    for (int d = 0; d < 3; d++)
        for (size_t s = 0; s < 2 * sizeof shapes / sizeof shapes[0]; s++) {
            const char *mode = modes[(s / 2 + (size_t)d) % 2][s % 2]; /* in turns */
            struct assay_problem p = problem_of(dtypes[d], mode, shapes[s / 2]);
            struct operands o;
            assay_reference *references[OUTPUTS];
            if (left_out((int32_t)s))
                continue;
            make_operands(op, &p, 5, &o);
            for (int32_t k = 0; k < p.n_outputs; k++)
                references[k] = reference_of(&p, &o, k);
            for (int64_t i = 0; i < assay_kernel_count(registry); i++)
                for (p.threads = 1; p.threads <= 3; p.threads++)
                    if (takes(assay_kernel_at(registry, i), &p))
                        check_kernel(assay_kernel_at(registry, i), &p, &o, references);
            for (int k = 0; k < p.n_outputs; k++)
                assay_reference_destroy(references[k]);
            free_operands(&o);
        }
}

/* ---- mistakes -------------------------------------------------------------------------------- */

enum mistake {
    NONE,
    SIGN,      /* dS with the other sign */
    NO_D,      /* what cancels is left out */
    OTHER_LSE, /* that of the next row */
    UNSCALED,  /* 1 / sqrt(dim) is forgotten once */
    SWAPPED,   /* dk is computed from k instead of q */
    TWICE,     /* gradients are added to what was there */
    ONE_LESS,  /* the last query is left out of dk and dv */
    MISTAKES
};

struct plain {
    const struct assay_problem *p;
    const struct operands *o;
    enum mistake mistake;
};

static double load(const struct plain *w, int32_t input, int64_t token, int64_t head, int64_t d)
{
    double value;
    int64_t at = (token * w->p->axes[2] + head) * w->p->axes[3] + d;
    assay_dtype_load(w->p->dtype, w->o->in[input], at, 1, &value);
    return value;
}

static double dot(const struct plain *w, int32_t a, int64_t i, int32_t b, int64_t j, int64_t head)
{
    double sum = 0;
    for (int64_t d = 0; d < w->p->axes[3]; d++)
        sum += load(w, a, i, head, d) * load(w, b, j, head, d);
    return sum;
}

/* Adds what the pair of a query and a key does to the gradients, in one batch. */
static void add_pair(const struct plain *w, int64_t query, int64_t key, int64_t head,
                     double *const *to)
{
    int64_t seq = w->p->axes[1], heads = w->p->axes[2], dim = w->p->axes[3];
    double root = sqrt((double)dim);
    int64_t saved = w->mistake == OTHER_LSE ? (query + 1) % seq : query;
    double lse = (double)((const float *)w->o->in[5])[head * seq + saved];
    double p = exp(dot(w, 1, query, 2, key, head) / root - lse);
    double d = w->mistake == NO_D ? 0 : dot(w, 0, query, 4, query, head);
    double ds = p * (dot(w, 0, query, 3, key, head) - d) * (w->mistake == SIGN ? -1 : 1);
    ds /= w->mistake == UNSCALED ? 1 : root;
    bool last = w->mistake == ONE_LESS && query == seq - 1;
    for (int64_t i = 0; i < dim; i++) {
        int64_t of_query = (query * heads + head) * dim + i,
                of_key = (key * heads + head) * dim + i;
        to[0][of_query] += ds * load(w, 2, key, head, i);
        to[1][of_key] += last ? 0 : ds * load(w, w->mistake == SWAPPED ? 2 : 1, query, head, i);
        to[2][of_key] += last ? 0 : p * load(w, 0, query, head, i);
    }
}

static void plain_all(const struct plain *w)
{
    int64_t count = assay_tensor_count(&w->p->outputs[0]);
    double *to[OUTPUTS];
    for (int k = 0; k < OUTPUTS; k++)
        to[k] = assay_calloc((size_t)count, sizeof *to[k]);
    for (int64_t head = 0; head < w->p->axes[2]; head++)
        for (int64_t query = 0; query < w->p->axes[1]; query++)
            for (int64_t key = 0; key < w->p->axes[1]; key++)
                add_pair(w, query, key, head, to);
    for (int k = 0; k < OUTPUTS; k++) {
        for (int64_t i = 0; i < count && w->mistake == TWICE; i++)
            to[k][i] *= 2;
        assay_dtype_store(w->p->dtype, to[k], w->o->out[k], 0, count);
        assay_free(to[k]);
    }
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    static const int64_t axes[] = {1, 48, 2, 12};
    for (int d = 0; d < 3; d++) {
        struct assay_problem p = problem_of(dtypes[d], "none", axes);
        struct operands o;
        make_operands(op, &p, 7, &o);
        for (int mistake = NONE; mistake < MISTAKES; mistake++) {
            int64_t mismatches = 0;
            plain_all(&(struct plain){&p, &o, (enum mistake)mistake});
            for (int32_t k = 0; k < OUTPUTS; k++) {
                struct assay_comparison c;
                assay_reference *reference = reference_of(&p, &o, k);
                assert_int_equal(assay_reference_controls(reference, NULL), ASSAY_OK);
                assay_reference_compare(reference, o.out[k], &c);
                mismatches += c.mismatches;
                assay_reference_destroy(reference);
            }
            if ((mismatches == 0) != (mistake == NONE))
                fail_msg("%s: mistake %d has %lld mismatches", assay_dtype_name(dtypes[d]), mistake,
                         (long long)mismatches);
        }
        free_operands(&o);
    }
}

static void modes_say_what_there_is(void **state)
{
    (void)state;
    static const int64_t axes[] = {2, 3, 5, 7};
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, "qkv+causal", axes);
    struct assay_error err = {0};
    assert_int_equal(p.n_inputs, 4);
    assert_int_equal(p.n_outputs, 1);
    assert_int_equal(assay_tensor_count(&p.outputs[0]), 3 * 210);
    assert_int_equal(assay_tensor_count(&p.inputs[3]), 2 * 5 * 3);
    assert_int_not_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "kqv", axes, 1, &p, &err), ASSAY_OK);
    assert_string_equal(err.where, "attention_backward");
    assert_non_null(strstr(err.message, "did you mean \"qkv\"?"));
}

static int begin(void **state)
{
    (void)state;
    op = assay_op_find("attention_backward");
    registry = assay_kernel_registry_create();
    return registry ? 0 : -1;
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
        cmocka_unit_test(kernels_are_right),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(modes_say_what_there_is),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
