/* preset_file.h: a preset that a user wrote: YAML with a name, parameters and cases
 * (docs/presets.md). */
#ifndef ASSAY_CONFIG_PRESET_FILE_H
#define ASSAY_CONFIG_PRESET_FILE_H

#include "config/preset.h"
#include "record/plan.h"

struct assay_preset_file {
    struct assay_preset preset; /* as the built-in ones are */
    struct assay_preset_case *cases;
    struct assay_strings texts;  /* what both point to */
    struct assay_strings models; /* described in the file, as JSON; the models know them */
};

/* Is this the name of such a file? */
bool assay_preset_file_is(const char *name);

/* Reads one; an error is located by FILE:LINE:COLUMN. Release with fini also after a failure. */
enum assay_status assay_preset_file_parse(const char *bytes, size_t length, const char *file,
                                          struct assay_preset_file *out, struct assay_error *err);
enum assay_status assay_preset_file_read(const char *path, struct assay_preset_file *out,
                                         struct assay_error *err);
void assay_preset_file_fini(struct assay_preset_file *file);

#endif
