/* quantize_avx2.c: quantize with AVX2; the work is in quantize_body.h. */
#include "kernel/native/quantize/quantize_vec_avx2.h"

#include "kernel/native/quantize/quantize_body.h"
