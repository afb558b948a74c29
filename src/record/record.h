/* record.h: everything known about one variant after measuring. Plain data: reports, stores and
 * comparisons are made from records alone, on machines that need not have the device. */
#ifndef ASSAY_RECORD_RECORD_H
#define ASSAY_RECORD_RECORD_H

#include "base/json.h"
#include "device/counts.h"
#include "device/timed.h"
#include "record/samples.h"
#include "stats/stats.h"
#include <assay/assay_kernel.h>

enum assay_outcome {
    ASSAY_OUTCOME_OK,
    ASSAY_OUTCOME_MISMATCH,    /* the output is wrong, or something else was written */
    ASSAY_OUTCOME_MISTRUSTED,  /* the check could not tell right from wrong for this problem */
    ASSAY_OUTCOME_IMPOSSIBLE,  /* faster than the machine's measured ceiling allows */
    ASSAY_OUTCOME_UNSUPPORTED, /* not on this machine, not for this problem */
    ASSAY_OUTCOME_SKIPPED,     /* too large for this memory, or over the limit */
    ASSAY_OUTCOME_CRASHED,
    ASSAY_OUTCOME_TIMEOUT,
    ASSAY_OUTCOME_KILLED, /* the worker was ended from outside; measured again by --resume */
    ASSAY_OUTCOME_OUT_OF_MEMORY,
    ASSAY_OUTCOME_FAILED, /* the kernel or the harness said so */
    ASSAY_OUTCOME_COUNT
};

/* "ok", "mismatch", "out_of_memory", … and back; an unknown name gives ASSAY_OUTCOME_COUNT. */
const char *assay_outcome_name(enum assay_outcome outcome);
enum assay_outcome assay_outcome_parse(const char *name);
/* Does this outcome alone let the program exit with 0? ok, unsupported and skipped do. */
bool assay_outcome_is_fine(enum assay_outcome outcome);

enum assay_cache_state { ASSAY_CACHE_HOT, ASSAY_CACHE_COLD, ASSAY_CACHE_STATES };

const char *assay_cache_state_name(enum assay_cache_state state);

/* One variant in one cache state. All times are of one call of the op, in ns. */
struct assay_measurement {
    bool measured;
    int64_t iters; /* calls in one sample */
    struct assay_summary time;
    bool precise; /* the requested precision was reached */

    bool has_ratio;           /* to the baseline; not for the baseline itself */
    struct assay_ratio ratio; /* > 1: this variant is faster */
    bool fastest;             /* no variant of its group is significantly faster in this state */
    bool has_eager_ratio;     /* of a compiled model: to the eager one with the same recipe */
    struct assay_ratio eager_ratio;

    double bytes_per_s, flops_per_s;
    /* Against probes of the machine, sampled in the same rounds. */
    double ceiling_ns; /* the least this work takes by them; 0 where there were none */
    char bound[16];    /* what binds: "memory", "L2", "compute" */
    double efficiency; /* the median of the rounds' ceiling / sample */
    struct assay_interval efficiency_ci; /* 95 % */
    int64_t ceiling_rounds;              /* in which both were sampled */
    double machine_frac; /* the probes' rate over the best this machine was seen to reach; 0: not
                            known */

    int64_t disturbed;        /* samples that any of the next four took part in */
    int64_t context_switches; /* samples disturbed by an involuntary one */
    int64_t waited;           /* samples whose threads waited for a core, for more than 1 % */
    int64_t stolen;           /* samples about when the host took a core away */
    int64_t clock_changes;    /* rounds at a clock more than 2 % off the median */
    int64_t near_floor;       /* samples shorter than three times the floor */
    double clock_hz;          /* median over the rounds; 0 where it cannot be read */
    double fast_unit_ns;      /* median of the samples that met a fast matrix unit; 0: too few */
    int64_t slow_unit;        /* samples, those taken again included, beside a slow matrix unit */
    int64_t throttled;        /* samples while power, heat or hardware held a GPU's clock down */
    double host_ns;           /* the host's side of one call; on a CPU the call itself */
    struct assay_samples samples; /* none in records of older versions */
    bool has_counts;              /* --counters; what is not known in them is NaN */
    struct assay_counts counts;   /* of one call, in a pass of its own */
    double
        memory_frac; /* bytes that came from memory, over the least the op moves; NaN: not known */

    /* Of a row that stands for several repeats (record/merge.h); not in JSON, which has them all */
    int64_t repeats;     /* 0: it is one measurement */
    double repeats_frac; /* half of the range of their medians, over the median */
};

struct assay_verification {
    bool done;
    int64_t compared, of, mismatches; /* elements compared, of how many */
    double max_abs, max_rel, rms, sqnr_db;
    double tolerance_relative, tolerance_absolute;
    int32_t times; /* how often: before timing and after each cache state */
    bool exact;    /* also compared bit for bit on integer-valued inputs */
    bool author_reference, author_tolerance; /* of a workload: they are its author's own */
};

/* What was made of a variant's profiles. */
enum { ASSAY_PROFILE_PATH = 512 };
struct assay_profile_files {
    char trace[ASSAY_PROFILE_PATH];       /* files; empty: there is none */
    char snapshot[ASSAY_PROFILE_PATH];    /* of its memory, for PyTorch's viewer */
    char memory_page[ASSAY_PROFILE_PATH]; /* … for a browser */
    char memory_stats[256];               /* a JSON object of bytes; empty: not profiled */
};

struct assay_record {
    int64_t group, variant; /* where in the plan; variant counts within the group */
    char op[64], title[64];
    char entry[64], compile[32]; /* of the group; empty where there is none */
    char implementation[32], kernel[64], device[32];
    enum assay_dtype dtype;
    int32_t n_axes;
    char axis_names[ASSAY_MAX_AXES][16];
    int64_t axes[ASSAY_MAX_AXES];
    char mode[32], label[64];         /* of the group; empty where there is none */
    char profilers[16];               /* asked for: "profiler", "memory", "both"; empty: none */
    struct assay_profile_files files; /* … and what was made of that */
    char pass[12];                    /* "backward", "both": the op is a gradient; empty: forward */
    char recipe[64];                  /* empty for ops without recipes */
    char note[128];                   /* the kernel's note about itself; may be empty */
    char confined[160]; /* a stranger: how its process was kept apart; empty: it is none */
    char printed[512];  /* what it printed, control characters made visible; bounded */
    bool not_asked;     /* whether it computes every call: too slow, large or disturbed */
    int32_t threads;
    uint64_t seed;

    enum assay_outcome outcome;
    char reason[256]; /* why, where the outcome is not ok */
    bool interrupted; /* the user stopped the run in this group: fewer samples */

    bool is_baseline;
    char baseline[32]; /* the implementation the ratios refer to; empty if none */

    double bytes_read, bytes_written, flops; /* the least one call costs */
    double macs, counted_flops; /* what a preset counts of it, as of the group; NaN: no counter */
    double memory_bytes;        /* operands of one call */
    /* Counted while the variant was set up and run, see docs/measuring.md; NaN: not known. */
    double idle_bytes;        /* inputs, and weights as the variant keeps them */
    double peak_bytes;        /* idle, the outputs, and the peak of everything else */
    double workspace_bytes;   /* scratch memory the variant reserved */
    double system_peak_bytes; /* CUDA: what the driver says; CPU: the process's resident peak */
    double setup_ns;          /* with a guest's first call on a GPU: compiling and tuning */
    double weight_bytes;      /* the weights as stored by the recipe; 0 for ops without weights */
    double prepare_ns;        /* quantising and packing the weights, once; 0: not done */
    double energy_j;    /* of one hot call, for the whole device; NaN where it was not measured */
    double accuracy_db; /* SQNR against the unquantised product; NaN where not asked */
    /* The same of the outputs behind the first: of a gradient with several, each its own. */
    double more_accuracy_db[2];
    /* In training: what the forward pass keeps for the backward pass, and, of a model, the most
     * that is planned for what lies between its nodes; NaN: not known. */
    double saved_bytes, planned_bytes;
    double
        activation_share; /* of the hot time, spent quantising activations; NaN: does not apply */
    bool pareto; /* no other variant of the group is better in time, weight bytes and accuracy */
    double floor_ns; /* the shortest time this harness can resolve */
    char caller[16]; /* of a guest on a GPU, the language: what it waits for is a figure of its own
                      */
    struct assay_timed timed; /* how a GPU's samples were taken */
    struct assay_measurement states[ASSAY_CACHE_STATES];
    struct assay_verification verification;
};

/* What `confined` says of a stranger that ran in assay's own process. */
#define ASSAY_NOT_ISOLATED "none: it ran in assay's own process"

/* Was it measured on the host's own processor? Then threads and the host's memory matter. */
bool assay_record_on_host(const struct assay_record *record);

/* Of records and runs as JSON; every report in JSON says it under "format". It grows when a reader
 * of an older one would be misled, not with a new key (docs/protocol.md, share/schema). */
enum { ASSAY_RECORD_FORMAT = 1 };

/* A record that says nothing: zeroes, and NaN for what is not known. */
void assay_record_clear(struct assay_record *record);

/* One record as a JSON object, and back. Reading fails on anything but what writing produces. */
assay_json *assay_record_to_json(const struct assay_record *record);
enum assay_status assay_record_from_json(const assay_json *json, struct assay_record *out,
                                         struct assay_error *err);

/* What a run is, for the head of every report. */
struct assay_run_info {
    char id[32]; /* "20261115-034711-a1b2" */
    char version[32];
    char command[512]; /* as typed */
    char started[32];  /* ISO 8601, UTC */
    char host_os[128];
    char device[32], device_name[64];
    char isa[128];
    int32_t threads;
    bool hot, cold;                  /* which states the plan measures */
    bool use_fast_accum;             /* a configuration that trains: sums may be less precise */
    double precision;                /* the goal, as a fraction */
    int64_t warmup, rounds;          /* fixed numbers of calls and samples; 0: not fixed */
    double copy_bytes_per_s;         /* the memory ceiling, 0 if unknown */
    int64_t groups;                  /* in the plan */
    char cpu_name[64], gpu_name[64]; /* of this machine, whichever the run uses; may be empty */
    int32_t gpu_count;
    double gpu_memory_bytes; /* of the first GPU; 0: not known */
    char commit[48];         /* of assay's own source, when it was built; empty: not known */
    /* The project whose checks this run is part of, from GitHub's environment; empty elsewhere. */
    char project[96], project_branch[64], project_sha[48];
    char output_dir[256];    /* of a configuration */
    char benchmark_mode[16]; /* of one that trains: "training"; empty elsewhere */
    /* Of `assay kernel`; empty elsewhere. */
    char repository[128];     /* as shown: "owner/name@v1", a path */
    char kernel_commit[48];   /* of the repository; empty: under no git */
    char benchmark_path[256]; /* the files that were run, from its root, separated by ", " */
    char benchmark_sha[72];   /* SHA-256 of them */
    int32_t gpu_cores;        /* multiprocessors; 0: no GPU, or not known */
    /* Of the repository's own kernels of known ops, separated by ", ". A kernel that fails is not
     * the baseline of its group: this still tells whose it is. */
    char implementations[160];
    char pytorch[32], pytorch_cuda[16]; /* the versions of what runs benchmarks in Python, of it and
                                           of its CUDA; empty: none */
};

bool assay_run_on_host(const struct assay_run_info *info);
/* Does it measure a configuration's training? */
bool assay_run_trains(const struct assay_run_info *info);

assay_json *assay_run_info_to_json(const struct assay_run_info *info);
void assay_run_info_from_json(const assay_json *json, struct assay_run_info *out);

#endif
