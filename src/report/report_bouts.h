/* report_bouts.h: a run of `assay kernel` as comparisons: the kernel of the repository
 * against each that computes the same.
 *
 * A bout is one kernel in one group and one cache state. Of a workload there is one kernel, and at
 * the most one rival, "reference". Of an op that assay knows the rivals are the other
 * implementations with the same recipe. Tables and charts need the whole run before their first
 * line, so groups are kept until the end. */
#ifndef ASSAY_REPORT_BOUTS_H
#define ASSAY_REPORT_BOUTS_H

#include "report/report_cells.h"

struct assay_bout_group {
    struct assay_record *records;
    int64_t n;
};

struct assay_bouts {
    struct assay_run_info run;
    struct assay_bout_group *groups;
    int64_t n, capacity;
    bool failed; /* there was no memory for a group */
};

/* Start from zeroes. Groups are copied. */
void assay_bouts_begin(struct assay_bouts *bouts, const struct assay_run_info *run);
void assay_bouts_add(struct assay_bouts *bouts, const struct assay_record *records, int64_t n);
void assay_bouts_fini(struct assay_bouts *bouts);

struct assay_bout {
    const struct assay_bout_group *group;
    const struct assay_record *kernel;
    enum assay_cache_state state;
    const struct assay_measurement *m; /* the kernel's; NULL: it is not right, or was not timed */
};

/* Walks through all, in order: hot, then cold where both were measured. Start from {0}; false after
 * the last. One without figures comes once. */
bool assay_bouts_next(const struct assay_bouts *bouts, struct assay_bout *bout);

/* Walks through the kernel's rivals, the fastest first, those without figures last. Start from
 * NULL; NULL after the last. */
const struct assay_record *assay_bout_rival(const struct assay_bouts *bouts,
                                            const struct assay_bout *bout,
                                            const struct assay_record *previous);
/* The one whose time stands beside the kernel's: the fastest that is right and not of the same
 * repository. NULL where there is none, or the kernel has no figures. */
const struct assay_record *assay_bout_reference(const struct assay_bouts *bouts,
                                                const struct assay_bout *bout);
/* What a rival measured in the bout's state; NULL where it is NULL, not right or not timed. */
const struct assay_measurement *assay_bout_figures(const struct assay_bout *bout,
                                                   const struct assay_record *rival);
/* The kernel against this rival, > 1: the kernel is faster. False where they were not compared. */
bool assay_bout_ratio(const struct assay_bout *bout, const struct assay_record *rival,
                      struct assay_ratio *out);

/* "SiluWorkloads"; of an op with its mode and recipe: "linear training int8wo". */
struct assay_cell assay_bout_benchmark(const struct assay_record *record);
/* "large"; of an op "f32 4x512x1024". Of a cold bout that was also hot with " (cold)". */
struct assay_cell assay_bout_workload(const struct assay_bout *bout);
/* The same, with the benchmark before it where others have workloads of this name too. */
struct assay_cell assay_bout_name(const struct assay_bouts *bouts, const struct assay_bout *bout);
/* "native"; the kernel's name where another of the group has this implementation too. */
const char *assay_bout_rival_name(const struct assay_bout *bout, const struct assay_record *rival);
/* Decimals of a time in ms that show four digits of it, and never fewer than 4. */
int assay_bout_decimals(double ns);
struct assay_cell assay_bout_ms(double ns, int decimals); /* "6.5153" */
/* "2385e44", with "+" behind it where files had changed; "-" where there is none. */
struct assay_cell assay_bout_short_sha(const char *sha);

#endif
