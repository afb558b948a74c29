/* sgd_vec.c: one step of SGD: new weights and, with momentum, its buffer. */
#include "kernel/native/vec/vec.h"

#include "op/optimizer.h"

struct update {
    vec lr, decay, momentum;
};

static struct update update_constants(const struct native_job *job)
{
    const double *p = job->problem->params;
    return (struct update){.lr = vec_set((float)p[ASSAY_SGD_LR]),
                           .decay = vec_set((float)p[ASSAY_SGD_WEIGHT_DECAY]),
                           .momentum = vec_set((float)p[ASSAY_SGD_MOMENTUM])};
}

VEC_INLINE void update_of(const struct update *u, int inputs, vec *x)
{
    vec w = x[ASSAY_SGD_W], step = vec_fma(u->decay, w, x[ASSAY_SGD_G]);
    if (inputs > ASSAY_SGD_B)
        step = vec_fma(u->momentum, x[ASSAY_SGD_B], step);
    x[0] = vec_fnma(u->lr, step, w);
    x[1] = step;
}

#define NATIVE_OP sgd
#define UPDATE_INPUTS 3
#define UPDATE_OUTPUTS 2
#define UPDATE_INPUTS_LESS 2
#define UPDATE_OUTPUTS_LESS 1
#include "kernel/native/rows/update_body.h"
