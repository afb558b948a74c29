#include "cli/kernel_scripts.h"

#include "base/folder.h"
#include "device/device.h"
#include "repo/process.h"
#include "runner/python.h"
#include "runner/strangers.h"

#include <stdio.h>
#include <string.h>

/* The interpreter compiles for itself (python/assay/extension.py): it runs nothing of the
 * repository. Its exit code is 1 for the repository's mistakes and 3 for what is not here. */
static const char program[] = "import sys\n"
                              "if sys.version_info < (3, 11):\n"
                              "    print('%s is Python %d.%d; assay needs 3.11 or later' % "
                              "((sys.executable,) + sys.version_info[:2]))\n"
                              "    sys.exit(3)\n"
                              "sys.path[0] = sys.argv[1]\n"
                              "from assay import extension\n"
                              "sys.exit(extension.main(sys.argv[2:]))\n";

enum { FINE = 0, MISTAKE = 1, NOT_HERE = 3 }; /* its exit codes */
static const double COMPILE_LIMIT_S = 3600;

/* A script runs on any device: the one that is asked for, else the GPU where there is one. */
static const char *choose_kind(const struct assay_kernel_options *o)
{
    const struct assay_device_driver *driver;
    const char *asked = o->measure.device;
    int32_t index;
    if (asked)
        return strncmp(asked, "cuda", strlen("cuda")) == 0 ? "cuda" : "cpu";
    return assay_device_parse("cuda", &driver, &index, NULL) == ASSAY_OK ? "cuda" : "cpu";
}

static void fail(struct assay_kernel_scripts *s, enum assay_status status, const char *reason)
{
    s->status = status;
    snprintf(s->reason, sizeof s->reason, "%.399s", reason);
}

static bool has_file(const struct assay_kernel_objects *k, const char *name, const char *word)
{
    struct assay_text path = {0}, text = {0};
    assay_text_format(&path, "%s/%s", k->repository.root.data, name);
    bool has = !path.failed &&
               assay_folder_read_file(path.data, ASSAY_SOURCE_BYTES, &text, NULL) == ASSAY_OK &&
               text.length && strstr(text.data, word);
    assay_text_fini(&path);
    assay_text_fini(&text);
    return has;
}

/* The first line is "torch 2.11.0 13.0", with the versions there are; the last says what came of
 * compiling. PyTorch may print between the two. */
static void read_answer(struct assay_kernel_scripts *s, const struct assay_process_end *end,
                        struct assay_text *said)
{
    size_t length = said->length;
    while (length > 0 && said->data[length - 1] == '\n')
        said->data[--length] = '\0';
    char *line = length ? strchr(said->data, '\n') : NULL, *last = length ? said->data : NULL;
    if (line)
        *line++ = '\0';
    bool began = length && strncmp(said->data, "torch", strlen("torch")) == 0;
    if (began) {
        sscanf(said->data, "torch %31s %15s", s->torch, s->torch_cuda);
        last = line && strrchr(line, '\n') ? strrchr(line, '\n') + 1 : line;
    }
    if (end->timed_out)
        fail(s, ASSAY_ERR_INVALID, "compiling what build.toml names took more than an hour");
    else if (end->exit_code == MISTAKE && began && last)
        fail(s, ASSAY_ERR_INVALID, last);
    else if (end->exit_code == NOT_HERE && !began && last)
        fail(s, ASSAY_UNSUPPORTED, last);
    else if (end->signal || (end->exit_code != FINE && !began))
        fail(s, ASSAY_UNSUPPORTED,
             "the interpreter ended before it could say which PyTorch it has: try another with "
             "--python");
}

static enum assay_status ask(struct assay_kernel_objects *k, const char *python,
                             const char *package, struct assay_error *err)
{
    struct assay_arguments arguments = {0};
    struct assay_text said = {0};
    struct assay_process_end end = {0};
    const char *const words[] = {python,          "-c", program, package, k->repository.root.data,
                                 k->scripts.kind, NULL};
    assay_arguments_add_all(&arguments, words);
    struct assay_process process = {
        .arguments = &arguments, .limit_s = COMPILE_LIMIT_S, .out = &said};
    struct assay_error why = {0};
    enum assay_status status =
        arguments.failed ? assay_error_nomem(&why) : assay_process_run(&process, &end, &why);
    if (status == ASSAY_OK)
        read_answer(&k->scripts, &end, &said);
    else if (status == ASSAY_ERR_IO)
        fail(&k->scripts, ASSAY_UNSUPPORTED, why.message);
    else
        assay_error_set(err, status, NULL, "%s", why.message);
    assay_arguments_fini(&arguments);
    assay_text_fini(&said);
    return status == ASSAY_ERR_IO ? ASSAY_OK : status;
}

static int64_t n_scripts(const struct assay_sources *sources)
{
    int64_t n = 0;
    for (int64_t i = 0; i < sources->n; i++)
        n += sources->items[i].language == ASSAY_LANGUAGE_PYTHON;
    return n;
}

enum assay_status assay_kernel_scripts_prepare(const struct assay_kernel_options *options,
                                               struct assay_kernel_objects *k,
                                               struct assay_error *err)
{
    struct assay_text python = {0}, package = {0};
    struct assay_error why = {0};
    if (n_scripts(&k->sources) == 0)
        return ASSAY_OK;
    snprintf(k->scripts.kind, sizeof k->scripts.kind, "%s", choose_kind(options));
    enum assay_status status = assay_python_find(options->measure.python, &python, &why);
    if (status == ASSAY_OK)
        status = assay_python_package(&package, &why);
    if (status == ASSAY_UNSUPPORTED) {
        fail(&k->scripts, status, why.message);
        status = ASSAY_OK;
    } else if (status == ASSAY_OK) {
        if (!options->measure.quiet && has_file(k, "build.toml", "[kernel."))
            fputs("Compiling what build.toml names, unless that was done before...\n", stderr);
        status = ask(k, python.data, package.data, err);
    } else {
        assay_error_set(err, status, NULL, "%s", why.message);
    }
    assay_text_fini(&python);
    assay_text_fini(&package);
    return status;
}

enum assay_status assay_kernel_script_read(const struct assay_kernel_options *options,
                                           const struct assay_kernel_objects *k, const char *path,
                                           struct assay_contents *out, struct assay_error *err)
{
    enum assay_status status = assay_contents_read(
        path, options->measure.python, assay_kernel_sandboxed(options, &k->repository), out, err);
    for (int64_t i = 0; i < out->n_workloads && status == ASSAY_OK; i++)
        snprintf(out->workloads[i].device, sizeof out->workloads[i].device, "%s", k->scripts.kind);
    return status;
}
