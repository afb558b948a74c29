/* conv_common.h: what the files of conv2d, depthwise_conv2d and their gradients share; for kernels
 * see conv.h. */
#ifndef ASSAY_OP_CONV_COMMON_H
#define ASSAY_OP_CONV_COMMON_H

#include "op/conv.h"
#include "op/node.h"

/* The fields of struct assay_op with the same names. */
enum assay_status assay_conv_check(const struct assay_problem *problem, struct assay_error *err);
void assay_conv_shapes(struct assay_problem *problem);
enum assay_status assay_conv_set_mode(struct assay_problem *problem, const char *mode,
                                      struct assay_error *err);
bool assay_conv_is_weight(const struct assay_problem *problem, int32_t input);
void assay_conv_fill(const struct assay_problem *problem, int32_t index, void *data, uint64_t seed);
void assay_conv_fill_exact(const struct assay_problem *problem, int32_t index, void *data,
                           uint64_t seed);
bool assay_conv_can_be_exact(const struct assay_problem *problem);
/* For reference_sums: `squares` of the products become sizes. `out` has the sums, with bias and
 * residual. */
void assay_conv_sizes(const struct assay_problem *problem, const void *const *in, int64_t row,
                      int64_t first, int64_t n, const double *out, double *squares);
struct assay_tolerance assay_conv_tolerance(const struct assay_problem *problem);
struct assay_cost assay_conv_cost(const struct assay_problem *problem); /* in f32 arithmetic */

/* The same of their gradients; they share check, set_mode, fill and fill_exact. */
bool assay_conv_is_depthwise(const struct assay_problem *problem);
void assay_conv_backward_shapes(struct assay_problem *problem);
bool assay_conv_backward_can_be_exact(const struct assay_problem *problem);
struct assay_tolerance assay_conv_backward_tolerance(const struct assay_problem *problem,
                                                     int32_t output);
struct assay_cost assay_conv_backward_cost(const struct assay_problem *problem);

/* The field `refuse` of struct assay_op_node. */
const char *assay_conv_node_refuse(const struct assay_problem *problem);

/* Element `at` of an optional input; 0 where there is none. */
static inline double assay_conv_optional(const struct assay_problem *problem, const void *const *in,
                                         int32_t input, int64_t at)
{
    double value = 0;
    if (input >= 0)
        assay_dtype_load(problem->inputs[input].dtype, in[input], at, 1, &value);
    return value;
}

#endif
