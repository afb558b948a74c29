/* attention_backward: the gradients of q, k and v, from the output and from the logarithm of each
 * row's sum of exponentials, both saved by the forward pass.
 *
 * With s = q k^T / sqrt(dim), P = exp(s - lse), D the products dout out summed over a row:
 *     dv = P^T dout,  dP = dout v^T,  dS = P (dP - D),  dq = dS k / sqrt(dim),  dk = dS^T q /
 * sqrt(dim). Where it is causal, P is 0 for keys behind the query. The saved values are taken as
 * they are given; P need not add up to 1. */
#include "op/attention.h"

#include "op/common.h"

/* What an input is; packed, one input is q, k and v. */
enum { DOUT, Q, K, V, OUT, LSE };
enum { DQ, DK, DV };

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }
static bool is_causal(const struct assay_problem *p)
{
    return p->params[ASSAY_ATTENTION_CAUSAL] != 0;
}
static bool is_packed(const struct assay_problem *p)
{
    return p->params[ASSAY_ATTENTION_PACKED] != 0;
}

static int32_t input_of(const struct assay_problem *p, int32_t what)
{
    return !is_packed(p) || what == DOUT ? what : what <= V ? 1 : what - 2;
}

static void shapes(struct assay_problem *p)
{
    struct assay_tensor t = {
        .dtype = p->dtype,
        .rank = 4,
        .dims = {axis(p, ASSAY_ATTENTION_BATCH), axis(p, ASSAY_ATTENTION_SEQ),
                 axis(p, ASSAY_ATTENTION_HEADS), axis(p, ASSAY_ATTENTION_DIM)},
    };
    struct assay_tensor qkv = t;
    if (is_packed(p))
        qkv.dims[2] = assay_op_times(3, t.dims[2]);
    p->n_inputs = input_of(p, LSE) + 1;
    p->n_outputs = is_packed(p) ? 1 : 3;
    p->inputs[DOUT] = p->inputs[input_of(p, OUT)] = t;
    for (int32_t i = 0; i < p->n_outputs; i++)
        p->inputs[Q + i] = p->outputs[i] = qkv;
    p->inputs[input_of(p, LSE)] = assay_op_saved(p, 1);
    p->inputs[input_of(p, LSE)].rank = 3;
    p->inputs[input_of(p, LSE)].dims[0] = t.dims[0];
    p->inputs[input_of(p, LSE)].dims[1] = t.dims[2];
    p->inputs[input_of(p, LSE)].dims[2] = t.dims[1];
}

/* Scores of normal q and k are nearly normal, so a row of n keys has a sum of about n exp(1/2), and
 * its output is about as large as sqrt(e / n). Nothing depends on the saved values being more exact
 * than that, and computing them would take as long as the op. */
static double usual_lse(const struct assay_problem *p, int64_t query)
{
    int64_t keys = is_causal(p) ? query + 1 : axis(p, ASSAY_ATTENTION_SEQ);
    return log((double)keys) + 0.5;
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), rows = assay_tensor_count(t) / seq;
    double large = sqrt(2.718 / (double)seq);
    if (index != input_of(p, LSE)) {
        assay_tensor_fill_scaled(t, data, seed, index == input_of(p, OUT) ? fmin(1, large) : 1, 0);
        return;
    }
    assay_tensor_fill_scaled(t, data, seed, 0.05, 0);
    for (int64_t i = 0; i < rows * seq; i++) {
        double value;
        assay_dtype_load(t->dtype, data, i, 1, &value);
        value = (i == 0 ? 0 : value) + usual_lse(p, i % seq); /* the first of a fill is 1.5 */
        assay_dtype_store(t->dtype, &value, data, i, 1);
    }
}

/* ---- the reference --------------------------------------------------------------------------- */

enum { BLOCK = 256 };

/* A head, and where its sequence begins: rows of all tensors but lse are tokens times heads. */
struct place {
    int64_t head, token, begin; /* tokens count through all batches */
};

static struct place place_of(const struct assay_problem *p, int64_t row)
{
    int64_t heads = axis(p, ASSAY_ATTENTION_HEADS), seq = axis(p, ASSAY_ATTENTION_SEQ);
    struct place at = {.head = row % heads, .token = row / heads};
    at.begin = at.token / seq * seq;
    return at;
}

static void load(const struct assay_problem *p, const void *const *in, int32_t what, int64_t token,
                 int64_t head, int64_t first, int64_t n, double *out)
{
    bool joined = is_packed(p) && what >= Q && what <= V;
    int64_t row = joined ? token * 3 + what - Q : token;
    assay_op_load_row(p, in, input_of(p, what), row * axis(p, ASSAY_ATTENTION_HEADS) + head, first,
                      n, out);
}

/* The product of two rows; how large its partial sums are. */
static double product(const struct assay_problem *p, const void *const *in, int32_t a, int64_t i,
                      int32_t b, int64_t j, int64_t head, double *size)
{
    int64_t dim = axis(p, ASSAY_ATTENTION_DIM);
    double x[BLOCK], y[BLOCK], sum = 0, squares = 0;
    for (int64_t first = 0; first < dim; first += BLOCK) {
        int64_t n = dim - first < BLOCK ? dim - first : BLOCK;
        load(p, in, a, i, head, first, n, x);
        load(p, in, b, j, head, first, n, y);
        for (int64_t k = 0; k < n; k++) {
            sum += x[k] * y[k];
            squares += x[k] * y[k] * x[k] * y[k];
        }
    }
    if (size)
        *size = assay_op_sum_size(sum, squares);
    return sum;
}

/* One query and one key: P, dS, and how large dS is before what cancels in it. */
struct pair {
    double p, ds, ds_size;
};

static struct pair pair_of(const struct assay_problem *p, const void *const *in, int64_t query,
                           int64_t key, int64_t head, bool with_ds)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), heads = axis(p, ASSAY_ATTENTION_HEADS);
    double root = sqrt((double)axis(p, ASSAY_ATTENTION_DIM)), lse, sizes[2];
    int64_t at = (query / seq * heads + head) * seq + query % seq;
    int32_t of_lse = input_of(p, LSE);
    assay_dtype_load(p->inputs[of_lse].dtype, in[of_lse], at, 1, &lse);
    struct pair pair = {.p = exp(product(p, in, Q, query, K, key, head, NULL) / root - lse)};
    if (with_ds) {
        double dp = product(p, in, DOUT, query, V, key, head, &sizes[0]);
        double d = product(p, in, DOUT, query, OUT, query, head, &sizes[1]);
        pair.ds = pair.p * (dp - d) / root;
        pair.ds_size = pair.p * (sizes[0] + sizes[1]) / root;
    }
    return pair;
}

/* Adds weight times a row of input `which`. */
static void add_row(const struct assay_problem *p, const void *const *in, int32_t which,
                    struct place row, double weight, double size, int64_t first, int64_t n,
                    double *out, double *squares)
{
    double x[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        load(p, in, which, row.token, row.head, first + at, count, x);
        for (int64_t i = 0; i < count; i++)
            out[at + i] += weight * x[i];
        for (int64_t i = 0; i < count && squares; i++)
            squares[at + i] += size * x[i] * size * x[i];
    }
}

/* Output `output` at one row: a sum over the keys of its query, or over the queries of its key. */
static void gradient(const struct assay_problem *p, const void *const *in, int output, int64_t row,
                     int64_t first, int64_t n, double *out, double *sizes)
{
    struct place at = place_of(p, row);
    int64_t end = at.begin + axis(p, ASSAY_ATTENTION_SEQ);
    int64_t from = output != DQ && is_causal(p) ? at.token : at.begin;
    int64_t to = output == DQ && is_causal(p) ? at.token + 1 : end;
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = 0;
    for (int64_t other = from; other < to; other++) {
        struct place there = {.head = at.head, .token = other};
        int64_t query = output == DQ ? at.token : other, key = output == DQ ? other : at.token;
        struct pair pair = pair_of(p, in, query, key, at.head, output != DV);
        add_row(p, in,
                output == DQ   ? K
                : output == DK ? Q
                               : DOUT,
                there, output == DV ? pair.p : pair.ds, output == DV ? pair.p : pair.ds_size, first,
                n, out, sizes);
    }
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = assay_op_sum_size(out[i], sizes[i]);
}

/* dq, or a row of the gradients of q, k and v as these lie. */
static void first_output(const struct assay_problem *p, const void *const *in, int64_t row,
                         int64_t first, int64_t n, double *out, double *sizes)
{
    int64_t heads = axis(p, ASSAY_ATTENTION_HEADS), token = row / heads;
    if (is_packed(p))
        gradient(p, in, (int)(token % 3), token / 3 * heads + row % heads, first, n, out, sizes);
    else
        gradient(p, in, DQ, row, first, n, out, sizes);
}

static void dk(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
               int64_t n, double *out, double *sizes)
{
    gradient(p, in, DK, row, first, n, out, sizes);
}

static void dv(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
               int64_t n, double *out, double *sizes)
{
    gradient(p, in, DV, row, first, n, out, sizes);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    first_output(p, in, row, first, n, out, NULL);
}

/* ---- cost and tolerance ---------------------------------------------------------------------- */

/* Five products, each 2 seq seq dim for a head: s and dP once more, and the three gradients. */
static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    double pairs = (double)axis(p, ASSAY_ATTENTION_SEQ) * (double)axis(p, ASSAY_ATTENTION_SEQ);
    c.flops = 10 * (double)axis(p, ASSAY_ATTENTION_BATCH) * (double)axis(p, ASSAY_ATTENTION_HEADS) *
              pairs * (double)axis(p, ASSAY_ATTENTION_DIM);
    if (is_causal(p))
        c.flops /= 2;
    c.math = p->dtype == ASSAY_DTYPE_BF16  ? ASSAY_MATH_BF16
             : p->dtype == ASSAY_DTYPE_F16 ? ASSAY_MATH_F16
                                           : ASSAY_MATH_F32;
    return c;
}

/* As attention's, term by term: the sum over seq of them; a score and the two products in dS, each
 * of dim products; exp, relative to itself. In 16 bits P and dS are rounded once more before the
 * products that they go into. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM);
    struct assay_tolerance t = assay_op_tolerance_elementwise(p, 0);
    t.summed = assay_op_sum_error(p->dtype, seq) + 0x1p-24 * (16 + 16 * sqrt((double)dim));
    if (info->bits <= 16)
        t.summed += 8 * (double)dim * 0x1p-26 + 4 * info->unit;
    return t;
}

static const struct assay_gradient gradient_packed = {.pass = ASSAY_PASS_BACKWARD,
                                                      .forward = "attention",
                                                      .training = "attention_training",
                                                      .in = {{ASSAY_FROM_GRADIENT, 0},
                                                             {ASSAY_FROM_INPUT, 0},
                                                             {ASSAY_FROM_OUTPUT, 0},
                                                             {ASSAY_FROM_SAVED, 0}},
                                                      .of = {0}};

static const struct assay_gradient *in_mode(const struct assay_problem *p)
{
    return is_packed(p) ? &gradient_packed : NULL;
}

static const struct assay_gradient gradient_apart = {.pass = ASSAY_PASS_BACKWARD,
                                                     .forward = "attention",
                                                     .training = "attention_training",
                                                     .in_mode = in_mode,
                                                     .in = {{ASSAY_FROM_GRADIENT, 0},
                                                            {ASSAY_FROM_INPUT, 0},
                                                            {ASSAY_FROM_INPUT, 1},
                                                            {ASSAY_FROM_INPUT, 2},
                                                            {ASSAY_FROM_OUTPUT, 0},
                                                            {ASSAY_FROM_SAVED, 0}},
                                                     .of = {0, 1, 2}};

const struct assay_op assay_op_attention_backward = {
    .name = "attention_backward",
    .title = "Attention backward",
    .summary = "dq, dk and dv of attention, from its output and the saved log of each row's sum of "
               "exponentials",
    .axis_names = {"batch", "seq", "heads", "dim"},
    .param_names = {"packed", "causal"},
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .reference_sums = first_output,
    .more = {{.reference_sums = dk, .tolerance = tolerance},
             {.reference_sums = dv, .tolerance = tolerance}},
    .cost = cost,
    .tolerance = tolerance,
    .modes = "qkv (one input [batch,seq,3,heads,dim], and one output), causal (no key behind the "
             "query), qkv+causal",
    .set_mode = assay_attention_set_mode,
    .gradient = &gradient_apart,
    .usual_shapes = "2x512x8x64",
    .size_words = "batch, length of the sequence, heads, elements of each",
    .help = "",
};
