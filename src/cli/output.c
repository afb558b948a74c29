#include "cli/output.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/part_file.h"
#include "cli/command.h"
#include "cli/png.h"
#include "cli/repeats.h"
#include "cli/terminal.h"
#include "report/chart/chart_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
    int file;                  /* a descriptor; -1: not open */
    struct assay_text waiting; /* to be written */
    char *path, *part;         /* NULL: standard output, or written in place */
    int error;                 /* errno of the first failed write */
    bool incomplete;           /* a format had no memory for all of it */
    bool kept;                 /* a regular file, which is told of once it is there */
    bool png;                  /* to be made of what was written, an SVG */
    const struct assay_report_format *format;
    assay_report *report;
};

struct assay_outputs {
    struct output *items;
    int64_t n;
    bool keep_longer, tell;
    assay_repeats *repeats; /* NULL: every group comes once */
};

static void flush(struct output *output)
{
    if (output->waiting.failed && !output->error)
        output->error = ENOMEM;
    if (!output->error && output->waiting.length > 0)
        output->error = assay_io_write(output->file, output->waiting.data, output->waiting.length);
    assay_text_clear(&output->waiting);
}

static void write_bytes(void *user, const char *bytes, size_t length)
{
    enum { ENOUGH = 1 << 16 };
    struct output *output = user;
    assay_text_append(&output->waiting, bytes, length);
    if (output->waiting.length >= ENOUGH)
        flush(output);
}

/* A file is UTF-8 whatever the locale of the terminal it was made from. */
static struct assay_report_style style_for(const struct assay_report_format *format,
                                           const struct assay_measure_config *config, int file)
{
    enum { WIDTH = 100, MOST = 130 };
    struct assay_terminal terminal;
    assay_terminal_look(file, &terminal);
    bool is_file = file != STDOUT_FILENO && !terminal.is_terminal;
    int usual_most = format->most ? format->most : MOST;
    return (struct assay_report_style){
        .colour = terminal.colour && !config->ascii,
        .ascii = config->ascii || (terminal.ascii && !is_file),
        .verbose = config->verbose,
        .plot = config->plot,
        .dark = config->dark,
        .chart = config->chart,
        .width = terminal.columns ? terminal.columns : WIDTH,
        .most = terminal.columns ? terminal.columns : usual_most,
    };
}

struct assay_report_style assay_output_style(const struct assay_measure_config *config, int file)
{
    return style_for(assay_report_at(0), config, file);
}

static enum assay_status bind(struct output *output, const struct assay_report_format *format,
                              const struct assay_measure_config *config, struct assay_error *err)
{
    struct assay_sink sink = {output, write_bytes, &output->incomplete};
    struct assay_report_style style = style_for(format, config, output->file);
    output->format = format;
    output->report = assay_report_create(format, &sink, &style);
    if (!output->report)
        return assay_error_nomem(err);
    return ASSAY_OK;
}

/* "FORMAT:FILE" names its format; else --format or the command; else the extension. */
static enum assay_status choose_format(const char **path, const char *asked,
                                       const struct assay_report_format **out,
                                       struct assay_error *err)
{
    const char *colon = strchr(*path, ':');
    for (int64_t i = 0; colon && i < assay_report_count(); i++) {
        const struct assay_report_format *format = assay_report_at(i);
        size_t length = strlen(format->name);
        if ((size_t)(colon - *path) == length && strncmp(*path, format->name, length) == 0) {
            *out = format;
            *path = colon + 1;
            return ASSAY_OK;
        }
    }
    if (asked)
        return assay_report_find(asked, out, err);
    if (assay_png_is(*path))
        return assay_report_find("svg", out, err);
    *out = assay_report_for_file(*path);
    if (!*out)
        return assay_error_set(err, ASSAY_ERR_INVALID, *path,
                               "no format goes by this extension; name one with --format "
                               "(`assay list formats`)");
    return ASSAY_OK;
}

static enum assay_status open_file(struct output *output, const char *path, bool append,
                                   struct assay_error *err)
{
    struct stat info;
    bool in_place = append || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
    if (strcmp(path, "-") == 0) {
        output->file = STDOUT_FILENO;
        return ASSAY_OK;
    }
    output->path = assay_strdup(path);
    output->kept = append || !in_place;
    if (in_place) {
        const int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
        output->file = open(path, append ? flags | O_APPEND | O_CREAT : flags, 0666);
    } else {
        struct assay_text part = {0};
        assay_part_file_sweep(path);
        output->file = assay_folder_create_beside(path, "part", &part);
        output->part = output->file >= 0 ? assay_strdup(part.data) : NULL;
        if (output->file >= 0)
            assay_lock_try(output->file);
        if (output->file >= 0 && !output->part) {
            unlink(part.data);
            errno = ENOMEM;
        }
        assay_text_fini(&part);
    }
    if (output->file < 0 || !output->path || (!in_place && !output->part))
        return assay_error_set(err, errno == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_INVALID, path,
                               "cannot be written: %s", strerror(errno));
    return ASSAY_OK;
}

/* Two reports in one file would make neither. */
static bool is_taken(const assay_outputs *outputs, const char *path)
{
    for (int64_t i = 0; i < outputs->n; i++) {
        const char *other = outputs->items[i].path ? outputs->items[i].path : "-";
        if (strcmp(other, path) == 0)
            return true;
    }
    return false;
}

static enum assay_status add_file(assay_outputs *outputs, const struct assay_report_format *format,
                                  const char *path, bool append,
                                  const struct assay_measure_config *config,
                                  struct assay_error *err)
{
    struct output *output = &outputs->items[outputs->n];
    if (is_taken(outputs, path))
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "is named twice as an output");
    outputs->n++;
    output->file = -1;
    enum assay_status status = open_file(output, path, append, err);
    output->png = format->svg && assay_png_is(path);
    if (status == ASSAY_OK && output->png && !output->part)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "a PNG takes a regular file");
    return status == ASSAY_OK ? bind(output, format, config, err) : status;
}

/* Where no PNG can be made its SVG is, once. */
static enum assay_status add(assay_outputs *outputs, const struct assay_report_format *format,
                             const char *path, bool append,
                             const struct assay_measure_config *config, struct assay_error *err)
{
    struct assay_text svg = {0};
    enum assay_status status = ASSAY_OK;
    if (!format->svg || !assay_png_is(path) || assay_png_possible())
        return add_file(outputs, format, path, append, config, err);
    assay_png_instead(path, &svg);
    if (svg.failed)
        return assay_error_nomem(err);
    assay_png_tell(path, svg.data);
    if (!is_taken(outputs, svg.data) && !assay_strings_have(&config->outputs, svg.data))
        status = add_file(outputs, format, svg.data, append, config, err);
    assay_text_fini(&svg);
    return status;
}

/* A file of --output. */
static enum assay_status add_named(assay_outputs *outputs, const char *path,
                                   const struct assay_measure_config *config,
                                   const struct assay_outputs_wanted *wanted,
                                   struct assay_error *err)
{
    const struct assay_report_format *format;
    const char *end = strrchr(path, '.');
    const char *asked = config->format ? config->format
                        : wanted->json_format && end && strcmp(end, ".json") == 0
                            ? wanted->json_format
                            : wanted->file_format;
    enum assay_status status = choose_format(&path, asked, &format, err);
    return status == ASSAY_OK ? add(outputs, format, path, false, config, err) : status;
}

static enum assay_status make_folder_of(const char *path, struct assay_error *err)
{
    struct assay_text folder = {0};
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ASSAY_OK;
    assay_text_append(&folder, path, (size_t)(slash - path));
    enum assay_status status =
        folder.failed ? assay_error_nomem(err) : assay_folder_make_open(folder.data, err);
    if (status == ASSAY_ERR_IO && err)
        status = err->code = ASSAY_ERR_INVALID; /* told before anything is measured: bad usage */
    assay_text_fini(&folder);
    return status;
}

/* A file of the command's own. */
static enum assay_status add_own(assay_outputs *outputs, const struct assay_output_file *file,
                                 const struct assay_measure_config *config, struct assay_error *err)
{
    const struct assay_report_format *format;
    enum assay_status status = assay_report_find(file->format, &format, err);
    if (status == ASSAY_OK && file->make_folder)
        status = make_folder_of(file->path, err);
    return status == ASSAY_OK ? add(outputs, format, file->path, file->append, config, err)
                              : status;
}

static enum assay_status bind_stdout(assay_outputs *outputs,
                                     const struct assay_report_format *format,
                                     const struct assay_measure_config *config,
                                     struct assay_error *err)
{
    struct output *output = &outputs->items[outputs->n++];
    output->file = STDOUT_FILENO;
    return bind(output, format, config, err);
}

/* The table, and with --plot a picture, which is written at the end: below it. */
static enum assay_status add_stdout(assay_outputs *outputs,
                                    const struct assay_measure_config *config, const char *table,
                                    struct assay_error *err)
{
    const struct assay_report_format *format, *picture;
    const char *name = config->format && config->outputs.n == 0 ? config->format : table;
    enum assay_status status = assay_report_find(name, &format, err);
    if (status == ASSAY_OK)
        status = bind_stdout(outputs, format, config, err);
    if (status != ASSAY_OK || !config->plot || !format->pictured)
        return status;
    status = assay_report_find("plot", &picture, err);
    return status == ASSAY_OK ? bind_stdout(outputs, picture, config, err) : status;
}

/* A chart that nothing draws was meant for something. */
static enum assay_status check_chart(const assay_outputs *outputs, const char *chart,
                                     struct assay_error *err)
{
    struct assay_chart_spec spec;
    bool drawn = false;
    if (!chart)
        return ASSAY_OK;
    for (int64_t i = 0; i < outputs->n; i++)
        drawn = drawn || outputs->items[i].format->charts;
    if (!drawn)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--chart is drawn into a file: add -o FILE.svg or FILE.png");
    return assay_chart_spec_parse(chart, &spec, err);
}

enum assay_status assay_outputs_open(const struct assay_measure_config *config,
                                     const struct assay_outputs_wanted *wanted, assay_outputs **out,
                                     struct assay_error *err)
{
    bool to_stdout = !config->quiet;
    size_t most = (size_t)(config->outputs.n + wanted->n_files + 2);
    (void)fflush(stdout); /* reports go to the descriptor; main tells of what fails here */
    enum assay_status status = ASSAY_OK;
    assay_outputs *outputs = assay_calloc(1, sizeof *outputs);
    if (outputs)
        outputs->items = assay_calloc(most, sizeof *outputs->items);
    if (!outputs || !outputs->items) {
        assay_free(outputs);
        return assay_error_nomem(err);
    }
    outputs->tell = wanted->tell && !config->quiet;
    for (int64_t i = 0; i < config->outputs.n && status == ASSAY_OK; i++)
        status = add_named(outputs, config->outputs.items[i], config, wanted, err);
    for (int64_t i = 0; i < wanted->n_files && status == ASSAY_OK; i++)
        status = add_own(outputs, &wanted->files[i], config, err);
    for (int64_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].file == STDOUT_FILENO)
            to_stdout = false; /* "-": the table would be in its way */
    if (status == ASSAY_OK && to_stdout)
        status = add_stdout(outputs, config, wanted->table, err);
    if (status == ASSAY_OK)
        status = check_chart(outputs, config->chart, err);
    if (status != ASSAY_OK) {
        assay_outputs_cancel(outputs);
        outputs = NULL;
    }
    *out = outputs;
    return status;
}

void assay_outputs_begin(assay_outputs *outputs, const struct assay_run_info *run)
{
    for (int64_t i = 0; i < outputs->n; i++)
        assay_report_begin(outputs->items[i].report, run);
}

enum assay_status assay_outputs_expect(assay_outputs *outputs, const struct assay_plan *plan,
                                       struct assay_error *err)
{
    if (assay_repeats_count(plan) < 2)
        return ASSAY_OK;
    outputs->repeats = assay_repeats_create(plan);
    return outputs->repeats ? ASSAY_OK : assay_error_nomem(err);
}

/* To the formats that take repeats as one, or to the others. */
static void write_group(assay_outputs *outputs, bool merged, const struct assay_record *records,
                        int64_t n)
{
    for (int64_t i = 0; i < outputs->n; i++) {
        struct output *output = &outputs->items[i];
        if ((outputs->repeats && output->format->merges) != merged)
            continue;
        assay_report_group(output->report, records, n);
        flush(output);
    }
}

/* Groups whose repeats are all there; with `all` the others, too. */
static void write_merged(assay_outputs *outputs, bool all, bool no_memory)
{
    const struct assay_record *records;
    int64_t n = 0;
    while (!no_memory && (n = assay_repeats_next(outputs->repeats, all, &records)) > 0)
        write_group(outputs, true, records, n);
    for (int64_t i = 0; i < outputs->n && (no_memory || n < 0); i++)
        outputs->items[i].incomplete |= outputs->items[i].format->merges;
}

void assay_outputs_group(assay_outputs *outputs, const struct assay_record *records, int64_t n)
{
    write_group(outputs, false, records, n);
    if (outputs->repeats)
        write_merged(outputs, false, !assay_repeats_add(outputs->repeats, records, n));
}

/* All that was written is on the disk before it replaces anything, and so is the new name after. */
static void close_file(struct output *output)
{
    flush(output);
    if (output->file < 0 || output->file == STDOUT_FILENO)
        return;
    if (output->part && !output->error)
        output->error = assay_io_sync(output->file);
    if (close(output->file) != 0 && !output->error)
        output->error = errno;
}

static void tell_remark(const struct output *output, const char *name)
{
    const char *remark = assay_report_remark(output->report);
    if (!remark)
        return;
    fputs("assay: ", stderr);
    assay_put(stderr, name);
    fputs(": ", stderr);
    assay_put(stderr, remark);
    fputs("\n", stderr);
}

static void take_name(struct output *output)
{
    if (!output->error && rename(output->part, output->path) != 0)
        output->error = errno;
    if (output->error)
        unlink(output->part);
    else
        output->error = assay_io_sync_folder_of(output->path);
}

static bool is_shorter(const char *path, const char *than)
{
    struct stat one, other;
    return stat(path, &one) == 0 && stat(than, &other) == 0 && one.st_size < other.st_size;
}

/* What was written is an SVG, of which the file is made. */
static enum assay_status take_png(struct output *output, struct assay_error *err)
{
    enum assay_status status =
        output->error ? ASSAY_OK : assay_png_make(output->part, output->path, err);
    output->kept = output->kept && status == ASSAY_OK;
    unlink(output->part);
    return status;
}

/* `told` gets the names of files that are there now. */
static enum assay_status close_one(struct output *output, bool keep_longer, struct assay_text *told,
                                   struct assay_error *err)
{
    const char *name = output->path ? output->path : "standard output";
    bool cancelled = output->error == ECANCELED;
    enum assay_status status = ASSAY_OK;
    if (output->report && !cancelled) {
        assay_report_end(output->report);
        tell_remark(output, name);
    }
    assay_report_destroy(output->report);
    if (output->incomplete && !output->error)
        output->error = ENOMEM;
    close_file(output);
    if (output->png && output->part) {
        status = take_png(output, err);
    } else if (keep_longer && output->part && !output->error && is_shorter(output->part, name)) {
        fprintf(stderr, "assay: %s: holds more than there is now, and is left as it is\n", name);
        unlink(output->part);
        output->kept = false;
    } else if (output->part) {
        take_name(output);
    }
    if (output->error && !cancelled)
        status = assay_error_set(err, output->error == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_IO,
                                 name, "cannot be written: %s", strerror(output->error));
    if (output->kept && !output->error)
        assay_text_format(told, "%s%s", told->length ? ", " : "", name);
    assay_text_fini(&output->waiting);
    assay_free(output->path);
    assay_free(output->part);
    return status;
}

void assay_outputs_keep_longer(assay_outputs *outputs)
{
    if (outputs)
        outputs->keep_longer = true;
}

void assay_outputs_cancel(assay_outputs *outputs)
{
    for (int64_t i = 0; outputs && i < outputs->n; i++)
        outputs->items[i].error = ECANCELED;
    assay_outputs_close(outputs, NULL);
}

enum assay_status assay_outputs_close(assay_outputs *outputs, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    struct assay_text told = {0};
    if (!outputs)
        return ASSAY_OK;
    if (outputs->repeats)
        write_merged(outputs, true, false);
    for (int64_t i = 0; i < outputs->n; i++) {
        enum assay_status one = close_one(&outputs->items[i], outputs->keep_longer, &told, err);
        status = status == ASSAY_OK ? one : status;
    }
    if (outputs->tell && told.data && !told.failed) {
        fputs("assay: wrote ", stderr);
        assay_put(stderr, told.data);
        fputs("\n", stderr);
    }
    assay_text_fini(&told);
    assay_repeats_destroy(outputs->repeats);
    assay_free(outputs->items);
    assay_free(outputs);
    return status;
}
