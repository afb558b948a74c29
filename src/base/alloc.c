#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__ /* in two steps: __GLIBC_PREREQ does not exist in other C libraries */
#if __GLIBC_PREREQ(2, 33)
#define HAVE_MALLINFO2
#endif
#endif

/* The fault injector of the tests. */
static int64_t fail_after;
static bool fail_once, has_failed;

static atomic_size_t held, peak;
static _Thread_local const struct assay_alloc_listener *listener;

void assay_alloc_fail_after(int64_t nth)
{
    fail_after = nth;
    fail_once = has_failed = false;
}

void assay_alloc_fail_once(int64_t nth)
{
    assay_alloc_fail_after(nth);
    fail_once = true;
}

bool assay_alloc_has_failed(void) { return has_failed; }

static bool injected_failure(void)
{
    if (fail_after == 0)
        return false;
    if (fail_after > 1) {
        fail_after--;
        return false;
    }
    if (fail_once)
        fail_after = 0;
    has_failed = true;
    return true;
}

void assay_alloc_add(size_t bytes)
{
    size_t now = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed) + bytes;
    size_t most = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > most && !atomic_compare_exchange_weak_explicit(
                             &peak, &most, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

void assay_alloc_subtract(size_t bytes)
{
    atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed);
}

size_t assay_alloc_held(void) { return atomic_load_explicit(&held, memory_order_relaxed); }
size_t assay_alloc_peak(void) { return atomic_load_explicit(&peak, memory_order_relaxed); }

void assay_alloc_reset_peak(void)
{
    atomic_store_explicit(&peak, assay_alloc_held(), memory_order_relaxed);
}

void assay_alloc_listen(const struct assay_alloc_listener *who) { listener = who; }

void assay_alloc_tell_took(const void *at, size_t bytes, bool on_device)
{
    if (listener && at)
        listener->took(listener->user, at, bytes, on_device);
}

void assay_alloc_tell_gave(const void *at)
{
    if (listener && at)
        listener->gave(listener->user, at);
}

static void count(void *made)
{
    size_t bytes = malloc_usable_size(made);
    assay_alloc_add(bytes);
    assay_alloc_tell_took(made, bytes, false);
}

size_t assay_alloc_malloc_held(void)
{
#ifdef HAVE_MALLINFO2
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

void *assay_calloc(size_t n, size_t size)
{
    if (injected_failure() || (size && n > SIZE_MAX / size))
        return NULL;
    void *made = calloc(n ? n : 1, size ? size : 1);
    count(made);
    return made;
}

void *assay_malloc(size_t bytes)
{
    if (injected_failure())
        return NULL;
    void *made = malloc(bytes ? bytes : 1);
    count(made);
    return made;
}

void *assay_realloc(void *ptr, size_t n, size_t size)
{
    if (injected_failure() || (size && n > SIZE_MAX / size))
        return NULL;
    size_t bytes = n * size, before = malloc_usable_size(ptr);
    assay_alloc_tell_gave(ptr);
    void *made = realloc(ptr, bytes ? bytes : 1);
    if (!made) {
        assay_alloc_tell_took(ptr, before, false);
        return NULL;
    }
    count(made);
    assay_alloc_subtract(before);
    return made;
}

char *assay_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = assay_calloc(bytes, 1);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void assay_free(void *ptr)
{
    assay_alloc_subtract(malloc_usable_size(ptr));
    assay_alloc_tell_gave(ptr);
    free(ptr);
}
