#include "runner/python.h"

#include "base/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What goes wrong before the line is served is told by the last words (message.h), of which 160
 * bytes are heard. */
const char assay_python_program[] =
    "import os, sys\n"
    "def end(words):\n"
    "    os.pwrite(4, words.encode()[:158], 0)\n"
    "    sys.stderr.write(words + '\\n')\n"
    "    os._exit(1)\n"
    "if sys.version_info < (3, 11):\n"
    "    end('%s is Python %d.%d; assay needs 3.11 or later' % "
    "((sys.executable,) + sys.version_info[:2]))\n"
    "sys.path[0] = sys.argv[1]\n"
    "try:\n"
    "    from assay import _runner\n"
    "except BaseException as e:\n"
    "    end('%s cannot load assay: %s: %s' % (sys.executable, type(e).__name__, e))\n"
    "_runner.main()\n";

const char *const assay_python_implementations[] = {"torch", "torch-compile", "triton", NULL};

static bool ends_in(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

bool assay_python_is(const char *object)
{
    return strncmp(object, ASSAY_PYTHON_PREFIX, strlen(ASSAY_PYTHON_PREFIX)) == 0 ||
           ends_in(object, ".py");
}

const char *assay_python_object_of(const char *name)
{
    static const struct {
        const char *word, *object; /* implementations begin with it, kernels have it behind an op */
    } objects[] = {{"torch", ASSAY_PYTHON_PREFIX "torch"},
                   {"triton", ASSAY_PYTHON_PREFIX "triton"}};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        const char *word = objects[i].word, *at = strstr(name, word);
        size_t length = strlen(word);
        bool begins = at == name || (at && at[-1] == '_');
        if (begins && (!at[length] || at[length] == '-' || at[length] == '_'))
            return objects[i].object;
    }
    return NULL;
}

/* ---- the interpreter ---- */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Appends the first program of that name in PATH. */
static bool in_path(const char *name, struct assay_text *out)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at; at += strspn(at, ":")) {
        struct assay_text one = {0};
        size_t length = strcspn(at, ":");
        assay_text_format(&one, "%.*s/%s", (int)length, at, name);
        bool found = length > 0 && !one.failed && is_program(one.data);
        if (found)
            assay_text_add(out, one.data);
        assay_text_fini(&one);
        if (found)
            return true;
        at += length;
    }
    return false;
}

static enum assay_status find_named(const char *name, const char *source, struct assay_text *out,
                                    struct assay_error *err)
{
    bool is_path = strchr(name, '/') != NULL;
    if (is_path ? is_program(name) : in_path(name, out)) {
        if (is_path)
            assay_text_add(out, name);
        return ASSAY_OK;
    }
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "%s%s%s is not a program that can be run",
                           source, source[0] ? " " : "", name);
}

enum assay_status assay_python_find(const char *wanted, struct assay_text *out,
                                    struct assay_error *err)
{
    const char *variable = getenv("ASSAY_PYTHON"), *environment = getenv("VIRTUAL_ENV");
    enum assay_status status = ASSAY_UNSUPPORTED;
    if (wanted && wanted[0]) {
        status = find_named(wanted, "--python", out, err);
    } else if (variable && variable[0]) {
        status = find_named(variable, "$ASSAY_PYTHON", out, err);
    } else if (environment && environment[0]) {
        struct assay_text path = {0};
        assay_text_format(&path, "%s/bin/python3", environment);
        status = path.failed ? assay_error_nomem(err)
                             : find_named(path.data, "$VIRTUAL_ENV's", out, err);
        assay_text_fini(&path);
    } else if (in_path("python3", out)) {
        status = ASSAY_OK;
    } else {
        assay_error_set(err, status, NULL,
                        "there is no python3 in PATH; install Python 3.11 or later, or name one "
                        "with --python");
    }
    return status == ASSAY_OK && out->failed ? assay_error_nomem(err) : status;
}

/* ---- the package ---- */

static enum assay_status write_part(const char *folder, const struct assay_python_part *part,
                                    struct assay_error *err)
{
    struct assay_text path = {0};
    assay_text_format(&path, "%s/%s", folder, part->name);
    if (path.failed) {
        assay_text_fini(&path);
        return assay_error_nomem(err);
    }
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    enum assay_status status = assay_folder_make(path.data, err);
    *slash = '/';
    if (status == ASSAY_OK)
        status = assay_folder_write_quickly(path.data, part->bytes,
                                            (size_t)(part->end - part->bytes), err);
    assay_text_fini(&path);
    return status;
}

/* Beside its place, and then there as a whole: another assay may be doing the same. */
static enum assay_status write_package(const char *folder, struct assay_error *err)
{
    struct assay_text beside = {0};
    assay_folder_name_beside(folder, &beside);
    enum assay_status status = beside.failed ? assay_error_nomem(err) : ASSAY_OK;
    for (int i = 0; i < assay_python_parts.n && status == ASSAY_OK; i++)
        status = write_part(beside.data, &assay_python_parts.all[i], err);
    if (status == ASSAY_OK && rename(beside.data, folder) != 0 && access(folder, F_OK) != 0)
        status = assay_error_set(err, ASSAY_ERR_IO, folder, "cannot be made");
    if (beside.data)
        assay_folder_remove(beside.data);
    assay_text_fini(&beside);
    return status;
}

/* ---- is it still what was written? ---- */

static bool is_part(const char *folder, const struct assay_python_part *part)
{
    struct assay_text path = {0}, bytes = {0};
    size_t length = (size_t)(part->end - part->bytes);
    assay_text_format(&path, "%s/%s", folder, part->name);
    bool same = !path.failed &&
                assay_folder_read_file(path.data, length, &bytes, NULL) == ASSAY_OK &&
                bytes.length == length && memcmp(bytes.data, part->bytes, length) == 0;
    assay_text_fini(&path);
    assay_text_fini(&bytes);
    return same;
}

/* A part, or a folder of one. */
static bool is_ours(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < assay_python_parts.n; i++) {
        const char *part = assay_python_parts.all[i].name;
        if (strncmp(part, name, length) == 0 && (part[length] == '\0' || part[length] == '/'))
            return true;
    }
    return false;
}

/* Nothing lies there but ours: an interpreter imports whatever it finds, compiled files before
 * others. `below` is "" or "assay/". */
static bool holds_only_ours(const char *folder, const char *below)
{
    struct assay_text path = {0}, name = {0};
    assay_text_format(&path, "%s/%s", folder, below);
    DIR *entries = path.failed ? NULL : opendir(path.data);
    bool fine = entries;
    for (struct dirent *entry; fine && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        name.length = 0;
        assay_text_format(&name, "%s%s", below, entry->d_name);
        fine = !name.failed && entry->d_type != DT_LNK && is_ours(name.data);
        if (fine && entry->d_type == DT_DIR) {
            assay_text_add(&name, "/");
            fine = !name.failed && holds_only_ours(folder, name.data);
        }
    }
    if (entries)
        closedir(entries);
    assay_text_fini(&path);
    assay_text_fini(&name);
    return fine;
}

static bool is_intact(const char *folder)
{
    bool intact = holds_only_ours(folder, "");
    for (int i = 0; i < assay_python_parts.n && intact; i++)
        intact = is_part(folder, &assay_python_parts.all[i]);
    return intact;
}

enum assay_status assay_python_package(struct assay_text *out, struct assay_error *err)
{
    size_t start = out->length;
    if (!&assay_python_parts || assay_python_parts.n == 0)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "this assay was built without Python's headers: install python3-dev "
                               "and build it again");
    enum assay_status status = assay_folder_cache(out, err);
    assay_text_format(out, "/python-%.16s", assay_python_parts.hash);
    if (status == ASSAY_OK && out->failed)
        status = assay_error_nomem(err);
    if (status == ASSAY_OK)
        status = assay_python_restore(out->data + start, err);
    return status;
}

enum assay_status assay_python_restore(const char *folder, struct assay_error *err)
{
    if (is_intact(folder))
        return ASSAY_OK;
    assay_folder_remove(folder);
    enum assay_status status = write_package(folder, err);
    return status != ASSAY_OK || is_intact(folder)
               ? status
               : assay_error_set(err, ASSAY_ERR_IO, folder, "somebody else writes to it");
}
