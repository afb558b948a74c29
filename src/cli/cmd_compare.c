/* assay compare: two runs, or files of results, row by row. */
#include "base/folder.h"
#include "cli/command.h"
#include "cli/output.h"
#include "compare/compare.h"
#include "config/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct compare_config {
    struct assay_strings runs;
    const char *format;
    struct assay_strings outputs;
    double allowed; /* < 0: no gate */
    bool ascii, help;
};

#define AT(member) offsetof(struct compare_config, member)

static const struct assay_option option_rows[] = {
    {"fail-slower", 0, ASSAY_OPTION_FRACTION, AT(allowed), "P",
     "exit code 4 where a row is slower than this allows, became wrong or is gone: 5% (default: "
     "never)",
     0, 1},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(format), "table|json|csv|md",
     "of standard output, and of --output instead of its extension (default table)", 0, 0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(outputs), "FILE",
     "write FILE, by its extension .json, .csv, .md, or else as a table; repeatable", 0, 0},
    {"ascii", 0, ASSAY_OPTION_FLAG, AT(ascii), NULL, "write the table in ASCII only", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = option_rows, .words_offset = AT(runs), .words = "OLD NEW"};

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay compare OLD NEW [OPTIONS]\n\n"
        "Puts the rows of two runs side by side: faster, slower, same or unclear, with the 95% "
        "interval\nof the ratio of their times. OLD and NEW are runs (an id, the beginning of one, "
        "last, last~1) or\nfiles: journals, json, jsonl, csv, torchao-csv, pytorch, kernel-json; "
        "comprehensive and\nkobench-json too, which hold no intervals, so that rows are unclear. "
        "Nothing is measured.\n\n"
        "Two runs of the same kernel differ by more than their intervals say; a row is called "
        "faster or\nslower only beyond 1.5%, beyond what the machine's own ceiling did meanwhile, "
        "and "
        "where neither\nfigure was disturbed (~).\n\n"
        "Exit codes: 0; 4 with --fail-slower where a row is slower by more than that, with its "
        "whole\ninterval, or became wrong, or is gone; 2 where there is nothing to compare.\n\n");
    assay_options_help(&table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay compare last~1 last\n"
                        "  assay compare main.json last --fail-slower 5%\n"
                        "  assay compare main.json branch.json -f md -o comment.md\n");
}

/* ---- reading -------------------------------------------------------------------------------- */

struct side {
    const char *name; /* as typed */
    struct assay_results_source source;
    struct assay_results results;
};

/* The format that both are compared in: NULL, or that of the one that has no records. */
static enum assay_status common_format(const struct side *a, const struct side *b, const char **as,
                                       struct assay_error *err)
{
    *as =
        a->source.has_records ? b->source.has_records ? NULL : b->source.format : a->source.format;
    if (a->source.has_records || b->source.has_records ||
        strcmp(a->source.format, b->source.format) == 0)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "%s is %s and %s is %s, which have too little in common; compare with "
                           "a run, or write both in one format: assay show RUN -o FILE.json",
                           a->name, a->source.format, b->name, b->source.format);
}

static enum assay_status read_side(struct side *side, const char *as, struct assay_error *err)
{
    enum assay_status status =
        assay_results_read(&side->source, as, assay_warn, &side->results, err);
    if (status != ASSAY_OK || side->results.n > 0)
        return status;
    return assay_error_set(
        err, ASSAY_ERR_INVALID, side->source.path.data,
        as ? "holds no results that the format %s has a place for" : "holds no results", as);
}

static enum assay_status read_sides(struct side *a, struct side *b, struct assay_error *err)
{
    const char *as = NULL;
    enum assay_status status = assay_results_find(a->name, &a->source, err);
    if (status == ASSAY_OK)
        status = assay_results_find(b->name, &b->source, err);
    if (status == ASSAY_OK)
        status = common_format(a, b, &as, err);
    if (status == ASSAY_OK)
        status = read_side(a, as, err);
    if (status == ASSAY_OK)
        status = read_side(b, as, err);
    return status;
}

static enum assay_status nothing_matches(const struct assay_comparison *c, struct assay_error *err)
{
    char was[200], is[200];
    struct assay_compare_row one = {.old_row = &c->old_run->rows[0]};
    struct assay_compare_row other = {.new_row = &c->new_run->rows[0]};
    if (c->matched > 0)
        return ASSAY_OK;
    assay_compare_problem(&one, was, sizeof was);
    assay_compare_problem(&other, is, sizeof is);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "no row of %s is in %s: nothing to compare; the first has %s, the "
                           "second %s",
                           c->old_run->source, c->new_run->source, was, is);
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *format_for(const char *path, const char *asked)
{
    const char *dot = strrchr(path, '.');
    if (asked)
        return asked;
    return dot && assay_compare_knows_format(dot + 1) ? dot + 1 : "table";
}

static enum assay_status write_to(const struct assay_comparison *c,
                                  const struct assay_strings *differences,
                                  const struct compare_config *config, const char *path,
                                  struct assay_error *err)
{
    struct assay_text text = {0};
    struct assay_measure_config look = {.ascii = config->ascii};
    bool to_stdout = strcmp(path, "-") == 0;
    struct assay_report_style style = assay_output_style(&look, to_stdout ? STDOUT_FILENO : -1);
    enum assay_status status = ASSAY_OK;
    if (!assay_compare_write(c, differences, format_for(path, config->format), &style, &text))
        status = assay_error_nomem(err);
    else if (to_stdout) /* main tells of what fails here */
        (void)fwrite(text.data, 1, text.length, stdout);
    else
        status = assay_folder_write_atomic(path, text.data, text.length, err);
    assay_text_fini(&text);
    return status;
}

static enum assay_status write_all(const struct assay_comparison *c,
                                   const struct compare_config *config, struct assay_error *err)
{
    struct assay_strings differences = {0};
    bool to_stdout = true;
    enum assay_status status = assay_compare_runs(c->old_run, c->new_run, &differences, err);
    for (int64_t i = 0; i < config->outputs.n && status == ASSAY_OK; i++) {
        to_stdout = to_stdout && strcmp(config->outputs.items[i], "-") != 0;
        status = write_to(c, &differences, config, config->outputs.items[i], err);
    }
    if (status == ASSAY_OK && to_stdout) {
        struct compare_config plain = *config;
        if (config->outputs.n)
            plain.format = "table"; /* the format asked for is the files' */
        status = write_to(c, &differences, &plain, "-", err);
    }
    assay_strings_fini(&differences);
    return status;
}

static int tell_gate(const struct assay_comparison *c)
{
    if (c->allowed < 0)
        return ASSAY_EXIT_FINE;
    if (c->without_interval > 0)
        fprintf(stderr, "assay: %lld row%s no interval, and cannot fail\n",
                (long long)c->without_interval, c->without_interval == 1 ? " has" : "s have");
    if (c->failing == 0)
        return ASSAY_EXIT_FINE;
    fprintf(stderr, "assay: %lld row%s: slower by more than %g%%, wrong, or gone\n",
            (long long)c->failing, c->failing == 1 ? " fails" : "s fail", 100 * c->allowed);
    return ASSAY_EXIT_SLOWER;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int compare_sides(const struct compare_config *config, struct side *a, struct side *b)
{
    struct assay_comparison comparison = {0};
    struct assay_error err = {0};
    enum assay_status status = read_sides(a, b, &err);
    if (status == ASSAY_OK)
        status = assay_compare(&a->results, &b->results, config->allowed, &comparison, &err);
    if (status == ASSAY_OK)
        status = nothing_matches(&comparison, &err);
    if (status == ASSAY_OK)
        status = write_all(&comparison, config, &err);
    int code = status == ASSAY_OK ? tell_gate(&comparison) : assay_complain(&err);
    assay_comparison_fini(&comparison);
    return code;
}

static int compare(const struct compare_config *config)
{
    struct side a = {.name = config->runs.items[0]}, b = {.name = config->runs.items[1]};
    int code = compare_sides(config, &a, &b);
    assay_results_fini(&a.results);
    assay_results_fini(&b.results);
    assay_results_source_fini(&a.source);
    assay_results_source_fini(&b.source);
    return code;
}

static int check(const struct compare_config *config)
{
    struct assay_error err = {0};
    if (config->runs.n != 2)
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "compare takes two runs or files of results, the older one first; `assay "
                        "list runs` shows the runs");
    else if (config->format && !assay_compare_knows_format(config->format))
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "unknown format \"%s\" of a comparison; there are table, json, csv, md",
                        config->format);
    else
        return compare(config);
    return assay_complain(&err);
}

static int run_compare(int argc, char **argv)
{
    struct compare_config config = {.allowed = -1};
    struct assay_error err = {0};
    int code;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.help)
        code = assay_print_help(assay_command_find("compare"));
    else
        code = check(&config);
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_compare = {.name = "compare",
                                                    .summary = "two runs, row by row",
                                                    .options = &table,
                                                    .run = run_compare,
                                                    .help = help};
