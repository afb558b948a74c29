/* executor.c: running a model: memory, operands of nodes, and the passes over them. */
#include "model/executor.h"

#include "base/alloc.h"

#include <string.h>

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Ones or zeros in the device's memory. */
static enum assay_status make_constant(assay_device *device, const struct assay_value *value,
                                       unsigned char **out, struct assay_error *err)
{
    size_t bytes = assay_tensor_bytes(&value->tensor);
    int64_t count = assay_tensor_count(&value->tensor);
    double each = value->kind == ASSAY_VALUE_ONES ? 1 : 0;
    void *memory = NULL, *host = assay_calloc(1, bytes);
    enum assay_status status =
        host ? assay_device_alloc(device, bytes, &memory, err) : assay_error_nomem(err);
    for (int64_t i = 0; i < count && status == ASSAY_OK && each != 0; i++)
        assay_dtype_store(value->tensor.dtype, &each, host, i, 1);
    if (status == ASSAY_OK && device->driver->upload)
        status = device->driver->upload(device, memory, host, bytes, err);
    else if (status == ASSAY_OK)
        memcpy(memory, host, bytes);
    assay_free(host);
    *out = memory;
    return status;
}

/* The first node that reads the value; -1: none does. */
static int32_t first_user(const struct assay_graph *g, int32_t value)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++)
            if (g->nodes[i].in[j] == value)
                return i;
    return -1;
}

static enum assay_status make_memory(struct executor *x, bool compiled, struct assay_error *err)
{
    void *block = NULL;
    const struct assay_graph *g = x->graph;
    enum assay_status status = ASSAY_OK;
    assay_graph_plan_memory(g, compiled, g->runs_backward, &x->plan);
    assay_memory_log_owner(assay_host_memory(x->host), ASSAY_HELD_PLANNED, -1);
    if (x->plan.bytes)
        status = assay_device_alloc(x->host->device, (size_t)x->plan.bytes, &block, err);
    x->block = block;
    for (int32_t i = 0; i < g->n_values && status == ASSAY_OK; i++) {
        enum assay_value_kind kind = g->values[i].kind;
        int32_t user = first_user(g, i);
        assay_memory_log_owner(assay_host_memory(x->host), ASSAY_HELD_CONSTANT, user);
        if ((kind == ASSAY_VALUE_ONES || kind == ASSAY_VALUE_ZEROS) && user >= 0)
            status = make_constant(x->host->device, &g->values[i], &x->constants[i], err);
    }
    return status;
}

/* A block for what the forward pass leaves of this set. */
static enum assay_status make_kept(struct executor *x, int64_t set, struct assay_error *err)
{
    void *block = NULL;
    struct assay_memory_log *log = assay_host_memory(x->host);
    assay_memory_log_owner(log, ASSAY_HELD_BOOKS, -1);
    if (set >= x->n_kept) {
        unsigned char **grown = assay_realloc(x->kept, (size_t)set + 1, sizeof *grown);
        if (!grown)
            return assay_error_nomem(err);
        x->kept = grown;
        while (x->n_kept <= set)
            x->kept[x->n_kept++] = NULL;
    }
    if (x->kept[set] || !x->plan.kept_bytes)
        return ASSAY_OK;
    assay_memory_log_owner(log, ASSAY_HELD_SAVED, -1);
    enum assay_status status =
        assay_device_alloc(x->host->device, (size_t)x->plan.kept_bytes, &block, err);
    x->kept[set] = block;
    return status;
}

static void free_memory(struct executor *x)
{
    if (x->block)
        assay_device_free(x->host->device, x->block, (size_t)x->plan.bytes);
    for (int64_t i = 0; i < x->n_kept; i++)
        if (x->kept[i])
            assay_device_free(x->host->device, x->kept[i], (size_t)x->plan.kept_bytes);
    for (int32_t i = 0; x->graph && i < x->graph->n_values; i++)
        if (x->constants[i])
            assay_device_free(x->host->device, x->constants[i],
                              assay_tensor_bytes(&x->graph->values[i].tensor));
    assay_free(x->kept);
}

/* ---- operands of steps ------------------------------------------------------------------------
 */

static void *address(const struct executor *x, int32_t value, int64_t set,
                     const struct assay_args *model)
{
    const struct assay_value *v = &x->graph->values[value];
    if (v->input >= 0)
        return (void *)(uintptr_t)model->in[v->input];
    if (v->output >= 0)
        return model->out[v->output];
    if (x->constants[value])
        return x->constants[value];
    bool apart = v->kept && x->plan.kept_bytes > 0;
    return (apart ? x->kept[set] : x->block) + x->plan.offsets[value];
}

/* A step's inputs, then its outputs. */
static void point(const struct executor *x, const struct assay_step *step, int64_t set,
                  const struct assay_args *model, void **pointers, struct assay_args *out)
{
    int32_t n = step->problem.n_inputs;
    for (int32_t i = 0; i < n; i++)
        pointers[i] = address(x, step->node->in[i], set, model);
    for (int32_t i = 0; i < step->problem.n_outputs; i++)
        pointers[n + i] = address(x, step->node->out[i], set, model);
    *out = (struct assay_args){.in = (const void *const *)pointers, .out = pointers + n};
}

void assay_executor_point(const struct executor *x, const struct assay_step *step, int64_t set,
                          const struct assay_args *model, struct assay_step_operands *out)
{
    point(x, step, set, model, out->pointers, &out->args);
}

static int64_t count_pointers(const struct executor *x)
{
    int64_t n = 0;
    for (int32_t s = 0; s < x->graph->n_nodes; s++)
        n += x->steps[s].problem.n_inputs + x->steps[s].problem.n_outputs;
    return n;
}

static enum assay_status make_args(struct executor *x, const struct assay_work *work)
{
    if (x->args && x->sets == work->sets && x->n_sets == work->n_sets)
        return ASSAY_OK;
    if (x->plan.kept_bytes > 0 && x->n_kept < work->n_sets)
        return ASSAY_ERR_INVALID; /* sets that were never prepared */
    assay_memory_log_owner(assay_host_memory(x->host), ASSAY_HELD_BOOKS, -1);
    int64_t all = x->graph->n_nodes * work->n_sets;
    assay_free(x->args);
    assay_free(x->pointers);
    x->args = assay_calloc((size_t)all, sizeof *x->args);
    x->pointers = assay_calloc((size_t)(count_pointers(x) * work->n_sets), sizeof *x->pointers);
    x->sets = work->sets;
    x->n_sets = work->n_sets;
    if (!x->args || !x->pointers) {
        x->sets = NULL;
        return ASSAY_ERR_NOMEM;
    }
    void **next = x->pointers;
    for (int32_t s = 0; s < x->graph->n_nodes; s++)
        for (int64_t i = 0; i < work->n_sets; i++) {
            const struct assay_step *step = &x->steps[s];
            point(x, step, i, &work->sets[i], next, &x->args[s * work->n_sets + i]);
            next += step->problem.n_inputs + step->problem.n_outputs;
        }
    return ASSAY_OK;
}

/* ---- running ----------------------------------------------------------------------------------
 */

enum assay_status assay_step_run_packing(struct assay_step *step, const struct assay_work *work)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct assay_work one = {.iters = 1, .n_sets = 1, .sets = args, .stream = work->stream};
        status = step->kernel->prepare(step->state, 0, args, NULL);
        if (status == ASSAY_OK)
            status = step->kernel->run(step->state, &one);
    }
    return status;
}

static enum assay_status run_step(struct executor *x, int32_t s, const struct assay_work *one,
                                  struct assay_recorder *recorder)
{
    struct assay_step *step = &x->steps[s];
    struct assay_memory_log *memory = assay_host_memory(x->host);
    assay_memory_log_owner(memory, ASSAY_HELD_STATE, s);
    assay_memory_log_node(memory, s);
    int64_t began = assay_recorder_enter(recorder, s);
    enum assay_status status = step->trains && step->kernel->prepare
                                   ? assay_step_run_packing(step, one)
                                   : step->kernel->run(step->state, one);
    assay_recorder_node(recorder, s, began);
    return status;
}

enum assay_status assay_executor_run(void *state, const struct assay_work *work)
{
    struct executor *x = state;
    struct assay_recorder *recorder = assay_host_recorder(x->host);
    enum assay_status status = make_args(x, work);
    int32_t first = assay_graph_first_timed(x->graph);
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        struct assay_work one = {.iters = 1,
                                 .first = assay_work_set(work, i),
                                 .n_sets = work->n_sets,
                                 .stream = work->stream};
        for (int32_t s = first; s < x->graph->n_nodes && status == ASSAY_OK; s++) {
            one.sets = x->args + s * work->n_sets;
            status = run_step(x, s, &one, recorder);
        }
        assay_memory_log_node(assay_host_memory(x->host), -1);
    }
    return status;
}

void assay_step_take_down(struct assay_step *step)
{
    if (step->set_up && step->kernel->teardown)
        step->kernel->teardown(step->state);
    step->set_up = false;
    step->state = NULL;
}

enum assay_status assay_step_set_up(struct assay_step *step, struct assay_error *err)
{
    enum assay_status status =
        step->kernel->setup ? step->kernel->setup(&step->problem, &step->state, err) : ASSAY_OK;
    step->set_up = status == ASSAY_OK;
    return status;
}

enum assay_status assay_step_prepare(const struct executor *x, struct assay_step *step, int64_t set,
                                     const struct assay_args *model, struct assay_error *err)
{
    struct assay_step_operands operands;
    if (!step->kernel->prepare || step->trains)
        return ASSAY_OK;
    assay_executor_point(x, step, set, model, &operands);
    return step->kernel->prepare(step->state, set, &operands.args, err);
}

/* ---- the kernel's functions -------------------------------------------------------------------
 */

/* What comes before the timed pass: the forward pass of a backward pass. */
static enum assay_status run_before(struct executor *x, int64_t set, const struct assay_args *model,
                                    struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t s = 0; s < assay_graph_first_timed(x->graph) && status == ASSAY_OK; s++) {
        struct assay_step_operands operands;
        assay_executor_point(x, &x->steps[s], set, model, &operands);
        struct assay_work one = {.iters = 1, .n_sets = 1, .sets = &operands.args};
        status = run_step(x, s, &one, NULL);
        if (status != ASSAY_OK)
            assay_error_set(err, status, NULL, "the forward pass failed: %s",
                            x->steps[s].kernel->name);
    }
    if (x->graph->runs_backward)
        assay_memory_log_node(assay_host_memory(x->host), -1);
    return status;
}

enum assay_status assay_executor_prepare(void *state, int64_t set, const struct assay_args *args,
                                         struct assay_error *err)
{
    struct executor *x = state;
    x->sets = NULL; /* whatever was made of the operands is void */
    enum assay_status status = make_kept(x, set, err);
    if (status == ASSAY_OK && set == 0 && x->tune)
        status = assay_executor_tune(x, args, err);
    for (int32_t s = 0; s < x->graph->n_nodes && status == ASSAY_OK; s++) {
        assay_memory_log_owner(assay_host_memory(x->host), ASSAY_HELD_PREPARED, s);
        status = assay_step_prepare(x, &x->steps[s], set, args, err);
    }
    return status == ASSAY_OK ? run_before(x, set, args, err) : status;
}

size_t assay_executor_prepared_bytes(void *state)
{
    const struct executor *x = state;
    size_t bytes = (size_t)x->plan.kept_bytes;
    for (int32_t s = 0; s < x->graph->n_nodes && !x->trains; s++)
        if (x->steps[s].kernel->prepare)
            bytes += x->steps[s].kernel->prepared_bytes(x->steps[s].state);
    return bytes;
}

void assay_executor_teardown(void *state)
{
    struct executor *x = state;
    for (int32_t s = 0; x->graph && x->steps && s < x->graph->n_nodes; s++)
        assay_step_take_down(&x->steps[s]);
    free_memory(x);
    assay_free(x->args);
    assay_free(x->pointers);
    assay_free(x->steps);
    assay_free(x->graph);
    assay_free(x);
}

enum assay_status assay_executor_setup(const struct assay_problem *problem, const char *device,
                                       enum assay_execution how, void **state,
                                       struct assay_error *err)
{
    struct assay_memory_log *memory = assay_host_memory(problem->host);
    assay_memory_log_owner(memory, ASSAY_HELD_BOOKS, -1);
    struct executor *x = assay_calloc(1, sizeof *x);
    if (!x)
        return assay_error_nomem(err);
    x->device = device;
    x->host = problem->host;
    x->trains = assay_model_op(problem->op)->in_training;
    x->tune = how != ASSAY_EAGER && problem->host->autotune;
    enum assay_status status = assay_steps_graph(problem, device, how, &x->graph, err);
    if (status == ASSAY_OK)
        status = assay_steps_choose(problem, x->graph, device, &x->steps, err);
    if (status == ASSAY_OK)
        status = make_memory(x, how != ASSAY_EAGER, err);
    for (int32_t s = 0; status == ASSAY_OK && s < x->graph->n_nodes; s++) {
        assay_memory_log_owner(memory, ASSAY_HELD_STATE, s);
        status = assay_step_set_up(&x->steps[s], err);
    }
    if (status != ASSAY_OK) {
        assay_executor_teardown(x);
        return status;
    }
    *state = x;
    return ASSAY_OK;
}
