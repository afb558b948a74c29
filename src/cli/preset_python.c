/* preset_python.c: KoBench's presets in Python: see preset_python.h. */
#include "cli/preset_python.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "config/preset.h"
#include "runner/python.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With the package's folder before the rest of the command line. */
static const char program[] =
    "import sys\n"
    "if sys.version_info < (3, 11):\n"
    "    sys.exit('assay: %s is Python %d.%d; assay needs 3.11 or later' %\n"
    "             ((sys.executable,) + sys.version_info[:2]))\n"
    "sys.path.insert(0, sys.argv.pop(1))\n"
    "from kohakubench.cli import main\n"
    "sys.exit(main())\n";

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_here(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%.1000s.py", name);
    return !strchr(name, '/') && access(path, R_OK) == 0;
}

static bool is_python(const char *name)
{
    static const char *const others[] = {".yml", ".yaml", ".json", ".so"};
    const struct assay_preset *known;
    if (assay_python_is(name))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (ends_with(name, others[i]))
            return false;
    if (strcmp(name, "all") == 0 || assay_preset_find(name, &known, NULL) == ASSAY_OK)
        return false;
    return !strchr(name, '/') && (strchr(name, '.') || is_here(name));
}

static bool any_is_python(const struct assay_strings *names)
{
    for (int64_t i = 0; i < names->n; i++)
        if (is_python(names->items[i]))
            return true;
    return false;
}

bool assay_preset_python_named(const struct assay_preset_options *options)
{
    return any_is_python(&options->words) || any_is_python(&options->presets);
}

/* As execv wants it, which writes nothing. */
static char *writable(const char *text) { return (char *)(uintptr_t)text; }

/* The command line as kohakubench knows it: --preset before a word, and no --python. */
static void put_line(const struct assay_preset_options *options, int argc, char **argv, char **out)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        bool is_word = false;
        for (int64_t w = 0; w < options->words.n; w++)
            is_word = is_word || strcmp(options->words.items[w], argv[i]) == 0;
        if (strncmp(argv[i], "--python=", strlen("--python=")) == 0)
            continue;
        if (strcmp(argv[i], "--python") == 0) {
            i++;
            continue;
        }
        if (is_word && strcmp(argv[i - 1], "--preset") != 0)
            out[n++] = writable("--preset");
        out[n++] = argv[i];
    }
}

int assay_preset_python_run(const struct assay_preset_options *options, int argc, char **argv)
{
    struct assay_text python = {0}, package = {0};
    struct assay_error err = {0};
    char **line = NULL;
    enum assay_status status = ASSAY_OK;
    if (options->words.n + options->presets.n > 1)
        status =
            assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "a preset in Python is measured alone");
    else if (options->measure.profile)
        status = assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                                 "a preset in Python is measured without --profile; "
                                 "assay.bench(..., profile=FILE) records functions");
    else if (options->measure.profile_memory)
        status = assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                                 "a preset in Python is measured without --profile-memory: its "
                                 "memory is its framework's, whose own recorder tells of it");
    if (status == ASSAY_OK)
        status = assay_python_find(options->measure.python, &python, &err);
    if (status == ASSAY_OK)
        status = assay_python_package(&package, &err);
    if (status == ASSAY_OK)
        status = assay_python_restore(package.data, &err);
    line = status == ASSAY_OK ? assay_calloc(2 * (size_t)argc + 6, sizeof *line) : NULL;
    if (status == ASSAY_OK && !line)
        status = assay_error_nomem(&err);
    if (status == ASSAY_OK) {
        line[0] = python.data;
        line[1] = writable("-B");
        line[2] = writable("-c");
        line[3] = writable(program);
        line[4] = package.data;
        put_line(options, argc, argv, line + 5);
        execv(python.data, line);
        assay_error_set(&err, ASSAY_ERR_FAILED, python.data, "cannot be started: %s",
                        strerror(errno));
    }
    assay_free(line);
    assay_text_fini(&python);
    assay_text_fini(&package);
    return assay_complain(&err);
}
