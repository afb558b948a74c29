/* softmax_avx2.c: softmax with AVX2; the work is in softmax_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP softmax
#include "kernel/native/rows/softmax_body.h"
