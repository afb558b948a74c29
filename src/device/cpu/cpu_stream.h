/* cpu_stream.h: one pass over memory, by the loop that is fastest for its size on this machine:
 * what probes of bandwidth and the ops read, copy and triad run.
 *
 * Which loop that is (plain or streaming stores, several streams, prefetching, how many threads)
 * differs from CPU to CPU and with the size, so the candidates are timed. */
#ifndef ASSAY_DEVICE_CPU_STREAM_H
#define ASSAY_DEVICE_CPU_STREAM_H

#include "device/cpu/cpu_loops.h"
#include <assay/assay_kernel.h>

/* In the order of enum assay_probe_kind: read, write, copy, triad. */
struct assay_cpu_stream {
    enum assay_cpu_loop_kind kind;
    size_t bytes; /* of each tensor */
    const struct assay_cpu_loop *loop;
    int32_t threads;
};

/* Where the tensors of one set lie in a pool: out[0], then in[0], then in[1], as far as the kind
 * has them; the others are NULL. */
size_t assay_cpu_stream_set_bytes(enum assay_cpu_loop_kind kind, size_t bytes);
void assay_cpu_stream_bind(enum assay_cpu_loop_kind kind, size_t bytes, char *set,
                           void *pointers[3], struct assay_args *out);

/* Chooses the loop, on so many threads or on one, by timing them on the sets of this pool; again
 * and again on the first, or in turns on all of them where there are several. Three turns are
 * taken in any case, more within `most_ns`. */
void assay_cpu_stream_tune(struct assay_cpu_stream *stream, int32_t threads,
                           const struct assay_args *sets, int64_t n_sets, double most_ns);

/* One pass. Returns, for a read, the XOR of all 32-bit words, a partial last word filled up with 0;
 * otherwise 0. */
uint32_t assay_cpu_stream_run(const struct assay_cpu_stream *stream, void *out, const void *a,
                              const void *b);
/* So many passes, each on the next set, without the threads waiting for each other in between: as
 * one pass over more memory. */
void assay_cpu_stream_run_sets(const struct assay_cpu_stream *stream, const struct assay_args *sets,
                               int64_t n_sets, int64_t first, int64_t passes);

#endif
