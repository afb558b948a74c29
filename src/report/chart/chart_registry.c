/* chart_registry.c: the registry of charts, and which of them fits a book. */
#include "report/chart/chart.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define ASSAY_CHART(n) extern const struct assay_chart assay_chart_##n;
#include "report/chart/chart_list.h"
#undef ASSAY_CHART

static const struct assay_chart *const chart_registry[] = {
#define ASSAY_CHART(n) &assay_chart_##n,
#include "report/chart/chart_list.h"
#undef ASSAY_CHART
    NULL};

enum { CHARTS = sizeof chart_registry / sizeof chart_registry[0] - 1 };

int64_t assay_chart_count(void) { return CHARTS; }

const struct assay_chart *assay_chart_at(int64_t index) { return chart_registry[index]; }

enum assay_status assay_chart_find(const char *name, const struct assay_chart **out,
                                   struct assay_error *err)
{
    const char *names[CHARTS + 1] = {NULL};
    for (int i = 0; i < CHARTS; i++) {
        names[i] = chart_registry[i]->name;
        if (assay_text_same(names[i], name)) {
            *out = chart_registry[i];
            return ASSAY_OK;
        }
    }
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown chart \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_CHART, name, names, CHARTS,
                                              "`assay list charts` shows them all", rest,
                                              sizeof rest));
}

/* The same reason of several charts is said once. */
static void add_reason(struct assay_text *why, const char *reason, char *last, size_t size)
{
    if (reason[0] && strcmp(reason, last) != 0)
        assay_text_format(why, "%s%s", last[0] ? "; " : ": ", reason);
    if (reason[0])
        snprintf(last, size, "%s", reason);
}

const struct assay_chart *assay_chart_choose_or_say(const struct assay_book *book,
                                                    const struct assay_chart_request *request,
                                                    struct assay_text *why)
{
    const struct assay_chart *best = NULL;
    int greatest = ASSAY_CHART_UNFIT;
    char last[ASSAY_CHART_WHY] = "";
    struct assay_text reasons = {0};
    bool lost = false;
    for (int i = 0; i < CHARTS; i++) {
        char reason[ASSAY_CHART_WHY] = "";
        int fit = chart_registry[i]->fits(book, request, reason, sizeof reason);
        if (fit > greatest) {
            greatest = fit;
            best = chart_registry[i];
        }
        lost = lost || (fit <= ASSAY_CHART_UNFIT && strcmp(reason, ASSAY_CHART_NO_MEMORY) == 0);
        add_reason(&reasons, reason, last, sizeof last);
    }
    if (!best)
        assay_text_format(why, "no chart fits%s", reasons.data ? reasons.data : "");
    why->failed = why->failed || reasons.failed || lost;
    assay_text_fini(&reasons);
    return lost ? NULL : best;
}

const struct assay_chart *assay_chart_choose(const struct assay_book *book,
                                             const struct assay_chart_request *request)
{
    struct assay_text why = {0};
    const struct assay_chart *chart = assay_chart_choose_or_say(book, request, &why);
    assay_text_fini(&why);
    return chart;
}
