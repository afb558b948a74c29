#include "cli/kernel_objects.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/kernel_scripts.h"
#include "runner/strangers.h"

#include <stdio.h>
#include <stdlib.h>

/* How much is told, and of which file: for the functions that only get a text. */
static bool quiet, verbose;
static const char *compiling; /* not told yet */

static void say(const char *text)
{
    if (quiet)
        return;
    assay_put(stderr, text);
    fputs("\n", stderr);
}

/* The command itself only where it is asked for, or fails. */
static void say_command(const char *command)
{
    if (compiling && !quiet)
        fprintf(stderr, "Compiling %s...\n", compiling);
    compiling = NULL;
    if (verbose)
        say(command);
}

static enum assay_status find_repository(const struct assay_kernel_options *o,
                                         struct assay_repository *out, struct assay_error *err)
{
    const char *environment = getenv("ASSAY_HUB");
    const char *hub = o->hub                          ? o->hub
                      : environment && environment[0] ? environment
                                                      : ASSAY_REPOSITORY_HUB;
    struct assay_repository_wanted wanted = {
        .name = o->words.n ? o->words.items[0] : NULL,
        .version = o->version,
        .branch = o->branch,
        .hub = hub,
        .offline = o->offline,
        .say = say,
    };
    if (!wanted.name)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "which repository? a path, or OWNER/NAME@REVISION; `assay kernel "
                               "--help`");
    if (o->words.n > 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "one repository at a time: \"%s\" or \"%s\"?", o->words.items[0],
                               o->words.items[1]);
    return assay_repository_find(&wanted, out, err);
}

/* What cannot run here need not be compiled, unless that is all that is wanted. */
static bool is_for_here(const struct assay_kernel_options *o, const struct assay_source *source)
{
    struct assay_error why = {0};
    char device[32], text[700];
    const char *kind = source->language == ASSAY_LANGUAGE_CUDA ? "cuda" : "cpu";
    bool other_may_run = source->language == ASSAY_LANGUAGE_CXX; /* may use CUDA's library */
    if (o->build || o->list || other_may_run || source->language == ASSAY_LANGUAGE_PYTHON ||
        assay_kernel_device(o, kind, device, sizeof device, &why) == ASSAY_OK)
        return true;
    snprintf(text, sizeof text, "%s: skipped: %s", source->shown, why.message);
    assay_warn(text);
    return false;
}

/* A file that cannot be used is the repository's mistake, unless this machine lacks something. */
static void note_failure(struct assay_kernel_objects *k, const struct assay_error *err)
{
    int code = assay_complain(err) == ASSAY_EXIT_MACHINE ? ASSAY_EXIT_MACHINE : ASSAY_EXIT_USAGE;
    k->worst = code > k->worst ? code : k->worst;
}

bool assay_kernel_sandboxed(const struct assay_kernel_options *options,
                            const struct assay_repository *repository)
{
    return !options->measure.no_sandbox && (options->measure.sandbox || repository->cloned);
}

static enum assay_status compile_one(const struct assay_kernel_options *o,
                                     struct assay_kernel_objects *k, int64_t index,
                                     const struct assay_compile_flags *flags)
{
    struct assay_error err = {0};
    const struct assay_source *source = &k->sources.items[index];
    struct assay_object *object = &k->compiled[index];
    compiling = source->shown;
    enum assay_status status =
        assay_compile(&k->repository, source, flags, say_command, object, &err);
    if (object->output.length && !(object->cached && status == ASSAY_OK))
        assay_put_lines(stderr, object->output.data);
    if (status == ASSAY_ERR_FAILED && object->command.length && !verbose) {
        fputs("The command was: ", stderr);
        assay_put(stderr, object->command.data);
        fputs("\n", stderr);
    }
    if (status == ASSAY_OK && !o->build) /* opening it runs code of its own */
        status =
            assay_contents_read(object->path.data, NULL, assay_kernel_sandboxed(o, &k->repository),
                                &k->contents[index], &err);
    if (status == ASSAY_OK)
        k->objects[k->n_objects++] =
            (struct assay_kernel_object){source->shown, object->path.data, &k->contents[index]};
    else if (status != ASSAY_ERR_INTERRUPTED) {
        snprintf(err.where, sizeof err.where, "%.127s", source->shown);
        note_failure(k, &err);
    }
    return status;
}

static bool is_script(const struct assay_kernel_objects *k, int64_t index)
{
    return k->sources.items[index].language == ASSAY_LANGUAGE_PYTHON;
}

/* A script is its own object. */
static void take_script(const struct assay_kernel_options *o, struct assay_kernel_objects *k,
                        int64_t index)
{
    struct assay_error err = {0};
    const struct assay_source *source = &k->sources.items[index];
    enum assay_status status = k->scripts.status;
    if (status != ASSAY_OK)
        assay_error_set(&err, status, NULL, "%s", k->scripts.reason);
    else if (!o->build)
        status = assay_kernel_script_read(o, k, source->path, &k->contents[index], &err);
    if (status == ASSAY_OK) {
        k->objects[k->n_objects++] =
            (struct assay_kernel_object){source->shown, source->path, &k->contents[index]};
        return;
    }
    snprintf(err.where, sizeof err.where, "%.127s", source->shown);
    note_failure(k, &err);
}

static enum assay_status compile_all(const struct assay_kernel_options *o,
                                     struct assay_kernel_objects *k, struct assay_error *err)
{
    struct assay_compile_flags flags = assay_kernel_file_flags(&k->file);
    size_t n = (size_t)k->sources.n;
    enum assay_status status = ASSAY_OK;
    k->compiled = assay_calloc(n, sizeof *k->compiled);
    k->contents = assay_calloc(n, sizeof *k->contents);
    k->objects = assay_calloc(n, sizeof *k->objects);
    if (!k->compiled || !k->contents || !k->objects)
        status = assay_error_nomem(err);
    if (status == ASSAY_OK)
        status = assay_kernel_scripts_prepare(o, k, err);
    for (int64_t i = 0; i < k->sources.n && status == ASSAY_OK; i++)
        if (is_script(k, i))
            take_script(o, k, i);
        else if (is_for_here(o, &k->sources.items[i]) &&
                 compile_one(o, k, i, &flags) == ASSAY_ERR_INTERRUPTED)
            status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    return status;
}

enum assay_status assay_kernel_objects_make(const struct assay_kernel_options *options,
                                            struct assay_kernel_objects *out,
                                            struct assay_error *err)
{
    quiet = options->measure.quiet;
    verbose = options->measure.verbose;
    enum assay_status status = find_repository(options, &out->repository, err);
    if (status == ASSAY_ERR_IO) /* no network, no disk */
        status = err->code = ASSAY_UNSUPPORTED;
    if (status == ASSAY_OK)
        status = assay_kernel_file_read(out->repository.root.data, &out->file, err);
    if (status == ASSAY_OK)
        status = assay_sources_find(&out->repository, &out->sources, err);
    if (status == ASSAY_OK && out->sources.other[0] && !quiet)
        fprintf(stderr, "assay: benchmarks/%s is passed over: assay runs Python, C, C++ and CUDA\n",
                out->sources.other);
    if (status == ASSAY_OK)
        status = compile_all(options, out, err);
    return status;
}

void assay_kernel_objects_fini(struct assay_kernel_objects *k)
{
    for (int64_t i = 0; k->compiled && i < k->sources.n; i++)
        assay_object_fini(&k->compiled[i]);
    assay_free(k->compiled);
    assay_free(k->contents);
    assay_free(k->objects);
    assay_sources_fini(&k->sources);
    assay_kernel_file_fini(&k->file);
    assay_repository_fini(&k->repository);
}
