/* assay report: runs as one page, or as an image of one chart. Nothing is measured. */
#include "base/folder.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/live.h"
#include "cli/png.h"
#include "compare/book_read.h"
#include "config/options.h"
#include "report/chart/chart_spec.h"
#include "report/html/html_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_config {
    struct assay_strings runs, outputs;
    const char *chart;
    int64_t port; /* of --serve; -1: not given */
    bool dark, quiet, help;
};

#define AT(member) offsetof(struct report_config, member)

static const struct assay_option option_rows[] = {
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(outputs), "FILE",
     "write FILE: a page (.html) or a chart (.svg, .png), or as html:FILE, svg:FILE; repeatable "
     "(default report.html)",
     0, 0},
    {"chart", 0, ASSAY_OPTION_TEXT, AT(chart), "CHART",
     "which chart an image shows: a name, or NAME:KEY=VALUE,… (default: the one that fits; `assay "
     "list charts`)",
     0, 0},
    {"dark", 0, ASSAY_OPTION_FLAG, AT(dark), NULL,
     "draw images for dark pages; a page follows its reader", 0, 0},
    {"serve", 0, ASSAY_OPTION_SPARE_INT, AT(port), "[PORT]",
     "show the page to this machine's browser instead, also while the run goes on; PORT: any that "
     "is free",
     0, 65535},
    {"quiet", 'q', ASSAY_OPTION_FLAG, AT(quiet), NULL, "say nothing of what was written", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {
    .options = option_rows, .words_offset = AT(runs), .words = "[RUN...]"};

static void help(struct assay_text *out)
{
    assay_text_add(
        out,
        "assay report [RUN...] [OPTIONS]\n\n"
        "Makes one HTML page of runs: who is fastest, by how much and how surely, as tables to "
        "sort and\nfilter and as charts. It needs no other file and no network. RUN is an id, the "
        "beginning of one,\nlast, last~1, or a file: a journal, json, jsonl, or such a page "
        "(default: last). Several runs\nmake one page. Nothing is measured.\n\n"
        "The exit code is that of the rows: 1 where one is wrong, or where damage cost "
        "groups.\n\n");
    assay_options_help(&table, out);
    assay_text_add(out, "\nExamples:\n"
                        "  assay report\n"
                        "  assay report last~1 last -o both.html\n"
                        "  assay report main.json -o speedup.svg --chart speedup\n"
                        "  assay report last -o report.html -o chart.png --dark\n"
                        "  assay report --serve last\n");
}

/* ---- what is to be written ------------------------------------------------------------------ */

enum kind { PAGE, IMAGE, PNG, KINDS };
static const char *const kind_names[KINDS] = {"html", "svg", "png"};

struct target {
    enum kind kind;
    const char *path; /* "-": standard output */
};

/* "KIND:FILE", or by the extension. */
static enum assay_status parse_target(const char *text, struct target *out, struct assay_error *err)
{
    const char *dot = strrchr(text, '.');
    for (int kind = 0; kind < KINDS; kind++) {
        size_t length = strlen(kind_names[kind]);
        *out = (struct target){.kind = (enum kind)kind, .path = text};
        if (strncmp(text, kind_names[kind], length) == 0 && text[length] == ':') {
            out->path = text + length + 1;
            return ASSAY_OK;
        }
        if (dot && assay_text_same(dot + 1, kind_names[kind]))
            return ASSAY_OK;
    }
    return assay_error_set(err, ASSAY_ERR_INVALID, text,
                           "a report is .html, .svg or .png; `assay show RUN -o FILE` writes the "
                           "other formats");
}

/* Before anything is read. */
static enum assay_status check_folder(const char *path, struct assay_error *err)
{
    struct assay_text folder = {0};
    struct stat info;
    const char *slash = strrchr(path, '/');
    enum assay_status status = ASSAY_OK;
    if (slash)
        assay_text_append(&folder, path, (size_t)(slash - path) + 1);
    else
        assay_text_add(&folder, ".");
    if (folder.failed)
        status = assay_error_nomem(err);
    else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "is a folder");
    else if (access(folder.data, W_OK | X_OK) != 0 && access(path, W_OK) != 0)
        status =
            assay_error_set(err, ASSAY_ERR_INVALID, path, "cannot be written: %s", strerror(errno));
    assay_text_fini(&folder);
    return status;
}

static enum assay_status check_outputs(const struct report_config *config, struct assay_error *err)
{
    bool images = false;
    for (int64_t i = 0; i < config->outputs.n; i++) {
        struct target target, other;
        enum assay_status status = parse_target(config->outputs.items[i], &target, err);
        if (status != ASSAY_OK)
            return status;
        images = images || target.kind != PAGE;
        if ((status = check_folder(target.path, err)) != ASSAY_OK)
            return status;
        if (target.kind == PNG && strcmp(target.path, "-") == 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "a PNG takes a regular file");
        for (int64_t k = 0; k < i; k++)
            if (parse_target(config->outputs.items[k], &other, NULL) == ASSAY_OK &&
                strcmp(other.path, target.path) == 0)
                return assay_error_set(err, ASSAY_ERR_INVALID, target.path,
                                       "is named twice as an output");
    }
    if (config->chart && !images)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--chart is drawn into a file: add -o FILE.svg or FILE.png");
    return ASSAY_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct report {
    const struct report_config *config;
    struct assay_chart_spec spec;
    struct assay_book book;
    struct assay_book_gaps gaps;
};

static void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static bool make_page(const struct report *report, struct assay_text *out)
{
    bool incomplete = false;
    struct assay_sink sink = {out, write_text, &incomplete};
    struct assay_html_options options = {.left = report->gaps.missing};
    assay_html_write(&report->book, &options, &sink);
    return !incomplete && !out->failed;
}

static void tell_unfit(const struct report *report, const char *path)
{
    struct assay_text why = {0};
    assay_chart_spec_fitting(&report->spec, &report->book, &why);
    fputs("assay: ", stderr);
    assay_put(stderr, path);
    fputs(": ", stderr);
    assay_put(stderr, why.data ? why.data : "the chart does not fit");
    fputs("\n", stderr);
    assay_text_fini(&why);
}

static bool make_image(const struct report *report, const char *path, struct assay_text *out)
{
    struct assay_drawing drawing = {0};
    assay_draw_begin(&drawing, report->config->dark ? ASSAY_DRAW_DARK : ASSAY_DRAW_LIGHT,
                     ASSAY_CHART_WIDTH);
    if (!assay_chart_spec_draw(&report->spec, &report->book, &drawing))
        tell_unfit(report, path);
    assay_draw_svg(&drawing, "", out);
    assay_draw_fini(&drawing);
    return !out->failed;
}

static void tell_written(const struct report_config *config, const char *path)
{
    char size[32];
    struct stat info;
    if (config->quiet || stat(path, &info) != 0)
        return;
    assay_text_bytes((double)info.st_size, size, sizeof size);
    fputs("assay: wrote ", stderr);
    assay_put(stderr, path);
    fprintf(stderr, ", %s\n", size);
}

static enum assay_status put(const struct report *report, const char *path,
                             const struct assay_text *text, struct assay_error *err)
{
    if (strcmp(path, "-") == 0) {
        int failure = assay_io_write(STDOUT_FILENO, text->data, text->length);
        return !failure ? ASSAY_OK
                        : assay_error_set(err, ASSAY_ERR_IO, "standard output",
                                          "cannot be written: %s", strerror(failure));
    }
    enum assay_status status = assay_folder_write_atomic(path, text->data, text->length, err);
    if (status == ASSAY_OK)
        tell_written(report->config, path);
    return status;
}

/* By way of an SVG beside it, or that SVG alone. */
static enum assay_status put_png(const struct report *report, const char *path,
                                 const struct assay_text *svg, struct assay_error *err)
{
    struct assay_text beside = {0};
    enum assay_status status = ASSAY_OK;
    if (assay_png_possible())
        assay_folder_name_beside(path, &beside);
    else
        assay_png_instead(path, &beside);
    if (beside.failed) {
        status = assay_error_nomem(err);
    } else if (!assay_png_possible()) {
        assay_png_tell(path, beside.data);
        status = put(report, beside.data, svg, err);
    } else {
        status = assay_folder_write_quickly(beside.data, svg->data, svg->length, err);
        if (status == ASSAY_OK)
            status = assay_png_make(beside.data, path, err);
        unlink(beside.data);
        if (status == ASSAY_OK)
            tell_written(report->config, path);
    }
    assay_text_fini(&beside);
    return status;
}

static enum assay_status write_target(const struct report *report, const char *output,
                                      struct assay_error *err)
{
    struct target target;
    struct assay_text text = {0};
    enum assay_status status = parse_target(output, &target, err);
    if (status != ASSAY_OK)
        return status;
    if (!(target.kind == PAGE ? make_page(report, &text) : make_image(report, target.path, &text)))
        status = assay_error_nomem(err);
    else if (target.kind == PNG)
        status = put_png(report, target.path, &text, err);
    else
        status = put(report, target.path, &text, err);
    assay_text_fini(&text);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static void say_what_is_missing(const struct assay_book *book)
{
    for (int64_t i = 0; i < book->n_runs; i++) {
        const struct assay_book_run *run = &book->runs[i];
        if (run->info.groups <= run->n)
            continue;
        fputs("assay: ", stderr);
        assay_put(stderr, run->info.id);
        fprintf(stderr, ": %lld of %lld groups are missing\n",
                (long long)(run->info.groups - run->n), (long long)run->info.groups);
    }
}

static bool has_wrong_rows(const struct assay_book *book)
{
    struct assay_book_view view = {0};
    bool wrong = false;
    for (int64_t g = 0; g < book->n_groups && !wrong; g++)
        if (assay_book_open(book, g, &view))
            for (int64_t i = 0; i < view.n; i++)
                wrong = wrong || !assay_outcome_is_fine(view.records[i].outcome);
    assay_book_view_fini(&view);
    return wrong;
}

static enum assay_status make(struct report *report, struct assay_error *err)
{
    const struct report_config *config = report->config;
    enum assay_status status = check_outputs(config, err);
    if (status == ASSAY_OK)
        status = assay_chart_spec_parse(config->chart, &report->spec, err);
    for (int64_t i = 0; i < config->runs.n && status == ASSAY_OK; i++)
        status =
            assay_book_read(config->runs.items[i], &report->book, assay_warn, &report->gaps, err);
    for (int64_t i = 0; i < config->outputs.n && status == ASSAY_OK; i++)
        status = write_target(report, config->outputs.items[i], err);
    return status;
}

static int write_report(const struct report_config *config)
{
    struct report report = {.config = config};
    struct assay_error err = {0};
    int code = ASSAY_EXIT_FINE;
    if (make(&report, &err) != ASSAY_OK) {
        code = assay_complain(&err);
    } else {
        say_what_is_missing(&report.book);
        if (report.gaps.lost > 0 || has_wrong_rows(&report.book))
            code = ASSAY_EXIT_WRONG;
    }
    assay_book_fini(&report.book);
    return code;
}

/* What is not named. */
static enum assay_status add_defaults(struct report_config *config)
{
    enum assay_status status = ASSAY_OK;
    if (config->runs.n == 0)
        status = assay_strings_add(&config->runs, "last");
    if (status == ASSAY_OK && config->outputs.n == 0)
        status = assay_strings_add(&config->outputs, "report.html");
    return status;
}

static int act(struct report_config *config)
{
    struct assay_error err = {0};
    bool serve = config->port >= 0;
    if (serve && (config->outputs.n || config->chart || config->dark))
        assay_error_set(&err, ASSAY_ERR_INVALID, NULL,
                        "--serve shows the page and writes no file: leave out --%s",
                        config->outputs.n ? "output"
                        : config->chart   ? "chart"
                                          : "dark");
    else if (add_defaults(config) != ASSAY_OK)
        assay_error_nomem(&err);
    if (err.code != ASSAY_OK)
        return assay_complain(&err);
    return serve ? assay_live_serve(&config->runs, (int)config->port) : write_report(config);
}

static int run_report(int argc, char **argv)
{
    struct report_config config = {.port = -1};
    struct assay_error err = {0};
    int code;
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK)
        code = assay_complain(&err);
    else if (config.help)
        code = assay_print_help(assay_command_find("report"));
    else
        code = act(&config);
    assay_options_fini(&table, &config);
    return code;
}

const struct assay_command assay_command_report = {.name = "report",
                                                   .summary = "runs as one page, or as a chart",
                                                   .options = &table,
                                                   .run = run_report,
                                                   .help = help};
