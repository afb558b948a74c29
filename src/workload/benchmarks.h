/* benchmarks.h: a shared object's benchmarks, opened and looked over; for this room alone. */
#ifndef ASSAY_WORKLOAD_BENCHMARKS_H
#define ASSAY_WORKLOAD_BENCHMARKS_H

#include "base/error.h"
#include <assay/assay_benchmark.h>

/* An open one. */
struct assay_benchmarks {
    const struct assay_benchmark *first; /* NULL: none */
    assay_plugin_fn plugin;              /* NULL: no kernels of known ops */
};

/* Opens `path`, hands it the services, and checks every benchmark: version, names, functions. */
enum assay_status assay_benchmarks_open(const char *path, struct assay_benchmarks *out,
                                        struct assay_error *err);

/* A workload of a benchmark, with zeros for fields newer than its header. */
void assay_benchmarks_workload(const struct assay_benchmark *benchmark, int32_t index,
                               struct assay_workload *out);

/* What shared objects may call: device code, compiled and launched. */
extern const struct assay_services assay_workload_services;

#endif
