/* attention_portable.c: attention in plain C; the work is in attention_body.h. */
#include "kernel/cpu/vec_scalar.h"

#include "kernel/cpu/attention_body.h"
