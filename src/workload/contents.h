/* contents.h: what a shared object holds: workloads, and kernels of known ops. Plain data, which
 * the process that opened the object leaves for others to read. */
#ifndef ASSAY_WORKLOAD_CONTENTS_H
#define ASSAY_WORKLOAD_CONTENTS_H

#include "workload/workload.h"

enum { ASSAY_CONTENTS_WORKLOADS = 256, ASSAY_CONTENTS_KERNELS = 512, ASSAY_CONTENTS_RECIPES = 24 };

struct assay_kernel_found {
    char name[64], op[64], implementation[32], device[8];
    uint64_t dtypes;
    int32_t preference;
    uint32_t units, flags;
    bool prepares, has_activations, has_note;
    char recipes[ASSAY_CONTENTS_RECIPES][32]; /* that it takes, of ops that have them */
    int64_t n_recipes;
};

struct assay_contents {
    struct assay_workload_found workloads[ASSAY_CONTENTS_WORKLOADS];
    int64_t n_workloads;
    struct assay_kernel_found kernels[ASSAY_CONTENTS_KERNELS];
    int64_t n_kernels;
};

/* Of the process that opened it: all workloads, and the registry's kernels from `first` on. The
 * recipes stay empty: to ask for them is to call a kernel. */
enum assay_status assay_contents_list(const assay_workloads *workloads,
                                      const assay_kernel_registry *registry, int64_t first,
                                      struct assay_contents *out, struct assay_error *err);

#endif
