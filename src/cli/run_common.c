#include "cli/run_common.h"

#include "cli/dry_run.h"
#include "device/device.h"

int assay_print_config_reference(void)
{
    struct assay_text text = {0};
    assay_run_config_reference(&text);
    return assay_print_text(&text);
}

bool assay_run_fell_back(const struct assay_run_config *config, const struct assay_plan *plan)
{
    for (int64_t i = 0; i < plan->n_groups; i++)
        if (!assay_device_is_host(plan->groups[i].device))
            return false;
    for (int64_t i = 0; i < config->n_entries; i++)
        if (!assay_device_is_host(config->entries[i].device))
            return true;
    return false;
}

/* A resumed run keeps its plan; the configuration, where one is named, says where results go. */
static enum assay_status prepare(const struct assay_run_options *options,
                                 struct assay_run_config *config, struct assay_plan *plan,
                                 struct assay_error *err)
{
    bool resume = options->measure.resume;
    if (resume && options->dry_run)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--dry-run shows what a configuration would measure; --resume goes "
                               "on with a plan that is made");
    if (resume && !assay_run_options_file(options))
        return ASSAY_OK;
    enum assay_status status = assay_run_options_read(options, config, err);
    if (status == ASSAY_OK)
        status = assay_run_plan(options, config, plan, assay_warn, err);
    if (resume)
        assay_plan_fini(plan);
    return status;
}

static int act(const struct assay_run_command *command, const struct assay_run_options *options,
               int argc, char **argv)
{
    struct assay_run_config config = {0};
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    int code;
    if (prepare(options, &config, &plan, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (options->dry_run)
        code = assay_dry_run_print(&plan, options->repeat);
    else
        code = command->measure(options, &config, &plan, argc, argv);
    assay_plan_fini(&plan);
    assay_run_config_fini(&config);
    return code;
}

int assay_run_command(const struct assay_run_command *command, int argc, char **argv)
{
    struct assay_run_options options;
    struct assay_error err = {0};
    int code;
    assay_run_options_init(&options);
    options.repeat = command->repeat;
    options.lenient = command->lenient;
    if (assay_options_parse(command->table, argc - 1, argv + 1, &options, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (options.measure.help)
        code = assay_print_help(assay_command_find(command->name));
    else if (options.help_config)
        code = assay_print_config_reference();
    else
        code = act(command, &options, argc, argv);
    assay_run_options_fini(&options);
    return code;
}
