#include "cli/man_page.h"

#include "base/version.h"
#include "cli/command.h"
#include "config/options.h"

#include <ctype.h>
#include <string.h>

/* One UTF-8 character beyond ASCII, as groff has it: \[u00B1]. */
static size_t add_character(struct assay_text *out, const char *text)
{
    size_t length = assay_text_utf8(text, strlen(text));
    unsigned code = (unsigned char)text[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    assay_text_format(out, "\\[u%04X]", code);
    return length ? length : 1;
}

/* Hyphens that can be copied; `commands` in bold. */
static void add_prose(struct assay_text *out, const char *text)
{
    bool bold = false;
    while (*text) {
        if ((unsigned char)*text >= 0x80) {
            text += add_character(out, text);
            continue;
        }
        if (*text == '`') {
            bold = !bold;
            assay_text_add(out, bold ? "\\fB" : "\\fR");
        } else if (strchr("-\\^~", *text)) {
            assay_text_add(out, *text == '-'    ? "\\-"
                                : *text == '\\' ? "\\e"
                                : *text == '^'  ? "\\(ha"
                                                : "\\(ti");
        } else {
            assay_text_append(out, text, 1);
        }
        text++;
    }
}

/* A help text as a sentence. */
static void add_sentence(struct assay_text *out, const char *help)
{
    char first[2] = {(char)toupper((unsigned char)help[0]), '\0'};
    assay_text_add(out, "\\&"); /* it may begin with a full stop */
    add_prose(out, first);
    add_prose(out, help + 1);
    assay_text_add(out, ".\n");
}

static void write_option(struct assay_text *out, const struct assay_option *o)
{
    assay_text_add(out, ".TP\n");
    if (o->letter)
        assay_text_format(out, "\\fB\\-%c\\fR, ", o->letter);
    assay_text_add(out, "\\fB\\-\\-");
    add_prose(out, o->name);
    assay_text_add(out, "\\fR");
    if (o->value)
        assay_text_format(out, " \\fI%s\\fR", o->value);
    assay_text_add(out, "\n");
    add_sentence(out, o->help);
}

static const struct assay_option_table *table_at(int64_t command)
{
    return assay_command_at(command)->options;
}

/* Has a command before this one the same shared rows? */
static bool is_repeated(int64_t command)
{
    for (int64_t i = 0; i < command; i++)
        if (table_at(i)->shared == table_at(command)->shared)
            return true;
    return false;
}

static void write_own(struct assay_text *out, const struct assay_option_table *table)
{
    for (const struct assay_option *o = table->options; o->name; o++)
        write_option(out, o);
}

/* "bench, run and kernel" */
static void write_sharers(struct assay_text *out, const struct assay_option *shared)
{
    int64_t n = 0, seen = 0;
    for (int64_t i = 0; i < assay_command_count(); i++)
        n += table_at(i)->shared == shared;
    for (int64_t i = 0; i < assay_command_count(); i++)
        if (table_at(i)->shared == shared) {
            seen++;
            assay_text_format(out, "%s\\fB%s\\fR",
                              seen == 1   ? ""
                              : seen == n ? " and "
                                          : ", ",
                              assay_command_at(i)->name);
        }
}

static void write_options(struct assay_text *out)
{
    char name[32];
    for (int64_t i = 0; i < assay_command_count(); i++) {
        size_t length = strlen(assay_command_at(i)->name);
        for (size_t c = 0; c <= length && c < sizeof name; c++)
            name[c] = (char)toupper((unsigned char)assay_command_at(i)->name[c]);
        name[sizeof name - 1] = '\0';
        assay_text_format(out, ".SH OPTIONS OF %s\n", name);
        add_sentence(out, assay_command_at(i)->summary);
        if (table_at(i)->shared)
            assay_text_add(out, "And the common options below.\n");
        write_own(out, table_at(i));
    }
    for (int64_t i = 0; i < assay_command_count(); i++) {
        const struct assay_option *shared = table_at(i)->shared;
        if (!shared || is_repeated(i))
            continue;
        assay_text_add(out, ".SH COMMON OPTIONS\nOf ");
        write_sharers(out, shared);
        assay_text_add(out, ".\n");
        for (const struct assay_option *o = shared; o->name; o++)
            write_option(out, o);
    }
}

static void write_synopsis(struct assay_text *out)
{
    for (int64_t i = 0; i < assay_command_count(); i++) {
        const char *words = table_at(i)->words;
        assay_text_format(out, ".B assay %s\n", assay_command_at(i)->name);
        if (words)
            assay_text_format(out, "\\fI%s\\fR\\&\n", words);
        assay_text_add(out, ".RI [ OPTIONS ]\n.br\n");
    }
    assay_text_add(out, ".B assay \\-\\-version\n");
}

static void write_line(struct assay_text *out, const char *line, size_t length)
{
    static const char version[] = "@VERSION@";
    for (size_t i = 0; i < length; i++) {
        bool found =
            length - i >= sizeof version - 1 && strncmp(line + i, version, sizeof version - 1) == 0;
        if (found)
            assay_text_add(out, ASSAY_VERSION);
        else
            assay_text_append(out, line + i, 1);
        i += found ? sizeof version - 2 : 0;
    }
    assay_text_add(out, "\n");
}

static bool is_line(const char *line, size_t length, const char *text)
{
    return strlen(text) == length && strncmp(line, text, length) == 0;
}

void assay_man_page_write(const char *text, struct assay_text *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (is_line(text, length, ".\\\" SYNOPSIS"))
            write_synopsis(out);
        else if (is_line(text, length, ".\\\" OPTIONS"))
            write_options(out);
        else
            write_line(out, text, length);
        text += length + (text[length] == '\n');
    }
}
