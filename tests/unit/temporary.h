/* temporary.h: a private folder for a test, with home and cache folder in it, and files to put
 * there.
 */
#ifndef ASSAY_TESTS_TEMPORARY_H
#define ASSAY_TESTS_TEMPORARY_H

#include "base/folder.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char temporary[64];

/* cmocka's setup and teardown. */
static inline int temporary_make(void **state)
{
    static char before[4096];
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(temporary, sizeof temporary, "%.30s/assay-unit-XXXXXX", folder ? folder : "/tmp");
    if (!before[0])
        snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", before, 1);
    if (!mkdtemp(temporary) || setenv("HOME", temporary, 1) != 0)
        return -1;
    char cache[80];
    snprintf(cache, sizeof cache, "%s/cache", temporary);
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static inline int temporary_remove(void **state)
{
    (void)state;
    assay_folder_remove(temporary);
    return access(temporary, F_OK) == 0 ? -1 : 0;
}

/* The path of something in it; good until the eighth call from now. */
static inline const char *in_temporary(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temporary, name);
    return path;
}

/* A file there, with the folders above it. */
static inline const char *put_file(const char *name, const char *text)
{
    const char *path = in_temporary(name);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(assay_folder_make(folder, NULL), ASSAY_OK);
    assert_int_equal(assay_folder_write_atomic(path, text, strlen(text), NULL), ASSAY_OK);
    return path;
}

/* A program there: a shell script. */
static inline const char *put_script(const char *name, const char *text)
{
    const char *path = put_file(name, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* How many entries a folder there has, those that start with '.' aside. */
static inline int64_t count_entries(const char *name)
{
    char command[600], line[64] = "";
    snprintf(command, sizeof command, "ls '%s' 2>/dev/null | wc -l", in_temporary(name));
    FILE *lines = popen(command, "r"); // NOLINT(cert-env33-c)
    assert_non_null(lines);
    assert_non_null(fgets(line, sizeof line, lines));
    pclose(lines);
    return atoll(line); // NOLINT(cert-err34-c)
}

#endif
