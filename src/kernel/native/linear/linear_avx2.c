#include "kernel/native/vec/vec_avx2.h"

#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_line_avx2.h"
#define LINEAR_STREAM
#include "kernel/native/linear/linear_body.h"

LINEAR_BODY(assay_linear_avx2);

static const struct linear_takes takes = LINEAR_TAKES_ALL;
LINEAR_KERNEL(linear_avx2, VEC_NEED, VEC_PREFERENCE, assay_linear_avx2, takes);
