#include "cli/memory_profiles.h"

#include "base/folder.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "trace/memory_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "assay 1.0, run 20261115-034711-a1b2: assay bench gelu": for the files' own heads. */
static void describe(const struct assay_run_info *run, char *out, size_t size)
{
    snprintf(out, size, "assay %s, run %s on %.60s: %.300s", run->version, run->id,
             run->device_name, run->command);
}

/* "cuda:1" is 1. */
static int32_t index_of(const char *device)
{
    const char *colon = strchr(device, ':');
    long index = colon ? strtol(colon + 1, NULL, 10) : 0;
    return index > 0 && index < 64 ? (int32_t)index : 0;
}

static enum assay_status open_file(const struct assay_run_info *run, const char *device,
                                   const char *path, assay_memory_file **out,
                                   struct assay_error *err)
{
    char about[512];
    describe(run, about, sizeof about);
    return assay_memory_file_open(path, assay_memory_form_of(path), about, index_of(device), out,
                                  err);
}

/* "memory_20261115-034711-a1b2.html"; a resumed run leaves those of its first part alone. */
static void name_after_run(const struct assay_run_info *run, const char *ending,
                           struct assay_text *out)
{
    assay_text_format(out, "memory_%s.%s", run->id, ending);
    for (int i = 2; out->data && access(out->data, F_OK) == 0 && i < 1000; i++) {
        assay_text_clear(out);
        assay_text_format(out, "memory_%s_%d.%s", run->id, i, ending);
    }
}

static enum assay_status open_named(struct assay_memory_profiles *profiles, const char *ending,
                                    assay_memory_file **out, struct assay_error *err)
{
    struct assay_text name = {0};
    name_after_run(profiles->run, ending, &name);
    enum assay_status status =
        name.failed ? assay_error_nomem(err)
                    : open_file(profiles->run, profiles->run->device, name.data, out, err);
    assay_text_fini(&name);
    return status;
}

enum assay_status assay_memory_profiles_open(struct assay_memory_profiles *profiles,
                                             const struct assay_measure_config *config,
                                             const struct assay_run_info *run,
                                             struct assay_error *err)
{
    const char *path = config->profile_memory;
    *profiles = (struct assay_memory_profiles){.run = run};
    if (!path)
        return ASSAY_OK;
    if (path[0]) {
        bool snapshot = assay_memory_form_of(path) == ASSAY_MEMORY_SNAPSHOT;
        return open_file(run, run->device, path, snapshot ? &profiles->snapshot : &profiles->page,
                         err);
    }
    enum assay_status status = open_named(profiles, "html", &profiles->page, err);
    if (status == ASSAY_OK)
        status = open_named(profiles, "pickle", &profiles->snapshot, err);
    if (status != ASSAY_OK)
        assay_memory_profiles_cancel(profiles);
    return status;
}

/* ---- enable_memory_profiler ---- */

/* A file of one profile: "results/inference/memory_profiler/pickle/…_memory_profile.pickle", and
 * the same with html. */
static enum assay_status write_one(const struct assay_memory_profiles *profiles,
                                   const struct assay_group *group,
                                   const struct assay_memory_profile *profile, const char *ending,
                                   char *path, size_t size, struct assay_error *err)
{
    struct assay_text folder = {0}, name = {0};
    assay_memory_file *file = NULL;
    const char *dir = profiles->run->output_dir;
    assay_text_format(&folder, "%s/memory_profiler/%s", dir[0] ? dir : ".", ending);
    assay_text_format(&name, "%s/", folder.data ? folder.data : "");
    assay_profiles_name(group, profile->recipe, profile->implementation, profile->group, &name);
    assay_text_format(&name, "_memory_profile.%s", ending);
    enum assay_status status = folder.failed || name.failed ? assay_error_nomem(err) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = assay_folder_make_open(folder.data, err);
    if (status == ASSAY_OK)
        status = open_file(profiles->run, profile->device, name.data, &file, err);
    if (status == ASSAY_OK) {
        assay_memory_file_add(file, profile);
        status = assay_memory_file_close(file, err);
    }
    if (status == ASSAY_OK)
        snprintf(path, size, "%s", name.data);
    assay_text_fini(&folder);
    assay_text_fini(&name);
    return status;
}

static void write_variant(struct assay_memory_profiles *profiles, const struct assay_group *group,
                          const struct assay_memory_profile *profile,
                          struct assay_profile_files *files)
{
    struct assay_error *err = &profiles->failed;
    enum assay_status status =
        write_one(profiles, group, profile, "pickle", files->snapshot, sizeof files->snapshot, err);
    if (status == ASSAY_OK)
        write_one(profiles, group, profile, "html", files->memory_page, sizeof files->memory_page,
                  err);
}

static bool asks(const struct assay_group *group)
{
    return strcmp(group->profilers, "memory") == 0 || strcmp(group->profilers, "both") == 0;
}

static void put_stats(const struct assay_memory_profile *profile, struct assay_profile_files *files)
{
    struct assay_memory_items items;
    struct assay_text text = {0};
    if (assay_memory_items_make(profile, &items) != ASSAY_OK)
        return;
    assay_memory_stats(profile, &items, &text);
    if (text.data && !text.failed && text.length < sizeof files->memory_stats)
        snprintf(files->memory_stats, sizeof files->memory_stats, "%s", text.data);
    assay_text_fini(&text);
    assay_memory_items_fini(&items);
}

/* ---- one by one ---- */

void assay_memory_profiles_add(struct assay_memory_profiles *profiles,
                               const struct assay_group *group,
                               const struct assay_memory_profile *profile,
                               struct assay_profile_files *files)
{
    profiles->n++;
    profiles->n_incomplete += profile->missing[0] != '\0';
    if (profile->missing[0] && !profiles->missing[0])
        snprintf(profiles->missing, sizeof profiles->missing, "%s: %s", profile->kernel,
                 profile->missing);
    if (profiles->page)
        assay_memory_file_add(profiles->page, profile);
    if (profiles->snapshot)
        assay_memory_file_add(profiles->snapshot, profile);
    put_stats(profile, files);
    if (asks(group) && profiles->failed.code == ASSAY_OK)
        write_variant(profiles, group, profile, files);
}

/* Both, also where the first fails. */
static enum assay_status close_files(struct assay_memory_profiles *profiles,
                                     struct assay_text *names, struct assay_error *err)
{
    assay_memory_file *files[] = {profiles->page, profiles->snapshot};
    enum assay_status status = ASSAY_OK;
    profiles->page = profiles->snapshot = NULL;
    for (int i = 0; i < 2; i++) {
        struct assay_error why = {0};
        if (!files[i])
            continue;
        if (names->length > 0)
            assay_text_add(names, " and ");
        assay_text_add(names, assay_memory_file_path(files[i]));
        enum assay_status closed = assay_memory_file_close(files[i], &why);
        if (closed != ASSAY_OK && status == ASSAY_OK)
            status =
                assay_error_set(err, closed, why.where[0] ? why.where : NULL, "%s", why.message);
    }
    return status;
}

enum assay_status assay_memory_profiles_close(struct assay_memory_profiles *profiles,
                                              int64_t n_earlier, bool quiet,
                                              struct assay_error *err)
{
    struct assay_text names = {0};
    const struct assay_error *failed = &profiles->failed;
    enum assay_status status = close_files(profiles, &names, err);
    if (names.length > 0 && status == ASSAY_OK && !quiet)
        assay_profiles_tell(names.data, "memory", profiles->n, n_earlier, profiles->n_incomplete,
                            profiles->missing);
    if (status == ASSAY_OK && failed->code != ASSAY_OK)
        status = assay_error_set(err, failed->code, failed->where[0] ? failed->where : NULL, "%s",
                                 failed->message);
    assay_text_fini(&names);
    return status;
}

void assay_memory_profiles_cancel(struct assay_memory_profiles *profiles)
{
    assay_memory_file_cancel(profiles->page);
    assay_memory_file_cancel(profiles->snapshot);
    profiles->page = profiles->snapshot = NULL;
}
