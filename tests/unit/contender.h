/* contender.h: what the tests of libraries opened at run time share: operands with guards, `linear`
 * against a plain product in double, and a separate process for what can happen only once. */
#ifndef ASSAY_TESTS_CONTENDER_H
#define ASSAY_TESTS_CONTENDER_H

#include "unit.h"

#include "base/alloc.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if HAVE_ASAN
/* The leak checker of gcc 12 and clang 14 crashes at exit on the thread-local variables of a
 * library that was opened at run time, unless it does not follow them. */
ASSAY_API const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }
#endif

/* The kernel called ref is the reference itself: on a large problem it only takes the same time
 * again. */
static inline bool is_large_ref(const struct assay_kernel *kernel, const struct assay_problem *p)
{
    return strcmp(kernel->implementation, "ref") == 0 && assay_tensor_count(&p->outputs[0]) > 4096;
}

enum { GUARD = 64, MAX_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS };

/* Operands with guard bytes of 0xa5 on both sides, as the real runner has them. */
struct operands {
    char *base[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    int n;
    const void *in[ASSAY_MAX_INPUTS];
    void *out[ASSAY_MAX_OUTPUTS];
};

static inline void *add_tensor(struct operands *operands, const struct assay_tensor *tensor)
{
    size_t bytes = assay_tensor_bytes(tensor);
    size_t whole = (bytes + 2 * GUARD + 63) / 64 * 64;
    char *base = aligned_alloc(64, whole);
    assert_non_null(base);
    memset(base, 0xa5, whole);
    operands->base[operands->n] = base;
    operands->bytes[operands->n++] = bytes;
    return base + GUARD;
}

static inline void make_operands(const struct assay_op *op, const struct assay_problem *problem,
                                 uint64_t seed, struct operands *out)
{
    *out = (struct operands){0};
    for (int32_t i = 0; i < problem->n_inputs; i++) {
        void *data = add_tensor(out, &problem->inputs[i]);
        assay_op_fill(op, problem, i, data, seed);
        out->in[i] = data;
    }
    for (int32_t i = 0; i < problem->n_outputs; i++)
        out->out[i] = add_tensor(out, &problem->outputs[i]);
}

static inline void free_operands(struct operands *operands)
{
    for (int i = 0; i < operands->n; i++) {
        const unsigned char *base = (const unsigned char *)operands->base[i];
        for (size_t k = 0; k < GUARD; k++) {
            assert_int_equal(base[k], 0xa5);
            assert_int_equal(base[GUARD + operands->bytes[i] + k], 0xa5);
        }
        free(operands->base[i]);
    }
}

static inline double plain_activation(double y, int activation)
{
    switch (activation) {
    case ASSAY_LINEAR_SIGMOID:
        return 1 / (1 + exp(-y));
    case ASSAY_LINEAR_RELU:
        return fmax(y, 0);
    case ASSAY_LINEAR_LEAKYRELU:
        return y < 0 ? 0.01 * y : y;
    case ASSAY_LINEAR_RELU6:
        return fmin(fmax(y, 0), 6);
    case ASSAY_LINEAR_GELU:
        return y * 0.5 * (1 + erf(y * M_SQRT1_2));
    case ASSAY_LINEAR_SILU:
        return y / (1 + exp(-y));
    case ASSAY_LINEAR_HARDSWISH:
        return y * fmin(fmax(y + 3, 0), 6) / 6;
    default:
        return y;
    }
}

static inline double element(enum assay_dtype dtype, const void *data, int64_t index)
{
    double value;
    assay_dtype_load(dtype, data, index, 1, &value);
    return value;
}

/* Every element of y against the sum of products, written down as the op says it. */
static inline void check_product(const char *kernel, const struct assay_problem *p,
                                 const void *const *in, const void *y)
{
    int64_t m = p->axes[0], k = p->axes[1], n = p->axes[2];
    struct assay_tolerance tolerance = assay_op_find("linear")->tolerance(p);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < k; i++) {
                double term = element(p->dtype, in[0], row * k + i) *
                              element(p->dtype, in[1], column * k + i);
                sum += term;
                squares += term * term;
            }
            double size = fabs(sum) + sqrt(squares);
            if (p->params[ASSAY_LINEAR_BIAS] != 0)
                sum += element(p->dtype, in[2], column);
            double want = plain_activation(sum, (int)p->params[ASSAY_LINEAR_ACTIVATION]);
            double got = element(p->outputs[0].dtype, y, row * n + column);
            if (fabs(got - want) <=
                tolerance.absolute + tolerance.relative * fabs(want) + tolerance.summed * size)
                continue;
            print_error("%s %s %lldx%lldx%lld, activation %g: y[%lld, %lld] is %.9g, not %.9g\n",
                        kernel, assay_dtype_name(p->dtype), (long long)m, (long long)k,
                        (long long)n, p->params[ASSAY_LINEAR_ACTIVATION], (long long)row,
                        (long long)column, got, want);
            fail();
        }
}

static inline struct assay_problem linear_problem(enum assay_dtype dtype, const char *mode,
                                                  int64_t m, int64_t k, int64_t n)
{
    struct assay_problem problem;
    int64_t axes[ASSAY_MAX_AXES] = {m, k, n};
    assert_int_equal(
        assay_op_problem(assay_op_find("linear"), dtype, mode, axes, 2, &problem, NULL), ASSAY_OK);
    problem.recipe = "baseline";
    return problem;
}

/* The same weights in every set, and in each another x. */
static inline void prepare_sets(const struct assay_kernel *kernel, void *own,
                                const struct assay_args *sets, int n)
{
    for (int i = 0; i < n && kernel->prepare; i++)
        assert_int_equal(kernel->prepare(own, i, &sets[i], NULL), ASSAY_OK);
    if (kernel->prepare)
        assert_true(kernel->prepared_bytes(own) > 0);
}

/* Three sets of operands and five calls; the weights are prepared, then replaced by others and
 * prepared again. */
static inline void check_linear(const struct assay_kernel *kernel, enum assay_dtype dtype,
                                const char *mode, int64_t m, int64_t k, int64_t n)
{
    enum { SETS = 3, ITERS = 5 };
    const struct assay_op *op = assay_op_find("linear");
    struct assay_problem problem = linear_problem(dtype, mode, m, k, n);
    struct operands operands[SETS];
    struct assay_args sets[SETS];
    size_t weight_bytes = assay_tensor_bytes(&problem.inputs[1]);
    for (int i = 0; i < SETS; i++) {
        make_operands(op, &problem, (uint64_t)i + 1, &operands[i]);
        memcpy(operands[i].base[1] + GUARD, operands[0].in[1], weight_bytes);
        sets[i] = (struct assay_args){operands[i].in, operands[i].out};
    }
    struct assay_work work = {.iters = ITERS, .first = 1, .n_sets = SETS, .sets = sets};
    struct assay_error err = {0};
    void *own = NULL;
    if (kernel->setup(&problem, &own, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    for (uint64_t time = 0; time < 2; time++) {
        assay_op_fill(op, &problem, 1, operands[0].base[1] + GUARD, 100 + time);
        for (int i = 1; i < SETS; i++)
            memcpy(operands[i].base[1] + GUARD, operands[0].in[1], weight_bytes);
        prepare_sets(kernel, own, sets, SETS);
        for (int i = 0; i < SETS; i++)
            memset(operands[i].out[0], 0xff, assay_tensor_bytes(&problem.outputs[0]));
        assert_int_equal(kernel->run(own, &work), ASSAY_OK);
        for (int i = 0; i < SETS; i++)
            check_product(kernel->name, &problem, operands[i].in, operands[i].out[0]);
    }
    kernel->teardown(own);
    for (int i = 0; i < SETS; i++)
        free_operands(&operands[i]);
}

static inline void check_linear_shapes(const struct assay_kernel *kernel, enum assay_dtype dtype)
{
    static const int64_t ms[] = {1, 3, 16}, ks[] = {5, 64, 257}, ns[] = {1, 16, 33};
    for (int i = 0; i < 27; i++)
        check_linear(kernel, dtype, "", ms[i / 9], ks[i / 3 % 3], ns[i % 3]);
}

/* Runs `test` in a new process, in which no library is open yet. */
static inline void in_another_process(void (*test)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        test();
        _exit(0);
    }
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

/* In such a process a failed assertion of cmocka's would jump into the parent's test. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
