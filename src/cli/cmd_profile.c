/* assay profile: where the time of recorded profiles went; or a command that measures, with a
 * profile and its table. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/profile_show.h"

#include "base/alloc.h"
#include "config/options.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct profile_config {
    struct assay_strings words;
    const char *format, *by;
    bool ascii, help;
};

#define AT(field) offsetof(struct profile_config, field)

static const struct assay_option rows[] = {
    {"format", 'f', ASSAY_OPTION_TEXT, AT(format), "AS", "table (default), md or json", 0, 0},
    {"by", 0, ASSAY_OPTION_TEXT, AT(by), "PART",
     "rows for each node, kernel or, in training, phase; all of them (default)", 0, 0},
    {"ascii", 0, ASSAY_OPTION_FLAG, AT(ascii), NULL,
     "write the table in ASCII only; so it is by itself where the locale is not UTF-8", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = rows, .words_offset = AT(words), .words = "FILE [FILE]"};

static const char *const measuring[] = {"bench", "run", "preset", "kernel"};

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay profile FILE [FILE] [OPTIONS]\n"
        "assay profile bench|run|preset|kernel ...\n\n"
        "Says where the time went, from a trace that --profile has recorded as JSON: by node and "
        "by\n"
        "kernel the calls, their time and its share, bytes and operations per second, how near "
        "that is\n"
        "to what this machine can do, how long threads waited, and what binds. Two files are put "
        "side\n"
        "by side, node by node. With a command that measures, and all its options, that is run "
        "first,\n"
        "with --profile FILE, or with profile_DATE-TIME.json.\n\n");
    assay_options_help(&table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay profile preset transformer --threads 2\n"
                        "  assay preset transformer --profile block.json\n"
                        "  assay profile block.json --by kernel\n"
                        "  assay profile before.json after.json\n");
}

/* ---- recorded ones ---- */

static bool has_phases(const struct assay_breakdowns *profiles)
{
    for (int64_t i = 0; i < profiles->n; i++)
        if (profiles->items[i].n_phases > 0)
            return true;
    return false;
}

static enum assay_status write_profiles(const struct profile_config *config,
                                        const struct assay_breakdowns *both, struct assay_text *out,
                                        struct assay_error *err)
{
    const char *format = config->format ? config->format : "table";
    struct assay_measure_config look = {.ascii = config->ascii};
    struct assay_report_style style = assay_output_style(&look, STDOUT_FILENO);
    enum assay_profile_by by = !config->by                         ? ASSAY_PROFILE_BY_ALL
                               : strcmp(config->by, "node") == 0   ? ASSAY_PROFILE_BY_NODE
                               : strcmp(config->by, "kernel") == 0 ? ASSAY_PROFILE_BY_KERNEL
                                                                   : ASSAY_PROFILE_BY_PHASE;
    bool json = strcmp(format, "json") == 0;
    if (by == ASSAY_PROFILE_BY_PHASE && !has_phases(&both[0]))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "there are no phases: none of its variants is a model in training");
    if (both[1].n > 0)
        return assay_profile_compare(&both[0], &both[1], json, &style, out, err);
    if (json)
        assay_profile_json(&both[0], out);
    else if (strcmp(format, "md") == 0)
        assay_profile_md(&both[0], by, out);
    else
        assay_profile_table(&both[0], by, &style, out);
    return ASSAY_OK;
}

static int show_files(const struct profile_config *config, char *const *files, int64_t n)
{
    struct assay_breakdowns both[2] = {{.n = 0}, {.n = 0}};
    struct assay_text out = {0};
    struct assay_error err = {0};
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++)
        status = assay_breakdowns_read(files[i], &both[i], &err);
    if (status == ASSAY_OK)
        status = write_profiles(config, both, &out, &err);
    for (int i = 0; i < 2; i++)
        assay_breakdowns_fini(&both[i]);
    if (status == ASSAY_OK)
        return assay_print_text(&out);
    assay_text_fini(&out);
    return assay_complain(&err);
}

static enum assay_status check_one_of(const char *option, const char *value,
                                      const char *const names[3], struct assay_error *err)
{
    for (int i = 0; value && i < 3; i++)
        if (strcmp(value, names[i]) == 0)
            return ASSAY_OK;
    return !value ? ASSAY_OK
                  : assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                    "--%s takes %s, %s or %s, not \"%s\"", option, names[0],
                                    names[1], names[2], value);
}

static int show(const struct profile_config *config)
{
    static const char *const formats[] = {"table", "md", "json"};
    static const char *const parts[] = {"node", "kernel", "phase"};
    struct assay_error err = {0};
    enum assay_status status = check_one_of("format", config->format, formats, &err);
    if (status == ASSAY_OK)
        status = check_one_of("by", config->by, parts, &err);
    if (status == ASSAY_OK && (config->words.n < 1 || config->words.n > 2))
        status = assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                                 "profile takes one trace or two, or a command that measures: "
                                 "bench, run, preset, kernel");
    if (status == ASSAY_OK && config->words.n == 2 && config->format &&
        strcmp(config->format, "md") == 0)
        status = assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                                 "two profiles are put side by side as table or json, not as md");
    return status == ASSAY_OK ? show_files(config, config->words.items, config->words.n)
                              : assay_complain(&err);
}

/* ---- measuring first ---- */

static bool measures(const char *word)
{
    for (size_t i = 0; i < sizeof measuring / sizeof measuring[0]; i++)
        if (strcmp(word, measuring[i]) == 0)
            return true;
    return false;
}

static bool is_trace(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && strcmp(dot, ".json") == 0;
}

/* The trace that the command's own options name; NULL: none. */
static const char *trace_named(int argc, char **argv)
{
    const char *found = NULL;
    for (int i = 0; i < argc; i++) {
        size_t length = strlen("--profile");
        if (strncmp(argv[i], "--profile", length) != 0)
            continue;
        bool behind = i + 1 < argc && argv[i + 1][0] != '-' && strrchr(argv[i + 1], '.');
        if (argv[i][length] == '=')
            found = argv[i] + length + 1;
        else if (!argv[i][length] && behind)
            found = argv[i + 1];
    }
    return found;
}

/* Runs `assay WORDS --profile=PATH`. */
static int measure_into(int argc, char **argv, const char *path)
{
    const struct assay_command *command = assay_command_find(argv[0]);
    struct assay_text option = {0};
    char **words = assay_calloc((size_t)argc + 2, sizeof *words);
    int code = ASSAY_EXIT_MACHINE;
    assay_text_format(&option, "--profile=%s", path);
    if (words && !option.failed) {
        memcpy(words, argv, (size_t)argc * sizeof *words);
        words[argc] = option.data;
        code = command->run(argc + 1, words);
    } else {
        code = assay_complain(&(struct assay_error){.code = ASSAY_ERR_NOMEM});
    }
    assay_free(words);
    assay_text_fini(&option);
    return code;
}

/* A trace of no calls has nothing to tell: why is said already. */
static int show_measured(const char *path)
{
    const struct profile_config plain = {0};
    char *file = (char *)(uintptr_t)path;
    if (access(path, R_OK) != 0)
        return ASSAY_EXIT_FINE;
    puts("");
    return show_files(&plain, &file, 1);
}

/* "profile_20261119-221500.json", which is kept: a table is not all that a trace shows. */
static void name_now(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, size, "profile_%Y%m%d-%H%M%S.json", &utc);
}

static int measure_and_show(int argc, char **argv)
{
    struct assay_error err = {0};
    char name[64];
    const char *trace = trace_named(argc, argv);
    if (trace && !is_trace(trace)) {
        assay_error_set(&err, ASSAY_ERR_INVALID, trace,
                        "a table is made of a trace in JSON: name a file that ends in .json");
        return assay_complain(&err);
    }
    name_now(name, sizeof name);
    int code =
        trace ? assay_command_find(argv[0])->run(argc, argv) : measure_into(argc, argv, name);
    int shown = show_measured(trace ? trace : name);
    return code != ASSAY_EXIT_FINE ? code : shown;
}

static int run_profile(int argc, char **argv)
{
    struct profile_config config = {0};
    struct assay_error err = {0};
    int code;
    if (argc > 1 && measures(argv[1]))
        return measure_and_show(argc - 1, argv + 1);
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.help)
        code = assay_print_help(assay_command_find("profile"));
    else
        code = show(&config);
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_profile = {.name = "profile",
                                                    .summary = "where the time went",
                                                    .options = &table,
                                                    .run = run_profile,
                                                    .help = help};
