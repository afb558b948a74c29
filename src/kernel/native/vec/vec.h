/* vec.h: the vector type that a file *_vec.c is compiled for. The build compiles such a file once
 * for each instruction set and says which by VEC_BITS, the width of a vector. vec_portable.h says
 * what the functions do. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_H
#define ASSAY_KERNEL_NATIVE_VEC_H

#ifndef VEC_BITS
#define VEC_BITS 32
#endif

#if VEC_BITS == 512
#include "kernel/native/vec/vec_avx512.h"
#elif VEC_BITS == 256
#include "kernel/native/vec/vec_avx2.h"
#else
#include "kernel/native/vec/vec_portable.h"
#endif

#endif
