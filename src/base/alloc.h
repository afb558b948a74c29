/* alloc.h: the one door to host memory, so that a test can make the Nth allocation fail.
 *
 * Sizes are counted in elements and checked for overflow. Memory comes back zeroed (but for
 * assay_malloc and what assay_realloc adds) and is released with assay_free. Large benchmark
 * operands do not come from here but from the device.
 *
 * Held bytes are counted, by malloc's usable size where that exceeds the request: one atomic
 * addition for each call. */
#ifndef ASSAY_BASE_ALLOC_H
#define ASSAY_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *assay_calloc(size_t count, size_t size);
void *assay_malloc(size_t bytes); /* not zeroed: glibc has a faster path for small blocks then */
void *assay_realloc(void *ptr, size_t count, size_t size);
char *assay_strdup(const char *text);
void assay_free(void *ptr);

/* Bytes held now, and the most there were since the last reset. */
size_t assay_alloc_held(void);
size_t assay_alloc_peak(void);
void assay_alloc_reset_peak(void);

/* Counts host memory that was allocated elsewhere, and its release. */
void assay_alloc_add(size_t bytes);
void assay_alloc_subtract(size_t bytes);

/* Somebody who hears of each allocation and release of one thread, to note who holds what: in a
 * pass where nothing is timed. What it allocates itself, it hears of, too. */
struct assay_alloc_listener {
    void *user;
    void (*took)(void *user, const void *at, size_t bytes, bool on_device);
    void (*gave)(void *user, const void *at);
};
/* For this thread from here on; it must live until the next call. NULL: nobody. */
void assay_alloc_listen(const struct assay_alloc_listener *listener);
/* Tells it of memory that was allocated elsewhere: a device's, which may be the host's. */
void assay_alloc_tell_took(const void *at, size_t bytes, bool on_device);
void assay_alloc_tell_gave(const void *at);

/* Bytes that the whole process holds from malloc, libraries and plug-ins included; 0 where the C
 * library does not say. Slow. */
size_t assay_alloc_malloc_held(void);

/* Tests only: the nth allocation from now (1 is the next) and all after it fail, or that one alone;
 * 0 switches off. Has one failed since? */
void assay_alloc_fail_after(int64_t nth);
void assay_alloc_fail_once(int64_t nth);
bool assay_alloc_has_failed(void);

#endif
