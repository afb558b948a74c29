/* unit.h: cmocka with the headers it needs before it, and comparing doubles. */
#ifndef ASSAY_TESTS_UNIT_H
#define ASSAY_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <math.h>

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
