/* assay ci: the same as assay run, for a machine that keeps records: each group several times, and
 * the results as the PyTorch OSS benchmark database takes them. */
#include "cli/run_common.h"

#include <stdio.h>
#include <stdlib.h>

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay ci --config FILE [OPTIONS]\n\n"
        "Measures what a configuration says (`assay help run`) and writes records for the PyTorch\n"
        "OSS benchmark database. A case that failed has no record; it is named on standard error, "
        "and\n"
        "the exit code is 1. Keys and recipes of the file that nobody knows are passed over with "
        "a\n"
        "warning (`assay run --lenient` does the same).\n\n");
    assay_options_help(&assay_ci_options_table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay ci --config bench.yml --output benchmark_results.json\n"
                        "  assay ci --config bench.yml --repeat 5 --github-summary\n"
                        "  assay ci --config bench.yml --dry-run\n");
}

static bool is_elsewhere(const char *recipe)
{
    struct assay_recipe parsed;
    return assay_recipe_parse(recipe, &parsed, NULL) == ASSAY_UNSUPPORTED;
}

/* Recipes that assay does not have, once for the whole run. */
static void name_recipes(const struct assay_recipe_list *recipes)
{
    for (int64_t i = 0; i < recipes->n; i++) {
        struct assay_recipe parsed;
        struct assay_error why = {0};
        struct assay_text text = {0};
        if (assay_recipe_parse(recipes->items[i].name, &parsed, &why) != ASSAY_UNSUPPORTED)
            continue;
        assay_text_format(&text, "no records of %s: %s", recipes->items[i].name, why.message);
        assay_warn(text.failed ? why.message : text.data);
        assay_text_fini(&text);
    }
}

/* Cases that will be missing from the records: those that failed, and those that could not be. */
static void name_missing(const struct assay_record *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct assay_record *r = &records[i];
        if (r->outcome == ASSAY_OUTCOME_OK || is_elsewhere(r->recipe[0] ? r->recipe : NULL))
            continue;
        struct assay_text text = {0};
        assay_text_format(&text, "no record of %s %s", r->entry,
                          r->recipe[0] ? r->recipe : "baseline");
        for (int32_t k = 0; k < r->n_axes; k++)
            assay_text_format(&text, "-%lld", (long long)r->axes[k]);
        if (r->implementation[0])
            assay_text_format(&text, " (%s)", r->implementation);
        assay_text_format(&text, ": %s%s%s", assay_outcome_name(r->outcome),
                          r->reason[0] ? ": " : "", r->reason);
        assay_warn(text.failed ? "a case is missing, and there is no memory to say which"
                               : text.data);
        assay_text_fini(&text);
    }
}

/* The file the summary goes to, behind what others wrote where the environment names it. */
static enum assay_status find_summary(const struct assay_run_options *options,
                                      struct assay_outputs_wanted *wanted, struct assay_error *err)
{
    const char *path = options->github_summary;
    if (!path)
        return ASSAY_OK;
    bool append = !path[0];
    if (append)
        path = getenv("GITHUB_STEP_SUMMARY");
    if (!path || !path[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--github-summary: GITHUB_STEP_SUMMARY is not set here; name a "
                               "file, --github-summary FILE");
    wanted->files[wanted->n_files++] =
        (struct assay_output_file){.format = "github", .path = path, .append = append};
    return ASSAY_OK;
}

static int measure_config(const struct assay_run_options *options,
                          const struct assay_run_config *config, struct assay_plan *plan, int argc,
                          char **argv)
{
    struct assay_error err = {0};
    struct assay_text again = {0};
    struct assay_measuring measuring = {
        .config = &options->measure,
        .outputs = {.table = "torchao", .file_format = "pytorch", .tell = true},
        .argc = argc,
        .argv = argv,
        .models = true,
        .fewer = ASSAY_RUN_FEWER,
        .fell_back = assay_run_fell_back(config, plan),
        .repeats = true,
        .group = name_missing,
        .origin = {.trains = config->mode == ASSAY_RUN_TRAINING,
                   .use_fast_accum = config->n_entries && config->entries[0].use_fast_accum},
    };
    name_recipes(&config->recipes);
    if (!options->measure.outputs.n)
        measuring.outputs.files[measuring.outputs.n_files++] =
            (struct assay_output_file){.format = "pytorch", .path = "benchmark_results.json"};
    if (find_summary(options, &measuring.outputs, &err) != ASSAY_OK)
        return assay_complain(&err);
    assay_text_format(&again, "assay ci%s%s", options->config ? " --config " : "",
                      options->config ? options->config : "");
    measuring.again = again.failed ? "assay ci" : again.data;
    int code = assay_measure(&measuring, plan);
    assay_text_fini(&again);
    return code;
}

static int run_ci(int argc, char **argv)
{
    static const struct assay_run_command command = {.name = "ci",
                                                     .table = &assay_ci_options_table,
                                                     .repeat = 3,
                                                     .lenient = true,
                                                     .measure = measure_config};
    return assay_run_command(&command, argc, argv);
}

const struct assay_command assay_command_ci = {.name = "ci",
                                               .summary = "the same, as records for a dashboard",
                                               .options = &assay_ci_options_table,
                                               .run = run_ci,
                                               .help = help};
