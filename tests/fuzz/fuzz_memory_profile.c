/* fuzz_memory_profile.c: the input is a memory profile on its way from a worker. What can be read
 * of it becomes a page and a snapshot, and what it comes to adds up. */
#include "report/memory_page.h"
#include "trace/memory_snapshot.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return 0;
}

static void check_items(const struct assay_memory_profile *p,
                        const struct assay_memory_items *items)
{
    for (int64_t i = 0; i < items->n; i++)
        if (items->items[i].to < items->items[i].from || items->items[i].to > p->n_events)
            abort();
    for (int64_t i = 0; i < p->n_events; i++)
        if (items->held[i] < 0 || items->in_use[i] < 0 || items->held[i] > items->peak_held)
            abort();
}

static void try_profile(const struct assay_memory_profile *p)
{
    struct assay_memory_items items;
    struct assay_text page = {0}, stats = {0};
    size_t bytes = 0;
    if (assay_memory_items_make(p, &items) != ASSAY_OK)
        abort();
    check_items(p, &items);
    assay_memory_page_begin("input", &page);
    assay_memory_page_add(1, p, &items, &page);
    assay_memory_page_end(&page);
    assay_memory_stats(p, &items, &stats);
    if (page.failed || stats.failed || strstr(page.data, "<script"))
        abort();
    assay_memory_snapshot *snapshot = assay_memory_snapshot_create(0, count, &bytes);
    if (!snapshot || assay_memory_snapshot_add(snapshot, p) != ASSAY_OK ||
        assay_memory_snapshot_end(snapshot, "input") != 0 || bytes == 0)
        abort();
    assay_memory_items_fini(&items);
    assay_text_fini(&page);
    assay_text_fini(&stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_memory_profile profile;
    assay_json *json = assay_json_parse((const char *)data, size, "input", NULL);
    if (json && assay_memory_profile_from_json(json, &profile, NULL) == ASSAY_OK) {
        try_profile(&profile);
        assay_memory_profile_fini(&profile);
    }
    assay_json_free(json);
    return 0;
}
