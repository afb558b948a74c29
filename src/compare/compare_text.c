/* compare_text.c: what all ways to write a comparison have in common. */
#include "compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const formats[] = {"table", "json", "csv", "md"};

bool assay_compare_knows_format(const char *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i], format) == 0)
            return true;
    return false;
}

static void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

bool assay_compare_write(const struct assay_comparison *comparison,
                         const struct assay_strings *differences, const char *format,
                         const struct assay_report_style *style, struct assay_text *out)
{
    bool incomplete = false;
    struct assay_sink sink = {out, write_text, &incomplete};
    if (strcmp(format, "json") == 0)
        assay_compare_write_json(comparison, differences, &sink);
    else if (strcmp(format, "csv") == 0)
        assay_compare_write_csv(comparison, &sink);
    else if (strcmp(format, "md") == 0)
        assay_compare_write_md(comparison, differences, &sink, style);
    else
        assay_compare_write_table(comparison, differences, &sink, style);
    return !incomplete && !out->failed;
}

static const struct assay_result *shown(const struct assay_compare_row *row)
{
    return row->new_row ? row->new_row : row->old_row;
}

static void add(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    if (text[0])
        snprintf(out + used, size - used, "%s%s", used ? " " : "", text);
}

/* "model:ln_linear" is a name for the harness. */
static const char *subject(const char *op)
{
    static const char *const kinds[] = {"model:", "workload:"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(op, kinds[i], strlen(kinds[i])) == 0)
            return op + strlen(kinds[i]);
    return op;
}

void assay_compare_problem(const struct assay_compare_row *row, char *out, size_t size)
{
    static const enum assay_result_field fields[] = {ASSAY_RESULT_OP,    ASSAY_RESULT_MODE,
                                                     ASSAY_RESULT_SIZES, ASSAY_RESULT_DTYPE,
                                                     ASSAY_RESULT_LABEL, ASSAY_RESULT_ENTRY};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        add(out, size, subject(shown(row)->fields[fields[i]]));
}

void assay_compare_variant(const struct assay_compare_row *row, char *out, size_t size)
{
    const struct assay_result *r = shown(row);
    const char *kernel = r->fields[ASSAY_RESULT_KERNEL];
    out[0] = '\0';
    add(out, size, r->fields[ASSAY_RESULT_IMPLEMENTATION]);
    add(out, size, r->fields[ASSAY_RESULT_RECIPE]);
    if (strcmp(kernel, r->fields[ASSAY_RESULT_IMPLEMENTATION]) != 0)
        add(out, size, kernel);
}

/* Rounded outwards, so that it never says less than is known. */
void assay_compare_change(const struct assay_compare_row *row, char *out, size_t size)
{
    bool slower = row->verdict == ASSAY_COMPARE_SLOWER;
    double ratio = slower ? 1 / row->ratio.ratio : row->ratio.ratio;
    double lo = slower ? 1 / row->ratio.ci.hi : row->ratio.ci.lo;
    double hi = slower ? 1 / row->ratio.ci.lo : row->ratio.ci.hi;
    int decimals = ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
    double unit = pow(10, -decimals);
    out[0] = '\0';
    if (!row->has_ratio)
        return;
    int used = snprintf(out, size, "%.*fx%s", decimals, ratio, slower ? " slower" : "");
    if (row->has_interval && used > 0 && (size_t)used < size && hi < 99999.5)
        snprintf(out + used, size - (size_t)used, " [%.*f %.*f]", decimals,
                 floor(lo / unit + 1e-9) * unit, decimals, ceil(hi / unit - 1e-9) * unit);
}

void assay_compare_summary(const struct assay_comparison *c, struct assay_text *out)
{
    const char *separator = ": ";
    assay_text_format(out, "%lld row%s", (long long)c->n, c->n == 1 ? "" : "s");
    for (int i = 0; i < ASSAY_COMPARE_VERDICTS; i++) {
        if (!c->counts[i])
            continue;
        assay_text_format(out, "%s%lld %s", separator, (long long)c->counts[i],
                          assay_compare_verdict_name((enum assay_compare_verdict)i));
        separator = ", ";
    }
    if (c->unmeasured)
        assay_text_format(out, "; %lld not measured", (long long)c->unmeasured);
    if (c->ambiguous_old + c->ambiguous_new)
        assay_text_format(out, "; %lld left out that %s does not tell apart",
                          (long long)c->ambiguous_old + (long long)c->ambiguous_new,
                          c->new_run->format);
}
