/* record.c: names of outcomes and cache states, and where a run took place. record_json.c has the
 * codec. */
#include "record/record.h"

#include "device/device.h"

#include <string.h>

static const char *const outcome_names[ASSAY_OUTCOME_COUNT] = {
    [ASSAY_OUTCOME_OK] = "ok",
    [ASSAY_OUTCOME_MISMATCH] = "mismatch",
    [ASSAY_OUTCOME_MISTRUSTED] = "mistrusted",
    [ASSAY_OUTCOME_IMPOSSIBLE] = "impossible",
    [ASSAY_OUTCOME_UNSUPPORTED] = "unsupported",
    [ASSAY_OUTCOME_SKIPPED] = "skipped",
    [ASSAY_OUTCOME_CRASHED] = "crashed",
    [ASSAY_OUTCOME_TIMEOUT] = "timeout",
    [ASSAY_OUTCOME_KILLED] = "killed",
    [ASSAY_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [ASSAY_OUTCOME_FAILED] = "failed",
};

const char *assay_outcome_name(enum assay_outcome outcome)
{
    return (unsigned)outcome < ASSAY_OUTCOME_COUNT ? outcome_names[outcome] : "unknown";
}

enum assay_outcome assay_outcome_parse(const char *name)
{
    int i = 0;
    while (i < ASSAY_OUTCOME_COUNT && strcmp(outcome_names[i], name) != 0)
        i++;
    return (enum assay_outcome)i;
}

bool assay_outcome_is_fine(enum assay_outcome outcome)
{
    return outcome == ASSAY_OUTCOME_OK || outcome == ASSAY_OUTCOME_UNSUPPORTED ||
           outcome == ASSAY_OUTCOME_SKIPPED;
}

const char *assay_cache_state_name(enum assay_cache_state state)
{
    return state == ASSAY_CACHE_HOT ? "hot" : "cold";
}

bool assay_record_on_host(const struct assay_record *record)
{
    return assay_device_is_host(record->device);
}

bool assay_run_on_host(const struct assay_run_info *info)
{
    return assay_device_is_host(info->device);
}

bool assay_run_trains(const struct assay_run_info *info)
{
    return strcmp(info->benchmark_mode, "training") == 0;
}
