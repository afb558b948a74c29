/* linear_cublaslt.c: `linear` by NVIDIA's cuBLASLt: y [m, n] = act(norm(x) W^T + bias) + residual.
 *
 * What the library does beyond the product differs with types and versions, so the plan goes down
 * a list of ways (struct way), the one that leaves least to do first, until its heuristic finds an
 * algorithm: bias, relu and scales within the product and y written at once; or sums in f32 or s32,
 * finished by epilogue.cu. Sums are never rounded to 16 bits in between: activations the library
 * lacks (its gelu is the tanh one) take sums in f32. The library adds its C before its epilogue, so
 * a residual can be C where there is no activation; else epilogue.cu adds it.
 *
 * A norm is part of what quantises x (activations.cu), or a separate pass (linear_norm.cu).
 *
 * Not here: recipes that quantise W only (int8wo, int4wo, …), and 8-bit types with rows that are
 * not multiples of 16. */
#include "kernel/cuda/linear/cublaslt_product.h"
#include "kernel/cuda/autotune.h"
#include "kernel/cuda/linear/linear_cuda.h"

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
    struct cuda_linear p;
    struct way way;
    struct cublaslt_product product;
    cublaslt_heuristic candidates[CUBLASLT_MOST_ALGOS];
    int n_candidates, chosen;
    bool tune; /* the fastest candidate has yet to be found */

    void *sums; /* f32 or s32, [m or m_padded, n]; or NULL */
    size_t sums_bytes;
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
    int64_t k = problem->axes[ASSAY_LINEAR_K], n = problem->axes[ASSAY_LINEAR_N];
    status = assay_cuda_linear_recipe(problem, &recipe, why);
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
    int length = assay_cublaslt_version(text, size);
    if (assay_host_autotunes(problem) && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", autotuned: the fastest of up to %d",
                 CUDA_CANDIDATES);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* What is multiplied. */
static enum assay_dtype operand_of(const struct state *s)
{
    return s->p.quantises ? s->p.recipe.code : s->p.dtype;
}

static bool integers(const struct state *s) { return operand_of(s) == ASSAY_DTYPE_S8; }

static int64_t rows_of(const struct state *s, const struct way *way)
{
    return way->padded ? s->activations.m_padded : s->p.m;
}

/* Does the library write y itself, or sums of its size and type that are finished in place? */
static bool writes_y(const struct state *s, const struct way *way)
{
    bool same = way->d_type == assay_cublaslt_type(s->p.dtype) ||
                (s->p.dtype == ASSAY_DTYPE_S8 && way->d_type == CUDA_R_32I_);
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
    bool add = s->p.residual_input >= 0;
    bool plain =
        s->p.activation == ASSAY_LINEAR_NONE || (s->p.activation == ASSAY_LINEAR_RELU && !add);
    bool nothing = s->p.activation == ASSAY_LINEAR_NONE && s->p.bias_input < 0 && !add;
    if (integers(s)) {
        out[n++] = (struct way){.d_type = CUDA_R_32I_, .finish = s->p.quantises};
        if (s->p.quantises) /* some versions want more than 16 rows */
            out[n++] = (struct way){.d_type = CUDA_R_32I_, .finish = true, .padded = true};
        return n;
    }
    bool fp8 = s->p.quantises;
    if (plain && !(fp8 && s->p.bias_input >= 0 && s->p.dtype == ASSAY_DTYPE_F32))
        out[n++] = (struct way){
            .d_type = assay_cublaslt_type(s->p.dtype), .epilogue = true, .scales = fp8, .add = add};
    out[n++] = (struct way){
        .d_type = CUDA_R_32F_, .scales = fp8, .finish = !nothing || s->p.dtype != ASSAY_DTYPE_F32};
    if (fp8) {
        out[n++] = (struct way){.d_type = CUDA_R_32F_, .finish = true};
        out[n++] = (struct way){.d_type = CUDA_R_32F_, .finish = true, .padded = true};
    }
    return n;
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
    if (!vectors && s->p.recipe.scope != ASSAY_SCOPE_TENSOR)
        return 1; /* no such mix: the next way */
    cublas_status code = assay_cublaslt_set_pointer(&s->product, CUBLASLT_DESC_A_SCALE_POINTER,
                                                    s->product.workspace);
    if (code == 0)
        code = assay_cublaslt_set_pointer(&s->product, CUBLASLT_DESC_B_SCALE_POINTER,
                                          s->activations.scales);
    if (code == 0 && vectors)
        code = assay_cublaslt_set_int(&s->product, CUBLASLT_DESC_A_SCALE_MODE,
                                      CUBLASLT_SCALE_OUTER_VECTOR);
    if (code == 0 && vectors)
        code = assay_cublaslt_set_int(&s->product, CUBLASLT_DESC_B_SCALE_MODE,
                                      CUBLASLT_SCALE_OUTER_VECTOR);
    return code;
}

static cublas_status describe_epilogue(const struct state *s, const struct way *way)
{
    uint32_t epilogue = 0;
    if (way->epilogue && s->p.activation == ASSAY_LINEAR_RELU)
        epilogue |= CUBLASLT_EPILOGUE_RELU_;
    if (way->epilogue && s->p.bias_input >= 0)
        epilogue |= CUBLASLT_EPILOGUE_BIAS_;
    if (!epilogue)
        return 0; /* CUBLASLT_EPILOGUE_DEFAULT is what it starts as */
    cublas_status code =
        assay_cublaslt_set(&s->product, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == 0 && s->p.bias_input >= 0)
        code = assay_cublaslt_set_int(&s->product, CUBLASLT_DESC_BIAS_TYPE,
                                      assay_cublaslt_type(s->p.dtype));
    if (code == 0 && s->p.bias_input >= 0)
        code = assay_cublaslt_set_pointer(&s->product, CUBLASLT_DESC_BIAS_POINTER,
                                          (const unsigned char *)s->product.workspace +
                                              CUBLASLT_OPERAND_ALIGN);
    return code;
}

static cublas_status describe(struct state *s, const struct way *way)
{
    const struct cublaslt_shape shape = {
        .type = assay_cublaslt_type(operand_of(s)),
        .d_type = way->d_type,
        .m = rows_of(s, way),
        .k = s->p.k,
        .n = s->p.n,
        .x_pitch = s->p.quantises ? s->activations.k_padded : s->p.k,
    };
    cublas_status code = assay_cublaslt_describe(&s->product, &shape);
    if (code == 0)
        code = describe_epilogue(s, way);
    return code == 0 ? describe_scales(s, way) : code;
}

static cublas_status ask(struct state *s, const struct way *way)
{
    const struct cublaslt_needs needs = {
        .exact = way->d_type == CUDA_R_16F_ || way->d_type == CUDA_R_16BF_,
        .x_align = s->p.quantises ? CUBLASLT_OWN_ALIGN : CUBLASLT_OPERAND_ALIGN,
        .d_align = writes_y(s, way) ? CUBLASLT_OPERAND_ALIGN : CUBLASLT_OWN_ALIGN,
    };
    return assay_cublaslt_ask(&s->product, &needs, s->candidates, &s->n_candidates);
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
        assay_cublaslt_forget(&s->product);
    }
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "cuBLASLt has no algorithm for %lldx%lldx%lld in %s (it says %d)",
                           (long long)s->p.m, (long long)s->p.k, (long long)s->p.n,
                           assay_dtype_name(operand_of(s)), code);
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* 0: none of ours, 1: one for each row of x, 2: one. */
static int x_scales_of(const struct state *s)
{
    if (!s->p.quantises || s->way.scales)
        return 0;
    return s->activations.scope == ASSAY_SCOPE_ROW ? 1 : 2;
}

static enum assay_status make_finish(struct state *s, struct assay_error *err)
{
    enum { MOST_THREADS = 256 };
    int64_t vec = 16 / (int64_t)assay_dtype_bytes(s->p.dtype);
    bool aligned = s->p.n % vec == 0;
    int64_t columns = aligned ? s->p.n / vec : s->p.n;
    int64_t threads = cuda_op_threads(columns, MOST_THREADS);
    int64_t across = assay_ceil_div(columns, threads);
    bool crowded = s->p.m * across >= 8 * (int64_t)assay_cuda_properties()->sms;
    int64_t rows = crowded ? 4 : 1;
    int x_scales = x_scales_of(s);
    s->finish_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(s->p.m, rows),
        .grid_y = (unsigned)across,
        .threads = (unsigned)threads,
    };
    return assay_cuda_op_compile(
        &s->finish, err, "epilogue.cu", "epilogue", 0,
        "-DELEMENT=%d -DS32=%d -DX_SCALES=%d -DW_SCALES=%d -DBIAS=%d -DACTIVATION=%d "
        "-DRESIDUAL=%d -DALIGNED=%d -DROWS=%d",
        cuda_op_element(s->p.dtype), integers(s), x_scales, x_scales != 0, s->p.bias_input >= 0,
        (int)s->p.activation, s->p.residual_input >= 0, aligned, (int)rows);
}

/* Rows of codes are padded for the ways that need it: to 16, which 8-bit floats may require, and to
 * 32 for integers. */
static enum assay_status make_activations(struct state *s, struct assay_error *err)
{
    int64_t m_multiple = s->p.recipe.activation == ASSAY_DTYPE_S8 ? 32 : 16;
    return assay_cuda_activations_create(&s->p.recipe, s->p.dtype, s->p.norm, s->p.m, s->p.k,
                                         m_multiple, 16, &s->activations, err);
}

static enum assay_status make_workspace(struct state *s, struct assay_error *err)
{
    s->product.workspace_bytes = assay_cublaslt_workspace_bytes();
    return assay_cuda_alloc(s->product.workspace_bytes, &s->product.workspace, err);
}

static enum assay_status make_sums(struct state *s, struct assay_error *err)
{
    if (writes_y(s, &s->way))
        return ASSAY_OK;
    s->sums_bytes = (size_t)rows_of(s, &s->way) * (size_t)s->p.n * sizeof(float);
    return assay_cuda_alloc(s->sums_bytes, &s->sums, err);
}

static void release(void *state)
{
    struct state *s = state;
    assay_cublaslt_forget(&s->product);
    assay_cuda_weight_sets_fini(&s->sets);
    assay_cuda_activations_fini(&s->activations);
    assay_cuda_linear_norm_fini(&s->normalised);
    assay_cuda_free(s->product.workspace, s->product.workspace_bytes);
    assay_cuda_free(s->sums, s->sums_bytes);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->product.lt = assay_cuda_cublaslt();
    s->tune = assay_host_autotunes(problem);
    enum assay_status status = assay_cuda_linear_read(problem, &s->p, err);
    if (status == ASSAY_OK)
        status = assay_cuda_cublaslt_handle(&s->product.handle, err);
    if (status == ASSAY_OK)
        status = make_workspace(s, err);
    if (status == ASSAY_OK && s->p.quantises)
        status = make_activations(s, err);
    if (status == ASSAY_OK && !s->p.quantises && s->p.norm)
        status = assay_cuda_linear_norm_create(CUDA_NORM_ROWS, s->p.norm, s->p.dtype, s->p.m,
                                               s->p.k, s->p.n, &s->normalised, err);
    if (status == ASSAY_OK)
        status = choose_way(s, err);
    if (status == ASSAY_OK)
        status = make_sums(s, err);
    if (status == ASSAY_OK && s->way.finish)
        status = make_finish(s, err);
    return status;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* What x needs before it is multiplied. */
static enum assay_status make_ready(const struct state *s, const struct assay_args *args,
                                    void *stream)
{
    return assay_cuda_linear_ready(&s->p, &s->activations, &s->normalised, args, stream);
}

static const void *multiplied_x(const struct state *s, const struct assay_args *args)
{
    if (s->p.quantises)
        return s->activations.codes;
    return s->p.norm ? s->normalised.normalised : args->in[ASSAY_LINEAR_X];
}

/* Enqueues the product alone. Pointers in the description are the host's matter: the library takes
 * them over when it is called. */
static enum assay_status multiply(void *state, int64_t set_index, const struct assay_args *args,
                                  void *stream)
{
    const struct state *s = state;
    const struct cuda_weights *w = &s->sets.sets[set_index];
    static const float one_f32 = 1, zero_f32 = 0;
    static const int32_t one_s32 = 1, zero_s32 = 0;
    const void *one = integers(s) ? (const void *)&one_s32 : &one_f32;
    const void *zero = integers(s) ? (const void *)&zero_s32 : &zero_f32;
    const void *x = multiplied_x(s, args);
    void *d = s->sums ? s->sums : args->out[0];
    const void *c = s->way.add ? args->in[s->p.residual_input] : d;
    cublas_status code = 0;
    if (s->way.scales)
        code =
            assay_cublaslt_set_pointer(&s->product, CUBLASLT_DESC_A_SCALE_POINTER, w->row_scales);
    if (code == 0 && s->way.epilogue && s->p.bias_input >= 0)
        code = assay_cublaslt_set_pointer(&s->product, CUBLASLT_DESC_BIAS_POINTER,
                                          args->in[ASSAY_LINEAR_BIAS_INPUT]);
    if (code == 0)
        code = s->product.lt->cublasLtMatmul(s->product.handle, s->product.desc, one, w->block,
                                             s->product.a, x, s->product.b, s->way.add ? one : zero,
                                             c, s->product.d, d, s->product.d,
                                             &s->candidates[s->chosen].algo, s->product.workspace,
                                             s->product.workspace_bytes, stream);
    return code == 0 ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

static enum assay_status finish(const struct state *s, const struct cuda_weights *w,
                                const struct assay_args *args, void *stream)
{
    const void *sums = s->sums ? s->sums : args->out[0];
    void *y = args->out[0];
    const void *bias = cuda_op_input(args, s->p.bias_input);
    const void *residual = cuda_op_input(args, s->p.residual_input);
    const float *x_scales = s->activations.scales, *w_scales = w->row_scales;
    int32_t m = (int32_t)s->p.m, n = (int32_t)s->p.n;
    void *parameters[] = {&sums, &y, &bias, &residual, &x_scales, &w_scales, &m, &n};
    return assay_cuda_launch(s->finish, &s->finish_launch, stream, parameters);
}

static enum assay_status call(void *state, int64_t set_index, const struct assay_args *args,
                              void *stream)
{
    const struct state *s = state;
    enum assay_status status = make_ready(s, args, stream);
    if (status == ASSAY_OK)
        status = multiply(state, set_index, args, stream);
    if (status == ASSAY_OK && s->way.finish)
        status = finish(s, &s->sets.sets[set_index], args, stream);
    return status;
}

static enum assay_status quantise_x(void *state, int64_t set_index, const struct assay_args *args,
                                    void *stream)
{
    const struct state *s = state;
    (void)set_index;
    return s->p.quantises ? make_ready(s, args, stream) : ASSAY_OK;
}

/* ---- autotuning ------------------------------------------------------------------------------ */

static enum assay_status tune_choose(void *state, int candidate, struct assay_error *err)
{
    struct state *s = state;
    (void)err;
    s->chosen = candidate;
    return ASSAY_OK;
}

/* Times the candidates on the operands of set 0, whose y it writes. */
static enum assay_status tune(struct state *s, const struct assay_args *args,
                              struct assay_error *err)
{
    const struct cuda_tuning tuning = {s->n_candidates, tune_choose, multiply};
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
    enum assay_status status = assay_cuda_linear_store(&s->p, &s->sets, set_index, args, err);
    if (status == ASSAY_OK && set_index == 0 && s->tune && s->n_candidates > 1)
        status = tune(s, args, err);
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->sets.n ? s->sets.sets[0].bytes : 0;
}

static const struct cuda_op linear = {.state_bytes = sizeof(struct state),
                                      .plan = plan,
                                      .call = call,
                                      .activations = quantise_x,
                                      .release = release};

CUDA_KERNEL(linear_cublaslt, "linear", "cublaslt", linear,
            .dtypes = CUDA_FLOATS | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8), .preference = 1,
            .can_run = can_run, .prepare = prepare, .prepared_bytes = prepared_bytes,
            .run_activations = assay_cuda_op_run_activations, .note = note);
