/* assay list: what there is, one function for each list. */
#include "cli/command.h"
#include "cli/python_about.h"
#include "cli/runs.h"
#include "config/options.h"
#include "config/preset.h"
#include "config/shapes.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "quant/quant.h"
#include "report/chart/chart.h"
#include "report/report.h"
#include "runner/python.h"
#include "runner/strangers.h"

#include <stdio.h>
#include <string.h>

/* A plug-in that takes longer to say what it holds does not come back. */
static const double PATIENCE_S = 20, PYTHON_PATIENCE_S = 120;

struct list_config {
    struct assay_strings what;
    struct assay_strings plugins;
    const char *python;
    bool names, help;
};

static const struct assay_option option_rows[] = {
    {"names", 0, ASSAY_OPTION_FLAG, offsetof(struct list_config, names), NULL,
     "only the names, one on each line", 0, 0},
    {"plugin", 0, ASSAY_OPTION_REPEAT, offsetof(struct list_config, plugins), "FILE",
     "also the kernels of a shared object or a file of Python; repeatable", 0, 0},
    {"python", 0, ASSAY_OPTION_TEXT, offsetof(struct list_config, python), "PATH",
     "the interpreter of kernels in Python (default: $ASSAY_PYTHON, the active virtual "
     "environment's, python3)",
     0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, offsetof(struct list_config, help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = option_rows, .words_offset = offsetof(struct list_config, what), .words = "WHAT"};

/* What sets this op apart: other axes than most, modes, recipes. */
static void print_specials(const struct assay_op *op)
{
    const char *separator = "";
    bool usual = assay_op_is_of_rows(op);
    if (usual && !op->modes && !op->takes_recipes)
        return;
    printf("%17s", "");
    for (int32_t i = 0; i < assay_op_axes(op) && !usual; i++) {
        printf("%s%s", i ? "," : "axes ", op->axis_names[i]);
        separator = "; ";
    }
    if (op->modes) {
        printf("%smodes %s", separator, op->modes);
        separator = "; ";
    }
    if (op->takes_recipes)
        printf("%srecipes", separator);
    puts("");
}

static int list_ops(const struct list_config *config)
{
    int width = 0;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        int length = (int)strlen(assay_op_at(i)->name);
        width = length > width ? length : width;
    }
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (config->names) {
            puts(op->name);
            continue;
        }
        printf("%-*s %s", width, op->name, op->summary);
        for (const char *const *alias = op->aliases; alias && *alias; alias++)
            printf("%s%s", alias == op->aliases ? "  (also " : ", ", *alias);
        puts(op->aliases ? ")" : "");
        print_specials(op);
    }
    if (!config->names)
        puts("\nThe axes are batch, seq, dim where no others are given.");
    return ASSAY_EXIT_FINE;
}

struct words {
    char text[64];
};

/* "f32,f16,bf16" */
static struct words dtype_names(uint64_t dtypes)
{
    struct words words = {""};
    for (int d = 1; d < ASSAY_DTYPE_COUNT; d++)
        if (dtypes & ASSAY_DTYPE_BIT(d)) {
            size_t used = strlen(words.text);
            snprintf(words.text + used, sizeof words.text - used, "%s%s", used ? "," : "",
                     assay_dtype_name((enum assay_dtype)d));
        }
    return words;
}

/* What is known of kernels: assay's own, and plug-ins', which are asked in processes of their own.
 */
struct known {
    struct assay_host host;
    assay_workloads *workloads;
    assay_strangers *strangers;
};

static enum assay_status open_known(const struct list_config *config, struct known *known,
                                    struct assay_error *err)
{
    struct assay_runner_options options = {.timeout_s = PATIENCE_S, .python = config->python};
    for (int64_t i = 0; i < config->plugins.n; i++)
        if (assay_python_is(config->plugins.items[i]))
            options.timeout_s = PYTHON_PATIENCE_S;
    known->host.registry = assay_kernel_registry_create();
    known->workloads = assay_workloads_create();
    known->strangers =
        known->workloads ? assay_strangers_create(&known->host, known->workloads) : NULL;
    if (!known->host.registry || !known->strangers)
        return assay_error_nomem(err);
    enum assay_status status = ASSAY_OK;
    assay_strangers_use(known->strangers, &options, "cpu", 1);
    for (int64_t i = 0; i < config->plugins.n && status == ASSAY_OK; i++)
        status = assay_strangers_add(known->strangers, config->plugins.items[i], err);
    if (status == ASSAY_OK && assay_strangers_n_broken(known->strangers) > 0) {
        struct assay_stranger_broken broken = assay_strangers_broken(known->strangers, 0);
        status = assay_error_set(err, ASSAY_ERR_INVALID, broken.name, "%s", broken.reason);
    }
    return status;
}

static void close_known(struct known *known)
{
    assay_strangers_destroy(known->strangers);
    assay_kernel_registry_destroy(known->host.registry);
    assay_workloads_destroy(known->workloads);
}

static enum assay_status can_run_here(const struct known *known, const struct assay_kernel *kernel,
                                      struct assay_error *why)
{
    return assay_kernel_is_elsewhere(kernel)
               ? known->host.can_run(known->host.strangers, kernel, NULL, why)
               : assay_kernel_can_run(kernel, NULL, why);
}

/* What an op can be asked for: its slow reference would take more. Of one that is a plug-in's own,
 * all. */
static uint64_t dtypes_of(const char *name)
{
    const struct assay_op *op = assay_op_find(name);
    uint64_t dtypes = 0;
    for (int d = 1; d < ASSAY_DTYPE_COUNT; d++)
        if (!op || assay_op_has_dtype(op, (enum assay_dtype)d))
            dtypes |= ASSAY_DTYPE_BIT(d);
    return dtypes;
}

/* A plug-in's name, filled with blanks. */
static void put_column(const char *text, int width)
{
    int length = (int)strlen(text);
    assay_put(stdout, text);
    printf("%*s ", length < width ? width - length : 0, "");
}

static void put_line(const char *text)
{
    assay_put(stdout, text);
    puts("");
}

static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

/* Columns as wide as what is in them. */
struct kernel_widths {
    int name, implementation, device, dtypes;
};

static struct kernel_widths measure_kernels(const assay_kernel_registry *registry)
{
    struct kernel_widths w = {0};
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        w.name = wider(w.name, kernel->name);
        w.implementation = wider(w.implementation, kernel->implementation);
        w.device = wider(w.device, kernel->device);
        w.dtypes = wider(w.dtypes, dtype_names(kernel->dtypes).text);
    }
    return w;
}

static int list_kernels(const struct list_config *config)
{
    struct assay_error err = {0};
    struct known known = {0};
    enum assay_status status = open_known(config, &known, &err);
    const assay_kernel_registry *registry = known.host.registry;
    struct kernel_widths widths = {0};
    if (status == ASSAY_OK)
        widths = measure_kernels(registry);
    for (int64_t i = 0; status == ASSAY_OK && i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        struct assay_error why = {0};
        if (config->names) {
            put_line(kernel->name);
            continue;
        }
        put_column(kernel->name, widths.name);
        put_column(kernel->implementation, widths.implementation);
        put_column(kernel->device, widths.device);
        put_column(dtype_names(kernel->dtypes & dtypes_of(kernel->op)).text, widths.dtypes);
        enum assay_status can = can_run_here(&known, kernel, &why);
        put_line(can == ASSAY_OK ? "runs here" : why.message);
        if (can == ASSAY_ERR_NOMEM)
            status = assay_error_set(&err, can, kernel->name, "%s", why.message);
    }
    close_known(&known);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
}

enum { WIDTH = 13 }; /* of "torch-compile" */

static bool is_implementation(const assay_kernel_registry *registry, const char *name)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        if (strcmp(assay_kernel_at(registry, i)->implementation, name) == 0)
            return true;
    return false;
}

/* What stands behind a name and a tab, in one of the lines. */
static const char *find_line(const char *lines, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, name, length) == 0 && at[length] == '\t')
            return at + length + 1;
    return NULL;
}

/* How many kernels from the `first` on are of the same implementation; 0: it came before. */
static int64_t count_alike(const assay_kernel_registry *registry, int64_t first)
{
    const char *name = assay_kernel_at(registry, first)->implementation;
    int64_t n = 0;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        if (strcmp(assay_kernel_at(registry, i)->implementation, name) == 0) {
            if (i < first)
                return 0;
            n++;
        }
    return n;
}

/* Those that run in the user's interpreter, with what it has of them. */
static enum assay_status list_python(const struct list_config *config,
                                     const assay_kernel_registry *registry, struct assay_error *err)
{
    struct assay_text lines = {0};
    enum assay_status status = ASSAY_OK;
    if (!config->names)
        status = assay_python_about(config->python, false, &lines, err);
    for (const char *const *name = assay_python_implementations; *name && status == ASSAY_OK;
         name++) {
        struct assay_text line = {0};
        const char *about = lines.data ? find_line(lines.data, *name) : NULL;
        if (is_implementation(registry, *name))
            continue;
        if (!about && lines.data) /* the interpreter itself is what is wrong */
            about = find_line(lines.data, "python");
        if (!config->names)
            put_column(*name, WIDTH);
        assay_text_format(&line, "%.*s", about ? (int)strcspn(about, "\n") : 0, about ? about : "");
        put_line(config->names ? *name : line.data ? line.data : "");
        assay_text_fini(&line);
    }
    assay_text_fini(&lines);
    return status;
}

static int list_implementations(const struct list_config *config)
{
    struct assay_error err = {0};
    struct known known = {0};
    enum assay_status status = open_known(config, &known, &err);
    const assay_kernel_registry *registry = known.host.registry;
    for (int64_t i = 0; status == ASSAY_OK && i < assay_kernel_count(registry); i++) {
        const char *name = assay_kernel_at(registry, i)->implementation;
        int64_t n = count_alike(registry, i);
        if (n && config->names) {
            put_line(name);
        } else if (n) {
            put_column(name, WIDTH);
            printf("%lld kernel%s\n", (long long)n, n == 1 ? "" : "s");
        }
    }
    if (status == ASSAY_OK)
        status = list_python(config, registry, &err);
    close_known(&known);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
}

/* Of a weight matrix that is large enough for what comes once for each row not to count. */
static double bytes_per_weight(const struct assay_recipe *recipe)
{
    enum { SIDE = 4096 };
    return assay_recipe_bytes(recipe, ASSAY_DTYPE_BF16, SIDE, SIDE) / ((double)SIDE * SIDE);
}

static int list_recipes(const struct list_config *config)
{
    if (!config->names)
        printf("%-18s %-16s %12s  %s\n", "pattern", "all stands for", "bytes/weight", "");
    for (int64_t i = 0; i < assay_quant_count(); i++) {
        const struct assay_quant *quant = assay_quant_at(i);
        struct assay_recipe recipe;
        struct assay_error err = {0};
        if (assay_recipe_parse(quant->usual, &recipe, &err) != ASSAY_OK)
            return assay_complain(&err);
        if (config->names)
            puts(recipe.name);
        else
            printf("%-18s %-16s %12.3f  %s\n", quant->pattern, recipe.name,
                   bytes_per_weight(&recipe), quant->summary);
    }
    if (!config->names)
        puts("\nBytes are those of bf16 weights, scales and zeros included.");
    return ASSAY_EXIT_FINE;
}

static void print_shape(const struct assay_shape *shape)
{
    char sizes[80];
    assay_tensor_shape_text(shape->sizes, shape->n, sizes, sizeof sizes);
    printf("    %-28s %s\n", shape->label, sizes);
}

/* All shapes of a set, or of a long one both ends. */
static int print_set(const struct assay_shape_set *set)
{
    enum { LONG = 10, HEAD = 3 };
    struct assay_shapes shapes = {0};
    struct assay_error err = {0};
    if (assay_shapes_add_set(&shapes, set->name, &err) != ASSAY_OK) {
        assay_shapes_fini(&shapes);
        return assay_complain(&err);
    }
    printf("%-18s %s; %lld shapes\n", set->name, set->summary, (long long)shapes.n);
    for (int64_t i = 0; i < shapes.n; i++) {
        if (shapes.n <= LONG || i < HEAD || i == shapes.n - 1)
            print_shape(&shapes.items[i]);
        else if (i == HEAD)
            puts("    ...");
    }
    assay_shapes_fini(&shapes);
    return ASSAY_EXIT_FINE;
}

static int list_shapes(const struct list_config *config)
{
    int code = ASSAY_EXIT_FINE;
    for (int64_t i = 0; i < assay_shape_set_count() && code == ASSAY_EXIT_FINE; i++) {
        if (config->names)
            puts(assay_shape_set_at(i)->name);
        else
            code = print_set(assay_shape_set_at(i));
    }
    if (!config->names)
        puts("\nShapes are MxKxN: x is [m, k], the weights are [n, k]. Sets of powers of two take "
             "a range:\npow2:10:12 has those from 2^10 to 2^12.");
    return code;
}

static int list_models(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_model_count(); i++) {
        const struct assay_model *model = assay_model_at(i);
        if (config->names)
            puts(model->name);
        else
            printf("%-20s %s\n", model->name, model->summary);
    }
    if (!config->names)
        puts("\nThose of sizes m, k and n are measured by `assay run`, the others by `assay "
             "preset`. "
             "A\nconfiguration or a preset of your own may describe one.");
    return ASSAY_EXIT_FINE;
}

static int list_devices(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_device_count(); i++) {
        const struct assay_device_driver *driver = assay_device_at(i);
        struct assay_error why = {0};
        if (config->names) {
            puts(driver->name);
            continue;
        }
        enum assay_status status = driver->probe(&why);
        bool here = status == ASSAY_OK;
        printf("%-8s %s%s%s\n", driver->name, driver->summary, here ? "" : ": ",
               here ? "" : why.message);
        if (status == ASSAY_ERR_NOMEM)
            return assay_complain(&why);
    }
    return ASSAY_EXIT_FINE;
}

static int list_dtypes(const struct list_config *config)
{
    for (int d = 1; d < ASSAY_DTYPE_COUNT; d++) {
        const struct assay_dtype_info *info = assay_dtype_info((enum assay_dtype)d);
        if (config->names) {
            puts(info->name);
            continue;
        }
        bool whole = info->bits % 8 == 0;
        char size[32];
        snprintf(size, sizeof size, "%d %s", whole ? info->bits / 8 : info->bits,
                 !whole             ? "bits"
                 : info->bytes == 1 ? "byte"
                                    : "bytes");
        printf("%-6s %-8s %-30s also", info->name, size, info->summary);
        for (const char *const *alias = info->aliases + 1; *alias; alias++)
            printf("%s %s", alias == info->aliases + 1 ? "" : ",", *alias);
        puts("");
    }
    return ASSAY_EXIT_FINE;
}

static int list_formats(const struct list_config *config)
{
    int width = 0;
    for (int64_t i = 0; i < assay_report_count(); i++)
        width = wider(width, assay_report_at(i)->name);
    for (int64_t i = 0; i < assay_report_count(); i++) {
        const struct assay_report_format *format = assay_report_at(i);
        if (config->names)
            puts(format->name);
        else
            printf("%-*s %c%-8s %s\n", width, format->name, format->extension ? '.' : ' ',
                   format->extension ? format->extension : "", format->summary);
    }
    return ASSAY_EXIT_FINE;
}

static int list_charts(const struct list_config *config)
{
    int width = 0;
    for (int64_t i = 0; i < assay_chart_count(); i++)
        width = wider(width, assay_chart_at(i)->name);
    for (int64_t i = 0; i < assay_chart_count(); i++) {
        const struct assay_chart *chart = assay_chart_at(i);
        if (config->names)
            puts(chart->name);
        else
            printf("%-*s  %s\n", width, chart->name, chart->summary);
    }
    if (!config->names)
        puts(
            "\n--chart NAME chooses one for -o FILE.svg or FILE.png; NAME:KEY=VALUE,… says more of "
            "it:\nx=AXIS, y=AXIS, figure=time|bandwidth|speedup|ceiling|winner, state=hot|cold, "
            "row=N.");
    return ASSAY_EXIT_FINE;
}

static int list_presets(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_preset_count(); i++) {
        const struct assay_preset *preset = assay_preset_at(i);
        if (config->names)
            puts(preset->name);
        else
            printf("%-12s %s\n", preset->name, preset->summary);
    }
    if (!config->names)
        puts("\n`assay preset --list` shows their cases and parameters.");
    return ASSAY_EXIT_FINE;
}

static int list_commands(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_command_count(); i++) {
        const struct assay_command *command = assay_command_at(i);
        if (config->names)
            puts(command->name);
        else
            printf("%-8s %s\n", command->name, command->summary);
    }
    return ASSAY_EXIT_FINE;
}

static int list_runs(const struct list_config *config) { return assay_list_runs(config->names); }

static const struct {
    const char *name;
    int (*run)(const struct list_config *config);
} lists[] = {
    {"ops", list_ops},         {"kernels", list_kernels}, {"implementations", list_implementations},
    {"models", list_models},   {"presets", list_presets}, {"recipes", list_recipes},
    {"shapes", list_shapes},   {"devices", list_devices}, {"dtypes", list_dtypes},
    {"formats", list_formats}, {"charts", list_charts},   {"commands", list_commands},
    {"runs", list_runs},
};

enum { LISTS = sizeof lists / sizeof lists[0] };

const char *assay_list_name(int64_t index) { return index < LISTS ? lists[index].name : NULL; }

/* "ops, kernels, …" */
static void name_lists(char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < LISTS && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", lists[i].name);
}

static int unknown_list(const char *name)
{
    struct assay_error err = {0};
    const char *names[LISTS];
    char all[256];
    name_lists(all, sizeof all);
    for (int i = 0; i < LISTS; i++)
        names[i] = lists[i].name;
    const char *nearest = assay_text_nearest(name, names, LISTS);
    assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "cannot list \"%s\"; there are %s%s%s%s", name,
                    all, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "");
    return assay_complain(&err);
}

static void help(struct assay_text *out)
{
    char all[256];
    name_lists(all, sizeof all);
    assay_text_format(
        out,
        "assay list WHAT [OPTIONS]\n\n"
        "What there is. Kernels also say whether they run on this machine, and why others do not;\n"
        "runs are those of this user, newest first.\n"
        "WHAT is one of\n%s.\n\n",
        all);
    assay_options_help(&table, out);
}

static int run_list(int argc, char **argv)
{
    struct list_config config = {0};
    struct assay_error err = {0};
    int code = ASSAY_EXIT_USAGE;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK) {
        code = assay_complain(&err);
    } else if (config.help) {
        code = assay_print_help(assay_command_find("list"));
    } else if (config.what.n != 1) {
        char all[256];
        name_lists(all, sizeof all);
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "list takes one of %s", all);
        code = assay_complain(&err);
    } else {
        const char *name = config.what.items[0];
        int i = 0;
        while (i < LISTS && !assay_text_same(name, lists[i].name))
            i++;
        code = i < LISTS ? lists[i].run(&config) : unknown_list(name);
    }
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_list = {
    .name = "list",
    .summary =
        "ops, kernels, models, presets, recipes, shapes, devices, dtypes, formats, charts, runs, …",
    .options = &table,
    .run = run_list,
    .help = help};
