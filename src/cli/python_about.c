#include "cli/python_about.h"

#include "repo/process.h"
#include "runner/python.h"

#include <string.h>

/* An interpreter starts in 30 ms; a framework on a cold disk takes a minute to import. */
static const double LIMIT_S = 10, IMPORT_LIMIT_S = 120;

/* What is run before the package's own text (python/assay/_found.py), and behind it. Nothing is
 * imported from the current folder, and nothing written to the cache. */
static const char BEFORE[] = "import sys\n"
                             "del sys.path[0]\n"
                             "if sys.version_info < (3, 11):\n"
                             "    print('python\\t%s is Python %d.%d; assay needs 3.11 or later' % "
                             "((sys.executable,) + sys.version_info[:2]))\n"
                             "    sys.exit(0)\n";
static const char TEXT[] = "assay/_found.py", BEHIND[] = "\nabout(sys.argv[1] == 'import')\n";

static enum assay_status write_program(struct assay_text *out, struct assay_error *err)
{
    size_t length = 0;
    for (int i = 0; &assay_python_parts && i < assay_python_parts.n; i++) {
        const struct assay_python_part *part = &assay_python_parts.all[i];
        if (strcmp(part->name, TEXT) != 0)
            continue;
        length = (size_t)(part->end - part->bytes);
        assay_text_add(out, BEFORE);
        assay_text_append(out, (const char *)part->bytes, length);
        assay_text_add(out, BEHIND);
    }
    if (out->failed)
        return assay_error_nomem(err);
    return length ? ASSAY_OK : assay_python_absent(err);
}

/* The last line of what it printed. */
static const char *last_line(struct assay_text *printed)
{
    while (printed->length > 0 && strchr("\n\r ", printed->data[printed->length - 1]))
        printed->data[--printed->length] = '\0';
    const char *newline = printed->length ? strrchr(printed->data, '\n') : NULL;
    return newline ? newline + 1 : printed->length ? printed->data : "it printed nothing";
}

static void tell_failure(const char *python, const struct assay_process_end *end, double limit_s,
                         struct assay_text *printed, struct assay_text *out)
{
    struct assay_text shown = {0};
    assay_text_add_shown(&shown, last_line(printed));
    if (end->timed_out)
        assay_text_format(out, "python\t%s did not answer within %g s\n", python, limit_s);
    else
        assay_text_format(out, "python\t%s does not work: %s\n", python,
                          shown.data ? shown.data : "");
    assay_text_fini(&shown);
}

static enum assay_status ask(const char *python, const char *program, bool imports,
                             struct assay_text *out, struct assay_error *err)
{
    struct assay_arguments arguments = {0};
    struct assay_process_end end = {0};
    struct assay_text said = {0}, printed = {0};
    const char *const words[] = {python, "-c", program, imports ? "import" : "look", NULL};
    assay_arguments_add_all(&arguments, words);
    struct assay_process process = {.arguments = &arguments,
                                    .limit_s = imports ? IMPORT_LIMIT_S : LIMIT_S,
                                    .out = &said,
                                    .err = &printed};
    enum assay_status status =
        arguments.failed ? assay_error_nomem(err) : assay_process_run(&process, &end, err);
    bool fine = end.exit_code == 0 && end.signal == 0 && !end.timed_out && said.length > 0;
    if (status == ASSAY_OK && fine)
        assay_text_add(out, said.data);
    else if (status == ASSAY_OK)
        tell_failure(python, &end, process.limit_s, &printed, out);
    else if (status == ASSAY_ERR_IO) { /* it cannot be started: not our failure */
        assay_text_format(out, "python\t%s cannot be started: %s\n", python, err->message);
        *err = (struct assay_error){0};
        status = ASSAY_OK;
    }
    assay_text_fini(&said);
    assay_text_fini(&printed);
    assay_arguments_fini(&arguments);
    return status;
}

enum assay_status assay_python_about(const char *wanted, bool imports, struct assay_text *out,
                                     struct assay_error *err)
{
    struct assay_text python = {0}, program = {0};
    struct assay_error why = {0};
    enum assay_status status = assay_python_find(wanted, &python, &why);
    if (status == ASSAY_OK)
        status = write_program(&program, &why);
    if (status == ASSAY_OK)
        status = ask(python.data, program.data, imports, out, err);
    else if (status == ASSAY_ERR_NOMEM)
        status = assay_error_nomem(err);
    else {
        assay_text_format(out, "python\tnot found: %s\n", why.message);
        status = ASSAY_OK;
    }
    assay_text_fini(&python);
    assay_text_fini(&program);
    return status == ASSAY_OK && out->failed ? assay_error_nomem(err) : status;
}
