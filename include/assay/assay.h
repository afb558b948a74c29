/* assay.h: measure from your own program, with the same engine as the command line: your own
 * functions (cases), or the ops and kernels that assay knows.
 *
 *     static int work(void *argument) { … return 0; }
 *
 *     assay_session *session;
 *     struct assay_error err = {0};
 *     struct assay_case one;
 *     assay_case_init(&one, "work", work, NULL);
 *     if (assay_session_open(NULL, &session, &err) == ASSAY_OK &&
 *         assay_session_run(session, &one, &err) == ASSAY_OK)
 *         printf("%g ms\n", assay_session_case(session, 0)->latency_ms);
 *     assay_session_close(session);
 *
 * Link with -lassay (pkg-config assay). C17 and C++17. docs/c-api.md is the long form. The library
 * does not print, exit or abort. A session is used by one thread at a time; different threads may
 * use different sessions. A session that was closed, or never opened, is refused with
 * ASSAY_ERR_INVALID. `err` may be NULL everywhere; initialise it to {0}: the first error is
 * kept. */
#ifndef ASSAY_H
#define ASSAY_H

#ifndef ASSAY_KERNEL_ONLY
#define ASSAY_KERNEL_ONLY /* a program that measures exports no benchmarks */
#endif
#include <assay/assay_kernel.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". */
ASSAY_API const char *assay_version(void);

/* The layout of this header. Structs only grow at their end, so programs built against an older
 * header of the same ABI go on working; assay_session_open refuses another ABI. */
#define ASSAY_API_ABI 1u
/* The library's own ASSAY_API_ABI. */
ASSAY_API uint32_t assay_abi_version(void);

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct assay_session assay_session;

/* What is 0 or NULL takes its default. */
struct assay_session_options {
    uint32_t struct_size; /* sizeof(struct assay_session_options) */
    uint32_t abi;         /* ASSAY_API_ABI */
    const char *device;   /* "cpu"; "cuda", "cuda:1" */
    const char *dtype;    /* "f32", on cuda "f16"; "bf16", "torch.float16", … For cases a label */
    int32_t threads;      /* all cores; for ops only */
    int64_t warmup, iters; /* fixed numbers of warm-up and timed calls. Cases: 8 and 32, unless
                              `precision` is given. Ops: by precision */
    double precision;      /* 0.01: stop when every interval is within 1 % */
    double budget_s;       /* 2: or after this many seconds (ops: for each cache state) */
    uint64_t seed;
    int32_t hot, cold;           /* ops: which cache states to measure; both 0: both */
    const char *implementations; /* ops: "native,onednn"; NULL: all */
    const char *baseline;        /* ops: the implementation speedups refer to */
    const char *plugin;          /* ops: a shared object with your own kernels */
    int32_t isolate;             /* cases, cpu: run each in a process of its own */
    double timeout_s;            /* 60: with `isolate`, a call is abandoned after this time */
    /* Cases: called between samples, at no other time; anything but 0 ends the measuring with
     * ASSAY_ERR_INTERRUPTED, without results. */
    int (*between)(void *user);
    void *user;
};

/* Zeroes, with size and ABI filled in. */
static inline void assay_session_options_init(struct assay_session_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->abi = ASSAY_API_ABI;
}

/* `options` may be NULL. *out is the caller's to close; it is NULL where this fails.
 * ASSAY_ERR_INVALID for a name that is not known (the message names the nearest), a negative
 * number, or another ABI; ASSAY_UNSUPPORTED for a device that is not here. */
ASSAY_API enum assay_status assay_session_open(const struct assay_session_options *options,
                                               assay_session **out, struct assay_error *err);

/* Everything the session handed out ends with it: results, memory. NULL is fine, and so is a
 * session that is closed already. A call from within one of its own cases is ignored. */
ASSAY_API void assay_session_close(assay_session *session);

/* Memory of the session's device, aligned to 64 bytes or more, not zeroed, counted in the cases'
 * memory figures: on the cpu the host's, on cuda the GPU's. Also from within a case. Freed by
 * assay_session_free or with the session. ASSAY_ERR_NOMEM. */
ASSAY_API enum assay_status assay_session_alloc(assay_session *session, size_t bytes, void **out,
                                                struct assay_error *err);
/* NULL is fine. ASSAY_ERR_INVALID for a pointer that assay_session_alloc did not give. */
ASSAY_API enum assay_status assay_session_free(assay_session *session, void *pointer,
                                               struct assay_error *err);

/* ---- cases: your own functions -------------------------------------------------------------- */

/* Something to know about a case: a number, or a text where `text` is not NULL. */
struct assay_metadata {
    const char *key;
    double number;
    const char *text;
};

/* On cuda: `run` only launches, always the same, so it may be captured once and replayed. */
#define ASSAY_CASE_GRAPH 1u
/* A crash is not caught: what runs the function, an interpreter for one, could not go on. */
#define ASSAY_CASE_UNGUARDED 2u
/* On the cpu: before each call, untimed, the caches are filled with something else. */
#define ASSAY_CASE_COLD 4u

/* A function with its argument. It and all it points at stay the caller's; the library keeps
 * copies of name and metadata. C++: no exception may leave the functions. */
struct assay_case {
    uint32_t struct_size; /* sizeof(struct assay_case) */
    uint32_t flags;       /* ASSAY_CASE_… */
    const char *name;
    /* The timed part: one whole call of it. 0 when it worked; anything else ends the case as
     * failed. On cuda it enqueues on `stream`, and what it enqueued is what is timed. */
    int (*run)(void *argument);
    void *argument;
    /* Optional, untimed: before the first call and, where setup worked, after the last. */
    int (*setup)(void *argument);
    void (*teardown)(void *argument);
    const struct assay_metadata *metadata; /* optional */
    int32_t n_metadata;
    /* Optional: multiply-accumulates and other operations of one call; called once. */
    double (*macs)(const struct assay_case *self);
    double (*flops)(const struct assay_case *self);
    /* cuda: the caller's CUstream or cudaStream_t; NULL: the default stream. */
    void *stream;
};

static inline void assay_case_init(struct assay_case *self, const char *name,
                                   int (*run)(void *argument), void *argument)
{
    memset(self, 0, sizeof *self);
    self->struct_size = sizeof *self;
    self->name = name;
    self->run = run;
    self->argument = argument;
}

/* Makes the compiler assume that `memory` is read: without it, a result that nobody reads may be
 * optimised away. Costs nothing. */
static inline void assay_keep(const void *memory)
{
#if defined(__GNUC__)
    __asm__ volatile("" : : "r"(memory) : "memory");
#else
    static const void *volatile kept;
    kept = memory;
#endif
}

/* For counters: metadata by its key; `otherwise` where there is no such number or text. */
ASSAY_API double assay_case_number(const struct assay_case *self, const char *key,
                                   double otherwise);
ASSAY_API const char *assay_case_text(const struct assay_case *self, const char *key,
                                      const char *otherwise);

/* One measured case. Times are of one call, in ms. NaN means not known: times of a case that
 * failed, counts and rates without a counter. 1 MB is 2^20 bytes. */
struct assay_case_result {
    const char *name;
    int64_t iters, warmup; /* calls that were timed, and calls before them */
    double latency_ms;     /* the mean */
    double latency_std_ms; /* the population deviation */
    const char *device;    /* "cpu", "cuda:0" */
    const char *dtype;     /* "float32" */
    double idle_vram_mb;   /* held before the timed calls */
    double peak_vram_mb;   /* idle, and the most a call allocated above it */
    double workspace_vram_mb;
    double macs, macs_rate, flops, flops_rate; /* of a call; per second, by the mean */
    const struct assay_metadata *metadata;
    int32_t n_metadata;

    const char *status;                           /* "ok", "failed", "crashed", "timeout" */
    const char *reason;                           /* why it is not "ok"; else "" */
    int64_t samples;                              /* each of iters / samples calls */
    double median_ms, median_lo_ms, median_hi_ms; /* with its 95 % interval */
    double q1_ms, q3_ms, min_ms, max_ms;
    /* Against the first case of the same assay_session_run_many; 0 where there is nothing to
     * compare. Above 1: faster than that one. With its 95 % interval. */
    double speedup, speedup_lo, speedup_hi;
    int32_t significant; /* the speedup is no accident */

    /* The samples, in ms of one call: one for each round, NaN where the case sat out. */
    int64_t rounds;
    const double *sample_ms;
};

/* Measures a case and adds its result to the session, whatever happened. A signal that says
 * "crashed" (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) raised by the case on this thread ends the
 * case, not the program; hangs and scribbled memory are contained by the option `isolate`.
 * ASSAY_ERR_FAILED: the case failed, crashed or hung, and the result says how. ASSAY_ERR_INVALID:
 * the case itself makes no sense, and there is no result. */
ASSAY_API enum assay_status assay_session_run(assay_session *session, const struct assay_case *one,
                                              struct assay_error *err);

/* Many at once, in an array: set up together, then sampled in turns, in a new order each round, so
 * that disturbances affect all of them alike. Results come in the order of the cases. A case that
 * fails leaves the others alone; ASSAY_ERR_FAILED then names the first. */
ASSAY_API enum assay_status assay_session_run_many(assay_session *session,
                                                   const struct assay_case *cases, int32_t n,
                                                   struct assay_error *err);

/* Cases that come with assay: a preset ("attn"), one of its cases ("mlp_swiglu") of `assay preset
 * --list`, or a YAML file of docs/presets.md, with settings like "seq_len=1024" (a list or a range
 * is a sweep: a case for each). Verified, and measured as the command line does it, in this
 * process; the results are cases of this session, with the parameters as their metadata.
 * ASSAY_ERR_INVALID: a name or setting that makes no sense; ASSAY_ERR_FAILED: a case was wrong or
 * crashed, and its result says how. What this machine cannot run is a result with the status
 * "unsupported". */
ASSAY_API enum assay_status assay_session_run_preset(assay_session *session,
                                                     const char *preset_or_case,
                                                     const char *const *settings, int32_t n,
                                                     struct assay_error *err);

/* The cases so far. A result stays valid until the session is closed; NULL beyond the last. */
ASSAY_API int64_t assay_session_case_count(const assay_session *session);
ASSAY_API const struct assay_case_result *assay_session_case(const assay_session *session,
                                                             int64_t index);

/* What the speedup comes to, as the tables say it: "1.62x [1.58 1.66]", "1.31x slower [1.28 1.35]",
 * "same within 0.8%", "unclear (n=8)"; "" where there is nothing to compare. */
ASSAY_API void assay_case_result_verdict(const struct assay_case_result *result, char *out,
                                         size_t size);

/* ---- ops: what assay knows itself ------------------------------------------------------------ */

/* One cache state of a result. Times are of one call, in ns. n == 0: not measured. */
struct assay_timing_result {
    int64_t n;                                    /* samples */
    double median_ns, median_lo_ns, median_hi_ns; /* with its 95 % interval */
    double mean_ns, std_ns, min_ns, max_ns, q1_ns, q3_ns;
    double speedup, speedup_lo, speedup_hi; /* over the baseline, with 95 % interval; 0: none */
    int32_t significant;                    /* the speedup is no accident */
    double bytes_per_s, flops_per_s;
    double efficiency; /* share of this machine's measured ceiling, 0 … 1; 0: unknown */
};

struct assay_result {
    const char *op, *implementation, *kernel, *dtype;
    const char *status; /* "ok", "mismatch", "unsupported", … */
    const char *reason; /* why, where it is not "ok" */
    double max_abs_error, max_rel_error;
    struct assay_timing_result hot, cold;
};

/* Measures every implementation of `op` on one problem, verified, and adds their results to the
 * session. Kernels that are wrong or cannot run are results, not errors. They run in this process:
 * a kernel that crashes takes it along (the command line's worker process exists for that). The
 * first call on a machine spends a few seconds on measuring the machine's ceilings. */
ASSAY_API enum assay_status assay_session_measure(assay_session *session, const char *op,
                                                  const int64_t *axes, int32_t n_axes,
                                                  struct assay_error *err);

/* The results so far. A result stays valid until the session is closed. */
ASSAY_API int64_t assay_session_count(const assay_session *session);
ASSAY_API const struct assay_result *assay_session_result(const assay_session *session,
                                                          int64_t index);

/* ---- profiles -------------------------------------------------------------------------------- */

/* From here on, whatever this session measures is called a few times more once it is timed, and
 * what it does is recorded: calls, nodes of models, threads' shares, and your own ranges (below).
 * No figure comes from these calls, and none can be touched by them. The trace is JSON for
 * chrome://tracing and Perfetto, which `assay profile FILE` reads too, or, in a file that ends in
 * .perfetto-trace or .pftrace, Perfetto's own form. It takes its name when it is complete:
 * assay_session_profile_end. ASSAY_ERR_INVALID where the file cannot be written, or the session
 * records already. */
ASSAY_API enum assay_status assay_session_profile(assay_session *session, const char *path,
                                                  struct assay_error *err);
/* Completes the trace. ASSAY_ERR_IO where it could not be written; ASSAY_ERR_INVALID where nothing
 * is recorded. Without it assay_session_close completes the trace, and says nothing. */
ASSAY_API enum assay_status assay_session_profile_end(assay_session *session,
                                                      struct assay_error *err);

/* The same of memory: whatever this session measures is set up, called and taken down once more
 * once it is timed, and what it allocates through assay is recorded: for whom, how long, and what
 * holds the peak. The file is a page for browsers, or, where it ends in .pickle, a snapshot that
 * PyTorch's memory viewer reads. Of a case, which is not set up again, it has what its function
 * takes of assay_session_alloc's memory while it runs. Statuses as above. */
ASSAY_API enum assay_status assay_session_profile_memory(assay_session *session, const char *path,
                                                         struct assay_error *err);
ASSAY_API enum assay_status assay_session_profile_memory_end(assay_session *session,
                                                             struct assay_error *err);

/* Names what the caller does until the matching pop, up to 16 deep; also within a case. It is drawn
 * in the session's trace. While something is timed, and where nothing is recorded, a range costs
 * the check alone, some 30 ns: leave it out of functions that take less than microseconds. From the
 * session's own thread. `name` is copied. */
ASSAY_API void assay_range_push(assay_session *session, const char *name);
ASSAY_API void assay_range_pop(assay_session *session);

/* ---- out ------------------------------------------------------------------------------------- */

/* Where text goes, piece by piece. */
typedef void (*assay_write_fn)(void *user, const char *bytes, size_t length);

/* One of them: `file` is a FILE *, stdout for one. */
ASSAY_API void assay_write_file(void *file, const char *bytes, size_t length);

/* All results of ops in a format of `assay list formats` ("table", "json", …). ASSAY_ERR_NOMEM:
 * memory ran out and the output is incomplete. The same holds for cases. */
ASSAY_API enum assay_status assay_session_report(const assay_session *session, const char *format,
                                                 assay_write_fn write, void *user,
                                                 struct assay_error *err);

/* One case as a JSON object on one line, followed by a newline: name iters warmup latency_ms
 * latency_std_ms device dtype idle_vram_mb peak_vram_mb workspace_vram_mb macs macs_rate flops
 * flops_rate metadata, then everything else that is known. NaN is null. */
ASSAY_API enum assay_status assay_case_result_json(const struct assay_case_result *result,
                                                   assay_write_fn write, void *user,
                                                   struct assay_error *err);
/* All cases of the session: a JSON array, or a table with the columns name mean_ms median_ms std_ms
 * idle_vram peak_vram workspace MACs MACS FLOPs FLOPS, n/a for what is not known, and where cases
 * were compared speedup: "1.62x [1.58 1.66]", "1.31x slower [1.28 1.35]", "same within 0.8%",
 * "unclear (n=8)". */
ASSAY_API enum assay_status assay_session_cases_json(const assay_session *session,
                                                     assay_write_fn write, void *user,
                                                     struct assay_error *err);
ASSAY_API enum assay_status assay_session_cases_table(const assay_session *session,
                                                      assay_write_fn write, void *user,
                                                      struct assay_error *err);

#ifdef __cplusplus
}
#endif

#endif
