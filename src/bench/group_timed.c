/* group_timed.c: how a GPU's samples of each variant were taken, and what their graph holds. */
#include "bench/group_internal.h"

#include "runner/runner.h"

static const char *fault_of(const struct assay_timed *timed)
{
    switch (timed->fault) {
    case ASSAY_TIMED_NOTHING:
        return "launched nothing on the stream it was given";
    case ASSAY_TIMED_PARTLY:
        return "launched nothing in some of its calls";
    case ASSAY_TIMED_UNJOINED:
        return "its work on another stream is not joined to the one it was given "
               "(cudaErrorStreamCaptureUnjoined)";
    default:
        return NULL;
    }
}

void assay_group_note_timed(struct group *g, struct variant *v)
{
    /* One whose output was wrong may just have launched nothing: that says more. */
    bool wrong = v->record.outcome == ASSAY_OUTCOME_MISMATCH && v->runner && v->set_up &&
                 assay_runner_end_of(v->runner) == ASSAY_RUNNER_ALIVE;
    if ((!v->ready && !wrong) || !v->device || !v->device->driver->timed)
        return;
    v->device->driver->timed(v->device, v->kernel, v->state, &v->record.timed);
    if (assay_group_blame_runner(g, v, ""))
        return;
    const char *fault = fault_of(&v->record.timed);
    if (fault && v->runner && assay_runner_has_guest(v->runner))
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, fault);
}

void assay_group_note_first_call(struct variant *v)
{
    bool guest = v->runner && v->device && assay_runner_has_guest(v->runner);
    if (!guest || !v->device->driver->timed)
        return;
    snprintf(v->record.caller, sizeof v->record.caller, "python");
    v->record.setup_ns += assay_remote_device_first_ns(v->device);
}
