/* memory_items.h: what a memory profile comes to: who held how much from when to when, how much
 * that was at each moment, and what held the peak.
 *
 * Held is what was allocated: of a model, whole blocks. In use are of a block those planned buffers
 * alone whose values are needed at that moment; in PyTorch's words what is held is reserved, and
 * what is in use is allocated. Where a device has memory of its own, only that is counted. */
#ifndef ASSAY_TRACE_MEMORY_ITEMS_H
#define ASSAY_TRACE_MEMORY_ITEMS_H

#include "base/text.h"
#include "trace/memory_profile.h"

/* An allocation, or a planned buffer in one call. */
struct assay_memory_item {
    enum assay_held held;
    enum assay_stage stage; /* when it was taken */
    int32_t node, output;   /* -1: none; of an operand, `node` says which */
    uint64_t address;
    int64_t bytes;
    int64_t from, to;  /* events: the one that took it, and the one after which it is gone */
    int64_t buffer;    /* which of the profile's; -1: it is an allocation */
    int64_t block;     /* the item that a buffer lies in; -1: none */
    bool counts, left; /* its memory is counted; nobody gave it back */
};

struct assay_memory_items {
    int64_t n, n_events;
    struct assay_memory_item *items; /* in the order in which they begin */
    double *held, *in_use;           /* after each event */
    int64_t peak;                    /* the event after which most was in use; -1: there are none */
    double peak_held;                /* the most that was held */
    double end_held, end_in_use;     /* before it is taken down */
    double total;                    /* of all allocations, one after the other */
    int64_t allocations;
    double host_peak;  /* of a device with memory of its own: the most of the host's */
    double least;      /* bytes of the plan at its fullest node: no plan can take less */
    int32_t fullest;   /* that node; -1: there is no plan */
    double left_bytes; /* what nobody has given back, operands and sums apart */
};

/* ASSAY_ERR_NOMEM; `out` then needs no fini. */
enum assay_status assay_memory_items_make(const struct assay_memory_profile *profile,
                                          struct assay_memory_items *out);
void assay_memory_items_fini(struct assay_memory_items *items);

/* Is the item there after this event? */
bool assay_memory_item_lives(const struct assay_memory_item *item, int64_t event);
/* In a moment, what runs: its number, -1: no node. */
int32_t assay_memory_node_at(const struct assay_memory_profile *profile, int64_t event);

/* "node 3 gelu: output 0", "weights (input 1)": whose it is. Appended. */
void assay_memory_owner(const struct assay_memory_profile *profile,
                        const struct assay_memory_item *item, struct assay_text *out);
/* "node 3 gelu", "set up": when that was. Appended. */
void assay_memory_moment(const struct assay_memory_profile *profile, int64_t event,
                         struct assay_text *out);
/* "the peak, 12.6 MB in use, is reached in node 3 gelu: 8.4 MB weights, 3.1 MB between nodes".
 * Appended. */
void assay_memory_sentence(const struct assay_memory_profile *profile,
                           const struct assay_memory_items *items, struct assay_text *out);
/* {"peak_memory_allocated": …}: for the column memory_stats. Appended. */
void assay_memory_stats(const struct assay_memory_profile *profile,
                        const struct assay_memory_items *items, struct assay_text *out);

#endif
