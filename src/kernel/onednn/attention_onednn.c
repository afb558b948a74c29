/* attention_onednn.c: oneDNN 2.x has no attention, so its users write three primitives: q k^T, the
 * softmax of the scores, and that times v.
 *
 * q, k, v and the output are [batch, heads, seq, dim] with the strides they have in memory, k with
 * the last two axes the other way round; nothing is copied. The scale belongs to the first product,
 * and so does the causal mask, a matrix of 0 and -infinity that is added. Scores are f32: in bf16
 * large ones would be off by more than 1. In bf16 the softmax rounds the probabilities, which the
 * second product wants in the type of v.
 *
 * The scores of as many heads as fit in SCORES are made at once. */
#include "kernel/onednn/onednn_isa.h"

#include "base/alloc.h"
#include "op/attention.h"
#include "tensor/tensor.h"

#include <math.h>

enum { SCORES = 16 << 20 }; /* 64 MiB; the probabilities of bf16 take half as much again */
enum { Q, K, V };

/* ---- who can run ----------------------------------------------------------------------------- */

static enum assay_status accepts(const struct assay_problem *problem, struct assay_error *why)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, why);
    if (status != ASSAY_OK || !problem)
        return status;
    if (problem->dtype == ASSAY_DTYPE_BF16 && !dnnl->softmax_v2_forward_desc_init)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "bf16 needs oneDNN 2.6: a softmax from f32 to bf16");
    int64_t seq = problem->axes[ASSAY_ATTENTION_SEQ];
    if (seq > SCORES / seq)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "the scores of one head, seq * seq, do not fit in %d MiB of scratch",
                               (int)(SCORES * sizeof(float) >> 20));
    return ASSAY_OK;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = accepts(problem, why);
    return status == ASSAY_OK ? assay_onednn_isa_can_run(problem, why) : status;
}

static enum assay_status can_run_avx512(const struct assay_problem *problem,
                                        struct assay_error *why)
{
    enum assay_status status = accepts(problem, why);
    return status == ASSAY_OK ? assay_onednn_isa_can_run_avx512(problem, why) : status;
}

/* ---- what is described ----------------------------------------------------------------------- */

/* What one round computes: so many batches, all heads of each; or so many heads of one batch. Both
 * divide their axis, so that one set of primitives does for all rounds. With a mask it is one
 * batch: for one mask over several, 2.6 has only its reference code, some hundred times as slow. */
struct round {
    int64_t batches, heads;
};

static int64_t greatest_divisor(int64_t n, int64_t limit)
{
    int64_t divisor = n < limit ? n : limit;
    while (divisor > 1 && n % divisor)
        divisor--;
    return divisor > 1 ? divisor : 1;
}

static bool is_causal(const struct assay_problem *p)
{
    return p->params[ASSAY_ATTENTION_CAUSAL] != 0;
}

static struct round round_of(const struct assay_problem *p)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], fit = SCORES / (seq * seq);
    int64_t heads = greatest_divisor(p->axes[ASSAY_ATTENTION_HEADS], fit);
    bool one = heads < p->axes[ASSAY_ATTENTION_HEADS] || is_causal(p);
    return (struct round){one ? 1 : greatest_divisor(p->axes[ASSAY_ATTENTION_BATCH], fit / heads),
                          heads};
}

struct layout {
    struct assay_dnnl_memory_desc q, k, v, out, mask, scores, probabilities;
};

/* Rows of dim elements in [batch, seq, heads, dim], `step` elements from one position of the
 * sequence to the next. */
static int describe_rows(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                         struct round r, int64_t step, struct assay_dnnl_memory_desc *out)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], dim = p->axes[ASSAY_ATTENTION_DIM];
    const int64_t dims[4] = {r.batches, r.heads, seq, dim};
    const int64_t strides[4] = {seq * step, dim, step, 1};
    return dnnl->memory_desc_init_by_strides(out, 4, dims, assay_onednn_dtype(p->dtype), strides);
}

static int describe_columns(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                            struct round r, int64_t step, struct assay_dnnl_memory_desc *out)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], dim = p->axes[ASSAY_ATTENTION_DIM];
    const int64_t dims[4] = {r.batches, r.heads, dim, seq};
    const int64_t strides[4] = {seq * step, dim, 1, step};
    return dnnl->memory_desc_init_by_strides(out, 4, dims, assay_onednn_dtype(p->dtype), strides);
}

/* Elements from one position of the sequence to the next, of the output and of the inputs. */
static int64_t width(const struct assay_problem *p)
{
    return p->axes[ASSAY_ATTENTION_HEADS] * p->axes[ASSAY_ATTENTION_DIM];
}

static int64_t input_step(const struct assay_problem *p)
{
    return (p->params[ASSAY_ATTENTION_PACKED] != 0 ? 3 : 1) * width(p);
}

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct round r, struct layout *l)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], step = input_step(p);
    const int64_t scores[4] = {r.batches, r.heads, seq, seq}, mask[4] = {1, 1, seq, seq};
    int code = describe_rows(dnnl, p, r, step, &l->q);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_columns(dnnl, p, r, step, &l->k);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_rows(dnnl, p, r, step, &l->v);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_rows(dnnl, p, r, width(p), &l->out);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, ASSAY_DTYPE_F32, 4, mask, &l->mask);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, ASSAY_DTYPE_F32, 4, scores, &l->scores);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 4, scores, &l->probabilities);
    return code;
}

/* ---- setup ----------------------------------------------------------------------------------- */

struct state {
    const struct assay_dnnl_api *dnnl;
    const struct assay_problem *problem;
    struct round round;
    bool causal, in_place; /* in_place: probabilities replace the scores */
    struct assay_dnnl_engine *engine;
    struct assay_dnnl_stream *stream;
    struct assay_dnnl_primitive *multiply_keys, *softmax, *multiply_values;
    struct assay_dnnl_memory *q, *k, *v, *out, *mask, *scores, *probabilities;
    struct assay_onednn_buffer mask_buffer, scores_buffer, probabilities_buffer;
};

/* The mask comes before the scale, which leaves 0 and -infinity as they are. */
static int make_attributes(const struct state *s, const struct layout *l,
                           struct assay_dnnl_primitive_attr **out)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    float scale = (float)(1 / sqrt((double)s->problem->axes[ASSAY_ATTENTION_DIM]));
    struct assay_dnnl_post_ops *post_ops = NULL;
    int code = dnnl->post_ops_create(&post_ops);
    if (code == ASSAY_DNNL_SUCCESS && s->causal)
        code = dnnl->post_ops_append_binary(post_ops, ASSAY_DNNL_BINARY_ADD, &l->mask);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->post_ops_append_eltwise(post_ops, 1, ASSAY_DNNL_ELTWISE_LINEAR, scale, 0);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_attr_create(out);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_attr_set_post_ops(*out, post_ops);
    dnnl->post_ops_destroy(post_ops);
    return code;
}

static int make_primitive(const struct state *s, const struct assay_dnnl_op_desc *desc,
                          const struct assay_dnnl_primitive_attr *attributes,
                          struct assay_dnnl_primitive **out)
{
    struct assay_dnnl_primitive_desc *choice = NULL;
    int code = s->dnnl->primitive_desc_create(&choice, desc, attributes, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = s->dnnl->primitive_create(out, choice);
    s->dnnl->primitive_desc_destroy(choice);
    return code;
}

static int make_multiply_keys(struct state *s, const struct layout *l)
{
    struct assay_dnnl_op_desc desc;
    struct assay_dnnl_primitive_attr *attributes = NULL;
    int code = s->dnnl->matmul_desc_init(&desc, &l->q, &l->k, NULL, &l->scores);
    if (code == ASSAY_DNNL_SUCCESS)
        code = make_attributes(s, l, &attributes);
    if (code == ASSAY_DNNL_SUCCESS)
        code = make_primitive(s, &desc, attributes, &s->multiply_keys);
    s->dnnl->primitive_attr_destroy(attributes);
    return code;
}

static int make_softmax(struct state *s, const struct layout *l)
{
    enum { KEYS_AXIS = 3 };
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_op_desc desc;
    int code = s->in_place
                   ? dnnl->softmax_forward_desc_init(&desc, ASSAY_DNNL_FORWARD_INFERENCE,
                                                     &l->scores, KEYS_AXIS)
                   : dnnl->softmax_v2_forward_desc_init(&desc, ASSAY_DNNL_FORWARD_INFERENCE,
                                                        ASSAY_DNNL_SOFTMAX_ACCURATE, &l->scores,
                                                        &l->probabilities, KEYS_AXIS);
    return code == ASSAY_DNNL_SUCCESS ? make_primitive(s, &desc, NULL, &s->softmax) : code;
}

static int make_multiply_values(struct state *s, const struct layout *l)
{
    struct assay_dnnl_op_desc desc;
    int code = s->dnnl->matmul_desc_init(&desc, &l->probabilities, &l->v, NULL, &l->out);
    return code == ASSAY_DNNL_SUCCESS ? make_primitive(s, &desc, NULL, &s->multiply_values) : code;
}

/* The library plans for as many threads as it sees. */
static int make_primitives(struct state *s, const struct layout *l)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int before = dnnl->omp_get_max_threads();
    dnnl->omp_set_num_threads(s->problem->threads);
    int code = make_multiply_keys(s, l);
    if (code == ASSAY_DNNL_SUCCESS)
        code = make_softmax(s, l);
    if (code == ASSAY_DNNL_SUCCESS)
        code = make_multiply_values(s, l);
    dnnl->omp_set_num_threads(before);
    return code;
}

static void fill_mask(float *mask, int64_t seq)
{
    for (int64_t query = 0; query < seq; query++)
        for (int64_t key = query + 1; key < seq; key++)
            mask[query * seq + key] = -INFINITY;
}

/* A memory object with memory of ours. */
static int make_scratch(const struct state *s, const struct assay_dnnl_memory_desc *desc,
                        struct assay_onednn_buffer *buffer, struct assay_dnnl_memory **out)
{
    if (!assay_onednn_buffer_init(buffer, s->dnnl->memory_desc_get_size(desc)))
        return ASSAY_DNNL_OUT_OF_MEMORY;
    return s->dnnl->memory_create(out, desc, s->engine, buffer->data);
}

static int make_all_scratch(struct state *s, const struct layout *l)
{
    int code = make_scratch(s, &l->scores, &s->scores_buffer, &s->scores);
    if (code == ASSAY_DNNL_SUCCESS && !s->in_place)
        code = make_scratch(s, &l->probabilities, &s->probabilities_buffer, &s->probabilities);
    if (code == ASSAY_DNNL_SUCCESS && s->causal)
        code = make_scratch(s, &l->mask, &s->mask_buffer, &s->mask);
    if (code == ASSAY_DNNL_SUCCESS && s->causal)
        fill_mask(s->mask_buffer.data, s->problem->axes[ASSAY_ATTENTION_SEQ]);
    return code;
}

/* Memory objects for what each call brings. */
static int make_operands(struct state *s, const struct layout *l)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int code = dnnl->memory_create(&s->q, &l->q, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_create(&s->k, &l->k, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_create(&s->v, &l->v, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_create(&s->out, &l->out, s->engine, NULL);
    return code;
}

static enum assay_status create_all(struct state *s, struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct layout l;
    const char *what = "making an engine";
    int code = dnnl->engine_create(&s->engine, ASSAY_DNNL_ENGINE_CPU, 0);
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making a stream";
        code = dnnl->stream_create(&s->stream, s->engine, ASSAY_DNNL_STREAM_DEFAULT);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "describing the operands";
        code = describe(dnnl, s->problem, s->round, &l);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making the primitives";
        code = make_primitives(s, &l);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making an operand";
        code = make_operands(s, &l);
    }
    if (code == ASSAY_DNNL_SUCCESS)
        code = make_all_scratch(s, &l);
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : assay_onednn_failed(s->problem, what, code, err);
}

static void teardown(void *state)
{
    struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_memory *const memories[] = {
        s->q, s->k, s->v, s->out, s->mask, s->scores, s->probabilities};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
        dnnl->memory_destroy(memories[i]); /* NULL is fine, here and below */
    assay_onednn_buffer_fini(&s->mask_buffer);
    assay_onednn_buffer_fini(&s->scores_buffer);
    assay_onednn_buffer_fini(&s->probabilities_buffer);
    dnnl->primitive_destroy(s->multiply_keys);
    dnnl->primitive_destroy(s->softmax);
    dnnl->primitive_destroy(s->multiply_values);
    dnnl->stream_destroy(s->stream);
    dnnl->engine_destroy(s->engine);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->dnnl = dnnl;
    s->problem = problem;
    s->round = round_of(problem);
    s->causal = is_causal(problem);
    s->in_place = problem->dtype == ASSAY_DTYPE_F32;
    status = create_all(s, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        teardown(s);
    return status;
}

static enum assay_status setup_avx512(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    enum assay_status status = assay_onednn_leave_out_amx(err);
    return status == ASSAY_OK ? setup(problem, state, err) : status;
}

/* ---- run ------------------------------------------------------------------------------------- */

static void *element(const struct state *s, const void *data, int64_t index)
{
    size_t bytes = assay_dtype_info(s->problem->dtype)->bits / 8;
    return (char *)assay_onednn_writable(data) + (size_t)index * bytes;
}

/* Of q, k or v: where the first row of a head is. */
static void *input(const struct state *s, const struct assay_args *args, int which, int64_t batch,
                   int64_t head)
{
    const int64_t *axes = s->problem->axes;
    bool packed = s->problem->params[ASSAY_ATTENTION_PACKED] != 0;
    int64_t at = batch * axes[ASSAY_ATTENTION_SEQ] * input_step(s->problem) +
                 (packed ? which * width(s->problem) : 0) + head * axes[ASSAY_ATTENTION_DIM];
    return element(s, args->in[packed ? 0 : which], at);
}

static int bind(const struct state *s, const struct assay_args *args, int64_t batch, int64_t head)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    const int64_t *axes = s->problem->axes;
    int64_t at =
        batch * axes[ASSAY_ATTENTION_SEQ] * width(s->problem) + head * axes[ASSAY_ATTENTION_DIM];
    int code = dnnl->memory_set_data_handle(s->q, input(s, args, Q, batch, head));
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_set_data_handle(s->k, input(s, args, K, batch, head));
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_set_data_handle(s->v, input(s, args, V, batch, head));
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_set_data_handle(s->out, element(s, args->out[0], at));
    return code;
}

static int execute(const struct state *s)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_memory *probabilities = s->in_place ? s->scores : s->probabilities;
    const struct assay_dnnl_exec_arg keys[] = {
        {ASSAY_DNNL_ARG_SRC_0, s->q},
        {ASSAY_DNNL_ARG_WEIGHTS, s->k},
        {ASSAY_DNNL_ARG_DST, s->scores},
        {ASSAY_DNNL_ARG_FIRST_POST_OP | ASSAY_DNNL_ARG_SRC_1, s->mask}, /* if causal */
    };
    const struct assay_dnnl_exec_arg softmax[] = {{ASSAY_DNNL_ARG_SRC_0, s->scores},
                                                  {ASSAY_DNNL_ARG_DST, probabilities}};
    const struct assay_dnnl_exec_arg values[] = {{ASSAY_DNNL_ARG_SRC_0, probabilities},
                                                 {ASSAY_DNNL_ARG_WEIGHTS, s->v},
                                                 {ASSAY_DNNL_ARG_DST, s->out}};
    int code = dnnl->primitive_execute(s->multiply_keys, s->stream, s->causal ? 4 : 3, keys);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_execute(s->softmax, s->stream, 2, softmax);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_execute(s->multiply_values, s->stream, 3, values);
    return code;
}

static int run_all(const struct state *s, const struct assay_args *args)
{
    const int64_t *axes = s->problem->axes;
    int code = ASSAY_DNNL_SUCCESS;
    for (int64_t batch = 0; batch < axes[ASSAY_ATTENTION_BATCH]; batch += s->round.batches)
        for (int64_t head = 0; head < axes[ASSAY_ATTENTION_HEADS]; head += s->round.heads) {
            code = bind(s, args, batch, head);
            if (code == ASSAY_DNNL_SUCCESS)
                code = execute(s);
            if (code != ASSAY_DNNL_SUCCESS)
                return code;
        }
    return s->dnnl->stream_wait(s->stream);
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int before = dnnl->omp_get_max_threads(), code = ASSAY_DNNL_SUCCESS;
    dnnl->omp_set_num_threads(s->problem->threads); /* a thread's own variable: costs nothing */
    for (int64_t i = 0; i < work->iters && code == ASSAY_DNNL_SUCCESS; i++)
        code = run_all(s, assay_work_args(work, i));
    dnnl->omp_set_num_threads(before);
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* Defines the kernel assay_kernel_IDENT; `suffix` is _avx512 or nothing. */
#define ATTENTION_KERNEL(ident, suffix, dtypes_, preference_)                                      \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "attention",                                                                         \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = can_run##suffix,                                                                \
        .setup = setup##suffix,                                                                    \
        .run = run,                                                                                \
        .teardown = teardown,                                                                      \
        .note = assay_onednn_isa_note##suffix,                                                     \
    }

/* With all that the library has for this CPU, AMX included. */
ATTENTION_KERNEL(attention_onednn, ,
                 ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1);

/* Without AMX, for machines where the library dies of it. f32 does not use AMX, so it is not among
 * the dtypes. */
ATTENTION_KERNEL(attention_onednn_avx512, _avx512, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 0);
