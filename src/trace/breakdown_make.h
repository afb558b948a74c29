/* breakdown_make.h: for the files breakdown*.c: sums that were read, settled. */
#ifndef ASSAY_TRACE_BREAKDOWN_MAKE_H
#define ASSAY_TRACE_BREAKDOWN_MAKE_H

#include "trace/breakdown.h"

/* Of a variant whose nodes have calls, totals, bytes and so on: everything that follows from them.
 * ASSAY_ERR_NOMEM. */
enum assay_status assay_breakdown_settle(struct assay_breakdown *b);

#endif
