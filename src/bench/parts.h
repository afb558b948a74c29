/* parts.h: would an output that leaves out a part of the work be found wrong?
 *
 * A mean over many random terms hardly changes when a fifth of them is left out, and neither do the
 * statistics of a long row. So losses are verified once more on inputs with spikes: a few terms at
 * secret indices are raised until together they are as large as all others. And for losses as for
 * norms the outputs of kernels that skip a part are made up: each must be rejected. */
#ifndef ASSAY_BENCH_PARTS_H
#define ASSAY_BENCH_PARTS_H

#include "op/op.h"

/* Spikes at the most. */
enum { ASSAY_SPIKES_MOST = 23 };

struct assay_spikes {
    struct assay_change changes[ASSAY_SPIKES_MOST];
    int64_t terms[ASSAY_SPIKES_MOST]; /* the terms they raise, */
    double more[ASSAY_SPIKES_MOST];   /* each by so much */
    int64_t n;
    double mean_change; /* what that adds to the op's output */
    double allowed;     /* beyond the op's relative tolerance */
};

/* Spikes for these inputs of an op that has a `mean`; `pass` counts the times the same inputs get
 * spikes: their number differs. With them every output is rejected that leaves out a fifth or a
 * thirtieth of the terms: the first, the last, any stretch between them; every fifth or thirtieth
 * one; rows or columns; divided by all terms or by those that were counted. Else ASSAY_UNSUPPORTED
 * with a sentence that says which would have passed. */
enum assay_status assay_spikes_choose(const struct assay_op *op,
                                      const struct assay_problem *problem, const void *const *in,
                                      uint64_t seed, int pass, struct assay_spikes *out,
                                      struct assay_error *why);

/* The same of an op with normalised_axes, on its inputs as they are: statistics from four fifths,
 * or from 29 thirtieths, of the elements of a row. */
enum assay_status assay_parts_control_norm(const struct assay_op *op,
                                           const struct assay_problem *problem,
                                           const void *const *in, struct assay_error *why);

#endif
