/* assay kernel: the benchmarks a kernel repository ships, or its kernels of known ops. */
#include "cli/command.h"
#include "cli/kernel_new.h"
#include "cli/kernel_objects.h"
#include "cli/measure.h"
#include "device/device.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay kernel PATH | REPO@REVISION [OPTIONS]\n\n"
        "Compiles the kernels of a repository, verifies them, and samples them in turn with "
        "their reference.\n"
        "PATH is a folder, or one file. A folder with benchmarks/benchmark*.{py,c,cpp,cu} has "
        "workloads of\n"
        "its own: in Python as `kernels benchmark` has them, in C ASSAY_BENCHMARK of "
        "assay_kernel.h.\n"
        "Without benchmarks/, the files in it that define kernels of known ops (ASSAY_KERNELS) "
        "are\n"
        "measured against every other kernel of the op.\n"
        "REPO is cloned with git from --hub. See docs/kernels.md.\n\n");
    assay_options_help(&assay_kernel_options_table, out);
    assay_text_add(out,
                   "\nExamples:\n"
                   "  assay kernel ./my_kernels --workload 'large*'\n"
                   "  assay kernel ./my_layernorm --dtype f32 --shape 8x512x1024\n"
                   "  assay kernel owner/activation@v1 --iterations 200 --output results.json\n"
                   "  assay kernel owner/activation --branch main --list\n"
                   "  assay kernel --new my_softmax --op softmax --lang c\n");
}

static void print_workload(const struct assay_workload_found *w)
{
    const char *const parts[] = {"  ", w->benchmark, ".", w->name, " on ", w->device};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assay_put(stdout, parts[i]);
    puts(w->verified ? "" : ", without a reference");
}

static void print_kernel(const struct assay_kernel_found *k)
{
    const char *const parts[] = {"  kernel ", k->name, " of ", k->op, " on ", k->device, ":"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assay_put(stdout, parts[i]);
    for (int dtype = 0; dtype < ASSAY_DTYPE_COUNT; dtype++)
        if (k->dtypes & ASSAY_DTYPE_BIT(dtype) && assay_dtype_info((enum assay_dtype)dtype))
            printf(" %s", assay_dtype_name((enum assay_dtype)dtype));
    for (int64_t r = 0; r < k->n_recipes; r++) {
        fputs(r ? ", " : "; ", stdout);
        assay_put(stdout, k->recipes[r]);
    }
    puts("");
}

static void print_contents(const struct assay_kernel_object *object,
                           const struct assay_kernel_options *options)
{
    const struct assay_contents *c = object->contents;
    assay_put(stdout, object->shown);
    puts("");
    for (int64_t i = 0; i < c->n_workloads; i++)
        if (assay_kernel_wants(options, c->workloads[i].benchmark, c->workloads[i].name))
            print_workload(&c->workloads[i]);
    for (int64_t i = 0; i < c->n_kernels; i++)
        print_kernel(&c->kernels[i]);
}

/* The files' names behind each other; what does not fit is cut. */
static void name_files(const struct assay_sources *sources, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < sources->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 sources->items[i].shown);
}

/* The repository's own implementations of known ops, each once. */
static void name_implementations(const struct assay_plan *plan, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < plan->n_groups && used < size; i++) {
        const char *name = plan->groups[i].baseline;
        bool seen = !name[0];
        for (int64_t k = 0; k < i && !seen; k++)
            seen = strcmp(plan->groups[k].baseline, name) == 0;
        if (!seen)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

static int measure_repository(const struct assay_kernel_options *options,
                              struct assay_kernel_objects *k, int argc, char **argv)
{
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    char files[256], own[160], commit[56], light[4096], dark[4096];
    struct assay_measuring measuring = {
        .config = &options->measure,
        .outputs = {.table = "kernel", .json_format = "kernel-json"},
        .argc = argc,
        .argv = argv,
        .again = "assay kernel",
    };
    if (!options->measure.resume) {
        if (assay_kernel_plan(options, &k->file, k->objects, k->n_objects, &plan, assay_warn,
                              &err) != ASSAY_OK)
            return assay_complain(&err);
        plan.settings.sandbox = assay_kernel_sandboxed(options, &k->repository);
        snprintf(commit, sizeof commit, "%s%s", k->repository.commit,
                 k->repository.dirty ? "+" : "");
        name_files(&k->sources, files, sizeof files);
        name_implementations(&plan, own, sizeof own);
        measuring.origin = (struct assay_run_origin){
            .repository = k->file.name[0] ? k->file.name : k->repository.name,
            .commit = commit,
            .files = files,
            .sha256 = k->sources.sha256,
            .implementations = own,
            .pytorch = k->scripts.torch,
            .pytorch_cuda = k->scripts.torch_cuda,
        };
    }
    if (options->visual) {
        const char *ending = options->rasterized ? "png" : "svg";
        snprintf(light, sizeof light, "%s_light.%s", options->visual, ending);
        snprintf(dark, sizeof dark, "%s_dark.%s", options->visual, ending);
        measuring.outputs.files[0] =
            (struct assay_output_file){"kernel-svg-light", light, false, false};
        measuring.outputs.files[1] =
            (struct assay_output_file){"kernel-svg-dark", dark, false, false};
        measuring.outputs.n_files = 2;
        measuring.outputs.tell = true;
    }
    return assay_measure(&measuring, &plan);
}

static int act(const struct assay_kernel_options *options, int argc, char **argv)
{
    struct assay_kernel_objects k = {0};
    struct assay_error err = {0};
    int code = ASSAY_EXIT_FINE;
    if (!options->measure.resume && assay_kernel_objects_make(options, &k, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (options->list || options->build)
        for (int64_t i = 0; i < k.n_objects; i++)
            print_contents(&k.objects[i], options);
    else if (k.n_objects || options->measure.resume)
        code = measure_repository(options, &k, argc, argv);
    else if (!k.worst)
        code = ASSAY_EXIT_MACHINE; /* all of it was skipped, and that was said */
    if (code == ASSAY_EXIT_FINE)
        code = k.worst;
    assay_kernel_objects_fini(&k);
    return code;
}

static int make_new(const struct assay_kernel_options *options)
{
    struct assay_error err = {0};
    struct assay_text said = {0};
    if (!options->op)
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "--new needs --op: which op does the kernel compute? `assay list ops`");
    else if (options->words.n)
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "--new makes a repository; leave out \"%.60s\"", options->words.items[0]);
    else
        assay_kernel_new(options->new_name, options->op,
                         options->language ? options->language : "c", &said, &err);
    if (err.code == ASSAY_OK)
        return assay_print_text(&said);
    assay_text_fini(&said);
    return assay_complain(&err);
}

static enum assay_status check(const struct assay_kernel_options *o, struct assay_error *err)
{
    const struct assay_device_driver *driver;
    int32_t index;
    struct assay_error why = {0};
    if (o->measure.device &&
        assay_device_parse(o->measure.device, &driver, &index, &why) == ASSAY_ERR_INVALID)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s", why.message);
    if (!o->new_name && (o->op || o->language))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--op and --lang are for --new");
    if (o->measure.resume && o->words.n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "a resumed run keeps the plan it had; leave out \"%.60s\"",
                               o->words.items[0]);
    if (o->json && o->measure.format && strcmp(o->measure.format, "kernel-json") != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--json prints kernel-json; leave out --format %.60s",
                               o->measure.format);
    if (o->rasterized && !o->visual)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--rasterized is for the charts of --visual PATH");
    if (o->json && o->measure.outputs.n)
        return assay_error_set(
            err, ASSAY_ERR_INVALID, NULL,
            "--json prints the results, and --output writes them; leave out one");
    return ASSAY_OK;
}

static int run_kernel(int argc, char **argv)
{
    struct assay_kernel_options options;
    struct assay_error err = {0};
    int code;
    assay_kernel_options_init(&options);
    enum assay_status status =
        assay_options_parse(&assay_kernel_options_table, argc - 1, argv + 1, &options, &err);
    if (status == ASSAY_OK && !options.measure.help)
        status = check(&options, &err);
    if (options.json)
        options.measure.format = "kernel-json";
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    else if (options.measure.help)
        code = assay_print_help(assay_command_find("kernel"));
    else if (options.new_name)
        code = make_new(&options);
    else
        code = act(&options, argc, argv);
    assay_kernel_options_fini(&options);
    return code;
}

const struct assay_command assay_command_kernel = {.name = "kernel",
                                                   .summary =
                                                       "run the benchmarks of a kernel repository",
                                                   .options = &assay_kernel_options_table,
                                                   .run = run_kernel,
                                                   .help = help};
