/* attention_portable.c: attention in plain C; the work is in attention_body.h. */
#include "kernel/native/vec/vec_portable.h"

#include "kernel/native/attention/attention_body.h"
