/* rng.h: seeded random numbers, the same on every machine and compiler.
 *
 * Two forms of one generator (SplitMix64): a stream, and a hash of (seed, index) for fills, where
 * element i must not depend on how many threads filled the tensor. */
#ifndef ASSAY_BASE_RNG_H
#define ASSAY_BASE_RNG_H

#include <stdint.h>

static inline uint64_t assay_rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t assay_rng_at(uint64_t seed, uint64_t index)
{
    return assay_rng_mix(seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

struct assay_rng {
    uint64_t state;
};

static inline uint64_t assay_rng_next(struct assay_rng *rng)
{
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    return assay_rng_mix(rng->state);
}

/* Uniform in [0, n), n >= 1. The bias of the multiply is below 2^-32 for the n used here. */
static inline int64_t assay_rng_below(struct assay_rng *rng, int64_t n)
{
    return (int64_t)(((assay_rng_next(rng) >> 32) * (uint64_t)n) >> 32);
}

#endif
