/* dequantize_avx512.c: dequantize with AVX-512; the work is in dequantize_body.h. */
#include "kernel/cpu/quantize_vec_avx512.h"

#include "kernel/cpu/dequantize_body.h"
