#include "report/html/html_columns.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 7 }; /* of figures that nothing else is said of */

/* What is said of a member, by the last part of its key. A figure's error is larger than the
 * fourth of its digits; medians and ratios have all, because others are relative to them. */
static const struct {
    const char *name;
    int digits;
    enum assay_html_expected expected;
    const char *near, *range; /* of the same part */
} members[] = {
    {"median_ci_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"mean_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"min_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"max_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"q1_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"q3_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"p5_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"p95_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"p99_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"host_ns", DIGITS, ASSAY_HTML_NEAR, "median_ns", NULL},
    {"iqr_ns", DIGITS, ASSAY_HTML_WIDTH, "q1_ns", "q3_ns"},
    {"median_ci_frac", DIGITS, ASSAY_HTML_HALF, "median_ns", "median_ci_ns"},
    {"ci", DIGITS, ASSAY_HTML_NEAR, "ratio", NULL},
    {"ci_frac", DIGITS, ASSAY_HTML_HALF, "ratio", "ci"},
    {"efficiency_ci", DIGITS, ASSAY_HTML_NEAR, "efficiency", NULL},
    {"bytes_per_s", DIGITS, ASSAY_HTML_BYTES, "median_ns", NULL},
    {"flops_per_s", DIGITS, ASSAY_HTML_FLOPS, "median_ns", NULL},
    {"std_ns", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"smallest_visible", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"efficiency", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"machine_frac", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"clock_hz", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"max_abs", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"max_rel", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"rms", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"tolerance_relative", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"tolerance_absolute", 4, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"sqnr_db", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"setup_ns", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"prepare_ns", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"floor_ns", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
    {"accuracy_db", 5, ASSAY_HTML_ANYTHING, NULL, NULL},
};

int assay_html_columns_named(const struct assay_html_columns *columns, const char *key,
                             size_t length)
{
    for (int i = 0; i < columns->n; i++)
        if (strncmp(columns->at[i].key, key, length) == 0 && !columns->at[i].key[length])
            return i;
    return -1;
}

/* A member of the same part, which comes before it. */
static int beside(const struct assay_html_columns *columns, const char *path, const char *name)
{
    char key[96];
    int length = snprintf(key, sizeof key, "%s%s", path, name ? name : "");
    return name ? assay_html_columns_named(columns, key, (size_t)length) : -1;
}

static void say_expected(struct assay_html_columns *columns, struct assay_html_column *column,
                         const char *path)
{
    column->digits = DIGITS;
    column->near = column->range = -1;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(members[i].name, column->field->key) != 0)
            continue;
        column->digits = members[i].digits;
        column->near = beside(columns, path, members[i].near);
        column->range = beside(columns, path, members[i].range);
        if (column->near >= 0 && (column->range >= 0 || !members[i].range))
            column->expected = members[i].expected;
    }
}

/* NULL where there are more than fit: a test sees to it that this is not so. */
static struct assay_html_column *add(struct assay_html_columns *columns, const char *path,
                                     const struct assay_field *field, int part)
{
    if (columns->n == ASSAY_HTML_COLUMNS)
        return NULL;
    struct assay_html_column *column = &columns->at[columns->n];
    *column = (struct assay_html_column){.field = field, .kind = field->kind, .part = part};
    snprintf(column->key, sizeof column->key, "%s%s", path, field->key);
    say_expected(columns, column, path);
    columns->n++;
    return column;
}

static void add_all(struct assay_html_columns *columns, const struct assay_field *fields,
                    const char *path, size_t base, int part)
{
    for (const struct assay_field *field = fields; field->key; field++) {
        bool is_part = field->kind == ASSAY_FIELD_PART, always = field->flag == ASSAY_FIELD_ALWAYS;
        int inner = part;
        if (!is_part || !always) {
            struct assay_html_column *column = add(columns, path, field, part);
            if (!column)
                return;
            column->offset = base + (is_part ? (size_t)field->flag : field->offset);
            inner = columns->n - 1;
        }
        char longer[48];
        snprintf(longer, sizeof longer, "%s%s.", path, field->key);
        if (is_part)
            add_all(columns, field->part, longer, base + field->offset, inner);
    }
}

struct assay_html_columns *assay_html_columns_create(void)
{
    struct assay_html_columns *columns = assay_calloc(1, sizeof *columns);
    if (columns)
        add_all(columns, assay_record_fields, "", 0, -1);
    return columns;
}

bool assay_html_columns_has(const struct assay_html_columns *columns, int column,
                            const struct assay_record *record)
{
    for (int part = columns->at[column].part; part >= 0; part = columns->at[part].part)
        if (!*(const bool *)((const char *)record + columns->at[part].offset))
            return false;
    return true;
}

/* ---- expected values ------------------------------------------------------------------------ */

static double real_of(const struct assay_html_columns *columns, int column,
                      const struct assay_record *record)
{
    return *(const double *)(const void *)((const char *)record + columns->at[column].offset);
}

static double half_width(const struct assay_html_columns *columns, int column, double value,
                         const struct assay_record *record)
{
    const struct assay_interval *range =
        (const void *)((const char *)record + columns->at[column].offset);
    return (range->hi - range->lo) / 2 / value;
}

double assay_html_columns_expected(const struct assay_html_columns *columns, int column,
                                   const struct assay_record *record)
{
    const struct assay_html_column *c = &columns->at[column];
    if (c->expected == ASSAY_HTML_ANYTHING)
        return (double)NAN;
    double near = real_of(columns, c->near, record);
    switch (c->expected) {
    case ASSAY_HTML_WIDTH:
        return real_of(columns, c->range, record) - near;
    case ASSAY_HTML_HALF:
        return half_width(columns, c->range, near, record);
    case ASSAY_HTML_BYTES:
        return (record->bytes_read + record->bytes_written) / (near * 1e-9);
    case ASSAY_HTML_FLOPS:
        return record->flops / (near * 1e-9);
    case ASSAY_HTML_NEAR:
    case ASSAY_HTML_ANYTHING:
        break;
    }
    return near;
}

bool assay_html_millionths(double value, double expected, int64_t *out)
{
    enum { TOO_FAR = 1000000000 };
    *out = 0;
    if (value == expected)
        return true;
    double millionths = (value - expected) / fabs(expected) * 1e6;
    if (!isfinite(value) || !(fabs(millionths) < TOO_FAR) || value == 0)
        return false;
    *out = llround(millionths);
    return true;
}

double assay_html_from_millionths(int64_t millionths, double expected)
{
    return millionths ? expected + fabs(expected) * (double)millionths * 1e-6 : expected;
}
