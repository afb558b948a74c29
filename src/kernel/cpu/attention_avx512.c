/* attention_avx512.c: attention with AVX-512; the work is in attention_body.h. */
#include "kernel/cpu/vec_avx512.h"

#include "kernel/cpu/attention_body.h"
