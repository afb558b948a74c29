/* fuzz_expression.c: an expression has a finite value, or an error that says what is wrong. */
#include "base/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct assay_variable variables[] = {{"batch", 4}, {"k", 1024}, {"zero", 0}};
    struct assay_error err = {0};
    double value;
    int64_t whole;
    char *text = calloc(1, size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    bool fine = assay_expression_value(text, variables, 3, &value, &err) == ASSAY_OK;
    if (fine ? !isfinite(value) : err.code == ASSAY_OK || !err.message[0])
        abort();
    if (assay_expression_size(text, variables, 3, 1, &whole, NULL) == ASSAY_OK &&
        (!fine || whole < 1 || (double)whole != value))
        abort();
    assay_expression_names(text, "batch");
    assay_expression_is_name(text);
    free(text);
    return 0;
}
