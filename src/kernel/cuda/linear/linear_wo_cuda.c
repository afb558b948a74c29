/* linear_wo_cuda.c: `linear` on CUDA with weights stored by a recipe and x as it is (int8wo,
 * int4wo-G, float8wo, gemlitewo-B-G), and with weights as they come.
 *
 * Three forms, chosen by the plan:
 *   small    up to 64 tokens in f16 and bf16: linear_small.cu, on the matrix units, with codes
 *            dequantised in registers. It is memory-bound, so every SM must have loads in flight
 *            all the time: weights are stored in the order they are read in, and a launch loads
 *            its first ones while the launch before it ends.
 *   gemv     up to 8 tokens of the rest (f32, rows of an odd length): linear_gemv.cu.
 *   library  more: weights dequantised by a separate pass (linear_dequant.cu), multiplied by
 *            cuBLASLt. Without cuBLASLt the other two take any number of tokens, in blocks.
 *
 * Sums are f32 and rounded once. Weights with a scale for each row are multiplied as codes, which
 * is exact, and the sums by the scale. */
#include "kernel/cuda/linear/cublaslt_product.h"
#include "kernel/cuda/linear/linear_small_cuda.h"

enum { SMALL_MOST_M = 64, GEMV_MOST_M = 8 };
enum { MOST_AXIS = 1 << 30 };

enum form { FORM_SMALL, FORM_GEMV, FORM_LIBRARY };

/* What linear_gemv.cu takes, laid out as there. */
struct gemv_args {
    const void *codes;
    const float *row_scales;
    const void *scales, *zeros, *x, *bias;
    void *y;
    int32_t m, k, n, group_shift, activation;
};

/* A product by cuBLASLt, and the kernels before and after it. */
struct library {
    struct cublaslt_product product;
    cublaslt_algo algo;
    bool finishes; /* sums go to `sums` and from there to y; else the library writes y */
    cu_function dequant, finish;
    struct assay_cuda_launch dequant_launch, finish_launch;
    void *weights, *sums; /* weights: dequantised; NULL where they are stored in x's type */
    size_t weights_bytes, sums_bytes;
};

struct state {
    struct cuda_linear p;
    enum form form;
    struct cuda_small small;
    cu_function gemv;
    struct assay_cuda_launch gemv_launch;
    struct library library;
    struct cuda_weight_sets sets;
};

/* ---- who can run ----------------------------------------------------------------------------- */

/* Are rows of codes whole vectors of 16 bytes? */
static bool in_vectors(const struct cuda_linear *p) { return p->k * p->bits % 128 == 0; }

static enum form form_of(const struct cuda_linear *p, bool library)
{
    bool small = p->dtype != ASSAY_DTYPE_F32 && in_vectors(p);
    if (library && p->m > (small ? SMALL_MOST_M : GEMV_MOST_M))
        return FORM_LIBRARY;
    return small ? FORM_SMALL : FORM_GEMV;
}

/* A power of two, 32 or more. */
static bool known_group(int32_t group) { return group >= 32 && (group & (group - 1)) == 0; }

static bool known_code(enum assay_dtype code)
{
    return code == ASSAY_DTYPE_NONE || code == ASSAY_DTYPE_S8 || code == ASSAY_DTYPE_E4M3 ||
           code == ASSAY_DTYPE_U4 || code == ASSAY_DTYPE_U8;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status == ASSAY_OK)
        status = assay_linear_is_plain(problem, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    status = assay_cuda_linear_recipe(problem, &recipe, why);
    if (status != ASSAY_OK)
        return status;
    if (problem->dtype != ASSAY_DTYPE_F32 && problem->dtype != ASSAY_DTYPE_F16 &&
        problem->dtype != ASSAY_DTYPE_BF16)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no %s",
                               assay_dtype_name(problem->dtype));
    if (!known_code(recipe.code) || recipe.activation != ASSAY_DTYPE_NONE ||
        (recipe.group != 0 && !known_group(recipe.group)))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "not for %s", recipe.name);
    for (int i = 0; i < 3; i++)
        if (problem->axes[i] > MOST_AXIS)
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for axes up to %d",
                                   (int)MOST_AXIS);
    return ASSAY_OK;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    struct cuda_linear p;
    if (assay_cuda_linear_read(problem, &p, NULL) != ASSAY_OK)
        return;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    enum form form = form_of(&p, assay_cuda_can_cublaslt(NULL) == ASSAY_OK);
    if (form == FORM_SMALL && gpu && gpu->overlaps)
        snprintf(text, size, "loads weights while the launch before it ends");
    if (form != FORM_LIBRARY)
        return;
    if (p.recipe.code == ASSAY_DTYPE_NONE)
        snprintf(text, size, "product by cuBLASLt");
    else
        snprintf(text, size, "weights dequantised by a separate pass, product by cuBLASLt");
}

/* ---- the gemv form --------------------------------------------------------------------------- */

static enum assay_status plan_gemv(struct state *s, struct assay_error *err)
{
    int64_t tokens = 8;
    for (int64_t fewer = 4; fewer >= s->p.m && fewer > 0; fewer /= 2)
        tokens = fewer;
    int64_t rows = tokens > 4 ? 2 : 4; /* as in linear_gemv.cu */
    s->gemv_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(s->p.n, rows),
        .grid_y = (unsigned)assay_min(assay_ceil_div(s->p.m, tokens), 65535),
        .threads = 256,
    };
    return assay_cuda_op_compile(&s->gemv, err, "linear_gemv.cu", "linear_gemv", 0,
                                 "-DELEMENT=%d -DCODE=%d -DTOKENS=%d -DVECTOR=%d",
                                 cuda_op_element(s->p.dtype), (int)s->p.recipe.code, (int)tokens,
                                 in_vectors(&s->p));
}

static enum assay_status call_gemv(const struct state *s, const struct cuda_weights *w,
                                   const struct assay_args *args, void *stream)
{
    struct gemv_args own = {
        .codes = w->block,
        .row_scales = w->row_scales,
        .scales = w->scales,
        .zeros = w->zeros,
        .x = args->in[ASSAY_LINEAR_X],
        .bias = cuda_op_input(args, s->p.bias_input),
        .y = args->out[0],
        .m = (int32_t)s->p.m,
        .k = (int32_t)s->p.k,
        .n = (int32_t)s->p.n,
        .group_shift = s->p.group_shift,
        .activation = (int32_t)s->p.activation,
    };
    void *parameters[] = {&own};
    return assay_cuda_launch(s->gemv, &s->gemv_launch, stream, parameters);
}

/* ---- the library form ------------------------------------------------------------------------ */

/* Bias and relu are the library's where nothing has to happen before them. */
static uint32_t epilogue_of(const struct state *s)
{
    if (s->library.finishes)
        return CUBLASLT_EPILOGUE_DEFAULT_;
    uint32_t epilogue = s->p.activation == ASSAY_LINEAR_RELU ? CUBLASLT_EPILOGUE_RELU_ : 0;
    epilogue |= s->p.bias_input >= 0 ? CUBLASLT_EPILOGUE_BIAS_ : 0;
    return epilogue ? epilogue : CUBLASLT_EPILOGUE_DEFAULT_;
}

static cublas_status describe(struct state *s)
{
    struct library *l = &s->library;
    struct cublaslt_product *product = &l->product;
    const int type = assay_cublaslt_type(s->p.dtype);
    const struct cublaslt_shape shape = {.type = type,
                                         .d_type = l->finishes ? CUDA_R_32F_ : type,
                                         .m = s->p.m,
                                         .k = s->p.k,
                                         .n = s->p.n,
                                         .x_pitch = s->p.k};
    uint32_t epilogue = epilogue_of(s);
    cublas_status code = assay_cublaslt_describe(product, &shape);
    if (code == 0)
        code = assay_cublaslt_set(product, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == 0 && s->p.bias_input >= 0 && !l->finishes) {
        const void *stand_in = (const unsigned char *)product->workspace + CUBLASLT_OPERAND_ALIGN;
        code = assay_cublaslt_set_int(product, CUBLASLT_DESC_BIAS_TYPE, type);
        if (code == 0)
            code = assay_cublaslt_set_pointer(product, CUBLASLT_DESC_BIAS_POINTER, stand_in);
    }
    return code;
}

/* The library's favourite among the algorithms that can run; false where it has none. */
static bool find_algorithm(struct library *l)
{
    const struct cublaslt_needs needs = {
        .exact = true,
        .x_align = CUBLASLT_OPERAND_ALIGN,
        .d_align = l->finishes ? CUBLASLT_OWN_ALIGN : CUBLASLT_OPERAND_ALIGN,
    };
    cublaslt_heuristic found[CUBLASLT_MOST_ALGOS];
    int n = 0;
    if (assay_cublaslt_ask(&l->product, &needs, found, &n) != 0 || n == 0)
        return false;
    l->algo = found[0].algo;
    return true;
}

static void library_fini(struct library *l)
{
    assay_cublaslt_forget(&l->product);
    assay_cuda_free(l->weights, l->weights_bytes);
    assay_cuda_free(l->sums, l->sums_bytes);
    assay_cuda_free(l->product.workspace, l->product.workspace_bytes);
    *l = (struct library){0};
}

static bool row_scaled(const struct assay_recipe *recipe)
{
    return recipe->code == ASSAY_DTYPE_S8 || recipe->code == ASSAY_DTYPE_E4M3;
}

/* Some blocks for each SM, which loop, or fewer where there is less to do. */
static struct assay_cuda_launch launch_over(int64_t threads)
{
    enum { THREADS = 256, BLOCKS = 8 };
    int64_t blocks =
        assay_min(assay_ceil_div(threads, THREADS), BLOCKS * assay_cuda_properties()->sms);
    return (struct assay_cuda_launch){.grid_x = (unsigned)blocks, .threads = THREADS};
}

static enum assay_status plan_around(struct state *s, struct assay_error *err)
{
    struct library *l = &s->library;
    size_t m = (size_t)s->p.m, n = (size_t)s->p.n, k = (size_t)s->p.k;
    enum assay_status status = ASSAY_OK;
    char options[64];
    snprintf(options, sizeof options, "-DELEMENT=%d -DCODE=%d", cuda_op_element(s->p.dtype),
             (int)s->p.recipe.code);
    if (s->p.recipe.code) {
        size_t bytes = n * k * assay_dtype_bytes(s->p.dtype);
        l->dequant_launch = launch_over(assay_ceil_div(s->p.n * s->p.k, 8));
        status = assay_cuda_function("linear_dequant.cu", options, "linear_dequant", 0, &l->dequant,
                                     err);
        if (status == ASSAY_OK)
            status = assay_cuda_alloc(bytes, &l->weights, err);
        l->weights_bytes = l->weights ? bytes : 0;
    }
    if (l->finishes && status == ASSAY_OK) {
        l->finish_launch = launch_over(s->p.m * s->p.n);
        status =
            assay_cuda_function("linear_dequant.cu", options, "linear_finish", 0, &l->finish, err);
        if (status == ASSAY_OK)
            status = assay_cuda_alloc(m * n * sizeof(float), &l->sums, err);
        l->sums_bytes = l->sums ? m * n * sizeof(float) : 0;
    }
    return status;
}

/* ASSAY_UNSUPPORTED where the library has no algorithm. */
static enum assay_status plan_library(struct state *s, struct assay_error *err)
{
    enum { WORKSPACE = 32 << 20 };
    struct library *l = &s->library;
    bool plain = s->p.activation == ASSAY_LINEAR_NONE || s->p.activation == ASSAY_LINEAR_RELU;
    l->finishes = row_scaled(&s->p.recipe) || !plain;
    l->product.lt = assay_cuda_cublaslt();
    if (!l->product.lt)
        return ASSAY_UNSUPPORTED;
    if (assay_cuda_cublaslt_handle(&l->product.handle, NULL) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    enum assay_status status = assay_cuda_alloc(WORKSPACE, &l->product.workspace, err);
    if (status != ASSAY_OK)
        return status;
    l->product.workspace_bytes = WORKSPACE;
    if (describe(s) != 0 || !find_algorithm(l))
        return ASSAY_UNSUPPORTED;
    return plan_around(s, err);
}

static enum assay_status call_library(const struct state *s, const struct cuda_weights *w,
                                      const struct assay_args *args, void *stream)
{
    const struct library *l = &s->library;
    const struct cublaslt_product *product = &l->product;
    const void *x = args->in[ASSAY_LINEAR_X];
    const void *bias = cuda_op_input(args, s->p.bias_input);
    void *y = args->out[0], *d = l->finishes ? l->sums : y;
    float one = 1, zero = 0;
    enum assay_status status = ASSAY_OK;
    if (l->weights) {
        int64_t count = s->p.n * s->p.k;
        int32_t group_shift = s->p.group_shift;
        const void *codes = w->block, *scales = w->scales, *zeros = w->zeros;
        void *to = l->weights;
        void *parameters[] = {&codes, &scales, &zeros, &to, &count, &group_shift};
        status = assay_cuda_launch(l->dequant, &l->dequant_launch, stream, parameters);
    }
    if (status != ASSAY_OK)
        return status;
    if (bias && !l->finishes &&
        assay_cublaslt_set_pointer(product, CUBLASLT_DESC_BIAS_POINTER, bias) != 0)
        return ASSAY_ERR_DEVICE;
    if (product->lt->cublasLtMatmul(product->handle, product->desc, &one,
                                    l->weights ? l->weights : w->block, product->a, x, product->b,
                                    &zero, d, product->d, d, product->d, &l->algo,
                                    product->workspace, product->workspace_bytes, stream) != 0)
        return ASSAY_ERR_DEVICE;
    if (!l->finishes)
        return ASSAY_OK;
    int64_t count = s->p.m * s->p.n;
    int32_t n = (int32_t)s->p.n, activation = (int32_t)s->p.activation;
    const void *sums = l->sums, *row_scales = w->row_scales;
    void *parameters[] = {&sums, &row_scales, &bias, &y, &count, &n, &activation};
    return assay_cuda_launch(l->finish, &l->finish_launch, stream, parameters);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void release(void *state)
{
    struct state *s = state;
    library_fini(&s->library);
    assay_cuda_weight_sets_fini(&s->sets);
}

/* The library may have no algorithm after all; the other two forms then do it. */
static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status = assay_cuda_linear_read(problem, &s->p, err);
    if (status != ASSAY_OK)
        return status;
    s->form = form_of(&s->p, assay_cuda_can_cublaslt(NULL) == ASSAY_OK);
    if (s->form == FORM_LIBRARY) {
        status = plan_library(s, err);
        if (status != ASSAY_UNSUPPORTED)
            return status;
        library_fini(&s->library);
        s->form = form_of(&s->p, false);
    }
    if (s->form == FORM_SMALL && assay_cuda_small_cut(&s->p, &s->small.cut))
        return assay_cuda_small_plan(&s->p, &s->small, err);
    s->form = FORM_GEMV;
    return plan_gemv(s, err);
}

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status = assay_cuda_linear_store(&s->p, &s->sets, set, args, err);
    if (status == ASSAY_OK && s->form == FORM_SMALL && set == 0) /* the others are copies of it */
        status = assay_cuda_small_pack(&s->small, &s->p, &s->sets.sets[0], err);
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->sets.n ? s->sets.sets[0].bytes : 0;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    const struct state *s = state;
    const struct cuda_weights *w = &s->sets.sets[set];
    return s->form == FORM_LIBRARY ? call_library(s, w, args, stream)
           : s->form == FORM_SMALL ? assay_cuda_small_call(&s->small, &s->p, w, args, stream)
                                   : call_gemv(s, w, args, stream);
}

static const struct cuda_op linear = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_KERNEL(linear_wo_cuda, "linear", "cuda", linear, .dtypes = CUDA_FLOATS, .preference = 10,
            .can_run = can_run, .prepare = prepare, .prepared_bytes = prepared_bytes, .note = note);
