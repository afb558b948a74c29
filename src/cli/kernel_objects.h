/* kernel_objects.h: a kernel repository on its way from a name to opened shared objects. */
#ifndef ASSAY_CLI_KERNEL_OBJECTS_H
#define ASSAY_CLI_KERNEL_OBJECTS_H

#include "config/kernel_config.h"
#include "repo/compile.h"

/* What benchmarks in Python need and have. */
struct assay_kernel_scripts {
    enum assay_status status; /* not ASSAY_OK: none of them can be run, for this reason */
    char reason[400];
    char kind[8];                   /* "cpu" or "cuda" */
    char torch[32], torch_cuda[16]; /* PyTorch's version and that of its CUDA; empty: none */
};

/* Start from {0}; free with fini, also after a failure. */
struct assay_kernel_objects {
    struct assay_repository repository;
    struct assay_kernel_file file;
    struct assay_sources sources;
    struct assay_kernel_scripts scripts;
    struct assay_object *compiled;       /* one for each source, empty where it failed */
    struct assay_contents *contents;     /* the same */
    struct assay_kernel_object *objects; /* those that can be used, n_objects of them */
    int64_t n_objects;
    int worst; /* the exit code of the files that could not be used; 0: none */
};

/* Finds the repository, reads its assay.yml, finds its sources, compiles and opens each. A file
 * that does not compile or cannot be opened is told on standard error and left out. With --build
 * nothing is opened, and the contents stay empty. */
enum assay_status assay_kernel_objects_make(const struct assay_kernel_options *options,
                                            struct assay_kernel_objects *out,
                                            struct assay_error *err);
/* Do its files run without a network and with a read-only file system? */
bool assay_kernel_sandboxed(const struct assay_kernel_options *options,
                            const struct assay_repository *repository);
void assay_kernel_objects_fini(struct assay_kernel_objects *objects);

#endif
