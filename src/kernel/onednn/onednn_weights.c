/* onednn_weights.c: a oneDNN primitive that is free to choose the layout of its weights; prepare
 * brings them into it, once for each set of operands. */
#include "kernel/onednn/onednn_weights.h"

#include "base/alloc.h"

#include <string.h>

/* ---- setup ----------------------------------------------------------------------------------- */

enum { MOST_ARGS = 5 };
enum { X, W }; /* inputs of every problem here */

/* The weights of one set of operands in the primitive's layout. */
struct prepared {
    struct assay_dnnl_memory *memory;
    struct assay_onednn_buffer buffer;
};

struct state {
    const struct assay_dnnl_api *dnnl;
    const struct assay_problem *problem;
    struct assay_dnnl_engine *engine;
    struct assay_dnnl_stream *stream;
    struct assay_dnnl_primitive_desc *choice;
    struct assay_dnnl_primitive *primitive, *reorder;
    const struct assay_dnnl_memory_desc *weights; /* the chosen layout; lives in `choice` */
    struct assay_dnnl_memory *stored;             /* W as the op has it */
    struct prepared *sets;
    int64_t n_sets, n_ready;                    /* those with a buffer, and those of them in use */
    struct assay_dnnl_exec_arg args[MOST_ARGS]; /* W, x, y and what else there is */
    int32_t inputs[MOST_ARGS];                  /* of each, or ASSAY_ONEDNN_OUTPUT */
    const void *bound[MOST_ARGS];
    int32_t n_args;
};

/* What comes behind the products, as the primitive's attributes; *out stays NULL where nothing
 * does.
 */
static int make_attributes(const struct assay_dnnl_api *dnnl, const struct assay_onednn_layout *d,
                           struct assay_dnnl_primitive_attr **out)
{
    if (!d->eltwise && d->residual < 0)
        return ASSAY_DNNL_SUCCESS;
    struct assay_dnnl_post_ops *post_ops = NULL;
    int code = dnnl->post_ops_create(&post_ops);
    if (code == ASSAY_DNNL_SUCCESS && d->eltwise)
        code = dnnl->post_ops_append_eltwise(post_ops, 1, d->eltwise, d->alpha, 0);
    else if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->post_ops_append_binary(post_ops, ASSAY_DNNL_BINARY_ADD, &d->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_attr_create(out);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_attr_set_post_ops(*out, post_ops);
    dnnl->post_ops_destroy(post_ops);
    return code;
}

static int make_primitive(struct state *s, const struct assay_onednn_layout *d)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_primitive_attr *attributes = NULL;
    int code = make_attributes(dnnl, d, &attributes);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_desc_create(&s->choice, &d->operation, attributes, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_create(&s->primitive, s->choice);
    dnnl->primitive_attr_destroy(attributes);
    return code;
}

static int make_reorder(struct state *s, const struct assay_onednn_layout *d)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_primitive_desc *choice = NULL;
    s->weights = dnnl->primitive_desc_query_md(s->choice, ASSAY_DNNL_QUERY_WEIGHTS, 0);
    int code = dnnl->reorder_primitive_desc_create(&choice, &d->stored, s->engine, s->weights,
                                                   s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_create(&s->reorder, choice);
    dnnl->primitive_desc_destroy(choice);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_create(&s->stored, &d->stored, s->engine, NULL);
    return code;
}

/* Weights have a memory object for each set; `desc` is NULL for them. */
static int add_arg(struct state *s, int arg, int32_t input,
                   const struct assay_dnnl_memory_desc *desc)
{
    s->inputs[s->n_args] = input;
    struct assay_dnnl_exec_arg *slot = &s->args[s->n_args++];
    slot->arg = arg;
    return desc ? s->dnnl->memory_create(&slot->memory, desc, s->engine, NULL) : ASSAY_DNNL_SUCCESS;
}

static int make_args(struct state *s, const struct assay_onednn_layout *d)
{
    int code = add_arg(s, ASSAY_DNNL_ARG_WEIGHTS, W, NULL); /* the first: see run */
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_SRC_0, X, &d->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DST, ASSAY_ONEDNN_OUTPUT, &d->y);
    if (code == ASSAY_DNNL_SUCCESS && d->bias >= 0)
        code = add_arg(s, ASSAY_DNNL_ARG_BIAS, d->bias, &d->bias_desc);
    if (code == ASSAY_DNNL_SUCCESS && d->residual >= 0)
        code = add_arg(s, ASSAY_DNNL_ARG_FIRST_POST_OP | ASSAY_DNNL_ARG_SRC_1, d->residual, &d->y);
    return code;
}

static enum assay_status create_all(struct state *s, assay_onednn_describe_fn *describe,
                                    struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_onednn_layout d = {.bias = -1, .residual = -1};
    const char *what = "making an engine";
    int code = dnnl->engine_create(&s->engine, ASSAY_DNNL_ENGINE_CPU, 0);
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making a stream";
        code = dnnl->stream_create(&s->stream, s->engine, ASSAY_DNNL_STREAM_DEFAULT);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "describing the operation";
        code = describe(dnnl, s->problem, &d);
    }
    int before = dnnl->omp_get_max_threads(); /* the library plans for as many threads as it sees */
    dnnl->omp_set_num_threads(s->problem->threads);
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making the primitive";
        code = make_primitive(s, &d);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making the weights' layout";
        code = make_reorder(s, &d);
    }
    dnnl->omp_set_num_threads(before);
    if (code == ASSAY_DNNL_SUCCESS) {
        what = "making an operand";
        code = make_args(s, &d);
    }
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : assay_onednn_failed(s->problem, what, code, err);
}

enum assay_status assay_onednn_weights_setup(const struct assay_problem *problem,
                                             assay_onednn_describe_fn *describe, void **state,
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
    status = create_all(s, describe, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_onednn_weights_teardown(s);
    return status;
}

enum assay_status assay_onednn_weights_setup_avx512(const struct assay_problem *problem,
                                                    assay_onednn_describe_fn *describe,
                                                    void **state, struct assay_error *err)
{
    enum assay_status status = assay_onednn_leave_out_amx(err);
    return status == ASSAY_OK ? assay_onednn_weights_setup(problem, describe, state, err) : status;
}

void assay_onednn_weights_teardown(void *state)
{
    struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    for (int64_t i = 0; i < s->n_sets; i++) {
        dnnl->memory_destroy(s->sets[i].memory); /* NULL is fine, here and below */
        assay_onednn_buffer_fini(&s->sets[i].buffer);
    }
    assay_free(s->sets);
    for (int32_t i = 1; i < s->n_args; i++) /* 0 is one of the sets' */
        dnnl->memory_destroy(s->args[i].memory);
    dnnl->memory_destroy(s->stored);
    dnnl->primitive_destroy(s->reorder);
    dnnl->primitive_destroy(s->primitive);
    dnnl->primitive_desc_destroy(s->choice);
    dnnl->stream_destroy(s->stream);
    dnnl->engine_destroy(s->engine);
    assay_free(s);
}

/* ---- weights --------------------------------------------------------------------------------- */

size_t assay_onednn_weights_prepared_bytes(void *state)
{
    struct state *s = state;
    return s->dnnl->memory_desc_get_size(s->weights);
}

static enum assay_status add_set(struct state *s, struct assay_error *err)
{
    struct prepared *sets = assay_realloc(s->sets, (size_t)s->n_sets + 1, sizeof *sets);
    if (!sets)
        return assay_error_nomem(err);
    s->sets = sets;
    struct prepared *set = &sets[s->n_sets];
    *set = (struct prepared){0};
    if (!assay_onednn_buffer_init(&set->buffer, assay_onednn_weights_prepared_bytes(s)))
        return assay_error_nomem(err);
    int code = s->dnnl->memory_create(&set->memory, s->weights, s->engine, set->buffer.data);
    if (code != ASSAY_DNNL_SUCCESS) {
        assay_onednn_buffer_fini(&set->buffer);
        return assay_onednn_failed(s->problem, "making an operand", code, err);
    }
    s->n_sets++;
    return ASSAY_OK;
}

static enum assay_status reorder(struct state *s, const void *weights, struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_exec_arg args[2] = {{ASSAY_DNNL_ARG_SRC_0, s->stored},
                                          {ASSAY_DNNL_ARG_DST, s->sets[0].memory}};
    int before = dnnl->omp_get_max_threads();
    int code = dnnl->memory_set_data_handle(s->stored, assay_onednn_writable(weights));
    dnnl->omp_set_num_threads(s->problem->threads);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_execute(s->reorder, s->stream, 2, args);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->stream_wait(s->stream);
    dnnl->omp_set_num_threads(before);
    return code == ASSAY_DNNL_SUCCESS
               ? ASSAY_OK
               : assay_onednn_failed(s->problem, "reordering the weights", code, err);
}

enum assay_status assay_onednn_weights_prepare(void *state, int64_t set,
                                               const struct assay_args *args,
                                               struct assay_error *err)
{
    struct state *s = state;
    if (set == 0)
        s->n_ready = 0; /* other values: the other sets hold the old ones */
    if (set > s->n_ready)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "sets are prepared in order");
    enum assay_status status = set < s->n_sets ? ASSAY_OK : add_set(s, err);
    if (status == ASSAY_OK && set == 0)
        status = reorder(s, args->in[W], err);
    else if (status == ASSAY_OK)
        memcpy(s->sets[set].buffer.data, s->sets[0].buffer.data,
               assay_onednn_weights_prepared_bytes(s));
    if (status == ASSAY_OK && set == s->n_ready)
        s->n_ready++;
    return status;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* Points the primitive at this iteration's data; a hot measurement pays only the comparison. The
 * weights are switched by memory object: giving one object other data would make the library zero
 * the padding of its layout each time. */
static int bind(struct state *s, const struct assay_args *args, int64_t set)
{
    s->args[0].memory = s->sets[set].memory;
    for (int32_t i = 1; i < s->n_args; i++) {
        const void *data =
            s->inputs[i] == ASSAY_ONEDNN_OUTPUT ? args->out[0] : args->in[s->inputs[i]];
        if (data == s->bound[i])
            continue;
        int code = s->dnnl->memory_set_data_handle(s->args[i].memory, assay_onednn_writable(data));
        if (code != ASSAY_DNNL_SUCCESS)
            return code;
        s->bound[i] = data;
    }
    return ASSAY_DNNL_SUCCESS;
}

enum assay_status assay_onednn_weights_run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    if (work->n_sets > s->n_ready)
        return ASSAY_ERR_INVALID; /* not prepared */
    int before = dnnl->omp_get_max_threads(), code = ASSAY_DNNL_SUCCESS;
    dnnl->omp_set_num_threads(s->problem->threads); /* a thread's own variable: costs nothing */
    for (int64_t i = 0; i < work->iters && code == ASSAY_DNNL_SUCCESS; i++) {
        code = bind(s, assay_work_args(work, i), assay_work_set(work, i));
        if (code == ASSAY_DNNL_SUCCESS)
            code = dnnl->primitive_execute(s->primitive, s->stream, s->n_args, s->args);
        if (code == ASSAY_DNNL_SUCCESS)
            code = dnnl->stream_wait(s->stream);
    }
    dnnl->omp_set_num_threads(before);
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : ASSAY_ERR_DEVICE;
}
