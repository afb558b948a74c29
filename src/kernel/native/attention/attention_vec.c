/* attention_vec.c: products and sums in f32. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/attention/attention_body.h"
