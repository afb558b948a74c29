/* test_onednn.c: our declarations of oneDNN's API against its own header, and every onednn kernel
 * against its op's reference. Each part skips itself where the header or the library is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "kernel/cpu/onednn.h"
#include "kernel/kernel.h"

#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define HAVE_HEADER (DNNL_VERSION_MAJOR == 2)
#elif __has_include(<dnnl.h>)
#include <dnnl.h>
#define HAVE_HEADER (DNNL_VERSION_MAJOR == 2)
#endif
#endif
#ifndef HAVE_HEADER
#define HAVE_HEADER 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
/* The leak checker of gcc 12 and clang 14 crashes at exit on the thread-local variables of a
 * library that was opened at run time, unless it does not follow them. */
ASSAY_API const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }
#endif

#if HAVE_HEADER
static void declared_numbers_are_the_headers(void **state)
{
    (void)state;
    assert_int_equal(ASSAY_DNNL_RUNTIME_OMP, DNNL_RUNTIME_OMP);
    assert_int_equal(ASSAY_DNNL_CPU_ISA_AVX512_CORE_BF16, dnnl_cpu_isa_avx512_core_bf16);
    assert_int_equal(ASSAY_DNNL_SUCCESS, dnnl_success);
    assert_int_equal(ASSAY_DNNL_OUT_OF_MEMORY, dnnl_out_of_memory);
    assert_int_equal(ASSAY_DNNL_UNIMPLEMENTED, dnnl_unimplemented);
    assert_int_equal(ASSAY_DNNL_ENGINE_CPU, dnnl_cpu);
    assert_int_equal(ASSAY_DNNL_STREAM_DEFAULT, dnnl_stream_default_flags);
    assert_int_equal(ASSAY_DNNL_FORWARD_INFERENCE, dnnl_forward_inference);
    assert_int_equal(ASSAY_DNNL_BF16, dnnl_bf16);
    assert_int_equal(ASSAY_DNNL_F32, dnnl_f32);
    assert_int_equal(ASSAY_DNNL_ELTWISE_RELU, dnnl_eltwise_relu);
    assert_int_equal(ASSAY_DNNL_ELTWISE_BOUNDED_RELU, dnnl_eltwise_bounded_relu);
    assert_int_equal(ASSAY_DNNL_ELTWISE_LOGISTIC, dnnl_eltwise_logistic);
    assert_int_equal(ASSAY_DNNL_ELTWISE_GELU_TANH, dnnl_eltwise_gelu_tanh);
    assert_int_equal(ASSAY_DNNL_ELTWISE_SWISH, dnnl_eltwise_swish);
    assert_int_equal(ASSAY_DNNL_ELTWISE_GELU_ERF, dnnl_eltwise_gelu_erf);
    assert_int_equal(ASSAY_DNNL_ELTWISE_HARDSWISH, dnnl_eltwise_hardswish);
    assert_int_equal(ASSAY_DNNL_BINARY_ADD, dnnl_binary_add);
    assert_int_equal(ASSAY_DNNL_USE_SCALE, dnnl_use_scale);
    assert_int_equal(ASSAY_DNNL_USE_SHIFT, dnnl_use_shift);
    assert_int_equal(ASSAY_DNNL_ARG_SRC_0, DNNL_ARG_SRC_0);
    assert_int_equal(ASSAY_DNNL_ARG_SRC_1, DNNL_ARG_SRC_1);
    assert_int_equal(ASSAY_DNNL_ARG_DST, DNNL_ARG_DST);
    assert_int_equal(ASSAY_DNNL_ARG_SCALE, DNNL_ARG_SCALE);
    assert_int_equal(ASSAY_DNNL_ARG_SHIFT, DNNL_ARG_SHIFT);
}

static void declared_structs_fit_the_headers(void **state)
{
    (void)state;
    size_t room = sizeof(struct assay_dnnl_op_desc);
    assert_true(sizeof(struct assay_dnnl_memory_desc) >= sizeof(dnnl_memory_desc_t));
    assert_true(room >= sizeof(dnnl_eltwise_desc_t));
    assert_true(room >= sizeof(dnnl_softmax_desc_t));
    assert_true(room >= sizeof(dnnl_layer_normalization_desc_t));
    assert_true(room >= sizeof(dnnl_binary_desc_t));
    assert_true(_Alignof(struct assay_dnnl_op_desc) >= _Alignof(dnnl_layer_normalization_desc_t));
    assert_int_equal(sizeof(struct assay_dnnl_exec_arg), sizeof(dnnl_exec_arg_t));
    assert_int_equal(offsetof(struct assay_dnnl_exec_arg, memory),
                     offsetof(dnnl_exec_arg_t, memory));
    assert_int_equal(sizeof(struct assay_dnnl_version), sizeof(dnnl_version_t));
    assert_int_equal(offsetof(struct assay_dnnl_version, cpu_runtime),
                     offsetof(dnnl_version_t, cpu_runtime));
    assert_int_equal(sizeof(int64_t), sizeof(dnnl_dim_t));
    assert_int_equal(sizeof(int), sizeof(dnnl_alg_kind_t));
    assert_int_equal(sizeof(int), sizeof(dnnl_data_type_t));
}
#else
static void declared_numbers_are_the_headers(void **state)
{
    (void)state;
    print_message("no header of oneDNN 2.x here (package libdnnl-dev)\n");
    skip();
}

static void declared_structs_fit_the_headers(void **state)
{
    declared_numbers_are_the_headers(state);
}
#endif

enum { GUARD = 64, MAX_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS };

/* Operands with guard bytes of 0xa5 on both sides, as the real runner has them. */
struct operands {
    char *base[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    int n;
    const void *in[ASSAY_MAX_INPUTS];
    void *out[ASSAY_MAX_OUTPUTS];
};

static void *add_tensor(struct operands *operands, const struct assay_tensor *tensor)
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

static void make_operands(const struct assay_op *op, const struct assay_problem *problem,
                          uint64_t seed, struct operands *out)
{
    *out = (struct operands){0};
    for (int32_t i = 0; i < problem->n_inputs; i++) {
        void *data = add_tensor(out, &problem->inputs[i]);
        assay_op_fill(op, problem, i, data, seed);
        out->in[i] = data;
    }
    out->out[0] = add_tensor(out, &problem->outputs[0]);
}

static void free_operands(struct operands *operands)
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

static void check_answer(const struct assay_kernel *kernel, const struct assay_problem *problem,
                         const struct operands *operands)
{
    const struct assay_op *op = assay_op_find(kernel->op);
    int64_t rows = assay_op_rows(problem), length = assay_op_row_length(problem);
    double *expected = assay_calloc((size_t)length, sizeof *expected);
    assert_non_null(expected);
    struct assay_comparison comparison;
    assay_comparison_init(&comparison, op->tolerance(problem));
    for (int64_t row = 0; row < rows; row++) {
        op->reference(problem, operands->in, row, 0, length, expected);
        assay_comparison_add(&comparison, problem->outputs[0].dtype, operands->out[0], row * length,
                             expected, length);
    }
    assay_free(expected);
    if (comparison.mismatches || getenv("ASSAY_TEST_VERBOSE"))
        print_message("%s %s %lldx%lldx%lld: %lld of %lld off (first: got %.9g, not %.9g), max abs "
                      "%.3g, max rel %.3g, allowed %.3g + %.3g * |ref|\n",
                      kernel->name, assay_dtype_name(problem->dtype), (long long)problem->axes[0],
                      (long long)problem->axes[1], (long long)problem->axes[2],
                      (long long)comparison.mismatches, (long long)comparison.compared,
                      comparison.first_got, comparison.first_ref, comparison.max_abs,
                      comparison.max_rel, comparison.tolerance.absolute,
                      comparison.tolerance.relative);
    assert_int_equal(comparison.mismatches, 0);
}

/* Three sets of operands and five iterations, so that operands are bound anew and bound again. */
static void check_kernel(const struct assay_kernel *kernel, enum assay_dtype dtype,
                         const int64_t *axes)
{
    enum { SETS = 3, ITERS = 5 };
    const struct assay_op *op = assay_op_find(kernel->op);
    struct assay_problem problem;
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 2, &problem, NULL), ASSAY_OK);
    if (assay_kernel_can_run(kernel, &problem, NULL) != ASSAY_OK)
        return; /* bf16 on a CPU without avx512 */
    struct operands operands[SETS];
    struct assay_args sets[SETS];
    for (int i = 0; i < SETS; i++) {
        make_operands(op, &problem, (uint64_t)i + 1, &operands[i]);
        sets[i] = (struct assay_args){operands[i].in, operands[i].out};
    }
    struct assay_work work = {.iters = ITERS, .first = 1, .n_sets = SETS, .sets = sets};
    struct assay_error err = {0};
    void *own = NULL;
    assert_int_equal(kernel->setup(&problem, &own, &err), ASSAY_OK);
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
    for (int i = 0; i < SETS; i++) {
        check_answer(kernel, &problem, &operands[i]);
        free_operands(&operands[i]);
    }
}

static void skip_without_library(void)
{
    const struct assay_dnnl_api *dnnl;
    struct assay_error why = {0};
    if (assay_onednn_api(&dnnl, &why) == ASSAY_OK)
        return;
    print_message("%s\n", why.message);
    skip();
}

static void kernels_agree_with_the_reference(void **state)
{
    (void)state;
    skip_without_library();
    static const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 17}, {1, 5, 64}, {2, 8, 768}};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    assay_kernel_registry *registry = assay_kernel_registry_create();
    assert_non_null(registry);
    int64_t checked = 0;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->implementation, "onednn") != 0)
            continue;
        checked++;
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
                check_kernel(kernel, dtypes[d], shapes[k]);
    }
    assay_kernel_registry_destroy(registry);
    assert_int_equal(checked, 11);
}

/* What is not there is said, and nothing is left behind. */
static void a_failed_setup_says_why(void **state)
{
    (void)state;
    skip_without_library();
    assay_kernel_registry *registry = assay_kernel_registry_create();
    const struct assay_kernel *kernel = assay_kernel_find(registry, "layernorm_onednn");
    assay_kernel_registry_destroy(registry);
    struct assay_problem problem;
    struct assay_error why = {0};
    const struct assay_op *op = assay_op_find("layernorm");
    assay_op_problem(op, ASSAY_DTYPE_F16, NULL, (const int64_t[]){1, 2, 8}, 1, &problem, NULL);
    assert_int_equal(assay_kernel_can_run(kernel, &problem, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "no f16");
    assay_op_problem(op, ASSAY_DTYPE_BF16, NULL, (const int64_t[]){1, 2, 8}, 1, &problem, NULL);
    if (assay_kernel_can_run(kernel, &problem, NULL) != ASSAY_OK)
        return;
    for (int64_t nth = 1; nth <= 3; nth++) { /* the state, gamma's copy, beta's copy */
        void *own = NULL;
        why = (struct assay_error){0};
        assay_alloc_fail_after(nth);
        assert_int_equal(kernel->setup(&problem, &own, &why), ASSAY_ERR_NOMEM);
        assay_alloc_fail_after(0);
        assert_null(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declared_numbers_are_the_headers),
        cmocka_unit_test(declared_structs_fit_the_headers),
        cmocka_unit_test(kernels_agree_with_the_reference),
        cmocka_unit_test(a_failed_setup_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
