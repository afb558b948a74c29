#include "api/handles.h"

#include <pthread.h>

enum { PLACE_BITS = 10, PLACES = 1 << PLACE_BITS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place {
    struct assay_open_session *session; /* NULL: free */
    uintptr_t uses;
} places[PLACES];

static uintptr_t value_of(const struct place *place)
{
    return place->uses << PLACE_BITS | (uintptr_t)(place - places);
}

assay_session *assay_handle_add(struct assay_open_session *session)
{
    uintptr_t value = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES && value == 0; i++)
        if (!places[i].session) {
            places[i].session = session;
            places[i].uses++; /* never 0, so neither is the handle */
            value = value_of(&places[i]);
        }
    pthread_mutex_unlock(&lock);
    return (assay_session *)value;
}

/* Called with the lock held. */
static struct place *place_of(const assay_session *handle)
{
    struct place *place = &places[(uintptr_t)handle % PLACES];
    return place->session && value_of(place) == (uintptr_t)handle ? place : NULL;
}

struct assay_open_session *assay_handle_find(const assay_session *handle)
{
    pthread_mutex_lock(&lock);
    const struct place *place = place_of(handle);
    struct assay_open_session *session = place ? place->session : NULL;
    pthread_mutex_unlock(&lock);
    return session;
}

void assay_handle_remove(const assay_session *handle)
{
    pthread_mutex_lock(&lock);
    struct place *place = place_of(handle);
    if (place)
        place->session = NULL;
    pthread_mutex_unlock(&lock);
}
