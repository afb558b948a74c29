/* groupnorm_native.h: what the native kernels of groupnorm share.
 *
 * How it fits together. The work is cut into units: some groups of one image (a slice), over some
 * of its pixels (a part). A slice is as narrow as it must be to stay in the L2 cache between the
 * two passes over it, sums and outputs; parts are there so that few images occupy all threads. A
 * body (groupnorm_vec.c) does the passes over one unit; the driver (groupnorm_driver.c), compiled
 * once, for any CPU, deals the units out and puts the sums of a slice's parts together. */
#ifndef ASSAY_KERNEL_NATIVE_GROUPNORM_NATIVE_H
#define ASSAY_KERNEL_NATIVE_GROUPNORM_NATIVE_H

#include "kernel/native/native.h"
#include "op/groupnorm.h"

struct groupnorm_job {
    int64_t pixels, channels; /* of an image */
    int64_t width, groups;    /* channels and groups of a slice */
    int64_t padded;           /* the width in whole blocks of the body */
    const int32_t *group; /* of each lane of a slice's blocks, its group; -1: not in the slice */
    bool silu;
};

struct groupnorm_unit {
    int64_t image, slice;
    int64_t begin, end; /* pixels */
};

/* Of one group, over a unit or a slice: of x - shift and of its square. */
struct groupnorm_sums {
    double sum, square;
};

/* normalised: (x - shift) * scale + offset */
struct groupnorm_norm {
    float shift, scale, offset;
};

/* The scratch memory of a thread: so many floats for each lane of a slice. */
enum { GROUPNORM_SCRATCH = 4 };

struct groupnorm_body {
    int32_t block; /* channels that lie in a pair of vectors */
    /* Of an element of a block, the lane that has it. */
    void (*lanes)(enum native_kind kind, int32_t *lane_of);
    /* Sums of x - shift for each group of a slice; shift == NULL: of x. */
    void (*sums[NATIVE_KINDS])(const struct groupnorm_job *job, const void *x,
                               const struct groupnorm_unit *unit, const float *shift,
                               float *scratch, struct groupnorm_sums *out);
    /* [1] writes by streaming stores. */
    void (*apply[NATIVE_KINDS][2])(const struct groupnorm_job *job, const struct assay_args *args,
                                   const struct groupnorm_unit *unit,
                                   const struct groupnorm_norm *norms, float *scratch);
};

enum assay_status assay_groupnorm_setup(const struct assay_problem *problem,
                                        const struct groupnorm_body *body, void **state,
                                        struct assay_error *err);
enum assay_status assay_groupnorm_run(void *state, const struct assay_work *work);
void assay_groupnorm_teardown(void *state);

#endif
