/* assay preset: named cases with counters of their work, as KoBench has them. The program does the
 * same under the name kobench. */
#include "cli/command.h"
#include "cli/measure.h"
#include "cli/preset_plugin.h"
#include "cli/preset_python.h"
#include "config/preset_plan.h"

#include <stdio.h>
#include <string.h>

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay preset PRESET... [OPTIONS]\n\n"
        "Measures the cases of presets: attention, MLPs, convolutions, norms, whole blocks, each\n"
        "verified, with its time, memory, and the multiply-adds (MACs) and other operations "
        "(FLOPs)\n"
        "it counts. PRESET is attn, mlp, conv, norm, transformer, sdres, all, or your own: a YAML\n"
        "file, a shared object, or a file or module of Python, as KoBench has them "
        "(docs/presets.md).\n"
        "Each case is measured until it is known to 1 %, or for half a second; with --warmup or\n"
        "--iters exactly N times (8 and 32 where only the other is given). Also installed as\n"
        "`kobench`, which measures attn where no preset is named, and always takes 8 and 32 "
        "unless\n"
        "--precision or --budget is given.\n\n");
    assay_options_help(&assay_preset_options_table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay preset --list\n"
                        "  assay preset attn mlp --device cuda --compile\n"
                        "  assay preset attn --set seq_len=1024:8192:x2 --set num_heads=32\n"
                        "  assay preset all --warmup 8 --iters 32 -o kobench-json:results.json\n"
                        "  assay preset ./mine.yml --set hidden_dim=4096\n");
}

/* Those that are named, or all that are built in. */
static int print_list(const struct assay_preset_choice *choice)
{
    struct assay_text text = {0};
    for (int64_t i = 0; i < choice->n; i++)
        assay_preset_describe(choice->items[i], &text);
    for (int64_t i = 0; i < assay_preset_count() && !choice->n; i++)
        assay_preset_describe(assay_preset_at(i), &text);
    return assay_print_text(&text);
}

static int measure_presets(const struct assay_preset_options *options,
                           const struct assay_preset_choice *choice, int argc, char **argv)
{
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    struct assay_measuring measuring = {
        .config = &options->measure,
        .outputs = {.table = "kobench"},
        .argc = argc,
        .argv = argv,
        .again = "assay preset",
        .models = true,
    };
    if (options->measure.resume && choice->n)
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "a resumed run keeps the plan it had; leave out \"%.60s\"",
                        choice->items[0]->name);
    else if (!options->measure.resume)
        assay_preset_plan(options, choice, &plan, assay_warn, &err);
    return err.code == ASSAY_OK ? assay_measure(&measuring, &plan) : assay_complain(&err);
}

/* What KoBench does where nobody says otherwise. */
static enum assay_status kobench_defaults(struct assay_preset_options *o, struct assay_error *err)
{
    struct assay_measure_config *m = &o->measure;
    bool named = o->words.n || o->presets.n;
    if (!m->warmup && !m->rounds && m->precision <= 0 && m->budget_s <= 0) {
        m->warmup = ASSAY_PRESET_WARMUP;
        m->rounds = ASSAY_PRESET_ITERS;
    }
    if (named || o->list || m->resume || m->help)
        return ASSAY_OK;
    return assay_strings_add(&o->presets, "attn") == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}

static int run_preset(int argc, char **argv)
{
    static char preset[] = "preset"; /* what stands in records is what one types to assay */
    bool kobench = strcmp(argv[0], "kobench") == 0;
    struct assay_preset_options options;
    struct assay_preset_choice choice = {0};
    struct assay_error err = {0};
    int code;
    assay_preset_options_init(&options);
    enum assay_status status =
        assay_options_parse(&assay_preset_options_table, argc - 1, argv + 1, &options, &err);
    if (status == ASSAY_OK && kobench)
        status = kobench_defaults(&options, &err);
    argv[0] = preset;
    bool plugin = status == ASSAY_OK && assay_preset_plugin_named(&options);
    bool python = status == ASSAY_OK && assay_preset_python_named(&options);
    if (status == ASSAY_OK && !options.measure.help && !plugin && !python)
        status = assay_preset_choose(&options, &choice, &err);
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    else if (options.measure.help)
        code = assay_print_help(assay_command_find("preset"));
    else if (python)
        code = assay_preset_python_run(&options, argc, argv);
    else if (plugin)
        code = assay_preset_plugin_run(&options);
    else if (options.list)
        code = print_list(&choice);
    else
        code = measure_presets(&options, &choice, argc, argv);
    assay_preset_choice_fini(&choice);
    assay_preset_options_fini(&options);
    return code;
}

const struct assay_command assay_command_preset = {.name = "preset",
                                                   .summary = "measure named cases, as KoBench",
                                                   .options = &assay_preset_options_table,
                                                   .run = run_preset,
                                                   .help = help};
