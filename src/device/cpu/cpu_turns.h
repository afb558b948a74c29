/* cpu_turns.h: which of several ways is the fastest, on a machine whose speed changes: they are
 * timed in turns, and each time is held against the best of its turn. A machine that is twice as
 * fast for a while then favours nobody. */
#ifndef ASSAY_DEVICE_CPU_TURNS_H
#define ASSAY_DEVICE_CPU_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { ASSAY_CPU_MAX_WAYS = 64, ASSAY_CPU_TURNS = 25 };

/* Start from {.n = how many ways there are}. */
struct assay_cpu_turns {
    int32_t n, taken;
    struct {
        bool out; /* clearly slower than another: it need not be timed any more */
        double slowness[ASSAY_CPU_TURNS];
    } ways[ASSAY_CPU_MAX_WAYS];
};

/* One more turn: the time of each way that is not out. At least one never is. */
void assay_cpu_turns_take(struct assay_cpu_turns *turns, const double *ns);
/* One way is left, or as many turns as there may be are taken. */
bool assay_cpu_turns_decided(const struct assay_cpu_turns *turns);
/* After one turn at the least. */
int32_t assay_cpu_turns_fastest(const struct assay_cpu_turns *turns);

#endif
