/* alloc.h: the one door to host memory, so that a test can make the Nth allocation fail.
 *
 * Sizes are counted in elements and checked for overflow. Memory comes back zeroed (but for what
 * assay_realloc adds) and is released with assay_free. Large benchmark operands do not come from
 * here but from the device. */
#ifndef ASSAY_BASE_ALLOC_H
#define ASSAY_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *assay_calloc(size_t count, size_t size);
void *assay_realloc(void *ptr, size_t count, size_t size);
char *assay_strdup(const char *text);
void assay_free(void *ptr);

/* Tests only: the nth allocation from now (1 is the next) and all after it fail; 0 switches off. */
void assay_alloc_fail_after(int64_t nth);

#endif
