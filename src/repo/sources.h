/* sources.h: what in a repository is to be compiled: its benchmarks, or, where it has none, the
 * files that define kernels of known ops.
 *
 *   ROOT/benchmarks/benchmark*.{c,cc,cpp,cxx,cu,py}   benchmarks that define their own workloads
 *   ROOT/kernels/X.{c,cc,cpp,cxx,cu}, ROOT/X.{…}      if there is no benchmarks/: files that
 * mention ASSAY_KERNELS, ASSAY_BENCHMARK or assay_plugin a single file that was named that one,
 * whatever it holds
 *
 * Links are followed within the repository. One that leads out of it is an error. */
#ifndef ASSAY_REPO_SOURCES_H
#define ASSAY_REPO_SOURCES_H

#include "base/sha256.h"
#include "repo/repository.h"

enum assay_language {
    ASSAY_LANGUAGE_C,
    ASSAY_LANGUAGE_CXX,
    ASSAY_LANGUAGE_CUDA,
    ASSAY_LANGUAGE_PYTHON /* is not compiled */
};

struct assay_source {
    char *path;  /* absolute */
    char *shown; /* from the repository's root, odd characters escaped:
                    "benchmarks/benchmark_silu.c" */
    enum assay_language language;
    bool run_time_cuda;            /* of CUDA: __CUDACC_RTC__ occurs in it; its host part is C */
    char sha256[ASSAY_SHA256_HEX]; /* of its contents */
};

/* Fill with assay_sources_find, free with assay_sources_fini. Start from {0}. */
struct assay_sources {
    struct assay_source *items; /* in order of `shown` */
    int64_t n;
    /* What SPEC calls Benchmark: of lines "HASH  SHOWN", one for each file, in this order, as
     * `cd ROOT && sha256sum FILES | sha256sum` has it. */
    char sha256[ASSAY_SHA256_HEX];
    char other[64]; /* one of benchmarks/ in a language that is not ours; empty: there is none */
};

/* Limits: of one file's bytes, of files that match, of a folder's entries. */
enum {
    ASSAY_SOURCE_BYTES = 16 << 20,
    ASSAY_SOURCES_MOST = 256,
    ASSAY_SOURCES_ENTRIES = 100000,
};

/* Errors: no benchmarks/ and no source file; benchmarks/ without a file that matches. Each says
 * what was looked for and where. */
enum assay_status assay_sources_find(const struct assay_repository *repository,
                                     struct assay_sources *out, struct assay_error *err);
void assay_sources_fini(struct assay_sources *sources);

/* One file, known by its path (from the root, or absolute), as assay.yml names them. Free with
 * assay_source_fini, also after an error. Start from {0}. */
enum assay_status assay_source_at(const char *root, const char *path, struct assay_source *out,
                                  struct assay_error *err);
void assay_source_fini(struct assay_source *source);

#endif
