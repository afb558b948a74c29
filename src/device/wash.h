/* wash.h: what the host's cores remember of the calls before, cleared. */
#ifndef ASSAY_DEVICE_WASH_H
#define ASSAY_DEVICE_WASH_H

#include <stdbool.h>
#include <stdint.h>

/* On all cores that OpenMP has threads for: how branches went and, if asked for, what their own
 * caches hold. The threads are asleep when it returns. */
void assay_wash(uint64_t seed, bool caches);

#endif
