/* adamw_vec.c: one step of AdamW: new weights and moments. */
#include "kernel/native/vec/vec.h"

#include "op/optimizer.h"

#include <math.h>

struct update {
    vec beta1, rest1, beta2, rest2; /* rest: 1 - beta */
    vec known2, eps;                /* 1 / (1 - beta2^step) */
    vec keep, rate;                 /* 1 - lr decay, and lr / (1 - beta1^step) */
};

static struct update update_constants(const struct native_job *job)
{
    const double *p = job->problem->params;
    double beta1 = p[ASSAY_ADAMW_BETA1], beta2 = p[ASSAY_ADAMW_BETA2], step = p[ASSAY_ADAMW_STEP];
    double lr = p[ASSAY_ADAMW_LR];
    return (struct update){.beta1 = vec_set((float)beta1),
                           .rest1 = vec_set((float)(1 - beta1)),
                           .beta2 = vec_set((float)beta2),
                           .rest2 = vec_set((float)(1 - beta2)),
                           .known2 = vec_set((float)(1 / (1 - pow(beta2, step)))),
                           .eps = vec_set((float)p[ASSAY_ADAMW_EPS]),
                           .keep = vec_set((float)(1 - lr * p[ASSAY_ADAMW_WEIGHT_DECAY])),
                           .rate = vec_set((float)(lr / (1 - pow(beta1, step))))};
}

VEC_INLINE void update_of(const struct update *u, int inputs, vec *x)
{
    (void)inputs;
    vec g = x[ASSAY_ADAMW_G];
    vec m = vec_fma(u->beta1, x[ASSAY_ADAMW_M], vec_mul(u->rest1, g));
    vec v = vec_fma(u->beta2, x[ASSAY_ADAMW_V], vec_mul(u->rest2, vec_mul(g, g)));
    vec root = vec_add(vec_sqrt(vec_mul(v, u->known2)), u->eps);
    x[0] = vec_fnma(u->rate, vec_div(m, root), vec_mul(x[ASSAY_ADAMW_W], u->keep));
    x[1] = m;
    x[2] = v;
}

#define NATIVE_OP adamw
#define UPDATE_INPUTS 4
#define UPDATE_OUTPUTS 3
#include "kernel/native/rows/update_body.h"
