/* cuda_activity.c: CUPTI's records. A launch carries a number, its correlation, which the record of
 * the kernel has too; an identifier that was pushed meanwhile comes with the same number in a
 * record of its own, in any order. */
#include "device/cuda/cuda_activity.h"

#include "base/alloc.h"
#include "device/cuda/cuda_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above a node's number, which may be none. */
enum { CALL_SHIFT = 32 };

uint64_t assay_cuda_activity_id(int32_t call, int32_t node)
{
    return (uint64_t)(call + 1) << CALL_SHIFT | (uint32_t)(node + 1);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Records lie as the compiler would not lay them out where they are packed: copied whole. */
static void add_kernel(const cupti_record *record, struct cuda_activities *out)
{
    cupti_kernel k;
    memcpy(&k, record, sizeof k);
    struct assay_activity one = {
        .start_ns = (int64_t)k.start,
        .end_ns = (int64_t)k.end,
        .kind = ASSAY_ACTIVITY_KERNEL,
        .call = (int32_t)k.correlation,
        .node = -1,
        .stream = (int32_t)k.stream,
        .grid = {k.grid_x, k.grid_y, k.grid_z},
        .block = {k.block_x, k.block_y, k.block_z},
        .registers = k.registers,
        .shared_bytes = (double)k.static_shared + (double)k.dynamic_shared,
    };
    assay_cuda_graph_plain_name(k.name ? k.name : "?", one.name, sizeof one.name);
    assay_activities_add(&out->items, &one);
}

static void add_copy(const cupti_record *record, struct cuda_activities *out)
{
    cupti_copy c;
    memcpy(&c, record, sizeof c);
    assay_activities_add(&out->items, &(struct assay_activity){.start_ns = (int64_t)c.start,
                                                               .end_ns = (int64_t)c.end,
                                                               .kind = ASSAY_ACTIVITY_COPY,
                                                               .call = (int32_t)c.correlation,
                                                               .node = -1,
                                                               .stream = (int32_t)c.stream,
                                                               .bytes = (double)c.bytes,
                                                               .name = "copy"});
}

static void add_set(const cupti_record *record, struct cuda_activities *out)
{
    cupti_set s;
    memcpy(&s, record, sizeof s);
    assay_activities_add(&out->items, &(struct assay_activity){.start_ns = (int64_t)s.start,
                                                               .end_ns = (int64_t)s.end,
                                                               .kind = ASSAY_ACTIVITY_SET,
                                                               .call = (int32_t)s.correlation,
                                                               .node = -1,
                                                               .stream = (int32_t)s.stream,
                                                               .bytes = (double)s.bytes,
                                                               .name = "fill"});
}

static void add_external(const cupti_record *record, struct cuda_activities *out)
{
    cupti_external e;
    memcpy(&e, record, sizeof e);
    if (e.external_kind != CUPTI_EXTERNAL_CUSTOM)
        return;
    if (out->n_pushed == out->capacity) {
        int64_t wanted = out->capacity > 0 ? 2 * out->capacity : 64;
        struct cuda_correlation *grown =
            wanted <= ASSAY_ACTIVITIES_MOST
                ? assay_realloc(out->pushed, (size_t)wanted, sizeof *grown)
                : NULL;
        if (!grown) {
            out->lost++;
            return;
        }
        out->pushed = grown;
        out->capacity = wanted;
    }
    out->pushed[out->n_pushed++] = (struct cuda_correlation){e.correlation, e.id};
}

static void add_record(const cupti_record *record, struct cuda_activities *out)
{
    switch (record->kind) {
    case CUPTI_KIND_KERNEL:
        add_kernel(record, out);
        break;
    case CUPTI_KIND_COPY:
        add_copy(record, out);
        break;
    case CUPTI_KIND_SET:
        add_set(record, out);
        break;
    case CUPTI_KIND_EXTERNAL:
        add_external(record, out);
        break;
    default: /* calls of the driver and the runtime, which are there for the identifiers alone */
        break;
    }
}

bool assay_cuda_activities_read(const struct cuda_cupti_api *api, uint8_t *buffer, size_t bytes,
                                struct cuda_activities *out)
{
    cupti_record *record = NULL;
    cupti_result result = CUPTI_OK;
    while (bytes > 0 &&
           (result = api->cuptiActivityGetNextRecord(buffer, bytes, &record)) == CUPTI_OK)
        add_record(record, out);
    return result == CUPTI_OK || result == CUPTI_MAX_LIMIT;
}

/* ---- whose they are -------------------------------------------------------------------------- */

static int compare_pushed(const void *a, const void *b)
{
    const struct cuda_correlation *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* False: it was launched where nothing was pushed. */
static bool find_call(const struct cuda_activities *from, struct assay_activity *one)
{
    const struct cuda_correlation key = {.correlation = (uint32_t)one->call};
    const struct cuda_correlation *pushed =
        from->n_pushed > 0 ? bsearch(&key, from->pushed, (size_t)from->n_pushed,
                                     sizeof *from->pushed, compare_pushed)
                           : NULL;
    if (!pushed || pushed->id >> CALL_SHIFT == 0)
        return false;
    one->call = (int32_t)(pushed->id >> CALL_SHIFT) - 1;
    one->node = (int32_t)(uint32_t)pushed->id - 1;
    return true;
}

void assay_cuda_activities_settle(struct cuda_activities *from, int64_t offset_ns,
                                  struct assay_activities *out)
{
    if (from->n_pushed > 1)
        qsort(from->pushed, (size_t)from->n_pushed, sizeof *from->pushed, compare_pushed);
    for (int64_t i = 0; i < from->items.n; i++) {
        struct assay_activity one = from->items.items[i];
        bool whole = one.start_ns > 0 && one.end_ns >= one.start_ns; /* 0: it was not timed */
        if (!find_call(from, &one))
            continue;
        if (!whole) {
            out->lost++;
            continue;
        }
        one.start_ns += offset_ns;
        one.end_ns += offset_ns;
        assay_activities_add(out, &one);
    }
    out->lost += from->lost + from->items.lost;
    from->items.n = from->n_pushed = 0;
    from->lost = from->items.lost = 0;
}

void assay_cuda_activities_fini(struct cuda_activities *activities)
{
    assay_activities_fini(&activities->items);
    assay_free(activities->pushed);
    *activities = (struct cuda_activities){0};
}
