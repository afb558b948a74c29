/* unit.h: cmocka with the headers it needs before it, comparing doubles, and what sanitizers
 * change.
 */
#ifndef ASSAY_TESTS_UNIT_H
#define ASSAY_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* HAVE_ASAN, HAVE_TSAN: 1 where the address or the thread sanitizer looks on, else 0. */
#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAVE_TSAN 1
#endif
#endif
#ifndef HAVE_ASAN
#define HAVE_ASAN 0
#endif
#ifndef HAVE_TSAN
#define HAVE_TSAN 0
#endif
#ifndef ASSAY_QUICK
#define ASSAY_QUICK 0
#endif
#ifndef ASSAY_FULL
#define ASSAY_FULL 0
#endif

/* Walks over many shapes ask this before each: sanitized programs are several times slower. Under
 * the address sanitizer, and with the second compiler (ASSAY_QUICK), an eighth of the shapes is
 * tried (ASSAY_FULL: a quarter), spread so that no length of a list falls in step with it; under
 * that of threads, those with several. Elsewhere nothing is left out. */
static inline bool left_out(int threads)
{
    static uint32_t asked;
    if (HAVE_TSAN)
        return threads == 1;
    return (HAVE_ASAN || ASSAY_QUICK) &&
           asked++ * 0x9e3779b9u >> (ASSAY_FULL ? 30 : 29) != 0; /* multiples of the golden ratio */
}

/* With emulated tiles (tiles_emulated.h) only kernels that use them are looked at: the others have
 * been, by the same test without. */
static inline bool is_looked_at(const char *kernel)
{
#if defined(ASSAY_TEST_TILES_EMULATED_H)
    return strstr(kernel, "amx") != NULL;
#else
    (void)kernel;
    return true;
#endif
}

/* |got - want| <= tolerance; a NaN fails. Tolerance 0 asks for equality, also of infinities. */
#define assert_near(got, want, tolerance) assert_near_at(got, want, tolerance, __FILE__, __LINE__)

static inline void assert_near_at(double got, double want, double tolerance, const char *file,
                                  int line)
{
    if (got == want || fabs(got - want) <= tolerance)
        return;
    print_error("got %.17g, want %.17g, tolerance %g\n", got, want, tolerance);
    _fail(file, line);
}

#endif
