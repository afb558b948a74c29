/* case.h: cases on their way from the caller's struct to a result.
 *
 * case.c checks what the caller gave and keeps the results; case_measure.c sets up, warms up and
 * samples; case_isolate.c has each case do so in a runner of its own; case_time.c has the timed
 * call itself; case_result.c makes what callers read, and case_report.c writes it. */
#ifndef ASSAY_API_CASE_H
#define ASSAY_API_CASE_H

#include "api/guard.h"
#include "api/session.h"
#include "bench/engine.h"
#include "runner/remote_device.h"

/* What is known of a case after measuring. Plain data: it also comes out of a runner. */
struct assay_case_figures {
    enum assay_outcome outcome; /* not ok before measuring: this case is left out */
    char reason[256];
    int64_t samples, calls, warmup; /* calls: in one sample */
    struct assay_summary time;
    bool has_ratio;
    struct assay_ratio ratio; /* to the first case */
    size_t idle_bytes, workspace_bytes;
    double macs, flops; /* NaN: no counter */
    int64_t rounds;
    double *sample_ns; /* of each round */
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
    assay_runner *runner; /* where it is isolated: its process, */
    assay_device *device; /* and that as a device; NULL: it runs in this one */
    double timeout_s;     /* of what it is asked there */
};

static inline bool assay_case_is_well(const struct assay_case_lane *lane)
{
    return lane->figures->outcome == ASSAY_OUTCOME_OK;
}

/* ---- case_time.c ---- */

/* What the engine times cases with: the host's clock around a call or, with `gpu`, events on the
 * case's stream. */
struct assay_case_timer {
    struct assay_device device; /* first */
    struct assay_device_driver driver;
    assay_device *gpu;
    int64_t last_ns; /* when the last call ended */
    void *sweep;     /* what the caches are filled with before a call that is to be cold */
    size_t sweep_bytes;
};
/* `elsewhere`: its cases are not called in this process, which keeps time all the same. */
void assay_case_timer_init(struct assay_case_timer *timer, assay_device *gpu, bool by_precision,
                           bool elsewhere);
void assay_case_lane_init(struct assay_case_lane *lane);
/* So many calls, with what they took; `out` may be NULL. */
enum assay_status assay_case_timer_call(struct assay_case_timer *timer,
                                        struct assay_case_lane *lane, int64_t calls,
                                        struct assay_timing *out);
/* Ends the case as crashed, by what the guard caught; the status is a failure. */
enum assay_status assay_case_crashed(struct assay_case_lane *lane, const char *during);

/* ---- case_measure.c ---- */

/* Measures those of `cases` whose outcome is still ok, into `figures`. A case that fails is a
 * result, not an error. */
enum assay_status assay_cases_measure(struct assay_open_session *session,
                                      const struct assay_case *cases, int64_t n,
                                      struct assay_case_figures *figures, struct assay_error *err);

/* What is done with a case before and after it is timed, in the process it lives in. */
void assay_case_set_up(struct assay_case_lane *lane);
void assay_case_look_at_memory(struct assay_open_session *session, struct assay_case_timer *timer,
                               struct assay_case_lane *lane);
void assay_case_tear_down(struct assay_case_lane *lane);

/* ---- case_profile.c ---- */

/* Calls each case a few times more, once it is timed, into the session's trace. What becomes of it
 * there is not in its figures. */
void assay_cases_profile(struct assay_open_session *session, struct assay_case_timer *timer,
                         struct assay_case_lane *cases, int64_t n);
/* The same for its memory: what they take through assay in another call. */
void assay_cases_profile_memory(struct assay_open_session *session, struct assay_case_timer *timer,
                                struct assay_case_lane *cases, int64_t n);

/* ---- case_isolate.c ---- */

/* Gives each case that is well a runner of its own, a copy of this process. */
enum assay_status assay_cases_hire(struct assay_open_session *session,
                                   struct assay_case_timer *timer, struct assay_case_lane *lanes,
                                   int64_t n, struct assay_error *err);
/* Has one of the three functions above called there: ASSAY_RUNNER_SETUP, PREPARE, TEARDOWN. */
void assay_case_ask(struct assay_case_lane *lane, enum assay_runner_verb verb);
/* What became of it there: its figures as it left them, or how its process ended. */
void assay_case_fetch(struct assay_case_lane *lane);
void assay_cases_dismiss(struct assay_case_lane *lanes, int64_t n);

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
