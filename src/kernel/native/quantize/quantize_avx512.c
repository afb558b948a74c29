/* quantize_avx512.c: quantize with AVX-512; the work is in quantize_body.h. */
#include "kernel/native/quantize/quantize_vec_avx512.h"

#include "kernel/native/quantize/quantize_body.h"
