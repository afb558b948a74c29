/* executors.c: the kernels of models' ops, `eager`, `compiled` and `recomputed`, and how they are
 * chosen. */
#include "model/executor.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_words(char *text, size_t size, const char *fmt, ...) ASSAY_PRINTF(3, 4);
static void add_words(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    if (used >= size) /* as many as there is space for */
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

/* Each kernel once. */
static void add_kernels(const struct assay_step *steps, int32_t n, char *text, size_t size)
{
    for (int32_t s = 0; s < n; s++) {
        bool seen = false;
        for (int32_t before = 0; before < s; before++)
            seen |= steps[before].kernel == steps[s].kernel;
        if (!seen)
            add_words(text, size, "%s %s", s ? "" : ":", steps[s].kernel->name);
    }
}

/* "5 steps: linear_amx attention_amx": how many nodes there are, and who runs them. */
static void note(const struct assay_problem *problem, const char *device, enum assay_execution how,
                 char *text, size_t size)
{
    struct assay_graph *graph = NULL;
    struct assay_step *steps = NULL;
    if (assay_steps_graph(problem, device, how, &graph, NULL) == ASSAY_OK &&
        assay_steps_choose(problem, graph, device, &steps, NULL) == ASSAY_OK) {
        int32_t first = assay_graph_first_timed(graph), n = graph->n_nodes - first;
        snprintf(text, size, "%d step%s", (int)n, n == 1 ? "" : "s");
        if (how != ASSAY_EAGER && problem->host->autotune)
            add_words(text, size, "; kernels chosen by timing");
        else
            add_kernels(steps + first, n, text, size);
    }
    assay_free(steps);
    assay_free(graph);
}

/* The executors: each on each device, and on a CPU a second time, for problems whose kernels use
 * the matrix unit. */
#define EXECUTOR_FUNCTIONS(kind, where, how)                                                       \
    static enum assay_status setup_##kind##_##where(const struct assay_problem *problem,           \
                                                    void **state, struct assay_error *err)         \
    {                                                                                              \
        return assay_executor_setup(problem, #where, how, state, err);                             \
    }                                                                                              \
    static void note_##kind##_##where(const struct assay_problem *problem, char *text,             \
                                      size_t size)                                                 \
    {                                                                                              \
        note(problem, #where, how, text, size);                                                    \
    }
EXECUTOR_FUNCTIONS(eager, cpu, ASSAY_EAGER)
EXECUTOR_FUNCTIONS(compiled, cpu, ASSAY_COMPILED)
EXECUTOR_FUNCTIONS(recomputed, cpu, ASSAY_RECOMPUTED)
EXECUTOR_FUNCTIONS(eager, cuda, ASSAY_EAGER)
EXECUTOR_FUNCTIONS(compiled, cuda, ASSAY_COMPILED)
EXECUTOR_FUNCTIONS(recomputed, cuda, ASSAY_RECOMPUTED)

#define EXECUTOR(kind, where, units_, flags_)                                                      \
    {                                                                                              \
        .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = #kind,        \
        .op = "model", .implementation = #kind, .device = #where,                                  \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .setup = setup_##kind##_##where, .run = assay_executor_run,                                \
        .teardown = assay_executor_teardown, .prepare = assay_executor_prepare,                    \
        .prepared_bytes = assay_executor_prepared_bytes, .note = note_##kind##_##where,            \
        .units = units_, .flags = flags_                                                           \
    }

static const struct assay_kernel executors[] = {
    EXECUTOR(eager, cpu, 0, 0),
    EXECUTOR(eager, cpu, ASSAY_UNIT_MATRIX, 0),
    EXECUTOR(compiled, cpu, 0, 0),
    EXECUTOR(compiled, cpu, ASSAY_UNIT_MATRIX, 0),
    EXECUTOR(recomputed, cpu, 0, 0),
    EXECUTOR(recomputed, cpu, ASSAY_UNIT_MATRIX, 0),
    EXECUTOR(eager, cuda, 0, ASSAY_KERNEL_DIRECT),
    EXECUTOR(compiled, cuda, 0, 0),
    EXECUTOR(recomputed, cuda, 0, 0),
};

static const char *const names[ASSAY_EXECUTIONS] = {"eager", "compiled", "recomputed"};

/* Is the model one linear layer, whose operands are the model's? */
static bool is_one_layer(const struct assay_problem *problem)
{
    struct assay_graph *graph = NULL;
    bool one = assay_model_forward_graph(problem, &graph, NULL) == ASSAY_OK &&
               graph->n_nodes == 1 && graph->nodes[0].op->step_op;
    assay_free(graph);
    return one;
}

/* Is there a variant of this kind? Behind another op an operand may be off by its rounding, and
 * then has other codes than the reference's: a difference no tolerance could tell from a mistake.
 */
static enum assay_status check_training(const struct assay_problem *problem, const char *device,
                                        enum assay_execution how, struct assay_error *why)
{
    struct assay_recipe recipe = assay_model_recipe(problem);
    if (!assay_model_op(problem->op)->in_training)
        return how == ASSAY_RECOMPUTED
                   ? assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                                     "inference saves nothing that could be computed again; add "
                                     "--pass")
                   : ASSAY_OK;
    if (strcmp(device, "cpu") != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "models are trained on the CPU only");
    enum assay_status status = assay_recipe_trains(&recipe, why);
    if (status == ASSAY_OK && recipe.trains && !is_one_layer(problem))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "in training %s is for a linear layer alone: behind other ops its "
                               "codes cannot be verified",
                               recipe.name);
    return status;
}

/* Can the problem be run so, and what units does it take? */
static enum assay_status can_run(const struct assay_problem *problem, const char *device,
                                 enum assay_execution how, uint32_t *units, struct assay_error *why)
{
    struct assay_graph *graph = NULL;
    struct assay_step *steps = NULL;
    enum assay_status status = check_training(problem, device, how, why);
    if (status == ASSAY_OK)
        status = assay_steps_graph(problem, device, how, &graph, why);
    if (status == ASSAY_OK)
        status = assay_steps_choose(problem, graph, device, &steps, why);
    for (int32_t s = 0; status == ASSAY_OK && s < graph->n_nodes; s++)
        *units |= steps[s].kernel->units;
    assay_free(steps);
    assay_free(graph);
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

/* Of eager and compiled those that are named, or where none is: `eager`, and `compiled` if it is to
 * be. `recomputed` stands beside them where it is named. */
static bool is_wanted(enum assay_execution how, bool compiled,
                      const struct assay_kernel_choice *choice)
{
    bool any = is_listed("eager", choice) || is_listed("compiled", choice);
    if (any || how == ASSAY_RECOMPUTED)
        return is_listed(names[how], choice);
    return compiled || how == ASSAY_EAGER;
}

int64_t assay_model_choose(const struct assay_problem *problem, bool compiled,
                           const struct assay_kernel_choice *choice, struct assay_contender *out,
                           int64_t max)
{
    int64_t n = 0;
    for (int how = 0; how < ASSAY_EXECUTIONS && n < max; how++) {
        const char *name = names[how];
        struct assay_contender one = {.recipe = problem->recipe};
        uint32_t units = 0;
        if (!is_wanted((enum assay_execution)how, compiled, choice) ||
            is_excluded(problem, name, choice))
            continue;
        one.status = can_run(problem, choice->device, (enum assay_execution)how, &units, &one.why);
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
    for (int how = 0; how < ASSAY_EXECUTIONS; how++)
        if (strcmp(implementation, names[how]) == 0)
            return true;
    return false;
}
