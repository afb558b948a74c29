/* plan.h: what is to be measured: settings and an ordered list of groups. Plain data that can be
 * saved, sent to a worker, and resumed. */
#ifndef ASSAY_RECORD_PLAN_H
#define ASSAY_RECORD_PLAN_H

#include "base/json.h"
#include <assay/assay_kernel.h>

/* A list of strings that owns them, with a NULL after the last. Start from {0}. */
struct assay_strings {
    char **items;
    int64_t n;
};
enum assay_status assay_strings_add(struct assay_strings *strings, const char *text);
/* Adds the items of a comma-separated list; an empty item is ASSAY_ERR_INVALID. */
enum assay_status assay_strings_split(struct assay_strings *strings, const char *list);
enum assay_status assay_strings_copy(const struct assay_strings *from, struct assay_strings *to);
bool assay_strings_have(const struct assay_strings *strings, const char *text); /* any case */
void assay_strings_fini(struct assay_strings *strings);

/* How to measure. */
struct assay_settings {
    char device[32];
    int32_t threads;
    bool hot, cold;
    double precision;       /* stop when every interval is within this fraction */
    double budget_s;        /* for one group in one cache state */
    bool overtime;          /* up to four times that while a difference is undecided (engine.c) */
    double timeout_s;       /* a single call that takes longer is abandoned */
    int64_t warmup, rounds; /* fixed numbers instead of precision and budget; 0: not fixed */
    bool within_budget;     /* the fixed numbers are maxima; slow variants take fewer */
    uint64_t seed;
    int64_t memory_limit; /* bytes the worker may use; 0: what the machine has */
    bool no_ceiling;      /* no probes, and no comparison with what the machine can do */
    bool energy;          /* also measure what a call costs in energy */
    bool counters;        /* and by the processor's counters, in a pass of its own */
    bool sandbox;         /* strangers have no network and may write no files */
    bool autotune;        /* libraries that offer several algorithms time them first */
    char baseline[32];    /* an implementation; empty: chosen for each group */
    char python[512];     /* the interpreter of plug-ins that are Python's; empty: not known */
    struct assay_strings implementations, kernels, plugins;
    struct assay_strings recipes; /* for ops that take them; empty: only the baseline */
    struct assay_strings models;  /* described in a configuration: JSON, see model/model.h */
};
enum assay_status assay_settings_copy(const struct assay_settings *from, struct assay_settings *to);
void assay_settings_fini(struct assay_settings *settings);

/* One problem: all variants of it are measured together. */
struct assay_group {
    char op[64];        /* "layernorm", "model:ln_linear_gelu" */
    char device[32];    /* empty: the settings' */
    char entry[64];     /* of a configuration's list of models: its name; may be empty */
    char compile[32];   /* of a model: the mode as TorchAO names it, "false": eager alone; empty:
                           not a model */
    char profilers[16]; /* asked for by a configuration: "profiler", "memory", "both"; or empty */
    enum assay_dtype dtype; /* none: a workload, which declares them itself */
    int32_t n_axes;
    int64_t axes[ASSAY_MAX_AXES];
    char mode[32];     /* of an op that has modes; empty: its usual one */
    char label[64];    /* the name of the shape in its set: "llama_attn.wqkv"; may be empty */
    char baseline[32]; /* the implementation to compare with; empty: the settings' */
    bool over_limit;   /* more elements than the plan allows: listed, and skipped */
    /* What a preset counts for one call: multiply-adds, and operations other than multiply-adds.
     * NaN or 0: no counter. */
    double macs, counted_flops;
};

struct assay_plan {
    struct assay_settings settings;
    int64_t max_elements; /* 0: no limit */
    struct assay_group *groups;
    int64_t n_groups, capacity;
};
enum assay_status assay_plan_add(struct assay_plan *plan, const struct assay_group *group);
void assay_plan_fini(struct assay_plan *plan);

assay_json *assay_settings_to_json(const struct assay_settings *settings);
enum assay_status assay_settings_from_json(const assay_json *json, struct assay_settings *out,
                                           struct assay_error *err);
assay_json *assay_group_to_json(const struct assay_group *group);
enum assay_status assay_group_from_json(const assay_json *json, struct assay_group *out,
                                        struct assay_error *err);
assay_json *assay_plan_to_json(const struct assay_plan *plan);
enum assay_status assay_plan_from_json(const assay_json *json, struct assay_plan *out,
                                       struct assay_error *err);

/* One line for a worker: measure this group, without the kernels in `exclude`. See
 * docs/protocol.md. */
struct assay_job {
    int64_t group_index;
    struct assay_group group;
    struct assay_settings settings;
    struct assay_strings exclude;
    bool profile; /* once it is measured, each variant is run a few times more and recorded */
    bool profile_memory; /* … set up and run once more, and what it allocates recorded */
};
assay_json *assay_job_to_json(const struct assay_job *job);
enum assay_status assay_job_from_json(const assay_json *json, struct assay_job *out,
                                      struct assay_error *err);
void assay_job_fini(struct assay_job *job);

#define ASSAY_JOB_VERSION 1

#endif
