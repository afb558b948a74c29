/* time_left.h: how long a run still takes, from what is known of its groups beforehand and what
 * those that are finished have taken. Pure arithmetic: the caller has the clock. */
#ifndef ASSAY_BENCH_TIME_LEFT_H
#define ASSAY_BENCH_TIME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/* A group as it is known beforehand, in seconds. */
struct assay_time_left_group {
    double timing_s; /* taking samples: the budget, as a rule */
    double setup_s;  /* everything else: filling, references, checks */
    double extra_s;  /* of this group alone, and no reason to expect more of others */
    bool unlike;     /* and this one says nothing about others */
    bool done;
};

struct assay_time_left {
    struct assay_time_left_group *groups; /* borrowed */
    int64_t n, current;                   /* -1: none is being measured */
    double began_s;                       /* the current one */
    double timing_factor, setup_factor;   /* how much longer they take than was thought */
    double tt, ts, ss, ty, sy;            /* sums over finished groups, of shares and of y */
    double left_s, left_at_s;             /* what was said last, and when */
    bool said;
};

void assay_time_left_init(struct assay_time_left *time_left, struct assay_time_left_group *groups,
                          int64_t n);
void assay_time_left_start(struct assay_time_left *time_left, int64_t group, double now_s);
/* The current group is finished. */
void assay_time_left_done(struct assay_time_left *time_left, double now_s);

/* Seconds that are left; less at every call, but for surprises. NaN where the current group takes
 * so much longer than expected that nothing is known. */
double assay_time_left_now(struct assay_time_left *time_left, double now_s);

#endif
