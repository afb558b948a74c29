#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The fault injector of the tests; the only mutable state of the library outside its handles. */
static int64_t fail_after;

void assay_alloc_fail_after(int64_t nth) { fail_after = nth; }

static int injected_failure(void)
{
    if (fail_after == 0)
        return 0;
    if (fail_after > 1) {
        fail_after--;
        return 0;
    }
    return 1;
}

void *assay_calloc(size_t count, size_t size)
{
    if (injected_failure() || (size && count > SIZE_MAX / size))
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *assay_realloc(void *ptr, size_t count, size_t size)
{
    if (injected_failure() || (size && count > SIZE_MAX / size))
        return NULL;
    size_t bytes = count * size;
    return realloc(ptr, bytes ? bytes : 1);
}

char *assay_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = assay_calloc(bytes, 1);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void assay_free(void *ptr) { free(ptr); }
