#include "repo/sources.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "repo/inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENDINGS ".c, .cc, .cpp, .cxx or .cu"
#define BENCHMARK_ENDINGS ".py, " ENDINGS

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a list of files");
}

/* ---- one file -------------------------------------------------------------------------------- */

/* By the ending of the name. */
static bool language_of(const char *name, enum assay_language *out)
{
    static const struct {
        const char *ending;
        enum assay_language language;
    } known[] = {
        {".c", ASSAY_LANGUAGE_C},     {".cc", ASSAY_LANGUAGE_CXX},  {".cpp", ASSAY_LANGUAGE_CXX},
        {".cxx", ASSAY_LANGUAGE_CXX}, {".cu", ASSAY_LANGUAGE_CUDA}, {".py", ASSAY_LANGUAGE_PYTHON},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && dot != name && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(dot, known[i].ending) == 0) {
            *out = known[i].language;
            return true;
        }
    return false;
}

void assay_source_fini(struct assay_source *source)
{
    assay_free(source->path);
    assay_free(source->shown);
    *source = (struct assay_source){0};
}

static bool has_word(const struct assay_text *text, const char *word)
{
    return text->length && memmem(text->data, text->length, word, strlen(word));
}

/* A file of which path and `shown` (from the root, as it is) are known. Its contents are left in
 * `text`. */
static enum assay_status read_source(const char *root, const char *path, const char *shown,
                                     struct assay_source *out, struct assay_text *text,
                                     struct assay_error *err)
{
    struct assay_text escaped = {0};
    assay_text_add_shown(&escaped, shown);
    out->path = assay_strdup(path);
    out->shown = escaped.data ? assay_strdup(escaped.data) : NULL;
    assay_text_fini(&escaped);
    if (!out->path || !out->shown)
        return no_memory(err);
    if (!language_of(path, &out->language))
        return assay_error_set(
            err, ASSAY_ERR_INVALID, out->shown,
            "assay does not compile this file: source files end in " BENCHMARK_ENDINGS);
    struct assay_error why = {0};
    enum assay_status status = assay_inside_check(root, path, out->shown, &why);
    if (status == ASSAY_OK)
        status = assay_folder_read_file(path, ASSAY_SOURCE_BYTES, text, &why);
    if (status != ASSAY_OK)
        return assay_error_set(err, status, out->shown, "%s", why.message);
    out->run_time_cuda = out->language == ASSAY_LANGUAGE_CUDA && has_word(text, "__CUDACC_RTC__");
    struct assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text->length ? text->data : "", text->length);
    assay_sha256_hex(&hash, out->sha256);
    return ASSAY_OK;
}

enum assay_status assay_source_at(const char *root, const char *path, struct assay_source *out,
                                  struct assay_error *err)
{
    struct assay_text whole = {0}, text = {0};
    if (path[0] != '/')
        assay_text_format(&whole, "%s/", root);
    assay_text_add(&whole, path);
    enum assay_status status =
        whole.failed ? no_memory(err) : read_source(root, whole.data, path, out, &text, err);
    assay_text_fini(&whole);
    assay_text_fini(&text);
    return status;
}

/* ---- a folder -------------------------------------------------------------------------------- */

/* Sources found so far. */
struct finding {
    const char *root;
    struct assay_sources *out;
    char other[64]; /* a benchmark in a language that is not ours */
};

/* Does it say that it defines something to measure? */
static bool defines_something(const struct assay_text *text)
{
    return has_word(text, "ASSAY_KERNELS") || has_word(text, "ASSAY_BENCHMARK") ||
           has_word(text, "assay_plugin");
}

static enum assay_status add_source(struct finding *f, const char *path, const char *shown,
                                    bool only_defining, struct assay_error *err)
{
    struct assay_sources *out = f->out;
    struct assay_source source = {0};
    struct assay_text text = {0};
    enum assay_status status = read_source(f->root, path, shown, &source, &text, err);
    if (status == ASSAY_OK && only_defining && !defines_something(&text))
        goto cleanup;
    if (status == ASSAY_OK && out->n == ASSAY_SOURCES_MOST)
        status = assay_error_set(err, ASSAY_ERR_INVALID, source.shown,
                                 "there are more than %d files to compile; name one of them",
                                 ASSAY_SOURCES_MOST);
    if (status == ASSAY_OK) {
        out->items[out->n++] = source;
        source = (struct assay_source){0};
    }
cleanup:
    assay_source_fini(&source);
    assay_text_fini(&text);
    return status;
}

/* A benchmark for another program deserves a message. */
static void note_other(struct finding *f, const char *name)
{
    struct assay_text shown = {0};
    assay_text_add_shown(&shown, name);
    if (shown.data && !f->other[0])
        snprintf(f->other, sizeof f->other, "%s", shown.data);
    assay_text_fini(&shown);
}

static enum assay_status look_at(struct finding *f, const char *part, const char *name,
                                 const char *beginning, struct assay_error *err)
{
    enum assay_language language;
    struct assay_text path = {0}, shown = {0};
    struct stat found;
    enum assay_status status = ASSAY_OK;
    if (strncmp(name, beginning, strlen(beginning)) != 0)
        return ASSAY_OK;
    if (!language_of(name, &language)) {
        if (beginning[0] && strrchr(name, '.'))
            note_other(f, name);
        return ASSAY_OK;
    }
    if (language == ASSAY_LANGUAGE_PYTHON && !beginning[0])
        return ASSAY_OK; /* kernels of known ops in Python are plug-ins */
    assay_text_format(&shown, "%s%s%s", part, part[0] ? "/" : "", name);
    assay_text_format(&path, "%s/%s", f->root, shown.data ? shown.data : "");
    if (shown.failed || path.failed)
        status = no_memory(err);
    else if (stat(path.data, &found) != 0 || !S_ISDIR(found.st_mode)) /* a folder may be "x.c" */
        status = add_source(f, path.data, shown.data, !beginning[0], err);
    assay_text_fini(&path);
    assay_text_fini(&shown);
    return status;
}

/* All of ROOT/PART whose names begin so. *there tells whether there is such a folder. */
static enum assay_status look_through(struct finding *f, const char *part, const char *beginning,
                                      bool *there, struct assay_error *err)
{
    struct assay_text path = {0};
    int64_t entries = 0;
    assay_text_format(&path, "%s%s%s", f->root, part[0] ? "/" : "", part);
    if (path.failed)
        return no_memory(err);
    enum assay_status status = assay_inside_check(f->root, path.data, part, err);
    DIR *folder = status == ASSAY_OK ? opendir(path.data) : NULL;
    *there = folder || errno != ENOENT;
    if (!folder && *there && status == ASSAY_OK)
        status =
            assay_error_set(err, ASSAY_ERR_IO, path.data, "cannot be read: %s", strerror(errno));
    for (const struct dirent *entry; folder && status == ASSAY_OK && (entry = readdir(folder));) {
        if (++entries > ASSAY_SOURCES_ENTRIES)
            status = assay_error_set(err, ASSAY_ERR_INVALID, path.data,
                                     "this folder has more than %d entries; name one file",
                                     ASSAY_SOURCES_ENTRIES);
        else if (entry->d_name[0] != '.')
            status = look_at(f, part, entry->d_name, beginning, err);
    }
    if (folder)
        closedir(folder);
    assay_text_fini(&path);
    return status;
}

/* ---- a repository ---------------------------------------------------------------------------- */

static enum assay_status no_benchmark(const struct finding *f, const struct assay_repository *r,
                                      struct assay_error *err)
{
    if (f->other[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, r->name,
                               "benchmarks/ has no file benchmark* that ends in " BENCHMARK_ENDINGS
                               "; it has %s, which assay does not run",
                               f->other);
    return assay_error_set(err, ASSAY_ERR_INVALID, r->name,
                           "benchmarks/ has no file benchmark* that ends in " BENCHMARK_ENDINGS);
}

static enum assay_status no_source(const struct assay_repository *r, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, r->name,
                           "there is no folder benchmarks/ with files benchmark*, nor a file in "
                           "kernels/ or at the root that ends in " ENDINGS
                           " and mentions ASSAY_KERNELS, ASSAY_BENCHMARK or assay_plugin");
}

static enum assay_status find_files(struct finding *f, const struct assay_repository *r,
                                    struct assay_error *err)
{
    bool there = false;
    enum assay_status status = look_through(f, "benchmarks", "benchmark", &there, err);
    if (status != ASSAY_OK)
        return status;
    snprintf(f->out->other, sizeof f->out->other, "%s", f->other);
    if (there)
        return f->out->n ? ASSAY_OK : no_benchmark(f, r, err);
    status = look_through(f, "kernels", "", &there, err);
    if (status == ASSAY_OK)
        status = look_through(f, "", "", &there, err);
    if (status == ASSAY_OK && f->out->n == 0)
        status = no_source(r, err);
    return status;
}

/* The named file, from the root where it lies below it. */
static enum assay_status find_one(struct finding *f, const struct assay_repository *r,
                                  struct assay_error *err)
{
    const char *path = r->file.data;
    size_t length = r->root.length;
    bool below = strncmp(path, r->root.data, length) == 0 && path[length] == '/';
    return add_source(f, path, below ? path + length + 1 : path, false, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct assay_source *)a)->shown, ((const struct assay_source *)b)->shown);
}

static void sort_and_hash(struct assay_sources *sources)
{
    struct assay_sha256 all;
    assay_sha256_init(&all);
    qsort(sources->items, (size_t)sources->n, sizeof *sources->items, by_name);
    for (int64_t i = 0; i < sources->n; i++) {
        const struct assay_source *s = &sources->items[i];
        assay_sha256_add(&all, s->sha256, strlen(s->sha256));
        assay_sha256_add(&all, "  ", 2);
        assay_sha256_add(&all, s->shown, strlen(s->shown));
        assay_sha256_add(&all, "\n", 1);
    }
    assay_sha256_hex(&all, sources->sha256);
}

enum assay_status assay_sources_find(const struct assay_repository *repository,
                                     struct assay_sources *out, struct assay_error *err)
{
    struct finding f = {.root = repository->root.data, .out = out};
    *out = (struct assay_sources){0};
    out->items = assay_calloc(ASSAY_SOURCES_MOST, sizeof *out->items);
    if (!out->items)
        return no_memory(err);
    enum assay_status status =
        repository->file.length ? find_one(&f, repository, err) : find_files(&f, repository, err);
    if (status == ASSAY_OK)
        sort_and_hash(out);
    return status;
}

void assay_sources_fini(struct assay_sources *sources)
{
    for (int64_t i = 0; i < sources->n; i++)
        assay_source_fini(&sources->items[i]);
    assay_free(sources->items);
    *sources = (struct assay_sources){0};
}
