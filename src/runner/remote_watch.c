#include "runner/remote_watch.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Of one pass: more is not read. */
enum { MOST = 1 << 16 };
/* A monotonic clock that is older would be a machine's of thirty years. */
static const int64_t LAST_NS = INT64_C(1000000000000000000);

struct head {
    int64_t n, lost;
};

/* ---- there ---- */

void *assay_remote_watch_pack(const struct assay_activities *activities, size_t *bytes)
{
    struct head head = {.n = activities->n < MOST ? activities->n : MOST};
    head.lost = activities->lost + (activities->n - head.n);
    size_t items = (size_t)head.n * sizeof *activities->items;
    char *packed = assay_calloc(1, sizeof head + items);
    if (!packed)
        return NULL;
    memcpy(packed, &head, sizeof head);
    if (items > 0)
        memcpy(packed + sizeof head, activities->items, items);
    *bytes = sizeof head + items;
    return packed;
}

/* ---- here ---- */

static void show(char *text, size_t size)
{
    struct assay_text shown = {0};
    text[size - 1] = '\0';
    assay_text_add_shown(&shown, text);
    snprintf(text, size, "%s", shown.data ? shown.data : "");
    assay_text_fini(&shown);
}

bool assay_remote_watch_sane(struct assay_activity *one)
{
    bool sane = one->kind >= 0 && one->kind < ASSAY_ACTIVITY_KINDS && one->call >= 0 &&
                one->start_ns >= 0 && one->end_ns >= one->start_ns && one->end_ns < LAST_NS &&
                one->stream >= -1 && one->registers >= 0 && one->shared_bytes >= 0 &&
                one->shared_bytes < 1e12 && one->bytes >= 0 && one->bytes < 1e18;
    for (int i = 0; i < 3; i++)
        sane = sane && one->grid[i] >= 0 && one->block[i] >= 0;
    one->node = -1; /* a stranger has none */
    show(one->name, sizeof one->name);
    return sane;
}

enum assay_status assay_remote_watch(assay_runner *runner, char *how, size_t size,
                                     struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_WATCH};
    struct assay_runner_reply reply;
    enum assay_status status = assay_runner_ask(runner, &c, &reply, err);
    if (status != ASSAY_OK)
        return status;
    show(reply.text, sizeof reply.text);
    snprintf(how, size, "%s", reply.text);
    return ASSAY_OK;
}

static enum assay_status take(assay_runner *runner, uint64_t address, int64_t n,
                              struct assay_activities *out, struct assay_error *err)
{
    struct assay_activity *items = assay_calloc((size_t)n + 1, sizeof *items);
    if (!items)
        return assay_error_nomem(err);
    enum assay_status status =
        n > 0 ? assay_runner_read(runner, items, address, (size_t)n * sizeof *items, err)
              : ASSAY_OK;
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++) {
        if (assay_remote_watch_sane(&items[i]))
            assay_activities_add(out, &items[i]);
        else
            out->lost++;
    }
    assay_free(items);
    return status;
}

enum assay_status assay_remote_watched(assay_runner *runner, struct assay_activities *out,
                                       struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_WATCHED};
    struct assay_runner_reply reply;
    struct head head = {0};
    enum assay_status status = assay_runner_ask(runner, &c, &reply, err);
    if (status == ASSAY_OK)
        status = assay_runner_read(runner, &head, reply.address, sizeof head, err);
    if (status != ASSAY_OK)
        return status;
    if (head.n < 0 || head.n > MOST || head.lost < 0 || head.lost > INT32_MAX)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "what the GPU did makes no sense");
    out->lost += head.lost;
    status = take(runner, reply.address + sizeof head, head.n, out, err);
    assay_activities_sort(out);
    return status;
}

void assay_remote_unwatch(assay_runner *runner)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_UNWATCH};
    struct assay_runner_reply reply;
    assay_runner_ask(runner, &c, &reply, NULL);
}
