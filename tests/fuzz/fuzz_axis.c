/* fuzz_axis.c: whatever reads as a list of sizes holds sizes, none twice, and not too many. */
#include "base/alloc.h"
#include "config/axis.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct assay_axis *axis)
{
    if (axis->n < 1 || axis->n > ASSAY_AXIS_MOST)
        abort();
    for (int64_t i = 0; i < axis->n; i++) {
        if (axis->values[i] < 1)
            abort();
        for (int64_t k = 0; k < i && axis->n < 100; k++)
            if (axis->values[k] == axis->values[i])
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_axis axis;
    struct assay_error err = {0};
    char *text = calloc(1, size + 1);
    if (!text || size > 512) { /* longer lists are only slower */
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    if (assay_axis_parse("dim", text, &axis, &err) == ASSAY_OK)
        check(&axis);
    else if (axis.values || err.code == ASSAY_OK || !err.message[0])
        abort();
    assay_axis_fini(&axis);
    free(text);
    return 0;
}
