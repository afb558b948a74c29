/* onednn_convolution.h: conv2d as oneDNN's convolution, for conv2d_onednn and
 * conv2d_onednn_avx512. */
#ifndef ASSAY_KERNEL_ONEDNN_CONVOLUTION_H
#define ASSAY_KERNEL_ONEDNN_CONVOLUTION_H

#include "kernel/onednn/onednn_weights.h"

assay_onednn_describe_fn assay_onednn_convolution_describe;

#endif
