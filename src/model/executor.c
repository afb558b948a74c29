/* executor.c: running a model: eager and compiled, as kernels of the model's op. */
#include "model/fuse.h"
#include "model/steps.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct executor {
    struct assay_graph graph;
    struct assay_step steps[ASSAY_GRAPH_NODES];
    const char *device; /* "cpu", "cuda" */
    const struct assay_host *host;
    bool tune; /* the fastest kernels have yet to be found */

    int64_t offsets[ASSAY_GRAPH_VALUES]; /* of inner values in `block`; -1: not there */
    unsigned char *block;
    size_t block_bytes;
    unsigned char *constants[ASSAY_GRAPH_VALUES]; /* ones and zeros */

    /* The operands of every step for every set: args[step * n_sets + set]. */
    struct assay_args *args;
    void **pointers;
    const struct assay_args *sets; /* made from these */
    int64_t n_sets;
};

/* ---- memory -----------------------------------------------------------------------------------
 */

/* A vector of ones or zeros in the device's memory. */
static enum assay_status make_constant(assay_device *device, const struct assay_value *value,
                                       unsigned char **out, struct assay_error *err)
{
    size_t bytes = assay_tensor_bytes(&value->tensor);
    double each = value->kind == ASSAY_VALUE_ONES ? 1 : 0;
    void *memory = NULL, *host = assay_calloc(1, bytes);
    enum assay_status status =
        host ? assay_device_alloc(device, bytes, &memory, err) : assay_error_nomem(err);
    for (int64_t i = 0; i < value->tensor.dims[0] && status == ASSAY_OK; i++)
        assay_dtype_store(value->tensor.dtype, &each, host, i, 1);
    if (status == ASSAY_OK && device->driver->upload)
        status = device->driver->upload(device, memory, host, bytes, err);
    else if (status == ASSAY_OK)
        memcpy(memory, host, bytes);
    assay_free(host);
    *out = memory;
    return status;
}

static enum assay_status make_memory(struct executor *x, bool compiled, struct assay_error *err)
{
    void *block = NULL;
    x->block_bytes = (size_t)assay_graph_plan_memory(&x->graph, compiled, x->offsets);
    enum assay_status status = ASSAY_OK;
    if (x->block_bytes)
        status = assay_device_alloc(x->host->device, x->block_bytes, &block, err);
    x->block = block;
    for (int32_t i = 0; i < x->graph.n_values && status == ASSAY_OK; i++) {
        enum assay_value_kind kind = x->graph.values[i].kind;
        if (kind == ASSAY_VALUE_ONES || kind == ASSAY_VALUE_ZEROS)
            status = make_constant(x->host->device, &x->graph.values[i], &x->constants[i], err);
    }
    return status;
}

static void free_memory(struct executor *x)
{
    if (x->block)
        assay_device_free(x->host->device, x->block, x->block_bytes);
    for (int32_t i = 0; i < x->graph.n_values; i++)
        if (x->constants[i])
            assay_device_free(x->host->device, x->constants[i],
                              assay_tensor_bytes(&x->graph.values[i].tensor));
}

/* ---- operands of steps ------------------------------------------------------------------------
 */

static void *address(const struct executor *x, int32_t value, const struct assay_args *model)
{
    const struct assay_value *v = &x->graph.values[value];
    if (v->input >= 0)
        return (void *)(uintptr_t)model->in[v->input];
    if (value == x->graph.output)
        return model->out[0];
    return x->constants[value] ? x->constants[value] : x->block + x->offsets[value];
}

/* Pointers of one step for one set: its inputs, then its output. */
static void point(const struct executor *x, const struct assay_step *step,
                  const struct assay_args *model, void **pointers, struct assay_args *out)
{
    int32_t n = step->problem.n_inputs;
    for (int32_t i = 0; i < n; i++)
        pointers[i] = address(x, step->node->in[i], model);
    pointers[n] = address(x, step->node->out, model);
    *out = (struct assay_args){.in = (const void *const *)pointers, .out = pointers + n};
}

static enum assay_status make_args(struct executor *x, const struct assay_work *work)
{
    enum { EACH = ASSAY_MAX_INPUTS + 1 };
    if (x->args && x->sets == work->sets && x->n_sets == work->n_sets)
        return ASSAY_OK;
    int64_t all = x->graph.n_nodes * work->n_sets;
    assay_free(x->args);
    assay_free(x->pointers);
    x->args = assay_calloc((size_t)all, sizeof *x->args);
    x->pointers = assay_calloc((size_t)all * EACH, sizeof *x->pointers);
    x->sets = work->sets;
    x->n_sets = work->n_sets;
    if (!x->args || !x->pointers) {
        x->sets = NULL;
        return ASSAY_ERR_NOMEM;
    }
    for (int32_t s = 0; s < x->graph.n_nodes; s++)
        for (int64_t i = 0; i < work->n_sets; i++) {
            int64_t at = s * work->n_sets + i;
            point(x, &x->steps[s], &work->sets[i], x->pointers + at * EACH, &x->args[at]);
        }
    return ASSAY_OK;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct executor *x = state;
    enum assay_status status = make_args(x, work);
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        struct assay_work one = {.iters = 1,
                                 .first = assay_work_set(work, i),
                                 .n_sets = work->n_sets,
                                 .stream = work->stream};
        for (int32_t s = 0; s < x->graph.n_nodes && status == ASSAY_OK; s++) {
            one.sets = x->args + s * work->n_sets;
            status = x->steps[s].kernel->run(x->steps[s].state, &one);
        }
    }
    return status;
}

static void take_down(struct assay_step *step)
{
    if (step->set_up && step->kernel->teardown)
        step->kernel->teardown(step->state);
    step->set_up = false;
    step->state = NULL;
}

static enum assay_status set_up(struct assay_step *step, struct assay_error *err)
{
    enum assay_status status =
        step->kernel->setup ? step->kernel->setup(&step->problem, &step->state, err) : ASSAY_OK;
    step->set_up = status == ASSAY_OK;
    return status;
}

static enum assay_status prepare_step(struct executor *x, struct assay_step *step, int64_t set,
                                      const struct assay_args *model, struct assay_error *err)
{
    void *pointers[ASSAY_MAX_INPUTS + 1];
    struct assay_args args;
    if (!step->kernel->prepare)
        return ASSAY_OK;
    point(x, step, model, pointers, &args);
    return step->kernel->prepare(step->state, set, &args, err);
}

/* ---- finding the fastest kernels --------------------------------------------------------------
 */

/* One call of a step with its kernel, in ns; the best of a few short samples. One that takes three
 * times as long as `best_so_far` is not timed again; with 0 it is one call. */
static double time_step(struct executor *x, struct assay_step *step, const struct assay_args *model,
                        double best_so_far)
{
    enum { SAMPLES = 5 };
    static const double sample_ns = 1e6;
    assay_device *device = x->host->device;
    void *pointers[ASSAY_MAX_INPUTS + 1];
    struct assay_args args;
    struct assay_timing timing = {0};
    point(x, step, model, pointers, &args);
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    double best = (double)INFINITY;
    bool failed = false;
    for (int i = 0; i < SAMPLES && !failed; i++) {
        failed =
            device->driver->time(device, step->kernel, step->state, &work, &timing) != ASSAY_OK;
        double each = timing.device_ns / (double)work.iters;
        bool hopeless = each > 3 * best_so_far;
        if ((i > 0 || hopeless) && each < best) /* the first warms up */
            best = each;
        if (hopeless)
            break;
        work.iters = each > 0 && each < sample_ns ? (int64_t)(sample_ns / each) + 1 : 1;
    }
    if (device->driver->forget) /* it will not be run by itself again */
        device->driver->forget(device, step->state);
    return failed ? (double)INFINITY : best;
}

/* Tries every kernel on a step whose inputs the steps before have just made, and keeps the best. */
static enum assay_status tune_step(struct executor *x, struct assay_step *step,
                                   const struct assay_args *model, struct assay_error *err)
{
    enum { MOST = 24 };
    const struct assay_kernel *candidates[MOST], *usual = step->kernel, *best = NULL;
    double best_ns = (double)INFINITY;
    int64_t n = assay_steps_candidates(step, x->device, candidates, MOST);
    take_down(step);
    for (int64_t i = 0; i < n; i++) {
        step->kernel = candidates[i];
        if (set_up(step, NULL) == ASSAY_OK && prepare_step(x, step, 0, model, NULL) == ASSAY_OK) {
            double ns = time_step(x, step, model, best_ns);
            if (ns < best_ns) {
                best_ns = ns;
                best = candidates[i];
            }
        }
        take_down(step);
    }
    step->kernel = best ? best : usual;
    if (best)
        assay_steps_remember(step);
    return set_up(step, err);
}

static enum assay_status tune(struct executor *x, const struct assay_args *model,
                              struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t s = 0; s < x->graph.n_nodes && status == ASSAY_OK; s++) {
        struct assay_step *step = &x->steps[s];
        const struct assay_kernel *known = assay_steps_remembered(step);
        if (known) {
            take_down(step);
            step->kernel = known;
            status = set_up(step, err);
        } else {
            status = tune_step(x, step, model, err);
        }
        if (status == ASSAY_OK)
            status = prepare_step(x, step, 0, model, err);
        if (status == ASSAY_OK &&
            isinf(time_step(x, step, model, 0))) /* the next needs its output */
            status = assay_error_set(err, ASSAY_ERR_IO, NULL, "%s failed", step->kernel->name);
    }
    x->tune = false;
    return status;
}

/* ---- the kernel's functions -------------------------------------------------------------------
 */

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct executor *x = state;
    enum assay_status status = ASSAY_OK;
    x->sets = NULL; /* whatever was made of the operands is void */
    if (set == 0 && x->tune)
        status = tune(x, args, err);
    for (int32_t s = 0; s < x->graph.n_nodes && status == ASSAY_OK; s++)
        status = prepare_step(x, &x->steps[s], set, args, err);
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct executor *x = state;
    size_t bytes = 0;
    for (int32_t s = 0; s < x->graph.n_nodes; s++)
        if (x->steps[s].kernel->prepare)
            bytes += x->steps[s].kernel->prepared_bytes(x->steps[s].state);
    return bytes;
}

static void teardown(void *state)
{
    struct executor *x = state;
    for (int32_t s = 0; s < x->graph.n_nodes; s++)
        take_down(&x->steps[s]);
    free_memory(x);
    assay_free(x->args);
    assay_free(x->pointers);
    assay_free(x);
}

static enum assay_status setup(const struct assay_problem *problem, const char *device,
                               bool compiled, void **state, struct assay_error *err)
{
    struct executor *x = assay_calloc(1, sizeof *x);
    if (!x)
        return assay_error_nomem(err);
    x->device = device;
    x->host = problem->host;
    x->tune = compiled && problem->host->autotune;
    enum assay_status status = assay_steps_graph(problem, device, compiled, &x->graph, err);
    if (status == ASSAY_OK)
        status = assay_steps_choose(problem, &x->graph, device, x->steps, err);
    if (status == ASSAY_OK)
        status = make_memory(x, compiled, err);
    for (int32_t s = 0; s < x->graph.n_nodes && status == ASSAY_OK; s++)
        status = set_up(&x->steps[s], err);
    if (status != ASSAY_OK) {
        teardown(x);
        return status;
    }
    *state = x;
    return ASSAY_OK;
}

static void add_words(char *text, size_t size, const char *fmt, ...) ASSAY_PRINTF(3, 4);
static void add_words(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

/* Each kernel once. */
static void add_kernels(const struct executor *x, char *text, size_t size)
{
    for (int32_t s = 0; s < x->graph.n_nodes; s++) {
        bool seen = false;
        for (int32_t before = 0; before < s; before++)
            seen |= x->steps[before].kernel == x->steps[s].kernel;
        if (!seen)
            add_words(text, size, "%s %s", s ? "" : ":", x->steps[s].kernel->name);
    }
}

/* "5 steps: linear_amx attention_amx": how many nodes there are, and who runs them. On the stack: a
 * row whose note is missing does not look like one without memory. */
static void note(const struct assay_problem *problem, const char *device, bool compiled, char *text,
                 size_t size)
{
    struct executor x = {0};
    if (assay_steps_graph(problem, device, compiled, &x.graph, NULL) != ASSAY_OK ||
        assay_steps_choose(problem, &x.graph, device, x.steps, NULL) != ASSAY_OK)
        return;
    snprintf(text, size, "%d step%s", (int)x.graph.n_nodes, x.graph.n_nodes == 1 ? "" : "s");
    if (compiled && problem->host->autotune)
        add_words(text, size, "; kernels chosen by timing");
    else
        add_kernels(&x, text, size);
}

/* The four executors: eager and compiled on each device. On a CPU each comes a second time, for
 * problems whose kernels use the matrix unit. */
#define EXECUTOR_FUNCTIONS(kind, where, compiled_)                                                 \
    static enum assay_status setup_##kind##_##where(const struct assay_problem *problem,           \
                                                    void **state, struct assay_error *err)         \
    {                                                                                              \
        return setup(problem, #where, compiled_, state, err);                                      \
    }                                                                                              \
    static void note_##kind##_##where(const struct assay_problem *problem, char *text,             \
                                      size_t size)                                                 \
    {                                                                                              \
        note(problem, #where, compiled_, text, size);                                              \
    }
EXECUTOR_FUNCTIONS(eager, cpu, false)
EXECUTOR_FUNCTIONS(compiled, cpu, true)
EXECUTOR_FUNCTIONS(eager, cuda, false)
EXECUTOR_FUNCTIONS(compiled, cuda, true)

#define EXECUTOR(kind, where, units_, flags_)                                                      \
    {                                                                                              \
        .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = #kind,        \
        .op = "model", .implementation = #kind, .device = #where,                                  \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .setup = setup_##kind##_##where, .run = run, .teardown = teardown, .prepare = prepare,     \
        .prepared_bytes = prepared_bytes, .note = note_##kind##_##where, .units = units_,          \
        .flags = flags_                                                                            \
    }

static const struct assay_kernel executors[] = {
    EXECUTOR(eager, cpu, 0, 0),
    EXECUTOR(eager, cpu, ASSAY_UNIT_MATRIX, 0),
    EXECUTOR(compiled, cpu, 0, 0),
    EXECUTOR(compiled, cpu, ASSAY_UNIT_MATRIX, 0),
    EXECUTOR(eager, cuda, 0, ASSAY_KERNEL_DIRECT),
    EXECUTOR(compiled, cuda, 0, 0),
};

/* Can the problem be run so, and what units does it take? */
static enum assay_status can_run(const struct assay_problem *problem, const char *device,
                                 bool compiled, uint32_t *units, struct assay_error *why)
{
    struct executor *x = assay_calloc(1, sizeof *x);
    if (!x)
        return assay_error_nomem(why);
    enum assay_status status = assay_steps_graph(problem, device, compiled, &x->graph, why);
    if (status == ASSAY_OK)
        status = assay_steps_choose(problem, &x->graph, device, x->steps, why);
    for (int32_t s = 0; s < x->graph.n_nodes && status == ASSAY_OK; s++)
        *units |= x->steps[s].kernel->units;
    assay_free(x);
    return status;
}

static bool is_excluded(const struct assay_problem *problem, const char *name,
                        const struct assay_kernel_choice *choice)
{
    char label[128];
    assay_kernel_label(name, problem->recipe, label, sizeof label);
    for (int64_t i = 0; i < choice->n_excluded; i++)
        if (assay_text_same(choice->excluded[i], label))
            return true;
    return false;
}

static bool is_listed(const char *name, const struct assay_kernel_choice *choice)
{
    for (int64_t i = 0; i < choice->n_implementations; i++)
        if (assay_text_same(choice->implementations[i], name))
            return true;
    return false;
}

/* Those that are named, or where none is: `eager`, and `compiled` if it is to be. */
static bool is_wanted(bool is_compiled, bool compiled, const struct assay_kernel_choice *choice)
{
    bool eager_named = is_listed("eager", choice), compiled_named = is_listed("compiled", choice);
    if (eager_named || compiled_named)
        return is_compiled ? compiled_named : eager_named;
    return compiled || !is_compiled;
}

int64_t assay_model_choose(const struct assay_problem *problem, bool compiled,
                           const struct assay_kernel_choice *choice, struct assay_contender *out,
                           int64_t max)
{
    int64_t n = 0;
    for (int c = 0; c < 2 && n < max; c++) {
        const char *name = c ? "compiled" : "eager";
        struct assay_contender one = {.recipe = problem->recipe};
        uint32_t units = 0;
        if (!is_wanted(c != 0, compiled, choice) || is_excluded(problem, name, choice))
            continue;
        one.status = can_run(problem, choice->device, c != 0, &units, &one.why);
        for (size_t i = 0; i < sizeof executors / sizeof executors[0]; i++)
            if (strcmp(executors[i].name, name) == 0 &&
                strcmp(executors[i].device, choice->device) == 0 &&
                (!one.kernel || executors[i].units == (units & ASSAY_UNIT_MATRIX)))
                one.kernel = &executors[i];
        if (one.kernel)
            out[n++] = one;
    }
    return n;
}

bool assay_model_is_executor(const char *implementation)
{
    return strcmp(implementation, "eager") == 0 || strcmp(implementation, "compiled") == 0;
}

double assay_model_scratch_bytes(const struct assay_problem *problem)
{
    struct executor *x = assay_calloc(1, sizeof *x);
    double bytes = 0;
    if (x && assay_model_graph(problem, &x->graph, NULL) == ASSAY_OK)
        bytes = (double)assay_graph_plan_memory(&x->graph, false, x->offsets);
    assay_free(x);
    return bytes;
}

static bool reads_plain(const struct executor *x, int32_t value)
{
    for (int32_t s = 0; s < x->graph.n_nodes; s++)
        for (int32_t i = 0; i < x->steps[s].problem.n_inputs; i++)
            if (!x->steps[s].kernel->prepare && x->steps[s].node->in[i] == value)
                return true;
    return false;
}

double assay_model_plain_weight_bytes(const void *state)
{
    const struct executor *x = state;
    double bytes = 0;
    for (int32_t i = 0; i < x->graph.n_values; i++)
        if (x->graph.values[i].kind == ASSAY_VALUE_WEIGHT && reads_plain(x, i))
            bytes += (double)assay_tensor_bytes(&x->graph.values[i].tensor);
    return bytes;
}
