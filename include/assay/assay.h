/* assay.h: measure kernels from your own program, with the same engine as the command line.
 *
 *     assay_session *session;
 *     struct assay_error err = {0};
 *     if (assay_session_open(NULL, &session, &err) == ASSAY_OK) {
 *         int64_t axes[] = {32, 512, 768};
 *         assay_session_measure(session, "layernorm", axes, 3, &err);
 *         for (int64_t i = 0; i < assay_session_count(session); i++)
 *             printf("%s %g ns\n", assay_session_result(session, i)->implementation,
 *                    assay_session_result(session, i)->hot.median_ns);
 *         assay_session_close(session);
 *     }
 *
 * Link with -lassay (pkg-config assay). C17 and C++17. The library does not print, exit or abort.
 * A session is used by one thread at a time; kernels run in the calling process, so a kernel that
 * crashes takes it along (the command line's worker process exists for that). */
#ifndef ASSAY_H
#define ASSAY_H

#include <assay/assay_kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". */
ASSAY_API const char *assay_version(void);

typedef struct assay_session assay_session;

/* What is 0 or NULL takes its default. */
struct assay_session_options {
    uint32_t struct_size;  /* sizeof(struct assay_session_options) */
    const char *device;    /* "cpu" */
    const char *dtype;     /* "f32"; "bf16", "torch.float16", … */
    int32_t threads;       /* all cores */
    int64_t warmup, iters; /* fixed numbers of warm-up calls and samples; 0: by precision */
    double precision;      /* 0.01: stop when every interval is within 1 % */
    double budget_s;       /* 2: or after so many seconds for each cache state */
    uint64_t seed;
    int32_t hot, cold;           /* which cache states to measure; both 0: both */
    const char *implementations; /* "native,onednn"; NULL: all */
    const char *baseline;        /* the implementation speedups refer to */
    const char *plugin;          /* a shared object with kernels of your own */
};

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

/* `options` may be NULL. *out is the caller's to close. ASSAY_ERR_INVALID for a name that is not
 * known (the message names the nearest), ASSAY_UNSUPPORTED for a device that is not here. */
ASSAY_API enum assay_status assay_session_open(const struct assay_session_options *options,
                                               assay_session **out, struct assay_error *err);

/* Measures every implementation of `op` on one problem, verified, and adds their results to the
 * session. Kernels that are wrong or cannot run are results, not errors. The
 * first call on a machine spends a few seconds on measuring the machine's ceilings. */
ASSAY_API enum assay_status assay_session_measure(assay_session *session, const char *op,
                                                  const int64_t *axes, int32_t n_axes,
                                                  struct assay_error *err);

/* The results so far. A result stays valid until the session is closed. */
ASSAY_API int64_t assay_session_count(const assay_session *session);
ASSAY_API const struct assay_result *assay_session_result(const assay_session *session,
                                                          int64_t index);

/* All results in a format of `assay list formats` ("table", "json", …), piece by piece. */
ASSAY_API enum assay_status assay_session_report(const assay_session *session, const char *format,
                                                 void (*write)(void *user, const char *bytes,
                                                               size_t length),
                                                 void *user, struct assay_error *err);

/* NULL is fine. */
ASSAY_API void assay_session_close(assay_session *session);

#ifdef __cplusplus
}
#endif

#endif
