#include "kernel/cpu/vec_avx512.h"

#include "kernel/cpu/linear_bodies.h"
#include "kernel/cpu/linear_line_avx512.h"
#define LINEAR_STREAM
#include "kernel/cpu/linear_body.h"

LINEAR_BODY(assay_linear_avx512);

static const struct linear_takes takes = LINEAR_TAKES_ALL;
LINEAR_KERNEL(linear_avx512, VEC_NEED, VEC_PREFERENCE, assay_linear_avx512, takes);
