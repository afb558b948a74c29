/* attention_avx2.c: attention with AVX2; the work is in attention_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#include "kernel/native/attention/attention_body.h"
