/* sources.h: what in a repository is to be compiled: its benchmarks, or, where it has none, the
 * files that define kernels of known ops.
 *
 *   ROOT/benchmarks/benchmark*.{c,cc,cpp,cxx,cu}     benchmarks with workloads of their own
 *   ROOT/kernels/*.{c,cc,cpp,cxx,cu}, ROOT/*.{…}     where there is no benchmarks/ at all
 *   a single file that was named                     that one, whatever it holds */
#ifndef ASSAY_REPO_SOURCES_H
#define ASSAY_REPO_SOURCES_H

#include "repo/repository.h"

enum assay_language { ASSAY_LANGUAGE_C, ASSAY_LANGUAGE_CXX, ASSAY_LANGUAGE_CUDA };

struct assay_source {
    char *path;  /* absolute */
    char *shown; /* from the repository's root: "benchmarks/benchmark_silu.c" */
    enum assay_language language;
    bool run_time_cuda; /* of CUDA: __CUDACC_RTC__ occurs in it; its host part is C */
};

/* Fill with assay_sources_find, free with assay_sources_fini. Start from {0}. */
struct assay_sources {
    struct assay_source *items; /* in order of `shown` */
    int64_t n;
    char
        sha256[65]; /* of the files' names and contents, in this order; what SPEC calls Benchmark */
};

/* Errors: no benchmarks/ and no source file; benchmarks/ without a file that matches. Each says
 * what was looked for and where. */
enum assay_status assay_sources_find(const struct assay_repository *repository,
                                     struct assay_sources *out, struct assay_error *err);
void assay_sources_fini(struct assay_sources *sources);

#endif
