/* case.h: cases on their way from the caller's struct to a result.
 *
 * case.c checks what the caller gave and keeps the results; case_measure.c sets up, warms up and
 * samples, in this process or (case_isolate.c) in a child; case_time.c has the timed call itself;
 * case_result.c makes what callers read, and case_report.c writes it. */
#ifndef ASSAY_API_CASE_H
#define ASSAY_API_CASE_H

#include "api/guard.h"
#include "api/session.h"
#include "bench/engine.h"

/* What is known of a case after measuring. Plain data: it also comes out of a child process. */
struct assay_case_figures {
    enum assay_outcome outcome; /* not ok before measuring: this case is left out */
    char reason[256];
    int64_t samples, calls, warmup; /* calls: in one sample */
    struct assay_summary time;
    bool has_ratio;
    struct assay_ratio ratio; /* to the first case */
    size_t idle_bytes, workspace_bytes;
    double macs, flops; /* NaN: no counter */
};

/* A case while it is measured. */
struct assay_case_lane {
    struct assay_case self;
    struct assay_case_figures *figures;
    struct assay_guard *guard;
    assay_device *memory; /* where assay_session_alloc counts */
    assay_device *gpu;    /* NULL on the cpu */
    bool is_set_up;
    int64_t calls; /* in all */
    size_t most;   /* the most that assay_session_alloc gave in one call */
    struct assay_kernel kernel;
};

/* ---- case_time.c ---- */

/* What the engine times cases with: the host's clock around a call or, with `gpu`, events on the
 * case's stream. */
struct assay_case_timer {
    struct assay_device device; /* first */
    struct assay_device_driver driver;
    assay_device *gpu;
    int64_t last_ns; /* when the last call ended */
};
void assay_case_timer_init(struct assay_case_timer *timer, assay_device *gpu, bool by_precision);
void assay_case_lane_init(struct assay_case_lane *lane);
/* One call, with what it took; for warming up. */
enum assay_status assay_case_timer_call(struct assay_case_timer *timer,
                                        struct assay_case_lane *lane);
/* Ends the case as crashed, by what the guard caught; the status is a failure. */
enum assay_status assay_case_crashed(struct assay_case_lane *lane, const char *during);

/* ---- case_measure.c, case_isolate.c ---- */

/* Told what is about to run: a case, or -1 for none. Optional. */
struct assay_case_watch {
    void *user;
    void (*step)(void *user, int64_t index);
};

/* Measures those of `cases` whose outcome is still ok, into `figures`. A case that fails is a
 * result, not an error. */
enum assay_status assay_cases_measure(struct assay_open_session *session,
                                      const struct assay_case *cases, int64_t n,
                                      const struct assay_case_watch *watch,
                                      struct assay_case_figures *figures, struct assay_error *err);

/* The same in a child process, again without a case that kills it or takes too long. */
enum assay_status assay_cases_isolate(struct assay_open_session *session,
                                      const struct assay_case *cases, int64_t n,
                                      struct assay_case_figures *figures, struct assay_error *err);

/* ---- case_result.c ---- */

/* A result with copies of name and metadata, and nothing else in it: times and counts are not
 * known. NULL without memory. */
struct assay_case_result *assay_case_result_create(const char *name,
                                                   const struct assay_metadata *metadata,
                                                   int32_t n_metadata, const char *reason);
/* All of it, with these figures. */
struct assay_case_result *assay_case_result_from(const struct assay_open_session *session,
                                                 const struct assay_case *self,
                                                 const struct assay_case_figures *figures);

#endif
