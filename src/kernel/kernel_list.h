/* One line for each kernel, by folder. Kernels of different implementations are shown in this
 * order, so it is not the alphabet's; of one implementation the order does not matter (see
 * `preference`). The `ref` kernel of every op comes from op_list.h and needs no line here. No
 * include guard.
 *
 * ASSAY_VECTOR_KERNEL(relu): relu_vec.c, which the build compiles for each instruction set. */
#define ASSAY_VECTOR_KERNEL(n)                                                                     \
    ASSAY_KERNEL(n##_portable) ASSAY_KERNEL(n##_avx2) ASSAY_KERNEL(n##_avx512)

/* native/rows */
ASSAY_VECTOR_KERNEL(layernorm)
ASSAY_VECTOR_KERNEL(rmsnorm)
ASSAY_VECTOR_KERNEL(layernorm_gelu)
ASSAY_VECTOR_KERNEL(gelu)
ASSAY_VECTOR_KERNEL(gelu_tanh)
ASSAY_VECTOR_KERNEL(silu)
ASSAY_VECTOR_KERNEL(relu)
ASSAY_VECTOR_KERNEL(sigmoid)
ASSAY_VECTOR_KERNEL(leakyrelu)
ASSAY_VECTOR_KERNEL(relu6)
ASSAY_VECTOR_KERNEL(hardswish)
ASSAY_VECTOR_KERNEL(add)
ASSAY_VECTOR_KERNEL(softmax)
ASSAY_VECTOR_KERNEL(sum)
ASSAY_VECTOR_KERNEL(mse)
ASSAY_VECTOR_KERNEL(cross_entropy)

/* native/image */
ASSAY_VECTOR_KERNEL(depthwise_conv2d)
ASSAY_VECTOR_KERNEL(depthwise_conv2d_backward)
ASSAY_VECTOR_KERNEL(groupnorm)
ASSAY_VECTOR_KERNEL(groupnorm_training)
ASSAY_VECTOR_KERNEL(groupnorm_backward)

/* native/rows */
ASSAY_VECTOR_KERNEL(swiglu)

/* native/rows: forward passes of training */
ASSAY_VECTOR_KERNEL(layernorm_training)
ASSAY_VECTOR_KERNEL(rmsnorm_training)
ASSAY_VECTOR_KERNEL(layernorm_gelu_training)

/* native/rows: gradients */
ASSAY_VECTOR_KERNEL(layernorm_backward)
ASSAY_VECTOR_KERNEL(rmsnorm_backward)
ASSAY_VECTOR_KERNEL(layernorm_gelu_backward)
ASSAY_VECTOR_KERNEL(gelu_backward)
ASSAY_VECTOR_KERNEL(gelu_tanh_backward)
ASSAY_VECTOR_KERNEL(silu_backward)
ASSAY_VECTOR_KERNEL(relu_backward)
ASSAY_VECTOR_KERNEL(sigmoid_backward)
ASSAY_VECTOR_KERNEL(leakyrelu_backward)
ASSAY_VECTOR_KERNEL(relu6_backward)
ASSAY_VECTOR_KERNEL(hardswish_backward)
ASSAY_VECTOR_KERNEL(add_backward)
ASSAY_VECTOR_KERNEL(softmax_backward)
ASSAY_VECTOR_KERNEL(mse_backward)
ASSAY_VECTOR_KERNEL(cross_entropy_backward)
ASSAY_VECTOR_KERNEL(cross_entropy_both)
ASSAY_VECTOR_KERNEL(swiglu_backward)

/* native/rows: optimizers */
ASSAY_VECTOR_KERNEL(adamw)
ASSAY_VECTOR_KERNEL(sgd)

/* native/stream */
ASSAY_KERNEL(read_native)
ASSAY_KERNEL(copy_native)
ASSAY_KERNEL(triad_native)
ASSAY_VECTOR_KERNEL(triad)
ASSAY_VECTOR_KERNEL(fma)

/* onednn */
ASSAY_KERNEL(layernorm_onednn)
ASSAY_KERNEL(softmax_onednn)
ASSAY_KERNEL(gelu_onednn)
ASSAY_KERNEL(gelu_tanh_onednn)
ASSAY_KERNEL(silu_onednn)
ASSAY_KERNEL(relu_onednn)
ASSAY_KERNEL(sigmoid_onednn)
ASSAY_KERNEL(leakyrelu_onednn)
ASSAY_KERNEL(relu6_onednn)
ASSAY_KERNEL(hardswish_onednn)
ASSAY_KERNEL(add_onednn)
ASSAY_KERNEL(depthwise_conv2d_onednn)
ASSAY_KERNEL(layernorm_backward_onednn)
ASSAY_KERNEL(softmax_backward_onednn)
ASSAY_KERNEL(gelu_backward_onednn)
ASSAY_KERNEL(gelu_tanh_backward_onednn)
ASSAY_KERNEL(silu_backward_onednn)
ASSAY_KERNEL(relu_backward_onednn)
ASSAY_KERNEL(sigmoid_backward_onednn)
ASSAY_KERNEL(leakyrelu_backward_onednn)
ASSAY_KERNEL(relu6_backward_onednn)
ASSAY_KERNEL(hardswish_backward_onednn)
ASSAY_KERNEL(linear_onednn)
ASSAY_KERNEL(linear_onednn_avx512)
ASSAY_KERNEL(linear_backward_onednn)
ASSAY_KERNEL(linear_backward_onednn_avx512)
ASSAY_KERNEL(conv2d_onednn)
ASSAY_KERNEL(conv2d_onednn_avx512)
ASSAY_KERNEL(conv2d_backward_onednn)
ASSAY_KERNEL(conv2d_backward_onednn_avx512)
ASSAY_KERNEL(depthwise_conv2d_backward_onednn)
ASSAY_KERNEL(attention_onednn)
ASSAY_KERNEL(attention_onednn_avx512)

/* openblas */
ASSAY_KERNEL(linear_openblas)
ASSAY_KERNEL(linear_backward_openblas)

/* native/linear */
ASSAY_VECTOR_KERNEL(linear)
ASSAY_KERNEL(linear_bf16dot_avx512)
ASSAY_KERNEL(linear_vnni_avx512)
ASSAY_KERNEL(linear_s8_vnni_avx512)
ASSAY_KERNEL(linear_amx)
ASSAY_VECTOR_KERNEL(linear_training)
ASSAY_KERNEL(linear_training_bf16dot_avx512)
ASSAY_KERNEL(linear_training_amx)
ASSAY_VECTOR_KERNEL(linear_backward)
ASSAY_KERNEL(linear_backward_bf16dot_avx512)
ASSAY_KERNEL(linear_backward_amx)

/* native/quantize */
ASSAY_VECTOR_KERNEL(quantize)
ASSAY_VECTOR_KERNEL(quantize_turned)
ASSAY_VECTOR_KERNEL(dequantize)

/* native/attention */
ASSAY_VECTOR_KERNEL(attention)
ASSAY_VECTOR_KERNEL(attention_training)
ASSAY_VECTOR_KERNEL(attention_backward)
ASSAY_KERNEL(attention_bf16dot_avx512)
ASSAY_KERNEL(attention_training_bf16dot_avx512)
ASSAY_KERNEL(attention_amx)

/* native/linear: convolutions are products */
ASSAY_VECTOR_KERNEL(conv2d)
ASSAY_KERNEL(conv2d_bf16dot_avx512)
ASSAY_KERNEL(conv2d_amx)
ASSAY_VECTOR_KERNEL(conv2d_backward)
ASSAY_KERNEL(conv2d_backward_bf16dot_avx512)
ASSAY_KERNEL(conv2d_backward_amx)

/* cuda, cublaslt, cudnn */
ASSAY_KERNEL(layernorm_cuda)
ASSAY_KERNEL(rmsnorm_cuda)
ASSAY_KERNEL(layernorm_gelu_cuda)
ASSAY_KERNEL(gelu_cuda)
ASSAY_KERNEL(gelu_tanh_cuda)
ASSAY_KERNEL(silu_cuda)
ASSAY_KERNEL(relu_cuda)
ASSAY_KERNEL(sigmoid_cuda)
ASSAY_KERNEL(leakyrelu_cuda)
ASSAY_KERNEL(relu6_cuda)
ASSAY_KERNEL(hardswish_cuda)
ASSAY_KERNEL(add_cuda)
ASSAY_KERNEL(read_cuda)
ASSAY_KERNEL(copy_cuda)
ASSAY_KERNEL(triad_cuda)
ASSAY_KERNEL(fma_cuda)
ASSAY_KERNEL(swiglu_cuda)
ASSAY_KERNEL(groupnorm_cuda)
ASSAY_KERNEL(depthwise_conv2d_cuda)
ASSAY_KERNEL(softmax_cuda)
ASSAY_KERNEL(attention_cuda)
ASSAY_KERNEL(attention_wgmma_cuda)
ASSAY_KERNEL(mse_cuda)
ASSAY_KERNEL(cross_entropy_cuda)
ASSAY_KERNEL(quantize_cuda)
ASSAY_KERNEL(dequantize_cuda)
ASSAY_KERNEL(linear_cublaslt)
ASSAY_KERNEL(linear_wgmma_cuda)
ASSAY_KERNEL(linear_wo_cuda)
ASSAY_KERNEL(conv2d_cuda)
ASSAY_KERNEL(conv2d_wgmma_cuda)
ASSAY_KERNEL(conv2d_cudnn)
ASSAY_KERNEL(attention_cudnn)
