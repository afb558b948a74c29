/* fuzz_kernel_file.c: assay.yml is read into lists that end in NULL, or its error has a message. */
#include "config/kernel_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct assay_strings *strings)
{
    for (int64_t i = 0; i < strings->n; i++)
        if (!strings->items[i] || !strings->items[i][0])
            abort();
    if (strings->n && strings->items[strings->n])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_kernel_file file;
    struct assay_error err = {0};
    if (assay_kernel_file_parse((const char *)data, size, "assay.yml", NULL, &file, &err) ==
        ASSAY_OK) {
        check(&file.cflags);
        check(&file.ldflags);
        check(&file.sources);
        check(&file.shapes);
    } else if (err.code == ASSAY_OK || !err.message[0]) {
        abort();
    }
    assay_kernel_file_fini(&file);
    return 0;
}
