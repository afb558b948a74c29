/* linear: y = act(norm(x) W^T + bias) + residual, x [m, k], W [n, k]. The weights can be stored by
 * a recipe; the output is then right when it is the product of what the recipe stores, and how far
 * that is from the product of the originals is a figure of its own. Its gradient is in
 * linear_backward.c. */
#include "op/linear.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"
#include "quant/quant.h"

#include <stdio.h>

static const char *const activation_names[ASSAY_LINEAR_ACTIVATIONS] = {
    "none", "sigmoid", "relu", "leakyrelu", "relu6", "gelu", "silu", "hardswish"};

const char *assay_linear_activation_name(enum assay_linear_activation activation)
{
    return activation_names[activation];
}

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

static struct assay_tensor matrix(enum assay_dtype dtype, int64_t rows, int64_t columns)
{
    return (struct assay_tensor){.dtype = dtype, .rank = 2, .dims = {rows, columns}};
}

static bool has(const struct assay_problem *p, int param) { return p->params[param] != 0; }

int32_t assay_linear_norm_input(const struct assay_problem *p)
{
    bool weighted = p->params[ASSAY_LINEAR_NORM] == ASSAY_LINEAR_RMS;
    return weighted ? ASSAY_LINEAR_W + 1 + has(p, ASSAY_LINEAR_BIAS) : -1;
}

int32_t assay_linear_residual_input(const struct assay_problem *p)
{
    int32_t weighted = p->params[ASSAY_LINEAR_NORM] == ASSAY_LINEAR_RMS;
    int32_t before = ASSAY_LINEAR_W + 1 + has(p, ASSAY_LINEAR_BIAS) + weighted;
    return has(p, ASSAY_LINEAR_ADD) ? before : -1;
}

enum assay_status assay_linear_is_plain(const struct assay_problem *p, struct assay_error *why)
{
    if (!p || (!has(p, ASSAY_LINEAR_NORM) && !has(p, ASSAY_LINEAR_ADD)))
        return ASSAY_OK;
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no %s",
                           has(p, ASSAY_LINEAR_NORM) ? "norm before the product"
                                                     : "residual behind the product");
}

void assay_linear_shapes(struct assay_problem *p)
{
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K), n = axis(p, ASSAY_LINEAR_N);
    bool bias = has(p, ASSAY_LINEAR_BIAS);
    int32_t norm = assay_linear_norm_input(p), residual = assay_linear_residual_input(p);
    p->n_inputs = 2 + bias + (norm >= 0) + (residual >= 0);
    p->n_outputs = 1;
    p->inputs[ASSAY_LINEAR_X] = matrix(p->dtype, m, k);
    p->inputs[ASSAY_LINEAR_W] = matrix(p->dtype, n, k);
    if (bias)
        p->inputs[ASSAY_LINEAR_BIAS_INPUT] = assay_op_vector(p, n);
    if (norm >= 0)
        p->inputs[norm] = assay_op_vector(p, k);
    if (residual >= 0)
        p->inputs[residual] = matrix(p->dtype, m, n);
    p->outputs[0] = matrix(p->dtype == ASSAY_DTYPE_S8 ? ASSAY_DTYPE_S32 : p->dtype, m, n);
}

/* One word of a mode; false where there is no such word, or one of its kind came before. */
static bool set_word(struct assay_problem *p, const char *word)
{
    int param = -1, value = 1;
    if (assay_text_same(word, "none"))
        return true;
    if (assay_text_same(word, "bias"))
        param = ASSAY_LINEAR_BIAS;
    else if (assay_text_same(word, "add"))
        param = ASSAY_LINEAR_ADD;
    else if (assay_text_same(word, "ln") || assay_text_same(word, "rms")) {
        param = ASSAY_LINEAR_NORM;
        value = assay_text_same(word, "ln") ? ASSAY_LINEAR_LN : ASSAY_LINEAR_RMS;
    }
    for (int i = ASSAY_LINEAR_NONE + 1; i < ASSAY_LINEAR_ACTIVATIONS && param < 0; i++)
        if (assay_text_same(word, activation_names[i])) {
            param = ASSAY_LINEAR_ACTIVATION;
            value = i;
        }
    if (param < 0 || has(p, param))
        return false;
    p->params[param] = value;
    return true;
}

/* "none", or words joined by plus signs: "bias", "gelu", "rms+gelu", "bias+add". */
static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    static const char *const words[] = {"none", "bias",      "add",   "ln",   "rms",  "sigmoid",
                                        "relu", "leakyrelu", "relu6", "gelu", "silu", "hardswish"};
    for (int i = 0; i < ASSAY_MAX_PARAMS; i++)
        p->params[i] = 0;
    char word[32];
    for (const char *rest = mode[0] ? mode : NULL; rest;) {
        size_t length = strcspn(rest, "+");
        snprintf(word, sizeof word, "%.*s", (int)length, rest);
        if (!set_word(p, word)) {
            const char *nearest = assay_text_nearest(word, words, sizeof words / sizeof *words);
            return assay_error_set(
                err, ASSAY_ERR_INVALID, "linear",
                "unknown mode \"%s\"; did you mean \"%s\"? A mode is bias, an activation "
                "(sigmoid relu leakyrelu relu6 gelu silu hardswish), ln or rms (a norm of x "
                "before), add (a residual behind), each at most once, or several: bias+gelu",
                mode, nearest ? nearest : "bias");
        }
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    if (p->dtype == ASSAY_DTYPE_S8 && mode[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, "linear",
                               "s8 gives the sums in s32 as they are: no mode \"%s\"", mode);
    return ASSAY_OK;
}

static bool is_weight(const struct assay_problem *p, int32_t input)
{
    (void)p;
    return input == ASSAY_LINEAR_W;
}

static bool is_constant(const struct assay_problem *p, int32_t input)
{
    return is_weight(p, input) || input == assay_linear_norm_input(p);
}

/* s8: integers over the whole range but -128. Others: x around 0 with deviation 1, weights as
 * trained ones, with a deviation of 1 / sqrt(k), so that y is of the order of x. */
void assay_linear_fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    if (t->dtype != ASSAY_DTYPE_S8) {
        bool norm = index == assay_linear_norm_input(p); /* around 1, as trained ones are */
        double deviation = index == ASSAY_LINEAR_W ? 1 / sqrt((double)axis(p, ASSAY_LINEAR_K))
                           : norm                  ? 0.25
                                                   : 1;
        double first = 1.5 * deviation; /* never all zeros, and no outlier either */
        assay_tensor_fill_scaled(t, data, seed, deviation, norm ? 1 : 0);
        assay_dtype_store(t->dtype, &first, data, 0, 1);
        return;
    }
    int64_t count = assay_tensor_count(t);
    int8_t *out = data;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        out[i] = (int8_t)((int64_t)(assay_rng_at(seed, (uint64_t)i) % 255) - 127);
}

const struct assay_recipe *assay_linear_recipe(const struct assay_problem *p,
                                               struct assay_recipe *storage)
{
    if (assay_recipe_parse(p->recipe, storage, NULL) != ASSAY_OK)
        *storage = (struct assay_recipe){.name = "baseline"};
    return storage;
}

/* ---- integer-valued inputs ------------------------------------------------------------------- */

/* Integers small enough that every partial sum is exact in f32, with what makes a recipe's scale a
 * power of two: the greatest magnitude of a row times 2^e, e from the row, is the one whose scale
 * is 2^e. Different rows have different scales, so that a scale applied to the wrong row shows. */
struct exact {
    double peak, low; /* the greatest and, for asymmetric codes, the least value of a scope */
    int64_t scope;    /* elements that share a scale */
};

static struct exact exact_of(enum assay_dtype code, int64_t group, int64_t k)
{
    switch (code) {
    case ASSAY_DTYPE_S8:
        return (struct exact){127.5, 0, k};
    case ASSAY_DTYPE_E4M3:
        return (struct exact){448, 0, k};
    case ASSAY_DTYPE_U4:
        return (struct exact){7, -8, group};
    case ASSAY_DTYPE_U8:
        return (struct exact){127, -128, group};
    default:
        return (struct exact){0, 0, k};
    }
}

/* Small integers within ±limit. */
static double small_integer(uint64_t seed, int64_t i, int64_t limit)
{
    return (double)((int64_t)(assay_rng_at(seed, (uint64_t)i) % (uint64_t)(2 * limit + 1)) - limit);
}

enum { EXACT_BLOCK = 512 }; /* on the stack: inputs are not to depend on memory that can be had */

/* `n` elements of a row of k, from the one at `first` on. */
static void exact_block(const struct exact *e, bool scales_differ, uint64_t seed, int64_t row,
                        int64_t k, int64_t limit, int64_t first, int64_t n, double *out)
{
    int64_t scopes = e->peak != 0 && e->scope > 0 ? k / e->scope : 0, known = -1, at = 0;
    int exponent = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = small_integer(seed, row * k + first + i, limit);
        int64_t s = scopes ? (first + i) / e->scope : 0, index = first + i - s * e->scope;
        if (s >= scopes)
            continue;
        if (s != known) {
            known = s;
            exponent = scales_differ ? (int)((row + s) % 3) : 0;
            at = (int64_t)(assay_rng_at(~seed, (uint64_t)(row * scopes + s)) % (uint64_t)e->scope);
        }
        if (index == at)
            out[i] = e->peak;
        else if (e->low != 0 && index == (at + 1) % e->scope)
            out[i] = e->low;
        out[i] = ldexp(out[i], exponent);
    }
}

/* With limits of 3 and 7 the sums of f16 inputs stay below its largest number, and those of all
 * below 2^24 for k up to a quarter of a million. A norm leaves nothing exact, and the tolerance is
 * for inputs as fill makes them: then these are others of that kind. */
static void fill_exact(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    if (has(p, ASSAY_LINEAR_NORM)) {
        assay_linear_fill(p, index, data, ~seed);
        return;
    }
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    const struct assay_tensor *t = &p->inputs[index];
    bool weights = index == ASSAY_LINEAR_W, x = index == ASSAY_LINEAR_X;
    int64_t rows = t->rank == 2 ? t->dims[0] : 1, k = t->dims[t->rank - 1];
    struct exact e = {0, 0, k};
    if (weights)
        e = exact_of(recipe->code, recipe->group, k);
    else if (x)
        e = exact_of(recipe->activation, 0, k);
    enum assay_quant_scope scope = weights ? recipe->scope : recipe->activation_scope;
    bool differ = (weights || x) && scope != ASSAY_SCOPE_TENSOR;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t first = 0; first < k; first += EXACT_BLOCK) {
            double values[EXACT_BLOCK];
            int64_t n = k - first < EXACT_BLOCK ? k - first : EXACT_BLOCK;
            exact_block(&e, differ, seed, r, k, weights ? 7 : 3, first, n, values);
            assay_dtype_store(t->dtype, values, data, r * k + first, n);
        }
}

/* A library may round the product before it adds a bias or a residual, as programs without a fused
 * epilogue do: cuBLASLt does, where k or n is odd. */
static bool adds_in_16_bits(const struct assay_problem *p)
{
    return assay_dtype_info(p->dtype)->unit > 0x1p-20 &&
           (has(p, ASSAY_LINEAR_BIAS) || has(p, ASSAY_LINEAR_ADD));
}

/* An activation computed in f32 is not exact, save those that only choose. Beyond this k a sum
 * could leave the integers f32 holds. Units for 8-bit floats keep fewer bits of their sums. */
static bool can_be_exact(const struct assay_problem *p)
{
    if (adds_in_16_bits(p))
        return false;
    struct assay_recipe storage;
    int activation = (int)p->params[ASSAY_LINEAR_ACTIVATION];
    return assay_linear_recipe(p, &storage)->activation != ASSAY_DTYPE_E4M3 &&
           axis(p, ASSAY_LINEAR_K) <= 1 << 18 && !has(p, ASSAY_LINEAR_NORM) &&
           (activation == ASSAY_LINEAR_NONE || activation == ASSAY_LINEAR_RELU);
}

/* ---- the reference --------------------------------------------------------------------------- */

float *assay_linear_to_f32(const struct assay_tensor *t, const void *data)
{
    enum { BLOCK = 1024 };
    int64_t count = assay_tensor_count(t);
    float *out = assay_calloc((size_t)count, sizeof *out);
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < (out ? count : 0); first += BLOCK) {
        double values[BLOCK];
        int64_t n = count - first < BLOCK ? count - first : BLOCK;
        assay_dtype_load(t->dtype, data, first, n, values);
        for (int64_t i = 0; i < n; i++)
            out[first + i] = (float)values[i];
    }
    return out;
}

enum assay_status assay_linear_stored_weights(const struct assay_recipe *recipe,
                                              const struct assay_tensor *w, const void *weights,
                                              int32_t threads, float **out, struct assay_error *err)
{
    if (recipe->code == ASSAY_DTYPE_NONE) {
        *out = assay_linear_to_f32(w, weights);
        return *out ? ASSAY_OK : assay_error_nomem(err);
    }
    int64_t n = w->dims[0], k = w->dims[1];
    struct assay_packed packed;
    enum assay_status status =
        assay_packed_create(recipe, w->dtype, weights, n, k, threads, &packed, err);
    if (status != ASSAY_OK)
        return status;
    *out = assay_calloc((size_t)n * (size_t)k, sizeof **out);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < (*out ? n : 0); row++)
        assay_packed_decode(&packed, row, 0, k, *out + row * k);
    assay_packed_fini(&packed);
    return *out ? ASSAY_OK : assay_error_nomem(err);
}

/* Rows of x in f32, normalised and rounded to the dtype they would have between two ops. */
static void normalise(const struct assay_problem *p, float *x, const float *weight)
{
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K);
    bool centred = p->params[ASSAY_LINEAR_NORM] == ASSAY_LINEAR_LN;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < m; row++) {
        float *values = x + row * k;
        double mean = 0, square = 0;
        for (int64_t i = 0; i < k && centred; i++)
            mean += (double)values[i] / (double)k;
        for (int64_t i = 0; i < k; i++)
            square += ((double)values[i] - mean) * ((double)values[i] - mean);
        double scale = 1 / sqrt(square / (double)k + ASSAY_LINEAR_EPS);
        for (int64_t i = 0; i < k; i++) {
            double stored,
                h = ((double)values[i] - mean) * scale * (weight ? (double)weight[i] : 1);
            assay_dtype_store(p->dtype, &h, &stored, 0, 1);
            assay_dtype_load(p->dtype, &stored, 0, 1, &h);
            values[i] = (float)h;
        }
    }
}

static enum assay_status dequantised(const struct assay_problem *p, const void *const *in,
                                     int32_t output, struct assay_problem *plain, void **plain_in,
                                     struct assay_error *err)
{
    (void)output;
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K);
    *plain = *p;
    plain->recipe = NULL;
    plain->dtype = ASSAY_DTYPE_F32;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        plain->inputs[i].dtype = ASSAY_DTYPE_F32;
        plain_in[i] = NULL;
    }
    float *weights = NULL;
    enum assay_status status = assay_linear_stored_weights(
        recipe, &p->inputs[ASSAY_LINEAR_W], in[ASSAY_LINEAR_W], p->threads, &weights, err);
    plain_in[ASSAY_LINEAR_W] = weights;
    for (int32_t i = 0; i < p->n_inputs && status == ASSAY_OK; i++) {
        if (i != ASSAY_LINEAR_W)
            plain_in[i] = assay_linear_to_f32(&p->inputs[i], in[i]);
        if (!plain_in[i])
            status = assay_error_nomem(err);
    }
    int32_t norm = assay_linear_norm_input(p);
    if (status == ASSAY_OK && has(p, ASSAY_LINEAR_NORM))
        normalise(p, plain_in[ASSAY_LINEAR_X], norm >= 0 ? plain_in[norm] : NULL);
    if (status == ASSAY_OK && recipe->activation != ASSAY_DTYPE_NONE)
        assay_quant_activations(recipe, plain_in[ASSAY_LINEAR_X], m, k, plain_in[ASSAY_LINEAR_X]);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        assay_free(plain_in[i]);
        plain_in[i] = NULL;
    }
    return status;
}

static double activate(double y, enum assay_linear_activation activation)
{
    switch (activation) {
    case ASSAY_LINEAR_SIGMOID:
        return assay_scalar_sigmoid(y);
    case ASSAY_LINEAR_RELU:
        return y < 0 ? 0 : y; /* NaN stays NaN */
    case ASSAY_LINEAR_LEAKYRELU:
        return y > 0 ? y : 0.01 * y;
    case ASSAY_LINEAR_RELU6:
        return y > 6 ? 6 : y < 0 ? 0 : y;
    case ASSAY_LINEAR_GELU:
        return assay_scalar_gelu(y);
    case ASSAY_LINEAR_SILU:
        return y * assay_scalar_sigmoid(y);
    case ASSAY_LINEAR_HARDSWISH:
        return y <= -3 ? 0 : y >= 3 ? y : y * (y + 3) / 6;
    default:
        return y;
    }
}

/* How steep an activation is at the most: that much an error before it may grow. */
static double steepness(enum assay_linear_activation activation)
{
    return activation == ASSAY_LINEAR_HARDSWISH                                 ? 1.5
           : activation == ASSAY_LINEAR_GELU || activation == ASSAY_LINEAR_SILU ? 1.13
                                                                                : 1;
}

/* Eight sums, so that the compiler may use its vectors without changing the order of additions. */
static double dot_f32(const float *a, const float *b, int64_t k, double *squares)
{
    double sums[8] = {0}, squared[8] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= k; i += 8)
        for (int j = 0; j < 8; j++) {
            double term = (double)a[i + j] * (double)b[i + j];
            sums[j] += term;
            squared[j] += term * term;
        }
    for (int j = 0; i < k; i++, j++) {
        double term = (double)a[i] * (double)b[i];
        sums[j] += term;
        squared[j] += term * term;
    }
    *squares = 0;
    for (int j = 0; j < 8; j++) {
        sum += sums[j];
        *squares += squared[j];
    }
    return sum;
}

static double dot_any(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t column, double *squares)
{
    enum { BLOCK = 256 };
    double x[BLOCK], w[BLOCK], sum = 0;
    *squares = 0;
    int64_t k = axis(p, ASSAY_LINEAR_K);
    for (int64_t first = 0; first < k; first += BLOCK) {
        int64_t n = k - first < BLOCK ? k - first : BLOCK;
        assay_op_load_row(p, in, ASSAY_LINEAR_X, row, first, n, x);
        assay_op_load_row(p, in, ASSAY_LINEAR_W, column, first, n, w);
        for (int64_t i = 0; i < n; i++) {
            double term = x[i] * w[i];
            sum += term;
            *squares += term * term;
        }
    }
    return sum;
}

/* One element of an optional input; 0 where there is none. */
static double optional(const struct assay_problem *p, const void *const *in, int32_t input,
                       int64_t at)
{
    double value = 0;
    if (input >= 0)
        assay_dtype_load(p->inputs[input].dtype, in[input], at, 1, &value);
    return value;
}

/* Of plain inputs: dequantised() has decoded a recipe's weights and applied the norm before. */
void assay_linear_finish(const struct assay_problem *p, const void *const *in, int64_t row,
                         int64_t first, int64_t n, double *sums)
{
    int32_t bias = has(p, ASSAY_LINEAR_BIAS) ? ASSAY_LINEAR_BIAS_INPUT : -1;
    int32_t residual = assay_linear_residual_input(p);
    for (int64_t i = 0; i < n; i++)
        sums[i] = activate(sums[i] + optional(p, in, bias, first + i),
                           (enum assay_linear_activation)p->params[ASSAY_LINEAR_ACTIVATION]) +
                  optional(p, in, residual, row * axis(p, ASSAY_LINEAR_N) + first + i);
}

/* The size of the sum, bias and residual included. */
static double size_of(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t column, double sum, double squares)
{
    int32_t bias = has(p, ASSAY_LINEAR_BIAS) ? ASSAY_LINEAR_BIAS_INPUT : -1;
    int32_t residual = assay_linear_residual_input(p);
    double before = assay_op_sum_size(sum, squares) + fabs(optional(p, in, bias, column));
    return before * steepness((enum assay_linear_activation)p->params[ASSAY_LINEAR_ACTIVATION]) +
           fabs(optional(p, in, residual, row * axis(p, ASSAY_LINEAR_N) + column));
}

void assay_linear_reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                                 int64_t first, int64_t n, double *out, double *sizes)
{
    int64_t k = axis(p, ASSAY_LINEAR_K);
    bool f32 = p->inputs[ASSAY_LINEAR_X].dtype == ASSAY_DTYPE_F32;
    const float *x = (const float *)in[ASSAY_LINEAR_X] + (f32 ? row * k : 0);
    double squares;
    for (int64_t i = 0; i < n; i++) {
        const float *w = (const float *)in[ASSAY_LINEAR_W] + (f32 ? (first + i) * k : 0);
        out[i] = f32 ? dot_f32(x, w, k, &squares) : dot_any(p, in, row, first + i, &squares);
        if (sizes)
            sizes[i] = size_of(p, in, row, first + i, out[i], squares);
    }
    assay_linear_finish(p, in, row, first, n, out);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    assay_linear_reference_sums(p, in, row, first, n, out, NULL);
}

/* ---- cost and tolerance ---------------------------------------------------------------------- */

static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K), n = axis(p, ASSAY_LINEAR_N);
    struct assay_cost c = {
        .weight_bytes = assay_recipe_bytes(recipe, p->dtype, n, k),
        .bytes_written = (double)assay_tensor_bytes(&p->outputs[0]),
        .flops = 2.0 * (double)m * (double)k * (double)n,
        .math = p->dtype == ASSAY_DTYPE_BF16  ? ASSAY_MATH_BF16
                : p->dtype == ASSAY_DTYPE_F16 ? ASSAY_MATH_F16
                                              : ASSAY_MATH_F32,
    };
    if (p->dtype == ASSAY_DTYPE_S8 || recipe->activation == ASSAY_DTYPE_S8)
        c.math = ASSAY_MATH_S8;
    else if (recipe->activation == ASSAY_DTYPE_E4M3)
        c.math = ASSAY_MATH_F8;
    else if (p->dtype == ASSAY_DTYPE_F16 &&
             (recipe->code == ASSAY_DTYPE_S8 || recipe->code == ASSAY_DTYPE_E4M3))
        c.math = ASSAY_MATH_BF16; /* it holds these weights, and x as a sum of two */
    c.bytes_read = c.weight_bytes;
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (i != ASSAY_LINEAR_W)
            c.bytes_read += (double)assay_tensor_bytes(&p->inputs[i]);
    return c;
}

/* A value of x that lies near the middle between two codes may go either way: of values up to 5
 * that is one step of 5 / 127.5 (of 8-bit floats up to a sixteenth of the value) times a weight of
 * up to 3.5 / sqrt(k); in f32 that is rare, and two such in a row are allowed. Where x was rounded
 * to few bits before, its greatest value may be off by one of them, which moves the scale by 2^-8
 * and with it a tenth of the codes (a twentieth of 8-bit floats) by one: 0.01 (0.02) of y's size,
 * times 5. */
double assay_linear_flips(const struct assay_recipe *recipe, enum assay_dtype dtype, int64_t k)
{
    bool s8 = recipe->activation == ASSAY_DTYPE_S8;
    if (recipe->activation == ASSAY_DTYPE_NONE)
        return 0;
    double many = s8 ? 0.05 : 0.1, one = (s8 ? 5 / 127.5 : 5.0 / 16) * 3.5 / sqrt((double)k);
    return dtype == ASSAY_DTYPE_F32 ? fmin(2 * one, many) : many;
}

/* relative: the rounding of y to its dtype, and a few of the epilogue in f32.
 * summed: the sum of k products (assay_op_sum_error), as a part of the size of its partial sums.
 *   Where the recipe gives weights that the kernel must round to the dtype before it multiplies (w
 *   = (q - 8) scale + zero), k independent errors of up to half a unit of a term add up to about
 *   half a unit of the root of the terms' squares, times 6: 3 units. GPUs' units for products of
 *   8-bit floats keep some 14 bits of a partial sum: up to 8e-4 of y's size was seen, a thirtieth
 *   of what quantising to such floats itself costs. A norm before adds k more independent roundings
 *   of half a unit, and a kernel that has its weight in W rounds there instead: the two do not
 *   cancel, 6 deviations of both are 4 units.
 * absolute: an activation's own error, and codes that come out differently behind a norm (see
 *   assay_linear_flips), of y around 1 (see fill). */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    if (p->dtype == ASSAY_DTYPE_S8)
        return (struct assay_tolerance){0};
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    int64_t k = axis(p, ASSAY_LINEAR_K);
    bool rounds = recipe->code == ASSAY_DTYPE_U4 || recipe->code == ASSAY_DTYPE_U8;
    double summed = assay_op_sum_error(p->dtype, k) + (rounds ? 3 * info->unit : 0);
    double absolute = info->tiny + (p->params[ASSAY_LINEAR_ACTIVATION] != 0 ? 0x1p-20 : 0);
    if (recipe->activation == ASSAY_DTYPE_E4M3)
        summed += 0x1p-9;
    if (adds_in_16_bits(p))
        summed += 2 * info->unit;
    if (has(p, ASSAY_LINEAR_NORM)) {
        summed += 4 * info->unit;
        absolute += assay_linear_flips(recipe, p->dtype, k);
    }
    return (struct assay_tolerance){
        .relative = info->unit + 4 * 0x1p-24, .absolute = absolute, .summed = summed};
}

/* ---- in a model ------------------------------------------------------------------------------ */

static enum assay_status node_axes(const struct assay_node_sizes *sizes, int64_t *axes,
                                   struct assay_error *err)
{
    (void)err;
    axes[ASSAY_LINEAR_M] = sizes->rows;
    axes[ASSAY_LINEAR_K] = sizes->columns;
    axes[ASSAY_LINEAR_N] = sizes->given[0];
    return ASSAY_OK;
}

static const char *node_refuse(const struct assay_problem *p)
{
    return assay_linear_is_plain(p, NULL) == ASSAY_OK
               ? NULL
               : "a norm and a residual are nodes of their own; `compiled` fuses them";
}

/* An activation comes before the residual, so it is too late for one behind it. The norms' usual
 * eps is ASSAY_LINEAR_EPS. */
#define ACTIVATION(name, value)                                                                    \
    {                                                                                              \
        name, ASSAY_LINEAR_ACTIVATION, value, 1u << ASSAY_LINEAR_ADD, false, NULL                  \
    }
static const struct assay_absorbed absorbs[] = {
    ACTIVATION("sigmoid", ASSAY_LINEAR_SIGMOID),
    ACTIVATION("relu", ASSAY_LINEAR_RELU),
    ACTIVATION("leakyrelu", ASSAY_LINEAR_LEAKYRELU),
    ACTIVATION("relu6", ASSAY_LINEAR_RELU6),
    ACTIVATION("gelu", ASSAY_LINEAR_GELU),
    ACTIVATION("silu", ASSAY_LINEAR_SILU),
    ACTIVATION("hardswish", ASSAY_LINEAR_HARDSWISH),
    {"add", ASSAY_LINEAR_ADD, 1, 0, false, assay_linear_residual_input},
    {"layernorm", ASSAY_LINEAR_NORM, ASSAY_LINEAR_LN, 0, true, NULL},
    {"rmsnorm", ASSAY_LINEAR_NORM, ASSAY_LINEAR_RMS, 0, true, assay_linear_norm_input},
    {0},
};

static const struct assay_op_node node = {
    .values = 1,
    .keys = {{"features", 0}},
    .has_mode = true,
    .axes = node_axes,
    .refuse = node_refuse,
    .rows_axis = ASSAY_LINEAR_M,
    .absorbs = absorbs,
};

const struct assay_op assay_op_linear = {
    .name = "linear",
    .title = "Linear",
    .summary =
        "act(norm(x) W^T + bias) + residual, x [m,k], W [n,k]; W is a weight, stored by a recipe",
    .axis_names = {"m", "k", "n"},
    .param_names = {"bias", "activation", "norm", "add"},
    .shapes = assay_linear_shapes,
    .fill = assay_linear_fill,
    .reference = reference,
    .reference_sums = assay_linear_reference_sums,
    .cost = cost,
    .tolerance = tolerance,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F64) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .modes = "bias, an activation (sigmoid relu leakyrelu relu6 gelu silu hardswish), ln or rms (a "
             "norm of x), add (a residual), bias+gelu, …",
    .set_mode = set_mode,
    .takes_recipes = true,
    .step_op = "linear_training",
    .is_weight = is_weight,
    .is_constant = is_constant,
    .fill_exact = fill_exact,
    .can_be_exact = can_be_exact,
    .dequantised = dequantised,
    .usual_shapes = "1024x1024x1024,1x4096x4096",
    .sample_shapes = "1x4096x4096,16x4096x4096,37x1024x1000,512x1024x1024",
    .size_words = "rows of x, elements summed over, outputs",
    .help = "linear is y = x W^T, x [m, k], W [n, k]: its sizes are --shape @ORDER@, @SHAPES@ "
            "where not given; --recipe has its weights stored in fewer bits.",
    .skeleton = {"linear", NULL, "64x512x512, 3x77x33"},
    .node = &node,
};
