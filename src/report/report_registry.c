/* report_registry.c: the registry of formats, and a format at work on a sink. */
#include "report/report.h"

#include "base/alloc.h"
#include "base/suggest.h"

#include <string.h>

#define ASSAY_REPORT(n) extern const struct assay_report_format assay_report_##n;
#include "report/report_list.h"
#undef ASSAY_REPORT

static const struct assay_report_format *const report_registry[] = {
#define ASSAY_REPORT(n) &assay_report_##n,
#include "report/report_list.h"
#undef ASSAY_REPORT
};

enum { REPORTS = sizeof report_registry / sizeof report_registry[0] };

int64_t assay_report_count(void) { return REPORTS; }

const struct assay_report_format *assay_report_at(int64_t index) { return report_registry[index]; }

enum assay_status assay_report_find(const char *name, const struct assay_report_format **out,
                                    struct assay_error *err)
{
    const char *names[REPORTS];
    for (int i = 0; i < REPORTS; i++) {
        names[i] = report_registry[i]->name;
        if (assay_text_same(names[i], name)) {
            *out = report_registry[i];
            return ASSAY_OK;
        }
    }
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown format \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_FORMAT, name, names, REPORTS,
                                              "`assay list formats` shows them all", rest,
                                              sizeof rest));
}

const struct assay_report_format *assay_report_for_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (!dot || (slash && dot < slash))
        return NULL;
    for (int i = 0; i < REPORTS; i++)
        if (report_registry[i]->extension &&
            assay_text_same(report_registry[i]->extension, dot + 1))
            return report_registry[i];
    return NULL;
}

struct assay_report {
    const struct assay_report_format *format;
    struct assay_sink sink;
    struct assay_report_style style;
    void *state;
};

assay_report *assay_report_create(const struct assay_report_format *format,
                                  const struct assay_sink *sink,
                                  const struct assay_report_style *style)
{
    assay_report *report = assay_calloc(1, sizeof *report);
    if (!report)
        return NULL;
    size_t bytes = format->state_bytes;
    if (format->in_training && format->in_training->state_bytes > bytes)
        bytes = format->in_training->state_bytes;
    report->state = assay_calloc(1, bytes);
    if (!report->state) {
        assay_free(report);
        return NULL;
    }
    report->format = format;
    report->sink = *sink;
    report->style = *style;
    return report;
}

void assay_report_begin(assay_report *report, const struct assay_run_info *run)
{
    if (assay_run_trains(run) && report->format->in_training)
        report->format = report->format->in_training;
    report->format->begin(report->state, &report->sink, &report->style, run);
}

void assay_report_group(assay_report *report, const struct assay_record *records, int64_t n)
{
    if (n > 0)
        report->format->group(report->state, records, n);
}

void assay_report_end(assay_report *report) { report->format->end(report->state); }

const char *assay_report_remark(const assay_report *report)
{
    return report->format->remark ? report->format->remark(report->state) : NULL;
}

void assay_report_destroy(assay_report *report)
{
    if (!report)
        return;
    if (report->format->fini)
        report->format->fini(report->state);
    assay_free(report->state);
    assay_free(report);
}
