/* report_samples.h: what drawings of samples have in common. */
#ifndef ASSAY_REPORT_SAMPLES_H
#define ASSAY_REPORT_SAMPLES_H

#include "record/record.h"

/* The times that a drawing shows: all but those so far out that the others would be one line. The
 * ends are samples. */
struct assay_samples_span {
    double lo, hi;        /* ns; lo < hi where there are samples */
    int64_t below, above; /* samples that are outside */
    double least, most;   /* of all */
};

struct assay_samples_span assay_samples_span(const struct assay_samples *samples);
/* Of both. */
void assay_samples_span_add(struct assay_samples_span *span,
                            const struct assay_samples_span *other);

/* How many bars a histogram of these samples is to have within lo and hi: by the rule of Freedman
 * and Diaconis, 8 at the least and `most` at the most. */
int assay_samples_bars(const struct assay_samples *samples, double lo, double hi, int most);

#endif
