/* onednn_api.h: the part of oneDNN's C API, version 2.x, that assay calls.
 *
 * Declared here so that assay builds on machines without oneDNN's headers and finds the library
 * when it runs. Names lose their dnnl_ prefix and gain ours; numbers are the library's. They have
 * been the same in all of 2.x, and tests/unit/test_onednn.c compares them with the real header
 * where there is one. Version 3 has another way to describe an operation and does not fit. */
#ifndef ASSAY_KERNEL_ONEDNN_API_H
#define ASSAY_KERNEL_ONEDNN_API_H

#include <stddef.h>
#include <stdint.h>

enum {
    ASSAY_DNNL_MAJOR = 2,
    ASSAY_DNNL_RUNTIME_OMP = 2, /* in version.cpu_runtime */
    ASSAY_DNNL_CPU_ISA_AVX512_CORE_BF16 = 0xe7,
};

enum { /* every function returns one of these */
       ASSAY_DNNL_SUCCESS = 0,
       ASSAY_DNNL_OUT_OF_MEMORY = 1,
       ASSAY_DNNL_UNIMPLEMENTED = 3,
};

enum {
    ASSAY_DNNL_ENGINE_CPU = 1,
    ASSAY_DNNL_STREAM_DEFAULT = 1,
    ASSAY_DNNL_FORWARD_TRAINING = 64,
    ASSAY_DNNL_FORWARD_INFERENCE = 96,
    ASSAY_DNNL_BACKWARD = 128,
    ASSAY_DNNL_FORMAT_ANY = 1, /* the primitive chooses the layout */
    ASSAY_DNNL_QUERY_WEIGHTS = 131,
    ASSAY_DNNL_QUERY_DIFF_WEIGHTS = 132,
    ASSAY_DNNL_BF16 = 2,
    ASSAY_DNNL_F32 = 3,
    ASSAY_DNNL_S32 = 4,
    ASSAY_DNNL_S8 = 5,
};

enum { /* algorithms */
       ASSAY_DNNL_ELTWISE_RELU = 0x1f,
       ASSAY_DNNL_ELTWISE_LINEAR = 0x7f,
       ASSAY_DNNL_ELTWISE_BOUNDED_RELU = 0x8f,
       ASSAY_DNNL_ELTWISE_LOGISTIC = 0xaf,
       ASSAY_DNNL_ELTWISE_GELU_TANH = 0xcf,
       ASSAY_DNNL_ELTWISE_SWISH = 0xdf,
       ASSAY_DNNL_ELTWISE_GELU_ERF = 0x30,
       ASSAY_DNNL_ELTWISE_HARDSWISH = 0x70,
       ASSAY_DNNL_ELTWISE_CLIP_V2 = 0x10,           /* not at the bounds themselves */
       ASSAY_DNNL_ELTWISE_LOGISTIC_USE_DST = 0x104, /* backward: from the output */
       ASSAY_DNNL_BINARY_ADD = 0x1fff0,
       ASSAY_DNNL_CONVOLUTION_DIRECT = 0x1,
       ASSAY_DNNL_SOFTMAX_ACCURATE = 0x30000,
};

enum { /* of a normalisation: gamma and beta are operands of their own; since 2.3 */
       ASSAY_DNNL_USE_SCALE = 0x8,
       ASSAY_DNNL_USE_SHIFT = 0x10,
};

enum { /* what an operand is to the primitive */
       ASSAY_DNNL_ARG_SRC_0 = 1,
       ASSAY_DNNL_ARG_SRC_1 = 2,
       ASSAY_DNNL_ARG_DST = 17,
       ASSAY_DNNL_ARG_WEIGHTS = 33,
       ASSAY_DNNL_ARG_BIAS = 41,
       ASSAY_DNNL_ARG_MEAN = 49,
       ASSAY_DNNL_ARG_VARIANCE = 50,
       ASSAY_DNNL_ARG_SCALE = 51,
       ASSAY_DNNL_ARG_SHIFT = 52,
       ASSAY_DNNL_ARG_DIFF_SRC = 129,
       ASSAY_DNNL_ARG_DIFF_DST = 145,
       ASSAY_DNNL_ARG_DIFF_WEIGHTS = 161,
       ASSAY_DNNL_ARG_DIFF_BIAS = 169,
       ASSAY_DNNL_ARG_DIFF_SCALE = 255,
       ASSAY_DNNL_ARG_DIFF_SHIFT = 256,
       ASSAY_DNNL_ARG_FIRST_POST_OP = 0x4000, /* its operands: with one of the above */
};

/* The library writes these two and reads them back; assay never looks inside. In 2.6 a memory
 * descriptor has 696 bytes, and of the operations' descriptors used here layer normalisation's is
 * the largest with 3496 (they hold memory descriptors). The caller provides the memory, so no 2.x
 * release could let them grow without breaking its users; the room to spare costs nothing. Both are
 * aligned as their int64_t members are. */
struct assay_dnnl_memory_desc {
    uint64_t opaque[128];
};
struct assay_dnnl_op_desc {
    uint64_t opaque[1024];
};

struct assay_dnnl_exec_arg {
    int arg;
    struct assay_dnnl_memory *memory;
};

struct assay_dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

struct assay_dnnl_engine;
struct assay_dnnl_stream;
struct assay_dnnl_memory;
struct assay_dnnl_primitive_desc;
struct assay_dnnl_primitive;
struct assay_dnnl_primitive_attr;
struct assay_dnnl_post_ops;

/* Every function, once: X(name without dnnl_, result, arguments). All of the first list are
 * required. The library's enums are passed as int: they have its size and values that fit. */
/* clang-format off */
#define ASSAY_DNNL_FUNCTIONS(X)                                                                    \
    X(version, const struct assay_dnnl_version *, (void))                                          \
    X(set_max_cpu_isa, int, (int isa))                                                             \
    X(engine_create, int, (struct assay_dnnl_engine **engine, int kind, size_t index))             \
    X(engine_destroy, int, (struct assay_dnnl_engine *engine))                                     \
    X(stream_create, int, (struct assay_dnnl_stream **stream, struct assay_dnnl_engine *engine,    \
                           unsigned flags))                                                        \
    X(stream_wait, int, (struct assay_dnnl_stream *stream))                                        \
    X(stream_destroy, int, (struct assay_dnnl_stream *stream))                                     \
    X(memory_desc_init_by_strides, int, (struct assay_dnnl_memory_desc *desc, int rank,            \
                                         const int64_t *dims, int dtype, const int64_t *strides))  \
    X(memory_desc_init_by_tag, int, (struct assay_dnnl_memory_desc *desc, int rank,                \
                                     const int64_t *dims, int dtype, int tag))                     \
    X(memory_desc_equal, int, (const struct assay_dnnl_memory_desc *one,                           \
                               const struct assay_dnnl_memory_desc *other))                        \
    X(memory_desc_get_size, size_t, (const struct assay_dnnl_memory_desc *desc))                   \
    X(memory_create, int, (struct assay_dnnl_memory **memory,                                      \
                           const struct assay_dnnl_memory_desc *desc,                              \
                           struct assay_dnnl_engine *engine, void *data))                          \
    X(memory_set_data_handle, int, (struct assay_dnnl_memory *memory, void *data))                 \
    X(memory_destroy, int, (struct assay_dnnl_memory *memory))                                     \
    X(eltwise_forward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop, int algorithm,   \
                                       const struct assay_dnnl_memory_desc *data, float alpha,     \
                                       float beta))                                                \
    X(softmax_forward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop,                  \
                                       const struct assay_dnnl_memory_desc *data, int axis))       \
    X(layer_normalization_forward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop,      \
                                                   const struct assay_dnnl_memory_desc *data,      \
                                                   const struct assay_dnnl_memory_desc *stats,     \
                                                   float epsilon, unsigned flags))                 \
    X(eltwise_backward_desc_init, int, (struct assay_dnnl_op_desc *desc, int algorithm,            \
                                        const struct assay_dnnl_memory_desc *gradient,             \
                                        const struct assay_dnnl_memory_desc *data, float alpha,    \
                                        float beta))                                               \
    X(softmax_backward_desc_init, int, (struct assay_dnnl_op_desc *desc,                           \
                                        const struct assay_dnnl_memory_desc *gradient,             \
                                        const struct assay_dnnl_memory_desc *data, int axis))      \
    X(layer_normalization_backward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop,     \
                                                    const struct assay_dnnl_memory_desc *gradient, \
                                                    const struct assay_dnnl_memory_desc *data,     \
                                                    const struct assay_dnnl_memory_desc *stats,    \
                                                    float epsilon, unsigned flags))                \
    X(binary_desc_init, int, (struct assay_dnnl_op_desc *desc, int algorithm,                      \
                              const struct assay_dnnl_memory_desc *src0,                           \
                              const struct assay_dnnl_memory_desc *src1,                           \
                              const struct assay_dnnl_memory_desc *dst))                           \
    X(matmul_desc_init, int, (struct assay_dnnl_op_desc *desc,                                     \
                              const struct assay_dnnl_memory_desc *src,                            \
                              const struct assay_dnnl_memory_desc *weights,                        \
                              const struct assay_dnnl_memory_desc *bias,                           \
                              const struct assay_dnnl_memory_desc *dst))                           \
    X(convolution_forward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop,              \
                                           int algorithm,                                          \
                                           const struct assay_dnnl_memory_desc *src,               \
                                           const struct assay_dnnl_memory_desc *weights,           \
                                           const struct assay_dnnl_memory_desc *bias,              \
                                           const struct assay_dnnl_memory_desc *dst,               \
                                           const int64_t *strides, const int64_t *padding_before,  \
                                           const int64_t *padding_behind))                         \
    X(convolution_backward_data_desc_init, int,                                                    \
      (struct assay_dnnl_op_desc *desc, int algorithm,                                             \
       const struct assay_dnnl_memory_desc *diff_src,                                              \
       const struct assay_dnnl_memory_desc *weights,                                               \
       const struct assay_dnnl_memory_desc *diff_dst, const int64_t *strides,                      \
       const int64_t *padding_before, const int64_t *padding_behind))                              \
    X(convolution_backward_weights_desc_init, int,                                                 \
      (struct assay_dnnl_op_desc *desc, int algorithm, const struct assay_dnnl_memory_desc *src,   \
       const struct assay_dnnl_memory_desc *diff_weights,                                          \
       const struct assay_dnnl_memory_desc *diff_bias,                                             \
       const struct assay_dnnl_memory_desc *diff_dst, const int64_t *strides,                      \
       const int64_t *padding_before, const int64_t *padding_behind))                              \
    X(inner_product_backward_data_desc_init, int,                                                  \
      (struct assay_dnnl_op_desc *desc, const struct assay_dnnl_memory_desc *diff_src,             \
       const struct assay_dnnl_memory_desc *weights,                                               \
       const struct assay_dnnl_memory_desc *diff_dst))                                             \
    X(inner_product_backward_weights_desc_init, int,                                               \
      (struct assay_dnnl_op_desc *desc, const struct assay_dnnl_memory_desc *src,                  \
       const struct assay_dnnl_memory_desc *diff_weights,                                          \
       const struct assay_dnnl_memory_desc *diff_bias,                                             \
       const struct assay_dnnl_memory_desc *diff_dst))                                             \
    X(post_ops_create, int, (struct assay_dnnl_post_ops **post_ops))                               \
    X(post_ops_append_eltwise, int, (struct assay_dnnl_post_ops *post_ops, float scale,            \
                                     int algorithm, float alpha, float beta))                      \
    X(post_ops_append_binary, int, (struct assay_dnnl_post_ops *post_ops, int algorithm,           \
                                    const struct assay_dnnl_memory_desc *second))                  \
    X(post_ops_destroy, int, (struct assay_dnnl_post_ops *post_ops))                               \
    X(primitive_attr_create, int, (struct assay_dnnl_primitive_attr **attributes))                 \
    X(primitive_attr_set_post_ops, int, (struct assay_dnnl_primitive_attr *attributes,             \
                                         const struct assay_dnnl_post_ops *post_ops))              \
    X(primitive_attr_destroy, int, (struct assay_dnnl_primitive_attr *attributes))                 \
    X(reorder_primitive_desc_create, int, (struct assay_dnnl_primitive_desc **out,                 \
                                           const struct assay_dnnl_memory_desc *src,               \
                                           struct assay_dnnl_engine *src_engine,                   \
                                           const struct assay_dnnl_memory_desc *dst,               \
                                           struct assay_dnnl_engine *dst_engine,                   \
                                           const void *attributes))                                \
    X(primitive_desc_query_md, const struct assay_dnnl_memory_desc *,                              \
      (const struct assay_dnnl_primitive_desc *desc, int what, int index))                         \
    X(primitive_desc_create, int, (struct assay_dnnl_primitive_desc **out,                         \
                                   const struct assay_dnnl_op_desc *desc, const void *attributes,  \
                                   struct assay_dnnl_engine *engine, const void *hint))            \
    X(primitive_desc_destroy, int, (struct assay_dnnl_primitive_desc *desc))                       \
    X(primitive_create, int, (struct assay_dnnl_primitive **out,                                   \
                              const struct assay_dnnl_primitive_desc *desc))                       \
    X(primitive_execute, int, (const struct assay_dnnl_primitive *primitive,                       \
                               struct assay_dnnl_stream *stream, int n,                            \
                               const struct assay_dnnl_exec_arg *args))                            \
    X(primitive_destroy, int, (struct assay_dnnl_primitive *primitive))

/* Since 2.6, and NULL before: a softmax whose output has another type. */
#define ASSAY_DNNL_LATER_FUNCTIONS(X)                                                              \
    X(softmax_v2_forward_desc_init, int, (struct assay_dnnl_op_desc *desc, int prop,               \
                                          int algorithm, const struct assay_dnnl_memory_desc *src, \
                                          const struct assay_dnnl_memory_desc *dst, int axis))
/* clang-format on */

struct assay_dnnl_api {
#define ASSAY_DNNL_FIELD(name, result, args) result(*name) args;
    ASSAY_DNNL_FUNCTIONS(ASSAY_DNNL_FIELD)
    ASSAY_DNNL_LATER_FUNCTIONS(ASSAY_DNNL_FIELD)
#undef ASSAY_DNNL_FIELD
    /* Of the OpenMP library that oneDNN itself uses, which need not be the one assay was linked
     * with: the portable binary has its own inside. */
    void (*omp_set_num_threads)(int n);
    int (*omp_get_max_threads)(void);
};

#endif
