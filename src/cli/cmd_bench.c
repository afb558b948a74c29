/* assay bench: compares implementations of ops. */
#include "cli/command.h"
#include "cli/measure.h"
#include "config/bench_config.h"

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay bench [OP...] [OPTIONS]\n\n"
        "Measures every implementation of an op on the same work, verified, hot and cold. "
        "Without OP\nand sizes: a tour of half a minute. Sizes not given: batch 16:128:x2, seq "
        "256:2048:x2, dim\n8:512:x2. Ops not given: layernorm, gelu, silu and the losses.\n\n"
        "linear is y = x W^T, x [m, k], W [n, k]: its sizes are --shape MxKxN, 1024x1024x1024 and\n"
        "1x4096x4096 where not given; --recipe has its weights stored in fewer bits. quantize and\n"
        "dequantize take --shape MxK, 1024x4096 where not given. attention takes --shape\n"
        "BATCHxSEQxHEADSxDIM, 4x1024x16x64 where not given.\n\n"
        "Images have their channels last. conv2d takes --shape\n"
        "BATCHxHEIGHTxWIDTHxINxOUTxKERNELxSTRIDE, 4x64x64x128x256x3x1 where not given,\n"
        "depthwise_conv2d BATCHxHEIGHTxWIDTHxCHANNELSxKERNELxSTRIDE, 4x64x64x256x3x1; padding is\n"
        "half the kernel, or what --mode padN says. groupnorm takes\n"
        "BATCHxHEIGHTxWIDTHxCHANNELSxGROUPS, 4x64x64x256x32 where not given.\n\n");
    assay_options_help(&assay_bench_options, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay bench softmax --batch 8 --seq 512 --dim 1000,1024 --cache cold\n"
                        "  assay bench gelu --dtype bf16 --kernel all --threads 1 -o gelu.csv\n"
                        "  assay bench linear --shape 1x4096x4096 --recipe all --dtype bf16\n"
                        "  assay bench linear --shapes llama,pow2:10:12 --mode none,bias+gelu\n"
                        "  assay bench --resume last\n");
}

/* What is wrong with the options is told at once. */
static enum assay_status make_plan(const struct assay_bench_config *config, struct assay_plan *plan,
                                   struct assay_error *err)
{
    if (!config->measure.resume)
        return assay_bench_plan(config, plan, assay_warn, err);
    if (config->ops.n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "a resumed run keeps the plan it had; leave out \"%s\"",
                               config->ops.items[0]);
    return ASSAY_OK;
}

static int run(int argc, char **argv)
{
    struct assay_bench_config config;
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    int code;
    assay_bench_config_init(&config);
    struct assay_measuring measuring = {
        .config = &config.measure,
        .outputs = {.table = "table"},
        .argc = argc,
        .argv = argv,
        .again = "assay bench",
    };
    enum assay_status status =
        assay_options_parse(&assay_bench_options, argc - 1, argv + 1, &config, &err);
    if (status == ASSAY_OK && !config.measure.help)
        status = make_plan(&config, &plan, &err);
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.measure.help)
        code = assay_print_help(assay_command_find("bench"));
    else
        code = assay_measure(&measuring, &plan);
    assay_bench_config_fini(&config);
    return code;
}

const struct assay_command assay_command_bench = {.name = "bench",
                                                  .summary = "compare implementations of ops",
                                                  .options = &assay_bench_options,
                                                  .run = run,
                                                  .help = help};
