/* fuzz_trace.c: the input is a trace, and then a profile on its way from a worker. What is read of
 * a trace is told in every way; a profile is written as a timeline, which is read back. */
#include "base/json.h"
#include "trace/breakdown.h"
#include "trace/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
    return 0;
}

static void check(const struct assay_breakdown *b)
{
    struct assay_text sentence = {0};
    double share = 0;
    assay_breakdown_sentence(b, &sentence);
    if (sentence.length == 0 || b->named_share < 0 || b->named_share > 1)
        abort();
    for (int64_t i = 0; i < b->n_nodes; i++)
        share += b->nodes[i].share;
    if (!(share <= 1.001) || b->n_kernels > b->n_nodes)
        abort();
    assay_text_fini(&sentence);
}

static void try_trace(const char *bytes, size_t size)
{
    struct assay_breakdowns all;
    struct assay_error err = {0};
    enum assay_status status = assay_breakdowns_parse(bytes, size, "input", &all, &err);
    if ((status != ASSAY_OK) != (err.message[0] != '\0'))
        abort();
    for (int64_t i = 0; status == ASSAY_OK && i < all.n; i++)
        check(&all.items[i]);
    assay_breakdowns_fini(&all);
}

static void write_profile(const struct assay_profile *profile, enum assay_trace_form form,
                          struct assay_text *out)
{
    assay_trace_writer *writer = assay_trace_writer_create(form, 0, append, out);
    if (!writer)
        abort();
    assay_timeline_write(writer, 2, profile);
    if (assay_trace_writer_end(writer, NULL, 0) != 0 || out->failed)
        abort();
}

static void try_profile(const char *bytes, size_t size)
{
    struct assay_profile profile;
    struct assay_text text = {0}, packets = {0};
    assay_json *json = assay_json_parse(bytes, size, "input", NULL);
    if (json && assay_profile_from_json(json, &profile, NULL) == ASSAY_OK) {
        assay_profile_sort(&profile);
        write_profile(&profile, ASSAY_TRACE_PERFETTO, &packets);
        write_profile(&profile, ASSAY_TRACE_CHROME, &text);
        assay_json *trace = assay_json_parse(text.data, text.length, "trace", NULL);
        if (!trace)
            abort();
        assay_json_free(trace);
        try_trace(text.data, text.length);
        assay_profile_fini(&profile);
    }
    assay_json_free(json);
    assay_text_fini(&text);
    assay_text_fini(&packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_trace((const char *)data, size);
    try_profile((const char *)data, size);
    return 0;
}
