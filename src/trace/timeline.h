/* timeline.h: profiles as a timeline: one process of the trace for each variant, with the tracks
 *
 *     nodes      calls, and in them the nodes of a model
 *     phases     of training: forward, loss, backward, optimizer
 *     ceiling    beside each node the time it would take at the machine's measured ceiling
 *     thread N   what each thread computed of a node, and when it waited
 *     host       beside a GPU: what the host did, calls and the launches of nodes
 *     GPU stream N  the GPU's kernels, copies and fills
 *     samples    those of the timed pass, one behind the other; disturbed ones are named so
 *     ranges     what the caller's own code marked
 *     clock, memory
 *
 * A file is written beside its name and takes it when it is complete, so that whatever stands
 * there can be read; what is no regular file is written as it comes. */
#ifndef ASSAY_TRACE_TIMELINE_H
#define ASSAY_TRACE_TIMELINE_H

#include "trace/profile.h"
#include "trace/trace_writer.h"

/* A file of profiles. */
typedef struct assay_timeline assay_timeline;

/* Opens it for writing: fails before anything is measured. */
enum assay_status assay_timeline_open(const char *path, assay_timeline **out,
                                      struct assay_error *err);
void assay_timeline_add(assay_timeline *timeline, const struct assay_profile *profile);
/* A named range of the caller's own, on a track of its own for each depth: those of one depth do
 * not overlap. */
void assay_timeline_range(assay_timeline *timeline, const char *name, int32_t depth,
                          int64_t start_ns, int64_t end_ns);
int64_t assay_timeline_count(const assay_timeline *timeline); /* profiles so far */
const char *assay_timeline_path(const assay_timeline *timeline);

/* Completes the file and gives it its name; the error says why that cannot be. `about` as of
 * assay_trace_writer_end. Frees the timeline; NULL is fine. */
enum assay_status assay_timeline_close(assay_timeline *timeline,
                                       const struct assay_trace_arg *about, int32_t n,
                                       struct assay_error *err);
/* Without a trace: nothing takes its name. NULL is fine. */
void assay_timeline_cancel(assay_timeline *timeline);

/* The profile's events alone, as process `number`. */
void assay_timeline_write(assay_trace_writer *writer, int32_t number,
                          const struct assay_profile *profile);

#endif
