/* linear_cublaslt.c: `linear` by NVIDIA's cuBLASLt: y [m, n] = act(norm(x) W^T + bias) + residual.
 *
 * The library's matrices are stored by columns. Seen so, W [n, k] is k x n and x [m, k] is k x m,
 * and y [m, n] is n x m: D = A^T B with A = W, B = x. That form, "TN", is also the only one it has
 * for 8-bit types. In the words of its documentation then M = n, N = m, K = k.
 *
 * What the library does of the rest differs with types and versions, so setup goes down a list of
 * ways (struct way), the one that leaves least to do first, until its heuristic finds an algorithm:
 * bias, relu and scales within the product and y written at once; or sums in f32 or s32, finished
 * by epilogue.cu. Sums are never rounded to 16 bits in between: activations the library lacks (its
 * gelu is the tanh one) take sums in f32. The library adds its C before its epilogue, so a residual
 * can be C where there is no activation; else epilogue.cu adds it.
 *
 * A norm is part of what quantises x (activations.cu), or a pass of its own (linear_norm.cu).
 *
 * Not here: recipes that keep x as it is but not W (int8wo, int4wo, …), and 8-bit types with rows
 * that are no multiples of 16. */
#include "base/alloc.h"
#include "kernel/cuda/linear/activations_cuda.h"
#include "kernel/cuda/autotune.h"
#include "kernel/cuda/linear/linear_norm_cuda.h"
#include "kernel/cuda/linear/linear_weights_cuda.h"
#include "kernel/kernel.h"
#include "op/linear.h"

#include <stdio.h>
#include <string.h>

enum { OPERAND_ALIGN = 64, OWN_ALIGN = 256 };

/* cublasLtMatmulPreferenceAttributes_t that cuda_api.h lacks. */
enum { PREFERENCE_REDUCTION_MASK = 3, PREFERENCE_ALIGN_A = 5 /* then B, C and D */ };

/* cublasLtReductionScheme_t: how the parts of a sum that was cut along k come together. The others
 * (in place 1, output type 4) round each part to the output's type. */
enum { REDUCTION_COMPUTE_TYPE = 2, REDUCTION_ANY = 7 };

/* One way to divide the work between the library and epilogue.cu. */
struct way {
    int d_type;    /* of what the library writes */
    bool epilogue; /* bias and relu are the library's */
    bool scales;   /* scales of W and x are the library's */
    bool add;      /* the residual is the library's C */
    bool padded;   /* the product has activations.m_padded rows */
    bool finish;   /* epilogue.cu follows */
};

struct state {
    const struct cuda_cublaslt_api *lt;
    cublaslt_handle handle;
    int64_t m, k, n;
    enum assay_dtype dtype;
    struct assay_recipe recipe;
    bool bias, quantises;
    enum assay_linear_activation activation;
    int norm;
    int32_t norm_input, residual_input; /* -1: none */
    int32_t threads;

    struct way way;
    cublaslt_matmul_desc desc;
    cublaslt_matrix_layout a, b, d;
    cublaslt_heuristic
        candidates[CUDA_CANDIDATES]; /* those that can run, the library's favourite first */
    int n_candidates, chosen;
    bool tune; /* the fastest candidate has yet to be found */

    void *workspace, *sums;
    size_t workspace_bytes, sums_bytes; /* sums: f32 or s32, [m or m_padded, n]; or NULL */
    cu_function finish;
    struct assay_cuda_launch finish_launch;
    struct cuda_activations activations;
    struct cuda_linear_norm normalised; /* where x is not quantised, and has a norm */
    struct cuda_weight_sets sets;
};

/* ---- who can run ----------------------------------------------------------------------------- */

static bool quantised(const struct assay_recipe *recipe)
{
    return recipe->activation != ASSAY_DTYPE_NONE;
}

/* The library takes both operands in one type. */
static bool takes(const struct assay_recipe *recipe)
{
    bool known = recipe->code == ASSAY_DTYPE_NONE || recipe->code == ASSAY_DTYPE_S8 ||
                 recipe->code == ASSAY_DTYPE_E4M3;
    return known && recipe->code == recipe->activation;
}

/* From the documentation of cublasLtMatmul. Integers: M = n and K = k are multiples of 4, as are
 * the leading dimensions in bytes; 16 for k, because without it the algorithms are old and slow.
 * 8-bit floats: dimensions and leading dimensions of 16 bytes, which for m is not enforced; where
 * it is, a later way pads. */
static enum assay_status fits(enum assay_dtype code, int64_t k, int64_t n, struct assay_error *why)
{
    int64_t n_multiple = code == ASSAY_DTYPE_S8 ? 4 : 16;
    if (code != ASSAY_DTYPE_S8 && code != ASSAY_DTYPE_E4M3)
        return ASSAY_OK;
    if (k % 16 != 0 || n % n_multiple != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "cuBLASLt's %s products need k a multiple of 16 and n one of %d",
                               assay_dtype_name(code), (int)n_multiple);
    return ASSAY_OK;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_cublaslt(why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    int64_t k = problem->axes[ASSAY_LINEAR_K], n = problem->axes[ASSAY_LINEAR_N];
    status = assay_recipe_fits(&recipe, problem->dtype, k, why);
    if (status != ASSAY_OK)
        return status;
    if (!takes(&recipe))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "cuBLASLt has nothing for %s",
                               recipe.name);
    int activation = (int)problem->params[ASSAY_LINEAR_ACTIVATION];
    bool library = activation == ASSAY_LINEAR_NONE ||
                   (activation == ASSAY_LINEAR_RELU && !problem->params[ASSAY_LINEAR_ADD]);
    if (quantised(&recipe) || problem->params[ASSAY_LINEAR_NORM] || !library)
        status = assay_cuda_can_compile(why);
    if (status != ASSAY_OK)
        return status;
    return fits(quantised(&recipe) ? recipe.code : problem->dtype, k, n, why);
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    const struct cuda_cublaslt_api *lt = assay_cuda_cublaslt();
    if (!lt)
        return;
    int version = (int)lt->cublasLtGetVersion();
    int length = snprintf(text, size, "cuBLASLt %d.%d.%d", version / 10000, version / 100 % 100,
                          version % 100);
    if (assay_host_autotunes(problem) && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", autotuned: the fastest of up to %d",
                 CUDA_CANDIDATES);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* What is multiplied. */
static enum assay_dtype operand_of(const struct state *s)
{
    return s->quantises ? s->recipe.code : s->dtype;
}

static bool integers(const struct state *s) { return operand_of(s) == ASSAY_DTYPE_S8; }

static int type_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F16:
        return CUDA_R_16F_;
    case ASSAY_DTYPE_BF16:
        return CUDA_R_16BF_;
    case ASSAY_DTYPE_S8:
        return CUDA_R_8I_;
    case ASSAY_DTYPE_E4M3:
        return CUDA_R_8F_E4M3_;
    default:
        return CUDA_R_32F_;
    }
}

static int64_t rows_of(const struct state *s, const struct way *way)
{
    return way->padded ? s->activations.m_padded : s->m;
}

/* Are the library's answers y itself, or sums of its size and type that are finished in place? */
static bool writes_y(const struct state *s, const struct way *way)
{
    bool same = way->d_type == type_of(s->dtype) ||
                (s->dtype == ASSAY_DTYPE_S8 && way->d_type == CUDA_R_32I_);
    return same && !way->padded;
}

/* ---- ways ------------------------------------------------------------------------------------ */

enum { MOST_WAYS = 5 };

/* The best first. Of 8-bit floats the documentation has D in f16, bf16 and f32, a bias of D's type
 * for the first two and in bf16 for the last, which is then ours to add. Vectors of scales came
 * with CUDA 12.9, for compute capability 9.0 only, and only for both operands. */
static int ways_of(const struct state *s, struct way *out)
{
    int n = 0;
    bool add = s->residual_input >= 0;
    bool plain = s->activation == ASSAY_LINEAR_NONE || (s->activation == ASSAY_LINEAR_RELU && !add);
    bool nothing = s->activation == ASSAY_LINEAR_NONE && !s->bias && !add;
    if (integers(s)) {
        out[n++] = (struct way){.d_type = CUDA_R_32I_, .finish = s->quantises};
        if (s->quantises) /* some versions want more than 16 rows */
            out[n++] = (struct way){.d_type = CUDA_R_32I_, .finish = true, .padded = true};
        return n;
    }
    bool fp8 = s->quantises;
    if (plain && !(fp8 && s->bias && s->dtype == ASSAY_DTYPE_F32))
        out[n++] =
            (struct way){.d_type = type_of(s->dtype), .epilogue = true, .scales = fp8, .add = add};
    out[n++] = (struct way){
        .d_type = CUDA_R_32F_, .scales = fp8, .finish = !nothing || s->dtype != ASSAY_DTYPE_F32};
    if (fp8) {
        out[n++] = (struct way){.d_type = CUDA_R_32F_, .finish = true};
        out[n++] = (struct way){.d_type = CUDA_R_32F_, .finish = true, .padded = true};
    }
    return n;
}

static cublas_status set(const struct state *s, int attribute, const void *value, size_t bytes)
{
    return s->lt->cublasLtMatmulDescSetAttribute(s->desc, attribute, value, bytes);
}

static cublas_status set_int(const struct state *s, int attribute, int32_t value)
{
    return set(s, attribute, &value, sizeof value);
}

static cublas_status set_pointer(const struct state *s, int attribute, const void *value)
{
    return set(s, attribute, &value, sizeof value);
}

static bool vectors_of_scales(const struct state *s)
{
    return s->activations.scope == ASSAY_SCOPE_ROW;
}

/* The pointers are stand-ins as well aligned as the real ones, which come with each call: the
 * heuristic looks at their alignment, and at whether they are there. A scale of the tensor is
 * repeated for each row of W, so its first is the one, and it can serve as a vector; x's single one
 * cannot. */
static cublas_status describe_scales(const struct state *s, const struct way *way)
{
    if (!way->scales)
        return 0;
    bool vectors = vectors_of_scales(s);
    if (!vectors && s->recipe.scope != ASSAY_SCOPE_TENSOR)
        return 1; /* no such mix: the next way */
    cublas_status code = set_pointer(s, CUBLASLT_DESC_A_SCALE_POINTER, s->workspace);
    if (code == 0)
        code = set_pointer(s, CUBLASLT_DESC_B_SCALE_POINTER, s->activations.scales);
    if (code == 0 && vectors)
        code = set_int(s, CUBLASLT_DESC_A_SCALE_MODE, CUBLASLT_SCALE_OUTER_VECTOR);
    if (code == 0 && vectors)
        code = set_int(s, CUBLASLT_DESC_B_SCALE_MODE, CUBLASLT_SCALE_OUTER_VECTOR);
    return code;
}

static cublas_status describe_epilogue(const struct state *s, const struct way *way)
{
    uint32_t epilogue = 0;
    if (way->epilogue && s->activation == ASSAY_LINEAR_RELU)
        epilogue |= CUBLASLT_EPILOGUE_RELU_;
    if (way->epilogue && s->bias)
        epilogue |= CUBLASLT_EPILOGUE_BIAS_;
    if (!epilogue)
        return 0; /* CUBLASLT_EPILOGUE_DEFAULT is what it starts as */
    cublas_status code = set(s, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == 0 && s->bias)
        code = set_int(s, CUBLASLT_DESC_BIAS_TYPE, type_of(s->dtype));
    if (code == 0 && s->bias)
        code = set_pointer(s, CUBLASLT_DESC_BIAS_POINTER,
                           (const unsigned char *)s->workspace + OPERAND_ALIGN);
    return code;
}

/* f32 is multiplied as f32 is, not as TF32. 8-bit floats are summed without the fast mode, which
 * would leave the tensor cores' short sums as they are for all of k. */
static cublas_status describe(struct state *s, const struct way *way)
{
    const struct cuda_cublaslt_api *lt = s->lt;
    int8_t slow = 0;
    int type = type_of(operand_of(s));
    uint64_t m = (uint64_t)rows_of(s, way), k = (uint64_t)s->k, n = (uint64_t)s->n;
    int64_t ld = s->quantises ? s->activations.k_padded : s->k;
    cublas_status code = lt->cublasLtMatmulDescCreate(
        &s->desc, integers(s) ? CUBLAS_COMPUTE_S32 : CUBLAS_COMPUTE_F32,
        integers(s) ? CUDA_R_32I_ : CUDA_R_32F_);
    if (code == 0)
        code = set_int(s, CUBLASLT_DESC_TRANSA, CUBLAS_OP_T_);
    if (code == 0)
        code = set_int(s, CUBLASLT_DESC_TRANSB, CUBLAS_OP_N_);
    if (code == 0 && type == CUDA_R_8F_E4M3_)
        code = set(s, CUBLASLT_DESC_FAST_ACCUM, &slow, sizeof slow);
    if (code == 0)
        code = describe_epilogue(s, way);
    if (code == 0)
        code = describe_scales(s, way);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&s->a, type, k, n, s->k);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&s->b, type, k, m, ld);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&s->d, way->d_type, n, m, s->n);
    return code;
}

static void forget_description(struct state *s)
{
    if (s->desc)
        s->lt->cublasLtMatmulDescDestroy(s->desc);
    if (s->a)
        s->lt->cublasLtMatrixLayoutDestroy(s->a);
    if (s->b)
        s->lt->cublasLtMatrixLayoutDestroy(s->b);
    if (s->d)
        s->lt->cublasLtMatrixLayoutDestroy(s->d);
    s->desc = NULL;
    s->a = s->b = s->d = NULL;
}

/* The library takes pointers to be aligned to 256 bytes unless told otherwise; operands are to 64.
 */
static cublas_status prefer(const struct state *s, const struct way *way,
                            cublaslt_preference preference)
{
    uint64_t workspace = s->workspace_bytes;
    bool narrow = way->d_type == CUDA_R_16F_ || way->d_type == CUDA_R_16BF_;
    uint32_t reduction = narrow ? REDUCTION_COMPUTE_TYPE : REDUCTION_ANY;
    uint32_t b = s->quantises ? OWN_ALIGN : OPERAND_ALIGN;
    uint32_t d = writes_y(s, way) ? OPERAND_ALIGN : OWN_ALIGN;
    uint32_t align[4] = {OWN_ALIGN, b, d, d};
    cublas_status code = s->lt->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    if (code == 0)
        code = s->lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_REDUCTION_MASK,
                                                           &reduction, sizeof reduction);
    for (int i = 0; i < 4 && code == 0; i++)
        code = s->lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGN_A + i,
                                                           &align[i], sizeof align[i]);
    return code;
}

static cublas_status ask(struct state *s, const struct way *way)
{
    const struct cuda_cublaslt_api *lt = s->lt;
    cublaslt_preference preference = NULL;
    cublaslt_heuristic answers[CUDA_CANDIDATES];
    int found = 0;
    cublas_status code = lt->cublasLtMatmulPreferenceCreate(&preference);
    if (code == 0)
        code = prefer(s, way, preference);
    if (code == 0)
        code = lt->cublasLtMatmulAlgoGetHeuristic(s->handle, s->desc, s->a, s->b, s->d, s->d,
                                                  preference, CUDA_CANDIDATES, answers, &found);
    if (preference)
        lt->cublasLtMatmulPreferenceDestroy(preference);
    s->n_candidates = s->chosen = 0;
    for (int i = 0; i < found && code == 0; i++)
        if (answers[i].state == 0 && answers[i].workspace <= s->workspace_bytes)
            s->candidates[s->n_candidates++] = answers[i];
    return code;
}

/* The first way the library has an algorithm for. */
static enum assay_status choose_way(struct state *s, struct assay_error *err)
{
    struct way ways[MOST_WAYS];
    int n = ways_of(s, ways);
    cublas_status code = 0;
    for (int i = 0; i < n; i++) {
        code = describe(s, &ways[i]);
        if (code == 0)
            code = ask(s, &ways[i]);
        if (code == 0 && s->n_candidates > 0) {
            s->way = ways[i];
            return ASSAY_OK;
        }
        forget_description(s);
    }
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "cuBLASLt has no algorithm for %lldx%lldx%lld in %s (it says %d)",
                           (long long)s->m, (long long)s->k, (long long)s->n,
                           assay_dtype_name(operand_of(s)), code);
}

/* ---- setup ----------------------------------------------------------------------------------- */

static int element_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 32 : dtype == ASSAY_DTYPE_F16 ? 16 : 17;
}

/* 0: none of ours, 1: one for each row of x, 2: one. */
static int x_scales_of(const struct state *s)
{
    if (!s->quantises || s->way.scales)
        return 0;
    return s->activations.scope == ASSAY_SCOPE_ROW ? 1 : 2;
}

static enum assay_status make_finish(struct state *s, struct assay_error *err)
{
    enum { MOST_THREADS = 256 };
    int64_t vec = 16 / (int64_t)assay_dtype_bytes(s->dtype);
    bool aligned = s->n % vec == 0;
    int64_t columns = aligned ? s->n / vec : s->n;
    int64_t threads = (columns + 31) / 32 * 32;
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    int64_t across = (columns + threads - 1) / threads;
    bool crowded = s->m * across >= 8 * (int64_t)assay_cuda_properties()->sms;
    int64_t rows = crowded ? 4 : 1;
    int x_scales = x_scales_of(s);
    char options[192];
    snprintf(options, sizeof options,
             "-DELEMENT=%d -DS32=%d -DX_SCALES=%d -DW_SCALES=%d -DBIAS=%d -DACTIVATION=%d "
             "-DRESIDUAL=%d -DALIGNED=%d -DROWS=%d",
             element_of(s->dtype), integers(s), x_scales, x_scales != 0, s->bias,
             (int)s->activation, s->residual_input >= 0, aligned, (int)rows);
    s->finish_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)((s->m + rows - 1) / rows),
        .grid_y = (unsigned)across,
        .threads = (unsigned)threads,
    };
    return assay_cuda_function("epilogue.cu", options, "epilogue", 0, &s->finish, err);
}

/* Rows of codes are filled up for the ways that pad: to 16, which 8-bit floats may ask for, and to
 * 32 for integers. */
static enum assay_status make_activations(struct state *s, struct assay_error *err)
{
    int64_t m_multiple = s->recipe.activation == ASSAY_DTYPE_S8 ? 32 : 16;
    return assay_cuda_activations_create(&s->recipe, s->dtype, s->norm, s->m, s->k, m_multiple, 16,
                                         &s->activations, err);
}

/* NVIDIA's advice for the workspace is 32 MiB from Hopper on and 4 MiB before; twice that and more,
 * so that it decides nothing. */
static enum assay_status make_workspace(struct state *s, struct assay_error *err)
{
    s->workspace_bytes = (size_t)(assay_cuda_properties()->major >= 9 ? 64 : 32) << 20;
    return assay_cuda_alloc(s->workspace_bytes, &s->workspace, err);
}

static enum assay_status make_sums(struct state *s, struct assay_error *err)
{
    if (writes_y(s, &s->way))
        return ASSAY_OK;
    s->sums_bytes = (size_t)rows_of(s, &s->way) * (size_t)s->n * sizeof(float);
    return assay_cuda_alloc(s->sums_bytes, &s->sums, err);
}

static void teardown(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    forget_description(s);
    assay_cuda_weight_sets_fini(&s->sets);
    assay_cuda_activations_fini(&s->activations);
    assay_cuda_linear_norm_fini(&s->normalised);
    assay_cuda_free(s->workspace, s->workspace_bytes);
    assay_cuda_free(s->sums, s->sums_bytes);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->lt = assay_cuda_cublaslt();
    s->m = problem->axes[ASSAY_LINEAR_M];
    s->k = problem->axes[ASSAY_LINEAR_K];
    s->n = problem->axes[ASSAY_LINEAR_N];
    s->tune = assay_host_autotunes(problem);
    s->dtype = problem->dtype;
    s->bias = problem->params[ASSAY_LINEAR_BIAS] != 0;
    s->activation = (enum assay_linear_activation)problem->params[ASSAY_LINEAR_ACTIVATION];
    s->norm = (int)problem->params[ASSAY_LINEAR_NORM];
    s->norm_input = assay_linear_norm_input(problem);
    s->residual_input = assay_linear_residual_input(problem);
    s->threads = problem->threads;
    enum assay_status status = assay_recipe_parse(problem->recipe, &s->recipe, err);
    s->quantises = status == ASSAY_OK && quantised(&s->recipe);
    if (status == ASSAY_OK)
        status = assay_cuda_cublaslt_handle(&s->handle, err);
    if (status == ASSAY_OK)
        status = make_workspace(s, err);
    if (status == ASSAY_OK && s->quantises)
        status = make_activations(s, err);
    if (status == ASSAY_OK && !s->quantises && s->norm)
        status = assay_cuda_linear_norm_create(CUDA_NORM_ROWS, s->norm, s->dtype, s->m, s->k, s->n,
                                               &s->normalised, err);
    if (status == ASSAY_OK)
        status = choose_way(s, err);
    if (status == ASSAY_OK)
        status = make_sums(s, err);
    if (status == ASSAY_OK && s->way.finish)
        status = make_finish(s, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        teardown(s);
    return status;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* What x needs before it is multiplied. */
static enum assay_status make_ready(const struct state *s, const struct assay_args *args,
                                    void *stream)
{
    const void *x = args->in[ASSAY_LINEAR_X], *weight = cuda_linear_input(args, s->norm_input);
    if (s->quantises)
        return assay_cuda_activations_run(&s->activations, x, weight, stream);
    return s->norm ? assay_cuda_linear_norm_run(&s->normalised, x, weight, stream) : ASSAY_OK;
}

static const void *multiplied_x(const struct state *s, const struct assay_args *args)
{
    if (s->quantises)
        return s->activations.codes;
    return s->norm ? s->normalised.normalised : args->in[ASSAY_LINEAR_X];
}

/* Enqueues the product alone. Pointers in the description are the host's matter: the library takes
 * them over when it is called. */
static enum assay_status multiply(const struct state *s, const struct cuda_weights *w,
                                  const struct assay_args *args, void *stream)
{
    static const float one_f32 = 1, zero_f32 = 0;
    static const int32_t one_s32 = 1, zero_s32 = 0;
    const void *one = integers(s) ? (const void *)&one_s32 : &one_f32;
    const void *zero = integers(s) ? (const void *)&zero_s32 : &zero_f32;
    const void *x = multiplied_x(s, args);
    void *d = s->sums ? s->sums : args->out[0];
    const void *c = s->way.add ? args->in[s->residual_input] : d;
    cublas_status code = 0;
    if (s->way.scales)
        code = set_pointer(s, CUBLASLT_DESC_A_SCALE_POINTER, w->row_scales);
    if (code == 0 && s->way.epilogue && s->bias)
        code = set_pointer(s, CUBLASLT_DESC_BIAS_POINTER, args->in[ASSAY_LINEAR_BIAS_INPUT]);
    if (code == 0)
        code = s->lt->cublasLtMatmul(
            s->handle, s->desc, one, w->block, s->a, x, s->b, s->way.add ? one : zero, c, s->d, d,
            s->d, &s->candidates[s->chosen].algo, s->workspace, s->workspace_bytes, stream);
    return code == 0 ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

static enum assay_status finish(const struct state *s, const struct cuda_weights *w,
                                const struct assay_args *args, void *stream)
{
    const void *sums = s->sums ? s->sums : args->out[0];
    void *y = args->out[0];
    const void *bias = cuda_linear_input(args, s->bias ? ASSAY_LINEAR_BIAS_INPUT : -1);
    const void *residual = cuda_linear_input(args, s->residual_input);
    const float *x_scales = s->activations.scales, *w_scales = w->row_scales;
    int32_t m = (int32_t)s->m, n = (int32_t)s->n;
    void *parameters[] = {&sums, &y, &bias, &residual, &x_scales, &w_scales, &m, &n};
    return assay_cuda_launch(s->finish, &s->finish_launch, stream, parameters);
}

static enum assay_status call(const struct state *s, int64_t set_index,
                              const struct assay_args *args, void *stream)
{
    const struct cuda_weights *w = &s->sets.sets[set_index];
    enum assay_status status = make_ready(s, args, stream);
    if (status == ASSAY_OK)
        status = multiply(s, w, args, stream);
    if (status == ASSAY_OK && s->way.finish)
        status = finish(s, w, args, stream);
    return status;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++)
        status = call(state, assay_work_set(work, i), assay_work_args(work, i), work->stream);
    return status;
}

static enum assay_status run_activations(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK && s->quantises; i++)
        status = make_ready(s, assay_work_args(work, i), work->stream);
    return status;
}

/* ---- autotuning ------------------------------------------------------------------------------ */

static enum assay_status tune_choose(void *state, int candidate, struct assay_error *err)
{
    struct state *s = state;
    (void)err;
    s->chosen = candidate;
    return ASSAY_OK;
}

static enum assay_status tune_run(void *state, const struct assay_args *args, void *stream)
{
    const struct state *s = state;
    return multiply(s, &s->sets.sets[0], args, stream);
}

/* Times the candidates on the operands of set 0, whose y it writes. */
static enum assay_status tune(struct state *s, const struct assay_args *args,
                              struct assay_error *err)
{
    const struct cuda_tuning tuning = {s->n_candidates, tune_choose, tune_run};
    enum assay_status status = make_ready(s, args, NULL);
    if (status == ASSAY_OK)
        status = assay_cuda_tune(&tuning, s, args, err);
    s->tune = status != ASSAY_OK;
    return status;
}

/* ---- weights --------------------------------------------------------------------------------- */

static enum assay_status prepare(void *state, int64_t set_index, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status =
        assay_cuda_weights_prepare(&s->sets, set_index, &s->recipe, s->dtype,
                                   args->in[ASSAY_LINEAR_W], s->n, s->k, s->threads, err);
    if (status == ASSAY_OK && set_index == 0 && s->tune && s->n_candidates > 1)
        status = tune(s, args, err);
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->sets.n ? s->sets.sets[0].bytes : 0;
}

extern const struct assay_kernel assay_kernel_linear_cublaslt;
const struct assay_kernel assay_kernel_linear_cublaslt = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_cublaslt",
    .op = "linear",
    .implementation = "cublaslt",
    .device = "cuda",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .preference = 1,
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .prepare = prepare,
    .prepared_bytes = prepared_bytes,
    .run_activations = run_activations,
    .note = note,
};
