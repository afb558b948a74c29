/* cpu_loops_body.h: the loops, for whatever register the including file defines:
 *
 *     LOOP_VECTOR            its type                   LOOP_WIDTH   its bytes, at most 64
 *     LOOP_LOAD(p)           aligned load               LOOP_STORE(p, v)  aligned store
 *     LOOP_STREAM(p, v)      streaming store; leave it out where there is none
 *     LOOP_FENCE()           orders those
 *     LOOP_MULADD(a, b, c)   a * b + c on floats        LOOP_SPLAT(x)  a float in every lane
 *     LOOP_XOR(a, b)         of all bits
 *     LOOP_KEEP(v)           the compiler must have v in a register here
 *     LOOP_NAME(text)        the loop's name
 *
 * and then lists with LOOP_TABLE. Prefetching runs past the end of the source; a prefetch of what
 * is not mapped does nothing. By itself this header is empty. */
#include "device/cpu/cpu_loops.h"
#if defined(LOOP_VECTOR)

#define LOOP_AT(k) ((size_t)(k)*LOOP_WIDTH)
#define LOOP_BLOCK LOOP_AT(8)
#define LOOP_FOUR(X) X(0) X(1) X(2) X(3)
#define LOOP_EIGHT(X) LOOP_FOUR(X) X(4) X(5) X(6) X(7)

/* One prefetch for each line of a block, `ahead` bytes further on. `ahead` is a constant wherever
 * this is inlined; 0 means none. */
static inline __attribute__((always_inline)) void loop_prefetch(const char *s, size_t ahead)
{
    for (size_t line = 0; ahead && line < LOOP_BLOCK; line += 64)
        __builtin_prefetch(s + ahead + line, 0, 3);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* `streams` parts of the source side by side: a hardware prefetcher follows each of them a limited
 * distance ahead, so several keep more lines in flight than one. The words read are combined by
 * XOR, which costs nothing beside the load, and whose result shows that none was left out. */
static inline __attribute__((always_inline)) void
loop_read(void *dst, const void *src, size_t bytes, size_t streams, size_t ahead)
{
    size_t part = bytes / streams;
#define START(k) LOOP_VECTOR a##k = LOOP_SPLAT(0.0f);
    LOOP_EIGHT(START)
#undef START
    for (size_t i = 0; i < part; i += LOOP_BLOCK)
        for (size_t p = 0; p < streams; p++) {
            const char *s = (const char *)src + p * part + i;
            loop_prefetch(s, ahead);
#define TAKE(k) a##k = LOOP_XOR(a##k, LOOP_LOAD(s + LOOP_AT(k)));
            LOOP_EIGHT(TAKE)
#undef TAKE
        }
    LOOP_VECTOR low = LOOP_XOR(LOOP_XOR(a0, a1), LOOP_XOR(a2, a3));
    LOOP_VECTOR high = LOOP_XOR(LOOP_XOR(a4, a5), LOOP_XOR(a6, a7));
    LOOP_STORE(dst, LOOP_XOR(low, high));
}

#define LOOP_READ(suffix, streams, ahead)                                                          \
    static void read_##suffix(void *dst, const void *src, const void *more, size_t bytes)          \
    {                                                                                              \
        (void)more;                                                                                \
        loop_read(dst, src, bytes, streams, ahead);                                                \
    }
LOOP_READ(plain, 1, 0)
LOOP_READ(two, 2, 0)
LOOP_READ(four, 4, 0)
LOOP_READ(eight, 8, 0)
LOOP_READ(ahead_2k, 1, 2048)
LOOP_READ(four_ahead_1k, 4, 1024)
#undef LOOP_READ

/* ---- writing --------------------------------------------------------------------------------- */

static void write_plain(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)src, (void)more;
    LOOP_VECTOR v = LOOP_SPLAT(1.0f);
    for (size_t i = 0; i < bytes; i += LOOP_BLOCK) {
        char *d = (char *)dst + i;
        LOOP_KEEP(v); /* or the compiler sees a memset */
#define PUT(k) LOOP_STORE(d + LOOP_AT(k), v);
        LOOP_EIGHT(PUT)
#undef PUT
    }
}

#if defined(LOOP_STREAM)
static inline __attribute__((always_inline)) void loop_write_stream(void *dst, size_t bytes,
                                                                    size_t streams)
{
    LOOP_VECTOR v = LOOP_SPLAT(1.0f);
    size_t part = bytes / streams;
    for (size_t i = 0; i < part; i += LOOP_BLOCK)
        for (size_t p = 0; p < streams; p++) {
            char *d = (char *)dst + p * part + i;
#define PUT(k) LOOP_STREAM(d + LOOP_AT(k), v);
            LOOP_EIGHT(PUT)
#undef PUT
        }
    LOOP_FENCE();
}
static void write_nt(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)src, (void)more;
    loop_write_stream(dst, bytes, 1);
}
static void write_nt_two(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)src, (void)more;
    loop_write_stream(dst, bytes, 2);
}
#endif

/* ---- copying --------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void loop_put(char *d, LOOP_VECTOR v, bool nt)
{
#if defined(LOOP_STREAM)
    if (nt) {
        LOOP_STREAM(d, v);
        return;
    }
#endif
    (void)nt;
    LOOP_STORE(d, v);
}

/* Eight loads, then eight stores: the next lines are in flight while the stores drain. */
static inline __attribute__((always_inline)) void
loop_copy(void *dst, const void *src, size_t bytes, size_t streams, size_t ahead, bool nt)
{
    size_t part = bytes / streams;
    for (size_t i = 0; i < part; i += LOOP_BLOCK)
        for (size_t p = 0; p < streams; p++) {
            const char *s = (const char *)src + p * part + i;
            char *d = (char *)dst + p * part + i;
            loop_prefetch(s, ahead);
#define GET(k) LOOP_VECTOR v##k = LOOP_LOAD(s + LOOP_AT(k));
            LOOP_EIGHT(GET)
#undef GET
            LOOP_KEEP(v0); /* or the compiler sees a memcpy */
#define PUT(k) loop_put(d + LOOP_AT(k), v##k, nt);
            LOOP_EIGHT(PUT)
#undef PUT
        }
#if defined(LOOP_STREAM)
    if (nt)
        LOOP_FENCE();
#endif
}

#define LOOP_COPY(suffix, streams, ahead, nt)                                                      \
    static void copy_##suffix(void *dst, const void *src, const void *more, size_t bytes)          \
    {                                                                                              \
        (void)more;                                                                                \
        loop_copy(dst, src, bytes, streams, ahead, nt);                                            \
    }
LOOP_COPY(plain, 1, 0, false)
LOOP_COPY(two, 2, 0, false)
LOOP_COPY(ahead_1k, 1, 1024, false)
#if defined(LOOP_STREAM)
LOOP_COPY(nt, 1, 0, true)
LOOP_COPY(nt_two, 2, 0, true)
LOOP_COPY(nt_four, 4, 0, true)
LOOP_COPY(nt_eight, 8, 0, true)
LOOP_COPY(nt_ahead_2k, 1, 2048, true)
LOOP_COPY(nt_four_ahead_1k, 4, 1024, true)
#endif
#undef LOOP_COPY

/* ---- two reads and a write ------------------------------------------------------------------- */

/* dst = src + 3 more, in floats: STREAM's triad. */
static inline __attribute__((always_inline)) void loop_triad(void *dst, const void *src,
                                                             const void *more, size_t bytes,
                                                             size_t streams, size_t ahead, bool nt)
{
    size_t part = bytes / streams;
    LOOP_VECTOR three = LOOP_SPLAT(3.0f);
    for (size_t i = 0; i < part; i += LOOP_BLOCK)
        for (size_t p = 0; p < streams; p++) {
            const char *a = (const char *)src + p * part + i;
            const char *b = (const char *)more + p * part + i;
            char *d = (char *)dst + p * part + i;
            loop_prefetch(a, ahead);
            loop_prefetch(b, ahead);
#define GET(k)                                                                                     \
    LOOP_VECTOR v##k = LOOP_MULADD(LOOP_LOAD(b + LOOP_AT(k)), three, LOOP_LOAD(a + LOOP_AT(k)));
            LOOP_EIGHT(GET)
#undef GET
#define PUT(k) loop_put(d + LOOP_AT(k), v##k, nt);
            LOOP_EIGHT(PUT)
#undef PUT
        }
#if defined(LOOP_STREAM)
    if (nt)
        LOOP_FENCE();
#endif
}

/* Line by line, each store behind its loads: up to a fifth faster than eight loads and then eight
 * stores where memory is what binds. */
#if defined(LOOP_STREAM)
static void triad_nt_lines(void *dst, const void *src, const void *more, size_t bytes)
{
    LOOP_VECTOR three = LOOP_SPLAT(3.0f);
    for (size_t i = 0; i < bytes; i += LOOP_BLOCK) {
        const char *a = (const char *)src + i, *b = (const char *)more + i;
        char *d = (char *)dst + i;
#define STEP(k)                                                                                    \
    LOOP_STREAM(d + LOOP_AT(k),                                                                    \
                LOOP_MULADD(LOOP_LOAD(b + LOOP_AT(k)), three, LOOP_LOAD(a + LOOP_AT(k))));
        LOOP_EIGHT(STEP)
#undef STEP
    }
    LOOP_FENCE();
}
#endif

#define LOOP_TRIAD(suffix, streams, ahead, nt)                                                     \
    static void triad_##suffix(void *dst, const void *src, const void *more, size_t bytes)         \
    {                                                                                              \
        loop_triad(dst, src, more, bytes, streams, ahead, nt);                                     \
    }
LOOP_TRIAD(plain, 1, 0, false)
LOOP_TRIAD(two, 2, 0, false)
LOOP_TRIAD(ahead_1k, 1, 1024, false)
#if defined(LOOP_STREAM)
LOOP_TRIAD(nt, 1, 0, true)
LOOP_TRIAD(nt_two, 2, 0, true)
LOOP_TRIAD(nt_four, 4, 0, true)
LOOP_TRIAD(nt_ahead_2k, 1, 2048, true)
#endif
#undef LOOP_TRIAD

/* ---- multiplying ----------------------------------------------------------------------------- */

/* Twelve independent chains: two units times a latency of four or five cycles must be kept busy,
 * and twelve leave registers for the constants where there are sixteen. The values settle at 2, so
 * that nothing overflows or becomes subnormal. */
#define LOOP_TWELVE(X) LOOP_EIGHT(X) X(8) X(9) X(10) X(11)
static void fma_registers(void *dst, const void *src, const void *more, size_t flops)
{
    (void)dst, (void)src, (void)more;
    LOOP_VECTOR half = LOOP_SPLAT(0.5f), one = LOOP_SPLAT(1.0f);
#define START(k) LOOP_VECTOR a##k = LOOP_SPLAT((float)(k));
    LOOP_TWELVE(START)
#undef START
    LOOP_KEEP(half);
    LOOP_KEEP(one);
    const size_t flops_a_turn = 2 * LOOP_AT(12) / sizeof(float);
    for (size_t done = 0; done < flops; done += flops_a_turn) {
#define STEP(k) a##k = LOOP_MULADD(a##k, half, one);
        LOOP_TWELVE(STEP)
#undef STEP
    }
#define END(k) LOOP_KEEP(a##k);
    LOOP_TWELVE(END)
#undef END
}

/* ---- the list -------------------------------------------------------------------------------- */

/* clang-format off */
#if defined(LOOP_STREAM)
#define LOOP_TABLE_NT                                                                              \
    {LOOP_NAME("write nt"),       ASSAY_CPU_LOOP_WRITE, true,  write_nt, 0},                       \
    {LOOP_NAME("write nt x2"),    ASSAY_CPU_LOOP_WRITE, true,  write_nt_two, 0},                   \
    {LOOP_NAME("copy nt"),        ASSAY_CPU_LOOP_COPY,  true,  copy_nt, 0},                        \
    {LOOP_NAME("copy nt x2"),     ASSAY_CPU_LOOP_COPY,  true,  copy_nt_two, 0},                    \
    {LOOP_NAME("copy nt x4"),     ASSAY_CPU_LOOP_COPY,  true,  copy_nt_four, 0},                   \
    {LOOP_NAME("copy nt x8"),     ASSAY_CPU_LOOP_COPY,  true,  copy_nt_eight, 0},                  \
    {LOOP_NAME("copy nt +2k"),    ASSAY_CPU_LOOP_COPY,  true,  copy_nt_ahead_2k, 0},               \
    {LOOP_NAME("copy nt x4 +1k"), ASSAY_CPU_LOOP_COPY,  true,  copy_nt_four_ahead_1k, 0},          \
    {LOOP_NAME("triad nt lines"), ASSAY_CPU_LOOP_TRIAD, true,  triad_nt_lines, 0},                 \
    {LOOP_NAME("triad nt"),       ASSAY_CPU_LOOP_TRIAD, true,  triad_nt, 0},                       \
    {LOOP_NAME("triad nt x2"),    ASSAY_CPU_LOOP_TRIAD, true,  triad_nt_two, 0},                   \
    {LOOP_NAME("triad nt x4"),    ASSAY_CPU_LOOP_TRIAD, true,  triad_nt_four, 0},                  \
    {LOOP_NAME("triad nt +2k"),   ASSAY_CPU_LOOP_TRIAD, true,  triad_nt_ahead_2k, 0},
#else
#define LOOP_TABLE_NT
#endif
#define LOOP_TABLE                                                                                 \
    {LOOP_NAME("read"),           ASSAY_CPU_LOOP_READ,  false, read_plain, 0},                     \
    {LOOP_NAME("read x2"),        ASSAY_CPU_LOOP_READ,  false, read_two, 0},                       \
    {LOOP_NAME("read x4"),        ASSAY_CPU_LOOP_READ,  false, read_four, 0},                      \
    {LOOP_NAME("read x8"),        ASSAY_CPU_LOOP_READ,  true,  read_eight, 0},                     \
    {LOOP_NAME("read +2k"),       ASSAY_CPU_LOOP_READ,  true,  read_ahead_2k, 0},                  \
    {LOOP_NAME("read x4 +1k"),    ASSAY_CPU_LOOP_READ,  true,  read_four_ahead_1k, 0},             \
    {LOOP_NAME("write"),          ASSAY_CPU_LOOP_WRITE, false, write_plain, 0},                    \
    {LOOP_NAME("copy"),           ASSAY_CPU_LOOP_COPY,  false, copy_plain, 0},                     \
    {LOOP_NAME("copy x2"),        ASSAY_CPU_LOOP_COPY,  false, copy_two, 0},                       \
    {LOOP_NAME("copy +1k"),       ASSAY_CPU_LOOP_COPY,  false, copy_ahead_1k, 0},                  \
    {LOOP_NAME("triad"),          ASSAY_CPU_LOOP_TRIAD, false, triad_plain, 0},                    \
    {LOOP_NAME("triad x2"),       ASSAY_CPU_LOOP_TRIAD, false, triad_two, 0},                      \
    {LOOP_NAME("triad +1k"),      ASSAY_CPU_LOOP_TRIAD, false, triad_ahead_1k, 0},                 \
    LOOP_TABLE_NT                                                                                  \
    {LOOP_NAME("fma"),            ASSAY_CPU_LOOP_FMA,   false, fma_registers, 0},                  \
    {NULL, ASSAY_CPU_LOOP_READ, false, NULL, 0},
/* clang-format on */

#endif
