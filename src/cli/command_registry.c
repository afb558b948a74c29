/* command_table.c: the list of commands and what they share. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#define ASSAY_COMMAND(n) extern const struct assay_command assay_command_##n;
#include "cli/command_list.h"
#undef ASSAY_COMMAND

static const struct assay_command *const command_table[] = {
#define ASSAY_COMMAND(n) &assay_command_##n,
#include "cli/command_list.h"
#undef ASSAY_COMMAND
};

int64_t assay_command_count(void)
{
    return (int64_t)(sizeof command_table / sizeof command_table[0]);
}

const struct assay_command *assay_command_at(int64_t index) { return command_table[index]; }

const struct assay_command *assay_command_find(const char *name)
{
    for (int64_t i = 0; i < assay_command_count(); i++)
        if (strcmp(command_table[i]->name, name) == 0)
            return command_table[i];
    return NULL;
}

int assay_command_unknown(const char *name)
{
    struct assay_error err = {0};
    const char *names[sizeof command_table / sizeof command_table[0]];
    for (int64_t i = 0; i < assay_command_count(); i++)
        names[i] = command_table[i]->name;
    const char *nearest = assay_text_nearest(name, names, assay_command_count());
    assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "unknown command \"%s\"%s%s%s", name,
                    nearest ? "; did you mean \"" : "; `assay help` shows them all",
                    nearest ? nearest : "", nearest ? "\"?" : "");
    return assay_complain(&err);
}

/* Without memory every control character is a '?'. */
static void put_bytes(FILE *to, const char *text, bool lines)
{
    for (; *text; text++) {
        bool control = (unsigned char)*text < ' ' || *text == 0x7f;
        fputc(control && !(lines && (*text == '\n' || *text == '\t')) ? '?' : *text, to);
    }
}

static void put_shown(FILE *to, const char *text, bool lines)
{
    struct assay_text shown = {0};
    (lines ? assay_text_add_shown_lines : assay_text_add_shown)(&shown, text);
    if (shown.failed)
        put_bytes(to, text, lines);
    else if (shown.data)
        fputs(shown.data, to);
    assay_text_fini(&shown);
}

void assay_put(FILE *to, const char *text) { put_shown(to, text, false); }

void assay_put_lines(FILE *to, const char *text) { put_shown(to, text, true); }

void assay_warn(const char *text)
{
    fputs("assay: ", stderr);
    assay_put(stderr, text);
    fputs("\n", stderr);
}

/* Whoever complains has failed. What fails without saying why has run out of memory: every other
 * reason is told. */
int assay_complain(const struct assay_error *err)
{
    char text[700];
    enum assay_status code = err->code == ASSAY_OK ? ASSAY_ERR_NOMEM : err->code;
    assay_error_format(err, text, sizeof text);
    assay_warn(text[0] ? text : assay_status_name(code));
    switch (code) {
    case ASSAY_UNSUPPORTED:
        return ASSAY_EXIT_MACHINE;
    case ASSAY_ERR_INVALID:
    case ASSAY_ERR_CORRUPT:
        return ASSAY_EXIT_USAGE;
    case ASSAY_ERR_INTERRUPTED:
        return ASSAY_EXIT_INTERRUPTED;
    case ASSAY_ERR_NOMEM:
    case ASSAY_ERR_DEVICE:
        return ASSAY_EXIT_MACHINE;
    default:
        return ASSAY_EXIT_WRONG;
    }
}

int assay_print_text(struct assay_text *text)
{
    int code = ASSAY_EXIT_FINE;
    if (text->failed)
        code = assay_complain(&(struct assay_error){.code = ASSAY_ERR_NOMEM});
    else if (text->data)
        assay_put_lines(stdout, text->data);
    assay_text_fini(text);
    return code;
}

int assay_print_help(const struct assay_command *command)
{
    struct assay_text text = {0};
    command->help(&text);
    return assay_print_text(&text);
}
