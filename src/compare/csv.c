#include "compare/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum assay_status complain(const struct assay_csv *csv, const char *what,
                                  struct assay_error *err)
{
    char place[300];
    snprintf(place, sizeof place, "%.250s:%lld", csv->where, (long long)csv->line);
    return assay_error_set(err, ASSAY_ERR_CORRUPT, place, "%s", what);
}

/* The field that begins here, in quotes: "" is one quote. Ends behind the last one. */
static bool take_quoted(struct assay_csv *csv, struct assay_text *out)
{
    for (csv->at++; csv->at < csv->end; csv->at++) {
        if (*csv->at == '"' && (csv->at + 1 == csv->end || csv->at[1] != '"')) {
            csv->at++;
            return true;
        }
        csv->at += *csv->at == '"';
        csv->next_line += *csv->at == '\n';
        assay_text_append(out, csv->at, 1);
    }
    return false;
}

static void take_plain(struct assay_csv *csv, struct assay_text *out)
{
    const char *start = csv->at;
    while (csv->at < csv->end && *csv->at != ',' && *csv->at != '\n')
        csv->at++;
    size_t length = (size_t)(csv->at - start);
    if (csv->at < csv->end && *csv->at == '\n' && length && start[length - 1] == '\r')
        length--;
    assay_text_append(out, start, length);
}

/* All fields up to the end of the line: how many, or what is wrong. */
static const char *take_line(struct assay_csv *csv, struct assay_text *out, size_t *offsets, int *n)
{
    *n = 0;
    assay_text_clear(out);
    csv->line = csv->next_line;
    for (bool more = true; more;) {
        if (*n == ASSAY_CSV_MOST_FIELDS)
            return "has more fields than any table that assay writes";
        offsets[(*n)++] = out->length;
        if (csv->at < csv->end && *csv->at == '"' && !take_quoted(csv, out))
            return "a quote is not closed: the file was cut short, or changed";
        take_plain(csv, out); /* behind a quote: nothing, or \r */
        assay_text_append(out, "", 1);
        more = csv->at < csv->end && *csv->at == ',';
        csv->at += csv->at < csv->end;
    }
    csv->next_line++;
    return NULL;
}

static void pass_blank_lines(struct assay_csv *csv)
{
    for (; csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r'); csv->at++)
        csv->next_line += *csv->at == '\n';
}

enum assay_status assay_csv_init(struct assay_csv *csv, const char *bytes, size_t length,
                                 const char *where, struct assay_error *err)
{
    *csv = (struct assay_csv){
        .at = bytes, .end = bytes + length, .where = where, .line = 1, .next_line = 1};
    pass_blank_lines(csv);
    const char *wrong = take_line(csv, &csv->names, csv->name_at, &csv->n);
    if (csv->names.failed)
        return assay_error_nomem(err);
    return wrong ? complain(csv, wrong, err) : ASSAY_OK;
}

void assay_csv_fini(struct assay_csv *csv)
{
    assay_text_fini(&csv->names);
    assay_text_fini(&csv->values);
}

enum assay_status assay_csv_next(struct assay_csv *csv, bool *more, struct assay_error *err)
{
    int n;
    char what[120];
    pass_blank_lines(csv);
    *more = csv->at < csv->end;
    if (!*more)
        return ASSAY_OK;
    const char *wrong = take_line(csv, &csv->values, csv->value_at, &n);
    if (csv->values.failed)
        return assay_error_nomem(err);
    if (wrong)
        return complain(csv, wrong, err);
    if (n == csv->n)
        return ASSAY_OK;
    snprintf(what, sizeof what,
             "has %d fields where the header has %d: the file was cut short, or changed", n,
             csv->n);
    return complain(csv, what, err);
}

const char *assay_csv_value(const struct assay_csv *csv, const char *name)
{
    for (int i = 0; i < csv->n; i++)
        if (strcmp(csv->names.data + csv->name_at[i], name) == 0)
            return csv->values.data + csv->value_at[i];
    return NULL;
}

double assay_csv_real(const struct assay_csv *csv, const char *name)
{
    const char *text = assay_csv_value(csv, name);
    double value;
    return text && text[0] && assay_text_double(text, &value) == ASSAY_OK ? value : (double)NAN;
}

int64_t assay_csv_int(const struct assay_csv *csv, const char *name)
{
    const char *text = assay_csv_value(csv, name);
    int64_t value;
    return text && text[0] && assay_text_int64(text, &value) == ASSAY_OK ? value : -1;
}

bool assay_csv_flag(const struct assay_csv *csv, const char *name)
{
    const char *text = assay_csv_value(csv, name);
    return text && assay_text_same(text, "true");
}
