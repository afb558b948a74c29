/* cuda_op.c: setup, run and teardown of the kernels on the GPU. */
#include "kernel/cuda/cuda_op.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* Lies before the state that a kernel sees. */
struct head {
    alignas(max_align_t) const struct cuda_op *op;
};

static const struct cuda_op *op_of(void *state) { return ((const struct head *)state - 1)->op; }

void assay_cuda_op_teardown(void *state)
{
    const struct cuda_op *op = op_of(state);
    if (op->release)
        op->release(state);
    assay_free((struct head *)state - 1);
}

enum assay_status assay_cuda_op_setup(const struct cuda_op *op, const struct assay_problem *problem,
                                      void **state, struct assay_error *err)
{
    struct head *head = assay_calloc(1, sizeof *head + op->state_bytes);
    if (!head)
        return assay_error_nomem(err);
    head->op = op;
    enum assay_status status = op->plan(head + 1, problem, err);
    if (status == ASSAY_OK)
        *state = head + 1;
    else
        assay_cuda_op_teardown(head + 1);
    return status;
}

static enum assay_status run(cuda_call_fn *call, void *state, const struct assay_work *work)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        int64_t set = assay_work_set(work, i);
        status = call(state, set, &work->sets[set], work->stream);
    }
    return status;
}

enum assay_status assay_cuda_op_run(void *state, const struct assay_work *work)
{
    return run(op_of(state)->call, state, work);
}

enum assay_status assay_cuda_op_run_activations(void *state, const struct assay_work *work)
{
    return run(op_of(state)->activations, state, work);
}

enum assay_status assay_cuda_op_call(void *state, int64_t set, const struct assay_args *args,
                                     void *stream)
{
    return op_of(state)->call(state, set, args, stream);
}

enum assay_status assay_cuda_op_can_run(const struct assay_problem *problem,
                                        struct assay_error *why)
{
    (void)problem;
    return assay_cuda_can_compile(why);
}

int assay_cuda_op_number(const struct assay_problem *problem, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], problem->op) == 0)
            return i;
    return -1;
}

enum assay_status assay_cuda_op_compile(cu_function *out, struct assay_error *err, const char *text,
                                        const char *name, size_t shared_bytes, const char *options,
                                        ...)
{
    char filled[320];
    va_list list;
    va_start(list, options);
    int length = vsnprintf(filled, sizeof filled, options, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof filled)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "%s: too many options", text);
    return assay_cuda_function(text, filled, name, shared_bytes, out, err);
}
