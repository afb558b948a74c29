/* dequantize_avx2.c: dequantize with AVX2; the work is in dequantize_body.h. */
#include "kernel/cpu/quantize_vec_avx2.h"

#include "kernel/cpu/dequantize_body.h"
