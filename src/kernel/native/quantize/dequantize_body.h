/* dequantize_body.h: the body of dequantize over vectors. Include a quantize_vec_*.h first.
 * quantize_native.h says what the functions do. */
#ifndef ASSAY_KERNEL_NATIVE_DEQUANTIZE_BODY_H
#define ASSAY_KERNEL_NATIVE_DEQUANTIZE_BODY_H

#include "kernel/native/quantize/quantize_native.h"

enum { DECODE_PAIR = 2 * VEC_LANES };

/* What is left of a run: fewer than a pair. */
VEC_INLINE void decode_rest(enum native_kind kind, enum quantize_format format,
                            const uint8_t *codes, int64_t at, int64_t n,
                            const struct decode_run *run, void *y)
{
    uint8_t buffer[DECODE_PAIR] = {0};
    memcpy(buffer, codes, (size_t)(format == QUANTIZE_U4 ? n / 2 : n));
    struct vec_pair p = decode_pair(format, buffer, run);
    vec_store_part(kind, y, at, p.a, n < VEC_LANES ? n : VEC_LANES);
    if (n > VEC_LANES)
        vec_store_part(kind, y, at + VEC_LANES, p.b, n - VEC_LANES);
}

VEC_INLINE void decode(enum native_kind kind, enum quantize_format format, bool stream,
                       const uint8_t *codes, struct quantize_runs runs, const float *scales,
                       void *y)
{
    const int shift = format == QUANTIZE_U4; /* of elements to bytes */
    for (int64_t r = 0; r < runs.n; r++) {
        int64_t at = runs.at + r * runs.run, i = 0;
        struct decode_run run = decode_run_of(format, scales + (r << shift));
        for (; i + DECODE_PAIR <= runs.run; i += DECODE_PAIR) {
            const uint8_t *from = codes + ((at + i) >> shift);
            decode_store(kind, stream, y, at + i, decode_pair(format, from, &run));
        }
        if (i < runs.run)
            decode_rest(kind, format, codes + ((at + i) >> shift), at + i, runs.run - i, &run, y);
    }
}

static void stream_end(void) { vec_stream_end(); }

#define DECODE(kind, format)                                                                       \
    static void NATIVE_PASTE(decode_##kind, format)(const uint8_t *codes,                          \
                                                    struct quantize_runs runs,                     \
                                                    const float *scales, bool stream, void *y)     \
    {                                                                                              \
        if (stream)                                                                                \
            decode(NATIVE_##kind, QUANTIZE_##format, true, codes, runs, scales, y);                \
        else                                                                                       \
            decode(NATIVE_##kind, QUANTIZE_##format, false, codes, runs, scales, y);               \
    }

#define DECODE_ALL(kind) DECODE(kind, S8) DECODE(kind, E4M3) DECODE(kind, E5M2) DECODE(kind, U4)
#define ENTRIES(kind)                                                                              \
    {                                                                                              \
        decode_##kind##_S8, decode_##kind##_E4M3, decode_##kind##_E5M2, decode_##kind##_U4         \
    }

DECODE_ALL(F32)
DECODE_ALL(F16)
DECODE_ALL(BF16)
#ifdef VEC_HAS_BF16_INSN
DECODE_ALL(BF16_INSN)
#endif

static const struct dequantize_body dequantize_body = {
    .decode = {[NATIVE_F32] = ENTRIES(F32),
               [NATIVE_F16] = ENTRIES(F16),
               [NATIVE_BF16] = ENTRIES(BF16),
#ifdef VEC_HAS_BF16_INSN
               [NATIVE_BF16_INSN] = ENTRIES(BF16_INSN)
#endif
    },
    .stream_end = stream_end,
};

QUANTIZE_KERNEL(dequantize, dequantize_body);

#endif
