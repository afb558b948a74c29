/* fuzz_results.c: the input is a file of results, of the format that it begins like, and then of
 * every format. What is read is joined, compared with itself and written in every way: nothing of
 * it differs from itself. */
#include "compare/compare.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct assay_comparison *c, const struct assay_strings *said)
{
    static const char *const formats[] = {"table", "md", "csv", "json"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct assay_report_style style = {.width = 80, .ascii = i & 1};
        struct assay_text text = {0};
        if (!assay_compare_write(c, said, formats[i], &style, &text) || text.length == 0)
            abort();
        if (i == 3) {
            assay_json *json = assay_json_parse(text.data, text.length, "json", NULL);
            if (!json)
                abort();
            assay_json_free(json);
        }
        assay_text_fini(&text);
    }
}

static void compare(const struct assay_results *results)
{
    struct assay_comparison c;
    struct assay_strings said = {0};
    if (assay_compare(results, results, 0.05, &c, NULL) != ASSAY_OK ||
        assay_compare_runs(results, results, &said, NULL) != ASSAY_OK)
        abort();
    for (int i = 0; i < ASSAY_COMPARE_VERDICTS; i++)
        if (c.counts[i] && i != ASSAY_COMPARE_SAME && i != ASSAY_COMPARE_BAD)
            abort();
    if (c.failing || c.ambiguous_old != c.ambiguous_new ||
        c.matched + c.ambiguous_old != results->n)
        abort();
    write_all(&c, &said);
    assay_strings_fini(&said);
    assay_comparison_fini(&c);
}

static void try_format(const char *format, const char *bytes, size_t size)
{
    struct assay_results results = {0};
    struct assay_error err = {0};
    enum assay_status status = assay_results_parse(format, bytes, size, "input", &results, &err);
    if ((status != ASSAY_OK) != (err.message[0] != '\0'))
        abort();
    if (status == ASSAY_OK) {
        if (assay_results_join(&results, NULL) != ASSAY_OK)
            abort();
        compare(&results);
    }
    assay_results_fini(&results);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"json",        "jsonl",         "csv",
                                          "torchao-csv", "comprehensive", "kobench-json",
                                          "kernel-json", "pytorch"};
    const char *bytes = (const char *)data;
    const char *own = size ? assay_results_format_of(bytes, size) : NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!own || strcmp(own, formats[i]) == 0)
            try_format(formats[i], bytes, size);
    return 0;
}
