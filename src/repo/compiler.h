/* compiler.h: which program compiles a language, and which properties of the machine its results
 * depend on. */
#ifndef ASSAY_REPO_COMPILER_H
#define ASSAY_REPO_COMPILER_H

#include "repo/object_cache.h"
#include "repo/sources.h"

/* The language a file is compiled as: of CUDA that NVRTC compiles later, the host's part in C. */
enum assay_language assay_compiler_language(const struct assay_source *source);

/* The compiler's path and its own flags, added to `out`. ASSAY_UNSUPPORTED: it is missing; `file`
 * is the source that needs it. */
enum assay_status assay_compiler_find(enum assay_language language, const char *file,
                                      struct assay_arguments *out, struct assay_error *err);

/* Begins a key: the compiler's file by path, size and time, so that it need not be run for its
 * version; the CPU, and for CUDA the GPUs, that "native" stands for; variables that compilers
 * read. */
void assay_compiler_key(enum assay_language language, const char *program,
                        struct assay_sha256 *key);

/* Is there an NVIDIA GPU whose architecture nvcc can query? Does not start the driver. */
bool assay_compiler_sees_gpu(void);

#endif
