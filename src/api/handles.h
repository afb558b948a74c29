/* handles.h: the sessions that are open, and the handles callers know them by.
 *
 * A handle is not an address: it is a slot of a table and how often that slot was used, so that a
 * session that was closed is told from one that is open, without looking at freed memory. */
#ifndef ASSAY_API_HANDLES_H
#define ASSAY_API_HANDLES_H

#include <assay/assay.h>

struct assay_open_session;

/* NULL where too many are open. */
assay_session *assay_handle_add(struct assay_open_session *session);
/* NULL for a handle that is not, or no longer, valid. */
struct assay_open_session *assay_handle_find(const assay_session *handle);
void assay_handle_remove(const assay_session *handle);

#endif
