/* assay run: measures what a configuration says, in TorchAO's format. */
#include "cli/run_common.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay run CONFIG.yml [OPTIONS]\n\n"
        "Measures models with their weights stored in every way a configuration names, eager and\n"
        "compiled, each against the baseline in the same run. Configurations are those of "
        "TorchAO's\n"
        "microbenchmarks; `assay help config` explains every key. The results are a table on "
        "standard\n"
        "output and the file <output_dir>/inference/results_DDMMYYYY_HHMMSS.csv. With\n"
        "benchmark_mode: training the forward pass, the backward pass and both are measured "
        "instead.\n\n");
    assay_options_help(&assay_run_options_table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay run bench.yml\n"
                        "  assay run bench.yml --dry-run\n"
                        "  assay run bench.yml --device cpu --recipe int8wo,int4wo-128 --limit 3\n"
                        "  assay run bench.yml --shapes custom=1x4096x4096,llama --compile false\n"
                        "  assay run bench.yml --resume last\n");
}

static const char *folder_of(const struct assay_run_options *options,
                             const struct assay_run_config *config)
{
    return config->output_dir    ? config->output_dir
           : options->output_dir ? options->output_dir
                                 : "results";
}

static enum assay_status pass_over(void *user, const struct assay_record *records, int64_t n,
                                   struct assay_error *err)
{
    (void)user, (void)records, (void)n, (void)err;
    return ASSAY_OK;
}

/* A run that goes on without its file is of the mode it was planned in; what is wrong with its
 * journal is told where it is opened. */
static const char *mode_of(const struct assay_run_options *options,
                           const struct assay_run_config *config)
{
    struct assay_plan none = {0};
    const struct assay_run_hooks hooks = {.group = pass_over};
    const struct assay_run_request request = {.resume = options->measure.resume};
    struct assay_run earlier = {.request = &request, .hooks = &hooks, .plan = &none};
    int64_t mode = config->mode;
    if (!request.resume || config->n_entries)
        return assay_run_modes[mode];
    if (assay_run_read(&earlier, NULL) == ASSAY_OK && assay_run_trains(&earlier.info))
        mode = ASSAY_RUN_TRAINING;
    assay_run_close(&earlier);
    return assay_run_modes[mode];
}

/* "results/inference/results_15112026_134502.csv", in the user's own time as TorchAO has it. */
static void name_csv(const struct assay_run_options *options, const struct assay_run_config *config,
                     const char *mode, struct assay_text *out)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%d%m%Y_%H%M%S", &local);
    const char *folder = folder_of(options, config);
    assay_text_format(out, "%s/%s/results_%s.csv", folder, mode, stamp);
    for (int i = 2; out->data && access(out->data, F_OK) == 0 && i < 100; i++) {
        assay_text_clear(out); /* another run of the same second */
        assay_text_format(out, "%s/%s/results_%s_%d.csv", folder, mode, stamp, i);
    }
}

static int measure_config(const struct assay_run_options *options,
                          const struct assay_run_config *config, struct assay_plan *plan, int argc,
                          char **argv)
{
    struct assay_text path = {0}, again = {0}, folder = {0};
    const char *file = assay_run_options_file(options), *mode = mode_of(options, config);
    name_csv(options, config, mode, &path);
    assay_text_format(&folder, "%s/%s", folder_of(options, config), mode);
    assay_text_format(&again, "assay run%s%s", file ? " " : "", file ? file : "");
    if (path.failed || again.failed || folder.failed) {
        assay_text_fini(&path);
        assay_text_fini(&again);
        assay_text_fini(&folder);
        return assay_complain(&(struct assay_error){.code = ASSAY_ERR_NOMEM});
    }
    struct assay_measuring measuring = {
        .config = &options->measure,
        .outputs = {.table = "torchao",
                    .files = {{"torchao-csv", path.data, .make_folder = true}},
                    .n_files = 1,
                    .tell = true},
        .argc = argc,
        .argv = argv,
        .again = again.data,
        .models = true,
        .fewer = ASSAY_RUN_FEWER,
        .fell_back = assay_run_fell_back(config, plan),
        .origin = {.output_dir = folder.data,
                   .trains = config->mode == ASSAY_RUN_TRAINING,
                   .use_fast_accum = config->n_entries && config->entries[0].use_fast_accum},
    };
    int code = assay_measure(&measuring, plan);
    assay_text_fini(&path);
    assay_text_fini(&again);
    assay_text_fini(&folder);
    return code;
}

static int run_configuration(int argc, char **argv)
{
    static const struct assay_run_command command = {
        .name = "run", .table = &assay_run_options_table, .repeat = 1, .measure = measure_config};
    return assay_run_command(&command, argc, argv);
}

const struct assay_command assay_command_run = {.name = "run",
                                                .summary = "measure what a configuration says",
                                                .options = &assay_run_options_table,
                                                .run = run_configuration,
                                                .help = help};
