/* dequantize_avx512.c: dequantize with AVX-512; the work is in dequantize_body.h. */
#include "kernel/native/quantize/quantize_vec_avx512.h"

#include "kernel/native/quantize/dequantize_body.h"
