/* profiles.h: the traces of a run: the file of --profile, which has every variant, and those of
 * enable_profiler, one for each variant of the groups that ask for it, in OUTPUT_DIR/profiler. */
#ifndef ASSAY_CLI_PROFILES_H
#define ASSAY_CLI_PROFILES_H

#include "config/measure_config.h"
#include "record/record.h"
#include "trace/timeline.h"

struct assay_profiles {
    assay_timeline *all; /* NULL: --profile was not given */
    const struct assay_run_info *run;
    int64_t n, n_incomplete;   /* profiles, and those of which something is missing */
    char missing[300];         /* the first that lacks more than its inside */
    struct assay_error failed; /* the first file of enable_profiler that could not be written */
};

/* Fails before anything is measured where the file cannot be written. */
enum assay_status assay_profiles_open(struct assay_profiles *profiles,
                                      const struct assay_measure_config *config,
                                      const struct assay_run_info *run, struct assay_error *err);
/* The path of the variant's own file, if it has one, goes to `files`. */
void assay_profiles_add(struct assay_profiles *profiles, const struct assay_group *group,
                        const struct assay_profile *profile, struct assay_profile_files *files);
/* Completes the files; `n_earlier` groups were measured by an earlier part of the run, and are not
 * in them, which is said. The error names the first that could not be written. */
enum assay_status assay_profiles_close(struct assay_profiles *profiles, int64_t n_earlier,
                                       bool quiet, struct assay_error *err);
void assay_profiles_cancel(struct assay_profiles *profiles);

/* The line that names what was written, "the profile" or "the memory" of `n` variants, and the one
 * that says what is missing, unless that is empty. */
void assay_profiles_tell(const char *names, const char *what, int64_t n, int64_t n_earlier,
                         int64_t n_incomplete, const char *missing);

/* What files of a variant's profiles begin with:
 * "bench_1_64_64_quant_int8wo_sparsity_None_eager_0", of a recipe, an implementation and the
 * group's number; for file names of any kind. Appended. */
void assay_profiles_name(const struct assay_group *group, const char *recipe,
                         const char *implementation, int64_t index, struct assay_text *out);

#endif
