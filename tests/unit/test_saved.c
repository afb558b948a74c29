/* test_saved.c: the forward passes of training that are no ops of rows (test_kernels.c has those):
 * every kernel over awkward shapes, modes and numbers of threads, against the references of all
 * outputs; and the same output, to the bit, as the forward op's kernel of that instruction set. */
#include "contender.h"

#include "bench/verify.h"

#include <math.h>

static assay_kernel_registry *registry;
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};

static void run(const struct assay_kernel *kernel, const struct assay_problem *p,
                struct operands *o)
{
    struct assay_args args = {.in = o->in, .out = o->out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    void *own = NULL;
    for (int k = 0; k < p->n_outputs; k++)
        memset(o->out[k], 0xff, assay_tensor_bytes(&p->outputs[k]));
    assert_int_equal(kernel->setup(p, &own, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
}

static bool takes(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->op, p->op) == 0 && strcmp(kernel->device, "cpu") == 0 &&
           strcmp(kernel->implementation, "native") == 0 &&
           assay_kernel_can_run(kernel, p, NULL) == ASSAY_OK;
}

static void check_outputs(const struct assay_kernel *kernel, const struct assay_problem *p,
                          const char *mode, const struct operands *o,
                          assay_reference *const *references)
{
    for (int k = 0; k < p->n_outputs; k++) {
        struct assay_comparison c;
        assay_reference_compare(references[k], o->out[k], &c);
        if (c.mismatches)
            fail_msg("%s %s %lldx%lldx%lldx%lldx%lld %s, %d threads: output %d: %lld of %lld "
                     "wrong; element %lld is %.9g, should be %.9g",
                     kernel->name, assay_dtype_name(p->dtype), (long long)p->axes[0],
                     (long long)p->axes[1], (long long)p->axes[2], (long long)p->axes[3],
                     (long long)p->axes[4], mode, p->threads, k, (long long)c.mismatches,
                     (long long)c.compared, (long long)c.first_mismatch, c.first_got, c.first_ref);
    }
}

/* The forward op's kernel for the same CPU. */
static const struct assay_kernel *forward_of(const struct assay_kernel *kernel, const char *forward)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", forward, kernel->name + strlen(kernel->op));
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        if (strcmp(assay_kernel_at(registry, i)->name, name) == 0)
            return assay_kernel_at(registry, i);
    fail_msg("there is no %s", name);
    return NULL;
}

static void check_forward(const struct assay_kernel *kernel, const struct assay_op *forward,
                          const struct assay_problem *p, const char *mode, const struct operands *o)
{
    struct assay_problem q;
    struct operands other;
    assert_int_equal(assay_op_problem(forward, p->dtype, mode, p->axes, p->threads, &q, NULL),
                     ASSAY_OK);
    make_operands(forward, &q, 5, &other);
    run(forward_of(kernel, forward->name), &q, &other);
    assert_memory_equal(o->out[0], other.out[0], assay_tensor_bytes(&q.outputs[0]));
    free_operands(&other);
}

static void check(const char *name, const char *forward, const char *mode, const int64_t *axes,
                  enum assay_dtype dtype)
{
    const struct assay_op *op = assay_op_find(name);
    struct assay_problem p;
    struct operands o;
    assay_reference *references[ASSAY_MAX_OUTPUTS];
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 1, &p, NULL), ASSAY_OK);
    make_operands(op, &p, 5, &o);
    for (int32_t k = 0; k < p.n_outputs; k++) {
        struct assay_reference_how how = {.seed = 3, .most = ASSAY_VERIFY_MOST, .output = k};
        assert_int_equal(assay_reference_create(op, &p, o.in, &how, &references[k], NULL),
                         ASSAY_OK);
    }
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        for (p.threads = 1; p.threads <= 3; p.threads++)
            if (takes(assay_kernel_at(registry, i), &p)) {
                run(assay_kernel_at(registry, i), &p, &o);
                check_outputs(assay_kernel_at(registry, i), &p, mode, &o, references);
                check_forward(assay_kernel_at(registry, i), assay_op_find(forward), &p, mode, &o);
            }
    for (int k = 0; k < p.n_outputs; k++)
        assay_reference_destroy(references[k]);
    free_operands(&o);
}

static void attention_saves_lse(void **state)
{
    (void)state;
    static const char *const modes[] = {"none", "causal", "qkv", "qkv+causal"};
    static const int64_t shapes[][5] = {{1, 1, 1, 1},    {2, 5, 3, 7},    {1, 65, 2, 33},
                                        {2, 200, 1, 20}, {1, 150, 3, 64}, {1, 17, 2, 300}};
    for (int d = 0; d < 3; d++)
        for (int m = 0; m < 4; m++)
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
                if (!left_out((int32_t)s))
                    check("attention_training", "attention", modes[m], shapes[s], dtypes[d]);
}

/* Images in one part and in several, a channel in a group, one pixel, and slices of an image. */
static void groupnorm_saves_its_statistics(void **state)
{
    (void)state;
    static const int64_t shapes[][5] = {
        {1, 1, 1, 1, 1},    {2, 3, 5, 6, 3},     {1, 5, 4, 33, 33},   {3, 17, 9, 40, 1},
        {1, 32, 33, 64, 8}, {2, 21, 20, 96, 32}, {1, 24, 23, 512, 32}};
    for (int d = 0; d < 3; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            if (!left_out((int32_t)s))
                check("groupnorm_training", "groupnorm", s % 2 ? "silu" : "none", shapes[s],
                      dtypes[d]);
}

/* Whatever is not finite is not finite in the statistic, in the same way. */
static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const struct assay_op *op = assay_op_find("groupnorm_training");
    const int64_t axes[] = {3, 2, 3, 4, 2};
    struct assay_problem p;
    struct operands o;
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, axes, 1, &p, NULL), ASSAY_OK);
    make_operands(op, &p, 5, &o);
    for (int image = 0; image < 3; image++) /* in the second group of each */
        assay_dtype_store(p.dtype, &values[image], o.base[0] + GUARD, image * 24 + 7, 1);
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (!takes(kernel, &p))
            continue;
        run(kernel, &p, &o);
        for (int32_t output = 1; output < 3; output++) {
            double want[6];
            assay_op_reference(op, &p, output, o.in, 0, 0, 6, want, NULL);
            for (int group = 0; group < 6; group++) {
                double got = (double)((const float *)o.out[output])[group];
                if (isfinite(want[group])
                        ? !(fabs(got - want[group]) < 1e-5)
                        : !(got == want[group] || (isnan(got) && isnan(want[group]))))
                    fail_msg("%s: output %d of group %d is %g, not %g", kernel->name, output, group,
                             got, want[group]);
            }
        }
    }
    free_operands(&o);
}

static int begin(void **state)
{
    (void)state;
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
        cmocka_unit_test(attention_saves_lse),
        cmocka_unit_test(groupnorm_saves_its_statistics),
        cmocka_unit_test(what_is_not_finite_stays_so),
    };
    return cmocka_run_group_tests_name("saved", tests, begin, end);
}
