/* cudnn_graph.h: a graph of operations for NVIDIA's cuDNN, described through its backend interface,
 * compiled by it to one or more plans, and run.
 *
 * Tensors and operations are added one by one; the first call that fails is remembered, all later
 * ones do nothing, and assay_cudnn_compile tells. Tensors have four axes. */
#ifndef ASSAY_KERNEL_CUDNN_CUDNN_GRAPH_H
#define ASSAY_KERNEL_CUDNN_CUDNN_GRAPH_H

#include "device/cuda/cuda.h"
#include "kernel/cuda/autotune.h"
#include "tensor/dtype.h"

enum {
    CUDNN_MOST_PARTS = 64, /* descriptors of tensors and operations */
    CUDNN_MOST_OPS = 24,
    CUDNN_MOST_OPERANDS = 8, /* tensors in memory, and numbers */
};

struct cudnn_graph {
    const struct cuda_cudnn_api *api;
    cudnn_handle handle;
    cudnn_status failed; /* of the first call that did; 0 */
    const char *failed_at;

    cudnn_descriptor parts[CUDNN_MOST_PARTS];
    int n_parts;
    cudnn_descriptor ops[CUDNN_MOST_OPS]; /* among the parts */
    int n_ops;
    int64_t ids[CUDNN_MOST_OPERANDS];
    float numbers[CUDNN_MOST_OPERANDS]; /* of an operand that is one */
    bool is_number[CUDNN_MOST_OPERANDS];
    int n_operands;
    int64_t last_id;

    cudnn_descriptor plans[CUDA_CANDIDATES]; /* the library's favourite first */
    int n_plans, chosen;
    bool tuned;
    void *workspace; /* enough for every plan */
    size_t workspace_bytes;
};

typedef cudnn_descriptor cudnn_tensor;

/* For can_run; and for `note`: "cuDNN 9.19.0", and whether its plans were timed. */
enum assay_status assay_cudnn_can_run(struct assay_error *why);
void assay_cudnn_note(const struct assay_problem *problem, char *text, size_t size);

/* The dtype by cuDNN's number. */
int assay_cudnn_type(enum assay_dtype dtype);

enum assay_status assay_cudnn_begin(struct cudnn_graph *graph, struct assay_error *err);
/* A kernel's `release`, where its state begins with its graph. */
void assay_cudnn_release(void *state);

/* The n-th call of one of these two makes operand n - 1. */
cudnn_tensor assay_cudnn_operand(struct cudnn_graph *graph, int type, const int64_t *sizes,
                                 const int64_t *strides);
cudnn_tensor assay_cudnn_number(struct cudnn_graph *graph, float value);
/* A virtual tensor: what one operation leaves for another, never in memory. */
cudnn_tensor assay_cudnn_between(struct cudnn_graph *graph, int type, const int64_t *sizes,
                                 const int64_t *strides);

/* y = x * w, of [batch, channels, height, width] and [out, in, kernel, kernel], whatever their
 * strides. */
void assay_cudnn_convolution(struct cudnn_graph *graph, cudnn_tensor x, cudnn_tensor w,
                             cudnn_tensor y, int64_t stride, int64_t pad);
void assay_cudnn_matmul(struct cudnn_graph *graph, cudnn_tensor a, cudnn_tensor b, cudnn_tensor c);
/* y = mode(x, b): DNN_ADD, …, computed in `math`. `b` may be NULL; `t` (NULL too) is the condition
 * of DNN_BINARY_SELECT; `axis` is DNN_GEN_INDEX's. */
struct cudnn_pointwise {
    int mode, math;
    cudnn_tensor x, b, t;
    int64_t axis;
};
void assay_cudnn_pointwise(struct cudnn_graph *graph, const struct cudnn_pointwise *p,
                           cudnn_tensor y);
/* Over the axes along which y has size 1. */
void assay_cudnn_reduction(struct cudnn_graph *graph, int operator_, cudnn_tensor x,
                           cudnn_tensor y);

/* Asks the library how it would do all this: one plan, or as many as are tuned among. Unsupported
 * where it has none. Plans that lose accuracy (Winograd, FFT, sums in 16 bits) are
 * skipped, as are those with tensor cores where these are not wanted: in f32 they multiply TF32. */
enum assay_status assay_cudnn_compile(struct cudnn_graph *graph,
                                      const struct assay_problem *problem, bool tensor_cores,
                                      struct assay_error *err);
/* A kernel's `prepare`, where its state begins with its graph: times the plans on set 0, where
 * there are several, and keeps the fastest. */
enum assay_status assay_cudnn_prepare(void *state, int64_t set, const struct assay_args *args,
                                      struct assay_error *err);

/* Enqueues it. `operands` has a pointer for each operand in device memory; numbers are skipped. */
enum assay_status assay_cudnn_run(struct cudnn_graph *graph, const void *const *operands,
                                  void *stream);

#endif
