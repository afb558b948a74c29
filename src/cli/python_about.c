#include "cli/python_about.h"

#include "repo/process.h"
#include "runner/python.h"

#include <string.h>

/* An interpreter starts in 30 ms; a framework on a cold disk takes a minute to import. */
static const double LIMIT_S = 10, IMPORT_LIMIT_S = 120;

/* Its arguments are the package's folder, and whether to import. */
static const char program[] =
    "import sys\n"
    "if sys.version_info < (3, 11):\n"
    "    print('python\\t%s is Python %d.%d; assay needs 3.11 or later' % "
    "((sys.executable,) + sys.version_info[:2]))\n"
    "    sys.exit(0)\n"
    "sys.path[0] = sys.argv[1]\n"
    "from assay import _about\n"
    "_about.main(sys.argv[2] == 'import')\n";

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

static enum assay_status ask(const char *python, const char *package, bool imports,
                             struct assay_text *out, struct assay_error *err)
{
    struct assay_arguments arguments = {0};
    struct assay_process_end end = {0};
    struct assay_text said = {0}, printed = {0};
    const char *const words[] = {python, "-c", program, package, imports ? "import" : "look", NULL};
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
    struct assay_text python = {0}, package = {0};
    struct assay_error why = {0};
    enum assay_status status = assay_python_find(wanted, &python, &why);
    if (status == ASSAY_OK)
        status = assay_python_package(&package, &why);
    if (status == ASSAY_OK)
        status = ask(python.data, package.data, imports, out, err);
    else if (status == ASSAY_ERR_NOMEM)
        status = assay_error_nomem(err);
    else {
        assay_text_format(out, "python\tnot found: %s\n", why.message);
        status = ASSAY_OK;
    }
    assay_text_fini(&python);
    assay_text_fini(&package);
    return status == ASSAY_OK && out->failed ? assay_error_nomem(err) : status;
}
