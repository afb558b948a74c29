/* python_about.h: the interpreter that kernels in Python would run in, and what it has. */
#ifndef ASSAY_CLI_PYTHON_ABOUT_H
#define ASSAY_CLI_PYTHON_ABOUT_H

#include "base/text.h"

/* Appends lines of a name, a tab and what is known of it: "python", then each of
 * assay_python_implementations. `wanted` is --python. With `imports` the frameworks are imported,
 * which takes seconds, to see whether they work. Where something is missing a line says so. */
enum assay_status assay_python_about(const char *wanted, bool imports, struct assay_text *out,
                                     struct assay_error *err);

#endif
