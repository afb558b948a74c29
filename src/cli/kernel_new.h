/* kernel_new.h: `assay kernel --new`: a folder with a kernel in it that is right from the start. */
#ifndef ASSAY_CLI_KERNEL_NEW_H
#define ASSAY_CLI_KERNEL_NEW_H

#include "base/text.h"

/* Writes the folder `name`, which must not exist and may be a path below folders that do:
 * assay.yml, README.md and kernels/NAME.c or kernels/NAME.cu with one kernel of `op` (a name or
 * alias) in f32. `language` is "c" or "cu". What was written, and what to do next, is appended to
 * `said`, for people. Nothing stays behind where it fails: ASSAY_ERR_INVALID for names that are of
 * no use, ASSAY_ERR_IO where files cannot be written. */
enum assay_status assay_kernel_new(const char *name, const char *op, const char *language,
                                   struct assay_text *said, struct assay_error *err);

/* ---- share/templates, from the build --------------------------------------------------------- */

struct assay_template {
    const char *name; /* "softmax.c.in" */
    const char *text;
};
extern const struct assay_template assay_templates[];
extern const int assay_n_templates;

#endif
