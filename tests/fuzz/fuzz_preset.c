/* fuzz_preset.c: a preset's file is read, with a model for each case, or its error has a place. */
#include "config/preset_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_preset_file file;
    struct assay_error err = {0};
    if (assay_preset_file_parse((const char *)data, size, "fuzz.yml", &file, &err) == ASSAY_OK) {
        if (!file.preset.name || !file.preset.cases || !file.preset.cases[0].model)
            abort();
    } else if (err.code == ASSAY_OK || !err.message[0]) {
        abort();
    }
    assay_preset_file_fini(&file);
    return 0;
}
