/* compile_flags.h: which flags a repository may give to the user's compiler.
 *
 * A compiler's flags can load plug-ins, start programs, and read and write any file. So assay.yml
 * may set only those that are known to choose how code is compiled and nothing else; the tables are
 * in compile_flags.c. What is not in them is refused. $CC, $CXX and $NVCC are the user's own words,
 * and are not looked at.
 *
 * gcc and clang are started without a shell. nvcc starts its own tools through one, within double
 * quotes, so words and paths on their way to it must hold nothing that a shell would act on. */
#ifndef ASSAY_REPO_COMPILE_FLAGS_H
#define ASSAY_REPO_COMPILE_FLAGS_H

#include "base/error.h"

/* Flags are words; NULL-terminated lists or NULL. */
struct assay_compile_flags {
    const char *const *c, *const *cxx, *const *cuda; /* beside the usual ones */
    const char *const *link;                         /* "-lm", "-lcudart" */
    const char *const *include;                      /* folders from the root */
    const char *const *sources; /* more files from the root, compiled into every object */
};

enum assay_flag_list {
    ASSAY_FLAGS_C,
    ASSAY_FLAGS_CXX,
    ASSAY_FLAGS_CUDA,
    ASSAY_FLAGS_LINK,
    ASSAY_FLAGS_INCLUDE,
};

/* One list. ASSAY_ERR_INVALID: the word *at is refused, or what it names lies outside the
 * repository; the message says why, and what to do. With root NULL folders are judged by their
 * names alone. */
enum assay_status assay_compile_flags_check_list(enum assay_flag_list list,
                                                 const char *const *words, const char *root,
                                                 int64_t *at, struct assay_error *err);

/* All lists but the sources; the error's place is assay.yml. */
enum assay_status assay_compile_flags_check(const struct assay_compile_flags *flags,
                                            const char *root, struct assay_error *err);

/* Would a shell take it as it is, within double quotes? */
bool assay_compile_flags_shell_safe(const char *text);

#endif
