/* dequantize_avx2.c: dequantize with AVX2; the work is in dequantize_body.h. */
#include "kernel/native/quantize/quantize_vec_avx2.h"

#include "kernel/native/quantize/dequantize_body.h"
