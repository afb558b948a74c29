/* group_memory.c: what a variant takes of memory, one set of operands, for its record. */
#include "bench/group_internal.h"

#include "model/model.h"

#include <math.h>

static double output_bytes(const struct group *g)
{
    double bytes = 0;
    for (int32_t i = 0; i < g->problem.n_outputs; i++)
        bytes += (double)assay_tensor_bytes(&g->problem.outputs[i]);
    return bytes;
}

static double prepared_bytes(const struct variant *v)
{
    if (v->runner || v->prepared_bytes > 0)
        return v->prepared_bytes;
    return v->kernel->prepare && v->set_up ? (double)v->kernel->prepared_bytes(v->state) : 0;
}

double assay_group_plain_bytes(const struct group *g, const struct variant *v)
{
    bool keeps = v->kernel->prepare && g->op->is_weight;
    double bytes = 0;
    for (int32_t i = 0; i < g->problem.n_inputs; i++)
        if (!keeps || !g->op->is_weight(&g->problem, i))
            bytes += (double)assay_tensor_bytes(&g->problem.inputs[i]);
    if (group_is_model(g) && !assay_kernel_is_elsewhere(v->kernel)) /* some kernels keep theirs */
        bytes += assay_model_plain_weight_bytes(v->state);
    return bytes;
}

double assay_group_working_set(const struct group *g, const struct variant *v)
{
    return assay_group_plain_bytes(g, v) + prepared_bytes(v) + output_bytes(g);
}

void assay_group_note_memory(const struct group *g, struct variant *v)
{
    const struct assay_memory *m = &v->memory;
    struct assay_record *r = &v->record;
    if (!m->ran)
        return;
    if (g->op->in_training && !assay_kernel_is_elsewhere(v->kernel)) {
        struct assay_model_memory model = assay_model_memory(v->state);
        r->saved_bytes = model.saved_bytes;
        r->planned_bytes = model.planned_bytes;
    }
    /* Weights that were not seen being allocated: the kernel's own word for them. */
    double plain = assay_group_plain_bytes(g, v) + fmax(prepared_bytes(v) - m->weights, 0);
    r->idle_bytes = plain + m->weights;
    r->workspace_bytes = fmax(m->running - m->weights, 0);
    r->peak_bytes = plain + output_bytes(g) + m->peak;
    r->system_peak_bytes = assay_device_shares_memory(g->bench->host.device)
                               ? m->used_peak
                               : plain + output_bytes(g) + m->used_peak;
}
