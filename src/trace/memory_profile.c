#include "trace/memory_profile.h"

#include "base/alloc.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* More than any pass notes, and few enough to fit into memory. */
enum { MOST_NODES = 4096, MOST_BUFFERS = 8192, MOST_EVENTS = 1 << 16, MOST_CALLS = 1000 };
/* Sums of them still fit. */
static const int64_t MOST_BYTES = INT64_C(1) << 42, LAST_NS = INT64_C(4000000000000000000);

void assay_memory_profile_fini(struct assay_memory_profile *profile)
{
    assay_free(profile->nodes);
    assay_free(profile->buffers);
    assay_free(profile->events);
    profile->nodes = NULL;
    profile->buffers = NULL;
    profile->events = NULL;
    profile->n_nodes = profile->n_buffers = profile->n_events = 0;
}

#define TEXT(type, member)                                                                         \
    {                                                                                              \
#member, offsetof(type, member), sizeof(((type *)0)->member)                               \
    }
struct text {
    const char *key;
    size_t offset, size;
};
static const struct text texts[] = {
    TEXT(struct assay_memory_profile, title),  TEXT(struct assay_memory_profile, op),
    TEXT(struct assay_memory_profile, kernel), TEXT(struct assay_memory_profile, implementation),
    TEXT(struct assay_memory_profile, recipe), TEXT(struct assay_memory_profile, device),
    TEXT(struct assay_memory_profile, missing)};
static const struct text node_texts[] = {
    TEXT(struct assay_memory_node, op), TEXT(struct assay_memory_node, shape),
    TEXT(struct assay_memory_node, kernel), TEXT(struct assay_memory_node, phase)};
enum {
    TEXTS = sizeof texts / sizeof texts[0],
    NODE_TEXTS = sizeof node_texts / sizeof node_texts[0]
};

static void put_texts(assay_json *o, const void *from, const struct text *rows, int n)
{
    for (int i = 0; i < n; i++)
        assay_json_put_string(o, rows[i].key, (const char *)from + rows[i].offset);
}

static void get_texts(const assay_json *o, void *to, const struct text *rows, int n)
{
    for (int i = 0; i < n; i++)
        snprintf((char *)to + rows[i].offset, rows[i].size, "%s",
                 assay_json_string(assay_json_get(o, rows[i].key), ""));
}

/* Lists of so many numbers for each. */
enum { OF_BUFFER = 7, OF_EVENT = 8 };

static void append(assay_json *list, const int64_t *numbers, int n)
{
    for (int i = 0; i < n; i++)
        assay_json_append(list, assay_json_from_int(numbers[i]));
}

assay_json *assay_memory_profile_to_json(const struct assay_memory_profile *p)
{
    assay_json *o = assay_json_object(), *nodes = assay_json_array();
    assay_json *buffers = assay_json_array(), *events = assay_json_array();
    assay_json_put_int(o, "group", p->group);
    assay_json_put_int(o, "variant", p->variant);
    assay_json_put_int(o, "calls", p->calls);
    assay_json_put_bool(o, "sums", p->sums);
    assay_json_put_bool(o, "on_host", p->on_host);
    assay_json_put_int(o, "planned_bytes", p->planned_bytes);
    assay_json_put_int(o, "apart_bytes", p->apart_bytes);
    put_texts(o, p, texts, TEXTS);
    for (int64_t i = 0; i < p->n_nodes; i++) {
        assay_json *node = assay_json_object();
        put_texts(node, &p->nodes[i], node_texts, NODE_TEXTS);
        assay_json_append(nodes, node);
    }
    for (int64_t i = 0; i < p->n_buffers; i++) {
        const struct assay_memory_buffer *b = &p->buffers[i];
        append(buffers,
               (int64_t[OF_BUFFER]){b->node, b->output, b->last, b->held, b->apart, b->offset,
                                    b->bytes},
               OF_BUFFER);
    }
    for (int64_t i = 0; i < p->n_events; i++) {
        const struct assay_memory_event *e = &p->events[i];
        append(events,
               (int64_t[OF_EVENT]){e->at_ns, (int64_t)e->address, e->bytes, e->node, e->what,
                                   e->stage, e->held, e->on_device},
               OF_EVENT);
    }
    assay_json_put(o, "nodes", nodes);
    assay_json_put(o, "buffers", buffers);
    assay_json_put(o, "events", events);
    return o;
}

/* ---- and back ---- */

static enum assay_status corrupt(const char *what, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL,
                           "\"%s\" of a memory profile makes no sense", what);
}

static bool within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

/* Space for a list's members of `each` numbers: how many, or -1. */
static int64_t count_of(const assay_json *list, int each, int64_t most)
{
    int64_t n = assay_json_count(list);
    return n % each == 0 && n / each <= most ? n / each : -1;
}

static void take(const assay_json *list, int64_t index, int64_t *out, int each)
{
    for (int k = 0; k < each; k++)
        out[k] = assay_json_int(assay_json_at(list, index * each + k), INT64_MIN);
}

static enum assay_status read_nodes(const assay_json *list, struct assay_memory_profile *out,
                                    struct assay_error *err)
{
    int64_t n = count_of(list, 1, MOST_NODES);
    if (n < 0)
        return corrupt("nodes", err);
    out->nodes = assay_calloc((size_t)n + 1, sizeof *out->nodes);
    if (!out->nodes)
        return assay_error_nomem(err);
    out->n_nodes = n;
    for (int64_t i = 0; i < n; i++)
        get_texts(assay_json_at(list, i), &out->nodes[i], node_texts, NODE_TEXTS);
    return ASSAY_OK;
}

static enum assay_status read_buffers(const assay_json *list, struct assay_memory_profile *out,
                                      struct assay_error *err)
{
    int64_t n = count_of(list, OF_BUFFER, MOST_BUFFERS), v[OF_BUFFER];
    if (n < 0)
        return corrupt("buffers", err);
    out->buffers = assay_calloc((size_t)n + 1, sizeof *out->buffers);
    if (!out->buffers)
        return assay_error_nomem(err);
    out->n_buffers = n;
    for (int64_t i = 0; i < n; i++) {
        take(list, i, v, OF_BUFFER);
        int64_t block = v[4] == 1 ? out->apart_bytes : out->planned_bytes;
        bool fits = within(v[0], 0, out->n_nodes - 1) && within(v[1], 0, 64) &&
                    within(v[2], v[0], out->n_nodes) &&
                    within(v[3], ASSAY_HELD_INNER, ASSAY_HELD_GRADIENT) && within(v[4], 0, 1) &&
                    within(v[5], 0, block) && within(v[6], 0, block - v[5]);
        if (!fits)
            return corrupt("buffers", err);
        out->buffers[i] = (struct assay_memory_buffer){
            (int32_t)v[0], (int32_t)v[1], (int32_t)v[2], (enum assay_held)v[3],
            v[4] == 1,     v[5],          v[6]};
    }
    return ASSAY_OK;
}

/* An operand's number is small; a node is one of the model's. */
static bool fits(const int64_t *v, const struct assay_memory_profile *p, int64_t before_ns)
{
    int64_t nodes = v[4] == ASSAY_MEMORY_TOOK && v[6] <= ASSAY_HELD_OUTPUT ? 64 : p->n_nodes;
    return within(v[0], before_ns, LAST_NS) && within(v[2], 0, MOST_BYTES) &&
           within(v[3], -1, nodes - 1) && within(v[4], 0, ASSAY_MEMORY_WHATS - 1) &&
           within(v[5], 0, ASSAY_STAGES - 1) && within(v[6], 0, ASSAY_HELD_ELSEWHERE) &&
           within(v[7], 0, 1);
}

static enum assay_status read_events(const assay_json *list, struct assay_memory_profile *out,
                                     struct assay_error *err)
{
    int64_t n = count_of(list, OF_EVENT, MOST_EVENTS), v[OF_EVENT], before_ns = 0;
    if (n < 0)
        return corrupt("events", err);
    out->events = assay_calloc((size_t)n + 1, sizeof *out->events);
    if (!out->events)
        return assay_error_nomem(err);
    out->n_events = n;
    for (int64_t i = 0; i < n; i++) {
        take(list, i, v, OF_EVENT);
        if (!fits(v, out, before_ns))
            return corrupt("events", err);
        before_ns = v[0];
        out->events[i] = (struct assay_memory_event){.at_ns = v[0],
                                                     .address = (uint64_t)v[1],
                                                     .bytes = v[2],
                                                     .node = (int32_t)v[3],
                                                     .what = (enum assay_memory_what)v[4],
                                                     .stage = (enum assay_stage)v[5],
                                                     .held = (enum assay_held)v[6],
                                                     .on_device = v[7] == 1};
    }
    return ASSAY_OK;
}

enum assay_status assay_memory_profile_from_json(const assay_json *json,
                                                 struct assay_memory_profile *out,
                                                 struct assay_error *err)
{
    int64_t calls = assay_json_int(assay_json_get(json, "calls"), -1);
    *out = (struct assay_memory_profile){
        .group = assay_json_int(assay_json_get(json, "group"), -1),
        .variant = assay_json_int(assay_json_get(json, "variant"), -1),
        .sums = assay_json_bool(assay_json_get(json, "sums"), false),
        .on_host = assay_json_bool(assay_json_get(json, "on_host"), false),
        .planned_bytes = assay_json_int(assay_json_get(json, "planned_bytes"), -1),
        .apart_bytes = assay_json_int(assay_json_get(json, "apart_bytes"), -1),
    };
    if (out->group < 0 || out->variant < 0 || !within(calls, 0, MOST_CALLS))
        return corrupt("group", err);
    if (!within(out->planned_bytes, 0, MOST_BYTES) || !within(out->apart_bytes, 0, MOST_BYTES))
        return corrupt("planned_bytes", err);
    out->calls = (int32_t)calls;
    get_texts(json, out, texts, TEXTS);
    enum assay_status status = read_nodes(assay_json_get(json, "nodes"), out, err);
    if (status == ASSAY_OK)
        status = read_buffers(assay_json_get(json, "buffers"), out, err);
    if (status == ASSAY_OK)
        status = read_events(assay_json_get(json, "events"), out, err);
    if (status != ASSAY_OK)
        assay_memory_profile_fini(out);
    return status;
}
