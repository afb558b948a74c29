/* compare.h: compares computed values with a reference in double. */
#ifndef ASSAY_TENSOR_COMPARE_H
#define ASSAY_TENSOR_COMPARE_H

#include "tensor/tensor.h"

/* Accepted: |got - ref| <= absolute + relative * |ref| + summed * size. `size` comes beside an
 * element that is a sum: how large the partial sums on the way to it were. NaN and infinities must
 * match in kind. */
struct assay_tolerance {
    double relative, absolute, summed;
};

/* What a comparison found, accumulated over any number of calls. */
struct assay_comparison {
    struct assay_tolerance tolerance;
    int64_t compared, mismatches;
    int64_t first_mismatch; /* the element's index in the output; -1 if none */
    double first_got, first_ref, first_allowed;
    int32_t output;        /* of the kernel; for messages */
    double worst;          /* the greatest error as a fraction of what was allowed there */
    double worst_absolute; /* and what was allowed there beyond relative * |ref| */
    double max_abs, max_rel;
    double sum_sq_error, sum_sq_ref;
};

void assay_comparison_init(struct assay_comparison *comparison, struct assay_tolerance tolerance);

/* Compares n elements of `got` from `first` with ref[0 … n). `first` also names the index reported.
 */
void assay_comparison_add(struct assay_comparison *comparison, enum assay_dtype dtype,
                          const void *got, int64_t first, const double *ref, int64_t n);
/* The same of elements that are sums; sizes may be NULL. */
void assay_comparison_add_sums(struct assay_comparison *comparison, enum assay_dtype dtype,
                               const void *got, int64_t first, const double *ref,
                               const double *sizes, int64_t n);

/* Root of the mean square error, and signal to quantisation noise in dB (INFINITY when exact). */
double assay_comparison_rms(const struct assay_comparison *comparison);
double assay_comparison_sqnr_db(const struct assay_comparison *comparison);

#endif
