/* assay help, and what assay says when it is called with nothing. */
#include "base/version.h"
#include "cli/run_common.h"

#include <stdio.h>
#include <string.h>

static void help(struct assay_text *out)
{
    assay_text_format(
        out,
        "assay %s: the truth about deep-learning kernels: is it right, how fast is it\n"
        "really, how close is that to what this machine can do, and which is best.\n\n"
        "Try:\n"
        "  assay bench                        a tour of half a minute\n"
        "  assay bench layernorm --batch 32 --seq 512 --dim 768 --dtype f32,bf16\n"
        "  assay run examples/quick.yml        what a configuration says\n"
        "  assay preset attn mlp              named cases with their MACs, FLOPs and memory\n"
        "  assay info --calibrate             what this machine can do, measured\n\n"
        "Commands:\n",
        ASSAY_VERSION);
    for (int64_t i = 0; i < assay_command_count(); i++)
        assay_text_format(out, "  %-8s %s\n", assay_command_at(i)->name,
                          assay_command_at(i)->summary);
    assay_text_add(
        out, "\n`assay help COMMAND` tells more, `assay help config` every key of a "
             "configuration;\n`assay --version` the version.\n"
             "Exit codes: 0 all fine; 1 some variant wrong, impossible, crashed, killed or "
             "timed out,\nor results that could not be written; 2 bad usage or configuration; 3 "
             "this machine cannot; 130 interrupted.\n");
}

static int run_help(int argc, char **argv)
{
    if (argc < 2)
        return assay_print_help(assay_command_find("help"));
    if (strcmp(argv[1], "config") == 0)
        return assay_print_config_reference();
    const struct assay_command *command = assay_command_find(argv[1]);
    if (command)
        return assay_print_help(command);
    struct assay_error err = {0};
    const char *names[32];
    int64_t n = 0;
    for (; n < assay_command_count() && n < 32; n++)
        names[n] = assay_command_at(n)->name;
    const char *nearest = assay_text_nearest(argv[1], names, n);
    assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "unknown command \"%s\"%s%s%s", argv[1],
                    nearest ? "; did you mean \"" : "; `assay help` shows them all",
                    nearest ? nearest : "", nearest ? "\"?" : "");
    return assay_complain(&err);
}

const struct assay_command assay_command_help = {
    .name = "help", .summary = "what the commands do", .run = run_help, .help = help};
