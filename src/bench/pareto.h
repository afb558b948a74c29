/* pareto.h: which variants of a group nobody beats in time, size of the weights and accuracy. */
#ifndef ASSAY_BENCH_PARETO_H
#define ASSAY_BENCH_PARETO_H

#include "record/record.h"

/* Sets `pareto` of each record from all of them: only those that are ok, measured and of an op with
 * recipes count. Where both cache states were measured the cold one decides: weights of a model in
 * use come from memory. */
void assay_pareto_mark(struct assay_record *const *records, int64_t n);

#endif
