/* memory_snapshot.h: memory profiles as a snapshot of PyTorch's allocator: a pickled dict with
 * `segments`, what was held at the end, before it was taken down; `device_traces`, what was
 * allocated and released until then; and `allocator_settings`. torch.cuda._memory_viz and
 * pytorch.org/memory_viz read it.
 *
 * An allocation is a segment. A block of planned buffers is one, too, and the buffers are its
 * blocks: they are allocated when their node comes and freed when nobody needs them any more. */
#ifndef ASSAY_TRACE_MEMORY_SNAPSHOT_H
#define ASSAY_TRACE_MEMORY_SNAPSHOT_H

#include "trace/memory_items.h"
#include "trace/pickle.h"

/* Several profiles are one history: what one still held is freed before the next begins. */
typedef struct assay_memory_snapshot assay_memory_snapshot;

/* `device`: the index of a GPU; traces of those before it are empty. NULL: no memory. */
assay_memory_snapshot *assay_memory_snapshot_create(int32_t device, assay_pickle_sink sink,
                                                    void *user);
/* ASSAY_ERR_NOMEM: it is not in the snapshot. */
enum assay_status assay_memory_snapshot_add(assay_memory_snapshot *snapshot,
                                            const struct assay_memory_profile *profile);
/* Completes it: 0, or the errno of the first write that failed. Frees it; NULL is fine. `about`
 * becomes a text among the settings: which program and run it is of. */
int assay_memory_snapshot_end(assay_memory_snapshot *snapshot, const char *about);

#endif
