#include "op/node.h"

#include <string.h>

const struct assay_op_node assay_node_unary = {.values = 1, .rows_axis = 1};

enum assay_status assay_node_image_axes(const struct assay_node_sizes *sizes, int64_t *axes,
                                        struct assay_error *err)
{
    enum { BATCH, HEIGHT, WIDTH, CHANNELS };
    const int64_t *given = sizes->given;
    int64_t rows = sizes->rows, batch = given[BATCH], height = given[HEIGHT], width = given[WIDTH];
    if (batch < 1 || height < 1 || width < 1 || rows % batch != 0 || rows / batch % height != 0 ||
        rows / batch / height != width)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%lld images of %lld x %lld are not %lld rows", (long long)batch,
                               (long long)height, (long long)width, (long long)rows);
    memcpy(axes, given, CHANNELS * sizeof *axes);
    axes[CHANNELS] = sizes->columns;
    memcpy(axes + CHANNELS + 1, given + CHANNELS, (ASSAY_NODE_KEYS - CHANNELS) * sizeof *axes);
    return ASSAY_OK;
}
