/* cudnn_graph.c: cuDNN's backend interface: everything is a descriptor, of which attributes are set
 * one by one and which is then made final. */
#include "kernel/cudnn/cudnn_graph.h"

#include <stdio.h>
#include <string.h>

enum { RANK = 4, ALIGNMENT = 16, STATUS_NO_ROOM = -1 };

enum assay_status assay_cudnn_can_run(struct assay_error *why) { return assay_cuda_can_cudnn(why); }

void assay_cudnn_note(const struct assay_problem *problem, char *text, size_t size)
{
    const struct cuda_cudnn_api *api = assay_cuda_cudnn();
    if (!api)
        return;
    int version = (int)api->cudnnGetVersion();
    int length =
        snprintf(text, size, "cuDNN %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    if (assay_host_autotunes(problem) && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", autotuned: the fastest of up to %d",
                 CUDA_CANDIDATES);
}

int assay_cudnn_type(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F16    ? DNN_HALF
           : dtype == ASSAY_DTYPE_BF16 ? DNN_BFLOAT16
                                       : DNN_FLOAT;
}

enum assay_status assay_cudnn_begin(struct cudnn_graph *g, struct assay_error *err)
{
    memset(g, 0, sizeof *g);
    g->api = assay_cuda_cudnn();
    return assay_cuda_cudnn_handle(&g->handle, err);
}

static void destroy_all(const struct cudnn_graph *g, cudnn_descriptor *list, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (list[i])
            g->api->cudnnBackendDestroyDescriptor(list[i]);
}

void assay_cudnn_release(void *state)
{
    struct cudnn_graph *g = state;
    if (!g->api)
        return;
    destroy_all(g, g->plans, g->n_plans);
    destroy_all(g, g->parts, g->n_parts);
    assay_cuda_free(g->workspace, g->workspace_bytes);
    memset(g, 0, sizeof *g);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void check(struct cudnn_graph *g, cudnn_status status, const char *at)
{
    if (status != 0 && g->failed == 0) {
        g->failed = status;
        g->failed_at = at;
    }
}

/* A new one, which goes when the graph does. */
static cudnn_descriptor add(struct cudnn_graph *g, int kind)
{
    cudnn_descriptor *out = &g->parts[g->n_parts];
    if (g->n_parts == CUDNN_MOST_PARTS)
        check(g, STATUS_NO_ROOM, "too large a graph");
    if (g->failed)
        return NULL;
    check(g, g->api->cudnnBackendCreateDescriptor(kind, out), "cudnnBackendCreateDescriptor");
    if (g->failed)
        return NULL;
    g->n_parts++;
    return *out;
}

static void set(struct cudnn_graph *g, cudnn_descriptor d, int attribute, int type, int64_t n,
                const void *values)
{
    if (!g->failed)
        check(g, g->api->cudnnBackendSetAttribute(d, attribute, type, n, values),
              "cudnnBackendSetAttribute");
}

/* Numbers of enumerations are ints. */
static void set_number(struct cudnn_graph *g, cudnn_descriptor d, int attribute, int type,
                       int value)
{
    set(g, d, attribute, type, 1, &value);
}

static void set_descriptor(struct cudnn_graph *g, cudnn_descriptor d, int attribute,
                           cudnn_descriptor value)
{
    set(g, d, attribute, DNN_TYPE_DESCRIPTOR, 1, &value);
}

static void finalise(struct cudnn_graph *g, cudnn_descriptor d)
{
    if (!g->failed)
        check(g, g->api->cudnnBackendFinalize(d), "cudnnBackendFinalize");
}

/* ---- tensors --------------------------------------------------------------------------------- */

static cudnn_tensor begin_tensor(struct cudnn_graph *g, int type, const int64_t *sizes,
                                 const int64_t *strides)
{
    cudnn_tensor t = add(g, DNN_TENSOR);
    int64_t id = ++g->last_id, alignment = ALIGNMENT;
    set_number(g, t, DNN_TENSOR_TYPE, DNN_TYPE_DATA_TYPE, type);
    set(g, t, DNN_TENSOR_SIZES, DNN_TYPE_INT64, RANK, sizes);
    set(g, t, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, RANK, strides);
    set(g, t, DNN_TENSOR_ID, DNN_TYPE_INT64, 1, &id);
    set(g, t, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, 1, &alignment);
    return t;
}

static void note_operand(struct cudnn_graph *g, bool is_number, float number)
{
    if (g->n_operands == CUDNN_MOST_OPERANDS) {
        check(g, STATUS_NO_ROOM, "too many operands");
        return;
    }
    g->ids[g->n_operands] = g->last_id;
    g->is_number[g->n_operands] = is_number;
    g->numbers[g->n_operands++] = number;
}

cudnn_tensor assay_cudnn_operand(struct cudnn_graph *g, int type, const int64_t *sizes,
                                 const int64_t *strides)
{
    cudnn_tensor t = begin_tensor(g, type, sizes, strides);
    finalise(g, t);
    note_operand(g, false, 0);
    return t;
}

cudnn_tensor assay_cudnn_number(struct cudnn_graph *g, float value)
{
    static const int64_t ones[RANK] = {1, 1, 1, 1};
    const bool yes = true;
    cudnn_tensor t = begin_tensor(g, DNN_FLOAT, ones, ones);
    set(g, t, DNN_TENSOR_BY_VALUE, DNN_TYPE_BOOLEAN, 1, &yes);
    finalise(g, t);
    note_operand(g, true, value);
    return t;
}

cudnn_tensor assay_cudnn_between(struct cudnn_graph *g, int type, const int64_t *sizes,
                                 const int64_t *strides)
{
    const bool yes = true;
    cudnn_tensor t = begin_tensor(g, type, sizes, strides);
    set(g, t, DNN_TENSOR_VIRTUAL, DNN_TYPE_BOOLEAN, 1, &yes);
    finalise(g, t);
    return t;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void end_op(struct cudnn_graph *g, cudnn_descriptor op)
{
    finalise(g, op);
    if (g->n_ops == CUDNN_MOST_OPS)
        check(g, STATUS_NO_ROOM, "too many operations");
    else
        g->ops[g->n_ops++] = op;
}

void assay_cudnn_convolution(struct cudnn_graph *g, cudnn_tensor x, cudnn_tensor w, cudnn_tensor y,
                             int64_t stride, int64_t pad)
{
    const int64_t rank = 2, strides[2] = {stride, stride}, pads[2] = {pad, pad}, ones[2] = {1, 1};
    const float one = 1, zero = 0;
    cudnn_descriptor how = add(g, DNN_CONVOLUTION);
    set_number(g, how, DNN_CONVOLUTION_MATH, DNN_TYPE_DATA_TYPE, DNN_FLOAT);
    set_number(g, how, DNN_CONVOLUTION_MODE, DNN_TYPE_CONVOLUTION_MODE, DNN_CROSS_CORRELATION);
    set(g, how, DNN_CONVOLUTION_RANK, DNN_TYPE_INT64, 1, &rank);
    set(g, how, DNN_CONVOLUTION_STRIDES, DNN_TYPE_INT64, 2, strides);
    set(g, how, DNN_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2, ones);
    set(g, how, DNN_CONVOLUTION_PAD_BEFORE, DNN_TYPE_INT64, 2, pads);
    set(g, how, DNN_CONVOLUTION_PAD_AFTER, DNN_TYPE_INT64, 2, pads);
    finalise(g, how);
    cudnn_descriptor op = add(g, DNN_OP_CONVOLUTION);
    set_descriptor(g, op, DNN_OP_CONVOLUTION_DESC, how);
    set_descriptor(g, op, DNN_OP_CONVOLUTION_X, x);
    set_descriptor(g, op, DNN_OP_CONVOLUTION_W, w);
    set_descriptor(g, op, DNN_OP_CONVOLUTION_Y, y);
    set(g, op, DNN_OP_CONVOLUTION_ALPHA, DNN_TYPE_FLOAT, 1, &one);
    set(g, op, DNN_OP_CONVOLUTION_BETA, DNN_TYPE_FLOAT, 1, &zero);
    end_op(g, op);
}

void assay_cudnn_matmul(struct cudnn_graph *g, cudnn_tensor a, cudnn_tensor b, cudnn_tensor c)
{
    cudnn_descriptor how = add(g, DNN_MATMUL);
    set_number(g, how, DNN_MATMUL_MATH, DNN_TYPE_DATA_TYPE, DNN_FLOAT);
    finalise(g, how);
    cudnn_descriptor op = add(g, DNN_OP_MATMUL);
    set_descriptor(g, op, DNN_OP_MATMUL_DESC, how);
    set_descriptor(g, op, DNN_OP_MATMUL_A, a);
    set_descriptor(g, op, DNN_OP_MATMUL_B, b);
    set_descriptor(g, op, DNN_OP_MATMUL_C, c);
    end_op(g, op);
}

void assay_cudnn_pointwise(struct cudnn_graph *g, const struct cudnn_pointwise *p, cudnn_tensor y)
{
    cudnn_descriptor how = add(g, DNN_POINTWISE);
    set_number(g, how, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, p->mode);
    set_number(g, how, DNN_POINTWISE_MATH, DNN_TYPE_DATA_TYPE, p->math);
    if (p->mode == DNN_GEN_INDEX)
        set(g, how, DNN_POINTWISE_AXIS, DNN_TYPE_INT64, 1, &p->axis);
    finalise(g, how);
    cudnn_descriptor op = add(g, DNN_OP_POINTWISE);
    set_descriptor(g, op, DNN_OP_POINTWISE_DESC, how);
    set_descriptor(g, op, DNN_OP_POINTWISE_X, p->x);
    if (p->b)
        set_descriptor(g, op, DNN_OP_POINTWISE_B, p->b);
    if (p->t)
        set_descriptor(g, op, DNN_OP_POINTWISE_T, p->t);
    set_descriptor(g, op, DNN_OP_POINTWISE_Y, y);
    end_op(g, op);
}

void assay_cudnn_reduction(struct cudnn_graph *g, int operator_, cudnn_tensor x, cudnn_tensor y)
{
    cudnn_descriptor how = add(g, DNN_REDUCTION);
    set_number(g, how, DNN_REDUCTION_OPERATOR, DNN_TYPE_REDUCTION, operator_);
    set_number(g, how, DNN_REDUCTION_MATH, DNN_TYPE_DATA_TYPE, DNN_FLOAT);
    finalise(g, how);
    cudnn_descriptor op = add(g, DNN_OP_REDUCTION);
    set_descriptor(g, op, DNN_OP_REDUCTION_DESC, how);
    set_descriptor(g, op, DNN_OP_REDUCTION_X, x);
    set_descriptor(g, op, DNN_OP_REDUCTION_Y, y);
    end_op(g, op);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool welcome(int note, bool tensor_cores)
{
    bool other_way = note == DNN_NOTE_FFT || note == DNN_NOTE_WINOGRAD ||
                     note == DNN_NOTE_WINOGRAD_4 || note == DNN_NOTE_WINOGRAD_6 ||
                     note == DNN_NOTE_WINOGRAD_13;
    return !other_way && note != DNN_NOTE_DOWN_CONVERT && note != DNN_NOTE_REDUCED_SUMS &&
           (tensor_cores || note != DNN_NOTE_TENSOR_CORE);
}

/* What the library notes of a configuration's engine. */
static bool precise(const struct cudnn_graph *g, cudnn_descriptor cfg, bool tensor_cores)
{
    enum { MOST_NOTES = 32 };
    int notes[MOST_NOTES];
    int64_t n = 0;
    cudnn_descriptor engine = NULL;
    if (g->api->cudnnBackendCreateDescriptor(DNN_ENGINE, &engine) != 0)
        return false;
    bool fine = g->api->cudnnBackendGetAttribute(cfg, DNN_CFG_ENGINE, DNN_TYPE_DESCRIPTOR, 1, &n,
                                                 &engine) == 0;
    n = 0;
    fine =
        fine && g->api->cudnnBackendGetAttribute(engine, DNN_ENGINE_NOTES, DNN_TYPE_NUMERICAL_NOTE,
                                                 MOST_NOTES, &n, notes) == 0;
    for (int64_t i = 0; i < n && i < MOST_NOTES && fine; i++)
        fine = welcome(notes[i], tensor_cores);
    g->api->cudnnBackendDestroyDescriptor(engine);
    return fine;
}

/* A plan for a configuration, kept where the library can make one. */
static void try_plan(struct cudnn_graph *g, cudnn_descriptor cfg)
{
    const struct cuda_cudnn_api *api = g->api;
    cudnn_descriptor plan = NULL;
    int64_t bytes = 0, n = 0;
    cudnn_status status = api->cudnnBackendCreateDescriptor(DNN_PLAN, &plan);
    if (status == 0)
        status =
            api->cudnnBackendSetAttribute(plan, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &g->handle);
    if (status == 0)
        status = api->cudnnBackendSetAttribute(plan, DNN_PLAN_CFG, DNN_TYPE_DESCRIPTOR, 1, &cfg);
    if (status == 0)
        status = api->cudnnBackendFinalize(plan);
    if (status == 0)
        status =
            api->cudnnBackendGetAttribute(plan, DNN_PLAN_WORKSPACE, DNN_TYPE_INT64, 1, &n, &bytes);
    if (status != 0) {
        if (plan)
            api->cudnnBackendDestroyDescriptor(plan);
        return;
    }
    g->plans[g->n_plans++] = plan;
    if ((size_t)bytes > g->workspace_bytes)
        g->workspace_bytes = (size_t)bytes;
}

/* As many plans as are wanted, of what the library's heuristic offers. */
static cudnn_status ask(struct cudnn_graph *g, cudnn_descriptor heuristic, bool tensor_cores,
                        int wanted)
{
    enum { MOST = 32 };
    const struct cuda_cudnn_api *api = g->api;
    cudnn_descriptor cfgs[MOST] = {0};
    int64_t n = 0;
    cudnn_status status = 0;
    for (int i = 0; i < MOST && status == 0; i++)
        status = api->cudnnBackendCreateDescriptor(DNN_ENGINECFG, &cfgs[i]);
    if (status == 0)
        status = api->cudnnBackendGetAttribute(heuristic, DNN_HEUR_RESULTS, DNN_TYPE_DESCRIPTOR,
                                               MOST, &n, cfgs);
    for (int64_t i = 0; i < n && i < MOST && status == 0 && g->n_plans < wanted; i++)
        if (precise(g, cfgs[i], tensor_cores))
            try_plan(g, cfgs[i]);
    destroy_all(g, cfgs, MOST);
    return status;
}

static cudnn_status ask_in_mode(struct cudnn_graph *g, cudnn_descriptor graph, int mode,
                                bool tensor_cores, int wanted)
{
    const struct cuda_cudnn_api *api = g->api;
    cudnn_descriptor heuristic = NULL;
    cudnn_status status = api->cudnnBackendCreateDescriptor(DNN_ENGINEHEUR, &heuristic);
    if (status == 0)
        status = api->cudnnBackendSetAttribute(heuristic, DNN_HEUR_GRAPH, DNN_TYPE_DESCRIPTOR, 1,
                                               &graph);
    if (status == 0)
        status =
            api->cudnnBackendSetAttribute(heuristic, DNN_HEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &mode);
    if (status == 0)
        status = api->cudnnBackendFinalize(heuristic);
    if (status == 0)
        status = ask(g, heuristic, tensor_cores, wanted);
    if (heuristic)
        api->cudnnBackendDestroyDescriptor(heuristic);
    return status;
}

/* In the library's words, where it has them. */
static enum assay_status refuse(const struct cudnn_graph *g, const char *at, cudnn_status status,
                                struct assay_error *err)
{
    char words[256] = "";
    if (status > 0 && g->api->cudnnGetLastErrorString)
        g->api->cudnnGetLastErrorString(words, sizeof words);
    words[strcspn(words, "\n")] = '\0';
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "cuDNN: %s: %s%s%.160s", at,
                           status > 0 ? g->api->cudnnGetErrorString(status)
                           : status == 0
                               ? "none that multiplies and sums as exactly as the op wants"
                               : "beyond what assay describes",
                           words[0] ? ": " : "", words);
}

enum assay_status assay_cudnn_compile(struct cudnn_graph *g, const struct assay_problem *problem,
                                      bool tensor_cores, struct assay_error *err)
{
    static const int modes[] = {DNN_HEUR_A, DNN_HEUR_FALLBACK};
    int wanted = assay_host_autotunes(problem) ? CUDA_CANDIDATES : 1;
    cudnn_descriptor graph = add(g, DNN_GRAPH);
    set(g, graph, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &g->handle);
    set(g, graph, DNN_GRAPH_OPS, DNN_TYPE_DESCRIPTOR, g->n_ops, g->ops);
    finalise(g, graph);
    if (g->failed)
        return refuse(g, g->failed_at, g->failed, err);
    cudnn_status status = 0;
    for (int i = 0; i < 2 && g->n_plans == 0; i++)
        status = ask_in_mode(g, graph, modes[i], tensor_cores, wanted);
    if (g->n_plans == 0)
        return refuse(g, "no engine for this graph", status, err);
    return g->workspace_bytes ? assay_cuda_alloc(g->workspace_bytes, &g->workspace, err) : ASSAY_OK;
}

static enum assay_status choose(void *state, int plan, struct assay_error *err)
{
    (void)err;
    ((struct cudnn_graph *)state)->chosen = plan;
    return ASSAY_OK;
}

enum assay_status assay_cudnn_prepare(void *state, int64_t set, const struct assay_args *args,
                                      struct assay_error *err)
{
    struct cudnn_graph *g = state;
    const struct cuda_tuning tuning = {g->n_plans, choose, assay_cuda_op_call};
    if (set != 0 || g->n_plans < 2 || g->tuned)
        return ASSAY_OK;
    enum assay_status status = assay_cuda_tune(&tuning, state, args, err);
    g->tuned = status == ASSAY_OK;
    return status;
}

/* ---- one call -------------------------------------------------------------------------------- */

enum assay_status assay_cudnn_run(struct cudnn_graph *g, const void *const *operands, void *stream)
{
    const struct cuda_cudnn_api *api = g->api;
    const void *pointers[CUDNN_MOST_OPERANDS];
    cudnn_descriptor pack = NULL;
    for (int i = 0, next = 0; i < g->n_operands; i++)
        pointers[i] = g->is_number[i] ? &g->numbers[i] : operands[next++];
    cudnn_status status = api->cudnnSetStream(g->handle, stream);
    if (status == 0)
        status = api->cudnnBackendCreateDescriptor(DNN_PACK, &pack);
    if (status == 0)
        status = api->cudnnBackendSetAttribute(pack, DNN_PACK_POINTERS, DNN_TYPE_VOID_PTR,
                                               g->n_operands, pointers);
    if (status == 0)
        status = api->cudnnBackendSetAttribute(pack, DNN_PACK_IDS, DNN_TYPE_INT64, g->n_operands,
                                               g->ids);
    if (status == 0)
        status = api->cudnnBackendSetAttribute(pack, DNN_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1,
                                               &g->workspace);
    if (status == 0)
        status = api->cudnnBackendFinalize(pack);
    if (status == 0)
        status = api->cudnnBackendExecute(g->handle, g->plans[g->chosen], pack);
    if (pack)
        api->cudnnBackendDestroyDescriptor(pack);
    return status == 0 ? ASSAY_OK : ASSAY_ERR_DEVICE;
}
