/* assay list: what there is: ops, kernels, devices, dtypes, formats. */
#include "cli/command.h"
#include "config/options.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

struct list_config {
    struct assay_strings what;
    struct assay_strings plugins;
    bool names, help;
};

static const struct assay_option option_rows[] = {
    {"names", 0, ASSAY_OPTION_FLAG, offsetof(struct list_config, names), NULL,
     "only the names, one a line", 0, 0},
    {"plugin", 0, ASSAY_OPTION_REPEAT, offsetof(struct list_config, plugins), "FILE",
     "also the kernels of a shared object; repeatable", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, offsetof(struct list_config, help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = option_rows, .words_offset = offsetof(struct list_config, what), .words = "WHAT"};

static int list_ops(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (config->names) {
            puts(op->name);
            continue;
        }
        printf("%-16s %s", op->name, op->summary);
        for (const char *const *alias = op->aliases; alias && *alias; alias++)
            printf("%s%s", alias == op->aliases ? "  (also " : ", ", *alias);
        puts(op->aliases ? ")" : "");
    }
    return ASSAY_EXIT_FINE;
}

static void print_dtypes(uint64_t dtypes)
{
    char text[64] = "";
    for (int d = 1; d < ASSAY_DTYPE_COUNT; d++)
        if (dtypes & ASSAY_DTYPE_BIT(d)) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "",
                     assay_dtype_name((enum assay_dtype)d));
        }
    printf("%-14s", text);
}

static int list_kernels(const struct list_config *config)
{
    struct assay_error err = {0};
    assay_kernel_registry *registry = assay_kernel_registry_create();
    enum assay_status status = registry ? ASSAY_OK : ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < config->plugins.n && status == ASSAY_OK; i++)
        status = assay_kernel_add_plugin(registry, config->plugins.items[i], &err);
    for (int64_t i = 0; status == ASSAY_OK && i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        struct assay_error why = {0};
        if (config->names) {
            puts(kernel->name);
            continue;
        }
        printf("%-26s %-8s %-6s ", kernel->name, kernel->implementation, kernel->device);
        print_dtypes(kernel->dtypes);
        puts(assay_kernel_can_run(kernel, NULL, &why) == ASSAY_OK ? "runs here" : why.message);
    }
    assay_kernel_registry_destroy(registry);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
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
        bool here = driver->probe(&why) == ASSAY_OK;
        printf("%-8s %s%s%s\n", driver->name, driver->summary, here ? "" : ": ",
               here ? "" : why.message);
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
        printf("%-6s %zu bytes  %-30s also", info->name, info->bytes, info->summary);
        for (const char *const *alias = info->aliases + 1; *alias; alias++)
            printf("%s %s", alias == info->aliases + 1 ? "" : ",", *alias);
        puts("");
    }
    return ASSAY_EXIT_FINE;
}

static int list_formats(const struct list_config *config)
{
    for (int64_t i = 0; i < assay_report_count(); i++) {
        const struct assay_report_format *format = assay_report_at(i);
        if (config->names)
            puts(format->name);
        else
            printf("%-14s %c%-8s %s\n", format->name, format->extension ? '.' : ' ',
                   format->extension ? format->extension : "", format->summary);
    }
    return ASSAY_EXIT_FINE;
}

static const struct {
    const char *name;
    int (*run)(const struct list_config *config);
} lists[] = {{"ops", list_ops},
             {"kernels", list_kernels},
             {"devices", list_devices},
             {"dtypes", list_dtypes},
             {"formats", list_formats}};

enum { LISTS = sizeof lists / sizeof lists[0] };

static int unknown_list(const char *name)
{
    struct assay_error err = {0};
    const char *names[LISTS];
    for (int i = 0; i < LISTS; i++)
        names[i] = lists[i].name;
    const char *nearest = assay_text_nearest(name, names, LISTS);
    assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                    "cannot list \"%s\"; ops, kernels, devices, dtypes or formats%s%s%s", name,
                    nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "");
    return assay_complain(&err);
}

static void help(struct assay_text *out)
{
    assay_text_add(out, "assay list ops|kernels|devices|dtypes|formats [OPTIONS]\n\n"
                        "What there is. Kernels also say whether they run on this machine, and why "
                        "others do not.\n\n");
    assay_options_help(&table, out);
}

static int run(int argc, char **argv)
{
    struct list_config config = {0};
    struct assay_error err = {0};
    int code = ASSAY_EXIT_USAGE;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK) {
        code = assay_complain(&err);
    } else if (config.help) {
        code = assay_print_help(assay_command_find("list"));
    } else if (config.what.n != 1) {
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "list takes one of ops, kernels, devices, dtypes, formats");
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
    .name = "list", .summary = "ops, kernels, devices, dtypes, formats", .run = run, .help = help};
