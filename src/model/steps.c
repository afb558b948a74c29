#include "model/steps.h"

#include "base/alloc.h"
#include "base/text.h"
#include "model/fuse.h"
#include "op/linear.h"

#include <stdio.h>
#include <string.h>

/* ---- the best kernel --------------------------------------------------------------------------
 */

/* On a GPU the library's product is the safe choice, but with a norm before it, which takes it a
 * pass more than ours, and with integers, where it is half as fast. */
static bool ours_is_faster(const struct assay_problem *problem)
{
    struct assay_recipe recipe = assay_model_recipe(problem);
    return assay_op_find(problem->op)->takes_recipes &&
           (problem->params[ASSAY_LINEAR_NORM] != 0 || recipe.activation == ASSAY_DTYPE_S8);
}

/* Implementations, best first, where nothing was timed. */
static int rank(const struct assay_problem *problem, const char *implementation)
{
    static const char *const order[] = {"native", "cublaslt", "cuda", "onednn", "openblas"};
    if (strcmp(implementation, "cuda") == 0 && ours_is_faster(problem))
        return 0;
    if (strcmp(implementation, "ref") == 0)
        return 100;
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++)
        if (strcmp(implementation, order[i]) == 0)
            return i;
    return 50; /* a plug-in's */
}

enum { MAX_CONTENDERS = 32 };

/* The best that can run, and why not where none can. */
static enum assay_status best_kernel(const struct assay_problem *problem, const char *device,
                                     const struct assay_kernel **out, struct assay_error *why)
{
    struct assay_contender found[MAX_CONTENDERS];
    struct assay_kernel_choice choice = {.device = device, .here = true};
    int64_t n =
        assay_kernel_choose(problem->host->registry, problem, &choice, found, MAX_CONTENDERS);
    const struct assay_contender *best = NULL, *refused = NULL;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_contender **slot = found[i].status == ASSAY_OK ? &best : &refused;
        if (!*slot || rank(problem, found[i].kernel->implementation) <
                          rank(problem, (*slot)->kernel->implementation))
            *slot = &found[i];
    }
    if (best) {
        *out = best->kernel;
        return ASSAY_OK;
    }
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "%s: %s", assay_op_shown(problem->op),
                           refused ? refused->why.message : "no kernel on this device");
}

static struct assay_problem problem_of(const struct assay_problem *model,
                                       const struct assay_node *node)
{
    struct assay_problem problem = node->problem;
    problem.recipe = node->op->takes_recipes ? model->recipe : NULL;
    problem.host = model->host;
    return problem;
}

enum assay_status assay_steps_choose(const struct assay_problem *problem,
                                     const struct assay_graph *graph, const char *device,
                                     struct assay_step **steps, struct assay_error *why)
{
    *steps = assay_calloc((size_t)graph->n_nodes, sizeof **steps);
    enum assay_status status = *steps ? ASSAY_OK : assay_error_nomem(why);
    for (int32_t i = 0; i < graph->n_nodes && status == ASSAY_OK; i++) {
        const struct assay_node *node = &graph->nodes[i];
        struct assay_step *step = &(*steps)[i];
        *step = (struct assay_step){.node = node,
                                    .problem = problem_of(problem, node),
                                    .trains = assay_model_op(problem->op)->in_training};
        status = best_kernel(&step->problem, device, &step->kernel, why);
    }
    return status;
}

/* On a CPU a portable kernel may take a hundred times as long as the best: on large problems one
 * call of it would outlast the time limit. */
static const double MOST_FLOPS_FOR_ALL = 1e10;

int64_t assay_steps_candidates(const struct assay_step *step, const char *device,
                               const struct assay_kernel **out, int64_t max)
{
    static const char *const every[] = {"all"};
    struct assay_contender found[MAX_CONTENDERS];
    bool best_only = strcmp(device, "cpu") == 0 &&
                     step->node->op->cost(&step->problem).flops > MOST_FLOPS_FOR_ALL;
    struct assay_kernel_choice choice = {
        .device = device, .kernels = every, .n_kernels = best_only ? 0 : 1, .here = true};
    int64_t n = 0, all = assay_kernel_choose(step->problem.host->registry, &step->problem, &choice,
                                             found, MAX_CONTENDERS);
    for (int64_t i = 0; i < all && n < max; i++)
        if (found[i].status == ASSAY_OK && strcmp(found[i].kernel->implementation, "ref") != 0)
            out[n++] = found[i].kernel;
    return n;
}

/* ---- fusing -----------------------------------------------------------------------------------
 */

struct fusing {
    const struct assay_problem *model;
    const char *device;
};

/* The reference could run everything, but nothing is won by fusing into it. */
static bool can_fuse(void *user, const struct assay_problem *problem)
{
    const struct fusing *fusing = user;
    const struct assay_kernel *kernel;
    struct assay_problem whole = *problem;
    whole.recipe = assay_op_find(whole.op)->takes_recipes ? fusing->model->recipe : NULL;
    whole.host = fusing->model->host;
    return best_kernel(&whole, fusing->device, &kernel, NULL) == ASSAY_OK &&
           strcmp(kernel->implementation, "ref") != 0;
}

/* Before there are gradients: what a gradient can take together, too. */
static bool can_train_fused(void *user, const struct assay_problem *problem)
{
    return assay_gradient_covers(problem) && can_fuse(user, problem);
}

enum assay_status assay_steps_graph(const struct assay_problem *problem, const char *device,
                                    enum assay_execution how, struct assay_graph **out,
                                    struct assay_error *err)
{
    struct fusing fusing = {problem, device};
    bool trains = assay_model_op(problem->op)->in_training;
    enum assay_status status = assay_model_forward_graph(problem, out, err);
    if (status == ASSAY_OK && how != ASSAY_EAGER && trains)
        assay_graph_fuse(*out, can_train_fused, &fusing);
    if (status == ASSAY_OK)
        status = assay_model_train(problem, how == ASSAY_RECOMPUTED, out, err);
    if (status == ASSAY_OK && how != ASSAY_EAGER)
        assay_graph_fuse(*out, can_fuse, &fusing);
    return status;
}
