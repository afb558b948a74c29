/* update_body.h: the body of optimizers: some tensors in, some out, element by element.
 *
 * Include vec.h first and define NATIVE_OP, UPDATE_INPUTS and UPDATE_OUTPUTS, the most there are,
 * and
 *     static struct update update_constants(const struct native_job *job);
 *     VEC_INLINE void update_of(const struct update *u, int inputs, vec *x);
 * of which the latter turns the elements of the inputs into those of the outputs, in place. A mode
 * with fewer operands has UPDATE_INPUTS_LESS and UPDATE_OUTPUTS_LESS; `inputs` is a constant.
 * Streaming stores need no care for alignment here: a share begins on a cache line (native.c). */
#ifndef ASSAY_KERNEL_NATIVE_UPDATE_BODY_H
#define ASSAY_KERNEL_NATIVE_UPDATE_BODY_H

enum { UPDATE_AHEAD = 1024 };

/* The tensors, taken out of struct assay_args before the loops. */
struct update_tensors {
    const void *in[UPDATE_INPUTS];
    void *out[UPDATE_OUTPUTS];
};

VEC_INLINE void update_pair(enum native_kind kind, bool stream, int inputs, int outputs,
                            const struct update_tensors *t, const struct update *u, int64_t at)
{
    struct vec_pair p[UPDATE_INPUTS];
    vec a[UPDATE_INPUTS], b[UPDATE_INPUTS];
    NATIVE_UNROLL for (int i = 0; i < inputs; i++)
    {
        vec_prefetch_far(kind, t->in[i], at, UPDATE_AHEAD);
        vec_prefetch_near(kind, t->in[i], at);
        p[i] = vec_load_pair(kind, t->in[i], at);
        a[i] = p[i].a;
        b[i] = p[i].b;
    }
    update_of(u, inputs, a);
    update_of(u, inputs, b);
    NATIVE_UNROLL for (int i = 0; i < outputs; i++)
        vec_store_pair(kind, stream, t->out[i], at, (struct vec_pair){a[i], b[i]});
}

/* `inputs` and `outputs` are constants. */
VEC_INLINE void update_all(enum native_kind kind, bool stream, int inputs, int outputs,
                           const struct update_tensors *t, const struct update *u, int64_t begin,
                           int64_t end)
{
    int64_t at = begin;
    for (; at + 2 * VEC_LANES <= end; at += 2 * VEC_LANES)
        update_pair(kind, stream, inputs, outputs, t, u, at);
    for (; at < end; at += VEC_LANES) {
        int64_t n = end - at < VEC_LANES ? end - at : VEC_LANES;
        vec x[UPDATE_INPUTS];
        for (int i = 0; i < inputs; i++)
            x[i] = vec_load_part(kind, t->in[i], at, n);
        update_of(u, inputs, x);
        for (int i = 0; i < outputs; i++)
            vec_store_part(kind, t->out[i], at, x[i], n);
    }
    if (stream)
        vec_stream_end();
}

VEC_INLINE double update(enum native_kind kind, bool stream, const struct native_job *job,
                         const struct assay_args *args, int64_t begin, int64_t end)
{
    struct update u = update_constants(job);
    struct update_tensors t = {{0}, {0}};
    for (int i = 0; i < job->problem->n_inputs; i++)
        t.in[i] = args->in[i];
    for (int i = 0; i < job->problem->n_outputs; i++)
        t.out[i] = args->out[i];
    if (job->problem->n_inputs == UPDATE_INPUTS)
        update_all(kind, stream, UPDATE_INPUTS, UPDATE_OUTPUTS, &t, &u, begin, end);
#ifdef UPDATE_INPUTS_LESS
    else
        update_all(kind, stream, UPDATE_INPUTS_LESS, UPDATE_OUTPUTS_LESS, &t, &u, begin, end);
#endif
    return 0;
}

NATIVE_KERNEL(update, NATIVE_ELEMENTS, false);

#endif
