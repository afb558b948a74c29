/* axis.h: lists of sizes as people write them: "16,32", "16:128:x2", "256:1024:+256", and mixed. */
#ifndef ASSAY_CONFIG_AXIS_H
#define ASSAY_CONFIG_AXIS_H

#include "base/error.h"
#include <stdint.h>

enum { ASSAY_AXIS_MOST = 4096 };

struct assay_axis {
    int64_t *values;
    int64_t n;
};

/* `name` is the option's, for the error: sizes are >= 1, at most ASSAY_AXIS_MOST of them, and a
 * value that comes twice counts once. */
enum assay_status assay_axis_parse(const char *name, const char *text, struct assay_axis *out,
                                   struct assay_error *err);
/* The same for sizes of at least `least`, 0 or 1. */
enum assay_status assay_axis_parse_from(const char *name, const char *text, int64_t least,
                                        struct assay_axis *out, struct assay_error *err);
void assay_axis_fini(struct assay_axis *axis);

#endif
