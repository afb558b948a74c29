/* expression.h: arithmetic as people write it in a preset: "4*batch*seq_len*embed_dim".
 *
 * Numbers, names, + - * / %, parentheses, min(…) and max(…), in double: counts up to 2^53 are
 * exact, and 3/2 is 1.5. Dividing by zero and a result that is not finite are errors. */
#ifndef ASSAY_BASE_EXPRESSION_H
#define ASSAY_BASE_EXPRESSION_H

#include "base/error.h"
#include <stdint.h>

enum { ASSAY_EXPRESSION_LENGTH = 512, ASSAY_EXPRESSION_DEPTH = 32 };

struct assay_variable {
    const char *name;
    double value;
};

/* The value. The error says at which column, counted from 1, and which names there are. */
enum assay_status assay_expression_value(const char *text, const struct assay_variable *variables,
                                         int64_t n, double *out, struct assay_error *err);

/* The same, but the value must be a whole number of at least `least`. */
enum assay_status assay_expression_size(const char *text, const struct assay_variable *variables,
                                        int64_t n, int64_t least, int64_t *out,
                                        struct assay_error *err);

/* Does this name occur in the text? */
bool assay_expression_names(const char *text, const char *name);
/* Can this be a name? */
bool assay_expression_is_name(const char *text);

#endif
