/* tune.c: the fastest kernel for each step, found by timing. */
#include "model/executor.h"

#include <math.h>

static enum assay_status run_packing(void *step, const struct assay_work *work)
{
    return assay_step_run_packing(step, work);
}

/* One call of a step with its kernel, in ns; the best of a few short samples. One that takes three
 * times as long as `best_so_far` is not timed again; with 0 it is one call. */
static double time_step(struct executor *x, struct assay_step *step, const struct assay_args *model,
                        double best_so_far)
{
    enum { SAMPLES = 5 };
    static const double sample_ns = 1e6;
    assay_device *device = x->host->device;
    struct assay_step_operands operands;
    struct assay_timing timing = {0};
    assay_executor_point(x, step, 0, model, &operands);
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &operands.args};
    struct assay_kernel packing = *step->kernel;
    packing.run = run_packing;
    bool packs = step->trains && step->kernel->prepare;
    double best = (double)INFINITY;
    bool failed = false;
    for (int i = 0; i < SAMPLES && !failed; i++) {
        failed = device->driver->time(device, packs ? &packing : step->kernel,
                                      packs ? step : step->state, &work, &timing) != ASSAY_OK;
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
    assay_step_take_down(step);
    for (int64_t i = 0; i < n; i++) {
        step->kernel = candidates[i];
        if (assay_step_set_up(step, NULL) == ASSAY_OK &&
            assay_step_prepare(x, step, 0, model, NULL) == ASSAY_OK) {
            double ns = time_step(x, step, model, best_ns);
            if (ns < best_ns) {
                best_ns = ns;
                best = candidates[i];
            }
        }
        assay_step_take_down(step);
    }
    step->kernel = best ? best : usual;
    if (best)
        assay_steps_remember(step);
    return assay_step_set_up(step, err);
}

enum assay_status assay_executor_tune(struct executor *x, const struct assay_args *model,
                                      struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t s = 0; s < x->graph->n_nodes && status == ASSAY_OK; s++) {
        struct assay_step *step = &x->steps[s];
        const struct assay_kernel *known = assay_steps_remembered(step);
        if (known) {
            assay_step_take_down(step);
            step->kernel = known;
            status = assay_step_set_up(step, err);
        } else {
            status = tune_step(x, step, model, err);
        }
        if (status == ASSAY_OK)
            status = assay_step_prepare(x, step, 0, model, err);
        if (status == ASSAY_OK &&
            isinf(time_step(x, step, model, 0))) /* the next needs its output */
            status = assay_error_set(err, ASSAY_ERR_IO, NULL, "%s failed", step->kernel->name);
    }
    x->tune = false;
    return status;
}
