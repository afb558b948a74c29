/* cuda_info.h: what `assay info` tells of NVIDIA's driver, libraries and GPUs. Makes no context. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_INFO_H
#define ASSAY_DEVICE_CUDA_CUDA_INFO_H

#include "base/text.h"

/* Lines of a name, padded to 13 characters, and what there is to say. */
void assay_cuda_info(struct assay_text *out);

#endif
