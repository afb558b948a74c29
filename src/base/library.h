/* library.h: opening shared objects that need not be there. */
#ifndef ASSAY_BASE_LIBRARY_H
#define ASSAY_BASE_LIBRARY_H

#include "base/error.h"

/* By a path, or by a name for the dynamic linker to find. NULL where that fails: ASSAY_UNSUPPORTED:
 * it does not exist or cannot be used. ASSAY_ERR_NOMEM: memory or descriptors ran out, or it could
 * not be read, which says nothing about whether it exists. */
void *assay_library_open(const char *name, struct assay_error *err);

#endif
