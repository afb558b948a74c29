/* check_schema.c: do files fit a schema of share/schema, or each of their lines? For the scripts. A
 * member that the schema does not name is a problem, too: a new key belongs into the schema.
 * usage: check_schema [--lines] SCHEMA FILE... */
#include "../unit/json_schema.h"

#include <stdlib.h>

static struct schema_files files = {.folder = ASSAY_SOURCE_DIR "/share/schema"};

static bool fits(const char *schema, json_t *value, const char *where, int line)
{
    struct schema_check check = {.files = &files, .strict = true};
    if (schema_check_file(&check, schema, value))
        return true;
    printf("%s:%d: %s (%s)\n", where, line, check.problem, schema);
    return false;
}

static bool check_text(const char *schema, const char *text, size_t length, const char *where,
                       int line)
{
    json_error_t error;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        printf("%s:%d: is not JSON: %s\n", where, line + error.line - 1, error.text);
        return false;
    }
    bool fine = fits(schema, value, where, line);
    json_decref(value);
    return fine;
}

static bool check_lines(const char *schema, FILE *file, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    int n = 0;
    bool fine = true;
    for (ssize_t length; (length = getline(&line, &size, file)) > 0;)
        fine &= check_text(schema, line, (size_t)length, path, ++n);
    free(line);
    if (n == 0)
        printf("%s: has no lines\n", path);
    return fine && n > 0;
}

static bool check_whole(const char *schema, FILE *file, const char *path)
{
    json_error_t error;
    json_t *value = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        printf("%s:%d: is not JSON: %s\n", path, error.line, error.text);
        return false;
    }
    bool fine = fits(schema, value, path, 1);
    json_decref(value);
    return fine;
}

int main(int argc, char **argv)
{
    bool lines = argc > 1 && strcmp(argv[1], "--lines") == 0, fine = true;
    char **rest = argv + 1 + lines;
    if (argc < 3 + lines) {
        fputs("usage: check_schema [--lines] SCHEMA FILE...\n", stderr);
        return 2;
    }
    for (char **path = rest + 1; *path; path++) {
        FILE *file = fopen(*path, "rb");
        if (!file) {
            perror(*path);
            return 2;
        }
        fine &= lines ? check_lines(rest[0], file, *path) : check_whole(rest[0], file, *path);
        fclose(file);
    }
    schema_files_fini(&files);
    return fine ? 0 : 1;
}
