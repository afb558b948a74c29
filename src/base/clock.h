/* clock.h: monotonic time of the host, in nanoseconds. */
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t assay_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
