/* contents.h: what a shared object holds: workloads, and kernels of known ops. It is opened in a
 * child of this process, because opening it runs its code. */
#ifndef ASSAY_WORKLOAD_CONTENTS_H
#define ASSAY_WORKLOAD_CONTENTS_H

#include "base/error.h"
#include <assay/assay_kernel.h>

enum { ASSAY_CONTENTS_WORKLOADS = 256, ASSAY_CONTENTS_KERNELS = 64, ASSAY_CONTENTS_RECIPES = 24 };

struct assay_workload_found {
    char op[64], benchmark[64], name[64], device[8];
    bool verified;
};

struct assay_kernel_found {
    char name[64], op[64], implementation[32], device[8];
    uint64_t dtypes;
    char recipes[ASSAY_CONTENTS_RECIPES][32]; /* that it takes, of ops that have them */
    int64_t n_recipes;
};

struct assay_contents {
    struct assay_workload_found workloads[ASSAY_CONTENTS_WORKLOADS];
    int64_t n_workloads;
    struct assay_kernel_found kernels[ASSAY_CONTENTS_KERNELS];
    int64_t n_kernels;
};

/* Errors: it cannot be opened, was built for another version, holds neither, crashes or hangs. */
enum assay_status assay_contents_read(const char *path, struct assay_contents *out,
                                      struct assay_error *err);

#endif
