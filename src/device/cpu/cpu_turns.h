/* cpu_turns.h: which of several candidates is the fastest, on a machine whose speed changes: they
 * are timed in turns, and each time is divided by the best of its turn. A machine that is twice as
 * fast for a while then favours none of them. */
#ifndef ASSAY_DEVICE_CPU_TURNS_H
#define ASSAY_DEVICE_CPU_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { ASSAY_CPU_MAX_WAYS = 64, ASSAY_CPU_TURNS = 25 };

/* Start from {.n = the number of candidates}. */
struct assay_cpu_turns {
    int32_t n, taken;
    struct {
        bool out; /* clearly slower than another: not timed any more */
        double slowness[ASSAY_CPU_TURNS];
    } ways[ASSAY_CPU_MAX_WAYS];
};

/* One more turn: the time of each candidate that is not out. At least one always stays. */
void assay_cpu_turns_take(struct assay_cpu_turns *turns, const double *ns);
/* One way is left, or as many turns as there may be are taken. */
bool assay_cpu_turns_decided(const struct assay_cpu_turns *turns);
/* The first of those that are as fast as the fastest, within 2 %; after one turn at the least. */
int32_t assay_cpu_turns_fastest(const struct assay_cpu_turns *turns);

#endif
