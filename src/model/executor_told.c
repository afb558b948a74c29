/* executor_told.c: what an executor says of itself: its bytes, its nodes, the plan of its memory.
 */
#include "model/executor.h"

#include "base/alloc.h"
#include "model/model.h"

#include <string.h>

double assay_model_scratch_bytes(const struct assay_problem *problem)
{
    struct assay_graph *graph = NULL;
    struct assay_memory_plan plan = {.bytes = 0};
    if (assay_model_graph(problem, &graph, NULL) == ASSAY_OK)
        assay_graph_plan_memory(graph, false, graph->runs_backward, &plan);
    assay_free(graph);
    return (double)plan.bytes;
}

double assay_model_kept_bytes(const struct assay_problem *problem)
{
    struct assay_graph *graph = NULL;
    struct assay_memory_plan plan = {.bytes = 0};
    if (assay_model_graph(problem, &graph, NULL) == ASSAY_OK)
        assay_graph_plan_memory(graph, false, graph->runs_backward, &plan);
    assay_free(graph);
    return (double)plan.kept_bytes;
}

struct assay_model_memory assay_model_memory(const void *state)
{
    const struct executor *x = state;
    return (struct assay_model_memory){(double)assay_graph_kept_bytes(x->graph),
                                       (double)(x->plan.bytes + x->plan.kept_bytes)};
}

int64_t assay_model_buffers(const void *state)
{
    return ((const struct executor *)state)->graph->n_values;
}

/* As which of its node's outputs. */
static int32_t output_of(const struct assay_node *node, int32_t value)
{
    for (int32_t j = 0; j < node->problem.n_outputs; j++)
        if (node->out[j] == value)
            return j;
    return -1;
}

/* By a gradient's op, or of what such have made: sums of gradients. What is computed again in the
 * backward pass is none. */
static bool is_gradient(const struct executor *x, int32_t value)
{
    const struct assay_graph *g = x->graph;
    int32_t maker = assay_graph_maker(g, value);
    if (!x->trains || maker < 0 || strcmp(assay_graph_phase(g, maker), "backward") != 0)
        return false;
    bool gradient = assay_op_pass(g->nodes[maker].op) == ASSAY_PASS_BACKWARD;
    for (int32_t i = 0; i < g->nodes[maker].problem.n_inputs && !gradient; i++)
        gradient = is_gradient(x, g->nodes[maker].in[i]);
    return gradient;
}

bool assay_model_buffer(const void *state, int64_t index, struct assay_model_buffer *out)
{
    const struct executor *x = state;
    const struct assay_graph *g = x->graph;
    int32_t value = (int32_t)index;
    if (x->plan.offsets[value] < 0)
        return false;
    struct assay_memory_life life = assay_graph_life(g, value);
    *out = (struct assay_model_buffer){.node = life.first,
                                       .output = output_of(&g->nodes[life.first], value),
                                       .last = life.last,
                                       .offset = x->plan.offsets[value],
                                       .bytes = life.bytes,
                                       .apart = g->values[value].kept && x->plan.kept_bytes > 0,
                                       .saved = g->values[value].kept,
                                       .gradient = is_gradient(x, value)};
    return true;
}

void assay_model_blocks(const void *state, int64_t *planned, int64_t *apart)
{
    const struct executor *x = state;
    *planned = x->plan.bytes;
    *apart = x->plan.kept_bytes;
}

static bool reads_plain(const struct executor *x, int32_t value)
{
    for (int32_t s = 0; s < x->graph->n_nodes; s++)
        for (int32_t i = 0; i < x->steps[s].problem.n_inputs; i++)
            if (!x->steps[s].kernel->prepare && x->steps[s].node->in[i] == value)
                return true;
    return false;
}

bool assay_model_reads_plain(const void *state, int32_t input)
{
    const struct executor *x = state;
    for (int32_t i = 0; i < x->graph->n_values; i++)
        if (x->graph->values[i].input == input && reads_plain(x, i))
            return true;
    return false;
}

/* In training the harness counts them: they are inputs like others. */
double assay_model_plain_weight_bytes(const void *state)
{
    const struct executor *x = state;
    double bytes = 0;
    for (int32_t i = 0; i < x->graph->n_values && !x->trains; i++)
        if (x->graph->values[i].kind == ASSAY_VALUE_WEIGHT && reads_plain(x, i))
            bytes += (double)assay_tensor_bytes(&x->graph->values[i].tensor);
    return bytes;
}

int64_t assay_model_steps(const void *state)
{
    return ((const struct executor *)state)->graph->n_nodes;
}

void assay_model_step(const void *state, int64_t index, struct assay_model_step *out)
{
    const struct executor *x = state;
    const struct assay_step *step = &x->steps[index];
    *out = (struct assay_model_step){step->node->op, step->kernel, &step->problem,
                                     x->trains ? assay_graph_phase(x->graph, (int32_t)index) : ""};
}
