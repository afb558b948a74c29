#include "trace/memory_items.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* ---- from events to items ---- */

struct making {
    const struct assay_memory_profile *p;
    struct assay_memory_items *out;
    int64_t capacity;
    int64_t *open;     /* of each buffer the item that is there now; -1: none */
    int64_t blocks[2]; /* the items of the planned block, and of that of saved tensors */
};

static bool is_block(enum assay_held held)
{
    return held == ASSAY_HELD_PLANNED || held == ASSAY_HELD_SAVED;
}

static struct assay_memory_item *add_item(struct making *m)
{
    struct assay_memory_items *out = m->out;
    if (out->n == m->capacity) {
        int64_t wanted = m->capacity ? 2 * m->capacity : 64;
        void *grown = assay_realloc(out->items, (size_t)wanted, sizeof *out->items);
        if (!grown)
            return NULL;
        out->items = grown;
        m->capacity = wanted;
    }
    struct assay_memory_item *item = &out->items[out->n++];
    *item = (struct assay_memory_item){
        .to = m->p->n_events, .buffer = -1, .block = -1, .output = -1, .left = true};
    return item;
}

static void close_item(struct making *m, int64_t item, int64_t event)
{
    m->out->items[item].to = event;
    m->out->items[item].left = false;
}

static void close_buffer(struct making *m, int64_t buffer, int64_t event)
{
    if (m->open[buffer] >= 0)
        close_item(m, m->open[buffer], event);
    m->open[buffer] = -1;
}

static enum assay_status take(struct making *m, int64_t event)
{
    const struct assay_memory_event *e = &m->p->events[event];
    struct assay_memory_item *item = add_item(m);
    if (!item)
        return ASSAY_ERR_NOMEM;
    item->held = e->held;
    item->stage = e->stage;
    item->node = e->node;
    item->address = e->address;
    item->bytes = e->bytes;
    item->from = event;
    item->counts = m->p->on_host || e->on_device;
    if (is_block(e->held))
        m->blocks[e->held == ASSAY_HELD_SAVED] = m->out->n - 1;
    return ASSAY_OK;
}

/* What was taken before the pass began is not known, and is passed over. */
static void give(struct making *m, int64_t event)
{
    for (int64_t i = m->out->n - 1; i >= 0; i--) {
        const struct assay_memory_item *item = &m->out->items[i];
        if (item->buffer >= 0 || !item->left || item->address != m->p->events[event].address)
            continue;
        close_item(m, i, event);
        for (int64_t b = 0; b < m->p->n_buffers; b++)
            if (m->open[b] >= 0 && m->out->items[m->open[b]].block == i)
                close_buffer(m, b, event);
        return;
    }
}

/* Saved tensors with a block of their own outlive the call that makes them. */
static bool ends(const struct assay_memory_buffer *b, int32_t node)
{
    return !b->apart && (node < 0 || node > b->last || node < b->node);
}

static enum assay_status begin_buffer(struct making *m, int64_t buffer, int64_t event)
{
    const struct assay_memory_buffer *b = &m->p->buffers[buffer];
    int64_t block = m->blocks[b->apart];
    if (block < 0 || !m->out->items[block].left || m->open[buffer] >= 0)
        return ASSAY_OK;
    struct assay_memory_item *item = add_item(m);
    if (!item)
        return ASSAY_ERR_NOMEM;
    item->held = b->held;
    item->stage = m->p->events[event].stage;
    item->node = b->node;
    item->output = b->output;
    item->address = m->out->items[block].address + (uint64_t)b->offset;
    item->bytes = b->bytes;
    item->from = event;
    item->buffer = buffer;
    item->block = block;
    item->counts = m->out->items[block].counts;
    m->open[buffer] = m->out->n - 1;
    return ASSAY_OK;
}

static enum assay_status come_to(struct making *m, int64_t event)
{
    int32_t node = m->p->events[event].node;
    enum assay_status status = ASSAY_OK;
    for (int64_t b = 0; b < m->p->n_buffers; b++)
        if (ends(&m->p->buffers[b], node))
            close_buffer(m, b, event);
    for (int64_t b = 0; b < m->p->n_buffers && status == ASSAY_OK; b++)
        if (node >= 0 && m->p->buffers[b].node == node)
            status = begin_buffer(m, b, event);
    return status;
}

static enum assay_status make_items(struct making *m)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < m->p->n_events && status == ASSAY_OK; i++)
        switch (m->p->events[i].what) {
        case ASSAY_MEMORY_TOOK:
            status = take(m, i);
            break;
        case ASSAY_MEMORY_GAVE:
            give(m, i);
            break;
        case ASSAY_MEMORY_NODE:
            status = come_to(m, i);
            break;
        case ASSAY_MEMORY_WHATS:
            break;
        }
    return status;
}

/* ---- sums ---- */

static bool is_operand(enum assay_held held) { return held <= ASSAY_HELD_OUTPUT; }

/* Of sums nobody knows when they are given back. */
static bool is_lost(const struct assay_memory_profile *p, const struct assay_memory_item *item)
{
    return item->buffer < 0 && item->left && !is_operand(item->held) &&
           item->held != ASSAY_HELD_ELSEWHERE && !p->sums;
}

/* Differences first, then their sums. */
static void add_span(double *sums, int64_t n, const struct assay_memory_item *item)
{
    sums[item->from] += (double)item->bytes;
    if (item->to < n)
        sums[item->to] -= (double)item->bytes;
}

static enum assay_status sum_up(const struct assay_memory_profile *p,
                                struct assay_memory_items *out)
{
    double host = 0, *elsewhere = assay_calloc((size_t)p->n_events + 1, sizeof *elsewhere);
    out->held = assay_calloc((size_t)p->n_events + 1, sizeof *out->held);
    out->in_use = assay_calloc((size_t)p->n_events + 1, sizeof *out->in_use);
    if (!elsewhere || !out->held || !out->in_use) {
        assay_free(elsewhere);
        return ASSAY_ERR_NOMEM;
    }
    for (int64_t i = 0; i < out->n; i++) {
        const struct assay_memory_item *item = &out->items[i];
        if (item->buffer < 0)
            add_span(item->counts ? out->held : elsewhere, p->n_events, item);
        if (item->counts && !is_block(item->held))
            add_span(out->in_use, p->n_events, item);
        out->total += item->buffer < 0 && item->counts ? (double)item->bytes : 0;
        out->allocations += item->buffer < 0 && item->counts;
        out->left_bytes += is_lost(p, item) ? (double)item->bytes : 0;
    }
    for (int64_t i = 0; i < p->n_events; i++) {
        out->held[i] += i ? out->held[i - 1] : 0;
        out->in_use[i] += i ? out->in_use[i - 1] : 0;
        host += elsewhere[i];
        out->host_peak = fmax(out->host_peak, host);
        out->peak_held = fmax(out->peak_held, out->held[i]);
        if (out->peak < 0 || out->in_use[i] > out->in_use[out->peak])
            out->peak = i;
        if (p->events[i].stage != ASSAY_STAGE_TEARDOWN) {
            out->end_held = out->held[i];
            out->end_in_use = out->in_use[i];
        }
    }
    assay_free(elsewhere);
    return ASSAY_OK;
}

/* Of the block that values share: what lives at each node. */
static void find_fullest(const struct assay_memory_profile *p, struct assay_memory_items *out)
{
    for (int32_t node = 0; node < p->n_nodes; node++) {
        double live = 0;
        for (int64_t b = 0; b < p->n_buffers; b++) {
            const struct assay_memory_buffer *buffer = &p->buffers[b];
            if (!buffer->apart && buffer->node <= node && node <= buffer->last)
                live += (double)buffer->bytes;
        }
        if (live > out->least) {
            out->least = live;
            out->fullest = node;
        }
    }
}

enum assay_status assay_memory_items_make(const struct assay_memory_profile *profile,
                                          struct assay_memory_items *out)
{
    struct making m = {.p = profile, .out = out, .blocks = {-1, -1}};
    *out = (struct assay_memory_items){.peak = -1, .fullest = -1, .n_events = profile->n_events};
    m.open = assay_calloc((size_t)profile->n_buffers + 1, sizeof *m.open);
    if (!m.open)
        return ASSAY_ERR_NOMEM;
    for (int64_t b = 0; b < profile->n_buffers; b++)
        m.open[b] = -1;
    enum assay_status status = make_items(&m);
    if (status == ASSAY_OK)
        status = sum_up(profile, out);
    if (status == ASSAY_OK)
        find_fullest(profile, out);
    else
        assay_memory_items_fini(out);
    assay_free(m.open);
    return status;
}

void assay_memory_items_fini(struct assay_memory_items *items)
{
    assay_free(items->items);
    assay_free(items->held);
    assay_free(items->in_use);
    items->items = NULL;
    items->held = items->in_use = NULL;
    items->n = 0;
}

bool assay_memory_item_lives(const struct assay_memory_item *item, int64_t event)
{
    return item->from <= event && event < item->to;
}

int32_t assay_memory_node_at(const struct assay_memory_profile *profile, int64_t event)
{
    for (int64_t i = event; i >= 0; i--)
        if (profile->events[i].stage != profile->events[event].stage)
            return -1;
        else if (profile->events[i].what == ASSAY_MEMORY_NODE)
            return profile->events[i].node;
    return -1;
}
