#include "cli/png.h"

#include "base/folder.h"
#include "cli/command.h"
#include "repo/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char converter[] = "rsvg-convert";
static const char zoom[] = "2";
static const double LIMIT_S = 60;

static const char *extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    return dot && (!slash || slash < dot) ? dot + 1 : "";
}

bool assay_png_is(const char *path) { return assay_text_same(extension(path), "png"); }

bool assay_png_possible(void)
{
    struct assay_text path = {0};
    bool found = assay_process_find(converter, &path);
    assay_text_fini(&path);
    return found;
}

void assay_png_instead(const char *path, struct assay_text *out)
{
    assay_text_append(out, path, strlen(path) - strlen(extension(path)));
    assay_text_add(out, "svg");
}

void assay_png_tell(const char *path, const char *svg)
{
    fputs("assay: ", stderr);
    assay_put(stderr, path);
    fputs(": PNG takes rsvg-convert, which is not here (apt install librsvg2-bin); writing ",
          stderr);
    assay_put(stderr, svg);
    fputs(" instead\n", stderr);
}

/* What the program said, as an error. */
static enum assay_status judge(const struct assay_process_end *end, const struct assay_text *said,
                               const char *png, struct assay_error *err)
{
    if (end->exit_code == 0 && end->signal == 0)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_IO, png, "%s could not make it%s%.300s", converter,
                           end->timed_out ? " in a minute"
                           : said->length ? ": "
                                          : "",
                           said->length ? said->data : "");
}

static enum assay_status convert(const char *program, const char *svg, const char *png,
                                 const char *name, struct assay_error *err)
{
    struct assay_arguments words = {0};
    struct assay_text said = {0};
    struct assay_process_end end = {0};
    const char *const all[] = {program,    "--zoom", zoom, "--format", "png",
                               "--output", png,      "--", svg,        NULL};
    assay_arguments_add_all(&words, all);
    struct assay_process process = {
        .arguments = &words, .limit_s = LIMIT_S, .out = &said, .err = &said};
    enum assay_status status =
        words.failed ? assay_error_nomem(err) : assay_process_run(&process, &end, err);
    while (said.length && said.data[said.length - 1] == '\n')
        said.data[--said.length] = '\0';
    if (status == ASSAY_OK)
        status = judge(&end, &said, name, err);
    assay_text_fini(&said);
    assay_arguments_fini(&words);
    return status;
}

enum assay_status assay_png_make(const char *svg, const char *png, struct assay_error *err)
{
    struct assay_text program = {0}, part = {0};
    int file = -1;
    enum assay_status status = ASSAY_OK;
    if (!assay_process_find(converter, &program))
        status = assay_error_set(err, ASSAY_UNSUPPORTED, png, "%s is not here", converter);
    if (status == ASSAY_OK && (file = assay_folder_create_beside(png, "part", &part)) < 0)
        status = assay_error_set(err, ASSAY_ERR_IO, png, "cannot be written: %s", strerror(errno));
    if (file >= 0)
        close(file);
    if (status == ASSAY_OK)
        status = convert(program.data, svg, part.data, png, err);
    if (status == ASSAY_OK && rename(part.data, png) != 0)
        status = assay_error_set(err, ASSAY_ERR_IO, png, "cannot be written: %s", strerror(errno));
    if (status != ASSAY_OK && file >= 0)
        unlink(part.data);
    assay_text_fini(&program);
    assay_text_fini(&part);
    return status;
}
