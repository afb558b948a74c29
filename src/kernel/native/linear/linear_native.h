/* linear_native.h: what assay's own kernels of `linear` share.
 *
 * linear_driver.c is compiled once, for any CPU: it packs the weights (src/quant), cuts the work
 * into one rectangle of outputs for each thread (rows of x times panels of 16 weights), and calls a
 * body on each. A body is one instruction set's way to compute such a rectangle; a file
 * linear_ISA.c defines one and, with LINEAR_KERNEL, its kernel. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_NATIVE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_NATIVE_H

#include "device/cpu/cpu_info.h"
#include "kernel/kernel.h"
#include "op/conv.h"
#include "op/linear.h"
#include "quant/quant.h"

/* What stays the same from call to call. */
struct linear_job {
    int64_t m, k, n;
    enum assay_dtype dtype; /* of x and y; S8: y is s32, no scales, no epilogue */
    /* Of y, bias and residual where x has another type than they: its codes in training. NONE:
     * x's. */
    enum assay_dtype y_dtype;
    struct assay_recipe recipe;
    enum assay_linear_activation activation;
    enum assay_linear_norm norm;
    /* kernel > 0: x is an image, and its rows here, m of k elements, are the windows of this
     * convolution (linear_window.h). Then dtype is no S8 and there is no norm and no recipe. */
    struct assay_conv windows;
    /* x is stored the other way round, [k, m]: its rows here are the columns of that. Then there is
     * no norm, no recipe and no windows. */
    bool columns;
};

/* One call. */
struct linear_call {
    const struct linear_job *job;
    const void *x;
    const void *bias, *norm_weight, *residual; /* [n], [k], [m, n] in dtype, NULL without */
    const struct assay_packed *w;
    void *y;
    float x_scale;         /* of recipes with one scale for all of x (normalised): already known */
    const float *x_scales; /* of each row of x, where x holds codes already; NULL without */
};

/* Rows that follow each other. */
struct linear_matrix {
    const void *data;
    int64_t rows, columns;
    enum assay_dtype dtype;
};

/* A rectangle of y: rows [row, row_end), panels [panel, panel_end) of 16 columns each; columns at
 * or beyond n are not there. */
struct linear_part {
    int64_t row, row_end, panel, panel_end;
};

struct linear_body {
    /* Bytes of scratch memory (aligned to 64) one thread needs for its part. */
    size_t (*scratch_bytes)(const struct linear_job *job, const struct linear_part *part);
    /* Computes the part, normalising and quantising its rows of x first where the job says so. */
    void (*compute)(const struct linear_call *call, const struct linear_part *part, void *scratch);
    /* Only the normalising, quantising and packing of the part's rows of x. */
    void (*activations)(const struct linear_call *call, const struct linear_part *part,
                        void *scratch);
    /* The greatest magnitude in rows [row, row_end) of x, normalised where the job says so. The
     * scratch memory is that of any part. */
    float (*amax)(const struct linear_call *call, int64_t row, int64_t row_end, void *scratch);
    /* Are threads better off with all rows of x and a part of the weights? NULL: rows are cut. */
    bool (*cuts_weights)(const struct linear_job *job, int32_t threads);
};

/* For a kernel's can_run: is this a problem of linear whose recipe is known and fits, with dtype
 * and recipe code among what the body takes? `problem` may be NULL. */
struct linear_takes {
    uint64_t dtypes;         /* of x: ASSAY_DTYPE_BIT(…) */
    uint64_t codes;          /* of weights; bit NONE for the high precision itself */
    uint64_t activations;    /* bit NONE for x as it is */
    int64_t least_m, most_m; /* 0: no limit */
};
enum assay_status assay_linear_can_run(const struct assay_problem *problem, uint32_t isa,
                                       const struct linear_takes *takes, struct assay_error *why);

/* The inputs that not every problem has; -1: there is none. x is 0 and W is 1. */
struct linear_inputs {
    int32_t bias, norm, residual;
};
/* The state of a kernel that runs `body` on this job: assay_linear_setup for any op. */
enum assay_status assay_linear_create(const struct linear_job *job,
                                      const struct linear_inputs *inputs, int32_t threads,
                                      const struct linear_body *body, void **state,
                                      struct assay_error *err);
enum assay_status assay_linear_setup(const struct assay_problem *problem,
                                     const struct linear_body *body, void **state,
                                     struct assay_error *err);
enum assay_status assay_linear_prepare(void *state, int64_t set, const struct assay_args *args,
                                       struct assay_error *err);
size_t assay_linear_prepared_bytes(void *state);
enum assay_status assay_linear_run(void *state, const struct assay_work *work);
enum assay_status assay_linear_run_activations(void *state, const struct assay_work *work);
/* One product for kernels that pack their weights themselves, without prepare: y = x W^T, from
 * `call`'s x, w, x_scales and bias to its y. Not with a norm or a recipe. */
void assay_linear_multiply(void *state, struct linear_call call);
void assay_linear_teardown(void *state); /* NULL is fine */

/* Zeroed, aligned to pages, on huge ones where it is large. *block is what to free; NULL without
 * memory. */
unsigned char *assay_linear_memory(size_t bytes, void **block);

/* The fields all these kernels share; can_run and setup are the file's own. */
#define LINEAR_FIELDS(name_, preference_)                                                          \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,            \
    .op = "linear", .implementation = "native", .device = "cpu",                                   \
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |                \
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),                 \
    .preference = preference_, .can_run = can_run, .setup = setup, .run = assay_linear_run,        \
    .teardown = assay_linear_teardown, .prepare = assay_linear_prepare,                            \
    .prepared_bytes = assay_linear_prepared_bytes, .run_activations = assay_linear_run_activations

/* Defines the kernel assay_kernel_NAME from `body`, `takes` and the instruction sets it needs. */
#define LINEAR_KERNEL(ident, isa_, preference_, body_, takes_)                                     \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        return assay_linear_can_run(problem, isa_, &(takes_), why);                                \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_linear_setup(problem, &(body_), state, err);                                  \
    }                                                                                              \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {LINEAR_FIELDS(#ident, preference_)}

#endif
