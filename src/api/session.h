/* session.h: an open session, as the files of this folder see it. */
#ifndef ASSAY_API_SESSION_H
#define ASSAY_API_SESSION_H

#include "api/handles.h"
#include "device/device.h"
#include "record/plan.h"
#include "record/record.h"
#include "report/memory_file.h"
#include "trace/timeline.h"

/* The records of one measured op. */
struct assay_batch {
    struct assay_record *records;
    struct assay_result *results;
    int64_t n;
};

/* A block that assay_session_alloc gave. */
struct assay_block {
    void *pointer;
    size_t bytes;
};

/* How cases are measured. */
struct assay_case_settings {
    int64_t warmup, iters; /* fixed numbers of calls; iters 0: by precision */
    double precision, budget_ns;
    uint64_t seed;
    bool isolate;
    double timeout_s;
    int (*between)(void *user); /* samples; anything but 0 ends the measuring */
    void *user;
};

/* What the caller's ranges are while they are open. */
enum { ASSAY_RANGES = 16, ASSAY_RANGE_NAME = 64 };
struct assay_range {
    char name[ASSAY_RANGE_NAME];
    int64_t began_ns; /* 0: nothing was recorded then */
};

struct assay_open_session {
    struct assay_settings settings;
    struct assay_run_info info; /* as the command line describes a run; begun when it was opened */
    enum assay_dtype dtype;
    struct assay_batch *batches;
    int64_t n_batches, n_results;

    struct assay_case_settings how;
    struct assay_case_result **cases; /* each an allocation of its own: callers keep pointers */
    int64_t n_cases;
    bool running; /* inside a case */

    assay_timeline *timeline;       /* NULL: nothing is recorded */
    assay_memory_file *memory_file; /* likewise, of what is allocated */
    bool profiling;                 /* cases are called for it now, and not timed */
    struct assay_range ranges[ASSAY_RANGES];
    int32_t n_ranges; /* open; those beyond the last are counted alone */

    /* Where cases run and their memory is counted. The cpu is not opened: that would pin the
     * caller's threads. */
    const struct assay_device_driver *driver;
    int32_t index;
    char device_name[32];
    struct assay_device host;
    assay_device *gpu;  /* NULL until it is needed */
    size_t gpu_at_open; /* bytes that were available then */
    struct assay_block *blocks;
    int64_t n_blocks;
};

/* The session of a handle; NULL, with the error set, where it is not open. */
struct assay_open_session *assay_session_find(const assay_session *handle, struct assay_error *err);

/* Copies a caller's struct, which begins with its size, into one of `known` bytes, zeroed before. A
 * longer one is fine as long as what is not known here is zero; `whose` names it in the error. */
enum assay_status assay_struct_read(void *to, size_t known, const void *from, const char *whose,
                                    struct assay_error *err);

/* Has a plan measured in this process, as a run without lock or journal; each group's records go to
 * `keep`. The caller's threads are as before. */
typedef enum assay_status assay_keep_records(void *user, const struct assay_record *records,
                                             int64_t n, struct assay_error *err);
enum assay_status assay_session_run_plan(struct assay_open_session *session,
                                         const struct assay_plan *plan, assay_keep_records *keep,
                                         void *user, struct assay_error *err);

/* session_profile.c: completes the trace, if there is one. */
enum assay_status assay_session_end_trace(struct assay_open_session *session,
                                          struct assay_error *err);
enum assay_status assay_session_end_memory(struct assay_open_session *session,
                                           struct assay_error *err);

/* session_memory.c: the device that holds the cases' memory, opened where it must be. */
enum assay_status assay_session_device(struct assay_open_session *session, assay_device **out,
                                       struct assay_error *err);
/* Frees every block and closes the device. */
void assay_session_memory_close(struct assay_open_session *session);
/* Before an op is measured, which opens the GPU by itself. ASSAY_ERR_INVALID while blocks on it are
 * held. */
enum assay_status assay_session_memory_rest(struct assay_open_session *session,
                                            struct assay_error *err);

/* case_result.c: a result of the session, from an allocation made for it; takes `result` over. */
enum assay_status assay_session_keep_case(struct assay_open_session *session,
                                          struct assay_case_result *result,
                                          struct assay_error *err);

#endif
