/* group_state.h: a group on its way from job to records, for the files group*.c alone: what they
 * share, in the order it is called. */
#ifndef ASSAY_BENCH_GROUP_STATE_H
#define ASSAY_BENCH_GROUP_STATE_H

#include "bench/group.h"
#include "bench/memory.h"
#include "bench/operands.h"
#include "bench/verify.h"

#include <stdio.h>

/* One contender on its way through the group. */
struct variant {
    const struct assay_kernel *kernel;
    struct assay_problem problem; /* the group's, with this variant's recipe */
    int64_t recipe;               /* which of the group's */
    void *state;
    bool set_up;             /* and so to be taken down */
    bool ready;              /* set up and, so far, right */
    int64_t n_sets;          /* in a cold measurement */
    struct assay_args *sets; /* those, where they are not the operands' own */
    struct assay_memory memory;
    struct assay_record record;
};

/* What the variants of one recipe are held against. */
struct recipe_answers {
    const char *name; /* NULL for ops without recipes */
    assay_reference *outputs[ASSAY_MAX_OUTPUTS];
};

enum { MAX_RECIPES = 32 };

struct group {
    struct assay_bench *bench;
    const struct assay_job *job;
    const struct assay_group_hooks *hooks;
    const struct assay_op *op;
    struct assay_problem problem;
    struct variant *variants;
    int64_t n_variants;
    struct recipe_answers recipes[MAX_RECIPES]; /* the first is what accuracy refers to */
    int64_t n_recipes;
    assay_operands *operands;
    struct assay_error mistrust; /* why the check cannot be trusted; code 0 where it can */
    bool interrupted;
};

static inline void group_step(const struct group *g, int64_t variant)
{
    if (g->hooks->step)
        g->hooks->step(g->hooks->user, variant);
}

static inline bool group_stopped(const struct group *g)
{
    return g->hooks->stop && g->hooks->stop(g->hooks->user);
}

static inline void group_give_up(struct variant *v, enum assay_outcome outcome, const char *reason)
{
    v->ready = false;
    v->record.outcome = outcome;
    snprintf(v->record.reason, sizeof v->record.reason, "%.255s", reason);
}

static inline bool group_is_model(const struct group *g)
{
    return g->job->group.compile[0] != '\0';
}

/* ---- group_choose.c: who takes part, and is there room? ---- */

enum assay_status assay_group_choose(struct group *g, struct assay_error *err);
int64_t assay_group_sets_needed(const struct group *g);
/* Would the operands fit, with a tenth of the memory left for everything else? */
bool assay_group_fits(const struct group *g, int64_t n_sets, char *reason, size_t size);

/* ---- group_verify.c: operands, references, and whether answers are right ---- */

enum assay_status assay_group_build(struct group *g, int64_t n_sets, struct assay_error *err);
enum assay_status assay_group_verify(struct group *g, struct assay_error *err);
/* Has the variant store set `set`'s weights its own way. */
void assay_group_prepare(struct group *g, struct variant *v, int64_t set);
/* What the device keeps of a variant is void once its state changes. */
void assay_group_forget(const struct group *g, const struct variant *v);
/* Runs `iters` calls that end in set `last` of `sets`, with that set's output poisoned before, and
 * judges it. */
void assay_group_run_and_judge(struct group *g, struct variant *v, int64_t iters,
                               const struct assay_args *sets, int64_t n_sets, int64_t last,
                               assay_reference *const *answers, const char *when);
void assay_group_failed_run(struct variant *v, enum assay_status status, const char *what);

/* ---- group_memory.c: what a variant takes of memory ---- */

/* The inputs it reads as they are: all but the weights it keeps its own way. */
double assay_group_plain_bytes(const struct group *g, const struct variant *v);
/* What a variant touches again and again: its own form of the weights in place of the original. */
double assay_group_working_set(const struct group *g, const struct variant *v);
/* Into the record of a variant that ran. */
void assay_group_note_memory(const struct group *g, struct variant *v);

/* ---- group_states.c: the timing of all variants in one cache state ---- */

enum assay_status assay_group_measure_state(struct group *g, enum assay_cache_state state,
                                            struct assay_error *err);

#endif
