#include "trace/recorder.h"

#include "base/alloc.h"

enum assay_status assay_recorder_init(struct assay_recorder *recorder, int64_t capacity)
{
    recorder->spans = assay_calloc((size_t)capacity, sizeof *recorder->spans);
    recorder->mark = NULL;
    recorder->mark_user = NULL;
    recorder->capacity = recorder->spans ? capacity : 0;
    atomic_init(&recorder->n, 0);
    return recorder->spans ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

void assay_recorder_fini(struct assay_recorder *recorder)
{
    assay_free(recorder->spans);
    recorder->spans = NULL;
    recorder->capacity = 0;
}

int64_t assay_recorder_kept(const struct assay_recorder *recorder)
{
    int64_t n = atomic_load_explicit(&recorder->n, memory_order_relaxed);
    return n < recorder->capacity ? n : recorder->capacity;
}

int64_t assay_recorder_lost(const struct assay_recorder *recorder)
{
    int64_t n = atomic_load_explicit(&recorder->n, memory_order_relaxed);
    return n - assay_recorder_kept(recorder);
}
