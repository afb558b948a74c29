/* autotune.c: times candidates round after round, so that a clock that is still rising does not
 * favour the last ones; of each candidate the least time counts. */
#include "kernel/cuda/autotune.h"

#include <stdlib.h>
#include <string.h>

/* What timing needs. */
struct watch {
    cu_stream stream;
    cu_event start, end;
    cu_function spin;
};

static enum assay_status elapsed(const struct watch *watch, float *ms, struct assay_error *err)
{
    const struct cuda_driver_api *cu = assay_cuda_driver();
    enum assay_status status =
        assay_cuda_check(cu->cuStreamSynchronize(watch->stream), "cuStreamSynchronize", err);
    if (status != ASSAY_OK)
        return status;
    if (cu->cuEventElapsedTime_v2)
        return assay_cuda_check(cu->cuEventElapsedTime_v2(ms, watch->start, watch->end),
                                "cuEventElapsedTime", err);
    return assay_cuda_check(cu->cuEventElapsedTime(ms, watch->start, watch->end),
                            "cuEventElapsedTime", err);
}

static enum assay_status mark(const struct watch *watch, cu_event event, struct assay_error *err)
{
    return assay_cuda_check(assay_cuda_driver()->cuEventRecord(event, watch->stream),
                            "cuEventRecord", err);
}

/* Keeps the GPU busy while the host enqueues: without it short launches would wait for the host. */
static enum assay_status keep_busy(const struct watch *watch)
{
    uint64_t ns = 100000;
    const struct assay_cuda_launch launch = {.threads = 1};
    void *parameters[] = {&ns};
    return watch->spin ? assay_cuda_launch(watch->spin, &launch, watch->stream, parameters)
                       : ASSAY_OK;
}

/* *ms stays what it is where the candidate cannot run. */
static enum assay_status time_candidate(const struct cuda_tuning *t, void *state, int i,
                                        const struct assay_args *args, const struct watch *watch,
                                        float *ms, struct assay_error *err)
{
    enum { WARM = 3, TIMED = 10 };
    enum assay_status status = t->choose(state, i, err);
    for (int n = 0; n < WARM && status == ASSAY_OK; n++)
        if (t->call(state, 0, args, watch->stream) != ASSAY_OK)
            return ASSAY_OK;
    if (status == ASSAY_OK)
        status = keep_busy(watch);
    if (status == ASSAY_OK)
        status = mark(watch, watch->start, err);
    for (int n = 0; n < TIMED && status == ASSAY_OK; n++)
        status = t->call(state, 0, args, watch->stream);
    if (status == ASSAY_OK)
        status = mark(watch, watch->end, err);
    return status == ASSAY_OK ? elapsed(watch, ms, err) : status;
}

static enum assay_status time_all(const struct cuda_tuning *t, void *state,
                                  const struct assay_args *args, const struct watch *watch,
                                  struct assay_error *err)
{
    enum { ROUNDS = 5 };
    const float never = 1e30f, enough_ms = 400;
    float least[CUDA_CANDIDATES], spent = 0;
    enum assay_status status = ASSAY_OK;
    int best = 0;
    for (int i = 0; i < t->n; i++)
        least[i] = never;
    for (int round = 0; round < ROUNDS && spent < enough_ms; round++)
        for (int i = 0; i < t->n && status == ASSAY_OK; i++) {
            float ms = never;
            status = time_candidate(t, state, i, args, watch, &ms, err);
            spent += ms < never ? ms : 0;
            least[i] = ms < least[i] ? ms : least[i];
        }
    for (int i = 1; i < t->n; i++)
        if (least[i] < least[best])
            best = i;
    return status == ASSAY_OK ? t->choose(state, best, err) : status;
}

enum assay_status assay_cuda_tune(const struct cuda_tuning *t, void *state,
                                  const struct assay_args *args, struct assay_error *err)
{
    const struct cuda_driver_api *cu = assay_cuda_driver();
    struct watch watch = {0};
    if (assay_cuda_can_compile(NULL) != ASSAY_OK ||
        assay_cuda_function("gate.cu", "", "spin", 0, &watch.spin, NULL) != ASSAY_OK)
        watch.spin = NULL; /* without NVRTC; a library's algorithms can be tried all the same */
    enum assay_status status = assay_cuda_check(
        cu->cuStreamCreate(&watch.stream, CU_STREAM_FLAG_NON_BLOCKING), "cuStreamCreate", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(cu->cuEventCreate(&watch.start, 0), "cuEventCreate", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(cu->cuEventCreate(&watch.end, 0), "cuEventCreate", err);
    if (status == ASSAY_OK)
        status = time_all(t, state, args, &watch, err);
    if (watch.stream) {
        cu->cuStreamSynchronize(watch.stream);
        cu->cuStreamDestroy_v2(watch.stream);
    }
    if (watch.start)
        cu->cuEventDestroy_v2(watch.start);
    if (watch.end)
        cu->cuEventDestroy_v2(watch.end);
    return status;
}
