/* assay help, and what assay says when it is called with nothing. Also what is made from the option
 * rows: completion scripts and the man page. */
#include "base/folder.h"
#include "base/version.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/run_common.h"

#include <string.h>

struct help_config {
    struct assay_strings words;
    const char *completion, *man;
    bool help;
};

static const struct assay_option option_rows[] = {
    {"completion", 0, ASSAY_OPTION_TEXT, offsetof(struct help_config, completion), "SHELL",
     "print a completion script: source <(assay help --completion bash); bash, zsh or fish", 0, 0},
    {"man", 0, ASSAY_OPTION_TEXT, offsetof(struct help_config, man), "FILE",
     "print the man page made from FILE (docs/assay.1.in) and the options of all commands", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, offsetof(struct help_config, help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {.options = option_rows,
                                                .words_offset = offsetof(struct help_config, words),
                                                .words = "[COMMAND]"};

static void help(struct assay_text *out)
{
    assay_text_format(
        out,
        "assay %s: the truth about deep-learning kernels: is it right, how fast is it\n"
        "really, how close is that to what this machine can do, and which is best.\n\n"
        "Try:\n"
        "  assay bench                        a tour of half a minute\n"
        "  assay bench layernorm --batch 32 --seq 512 --dim 768 --dtype f32,bf16\n"
        "  assay run CONFIG.yml               the models, shapes and recipes of a configuration\n"
        "  assay preset attn mlp              named cases with their MACs, FLOPs and memory\n"
        "  assay compare last~1 last          what has changed since the run before\n"
        "  assay info --calibrate             what this machine can do, measured\n\n"
        "Commands:\n",
        ASSAY_VERSION);
    for (int64_t i = 0; i < assay_command_count(); i++)
        assay_text_format(out, "  %-8s %s\n", assay_command_at(i)->name,
                          assay_command_at(i)->summary);
    assay_text_add(out, "\n`assay help COMMAND` tells more, `assay help config` every key of a "
                        "configuration;\n`assay --version` the version. Options of help:\n\n");
    assay_options_help(&table, out);
    assay_text_add(
        out,
        "\nExit codes: 0 all fine; 1 some variant wrong, impossible, crashed, killed or "
        "timed out,\nor results that could not be written; 2 bad usage or configuration; 3 "
        "this machine cannot,\nor every row is skipped or unsupported; 4 compare --fail-slower: "
        "a row is slower, wrong or\ngone; 130 interrupted.\n");
}

static int print_completion(const char *shell)
{
    struct assay_text text = {0};
    struct assay_error err = {0};
    if (assay_completion_write(shell, &text, &err) == ASSAY_OK)
        return assay_print_text(&text);
    assay_text_fini(&text);
    return assay_complain(&err);
}

static int print_man_page(const char *path)
{
    enum { MOST_BYTES = 1 << 20 };
    struct assay_text page = {0}, text = {0};
    struct assay_error err = {0};
    int code = ASSAY_EXIT_USAGE;
    if (assay_folder_read_file(path, MOST_BYTES, &page, &err) != ASSAY_OK) {
        code = assay_complain(&err);
    } else {
        assay_man_page_write(page.data ? page.data : "", &text);
        code = assay_print_text(&text);
    }
    assay_text_fini(&page);
    return code;
}

static int print_topic(const char *name)
{
    if (strcmp(name, "config") == 0)
        return assay_print_config_reference();
    const struct assay_command *command = assay_command_find(name);
    return command ? assay_print_help(command) : assay_command_unknown(name);
}

static int run_help(int argc, char **argv)
{
    struct help_config config = {0};
    struct assay_error err = {0};
    int code;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.completion)
        code = print_completion(config.completion);
    else if (config.man)
        code = print_man_page(config.man);
    else
        code = print_topic(config.words.n && !config.help ? config.words.items[0] : "help");
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_help = {.name = "help",
                                                 .summary = "what the commands do",
                                                 .options = &table,
                                                 .run = run_help,
                                                 .help = help};
