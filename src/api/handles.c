#include "api/handles.h"

#include <pthread.h>

enum { SLOT_BITS = 10, SLOTS = 1 << SLOT_BITS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
    struct assay_open_session *session; /* NULL: free */
    uintptr_t uses;
} slots[SLOTS];

static uintptr_t value_of(const struct slot *slot)
{
    return slot->uses << SLOT_BITS | (uintptr_t)(slot - slots);
}

assay_session *assay_handle_add(struct assay_open_session *session)
{
    uintptr_t value = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS && value == 0; i++)
        if (!slots[i].session) {
            slots[i].session = session;
            slots[i].uses++; /* never 0, so neither is the handle */
            value = value_of(&slots[i]);
        }
    pthread_mutex_unlock(&lock);
    return (assay_session *)value;
}

/* Called with the lock held. */
static struct slot *slot_of(const assay_session *handle)
{
    struct slot *slot = &slots[(uintptr_t)handle % SLOTS];
    return slot->session && value_of(slot) == (uintptr_t)handle ? slot : NULL;
}

struct assay_open_session *assay_handle_find(const assay_session *handle)
{
    pthread_mutex_lock(&lock);
    const struct slot *slot = slot_of(handle);
    struct assay_open_session *session = slot ? slot->session : NULL;
    pthread_mutex_unlock(&lock);
    return session;
}

void assay_handle_remove(const assay_session *handle)
{
    pthread_mutex_lock(&lock);
    struct slot *slot = slot_of(handle);
    if (slot)
        slot->session = NULL;
    pthread_mutex_unlock(&lock);
}
