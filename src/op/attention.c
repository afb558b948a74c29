/* attention: softmax(q k^T / sqrt(dim)) v for every head; attention.h says where things lie.
 *
 * What is not finite: a score that is NaN or +infinity makes its row NaN; one of -infinity counts
 * for nothing, and a row of nothing else is NaN. NaN and infinities in v are multiplied by the
 * probabilities, 0 times infinity included. Where it is causal, rows must not depend on what stands
 * behind them as long as that is finite; kernels may multiply v there by 0. */
#include "op/attention.h"

#include "base/text.h"
#include "op/common.h"

#include <stdio.h>

enum { Q, K, V };

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }
static bool has(const struct assay_problem *p, int param) { return p->params[param] != 0; }

/* A tensor has at most four axes, so the 3 of [batch, seq, 3, heads, dim] joins the heads. */
static void shapes(struct assay_problem *p)
{
    bool packed = has(p, ASSAY_ATTENTION_PACKED);
    struct assay_tensor t = {
        .dtype = p->dtype,
        .rank = 4,
        .dims = {axis(p, ASSAY_ATTENTION_BATCH), axis(p, ASSAY_ATTENTION_SEQ),
                 axis(p, ASSAY_ATTENTION_HEADS), axis(p, ASSAY_ATTENTION_DIM)},
    };
    p->n_outputs = 1;
    p->outputs[0] = t;
    /* Sizes near the end of the range are refused by their product, so this one must not wrap. */
    if (packed)
        t.dims[2] = t.dims[2] > INT64_MAX / 3 ? INT64_MAX : 3 * t.dims[2];
    p->n_inputs = packed ? 1 : 3;
    for (int32_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = t;
}

/* Behind out the logarithm of each row's sum of exponentials. */
static void shapes_training(struct assay_problem *p)
{
    shapes(p);
    p->n_outputs = 2;
    p->outputs[1] = assay_op_saved(p, 1);
    p->outputs[1].rank = 3;
    p->outputs[1].dims[0] = axis(p, ASSAY_ATTENTION_BATCH);
    p->outputs[1].dims[1] = axis(p, ASSAY_ATTENTION_HEADS);
    p->outputs[1].dims[2] = axis(p, ASSAY_ATTENTION_SEQ);
}

/* One word of a mode; false where there is none such, or where it came before. */
static bool set_word(struct assay_problem *p, const char *word)
{
    if (assay_text_same(word, "none"))
        return true;
    int param = assay_text_same(word, "qkv")      ? ASSAY_ATTENTION_PACKED
                : assay_text_same(word, "causal") ? ASSAY_ATTENTION_CAUSAL
                                                  : -1;
    if (param < 0 || has(p, param))
        return false;
    p->params[param] = 1;
    return true;
}

/* "none", "qkv", "causal", "qkv+causal" */
enum assay_status assay_attention_set_mode(struct assay_problem *p, const char *mode,
                                           struct assay_error *err)
{
    static const char *const words[] = {"none", "qkv", "causal"};
    char word[32];
    p->params[ASSAY_ATTENTION_PACKED] = p->params[ASSAY_ATTENTION_CAUSAL] = 0;
    for (const char *rest = mode[0] ? mode : NULL; rest;) {
        size_t length = strcspn(rest, "+");
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), rest);
        if (!set_word(p, word)) {
            const char *nearest = assay_text_nearest(word, words, sizeof words / sizeof *words);
            return assay_error_set(
                err, ASSAY_ERR_INVALID, p->op,
                "unknown mode \"%.100s\"; did you mean \"%s\"? A mode is qkv (one input for q, k "
                "and v), causal (no key behind the query), each at most once, or both: qkv+causal",
                mode, nearest ? nearest : "causal");
        }
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return ASSAY_OK;
}

/* ---- the reference --------------------------------------------------------------------------- */

/* Of q, k or v: n elements from `first` on of the row of one head at one token of the sequence. */
static void load(const struct assay_problem *p, const void *const *in, int which, int64_t token,
                 int64_t head, int64_t first, int64_t n, double *out)
{
    int64_t heads = axis(p, ASSAY_ATTENTION_HEADS);
    bool packed = has(p, ASSAY_ATTENTION_PACKED);
    int64_t row = packed ? (token * 3 + which) * heads + head : token * heads + head;
    assay_op_load_row(p, in, packed ? 0 : which, row, first, n, out);
}

enum { BLOCK = 256, KEYS = 64 };

/* Four sums, because one would wait for itself. */
static double dot(const double *a, const double *b, int64_t n)
{
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++)
            sums[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/* The scores of n <= KEYS keys, of which the first is at `key`. Tokens count through all batches.
 */
static void score(const struct assay_problem *p, const void *const *in, int64_t query, int64_t key,
                  int64_t head, int64_t n, double *scores)
{
    int64_t dim = axis(p, ASSAY_ATTENTION_DIM);
    double q[BLOCK], k[BLOCK];
    for (int64_t j = 0; j < n; j++)
        scores[j] = 0;
    for (int64_t first = 0; first < dim; first += BLOCK) {
        int64_t count = dim - first < BLOCK ? dim - first : BLOCK;
        load(p, in, Q, query, head, first, count, q);
        for (int64_t j = 0; j < n; j++) {
            load(p, in, K, key + j, head, first, count, k);
            scores[j] += dot(q, k, count);
        }
    }
    for (int64_t j = 0; j < n; j++)
        scores[j] /= sqrt((double)dim);
}

/* What is known of a row after some of its keys. */
struct sums {
    double max, sum; /* the greatest score, and the sum of exp(score - max) */
};

static void scale(double *out, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++)
        out[i] *= factor;
}

/* Adds one key: exp(score - max) times its row of v. */
static void add_key(const struct assay_problem *p, const void *const *in, int64_t key, int64_t head,
                    double value, struct sums *sums, int64_t first, int64_t n, double *out,
                    double *squares)
{
    double v[BLOCK];
    if (value > sums->max) {
        double factor = exp(sums->max - value);
        scale(out, n, factor);
        if (squares)
            scale(squares, n, factor * factor);
        sums->sum *= factor;
        sums->max = value;
    }
    /* As long as all are -infinity they count 0: what decides is whether another comes. */
    double weight = isinf(value) && value < 0 ? 0 : exp(value - sums->max);
    sums->sum += weight;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        load(p, in, V, key, head, first + at, count, v);
        for (int64_t i = 0; i < count; i++)
            out[at + i] += weight * v[i];
        for (int64_t i = 0; i < count && squares; i++)
            squares[at + i] += weight * v[i] * weight * v[i];
    }
}

/* A row of the output, one head at one token of the sequence, before it is divided by its sum.
 * sizes become sums of squares. */
static struct sums add_keys(const struct assay_problem *p, const void *const *in, int64_t row,
                            int64_t first, int64_t n, double *out, double *sizes)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), heads = axis(p, ASSAY_ATTENTION_HEADS);
    int64_t head = row % heads, query = row / heads, begin = query / seq * seq;
    int64_t keys = has(p, ASSAY_ATTENTION_CAUSAL) ? query - begin + 1 : seq;
    struct sums sums = {.max = -(double)INFINITY};
    double scores[KEYS];
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = 0;
    for (int64_t at = 0; at < keys; at += KEYS) {
        int64_t count = keys - at < KEYS ? keys - at : KEYS;
        score(p, in, query, begin + at, head, count, scores);
        for (int64_t j = 0; j < count; j++)
            add_key(p, in, begin + at + j, head, scores[j], &sums, first, n, out, sizes);
    }
    return sums;
}

static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    struct sums sums = add_keys(p, in, row, first, n, out, sizes);
    for (int64_t i = 0; i < n; i++)
        out[i] /= sums.sum;
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = assay_op_sum_size(out[i], sizes[i] / (sums.sum * sums.sum));
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    reference_sums(p, in, row, first, n, out, NULL);
}

/* Queries [first, first + n) of one head of one batch. */
static void saved_lse(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    int64_t heads = axis(p, ASSAY_ATTENTION_HEADS), seq = axis(p, ASSAY_ATTENTION_SEQ);
    int64_t head = row % heads, begin = row / heads * seq;
    for (int64_t i = 0; i < n; i++) {
        int64_t of_out = (begin + first + i) * heads + head;
        struct sums sums = add_keys(p, in, of_out, 0, 0, NULL, NULL);
        out[i] = sums.max + log(sums.sum);
    }
}

/* ---- cost and tolerance ---------------------------------------------------------------------- */

/* Two products, each 2 seq seq dim for a head; the softmax between them is not counted. */
static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    double pairs = (double)axis(p, ASSAY_ATTENTION_SEQ) * (double)axis(p, ASSAY_ATTENTION_SEQ);
    c.flops = 4 * (double)axis(p, ASSAY_ATTENTION_BATCH) * (double)axis(p, ASSAY_ATTENTION_HEADS) *
              pairs * (double)axis(p, ASSAY_ATTENTION_DIM);
    if (has(p, ASSAY_ATTENTION_CAUSAL))
        c.flops /= 2;
    c.math = p->dtype == ASSAY_DTYPE_BF16  ? ASSAY_MATH_BF16
             : p->dtype == ASSAY_DTYPE_F16 ? ASSAY_MATH_F16
                                           : ASSAY_MATH_F32;
    return c;
}

/* An output is the sum of a row's probabilities times v.
 *   relative: the rounding of the output; the sum of probabilities in f32, over seq of them, and
 *   exp.
 *   summed: each of seq terms is off by something of its own, and these errors add up like the
 *   terms themselves, to a part of their size:
 *     the sum of seq products;
 *     a score, the sum of dim products whose parts grow to sqrt(dim), is off by some 0.4 sqrt(dim)
 *     units of f32 after the scale; times 5 for the worst of a million, times 4 for other orders;
 *     in 16 bits what a matrix unit cuts off of it, of scores up to 4;
 *     in 16 bits half a unit, where the kernel rounds its probabilities to the inputs' dtype before
 *     the second product; times 5, and a little more because a few large terms add up worse than
 *     many small ones: 4 units. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM);
    struct assay_tolerance t = assay_op_tolerance_reduction(p, seq, 0);
    t.summed = assay_op_sum_error(p->dtype, seq) + 0x1p-24 * 8 * sqrt((double)dim);
    if (info->bits <= 16)
        t.summed += 4 * (double)dim * 0x1p-26 + 4 * info->unit;
    return t;
}

/* The logarithm is off by what the sum of exponentials is off by, relative to itself: the sum, and
 * the scores as above. */
static struct assay_tolerance tolerance_lse(const struct assay_problem *p)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM);
    struct assay_tolerance t = assay_op_tolerance_statistic(p, seq);
    t.absolute = t.summed + 0x1p-24 * 8 * sqrt((double)dim);
    if (assay_dtype_info(p->dtype)->bits <= 16)
        t.absolute += 4 * (double)dim * 0x1p-26;
    t.summed = 0;
    return t;
}

static const char *const aliases[] = {"sdpa", NULL};

/* ---- in a model ------------------------------------------------------------------------------ */

enum { SEQ, HEADS }; /* keys */

/* x is what one linear layer gives for q, k and v. */
static enum assay_status node_axes(const struct assay_node_sizes *sizes, int64_t *axes,
                                   struct assay_error *err)
{
    int64_t seq = sizes->given[SEQ], heads = sizes->given[HEADS];
    if (seq < 1 || heads < 1 || sizes->rows % seq != 0 || sizes->columns % (3 * heads) != 0)
        return assay_error_set(
            err, ASSAY_ERR_INVALID, NULL,
            "attention over sequences of %lld with %lld heads needs rows in a multiple of the "
            "sequence and columns in a multiple of three times the heads, not %lld x %lld",
            (long long)seq, (long long)heads, (long long)sizes->rows, (long long)sizes->columns);
    axes[ASSAY_ATTENTION_BATCH] = sizes->rows / seq;
    axes[ASSAY_ATTENTION_SEQ] = seq;
    axes[ASSAY_ATTENTION_HEADS] = heads;
    axes[ASSAY_ATTENTION_DIM] = sizes->columns / 3 / heads;
    return ASSAY_OK;
}

/* Attention averages: the squares of seq probabilities add up to some exp(2) / seq, and its outputs
 * are as large as the root of that, unless the first rows of a causal one see few keys. */
static double node_size(const struct assay_problem *p)
{
    double seq = (double)axis(p, ASSAY_ATTENTION_SEQ);
    return has(p, ASSAY_ATTENTION_CAUSAL) ? 2 : 2 * fmin(1, sqrt(exp(2) / seq));
}

static const struct assay_op_node node = {
    .values = 1,
    .keys = {{"seq", 0}, {"heads", 0}},
    .flag = "causal",
    .flag_modes = {"qkv", "qkv+causal"},
    .axes = node_axes,
    .rows_axis = ASSAY_ATTENTION_BATCH,
    .mixes_rows = true,
    .joined = 2, /* the heads stand side by side */
    .size = node_size,
};

const struct assay_op assay_op_attention = {
    .name = "attention",
    .title = "Attention",
    .summary = "softmax(q k^T / sqrt(dim)) v for each head; q, k, v [batch,seq,heads,dim]",
    .aliases = aliases,
    .axis_names = {"batch", "seq", "heads", "dim"},
    .param_names = {"packed", "causal"},
    .shapes = shapes,
    .reference = reference,
    .reference_sums = reference_sums,
    .cost = cost,
    .tolerance = tolerance,
    .modes = "qkv (one input [batch,seq,3,heads,dim]), causal (no key behind the query), "
             "qkv+causal",
    .set_mode = assay_attention_set_mode,
    .usual_shapes = "4x1024x16x64",
    .sample_shapes = "1x128x8x64,2x77x4x64,2x512x16x64",
    .size_words = "batch, length of the sequence, heads, elements of each",
    .skeleton = {"attention", NULL, "1x64x4x32, 2x17x3x20"},
    .node = &node,
};

const struct assay_op assay_op_attention_training = {
    .name = "attention_training",
    .title = "Attention, saving",
    .summary = "attention, and the log of each row's sum of exponentials [batch,heads,seq], for "
               "the gradient",
    .axis_names = {"batch", "seq", "heads", "dim"},
    .param_names = {"packed", "causal"},
    .shapes = shapes_training,
    .reference = reference,
    .reference_sums = reference_sums,
    .more = {{.reference = saved_lse, .tolerance = tolerance_lse}},
    .cost = cost,
    .tolerance = tolerance,
    .modes = "qkv (one input [batch,seq,3,heads,dim]), causal (no key behind the query), "
             "qkv+causal",
    .set_mode = assay_attention_set_mode,
    .usual_shapes = "4x1024x16x64",
    .sample_shapes = "1x128x8x64,2x77x4x64,2x512x16x64",
    .size_words = "batch, length of the sequence, heads, elements of each",
    .help = "",
    .node = &node,
};
