#include "trace/memory_snapshot.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000 }; /* as Python's own pickler */

/* What is held, as the snapshot tells of it once it is complete. */
struct block {
    uint64_t address;
    int64_t bytes;
    int64_t inside; /* of a buffer: the address of its segment's end; 0: it is a segment */
    bool planned;   /* a segment whose blocks are buffers */
    char owner[160], kernel[64], title[96];
    int32_t node;
};

struct assay_memory_snapshot {
    struct assay_pickle pickle;
    int32_t device;
    int64_t last_ns;
    int64_t told; /* events so far */
    int64_t n, capacity;
    struct block *blocks;
};

/* ---- frames: PyTorch has a stack of calls there ---- */

/* The innermost first: who holds it, and of which variant. */
static void put_frames(struct assay_pickle *p, const struct block *b)
{
    assay_pickle_text(p, "frames");
    assay_pickle_list(p);
    assay_pickle_dict(p);
    assay_pickle_put_text(p, "filename", b->kernel[0] ? b->kernel : "assay");
    assay_pickle_put_int(p, "line", b->node >= 0 ? b->node : 0);
    assay_pickle_put_text(p, "name", b->owner);
    assay_pickle_dict_end(p);
    assay_pickle_dict(p);
    assay_pickle_put_text(p, "filename", "assay");
    assay_pickle_put_int(p, "line", 0);
    assay_pickle_put_text(p, "name", b->title);
    assay_pickle_dict_end(p);
    assay_pickle_list_end(p);
}

/* ---- what happened ---- */

static void put_entry(struct assay_memory_snapshot *s, const char *action, const struct block *b,
                      int64_t at_ns)
{
    struct assay_pickle *p = &s->pickle;
    if (s->told++ % BATCH == BATCH - 1)
        assay_pickle_list_batch(p);
    s->last_ns = at_ns > s->last_ns ? at_ns : s->last_ns;
    assay_pickle_dict(p);
    assay_pickle_put_text(p, "action", action);
    assay_pickle_put_address(p, "addr", b->address);
    assay_pickle_put_int(p, "size", b->bytes);
    assay_pickle_put_int(p, "stream", 0);
    assay_pickle_put_int(p, "device", s->device);
    assay_pickle_put_int(p, "time_us", at_ns / 1000);
    put_frames(p, b);
    assay_pickle_dict_end(p);
}

static void put_alloc(struct assay_memory_snapshot *s, const struct block *b, int64_t at_ns)
{
    if (b->inside == 0)
        put_entry(s, "segment_alloc", b, at_ns);
    if (!b->planned)
        put_entry(s, "alloc", b, at_ns);
}

static void put_free(struct assay_memory_snapshot *s, const struct block *b, int64_t at_ns)
{
    if (!b->planned) {
        put_entry(s, "free_requested", b, at_ns);
        put_entry(s, "free_completed", b, at_ns);
    }
    if (b->inside == 0)
        put_entry(s, "segment_free", b, at_ns);
}

/* ---- what is held now ---- */

/* An empty buffer, or none of the device's: it is in no snapshot. */
static bool is_told(const struct assay_memory_item *item)
{
    return item->counts && item->bytes > 0;
}

static void describe(const struct assay_memory_profile *profile,
                     const struct assay_memory_items *items, const struct assay_memory_item *item,
                     struct block *out)
{
    struct assay_text owner = {0};
    bool of_node =
        item->held > ASSAY_HELD_OUTPUT && item->node >= 0 && item->node < profile->n_nodes;
    *out = (struct block){.address = item->address, .bytes = item->bytes, .node = item->node};
    assay_memory_owner(profile, item, &owner);
    snprintf(out->owner, sizeof out->owner, "%s", owner.data ? owner.data : "");
    snprintf(out->title, sizeof out->title, "%.95s", profile->title);
    snprintf(out->kernel, sizeof out->kernel, "%s",
             of_node ? profile->nodes[item->node].kernel : profile->kernel);
    out->planned = item->held == ASSAY_HELD_PLANNED || item->held == ASSAY_HELD_SAVED;
    if (item->block >= 0) {
        const struct assay_memory_item *block = &items->items[item->block];
        out->inside = (int64_t)block->address + block->bytes;
    }
    assay_text_fini(&owner);
}

static enum assay_status hold(struct assay_memory_snapshot *s, const struct block *b)
{
    if (s->n == s->capacity) {
        int64_t wanted = s->capacity ? 2 * s->capacity : 64;
        void *grown = assay_realloc(s->blocks, (size_t)wanted, sizeof *s->blocks);
        if (!grown)
            return ASSAY_ERR_NOMEM;
        s->blocks = grown;
        s->capacity = wanted;
    }
    s->blocks[s->n++] = *b;
    return ASSAY_OK;
}

static void release(struct assay_memory_snapshot *s, const struct block *b)
{
    for (int64_t i = s->n - 1; i >= 0; i--)
        if (s->blocks[i].address == b->address && s->blocks[i].bytes == b->bytes &&
            s->blocks[i].inside == b->inside) {
            memmove(&s->blocks[i], &s->blocks[i + 1], (size_t)(s->n - i - 1) * sizeof *s->blocks);
            s->n--;
            return;
        }
}

/* Buffers before the blocks that they lie in: those that came later. */
static void release_all(struct assay_memory_snapshot *s)
{
    while (s->n > 0) {
        struct block b = s->blocks[--s->n];
        put_free(s, &b, s->last_ns);
    }
}

/* ---- a profile ---- */

struct telling {
    struct assay_memory_snapshot *s;
    const struct assay_memory_profile *profile;
    const struct assay_memory_items *items;
    int64_t next; /* the next item that begins */
};

/* What ends with this event, and then what begins. */
static enum assay_status tell_event(struct telling *t, int64_t event)
{
    int64_t at_ns = t->profile->events[event].at_ns;
    enum assay_status status = ASSAY_OK;
    struct block b;
    for (int64_t i = t->next - 1; i >= 0; i--)
        if (t->items->items[i].to == event && is_told(&t->items->items[i])) {
            describe(t->profile, t->items, &t->items->items[i], &b);
            put_free(t->s, &b, at_ns);
            release(t->s, &b);
        }
    for (; t->next < t->items->n && t->items->items[t->next].from == event; t->next++) {
        if (!is_told(&t->items->items[t->next]) || status != ASSAY_OK)
            continue;
        describe(t->profile, t->items, &t->items->items[t->next], &b);
        status = hold(t->s, &b);
        if (status == ASSAY_OK)
            put_alloc(t->s, &b, at_ns);
    }
    return status;
}

enum assay_status assay_memory_snapshot_add(assay_memory_snapshot *s,
                                            const struct assay_memory_profile *profile)
{
    struct assay_memory_items items;
    enum assay_status status = assay_memory_items_make(profile, &items);
    struct telling t = {s, profile, &items, 0};
    if (status != ASSAY_OK)
        return status;
    release_all(s);
    for (int64_t i = 0; i < profile->n_events && status == ASSAY_OK; i++) {
        if (profile->events[i].stage == ASSAY_STAGE_TEARDOWN)
            break;
        status = tell_event(&t, i);
    }
    assay_memory_items_fini(&items);
    return status;
}

/* ---- the snapshot ---- */

static void put_block(struct assay_pickle *p, const struct block *b, uint64_t address,
                      int64_t bytes, bool active)
{
    assay_pickle_dict(p);
    assay_pickle_put_address(p, "address", address);
    assay_pickle_put_int(p, "size", bytes);
    assay_pickle_put_int(p, "requested_size", bytes);
    assay_pickle_put_text(p, "state", active ? "active_allocated" : "inactive");
    if (active) {
        put_frames(p, b);
        assay_pickle_text(p, "history"); /* for PyTorch 1 */
        assay_pickle_list(p);
        assay_pickle_dict(p);
        assay_pickle_put_address(p, "addr", address);
        assay_pickle_put_int(p, "real_size", bytes);
        put_frames(p, b);
        assay_pickle_dict_end(p);
        assay_pickle_list_end(p);
    } else {
        assay_pickle_text(p, "frames");
        assay_pickle_list(p);
        assay_pickle_list_end(p);
    }
    assay_pickle_dict_end(p);
}

/* The buffer in this segment that begins first at an address or behind it; NULL: none. */
static const struct block *next_inside(const struct assay_memory_snapshot *s,
                                       const struct block *segment, uint64_t from)
{
    const struct block *next = NULL;
    int64_t end = (int64_t)segment->address + segment->bytes;
    for (int64_t i = 0; i < s->n; i++) {
        const struct block *b = &s->blocks[i];
        if (b->inside == end && b->address >= from && (!next || b->address < next->address))
            next = b;
    }
    return next;
}

/* All of a segment belongs to some block. */
static void put_blocks(struct assay_memory_snapshot *s, const struct block *segment)
{
    struct assay_pickle *p = &s->pickle;
    uint64_t at = segment->address, end = at + (uint64_t)segment->bytes;
    assay_pickle_text(p, "blocks");
    assay_pickle_list(p);
    if (!segment->planned)
        put_block(p, segment, segment->address, segment->bytes, true);
    while (segment->planned && at < end) {
        const struct block *next = next_inside(s, segment, at);
        uint64_t until = next ? next->address : end;
        if (until > at)
            put_block(p, segment, at, (int64_t)(until - at), false);
        if (next)
            put_block(p, next, next->address, next->bytes, true);
        at = next ? next->address + (uint64_t)next->bytes : end;
    }
    assay_pickle_list_end(p);
}

static int64_t active_bytes(const struct assay_memory_snapshot *s, const struct block *segment)
{
    int64_t bytes = segment->planned ? 0 : segment->bytes;
    for (int64_t i = 0; i < s->n; i++)
        if (s->blocks[i].inside == (int64_t)segment->address + segment->bytes)
            bytes += s->blocks[i].bytes;
    return bytes;
}

static void put_segment(struct assay_memory_snapshot *s, const struct block *segment)
{
    struct assay_pickle *p = &s->pickle;
    int64_t active = active_bytes(s, segment);
    assay_pickle_dict(p);
    assay_pickle_put_int(p, "device", s->device);
    assay_pickle_put_address(p, "address", segment->address);
    assay_pickle_put_int(p, "total_size", segment->bytes);
    assay_pickle_put_int(p, "allocated_size", active);
    assay_pickle_put_int(p, "active_size", active);
    assay_pickle_put_int(p, "requested_size", active);
    assay_pickle_put_int(p, "stream", 0);
    assay_pickle_put_text(p, "segment_type", segment->bytes > 1 << 20 ? "large" : "small");
    put_frames(p, segment);
    put_blocks(s, segment);
    assay_pickle_dict_end(p);
}

assay_memory_snapshot *assay_memory_snapshot_create(int32_t device, assay_pickle_sink sink,
                                                    void *user)
{
    assay_memory_snapshot *s = assay_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->device = device;
    assay_pickle_begin(&s->pickle, sink, user);
    assay_pickle_dict(&s->pickle);
    assay_pickle_text(&s->pickle, "device_traces");
    assay_pickle_list(&s->pickle);
    for (int32_t i = 0; i < device; i++) {
        assay_pickle_list(&s->pickle);
        assay_pickle_list_end(&s->pickle);
    }
    assay_pickle_list(&s->pickle);
    return s;
}

int assay_memory_snapshot_end(assay_memory_snapshot *s, const char *about)
{
    if (!s)
        return 0;
    struct assay_pickle *p = &s->pickle;
    assay_pickle_list_end(p);
    assay_pickle_list_end(p);
    assay_pickle_text(p, "segments");
    assay_pickle_list(p);
    for (int64_t i = 0; i < s->n; i++) {
        if (s->blocks[i].inside == 0)
            put_segment(s, &s->blocks[i]);
        if (i % BATCH == BATCH - 1)
            assay_pickle_list_batch(p);
    }
    assay_pickle_list_end(p);
    assay_pickle_text(p, "allocator_settings");
    assay_pickle_dict(p);
    assay_pickle_put_text(p, "assay", about);
    assay_pickle_dict_end(p);
    assay_pickle_dict_end(p);
    int error = assay_pickle_end(p);
    assay_free(s->blocks);
    assay_free(s);
    return error;
}
