#include "cli/profiles.h"

#include "base/folder.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "profile_20261115-034711-a1b2.json"; a resumed run leaves the one of its first part alone. */
static void name_after_run(const struct assay_run_info *run, struct assay_text *out)
{
    assay_text_format(out, "profile_%s.json", run->id);
    for (int i = 2; out->data && access(out->data, F_OK) == 0 && i < 1000; i++) {
        assay_text_clear(out);
        assay_text_format(out, "profile_%s_%d.json", run->id, i);
    }
}

enum assay_status assay_profiles_open(struct assay_profiles *profiles,
                                      const struct assay_measure_config *config,
                                      const struct assay_run_info *run, struct assay_error *err)
{
    struct assay_text name = {0};
    *profiles = (struct assay_profiles){.run = run};
    if (!config->profile)
        return ASSAY_OK;
    if (config->profile[0])
        assay_text_add(&name, config->profile);
    else
        name_after_run(run, &name);
    enum assay_status status =
        name.failed ? assay_error_nomem(err) : assay_timeline_open(name.data, &profiles->all, err);
    assay_text_fini(&name);
    return status;
}

/* What a trace says of itself. */
static enum assay_status close_trace(const struct assay_profiles *profiles,
                                     assay_timeline *timeline, struct assay_error *err)
{
    const struct assay_run_info *run = profiles->run;
    const struct assay_trace_arg about[] = {
        {"assay", run->version, 0},        {"run", run->id, 0},
        {"started", run->started, 0},      {"command", run->command, 0},
        {"device", run->device_name, 0},   {"threads", NULL, run->threads},
        {"missing", profiles->missing, 0},
    };
    return assay_timeline_close(timeline, about, (int32_t)(sizeof about / sizeof about[0]), err);
}

/* ---- enable_profiler ---- */

/* Names become parts of file names. */
static void add_plain(struct assay_text *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '-' || *c == '.';
        assay_text_append(out, plain ? c : "_", 1);
    }
}

void assay_profiles_name(const struct assay_group *group, const char *named, const char *how,
                         int64_t index, struct assay_text *path)
{
    add_plain(path, group->entry);
    for (int32_t i = 0; i < group->n_axes; i++)
        assay_text_format(path, "_%lld", (long long)group->axes[i]);
    char recipe[64];
    snprintf(recipe, sizeof recipe, "%s", named[0] ? named : "baseline");
    char *sparsity = strchr(recipe, '+'); /* "int8dq+semi-sparse" */
    if (sparsity)
        *sparsity++ = '\0';
    assay_text_add(path, "_quant_");
    add_plain(path, recipe);
    assay_text_add(path, "_sparsity_");
    add_plain(path, sparsity ? sparsity : "None");
    assay_text_add(path, "_");
    add_plain(path, how);
    assay_text_format(path, "_%lld", (long long)index);
}

/* "results/inference/profiler/bench_1_64_64_quant_int8wo_sparsity_None_compiled_0_profile.json" */
static void name_of_variant(const struct assay_run_info *run, const struct assay_group *group,
                            const struct assay_profile *profile, struct assay_text *folder,
                            struct assay_text *path)
{
    assay_text_format(folder, "%s/profiler", run->output_dir[0] ? run->output_dir : ".");
    assay_text_format(path, "%s/", folder->data ? folder->data : "");
    assay_profiles_name(group, profile->recipe, profile->implementation, profile->group, path);
    assay_text_add(path, "_profile.json");
}

static enum assay_status write_variant(const struct assay_profiles *profiles,
                                       const struct assay_group *group,
                                       const struct assay_profile *profile, char *path, size_t size,
                                       struct assay_error *err)
{
    struct assay_text folder = {0}, name = {0};
    assay_timeline *timeline = NULL;
    name_of_variant(profiles->run, group, profile, &folder, &name);
    enum assay_status status = folder.failed || name.failed ? assay_error_nomem(err) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = assay_folder_make_open(folder.data, err);
    if (status == ASSAY_OK)
        status = assay_timeline_open(name.data, &timeline, err);
    if (status == ASSAY_OK) {
        assay_timeline_add(timeline, profile);
        status = close_trace(profiles, timeline, err);
    }
    if (status == ASSAY_OK)
        snprintf(path, size, "%s", name.data);
    assay_text_fini(&folder);
    assay_text_fini(&name);
    return status;
}

static bool asks(const struct assay_group *group)
{
    return strcmp(group->profilers, "profiler") == 0 || strcmp(group->profilers, "both") == 0;
}

/* ---- one by one ---- */

void assay_profiles_add(struct assay_profiles *profiles, const struct assay_group *group,
                        const struct assay_profile *profile, struct assay_profile_files *files)
{
    profiles->n++;
    profiles->n_incomplete += profile->missing[0] != '\0';
    if (profile->missing[0] && !profiles->missing[0])
        snprintf(profiles->missing, sizeof profiles->missing, "%.60s: %.200s", profile->kernel,
                 profile->missing);
    if (profiles->all)
        assay_timeline_add(profiles->all, profile);
    if (asks(group) && profiles->failed.code == ASSAY_OK)
        write_variant(profiles, group, profile, files->trace, sizeof files->trace,
                      &profiles->failed);
}

void assay_profiles_tell(const char *names, const char *what, int64_t n, int64_t n_earlier,
                         int64_t n_incomplete, const char *missing)
{
    fputs("assay: wrote ", stderr);
    assay_put(stderr, names);
    fprintf(stderr, ", the %s of %lld variant%s", what, (long long)n, n == 1 ? "" : "s");
    if (n_earlier > 0)
        fprintf(stderr, "; %lld group%s measured before %s not in it", (long long)n_earlier,
                n_earlier == 1 ? "" : "s", n_earlier == 1 ? "is" : "are");
    fputs("\n", stderr);
    if (!missing[0])
        return;
    fprintf(stderr, "assay: of %lld of them something is missing: ", (long long)n_incomplete);
    assay_put(stderr, missing);
    fputs("\n", stderr);
}

enum assay_status assay_profiles_close(struct assay_profiles *profiles, int64_t n_earlier,
                                       bool quiet, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    struct assay_text name = {0};
    const struct assay_error *failed = &profiles->failed;
    if (profiles->all)
        assay_text_add(&name, assay_timeline_path(profiles->all));
    if (profiles->all)
        status = close_trace(profiles, profiles->all, err);
    if (profiles->all && status == ASSAY_OK && !quiet && name.data)
        assay_profiles_tell(name.data, "profile", profiles->n, n_earlier, profiles->n_incomplete,
                            profiles->missing);
    profiles->all = NULL;
    if (status == ASSAY_OK && failed->code != ASSAY_OK)
        status = assay_error_set(err, failed->code, failed->where, "%s", failed->message);
    assay_text_fini(&name);
    return status;
}

void assay_profiles_cancel(struct assay_profiles *profiles)
{
    assay_timeline_cancel(profiles->all);
    profiles->all = NULL;
}
