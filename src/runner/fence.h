/* fence.h: one set of operands in which every tensor lies against a page that nobody may touch, so
 * that a kernel that reads or writes beyond it is caught in the act: the process ends, and its last
 * words say what was done to which tensor. Only where the device's memory is the host's. */
#ifndef ASSAY_RUNNER_FENCE_H
#define ASSAY_RUNNER_FENCE_H

#include "base/error.h"
#include <assay/assay_kernel.h>

typedef struct assay_fence assay_fence;

/* Which end of the tensors lies against the page. Tensors start at multiples of 64 bytes, as they
 * always do: at their end up to 63 bytes may be between. */
enum assay_fence_side { ASSAY_FENCE_END, ASSAY_FENCE_START };

/* The inputs are copied. */
enum assay_status assay_fence_create(const struct assay_problem *problem, const void *const *inputs,
                                     enum assay_fence_side side, assay_fence **out,
                                     struct assay_error *err);
void assay_fence_destroy(assay_fence *fence);

const struct assay_args *assay_fence_args(const assay_fence *fence);

/* From arm to disarm a touched fence ends the process with last words. One at a time. */
void assay_fence_arm(assay_fence *fence);
void assay_fence_disarm(assay_fence *fence);

#endif
