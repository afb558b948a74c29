/* cuda_op.h: the frame of the kernels on the GPU. Setup, run, teardown and the kernel's struct are
 * written once, in cuda_op.c and CUDA_KERNEL; a kernel brings a struct cuda_op: how a problem is
 * planned, and what one call enqueues. */
#ifndef ASSAY_KERNEL_CUDA_CUDA_OP_H
#define ASSAY_KERNEL_CUDA_CUDA_OP_H

#include "base/alloc.h"
#include "base/math.h"
#include "device/cuda/cuda.h"
#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

#include <limits.h>
#include <stdio.h>

/* ---- the frame ------------------------------------------------------------------------------- */

/* Enqueues one call on the operands of set number `set`. */
typedef enum assay_status cuda_call_fn(void *state, int64_t set, const struct assay_args *args,
                                       void *stream);

struct cuda_op {
    size_t state_bytes;
    /* Fills a state of zeros: chooses tiles, compiles, allocates. */
    enum assay_status (*plan)(void *state, const struct assay_problem *problem,
                              struct assay_error *err);
    cuda_call_fn *call;
    cuda_call_fn *activations;    /* optional: the part of call that quantises x */
    void (*release)(void *state); /* optional: what the state owns; also after a plan that failed */
};

enum assay_status assay_cuda_op_setup(const struct cuda_op *op, const struct assay_problem *problem,
                                      void **state, struct assay_error *err);
enum assay_status assay_cuda_op_run(void *state, const struct assay_work *work);
enum assay_status assay_cuda_op_run_activations(void *state, const struct assay_work *work);
void assay_cuda_op_teardown(void *state);
/* The op's `call`, for a state that setup made. */
cuda_call_fn assay_cuda_op_call;

/* A can_run: any shape, wherever texts can be compiled. */
enum assay_status assay_cuda_op_can_run(const struct assay_problem *problem,
                                        struct assay_error *why);

#define CUDA_HALVES (ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16))
#define CUDA_FLOATS (ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | CUDA_HALVES)

/* The kernel `name_`, without quotes, by the struct cuda_op `frame_`; then what else its struct
 * has: dtypes, preference, can_run, … */
#define CUDA_KERNEL(name_, op_, implementation_, frame_, ...)                                      \
    static enum assay_status name_##_setup(const struct assay_problem *problem, void **state,      \
                                           struct assay_error *err)                                \
    {                                                                                              \
        return assay_cuda_op_setup(&(frame_), problem, state, err);                                \
    }                                                                                              \
    extern const struct assay_kernel assay_kernel_##name_;                                         \
    const struct assay_kernel assay_kernel_##name_ = {.struct_size = sizeof(struct assay_kernel),  \
                                                      .abi = ASSAY_KERNEL_ABI,                     \
                                                      .name = #name_,                              \
                                                      .op = (op_),                                 \
                                                      .implementation = (implementation_),         \
                                                      .device = "cuda",                            \
                                                      .setup = name_##_setup,                      \
                                                      .run = assay_cuda_op_run,                    \
                                                      .teardown = assay_cuda_op_teardown,          \
                                                      __VA_ARGS__}

/* A kernel of assay's own for any shape, in f32, f16 and bf16. */
#define CUDA_OP_KERNEL(name_, op_, frame_)                                                         \
    CUDA_KERNEL(name_, op_, "cuda", frame_, .dtypes = CUDA_FLOATS, .preference = 1,                \
                .can_run = assay_cuda_op_can_run)

/* ---- what plans and calls use ---------------------------------------------------------------- */

/* types.cuh: ELEMENT, and the elements of 16 bytes. */
static inline int cuda_op_element(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 32 : dtype == ASSAY_DTYPE_F16 ? 16 : 17;
}

static inline int64_t cuda_op_vec(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 4 : 8;
}

/* Whole warps for `items` items of work, at most `most` threads. */
static inline unsigned cuda_op_threads(int64_t items, int64_t most)
{
    return (unsigned)assay_min(assay_round_up(assay_max(items, 1), 32), most);
}

/* As many blocks as the GPU holds at once, and not more than there are items of work. */
static inline unsigned cuda_op_grid(cu_function function, unsigned threads, int64_t items)
{
    int64_t held = assay_cuda_blocks_per_sm(function, threads, 0) * assay_cuda_properties()->sms;
    return (unsigned)assay_min(assay_max(items, 1), held);
}

/* The same, or fewer, so that all blocks have the same number of rounds: memory is then busy to the
 * end. */
static inline unsigned cuda_op_even_grid(cu_function function, unsigned threads, int64_t items)
{
    int64_t held = cuda_op_grid(function, threads, items);
    return (unsigned)assay_ceil_div(items, assay_ceil_div(items, held));
}

/* An input by its index; NULL for -1, where the problem has none. */
static inline const void *cuda_op_input(const struct assay_args *args, int32_t input)
{
    return input >= 0 ? args->in[input] : NULL;
}

/* Where the problem's op is among `n` names; -1: nowhere. */
int assay_cuda_op_number(const struct assay_problem *problem, const char *const *names, int n);

/* Function `name` of a text, with options as printf writes them. */
enum assay_status assay_cuda_op_compile(cu_function *out, struct assay_error *err, const char *text,
                                        const char *name, size_t shared_bytes, const char *options,
                                        ...) __attribute__((format(printf, 6, 7)));

#endif
