/* test_onednn.c: our declarations of oneDNN's API against its own header, and every onednn kernel
 * against its op's reference. Each part skips itself where the header or the library is missing. */
#include "contender.h"

#include "bench/verify.h"
#include "device/cpu/cpu_info.h"
#include "kernel/onednn/onednn.h"

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
    assert_int_equal(ASSAY_DNNL_FORWARD_TRAINING, dnnl_forward_training);
    assert_int_equal(ASSAY_DNNL_FORWARD_INFERENCE, dnnl_forward_inference);
    assert_int_equal(ASSAY_DNNL_BACKWARD, dnnl_backward);
    assert_int_equal(ASSAY_DNNL_BF16, dnnl_bf16);
    assert_int_equal(ASSAY_DNNL_F32, dnnl_f32);
    assert_int_equal(ASSAY_DNNL_S32, dnnl_s32);
    assert_int_equal(ASSAY_DNNL_S8, dnnl_s8);
    assert_int_equal(ASSAY_DNNL_FORMAT_ANY, dnnl_format_tag_any);
    assert_int_equal(ASSAY_DNNL_QUERY_WEIGHTS, dnnl_query_weights_md);
    assert_int_equal(ASSAY_DNNL_QUERY_DIFF_WEIGHTS, dnnl_query_diff_weights_md);
    assert_int_equal(ASSAY_DNNL_ELTWISE_RELU, dnnl_eltwise_relu);
    assert_int_equal(ASSAY_DNNL_ELTWISE_LINEAR, dnnl_eltwise_linear);
    assert_int_equal(ASSAY_DNNL_ELTWISE_BOUNDED_RELU, dnnl_eltwise_bounded_relu);
    assert_int_equal(ASSAY_DNNL_ELTWISE_LOGISTIC, dnnl_eltwise_logistic);
    assert_int_equal(ASSAY_DNNL_ELTWISE_GELU_TANH, dnnl_eltwise_gelu_tanh);
    assert_int_equal(ASSAY_DNNL_ELTWISE_SWISH, dnnl_eltwise_swish);
    assert_int_equal(ASSAY_DNNL_ELTWISE_GELU_ERF, dnnl_eltwise_gelu_erf);
    assert_int_equal(ASSAY_DNNL_ELTWISE_HARDSWISH, dnnl_eltwise_hardswish);
    assert_int_equal(ASSAY_DNNL_ELTWISE_CLIP_V2, dnnl_eltwise_clip_v2);
    assert_int_equal(ASSAY_DNNL_ELTWISE_LOGISTIC_USE_DST, dnnl_eltwise_logistic_use_dst_for_bwd);
    assert_int_equal(ASSAY_DNNL_BINARY_ADD, dnnl_binary_add);
    assert_int_equal(ASSAY_DNNL_CONVOLUTION_DIRECT, dnnl_convolution_direct);
#if DNNL_VERSION_MINOR >= 6
    assert_int_equal(ASSAY_DNNL_SOFTMAX_ACCURATE, dnnl_softmax_accurate);
#endif
    assert_int_equal(ASSAY_DNNL_ARG_FIRST_POST_OP, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0));
    assert_int_equal(ASSAY_DNNL_USE_SCALE, dnnl_use_scale);
    assert_int_equal(ASSAY_DNNL_USE_SHIFT, dnnl_use_shift);
    assert_int_equal(ASSAY_DNNL_ARG_SRC_0, DNNL_ARG_SRC_0);
    assert_int_equal(ASSAY_DNNL_ARG_SRC_1, DNNL_ARG_SRC_1);
    assert_int_equal(ASSAY_DNNL_ARG_DST, DNNL_ARG_DST);
    assert_int_equal(ASSAY_DNNL_ARG_WEIGHTS, DNNL_ARG_WEIGHTS);
    assert_int_equal(ASSAY_DNNL_ARG_BIAS, DNNL_ARG_BIAS);
    assert_int_equal(ASSAY_DNNL_ARG_MEAN, DNNL_ARG_MEAN);
    assert_int_equal(ASSAY_DNNL_ARG_VARIANCE, DNNL_ARG_VARIANCE);
    assert_int_equal(ASSAY_DNNL_ARG_SCALE, DNNL_ARG_SCALE);
    assert_int_equal(ASSAY_DNNL_ARG_SHIFT, DNNL_ARG_SHIFT);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SRC);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_DST);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_BIAS);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SCALE);
    assert_int_equal(ASSAY_DNNL_ARG_DIFF_SHIFT, DNNL_ARG_DIFF_SHIFT);
}

static void declared_structs_fit_the_headers(void **state)
{
    (void)state;
    size_t room = sizeof(struct assay_dnnl_op_desc);
    assert_true(sizeof(struct assay_dnnl_memory_desc) >= sizeof(dnnl_memory_desc_t));
    assert_true(room >= sizeof(dnnl_eltwise_desc_t));
    assert_true(room >= sizeof(dnnl_softmax_desc_t));
#if DNNL_VERSION_MINOR >= 6
    assert_true(room >= sizeof(dnnl_softmax_v2_desc_t));
#endif
    assert_true(room >= sizeof(dnnl_layer_normalization_desc_t));
    assert_true(room >= sizeof(dnnl_binary_desc_t));
    assert_true(room >= sizeof(dnnl_matmul_desc_t));
    assert_true(room >= sizeof(dnnl_inner_product_desc_t));
    assert_true(room >= sizeof(dnnl_convolution_desc_t));
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
    assert_int_equal(sizeof(int), sizeof(dnnl_format_tag_t));
    assert_int_equal(sizeof(int), sizeof(dnnl_query_t));
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

static void check_output(const struct assay_kernel *kernel, const struct assay_problem *problem,
                         const struct operands *operands, int32_t output)
{
    const struct assay_op *op = assay_op_find(kernel->op);
    const struct assay_tensor *t = &problem->outputs[output];
    int64_t length = t->dims[t->rank - 1], rows = assay_tensor_count(t) / length;
    double *expected = assay_calloc((size_t)(2 * length), sizeof *expected);
    assert_non_null(expected);
    struct assay_comparison comparison;
    assay_comparison_init(&comparison, assay_op_tolerance(op, problem, output));
    for (int64_t row = 0; row < rows; row++) {
        assay_op_reference(op, problem, output, operands->in, row, 0, length, expected,
                           expected + length);
        assay_comparison_add_sums(&comparison, t->dtype, operands->out[output], row * length,
                                  expected, expected + length, length);
    }
    assay_free(expected);
    if (comparison.mismatches || getenv("ASSAY_TEST_VERBOSE"))
        print_message(
            "%s %s %lldx%lldx%lld output %d: %lld of %lld off (first: got %.9g, not %.9g), max abs "
            "%.3g, max rel %.3g, allowed %.3g + %.3g * |ref|\n",
            kernel->name, assay_dtype_name(problem->dtype), (long long)problem->axes[0],
            (long long)problem->axes[1], (long long)problem->axes[2], output,
            (long long)comparison.mismatches, (long long)comparison.compared, comparison.first_got,
            comparison.first_ref, comparison.max_abs, comparison.max_rel, comparison.worst_absolute,
            comparison.tolerance.relative);
    assert_int_equal(comparison.mismatches, 0);
}

/* Three sets of operands and five calls, so that operands are bound anew and bound again. */
static void check_kernel(const struct assay_kernel *kernel, enum assay_dtype dtype,
                         const char *mode, const int64_t *axes)
{
    enum { SETS = 3, ITERS = 5 };
    const struct assay_op *op = assay_op_find(kernel->op);
    struct assay_problem problem;
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 2, &problem, NULL), ASSAY_OK);
    if (assay_kernel_can_run(kernel, &problem, NULL) != ASSAY_OK)
        return; /* bf16 on a CPU without avx512, or with an AMX the library dies of */
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
        for (int32_t k = 0; k < problem.n_outputs; k++)
            check_output(kernel, &problem, &operands[i], k);
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
        if (strcmp(kernel->implementation, "onednn") != 0 || kernel->prepare ||
            !assay_op_is_of_rows(assay_op_find(kernel->op)))
            continue; /* see below, and the tests of linear's, conv2d's and their gradients */
        checked++;
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
                check_kernel(kernel, dtypes[d], NULL, shapes[k]);
    }
    assay_kernel_registry_destroy(registry);
    assert_int_equal(checked, 21);
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

/* ---- linear ---------------------------------------------------------------------------------- */

extern const struct assay_kernel assay_kernel_linear_onednn, assay_kernel_linear_onednn_avx512;
static const struct assay_kernel *const full = &assay_kernel_linear_onednn;
static const struct assay_kernel *const without_amx = &assay_kernel_linear_onednn_avx512;

static void a_named_file_that_is_not_there(void)
{
    struct assay_error why = {0};
    char text[64] = "untouched";
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    setenv("ASSAY_DNNL", "/nowhere/libdnnl.so", 1);
    CHECK(assay_kernel_can_run(full, NULL, &why) == ASSAY_UNSUPPORTED);
    CHECK(strcmp(why.where, "ASSAY_DNNL") == 0);
    CHECK(assay_kernel_can_run(without_amx, NULL, NULL) == ASSAY_UNSUPPORTED);
    full->note(&problem, text, sizeof text);
    without_amx->note(&problem, text, sizeof text);
    CHECK(strcmp(text, "untouched") == 0);
}

/* Can this machine tell a user's own limit from ours? */
static bool can_crash(void)
{
    const struct assay_dnnl_api *dnnl;
    return assay_cpu_info()->amx_leaf_hidden && assay_onednn_api(&dnnl, NULL) == ASSAY_OK;
}

/* The user insists on AMX, and gets it until it has been left out. */
static void a_users_limit_is_theirs(void)
{
    setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_AMX", 1);
    if (!can_crash())
        return;
    char text[128] = "";
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_S8, "", 16, 64, 33);
    CHECK(!assay_onednn_amx_left_out());
    CHECK(assay_kernel_can_run(full, &problem, NULL) == ASSAY_OK);
    full->note(&problem, text, sizeof text);
    CHECK(strstr(text, ", ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX"));
    CHECK(assay_kernel_can_run(without_amx, &problem, NULL) == ASSAY_OK);
    without_amx->note(&problem, text, sizeof text);
    CHECK(strstr(text, ", AVX-512 BF16 (AMX left out: CPUID leaf 0x1D is hidden here)"));
    check_linear(without_amx, ASSAY_DTYPE_S8, "", 16, 64, 33); /* would crash with AMX */
    check_linear(without_amx, ASSAY_DTYPE_BF16, "", 16, 64, 33);
    CHECK(assay_onednn_amx_left_out());
    CHECK(assay_kernel_can_run(full, &problem, NULL) == ASSAY_UNSUPPORTED);
}

/* What was used with AMX cannot be held back any more. */
static void too_late_to_leave_amx_out(void)
{
    setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_AMX", 1);
    if (!can_crash())
        return;
    struct assay_error why = {0};
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_BF16, "", 2, 3, 4);
    void *own = NULL;
    check_linear(full, ASSAY_DTYPE_F32, "", 2, 3, 4);
    CHECK(without_amx->setup(&problem, &own, &why) == ASSAY_UNSUPPORTED);
    CHECK(strstr(why.message, "used with AMX in this process before"));
    CHECK(!own);
}

static void what_can_happen_only_once(void **state)
{
    (void)state;
    in_another_process(a_named_file_that_is_not_there);
    in_another_process(a_users_limit_is_theirs);
    in_another_process(too_late_to_leave_amx_out);
}

static const struct assay_kernel *kernel_for(enum assay_dtype dtype)
{
    struct assay_problem problem = linear_problem(dtype, "", 2, 3, 4);
    if (assay_kernel_can_run(full, &problem, NULL) == ASSAY_OK)
        return full;
    return assay_kernel_can_run(without_amx, &problem, NULL) == ASSAY_OK ? without_amx : NULL;
}

/* Without VNNI the library adds pairs of 8-bit products in 16 bits, which can saturate. */
static void linear_is_right(void **state)
{
    (void)state;
    skip_without_library();
    static const char *const modes[] = {"bias",       "sigmoid",   "relu",      "bias+leakyrelu",
                                        "bias+relu6", "bias+gelu", "bias+silu", "bias+hardswish"};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_S8};
    for (int d = 0; d < 3; d++) {
        const struct assay_kernel *kernel = kernel_for(dtypes[d]);
        if (!kernel || (dtypes[d] == ASSAY_DTYPE_S8 && !assay_cpu_has(ASSAY_CPU_AVX512_VNNI)))
            continue;
        check_linear_shapes(kernel, dtypes[d]);
        check_linear(kernel, dtypes[d], "", 64, 300, 500);
        for (size_t i = 0; i < sizeof modes / sizeof modes[0] && dtypes[d] != ASSAY_DTYPE_S8; i++)
            check_linear(kernel, dtypes[d], modes[i], 5, 70, 33);
    }
}

static void linear_without_amx_only_where_there_is_some(void **state)
{
    (void)state;
    skip_without_library();
    struct assay_error why = {0};
    char text[128] = "";
    struct assay_problem f32 = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    struct assay_problem bf16 = linear_problem(ASSAY_DTYPE_BF16, "", 2, 3, 4);
    assert_int_equal(assay_kernel_can_run(full, &f32, NULL), ASSAY_OK);
    assert_int_equal(assay_kernel_can_run(without_amx, &f32, NULL), ASSAY_UNSUPPORTED);
    if (!assay_cpu_has(ASSAY_CPU_AMX_TILE)) {
        assert_int_equal(assay_kernel_can_run(without_amx, &bf16, &why), ASSAY_UNSUPPORTED);
        assert_string_equal(why.message, "no AMX here to be left out: linear_onednn is the same");
    } else if (assay_cpu_info()->amx_leaf_hidden && !assay_onednn_users_limit()) {
        assert_int_equal(assay_kernel_can_run(full, &bf16, &why), ASSAY_UNSUPPORTED);
        assert_string_equal(why.message,
                            "its AMX path dies here (SIGILL): CPUID leaf 0x1D is hidden");
        assert_int_equal(assay_kernel_can_run(without_amx, &bf16, NULL), ASSAY_OK);
    }
    full->note(&f32, text, sizeof text);
    assert_memory_equal(text, "oneDNN 2.", 9);
    assert_true(full->preference > without_amx->preference);
}

/* The same two kernels of conv2d; test_conv.c checks their outputs. */
static void conv2d_without_amx_only_where_there_is_some(void **state)
{
    (void)state;
    skip_without_library();
    extern const struct assay_kernel assay_kernel_conv2d_onednn, assay_kernel_conv2d_onednn_avx512;
    const struct assay_kernel *conv = &assay_kernel_conv2d_onednn;
    const struct assay_kernel *without = &assay_kernel_conv2d_onednn_avx512;
    static const int64_t axes[] = {1, 4, 4, 8, 8, 3, 1};
    struct assay_error why = {0};
    for (int d = 0; d < 2; d++) {
        struct assay_problem problem;
        enum assay_dtype dtype = d ? ASSAY_DTYPE_BF16 : ASSAY_DTYPE_F32;
        assert_int_equal(
            assay_op_problem(assay_op_find("conv2d"), dtype, NULL, axes, 1, &problem, NULL),
            ASSAY_OK);
        bool dies = d && assay_cpu_info()->amx_leaf_hidden && !assay_onednn_users_limit();
        bool can = !d || assay_cpu_has(ASSAY_CPU_AVX512);
        assert_true((assay_kernel_can_run(conv, &problem, NULL) == ASSAY_OK) == (can && !dies));
        if (d && can && !assay_cpu_has(ASSAY_CPU_AMX_TILE)) {
            assert_int_equal(assay_kernel_can_run(without, &problem, &why), ASSAY_UNSUPPORTED);
            assert_string_equal(why.message,
                                "no AMX here to be left out: conv2d_onednn is the same");
        } else if (dies) {
            assert_int_equal(assay_kernel_can_run(without, &problem, NULL), ASSAY_OK);
        }
    }
    assert_true(conv->preference > without->preference);
}

static void linear_takes_no_recipes(void **state)
{
    (void)state;
    skip_without_library();
    struct assay_error why = {0};
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    problem.recipe = "int8dq";
    assert_int_equal(assay_kernel_can_run(full, &problem, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "only the baseline, no int8dq");
    problem.recipe = NULL;
    assert_int_equal(assay_kernel_can_run(full, &problem, NULL), ASSAY_OK);
}

/* Weights are used only as prepared, set by set; a new set 0 makes the others void. */
static void linear_runs_only_what_is_prepared(void **state)
{
    (void)state;
    skip_without_library();
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 3, 65, 33);
    struct operands operands;
    make_operands(assay_op_find("linear"), &problem, 1, &operands);
    struct assay_args set = {operands.in, operands.out}, sets[2] = {set, set};
    struct assay_work one = {.iters = 1, .n_sets = 1, .sets = sets};
    struct assay_work two = {.iters = 2, .n_sets = 2, .sets = sets};
    void *own = NULL;
    assert_int_equal(full->setup(&problem, &own, NULL), ASSAY_OK);
    assert_int_equal(full->run(own, &one), ASSAY_ERR_INVALID);
    assert_int_equal(full->prepare(own, 1, &set, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(full->prepare(own, 0, &set, NULL), ASSAY_OK);
    assert_int_equal(full->prepare(own, 1, &set, NULL), ASSAY_OK);
    assert_int_equal(full->run(own, &two), ASSAY_OK);
    assert_int_equal(full->prepare(own, 0, &set, NULL), ASSAY_OK);
    assert_int_equal(full->run(own, &two), ASSAY_ERR_INVALID);
    assert_int_equal(full->run(own, &one), ASSAY_OK);
    check_product(full->name, &problem, operands.in, operands.out[0]);
    assert_true(full->prepared_bytes(own) >= assay_tensor_bytes(&problem.inputs[1]));
    full->teardown(own);
    free_operands(&operands);
}

static void linear_out_of_memory(void **state)
{
    (void)state;
    skip_without_library();
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "bias+gelu", 3, 65, 33);
    struct operands operands;
    make_operands(assay_op_find("linear"), &problem, 1, &operands);
    struct assay_args set = {operands.in, operands.out};
    void *own = NULL;
    assay_alloc_fail_after(1);
    assert_int_equal(full->setup(&problem, &own, NULL), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
    assert_null(own);
    assert_int_equal(full->setup(&problem, &own, NULL), ASSAY_OK);
    for (int64_t nth = 1; nth <= 2; nth++) { /* the list of sets, the set */
        assay_alloc_fail_after(nth);
        assert_int_equal(full->prepare(own, 0, &set, NULL), ASSAY_ERR_NOMEM);
        assay_alloc_fail_after(0);
    }
    assert_int_equal(full->prepare(own, 0, &set, NULL), ASSAY_OK);
    full->teardown(own);
    free_operands(&operands);
}

/* ---- attention ------------------------------------------------------------------------------- */

extern const struct assay_kernel assay_kernel_attention_onednn,
    assay_kernel_attention_onednn_avx512;
static const struct assay_kernel *const attention[] = {&assay_kernel_attention_onednn,
                                                       &assay_kernel_attention_onednn_avx512};

static struct assay_problem attention_problem(enum assay_dtype dtype, const int64_t *axes)
{
    struct assay_problem problem;
    assert_int_equal(
        assay_op_problem(assay_op_find("attention"), dtype, NULL, axes, 1, &problem, NULL),
        ASSAY_OK);
    return problem;
}

/* Two of the four modes in turn; test_attention.c has more shapes and unusual values. */
static void attention_is_right(void **state)
{
    (void)state;
    skip_without_library();
    static const char *const modes[] = {"", "qkv", "causal", "qkv+causal"};
    static const int64_t seqs[] = {1, 17, 128}, dims[] = {8, 64, 80};
    for (int i = 0; i < 9; i++) {
        const int64_t axes[] = {2, seqs[i / 3], i < 6 ? 3 : 1, dims[i % 3]};
        for (int m = i % 2; m < 4; m += 2) {
            check_kernel(attention[0], ASSAY_DTYPE_F32, modes[m], axes);
            check_kernel(attention[0], ASSAY_DTYPE_BF16, modes[m], axes);
            check_kernel(attention[1], ASSAY_DTYPE_BF16, modes[m], axes);
        }
    }
}

static void check_sample(const struct assay_kernel *kernel, const char *mode, const int64_t *axes)
{
    const struct assay_op *op = assay_op_find(kernel->op);
    const struct assay_reference_how how = {.seed = 3, .most = 200};
    struct assay_problem problem;
    struct operands operands;
    struct assay_comparison comparison;
    assay_reference *reference = NULL;
    void *own = NULL;
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, mode, axes, 2, &problem, NULL),
                     ASSAY_OK);
    make_operands(op, &problem, 1, &operands);
    struct assay_args set = {operands.in, operands.out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &set};
    assert_int_equal(kernel->setup(&problem, &own, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
    assert_int_equal(assay_reference_create(op, &problem, operands.in, &how, &reference, NULL),
                     ASSAY_OK);
    assay_reference_compare(reference, operands.out[0], &comparison);
    assert_true(comparison.compared >= 100);
    assert_int_equal(comparison.mismatches, 0);
    assay_reference_destroy(reference);
    free_operands(&operands);
}

/* More scores than are made at once: some heads of a batch at a time, then some batches. */
static void attention_goes_in_rounds(void **state)
{
    (void)state;
    skip_without_library();
    check_sample(attention[0], "qkv", (int64_t[]){1, 2100, 4, 8});
    check_sample(attention[0], "", (int64_t[]){4, 1030, 4, 8});
}

static void attention_refuses_what_does_not_fit(void **state)
{
    (void)state;
    skip_without_library();
    struct assay_error why = {0};
    struct assay_problem fits = attention_problem(ASSAY_DTYPE_F32, (int64_t[]){1, 4096, 2, 8});
    struct assay_problem larger = attention_problem(ASSAY_DTYPE_F32, (int64_t[]){1, 4097, 2, 8});
    assert_int_equal(assay_kernel_can_run(attention[0], &fits, NULL), ASSAY_OK);
    assert_int_equal(assay_kernel_can_run(attention[0], &larger, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message,
                        "the scores of one head, seq * seq, do not fit in 64 MiB of scratch");
}

static void attention_without_amx_only_where_there_is_some(void **state)
{
    (void)state;
    skip_without_library();
    static const int64_t axes[] = {1, 4, 2, 8};
    struct assay_error why = {0};
    char text[128] = "";
    struct assay_problem f32 = attention_problem(ASSAY_DTYPE_F32, axes);
    struct assay_problem bf16 = attention_problem(ASSAY_DTYPE_BF16, axes);
    assert_int_equal(assay_kernel_can_run(attention[0], &f32, NULL), ASSAY_OK);
    assert_int_equal(assay_kernel_can_run(attention[1], &f32, NULL), ASSAY_UNSUPPORTED);
    assert_true(attention[0]->preference > attention[1]->preference);
    attention[0]->note(&f32, text, sizeof text);
    assert_memory_equal(text, "oneDNN 2.", 9);
    if (!assay_cpu_info()->amx_leaf_hidden || assay_onednn_users_limit() ||
        assay_kernel_can_run(attention[1], &bf16, NULL) != ASSAY_OK)
        return;
    assert_int_equal(assay_kernel_can_run(attention[0], &bf16, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "its AMX path dies here (SIGILL): CPUID leaf 0x1D is hidden");
    attention[1]->note(&bf16, text, sizeof text);
    assert_non_null(strstr(text, "AMX left out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_happen_only_once), /* before the library is open */
        cmocka_unit_test(declared_numbers_are_the_headers),
        cmocka_unit_test(declared_structs_fit_the_headers),
        cmocka_unit_test(kernels_agree_with_the_reference),
        cmocka_unit_test(a_failed_setup_says_why),
        cmocka_unit_test(linear_is_right),
        cmocka_unit_test(linear_without_amx_only_where_there_is_some),
        cmocka_unit_test(conv2d_without_amx_only_where_there_is_some),
        cmocka_unit_test(linear_takes_no_recipes),
        cmocka_unit_test(linear_runs_only_what_is_prepared),
        cmocka_unit_test(linear_out_of_memory),
        cmocka_unit_test(attention_is_right),
        cmocka_unit_test(attention_goes_in_rounds),
        cmocka_unit_test(attention_refuses_what_does_not_fit),
        cmocka_unit_test(attention_without_amx_only_where_there_is_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
