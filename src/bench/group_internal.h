/* group_internal.h: a group on its way from job to records, for the files group*.c alone: what they
 * share, in the order it is called. */
#ifndef ASSAY_BENCH_GROUP_INTERNAL_H
#define ASSAY_BENCH_GROUP_INTERNAL_H

#include "base/rng.h"
#include "bench/engine.h"
#include "bench/group.h"
#include "runner/memory.h"
#include "bench/operands.h"
#include "bench/probes.h"
#include "runner/traces.h"
#include "bench/verify.h"
#include "runner/remote_device.h"
#include "workload/workload.h"

#include <stdio.h>
#include <string.h>

/* One variant on its way through the group. */
struct variant {
    const struct assay_kernel *kernel;
    struct assay_problem problem; /* the group's, with this variant's recipe */
    int64_t recipe;               /* which of the group's */
    void *state;
    assay_runner *runner;     /* a stranger's process; NULL: it runs in this one */
    bool opened;              /* which has its object open already */
    bool ours;                /* what runs there comes with assay: PyTorch's kernels */
    assay_device *device;     /* that it runs on: the group's, or the runner's */
    assay_operands *operands; /* likewise */
    double prepared_bytes;    /* of one set, as its runner says */
    int64_t others_threads;   /* of its process, before it was set up */
    bool moved;               /* its thread to other cores, once */
    bool set_up;              /* and so to be taken down */
    bool ready;               /* set up and, so far, right */
    int64_t n_sets;           /* in a cold measurement */
    struct assay_args *sets;  /* those, where they are not the operands' own */
    struct assay_memory memory;
    struct assay_record record;
};

/* What the outputs of one recipe's variants are compared with. */
struct recipe_references {
    const char *name; /* NULL for ops without recipes */
    assay_reference *outputs[ASSAY_MAX_OUTPUTS];
    assay_reference *others[ASSAY_MAX_OUTPUTS]; /* on the operands' other values; NULL: too slow */
    double took_ns;                             /* to compute the former */
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
    struct recipe_references recipes[MAX_RECIPES]; /* the first is what accuracy refers to */
    int64_t n_recipes;
    assay_operands *operands;
    int64_t sets_there;                 /* of operands in each runner */
    uint64_t others_seed;               /* of their other values */
    struct assay_rng secret;            /* unpredictable for kernels: not from the job's seed */
    void *snapshots[ASSAY_MAX_OUTPUTS]; /* of outputs, where the device's memory is the host's */
    struct assay_traces home;           /* the process's state before any kernel ran */
    double busy_threads;                /* that variants left behind */
    struct assay_error mistrust;        /* why the check cannot be trusted; code 0 where it can */
    bool interrupted;
};

static inline void group_step(const struct group *g, int64_t variant)
{
    if (g->bench->watch)
        assay_watch_step(g->bench->watch, variant);
    if (g->hooks->step)
        g->hooks->step(g->hooks->user, variant);
}

static inline bool group_stopped(const struct group *g)
{
    if (g->hooks->stop && g->hooks->stop(g->hooks->user))
        return true;
    const struct assay_watch *watch = g->bench->watch;
    return watch && atomic_load_explicit(&watch->stop, memory_order_relaxed) != 0;
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

/* Code that is not assay's own, and not an author's reference: nobody gains by a reference that
 * cheats, and it is the slowest of all. Nor does anybody by PyTorch's models, whose references are
 * slow too. */
static inline bool group_is_users(const struct group *g, const struct variant *v)
{
    bool reference = assay_workload_is(v->kernel->op) &&
                     strcmp(v->kernel->implementation, ASSAY_WORKLOAD_REFERENCE) == 0;
    bool executor = group_is_model(g) && (v->ours || !assay_kernel_is_elsewhere(v->kernel));
    return !executor && !assay_kernel_is_builtin(v->kernel) && !reference;
}

/* ---- group_choose.c: which kernels take part, and does the group fit into memory? ---- */

enum assay_status assay_group_choose(struct group *g, struct assay_error *err);
bool assay_group_has_users(const struct group *g);
int64_t assay_group_sets_needed(const struct group *g);
/* The same, or as many as the checks of users' kernels would like where they fit easily. */
int64_t assay_group_sets_liked(const struct group *g);
/* On how many sets in turns hot samples are to be taken: several where strangers' operands nearly
 * fill a cache, and lie in it by luck. */
int64_t assay_group_places_liked(const struct group *g);
/* Would the operands fit, with a tenth of the memory left for everything else? */
bool assay_group_fits(const struct group *g, int64_t n_sets, char *reason, size_t size);
/* And the other values of their inputs? */
bool assay_group_fits_others(const struct group *g, int64_t n_sets);

/* ---- group_build.c: operands, references, and kernels that are set up ---- */

enum assay_status assay_group_build(struct group *g, int64_t n_sets, struct assay_error *err);
/* On which inputs: those that set 0 holds now, usual or integers, or the operands' others. */
enum group_inputs { INPUTS_USUAL, INPUTS_INTEGERS, INPUTS_OTHERS };
/* The references of a recipe's outputs; dropped by the second function. */
/* Of one output, and of all. */
enum assay_status assay_group_make_reference(struct group *g, int64_t recipe,
                                             enum group_inputs inputs, int32_t output,
                                             assay_reference **out, struct assay_error *err);
enum assay_status assay_group_make_references(struct group *g, int64_t recipe,
                                              enum group_inputs inputs, assay_reference **out,
                                              struct assay_error *err);
void assay_group_drop_references(assay_reference **references);
/* Is any variant with this recipe still ready? */
bool assay_group_has_recipe(const struct group *g, int64_t recipe);
void assay_group_set_up(struct group *g, struct variant *v);
/* Has the variant store set `set`'s weights its own way. */
void assay_group_prepare(struct group *g, struct variant *v, int64_t set);
/* What the device keeps of a variant is void once its state changes. */
void assay_group_forget(const struct group *g, const struct variant *v);

/* ---- group_verify.c: whether outputs are right ---- */

enum assay_status assay_group_verify(struct group *g, struct assay_error *err);
/* A run of the variant outside the engine, to completion. Leaves the process as it was before any
 * variant ran; one that had changed it is given up. */
enum assay_status assay_group_call(struct group *g, struct variant *v,
                                   const struct assay_work *work, struct assay_timing *timing);
/* Runs `iters` calls that end in set `last` of `sets`, with that set's output poisoned before, and
 * judges it. */
void assay_group_run_and_judge(struct group *g, struct variant *v, int64_t iters,
                               const struct assay_args *sets, int64_t n_sets, int64_t last,
                               assay_reference *const *references, const char *when);
void assay_group_failed_run(struct variant *v, enum assay_status status, const char *what);

/* ---- group_checks.c: users' kernels: is every call computed, is anything read that should not be,
 * is anything left behind? ---- */

enum { CHECK_SETS = 4 }; /* of operands, for the first of these */
void assay_group_check_user(struct group *g, struct variant *v);
/* More of the first question, once it was timed. */
void assay_group_check_user_again(struct group *g, struct variant *v);
/* Undoes what a call of the variant changed in its process; a user's kernel is given up for it. */
void assay_group_check_traces(struct group *g, struct variant *v);
/* Are the pages of its tensors as they were reserved? Else it is given up. */
void assay_group_check_pages(struct variant *v);
/* Do its threads go on computing? Then it is given up. */
void assay_group_check_idle(struct group *g, struct variant *v);

/* ---- group_runner.c: strangers in processes of their own ---- */

/* Starts the variant's runner, which gets ready by itself. */
enum assay_status assay_group_launch(struct group *g, struct variant *v, struct assay_error *err);
/* Opens its object there, and makes its operands. */
void assay_group_hire(struct group *g, struct variant *v);
/* Ends all of them, and what they left behind. */
void assay_group_dismiss(struct group *g);
/* Given up for what became of its runner, if anything did. True: it was. */
bool assay_group_blame_runner(struct group *g, struct variant *v, const char *when);
enum assay_outcome assay_group_outcome_of(enum assay_runner_end end);
enum assay_status assay_group_set_up_there(struct group *g, struct variant *v,
                                           struct assay_error *err);
enum assay_status assay_group_prepare_there(struct group *g, struct variant *v, int64_t set,
                                            struct assay_error *err);
/* Once more before its process ends: its teardown may crash, too. */
void assay_group_tear_down_there(struct group *g, struct variant *v);
/* What was done to the group's inputs is done to the strangers'. */
void assay_group_refill_there(struct group *g, const struct assay_problem *problem, bool exact);
void assay_group_change_there(struct group *g, const struct assay_change *changes, int64_t n);

/* ---- group_spot.c: samples of the timing that are looked at ---- */

/* Of one lane. */
struct spot {
    bool planned;
    int64_t next; /* after so many counted samples the next one is looked at */
    int64_t done;
    int64_t set;      /* of the operands: the one that is looked at now */
    int64_t began_ns; /* reading the clock */
    double spent_ns;  /* on all of them */
};

/* What a stranger was asked in its samples, and how long they took. */
enum { ASKED_MOST = 64 };
/* What a sample finds: values of enum assay_values, the same as were there, written once more, or
 * those of the calls right before it, as in the samples that are reported. */
enum { ASKED_AGAIN = ASSAY_VALUES_FRESH + 1, ASKED_PRIMED, ASKED_KINDS };
struct asked {
    double ns[ASKED_KINDS][ASKED_MOST];
    int64_t n[ASKED_KINDS];
    int kind; /* of the last values that were put */
    bool put; /* now: other values than before */
};

/* The engine speaks of lanes; everybody else of variants. */
struct lane_map {
    struct group *group;
    int64_t variant[ASSAY_MAX_VARIANTS + ASSAY_MAX_PROBES]; /* -1: a probe */
    struct assay_lane *lanes;
    int64_t n_lanes; /* those behind time only a part of a kernel */
    struct spot spots[ASSAY_MAX_VARIANTS];
    struct asked asked[ASSAY_MAX_VARIANTS];
    bool pauses; /* before samples that only ask */
};

/* The engine's hooks; `user` is a lane_map. */
/* Are samples of this group looked at at all? */
bool assay_group_may_look(const struct group *g);
enum assay_look assay_group_look(void *user, int64_t lane);
void assay_group_before_sample(void *user, int64_t lane, const struct assay_work *work);
bool assay_group_after_sample(void *user, int64_t lane, const struct assay_work *work, double ns);

/* Is the output in `set`, which was not right, right a little later? It is not waited for where the
 * variant has started no thread that could bring it. */
bool assay_group_comes_late(const struct group *g, const struct variant *v, int64_t set,
                            assay_reference *const *references);
/* Why the outputs that a call left in `set` are not what they should be: too late, those of the
 * values that the set does not hold, or just wrong. `others`: what the set holds. True where they
 * came too late. */
bool assay_group_name_mistake(struct group *g, struct variant *v, int64_t set, bool others,
                              const struct assay_comparison *seen, const char *when);

/* ---- group_asked.c: does a stranger's time depend on what it remembers, on how many calls it is
 * asked for, on who reads the clock? ---- */

/* For the hooks of group_spot.c: what the next sample is, what it finds, how long it took. */
enum assay_look assay_group_ask(struct lane_map *map, int64_t lane);
void assay_group_ask_before(struct lane_map *map, int64_t lane);
void assay_group_ask_after(struct lane_map *map, int64_t lane);
/* Any set whose outputs are still there at the end of this work. */
int64_t assay_group_choose_set(struct group *g, const struct variant *v,
                               const struct assay_work *work);
/* After the timing: asks for what is missing, and judges. */
void assay_group_judge_times(struct lane_map *map, int64_t lane);

/* ---- group_timed.c: how a GPU's samples were taken ---- */

/* Into the record; a guest that launched nothing, or elsewhere, is given up. */
void assay_group_note_timed(struct group *g, struct variant *v);
/* Of a guest, once it was verified: compiling is part of setting up. */
void assay_group_note_first_call(struct variant *v);

/* ---- group_memory.c: what a variant takes of memory ---- */

/* The inputs it reads as they are: all but the weights it keeps its own way. */
double assay_group_plain_bytes(const struct group *g, const struct variant *v);
/* What a variant touches again and again: its own form of the weights in place of the original. */
double assay_group_working_set(const struct group *g, const struct variant *v);
/* Into the record of a variant that ran. */
void assay_group_note_memory(const struct group *g, struct variant *v);

/* ---- group_measure.c: the timing of all variants in one cache state; the records say who the
 * baseline was ---- */

enum assay_status assay_group_measure_state(struct group *g, enum assay_cache_state state,
                                            struct assay_error *err);

/* ---- group_count.c: what calls cost by the processor's counters, when all is timed ---- */

/* Into the records, of every variant that has figures. */
void assay_group_count(struct group *g);

/* ---- group_profile.c: once more with everything noted, when all is timed ---- */

/* Of a job with `profile`: calls each variant that is right a few times more and hands over what
 * was noted. Strangers' before their processes end; assay's own, whose crash is the worker's, when
 * all records are handed over. */
enum group_whose { GROUP_STRANGERS, GROUP_OWN };
void assay_group_profile(struct group *g, enum group_whose whose);

/* ---- group_memory_pass.c: once more with every allocation noted ---- */

/* Of a job with `profile_memory`, as above and behind it: afterwards assay's own are taken down. */
void assay_group_profile_memory(struct group *g, enum group_whose whose);

#endif
