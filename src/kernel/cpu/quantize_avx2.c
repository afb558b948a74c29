/* quantize_avx2.c: quantize with AVX2; the work is in quantize_body.h. */
#include "kernel/cpu/quantize_vec_avx2.h"

#include "kernel/cpu/quantize_body.h"
