/* softmax_avx512.c: softmax with AVX-512; the work is in softmax_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP softmax
#include "kernel/native/rows/softmax_body.h"
