/* preset_python.h: presets that are a file or a module of Python, as KoBench has them. */
#ifndef ASSAY_CLI_PRESET_PYTHON_H
#define ASSAY_CLI_PRESET_PYTHON_H

#include "config/preset_plan.h"

/* Does the command line name such a preset: FILE.py, or a module, package.name or one whose file is
 * in this folder? */
bool assay_preset_python_named(const struct assay_preset_options *options);

/* Becomes the interpreter (assay_python_find), which measures it by the package kohakubench that
 * the program carries. The command line is its own: it knows KoBench's options. Returns only where
 * that fails: the exit code. */
int assay_preset_python_run(const struct assay_preset_options *options, int argc, char **argv);

#endif
