/* preset_plugin.h: presets that are shared objects (assay/assay_preset.h). */
#ifndef ASSAY_CLI_PRESET_PLUGIN_H
#define ASSAY_CLI_PRESET_PLUGIN_H

#include "config/preset_plan.h"

/* Is a shared object named? */
bool assay_preset_plugin_named(const struct assay_preset_options *options);

/* Measures its cases, or lists them, in a child process, because it is code of others. Gives the
 * exit code. */
int assay_preset_plugin_run(const struct assay_preset_options *options);

#endif
