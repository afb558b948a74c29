/* fuzz_chart_spec.c: whatever reads as a chart's name and keys draws something of any book. */
#include "report/chart/chart_spec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct assay_chart_spec *spec)
{
    struct assay_book book = {0};
    struct assay_record records[2] = {{.op = "softmax",
                                       .implementation = "ref",
                                       .n_axes = 1,
                                       .axis_names = {"seq"},
                                       .axes = {128},
                                       .states[0] = {.measured = true, .time.median = 100}}};
    records[1] = records[0];
    records[1].axes[0] = 256;
    assay_book_begin(&book, &(struct assay_run_info){.id = "a"});
    for (int i = 0; i < 2; i++)
        assay_book_add(&book, &records[i], 1);
    struct assay_drawing drawing = {0};
    assay_draw_begin(&drawing, ASSAY_DRAW_LIGHT, ASSAY_CHART_WIDTH);
    assay_chart_spec_draw(spec, &book, &drawing);
    if (!(drawing.height > 0) || drawing.body.length == 0)
        abort();
    assay_draw_fini(&drawing);
    assay_book_fini(&book);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_chart_spec spec;
    struct assay_error err = {0};
    char *text = calloc(1, size + 1);
    if (!text || size > 512) { /* longer words are only slower */
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    if (assay_chart_spec_parse(text, &spec, &err) == ASSAY_OK)
        draw(&spec);
    else if (err.code == ASSAY_OK || !err.message[0])
        abort();
    free(text);
    return 0;
}
