/* assay bench: compares implementations of ops. */
#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/measure.h"
#include "config/sweep.h"

#include <string.h>

/* "1024x1024x1024 and 1x4096x4096" */
static void add_shapes(const struct assay_op *op, struct assay_text *out)
{
    for (const char *c = op->usual_shapes ? op->usual_shapes : ""; *c; c++)
        if (*c == ',')
            assay_text_add(out, " and ");
        else
            assay_text_append(out, c, 1);
}

/* The op's sentence, or the usual one, with its sizes filled in. */
static void add_sentence(const struct assay_op *op, struct assay_text *out)
{
    char order[80];
    const char *rest = op->help;
    assay_op_order(op, order, sizeof order);
    if (!rest)
        rest = !op->usual_shapes ? "@OP@ takes --shape @ORDER@."
                                 : "@OP@ takes --shape @ORDER@, @SHAPES@ where not given.";
    for (const char *at = strchr(rest, '@'); at; at = strchr(rest, '@')) {
        assay_text_append(out, rest, (size_t)(at - rest));
        if (strncmp(at, "@SHAPES@", 8) == 0)
            add_shapes(op, out);
        else
            assay_text_add(out, strncmp(at, "@OP@", 4) == 0 ? op->name : order);
        rest = strchr(at + 1, '@') + 1;
    }
    assay_text_add(out, rest);
}

/* Breaks lines between words, so that none is longer than this. */
static void add_wrapped(const char *words, struct assay_text *out)
{
    enum { WIDTH = 90 };
    size_t column = 0;
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " \n"), gap = column ? 1 : 0;
        if (column + gap + length > WIDTH) {
            assay_text_add(out, "\n");
            column = gap = 0;
        }
        assay_text_append(out, " ", gap);
        assay_text_append(out, at, length);
        column += gap + length;
        at += length;
        if (*at == '\n') {
            assay_text_add(out, "\n\n");
            column = 0;
        }
        at += *at != '\0';
    }
}

/* What is said of ops whose sizes are not batch, seq and dim. */
static void add_ops(struct assay_text *out)
{
    struct assay_text text = {0};
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        bool told = op->help ? op->help[0] != '\0' : !assay_op_is_of_rows(op);
        if (told && text.length && !(op->help && op->help[0] == '\n'))
            assay_text_add(&text, " ");
        if (told)
            add_sentence(op, &text);
    }
    out->failed |= text.failed;
    if (text.data)
        add_wrapped(text.data, out);
    assay_text_add(out, "\n\n");
    assay_text_fini(&text);
}

static void help(struct assay_text *out)
{
    assay_text_add(
        out, "assay bench [OP...] [OPTIONS]\n\n"
             "Measures every implementation of an op on the same work, verified, hot and cold.\n\n"
             "  without OP and sizes     a tour of half a minute\n"
             "  OP without sizes         a minute: batch x seq of " ASSAY_SWEEP_USUAL_ROWS
             ", each\n                           with dim " ASSAY_SWEEP_USUAL_DIMS "\n"
             "  --sweep                  112 groups for each op: batch " ASSAY_SWEEP_BATCH
             ",\n                           seq " ASSAY_SWEEP_SEQ ", dim " ASSAY_SWEEP_DIM "\n"
             "  some of --batch, --seq   those; what is not given is as with --sweep\n"
             "  and --dim\n\n"
             "Ops not given: layernorm, gelu, silu and the losses.\n\n");
    add_ops(out);
    assay_options_help(&assay_bench_options, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay bench softmax --batch 8 --seq 512 --dim 1000,1024 --cache cold\n"
                        "  assay bench gelu --dtype bf16 --kernel all --threads 1 -o gelu.csv\n"
                        "  assay bench linear --shape 1x4096x4096 --recipe all --dtype bf16\n"
                        "  assay bench linear --shapes llama,pow2:10:12 --mode none,bias+gelu\n"
                        "  assay bench gelu,silu --sweep --dry-run\n"
                        "  assay bench --resume last\n");
}

/* What is wrong with the options is told at once. */
static enum assay_status make_plan(const struct assay_bench_config *config, struct assay_plan *plan,
                                   struct assay_error *err)
{
    if (config->measure.resume && config->dry_run)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--dry-run shows what would be measured; --resume goes on with a "
                               "plan that is made");
    if (!config->measure.resume)
        return assay_bench_plan(config, plan, assay_warn, err);
    if (config->ops.n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "a resumed run keeps the plan it had; leave out \"%s\"",
                               config->ops.items[0]);
    return ASSAY_OK;
}

static int measure(const struct assay_bench_config *config, struct assay_plan *plan, int argc,
                   char **argv)
{
    struct assay_measuring measuring = {
        .config = &config->measure,
        .outputs = {.table = "table"},
        .argc = argc,
        .argv = argv,
        .again = "assay bench",
        .fewer = "--dry-run shows them, --shape names fewer",
    };
    return assay_measure(&measuring, plan);
}

static int run_bench(int argc, char **argv)
{
    struct assay_bench_config config;
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    int code;
    assay_bench_config_init(&config);
    enum assay_status status =
        assay_options_parse(&assay_bench_options, argc - 1, argv + 1, &config, &err);
    if (status == ASSAY_OK && !config.measure.help)
        status = make_plan(&config, &plan, &err);
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.measure.help)
        code = assay_print_help(assay_command_find("bench"));
    else if (config.dry_run)
        code = assay_dry_run_print(&plan, 1);
    else
        code = measure(&config, &plan, argc, argv);
    assay_plan_fini(&plan);
    assay_bench_config_fini(&config);
    return code;
}

const struct assay_command assay_command_bench = {.name = "bench",
                                                  .summary = "compare implementations of ops",
                                                  .options = &assay_bench_options,
                                                  .run = run_bench,
                                                  .help = help};
