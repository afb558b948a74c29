/* assay show: prints an earlier run again, from its journal or a file that holds its records. No
 * device is opened, and nothing is measured or locked: a run of another machine can be shown, and
 * one that is being measured. */
#include "bench/run.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "compare/book_read.h"
#include "compare/results.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct show_config {
    /* Of it: format, outputs, quiet, verbose, plot, ascii, help. */
    struct assay_measure_config measure;
    int64_t row; /* from 1; 0: all of them */
    struct assay_strings runs;
};

#define AT(member) offsetof(struct show_config, member)

static const struct assay_option option_rows[] = {
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT",
     "format of --output, or of standard output without --output (`assay list formats`)", 0, 0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE",
     "also write FILE, in the format of its extension or as FORMAT:FILE; repeatable", 0, 0},
    {"quiet", 'q', ASSAY_OPTION_FLAG, AT(measure.quiet), NULL, "no table: only files and errors", 0,
     0},
    {"verbose", 'v', ASSAY_OPTION_FLAG, AT(measure.verbose), NULL,
     "also show samples, quartiles, disturbances, memory and accuracy of each row", 0, 0},
    {"row", 0, ASSAY_OPTION_INT, AT(row), "N",
     "only row N, counted from 1 over all groups; as a table with all that is known of it, its "
     "samples included",
     1, 9e18},
    {"plot", 0, ASSAY_OPTION_FLAG, AT(measure.plot), NULL,
     "draw below the table: speedups as bars, or lines where an axis of numbers was swept; with "
     "--row or --format detail the samples, instead of listing them",
     0, 0},
    {"chart", 0, ASSAY_OPTION_TEXT, AT(measure.chart), "CHART",
     "which chart an image of --output shows: a name, or NAME:KEY=VALUE,… (default: the one that "
     "fits; `assay list charts`)",
     0, 0},
    {"dark", 0, ASSAY_OPTION_FLAG, AT(measure.dark), NULL, "draw images for dark pages", 0, 0},
    {"ascii", 0, ASSAY_OPTION_FLAG, AT(measure.ascii), NULL, "write the table in ASCII only", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(measure.help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = option_rows, .words_offset = AT(runs), .words = "RUN"};

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay show RUN [OPTIONS]\n\n"
        "Prints an earlier run again, in any format, from what its journal holds; nothing is "
        "measured.\nRUN is its id, the beginning of one, last, last~1 for the one before, or the "
        "path of a journal;\n`assay list runs` shows them; or a file of the formats json, jsonl or "
        "html. Groups that are missing\nare counted.\n\n"
        "The exit code is that of the rows shown: 1 where one is wrong, or where damage cost "
        "groups.\n\n");
    assay_options_help(&table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay show last\n"
                        "  assay show last~1 --verbose\n"
                        "  assay show last --plot\n"
                        "  assay show last --row 3 --plot\n"
                        "  assay show 20261118-2008 -f md\n"
                        "  assay show last -o results.csv -o results.json\n"
                        "  assay show report.html --row 3\n");
}

/* ---- the run's hooks ------------------------------------------------------------------------ */

struct shown {
    const struct show_config *config;
    struct assay_run run;
    assay_outputs *outputs;
    int64_t rows; /* so far */
    bool row_is_wrong;
};

/* What the command that measured it would show. */
static const char *table_of(const struct assay_run_info *run)
{
    static const char *const tables[][2] = {
        {"run", "torchao"}, {"ci", "torchao"}, {"preset", "kobench"}, {"kernel", "kernel"}};
    char command[32];
    assay_run_command_name(run, command, sizeof command);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(command, tables[i][0]) == 0)
            return tables[i][1];
    return "table";
}

static enum assay_status open_outputs(void *user, struct assay_error *err)
{
    struct shown *shown = user;
    struct assay_outputs_wanted wanted = {.table = shown->config->row ? "detail"
                                                                      : table_of(&shown->run.info)};
    return assay_outputs_open(&shown->config->measure, &wanted, &shown->outputs, err);
}

static void begin_outputs(void *user, const struct assay_run_info *info)
{
    assay_outputs_begin(((struct shown *)user)->outputs, info);
}

static enum assay_status write_group(void *user, const struct assay_record *records, int64_t n,
                                     struct assay_error *err)
{
    (void)err; /* what cannot be written is told when the outputs are closed */
    struct shown *shown = user;
    int64_t row = shown->config->row, index = row - 1 - shown->rows; /* within the group */
    shown->rows += n;
    if (row == 0) {
        assay_outputs_group(shown->outputs, records, n);
    } else if (index >= 0 && index < n) {
        assay_outputs_group(shown->outputs, &records[index], 1);
        shown->row_is_wrong = !assay_outcome_is_fine(records[index].outcome);
    }
    return ASSAY_OK;
}

static void show_warning(void *user, const char *text)
{
    (void)user;
    assay_warn(text);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void say_what_is_missing(const struct shown *shown)
{
    char again[64];
    const struct assay_run *run = &shown->run;
    const char *name = shown->config->runs.items[0];
    int64_t left = assay_run_left(run);
    assay_run_again(&run->info, again, sizeof again);
    if (left > 0)
        fprintf(stderr, "assay: %lld of %lld groups are missing; measure them with: %s --resume ",
                (long long)left, (long long)run->plan->n_groups, again);
    if (left > 0) {
        assay_put(stderr, strchr(name, '/') ? name : run->info.id);
        fputs("\n", stderr);
    }
}

static int show(struct shown *shown)
{
    struct assay_error err = {0};
    enum assay_status status = assay_run_read(&shown->run, &err);
    if (status == ASSAY_OK)
        status = assay_run_begin(&shown->run, &err);
    if (status == ASSAY_OK && shown->config->row > shown->rows)
        status = assay_error_set(&err, ASSAY_ERR_INVALID, "--row", "%lld: this run has %lld row%s",
                                 (long long)shown->config->row, (long long)shown->rows,
                                 shown->rows == 1 ? "" : "s");
    if (status != ASSAY_OK) {
        assay_outputs_cancel(shown->outputs);
        return assay_complain(&err);
    }
    if (assay_run_left(&shown->run) > 0)
        assay_outputs_keep_longer(shown->outputs);
    status = assay_outputs_close(shown->outputs, &err);
    if (status != ASSAY_OK)
        return assay_complain(&err);
    say_what_is_missing(shown);
    bool lost = shown->run.damaged > 0 && assay_run_left(&shown->run) > 0;
    bool wrong = shown->config->row ? shown->row_is_wrong : shown->run.something_wrong;
    return wrong || lost ? ASSAY_EXIT_WRONG : ASSAY_EXIT_FINE;
}

static int show_run(const struct show_config *config)
{
    struct assay_plan none = {0};
    struct assay_run_request request = {.resume = config->runs.items[0]};
    struct shown shown = {.config = config};
    struct assay_run_hooks hooks = {
        .user = &shown,
        .open = open_outputs,
        .begin = begin_outputs,
        .group = write_group,
        .warn = show_warning,
    };
    shown.run = (struct assay_run){.request = &request, .hooks = &hooks, .plan = &none};
    int code = show(&shown);
    assay_run_close(&shown.run);
    return code;
}

/* ---- a file --------------------------------------------------------------------------------- */

/* The run at `index`, or the row of it that is wanted. */
static enum assay_status write_run(struct shown *shown, const struct assay_book *book,
                                   int64_t index, struct assay_error *err)
{
    const struct assay_book_run *run = &book->runs[index];
    struct assay_book_view view = {0};
    shown->run.info = run->info;
    enum assay_status status = open_outputs(shown, err);
    if (status != ASSAY_OK)
        return status;
    assay_outputs_begin(shown->outputs, &run->info);
    for (int64_t i = 0; i < run->n && status == ASSAY_OK; i++) {
        if (!assay_book_open(book, run->first + i, &view))
            status = assay_error_nomem(err);
        else
            write_group(shown, view.records, view.n, NULL);
        for (int64_t k = 0; k < view.n; k++)
            shown->run.something_wrong |= !assay_outcome_is_fine(view.records[k].outcome);
    }
    assay_book_view_fini(&view);
    if (run->info.groups > run->n)
        assay_outputs_keep_longer(shown->outputs);
    if (status == ASSAY_OK)
        return assay_outputs_close(shown->outputs, err);
    assay_outputs_cancel(shown->outputs);
    return status;
}

static int64_t count_rows(const struct assay_book *book, int64_t run)
{
    bool last = run + 1 == book->n_runs || book->runs[run + 1].first == book->n_groups;
    int64_t end = last ? book->n_records : book->groups[book->runs[run + 1].first].first;
    return book->runs[run].n ? end - book->groups[book->runs[run].first].first : 0;
}

/* One after the other; of a single row its run alone. */
static enum assay_status write_runs(struct shown *shown, const struct assay_book *book,
                                    struct assay_error *err)
{
    const struct assay_measure_config *config = &shown->config->measure;
    enum assay_status status = ASSAY_OK;
    int64_t row = shown->config->row;
    for (int64_t i = 0; i < book->n_runs && status == ASSAY_OK; i++) {
        int64_t n = count_rows(book, i), missing = book->runs[i].info.groups - book->runs[i].n;
        if (row > shown->rows + n || (row && row <= shown->rows)) {
            shown->rows += n;
            continue;
        }
        if (i > 0 && !row && !config->quiet && !config->format)
            puts("");
        status = write_run(shown, book, i, err);
        if (missing > 0 && status == ASSAY_OK)
            fprintf(stderr, "assay: %lld of %lld groups are missing\n", (long long)missing,
                    (long long)book->runs[i].info.groups);
    }
    return status;
}

static enum assay_status read_file(const struct show_config *config, struct assay_book *book,
                                   struct assay_error *err)
{
    const char *name = config->runs.items[0];
    enum assay_status status = assay_book_read(name, book, assay_warn, NULL, err);
    if (status != ASSAY_OK)
        return status;
    if (config->row > book->n_records)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--row", "%lld: this file has %lld row%s",
                               (long long)config->row, (long long)book->n_records,
                               book->n_records == 1 ? "" : "s");
    if (book->n_runs > 1 && config->measure.outputs.n && !config->row)
        return assay_error_set(err, ASSAY_ERR_INVALID, name,
                               "holds %lld runs, and --output has a place for one; show one of "
                               "them by its id, or all as a page: assay report %s -o FILE.html",
                               (long long)book->n_runs, name);
    return ASSAY_OK;
}

static int show_file(const struct show_config *config)
{
    struct assay_book book = {0};
    struct assay_error err = {0};
    struct shown shown = {.config = config};
    enum assay_status status = read_file(config, &book, &err);
    if (status == ASSAY_OK)
        status = write_runs(&shown, &book, &err);
    assay_book_fini(&book);
    if (status != ASSAY_OK)
        return assay_complain(&err);
    bool wrong = config->row ? shown.row_is_wrong : shown.run.something_wrong;
    return wrong ? ASSAY_EXIT_WRONG : ASSAY_EXIT_FINE;
}

/* What is wrong with the name of a run, or with a journal, is told where it is read. */
static int show_any(const struct show_config *config)
{
    struct assay_results_source source;
    struct assay_error err = {0};
    const char *name = config->runs.items[0];
    bool is_path = strchr(name, '/') || access(name, F_OK) == 0;
    if (!is_path)
        return show_run(config);
    if (assay_results_find_records(name, &source, &err) != ASSAY_OK)
        return assay_complain(&err);
    bool journal = strcmp(source.format, "journal") == 0;
    assay_results_source_fini(&source);
    return journal ? show_run(config) : show_file(config);
}

static int run_show(int argc, char **argv)
{
    struct show_config config = {0};
    struct assay_error err = {0};
    int code;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK) {
        code = assay_complain(&err);
    } else if (config.measure.help) {
        code = assay_print_help(assay_command_find("show"));
    } else if (config.runs.n != 1) {
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "show takes one run: an id, last, or the path of a journal or of a file "
                        "with records; `assay list runs` shows them");
        code = assay_complain(&err);
    } else {
        code = show_any(&config);
    }
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_show = {.name = "show",
                                                 .summary = "print an earlier run again",
                                                 .options = &table,
                                                 .run = run_show,
                                                 .help = help};
