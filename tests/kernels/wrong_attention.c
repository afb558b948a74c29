/* wrong_attention.c: attention of training, with q, k and v in one tensor, that saves something
 * wrong or makes the mistakes its gradient is known for, in f32. Each does right what its name does
 * not say; those that begin with honest do everything right. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum fault {
    HONEST,
    IN_BITS,     /* the logarithm to base 2 */
    NO_MAXIMUM,  /* of exponentials after the shift by the greatest score */
    SEQ_FIRST,   /* saved as [batch, seq, heads] */
    SWAPPED,     /* the gradients of k and v are in each other's place */
    OWN_LSE,     /* computed anew from q and k: not what was saved */
    NO_OUT,      /* what the softmax takes off, dout out, is left out */
    UNSCALED,    /* dS without 1 / sqrt(dim) */
    LOOKS_BEHIND /* keys behind the query, in a causal one */
};

struct state {
    struct assay_problem problem;
};

static void end(void *state) { free(state); }

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->problem = *problem;
    *state = s;
    return ASSAY_OK;
}

/* One head of one sequence. Rows of q, k and v, and of tensors like out. */
struct head {
    int64_t batch, head, seq, heads, dim;
    bool causal;
};

enum { Q, K, V };

static int64_t row_of(const struct head *h, int64_t token)
{
    return ((h->batch * h->seq + token) * h->heads + h->head) * h->dim;
}

static int64_t packed_row_of(const struct head *h, int64_t token, int which)
{
    return (((h->batch * h->seq + token) * 3 + which) * h->heads + h->head) * h->dim;
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double score(const struct head *h, const float *qkv, int64_t query, int64_t key)
{
    return dot(qkv + packed_row_of(h, query, Q), qkv + packed_row_of(h, key, K), h->dim) /
           sqrt((double)h->dim);
}

static int64_t keys_of(const struct head *h, int64_t query)
{
    return h->causal ? query + 1 : h->seq;
}

/* The greatest score of a query, and the sum of exponentials beside it. */
static double sum_of(const struct head *h, const float *qkv, int64_t query, double *maximum)
{
    double sum = 0;
    *maximum = (double)-INFINITY;
    for (int64_t key = 0; key < keys_of(h, query); key++)
        *maximum = fmax(*maximum, score(h, qkv, query, key));
    for (int64_t key = 0; key < keys_of(h, query); key++)
        sum += exp(score(h, qkv, query, key) - *maximum);
    return sum;
}

/* ---- attention_training ---- */

static void forward(const struct head *h, const struct assay_args *args, enum fault fault)
{
    const float *qkv = args->in[0];
    float *out = args->out[0], *saved = args->out[1];
    for (int64_t query = 0; query < h->seq; query++) {
        double maximum, sum = sum_of(h, qkv, query, &maximum), lse = log(sum) + maximum;
        for (int64_t i = 0; i < h->dim; i++) {
            double y = 0;
            for (int64_t key = 0; key < keys_of(h, query); key++)
                y += exp(score(h, qkv, query, key) - lse) *
                     (double)qkv[packed_row_of(h, key, V) + i];
            out[row_of(h, query) + i] = (float)y;
        }
        int64_t at = fault == SEQ_FIRST ? (h->batch * h->seq + query) * h->heads + h->head
                                        : (h->batch * h->heads + h->head) * h->seq + query;
        saved[at] = (float)(fault == IN_BITS ? lse / log(2) : fault == NO_MAXIMUM ? log(sum) : lse);
    }
}

/* ---- attention_backward ---- */

static void add(float *to, const float *row, double weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += (float)(weight * (double)row[i]);
}

static void add_pair(const struct head *h, const struct assay_args *args, enum fault fault,
                     int64_t query, int64_t key, double lse)
{
    const float *dout = (const float *)args->in[0] + row_of(h, query), *qkv = args->in[1];
    const float *out = (const float *)args->in[2] + row_of(h, query);
    float *gradients = args->out[0];
    double p = exp(score(h, qkv, query, key) - lse);
    double d = fault == NO_OUT ? 0 : dot(dout, out, h->dim);
    double ds = p * (dot(dout, qkv + packed_row_of(h, key, V), h->dim) - d);
    ds /= fault == UNSCALED ? 1 : sqrt((double)h->dim);
    bool swapped = fault == SWAPPED;
    add(gradients + packed_row_of(h, query, Q), qkv + packed_row_of(h, key, K), ds, h->dim);
    add(gradients + packed_row_of(h, key, swapped ? V : K), qkv + packed_row_of(h, query, Q), ds,
        h->dim);
    add(gradients + packed_row_of(h, key, swapped ? K : V), dout, p, h->dim);
}

static void backward(const struct head *h, const struct assay_args *args, enum fault fault)
{
    const float *qkv = args->in[1], *saved = args->in[3];
    for (int64_t token = 0; token < h->seq; token++)
        for (int which = Q; which <= V; which++)
            memset((float *)args->out[0] + packed_row_of(h, token, which), 0,
                   (size_t)h->dim * sizeof(float));
    for (int64_t query = 0; query < h->seq; query++) {
        double maximum, lse = (double)saved[(h->batch * h->heads + h->head) * h->seq + query];
        int64_t keys = fault == LOOKS_BEHIND ? h->seq : keys_of(h, query);
        if (fault == OWN_LSE)
            lse = log(sum_of(h, qkv, query, &maximum)) + maximum;
        for (int64_t key = 0; key < keys; key++)
            add_pair(h, args, fault, query, key, lse);
    }
}

/* ---- the kernels ---- */

typedef void pass(const struct head *h, const struct assay_args *args, enum fault fault);

static void every_head(const struct assay_problem *p, const struct assay_args *args, pass *of_head,
                       enum fault fault)
{
    struct head h = {
        .seq = p->axes[1], .heads = p->axes[2], .dim = p->axes[3], .causal = p->params[1] != 0};
    for (h.batch = 0; h.batch < p->axes[0]; h.batch++)
        for (h.head = 0; h.head < h.heads; h.head++)
            of_head(&h, args, fault);
}

static enum assay_status can_run(const struct assay_problem *p, struct assay_error *why)
{
    (void)why;
    return p->params[0] != 0 ? ASSAY_OK : ASSAY_UNSUPPORTED; /* packed */
}

#define WRONG(ident, op_, pass_, fault)                                                            \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        const struct state *s = state;                                                             \
        for (int64_t k = 0; k < work->iters; k++)                                                  \
            every_head(&s->problem, assay_work_args(work, k), pass_, fault);                       \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = op_,                                                                                 \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .can_run = can_run,                                                                        \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = end,                                                                           \
    };

WRONG(honest_forward, "attention_training", forward, HONEST)
WRONG(in_bits, "attention_training", forward, IN_BITS)
WRONG(no_maximum, "attention_training", forward, NO_MAXIMUM)
WRONG(seq_first, "attention_training", forward, SEQ_FIRST)
WRONG(honest_backward, "attention_backward", backward, HONEST)
WRONG(swapped, "attention_backward", backward, SWAPPED)
WRONG(own_lse, "attention_backward", backward, OWN_LSE)
WRONG(no_out, "attention_backward", backward, NO_OUT)
WRONG(unscaled, "attention_backward", backward, UNSCALED)
WRONG(looks_behind, "attention_backward", backward, LOOKS_BEHIND)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_honest_forward,  &kernel_in_bits,      &kernel_no_maximum, &kernel_seq_first,
        &kernel_honest_backward, &kernel_swapped,      &kernel_own_lse,    &kernel_no_out,
        &kernel_unscaled,        &kernel_looks_behind,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
