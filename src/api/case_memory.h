/* case_memory.h: what memory a case holds, and the most a call of it takes above that.
 *
 * On the cpu: what the session gave, counted, and the process's heap. A call's own memory is what
 * assay_session_alloc gave meanwhile or, where the case allocates by other means, how far the
 * resident set grew: to about a quarter of a megabyte, and only for a call whose pages had been
 * touched before. On cuda: what the session gave, or what the GPU has less than when the session
 * first used it. */
#ifndef ASSAY_API_CASE_MEMORY_H
#define ASSAY_API_CASE_MEMORY_H

#include "api/session.h"

struct assay_case_memory {
    struct assay_open_session *session;
    assay_device *device;
    size_t held;  /* counted, before the call */
    size_t usual; /* heap, or GPU memory in use, before the call */
    size_t resident;
};

/* Bytes held now. */
size_t assay_case_memory_idle(struct assay_open_session *session, assay_device *device);

/* Around one call; the second returns the most it took. */
void assay_case_memory_begin(struct assay_case_memory *memory, struct assay_open_session *session,
                             assay_device *device);
size_t assay_case_memory_end(struct assay_case_memory *memory);

#endif
