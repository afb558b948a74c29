/* load.h: how much else runs on this machine. */
#ifndef ASSAY_BASE_LOAD_H
#define ASSAY_BASE_LOAD_H

#include <stdbool.h>

/* Threads of the whole machine that run or could run now, and all there are; false where the system
 * does not say. */
bool assay_load_threads(long *running, long *all);

#endif
