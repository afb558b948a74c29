/* compile.h: a source file to a shared object, compiled once: kept in CACHE/objects/ by what went
 * into it: the source, every header it included (from the compiler's own list), the flags, the
 * compiler and its version, assay's headers. */
#ifndef ASSAY_REPO_COMPILE_H
#define ASSAY_REPO_COMPILE_H

#include "repo/sources.h"

/* Flags are words; NULL-terminated lists or NULL. */
struct assay_compile_flags {
    const char *const *c, *const *cxx, *const *cuda; /* beside the usual ones (-O3 -march=native) */
    const char *const *link;                         /* "-lm", "-lcudart" */
    const char *const *include;                      /* folders from the root */
    const char *const *sources; /* more files from the root, compiled into every object */
};

struct assay_object {
    struct assay_text path;   /* the shared object */
    struct assay_text output; /* what the compiler said: warnings, or why it failed */
    bool cached;              /* nothing was compiled */
};

/* Compilers are $CC, $CXX, $NVCC, else cc, c++, nvcc (also /usr/local/cuda/bin/nvcc). The command
 * is said through `say` when it is run. ASSAY_UNSUPPORTED: the compiler is not here, with which and
 * what to install or set. ASSAY_ERR_FAILED: it said no: the message has the command, `output` what
 * it printed, as it is. Interrupted by Ctrl-C: ASSAY_ERR_INTERRUPTED, nothing half-made stays. */
enum assay_status assay_compile(const struct assay_repository *repository,
                                const struct assay_source *source,
                                const struct assay_compile_flags *flags,
                                void (*say)(const char *text), struct assay_object *out,
                                struct assay_error *err);
void assay_object_fini(struct assay_object *object);

#endif
