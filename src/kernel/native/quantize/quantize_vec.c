/* quantize_vec.c: quantize over vectors; plain C has a body of its own. */
#include "kernel/native/vec/vec.h"

#if VEC_BITS == 512
#include "kernel/native/quantize/quantize_vec_avx512.h"
#include "kernel/native/quantize/quantize_body.h"
#elif VEC_BITS == 256
#include "kernel/native/quantize/quantize_vec_avx2.h"
#include "kernel/native/quantize/quantize_body.h"
#else
#include "kernel/native/quantize/quantize_portable.h"
#endif
