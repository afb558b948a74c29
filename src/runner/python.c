#include "runner/python.h"

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
