/* onednn.h: what the *_onednn.c kernels share: the library, opened once, and a primitive with its
 * operands.
 *
 * To add a kernel: describe the operation in a setup function, list its operands, hand both to
 * assay_onednn_create, and end the file with ASSAY_ONEDNN_KERNEL(op, setup). */
#ifndef ASSAY_KERNEL_ONEDNN_H
#define ASSAY_KERNEL_ONEDNN_H

#include "base/error.h"
#include "kernel/onednn/onednn_api.h"
#include <assay/assay_kernel.h>

enum { ASSAY_ONEDNN_MAX_OPERANDS = 9, ASSAY_ONEDNN_OUTPUT = -1 };

/* One operand of a primitive. */
struct assay_onednn_operand {
    int32_t arg;   /* ASSAY_DNNL_ARG_… */
    int32_t index; /* of the problem's inputs, or ASSAY_ONEDNN_OUTPUT - i: its output i */
    const struct assay_dnnl_memory_desc *desc;
    /* > 0: so many bf16 elements that the library wants, or leaves, in f32; of
     * ASSAY_DNNL_ARG_VARIANCE so many 1 / sqrt(v), of which it wants v. */
    int64_t widen;
};

/* The library, opened at the first call; ASSAY_UNSUPPORTED with the reason when it is not there or
 * not usable. *out may then not be used. */
enum assay_status assay_onednn_api(const struct assay_dnnl_api **out, struct assay_error *why);

/* Holds the library to what it has without AMX. Its instruction sets are settled for the whole
 * process by the first object made with it: ASSAY_UNSUPPORTED when that was before. */
enum assay_status assay_onednn_leave_out_amx(struct assay_error *why);
/* Was it held to that, by the above or when it was opened? */
bool assay_onednn_amx_left_out(void);
/* The variable with which the user limits the library's instruction sets, NULL where there is none;
 * the library is then not limited when it is opened. */
const char *assay_onednn_users_limit(void);

/* The error for the library's status `code`; `what` it was doing, "making a stream". */
enum assay_status assay_onednn_failed(const struct assay_problem *problem, const char *what,
                                      int code, struct assay_error *err);

/* The library's number for a dtype. */
int assay_onednn_dtype(enum assay_dtype dtype);
/* A dense row-major tensor. Returns the library's status. */
int assay_onednn_describe(const struct assay_dnnl_api *dnnl, enum assay_dtype dtype, int rank,
                          const int64_t *dims, struct assay_dnnl_memory_desc *out);
/* x as rows: [batch * seq, dim]. */
int assay_onednn_describe_rows(const struct assay_dnnl_api *dnnl,
                               const struct assay_problem *problem,
                               struct assay_dnnl_memory_desc *out);
/* x as one long vector. */
int assay_onednn_describe_flat(const struct assay_dnnl_api *dnnl,
                               const struct assay_problem *problem,
                               struct assay_dnnl_memory_desc *out);

/* Makes the primitive and memory objects for its operands: the state of the kernel. `described` is
 * the library's status of all that led to `desc`, checked here so that kernels need not. */
enum assay_status assay_onednn_create(const struct assay_problem *problem, int described,
                                      const struct assay_dnnl_op_desc *desc,
                                      const struct assay_onednn_operand *operands, int32_t n,
                                      void **state, struct assay_error *err);
/* The same of a gradient: `forward` is the operation that it belongs to. */
enum assay_status assay_onednn_create_gradient(const struct assay_problem *problem, int described,
                                               const struct assay_dnnl_op_desc *forward,
                                               const struct assay_dnnl_op_desc *desc,
                                               const struct assay_onednn_operand *operands,
                                               int32_t n, void **state, struct assay_error *err);

/* Memory for the library's own layouts and scratch, all zeros. */
struct assay_onednn_buffer {
    void *allocated, *data; /* what to free, and where the data begin in it */
};
bool assay_onednn_buffer_init(struct assay_onednn_buffer *buffer,
                              size_t bytes); /* false: out of memory */
void assay_onednn_buffer_fini(struct assay_onednn_buffer *buffer);

/* The library takes a pointer to data it may write. It does not write its inputs. */
static inline void *assay_onednn_writable(const void *data) { return (void *)(uintptr_t)data; }

enum assay_status assay_onednn_can_run(const struct assay_problem *problem,
                                       struct assay_error *why);
enum assay_status assay_onednn_run(void *state, const struct assay_work *work);
void assay_onednn_teardown(void *state);

/* 2.x computes in f16 on no CPU, so f16 is not among the dtypes. */
#define ASSAY_ONEDNN_KERNEL(ident, setup_)                                                         \
    extern const struct assay_kernel assay_kernel_##ident##_onednn;                                \
    const struct assay_kernel assay_kernel_##ident##_onednn = {                                    \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident "_onednn",                                                                  \
        .op = #ident,                                                                              \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),            \
        .can_run = assay_onednn_can_run,                                                           \
        .setup = setup_,                                                                           \
        .run = assay_onednn_run,                                                                   \
        .teardown = assay_onednn_teardown,                                                         \
    }

#endif
