/* fuzz_record.c: whatever reads as a record is written and read again, and must come out the same;
 * then every report must survive it. */
#include "record/record.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_record(const char *text, size_t length, struct assay_record *out)
{
    struct assay_error err = {0};
    assay_json *json = assay_json_parse(text, length, "fuzz", &err);
    bool good = json && assay_record_from_json(json, out, &err) == ASSAY_OK;
    assay_json_free(json);
    return good;
}

static void write_record(const struct assay_record *record, struct assay_text *out)
{
    assay_json *json = assay_record_to_json(record);
    assay_json_write(json, 0, out);
    assay_json_free(json);
}

static void write_nowhere(void *user, const char *bytes, size_t length)
{
    *(size_t *)user += bytes[0] ? length : 0;
}

static void report_everywhere(const struct assay_record *record)
{
    size_t written = 0;
    struct assay_sink sink = {&written, write_nowhere, NULL};
    struct assay_report_style style = {.verbose = true, .width = 100};
    struct assay_run_info run = {.version = "0"};
    for (int64_t i = 0; i < assay_report_count(); i++) {
        assay_report *report = assay_report_create(assay_report_at(i), &sink, &style);
        if (!report)
            abort();
        assay_report_begin(report, &run);
        assay_report_group(report, record, 1);
        assay_report_end(report);
        assay_report_destroy(report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_record first, second;
    if (!read_record((const char *)data, size, &first))
        return 0;
    struct assay_text once = {0}, twice = {0};
    write_record(&first, &once);
    if (once.failed || !read_record(once.data, once.length, &second))
        abort();
    write_record(&second, &twice);
    if (twice.failed || strcmp(once.data, twice.data) != 0)
        abort();
    report_everywhere(&first);
    assay_text_fini(&once);
    assay_text_fini(&twice);
    return 0;
}
