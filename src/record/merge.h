/* merge.h: several measurements of one variant as one row. */
#ifndef ASSAY_RECORD_MERGE_H
#define ASSAY_RECORD_MERGE_H

#include "record/record.h"

enum { ASSAY_MERGE_MOST = 1000 };

/* Do both describe the same variant of the same group? */
bool assay_record_is_repeat(const struct assay_record *a, const struct assay_record *b);

/* The row that stands for 1 to ASSAY_MERGE_MOST repeats of a variant: the repeat whose time is the
 * median one, with the range of their medians beside it. Its speedup is the median of theirs, with
 * an interval that holds all of theirs, and a difference is one only where every repeat found it.
 * Where one of them failed, that is the row. */
void assay_record_merge(const struct assay_record *const *repeats, int64_t n,
                        struct assay_record *out);

#endif
