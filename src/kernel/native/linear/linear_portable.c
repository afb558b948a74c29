#include "kernel/native/vec/vec_portable.h"

#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_line_portable.h"
#define LINEAR_STREAM
#include "kernel/native/linear/linear_body.h"

LINEAR_BODY(assay_linear_portable);

static const struct linear_takes takes = LINEAR_TAKES_ALL;
LINEAR_KERNEL(linear_portable, VEC_NEED, VEC_PREFERENCE, assay_linear_portable, takes);
