/* compile.h: a source file to a shared object, compiled once: kept in CACHE/objects/ by what went
 * into it: the source, every header it included (from the compiler's own list), the flags, the
 * compiler (its file, not its word), this CPU, assay's headers (object_cache.h).
 *
 * The usual flags, before a repository's own, which therefore win:
 *   C       -std=gnu17 -O3 -march=native -fPIC -fopenmp
 *   C++     -std=c++17, and the same
 *   CUDA    -std=c++17 -O3 -Xcompiler -fPIC,-fopenmp, and -arch=native, or where no GPU is visible
 *           code for sm_80, sm_90 and later ones; none of the latter where the repository's flags
 * name one a .cu file that NVRTC compiles later (run_time_cuda): as C, with ASSAY_BENCHMARK_DEVICE
 * "cuda" Each with -I of the repository's folders, of the root and of assay's headers, run in the
 * root. -fopenmp because assay's own threads are OpenMP's: a kernel that brought another pool would
 * fight with it over the cores. Linked with -shared and -Wl,--no-undefined, so that an undefined
 * function is found now and not by a crash, then the repository's flags, then -lm. */
#ifndef ASSAY_REPO_COMPILE_H
#define ASSAY_REPO_COMPILE_H

#include "repo/compile_flags.h"
#include "repo/sources.h"

struct assay_object {
    struct assay_text path;    /* the shared object */
    struct assay_text output;  /* what the compiler said: warnings, or why it failed */
    struct assay_text command; /* of one that failed, whole, as for a shell */
    bool cached;               /* nothing was compiled */
};

/* Compilers are $CC, $CXX, $NVCC, else cc, c++, nvcc (also below $CUDA_HOME, $CUDA_PATH and
 * /usr/local/cuda); words behind the first are flags. Each command is passed to `say` (NULL:
 * nobody) when it is run. ASSAY_UNSUPPORTED: the compiler is missing; the error says which, and
 * what to install or set. ASSAY_ERR_INVALID: the repository's flags are not among those it may set
 * (compile_flags.h), or a file outside the repository was to be read (messages.h); nothing of what
 * the compiler printed is kept. ASSAY_ERR_FAILED: it failed: `command` is what was run and `output`
 * what it printed. Interrupted by Ctrl-C: ASSAY_ERR_INTERRUPTED, and no partial files are
 * left. Release `out` with assay_object_fini, also after an error. */
enum assay_status assay_compile(const struct assay_repository *repository,
                                const struct assay_source *source,
                                const struct assay_compile_flags *flags,
                                void (*say)(const char *text), struct assay_object *out,
                                struct assay_error *err);
void assay_object_fini(struct assay_object *object);

#endif
