#include "device/wash.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <string.h>
#include <time.h>

enum { BRANCHES = 100000 };
static const size_t CACHE_BYTES = 8 << 20; /* more than a core has to itself */
enum { ASLEEP_NS = 300000 };               /* OpenMP's threads spin for some 50 us */

/* Branches that go either way: how they went in the last call is forgotten on this core. */
static void wash_predictor(uint64_t seed)
{
    struct assay_rng rng = {seed};
    uint64_t taken = 0;
    for (int i = 0; i < BRANCHES; i++) {
        if (assay_rng_next(&rng) & 1)
            __asm__ volatile("" : "+r"(taken)); /* a jump, not arithmetic */
        else
            taken++;
    }
    __asm__ volatile("" : : "r"(taken));
}

static void wash_caches(void)
{
    char *block = assay_malloc(CACHE_BYTES);
    if (!block)
        return;
    memset(block, 1, CACHE_BYTES);
    __asm__ volatile("" : : "r"(block) : "memory");
    assay_free(block);
}

void assay_wash(uint64_t seed, bool caches)
{
    struct timespec asleep = {.tv_nsec = ASLEEP_NS};
#pragma omp parallel
    {
        wash_predictor(seed);
        if (caches)
            wash_caches();
    }
    nanosleep(&asleep, NULL);
}
