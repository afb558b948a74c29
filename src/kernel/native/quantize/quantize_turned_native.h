/* quantize_turned_native.h: what the native kernels of quantize_turned share: a pass that finds the
 * greatest magnitude of each column, and one that casts and turns. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_TURNED_NATIVE_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_TURNED_NATIVE_H

#include "kernel/native/linear/linear_native.h"

struct quantize_turned_body {
    /* Of columns [column, column_end): one for each, from amax[column] on. */
    void (*amax)(const struct linear_matrix *from, int64_t column, int64_t column_end, float *amax);
    /* Codes of these columns as rows of `to`; inverses of the scales, readable up to the next
     * multiple of 16. */
    void (*encode)(const struct linear_matrix *from, enum assay_dtype format, const float *inverses,
                   int64_t column, int64_t column_end, uint8_t *to);
};

enum assay_status assay_quantize_turned_setup(const struct assay_problem *problem,
                                              const struct quantize_turned_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_quantize_turned_run(void *state, const struct assay_work *work);
void assay_quantize_turned_teardown(void *state);

#endif
