#include "repo/compile.h"

#include "repo/compiler.h"
#include "repo/headers.h"
#include "repo/inside.h"
#include "repo/messages.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One shared object on its way. */
struct job {
    const struct assay_repository *repository;
    const struct assay_compile_flags *flags;
    void (*say)(const char *text);
    struct assay_text headers;      /* the folder of assay's own */
    struct assay_text first;        /* the empty one among them */
    struct assay_arguments objects; /* compiled so far */
    enum assay_language linker;     /* the highest language among them */
    struct assay_object *out;
};

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a command line");
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void add_words(struct assay_arguments *out, const char *words)
{
    assay_arguments_split(out, words);
}

/* Do the user's flags name a GPU? */
static bool names_gpu(const char *const *flags)
{
    static const char *const names[] = {
        "-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"};
    for (; flags && *flags; flags++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(*flags, names[i], strlen(names[i])) == 0)
                return true;
    return false;
}

static void add_usual(const struct job *job, enum assay_language language,
                      struct assay_arguments *out)
{
    const char *const *cuda = job->flags->cuda;
    switch (language) {
    case ASSAY_LANGUAGE_C:
        add_words(out, "-std=gnu17 -O3 -march=native -fPIC -fopenmp");
        break;
    case ASSAY_LANGUAGE_CXX:
        add_words(out, "-std=c++17 -O3 -march=native -fPIC -fopenmp");
        break;
    case ASSAY_LANGUAGE_CUDA:
        add_words(out, "-std=c++17 -O3 -Xcompiler -fPIC,-fopenmp");
        if (names_gpu(cuda))
            break;
        add_words(out, assay_compiler_sees_gpu()
                           ? "-arch=native"
                           : "-gencode arch=compute_80,code=sm_80 "
                             "-gencode arch=compute_90,code=[sm_90,compute_90]");
        break;
    case ASSAY_LANGUAGE_PYTHON:
        break;
    }
}

static const char *const *flags_of(const struct job *job, enum assay_language language)
{
    return language == ASSAY_LANGUAGE_C     ? job->flags->c
           : language == ASSAY_LANGUAGE_CXX ? job->flags->cxx
                                            : job->flags->cuda;
}

static void add_includes(const struct job *job, struct assay_arguments *out)
{
    const char *root = job->repository->root.data;
    for (const char *const *at = job->flags->include; at && *at; at++)
        if ((*at)[0] == '/')
            assay_arguments_format(out, "-I%s", *at);
        else
            assay_arguments_format(out, "-I%s/%s", root, *at);
    assay_arguments_format(out, "-I%s", root);
    assay_arguments_format(out, "-I%s", job->headers.data);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

/* The symbol that the linker misses, as GNU's, LLVM's and nvcc's say it. */
static bool missing_symbol(const char *output, char *out, size_t size)
{
    static const char *const words[] = {"undefined reference to `", "undefined reference to '",
                                        "undefined symbol: "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = output ? strstr(output, words[i]) : NULL;
        if (!at)
            continue;
        at += strlen(words[i]);
        snprintf(out, size, "%.*s", (int)strcspn(at, "'\n"), at);
        return true;
    }
    return false;
}

/* Takes over what the command said. */
static enum assay_status command_failed(const struct job *job, struct assay_made *made,
                                        const char *file, struct assay_error *err)
{
    char symbol[128];
    job->out->command = made->command;
    made->command = (struct assay_text){0};
    if (made->end.timed_out)
        return assay_error_set(err, ASSAY_ERR_FAILED, file, "the compiler took too long");
    if (made->end.signal)
        return assay_error_set(err, ASSAY_ERR_FAILED, file,
                               "the compiler was ended by signal %d (%s)", made->end.signal,
                               strsignal(made->end.signal));
    if (missing_symbol(job->out->output.data, symbol, sizeof symbol))
        return assay_error_set(err, ASSAY_ERR_FAILED, file,
                               "no file defines %s; name the one that does under \"sources\" in "
                               "assay.yml, or its library under \"ldflags\"",
                               symbol);
    return assay_error_set(err, ASSAY_ERR_FAILED, file,
                           "cannot be compiled: the compiler ended with exit code %d",
                           made->end.exit_code);
}

/* ---- commands -------------------------------------------------------------------------------- */

static enum assay_status inspect(const void *user, const struct assay_arguments *files,
                                 struct assay_text *output, struct assay_error *err)
{
    return assay_messages_check(user, files, output, err);
}

/* The linker's files are objects that were made here, and libraries that were looked at. */
static enum assay_status inspect_linking(const void *user, const struct assay_arguments *files,
                                         struct assay_text *output, struct assay_error *err)
{
    static const struct assay_arguments none = {0};
    (void)files;
    return assay_messages_check(user, &none, output, err);
}

/* The compiler says which headers it reads, also where it fails. A file included before all others
 * keeps gcc from taking X.h.gch for X.h: it maps such a file into its memory as it is. nvcc
 * includes one of its own. */
static void add_watch(const struct job *job, enum assay_language language,
                      struct assay_arguments *out)
{
    if (language == ASSAY_LANGUAGE_CUDA) {
        add_words(out, "-Xcompiler -H");
        return;
    }
    add_words(out, "-H -include");
    assay_arguments_add(out, job->first.data);
}

/* nvcc hands paths to a shell. */
static enum assay_status check_paths(const struct job *job, enum assay_language language,
                                     const char *path, const char *shown, struct assay_error *err)
{
    bool good = assay_compile_flags_shell_safe(path) &&
                assay_compile_flags_shell_safe(job->repository->root.data);
    for (const char *const *at = job->flags->include; at && *at; at++)
        good = good && assay_compile_flags_shell_safe(*at);
    if (language != ASSAY_LANGUAGE_CUDA || good)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, shown,
                           "nvcc hands paths to a shell, to which some characters of this one, of "
                           "its folder or of \"include\" mean something; rename it");
}

/* Runs it, or finds what it would make; the result's path joins the objects. */
static enum assay_status make(struct job *job, const struct assay_making *making, const char *file,
                              struct assay_arguments *result, struct assay_error *err)
{
    struct assay_made made;
    enum assay_status status = assay_object_cache_make(making, &made, err);
    if (made.output.length)
        assay_text_append(&job->out->output, made.output.data, made.output.length);
    job->out->cached = job->out->cached && !made.ran;
    if (status == ASSAY_ERR_FAILED)
        status = command_failed(job, &made, file, err);
    if (status == ASSAY_OK)
        assay_arguments_add(result, made.path.data);
    assay_made_fini(&made);
    return status;
}

static enum assay_status compile_file(struct job *job, const struct assay_source *source,
                                      struct assay_error *err)
{
    enum assay_language language = assay_compiler_language(source);
    struct assay_arguments command = {0}, inputs = {0}, compiler = {0};
    const struct assay_territory territory = {job->repository->root.data, job->headers.data,
                                              &compiler};
    struct assay_making making = {.command = &command,
                                  .folder = job->repository->root.data,
                                  .inputs = &inputs,
                                  .lists_inputs = true,
                                  .ending = ".o",
                                  .say = job->say,
                                  .inspect = inspect,
                                  .user = &territory};
    enum assay_status status = check_paths(job, language, source->path, source->shown, err);
    if (status == ASSAY_OK)
        status = assay_compiler_find(language, source->shown, &compiler, err);
    if (status != ASSAY_OK)
        goto cleanup;
    assay_arguments_add_all(&command, (const char *const *)compiler.items);
    add_usual(job, language, &command);
    add_watch(job, language, &command);
    if (source->run_time_cuda)
        assay_arguments_add(&command, "-DASSAY_BENCHMARK_DEVICE=\"cuda\"");
    add_includes(job, &command);
    assay_arguments_add_all(&command, flags_of(job, language));
    add_words(&command, source->run_time_cuda ? "-c -x c" : "-c");
    assay_arguments_add(&command, source->path); /* absolute, for __FILE__ */
    assay_arguments_add(&inputs, source->path);
    if (!command.failed) {
        assay_compiler_key(language, command.items[0], &making.key);
        assay_sha256_add_text(&making.key, source->sha256);
    }
    if (language > job->linker)
        job->linker = language;
    command.failed = command.failed || compiler.failed;
    status = make(job, &making, source->shown, &job->objects, err);
cleanup:
    assay_arguments_fini(&command);
    assay_arguments_fini(&compiler);
    assay_arguments_fini(&inputs);
    return status;
}

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* Flags that name files, such as a library in the repository, are read by the linker. */
static void add_named_files(const struct job *job, struct assay_arguments *out)
{
    for (const char *const *at = job->flags->link; at && *at; at++) {
        struct assay_text path = {0};
        if ((*at)[0] != '/')
            assay_text_format(&path, "%s/", job->repository->root.data);
        assay_text_add(&path, *at);
        if (!path.failed && (*at)[0] != '-' && is_file(path.data))
            assay_arguments_add(out, path.data);
        assay_text_fini(&path);
    }
}

/* The compiler of the highest language links: it knows the libraries of all below. */
static enum assay_status link_objects(struct job *job, const struct assay_source *source,
                                      struct assay_error *err)
{
    struct assay_arguments command = {0}, inputs = {0}, result = {0}, compiler = {0};
    const struct assay_territory territory = {job->repository->root.data, job->headers.data,
                                              &compiler};
    bool cuda = job->linker == ASSAY_LANGUAGE_CUDA;
    struct assay_making making = {.command = &command,
                                  .folder = job->repository->root.data,
                                  .inputs = &inputs,
                                  .ending = ".so",
                                  .say = job->say,
                                  .inspect = inspect_linking,
                                  .user = &territory};
    enum assay_status status = assay_compiler_find(job->linker, source->shown, &compiler, err);
    if (status != ASSAY_OK)
        goto cleanup;
    assay_arguments_add_all(&command, (const char *const *)compiler.items);
    add_usual(job, job->linker, &command);
    assay_arguments_add_all(&command, flags_of(job, job->linker));
    add_words(&command, cuda ? "-shared -Xlinker --no-undefined" : "-shared -Wl,--no-undefined");
    assay_arguments_add_all(&command, (const char *const *)job->objects.items);
    assay_arguments_add_all(&command, job->flags->link);
    assay_arguments_add(&command, "-lm");
    assay_arguments_add_all(&inputs, (const char *const *)job->objects.items);
    add_named_files(job, &inputs);
    command.failed = command.failed || compiler.failed;
    if (!command.failed)
        assay_compiler_key(job->linker, command.items[0], &making.key);
    status = make(job, &making, source->shown, &result, err);
    if (status == ASSAY_OK && result.failed)
        status = no_memory(err);
    if (status == ASSAY_OK)
        assay_text_add(&job->out->path, result.items[0]);
cleanup:
    assay_arguments_fini(&command);
    assay_arguments_fini(&compiler);
    assay_arguments_fini(&inputs);
    assay_arguments_fini(&result);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

static enum assay_status compile_more(struct job *job, const struct assay_source *first,
                                      struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (const char *const *at = job->flags->sources; at && *at && status == ASSAY_OK; at++) {
        struct assay_source source = {0};
        struct assay_error why = {0};
        status = assay_source_at(job->repository->root.data, *at, &source, &why);
        if (status != ASSAY_OK)
            assay_error_set(err, status, why.where, "%s (\"sources\" in assay.yml names it)",
                            why.message);
        else if (strcmp(source.path, first->path) != 0)
            status = compile_file(job, &source, err);
        assay_source_fini(&source);
    }
    return status;
}

enum assay_status assay_compile(const struct assay_repository *repository,
                                const struct assay_source *source,
                                const struct assay_compile_flags *flags,
                                void (*say)(const char *text), struct assay_object *out,
                                struct assay_error *err)
{
    struct job job = {.repository = repository, .flags = flags, .say = say, .out = out};
    *out = (struct assay_object){.cached = true};
    enum assay_status status = assay_compile_flags_check(flags, repository->root.data, err);
    if (status == ASSAY_OK)
        status = assay_inside_check(repository->root.data, source->path, source->shown, err);
    if (status == ASSAY_OK)
        status = assay_headers_folder(&job.headers, err);
    if (status == ASSAY_OK)
        status = assay_headers_first(job.headers.data, &job.first, err);
    if (status == ASSAY_OK)
        status = compile_file(&job, source, err);
    if (status == ASSAY_OK)
        status = compile_more(&job, source, err);
    if (status == ASSAY_OK && job.objects.failed)
        status = no_memory(err);
    if (status == ASSAY_OK)
        status = link_objects(&job, source, err);
    if (status == ASSAY_OK && (out->path.failed || out->output.failed))
        status = no_memory(err);
    out->cached = out->cached && status == ASSAY_OK;
    assay_text_fini(&job.headers);
    assay_text_fini(&job.first);
    assay_arguments_fini(&job.objects);
    return status;
}

void assay_object_fini(struct assay_object *object)
{
    assay_text_fini(&object->path);
    assay_text_fini(&object->output);
    assay_text_fini(&object->command);
    *object = (struct assay_object){0};
}
