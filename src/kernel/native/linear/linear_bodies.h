/* linear_bodies.h: the bodies of `linear` by name, for tests; each is defined by the file of its
 * kernel. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BODIES_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BODIES_H

#include "kernel/native/linear/linear_native.h"

extern const struct linear_body assay_linear_portable;
extern const struct linear_body assay_linear_avx2;
extern const struct linear_body assay_linear_avx512;
extern const struct linear_body assay_linear_amx;            /* not x in f32 as it is */
extern const struct linear_body assay_linear_vnni_avx512;    /* x in S8, or made S8 */
extern const struct linear_body assay_linear_bf16dot_avx512; /* x in bf16, or made e4m3 */

#endif
