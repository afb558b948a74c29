/* completion.h: completion scripts for shells, made from the commands' option rows. */
#ifndef ASSAY_CLI_COMPLETION_H
#define ASSAY_CLI_COMPLETION_H

#include "base/text.h"

/* The script for "bash", "zsh" or "fish". It asks the program for names that only the program
 * knows: ops, kernels, devices. */
enum assay_status assay_completion_write(const char *shell, struct assay_text *out,
                                         struct assay_error *err);

#endif
