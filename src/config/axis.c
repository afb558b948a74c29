#include "config/axis.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void assay_axis_fini(struct assay_axis *axis)
{
    assay_free(axis->values);
    *axis = (struct assay_axis){0};
}

static enum assay_status malformed(const char *name, const char *text, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--%s \"%.100s\" is not a list of sizes; write 16,32 or 16:128:x2 or "
                           "256:1024:+256",
                           name, text);
}

/* Only the first `n_others` values can be the same: those of one range differ. */
static enum assay_status add_value(const char *name, int64_t value, int64_t least, int64_t n_others,
                                   struct assay_axis *axis, struct assay_error *err)
{
    if (value < least)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s must be at least %lld, not %lld",
                               name, (long long)least, (long long)value);
    for (int64_t i = 0; i < n_others; i++)
        if (axis->values[i] == value)
            return ASSAY_OK;
    if (axis->n == ASSAY_AXIS_MOST)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s has more than %d values", name,
                               ASSAY_AXIS_MOST);
    axis->values[axis->n++] = value;
    return ASSAY_OK;
}

/* "from:to:x2" or "from:to:+256". */
static enum assay_status add_range(const char *name, const char *item, int64_t least,
                                   struct assay_axis *axis, struct assay_error *err)
{
    char from_text[32], to_text[32], step_text[32], kind, rest;
    int64_t from, to, step;
    if (sscanf(item, "%31[^:]:%31[^:]:%c%31[^:]%c", from_text, to_text, &kind, step_text, &rest) !=
            4 ||
        assay_text_int64(from_text, &from) != ASSAY_OK ||
        assay_text_int64(to_text, &to) != ASSAY_OK ||
        assay_text_int64(step_text, &step) != ASSAY_OK || (kind != 'x' && kind != '+'))
        return malformed(name, item, err);
    if (step < (kind == 'x' ? 2 : 1) || (kind == 'x' && from == 0 && least == 0))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--%s \"%s\" would never end: the step must grow", name, item);
    if (from > to)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s \"%s\" runs backwards", name,
                               item);
    enum assay_status status = ASSAY_OK;
    int64_t n_others = axis->n;
    for (int64_t value = from; value <= to && status == ASSAY_OK;) {
        status = add_value(name, value, least, n_others, axis, err);
        bool overflow = kind == 'x' ? __builtin_mul_overflow(value, step, &value)
                                    : __builtin_add_overflow(value, step, &value);
        if (overflow)
            break;
    }
    return status;
}

static enum assay_status add_item(const char *name, const char *item, int64_t least,
                                  struct assay_axis *axis, struct assay_error *err)
{
    int64_t value;
    if (strchr(item, ':'))
        return add_range(name, item, least, axis, err);
    if (assay_text_int64(item, &value) != ASSAY_OK)
        return malformed(name, item, err);
    return add_value(name, value, least, axis->n, axis, err);
}

enum assay_status assay_axis_parse(const char *name, const char *text, struct assay_axis *out,
                                   struct assay_error *err)
{
    return assay_axis_parse_from(name, text, 1, out, err);
}

enum assay_status assay_axis_parse_from(const char *name, const char *text, int64_t least,
                                        struct assay_axis *out, struct assay_error *err)
{
    *out = (struct assay_axis){.values = assay_calloc(ASSAY_AXIS_MOST, sizeof *out->values)};
    if (!out->values)
        return assay_error_nomem(err);
    enum assay_status status = *text ? ASSAY_OK : malformed(name, text, err);
    for (const char *at = text; status == ASSAY_OK;) {
        char item[128];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < 127 ? length : 127), at);
        status = length == 0 || length > 127 ? malformed(name, text, err)
                                             : add_item(name, item, least, out, err);
        if (!at[length])
            break;
        at += length + 1;
    }
    if (status != ASSAY_OK)
        assay_axis_fini(out);
    return status;
}
