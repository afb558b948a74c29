/* tiles_emulated.h: the matrix unit's tiles as plain memory, for CPUs that have none. Included
 * before anything else in the files of kernels for AMX and in tests of them (tests/CMakeLists.txt),
 * it replaces the tile instructions, so that a CPU needs only AVX-512 with BF16. A sanitizer sees
 * what tiles read and write. */
#ifndef ASSAY_TEST_TILES_EMULATED_H
#define ASSAY_TEST_TILES_EMULATED_H

#include "device/cpu/cpu_info.h"

#define ASSAY_CPU_AMX_TILE 0u
#define ASSAY_CPU_AMX_BF16 0u
#define ASSAY_CPU_AMX_INT8 0u

#if defined(ASSAY_EMULATED_TILES) /* in the kernels; tests need the constants alone */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* In place of device/cpu/cpu_tiles_amx.h. */
#define ASSAY_DEVICE_CPU_TILES_AMX_H
static inline void assay_cpu_tiles_open(void) {}
static inline void assay_cpu_tiles_close(void) {}

static _Thread_local unsigned char tiles_emulated[8][16][64];

static inline void tile_emulated_load(int tile, const void *from, size_t stride)
{
    for (size_t row = 0; row < 16; row++)
        memcpy(tiles_emulated[tile][row], (const unsigned char *)from + row * stride, 64);
}

static inline void tile_emulated_store(int tile, void *to, size_t stride)
{
    for (size_t row = 0; row < 16; row++)
        memcpy((unsigned char *)to + row * stride, tiles_emulated[tile][row], 64);
}

/* Four bytes of a row of a, to meet a row of b. */
static inline int32_t tile_emulated_four(int a, int row, int k)
{
    int32_t four;
    memcpy(&four, &tiles_emulated[a][row][k * 4], 4);
    return four;
}

static inline void tile_emulated_bf16(int c, int a, int b)
{
    for (int row = 0; row < 16; row++) {
        __m512 sum = _mm512_loadu_ps(tiles_emulated[c][row]);
        for (int k = 0; k < 16; k++) {
            __m512i x = _mm512_set1_epi32(tile_emulated_four(a, row, k));
            __m512i w = _mm512_loadu_si512(tiles_emulated[b][k]);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
        }
        _mm512_storeu_ps(tiles_emulated[c][row], sum);
    }
}

/* Byte `i` of each 32 bits, with its sign. */
static inline __m512i tile_emulated_byte(__m512i x, unsigned int i)
{
    return _mm512_srai_epi32(_mm512_slli_epi32(x, 24 - 8 * i), 24);
}

static inline void tile_emulated_s8(int c, int a, int b)
{
    for (int row = 0; row < 16; row++) {
        __m512i sum = _mm512_loadu_si512(tiles_emulated[c][row]);
        for (int k = 0; k < 16; k++) {
            __m512i x = _mm512_set1_epi32(tile_emulated_four(a, row, k));
            __m512i w = _mm512_loadu_si512(tiles_emulated[b][k]);
            for (unsigned int i = 0; i < 4; i++)
                sum = _mm512_add_epi32(
                    sum, _mm512_mullo_epi32(tile_emulated_byte(x, i), tile_emulated_byte(w, i)));
        }
        _mm512_storeu_si512(tiles_emulated[c][row], sum);
    }
}

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadd(tile, from, stride) tile_emulated_load(tile, from, stride)
#define _tile_stream_loadd(tile, from, stride) tile_emulated_load(tile, from, stride)
#define _tile_stored(tile, to, stride) tile_emulated_store(tile, to, stride)
#define _tile_zero(tile) memset(tiles_emulated[tile], 0, sizeof tiles_emulated[tile])
#define _tile_dpbf16ps(c, a, b) tile_emulated_bf16(c, a, b)
#define _tile_dpbssd(c, a, b) tile_emulated_s8(c, a, b)

#endif
#endif
