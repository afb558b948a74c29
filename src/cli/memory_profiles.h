/* memory_profiles.h: the memory profiles of a run: the files of --profile-memory, which have every
 * variant, and those of enable_memory_profiler, a snapshot and a page for each variant of the
 * groups that ask for it, in OUTPUT_DIR/memory_profiler. */
#ifndef ASSAY_CLI_MEMORY_PROFILES_H
#define ASSAY_CLI_MEMORY_PROFILES_H

#include "config/measure_config.h"
#include "record/record.h"
#include "report/memory_file.h"

struct assay_memory_profiles {
    assay_memory_file *page, *snapshot; /* NULL: not asked for */
    const struct assay_run_info *run;
    int64_t n, n_incomplete;   /* profiles, and those of which something is missing */
    char missing[360];         /* the first of those */
    struct assay_error failed; /* the first file of enable_memory_profiler that was not written */
};

/* Fails before anything is measured where a file cannot be written. */
enum assay_status assay_memory_profiles_open(struct assay_memory_profiles *profiles,
                                             const struct assay_measure_config *config,
                                             const struct assay_run_info *run,
                                             struct assay_error *err);
/* What is made of the variant's goes to `files`. */
void assay_memory_profiles_add(struct assay_memory_profiles *profiles,
                               const struct assay_group *group,
                               const struct assay_memory_profile *profile,
                               struct assay_profile_files *files);
/* As of assay_profiles_close. */
enum assay_status assay_memory_profiles_close(struct assay_memory_profiles *profiles,
                                              int64_t n_earlier, bool quiet,
                                              struct assay_error *err);
void assay_memory_profiles_cancel(struct assay_memory_profiles *profiles);

#endif
