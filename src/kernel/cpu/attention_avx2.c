/* attention_avx2.c: attention with AVX2; the work is in attention_body.h. */
#include "kernel/cpu/vec_avx2.h"

#include "kernel/cpu/attention_body.h"
