#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 100, MOST_COLUMNS = 10000 };

/* What the environment says of characters: the first of these that is set and not empty. */
static const char *locale_name(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0])
            return value;
    }
    return "C";
}

static bool means_utf8(const char *charset)
{
    return strcasecmp(charset, "UTF-8") == 0 || strcasecmp(charset, "utf8") == 0;
}

/* The C library knows the charset of every locale it has ("en_IN" is UTF-8). Of one that is not
 * installed here, as happens over ssh and in containers, the name tells: "de_DE.UTF-8@euro". */
static bool is_utf8(void)
{
    char charset[16] = "";
    const char *name = locale_name(), *dot = strchr(name, '.');
    locale_t locale = newlocale(LC_CTYPE_MASK, name, (locale_t)0);
    if (locale) {
        bool utf8 = means_utf8(nl_langinfo_l(CODESET, locale));
        freelocale(locale);
        return utf8;
    }
    size_t length = dot ? strcspn(dot + 1, "@") : 0;
    if (length < sizeof charset && dot)
        memcpy(charset, dot + 1, length);
    return means_utf8(charset);
}

int assay_terminal_columns(int file)
{
    struct winsize size = {0};
    bool is_terminal = isatty(file) == 1;
    if (is_terminal && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    long columns = text ? strtol(text, &end, 10) : 0;
    if (columns > 0 && columns <= MOST_COLUMNS && end && !*end)
        return (int)columns;
    return is_terminal ? USUAL_COLUMNS : 0;
}

void assay_terminal_look(int file, struct assay_terminal *out)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    bool is_terminal = isatty(file) == 1;
    bool escapes = is_terminal && term && term[0] && strcmp(term, "dumb") != 0;
    *out = (struct assay_terminal){
        .is_terminal = is_terminal,
        .escapes = escapes,
        .colour = escapes && !(no_colour && no_colour[0]),
        .ascii = !is_utf8(),
        .columns = assay_terminal_columns(file),
    };
}
