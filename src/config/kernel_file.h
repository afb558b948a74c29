/* kernel_file.h: assay.yml at the root of a kernel repository: how its files are compiled.
 *
 *   name: activation          # optional, shown instead of the path
 *   cflags: [-O3, -ffast-math]
 *   cxxflags: -O3 -std=c++20  # a list, whose items are words as they are, or one text with blanks
 *   cudaflags: [-arch=sm_90a]
 *   ldflags: [-lm]
 *   include: [src]
 *   sources: [src/silu.c]     # compiled into every benchmark
 *   shapes: [4x512x1024]      # of kernels of known ops: instead of the default sweep
 *   dtypes: [f32, bf16]
 */
#ifndef ASSAY_CONFIG_KERNEL_FILE_H
#define ASSAY_CONFIG_KERNEL_FILE_H

#include "record/plan.h"
#include "repo/compile.h"

/* Start from {0}. */
struct assay_kernel_file {
    char name[128];
    struct assay_strings cflags, cxxflags, cudaflags, ldflags, include, sources, shapes, dtypes;
};

/* Reads ROOT/assay.yml where there is one; without it all lists stay empty. Errors name file, line
 * and column, unknown keys with the nearest known one. So is a flag that a repository may not set
 * (repo/compile_flags.h), and a file that is a link out of the repository. Release with fini, also
 * after an error. */
enum assay_status assay_kernel_file_read(const char *root, struct assay_kernel_file *out,
                                         struct assay_error *err);
/* The same from memory; `file` is for the errors. With root NULL folders are judged by their names
 * alone. */
enum assay_status assay_kernel_file_parse(const char *bytes, size_t length, const char *file,
                                          const char *root, struct assay_kernel_file *out,
                                          struct assay_error *err);
void assay_kernel_file_fini(struct assay_kernel_file *file);

/* What of it the compiler wants; valid as long as the file is. */
struct assay_compile_flags assay_kernel_file_flags(const struct assay_kernel_file *file);

#endif
