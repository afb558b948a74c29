/* attention_avx512.c: attention with AVX-512; the work is in attention_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/attention/attention_body.h"
