#include "config/options.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

const struct assay_option *assay_options_next(const struct assay_option_table *table,
                                              const struct assay_option *at)
{
    const struct assay_option *next = at ? at + 1 : table->options;
    if (next->name)
        return next;
    bool was_shared = false;
    for (const struct assay_option *o = table->shared; at && o && o->name; o++)
        was_shared = was_shared || o == at;
    return was_shared || !table->shared || !table->shared->name ? NULL : table->shared;
}

#define EACH_ROW(table, o)                                                                         \
    const struct assay_option *o = assay_options_next(table, NULL);                                \
    o;                                                                                             \
    o = assay_options_next(table, o)

static void *field_of(const struct assay_option_table *table, const struct assay_option *row,
                      void *out)
{
    for (const struct assay_option *o = table->shared; o && o->name; o++)
        if (o == row)
            return (char *)out + table->shared_offset + row->offset;
    return (char *)out + row->offset;
}

static const struct assay_option *find_option(const struct assay_option_table *table,
                                              const char *name, size_t length)
{
    for (EACH_ROW(table, o))
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct assay_option *find_letter(const struct assay_option_table *table, char letter)
{
    for (EACH_ROW(table, o))
        if (letter && o->letter == letter)
            return o;
    return NULL;
}

static enum assay_status unknown_option(const struct assay_option_table *table, const char *word,
                                        struct assay_error *err)
{
    const char *names[64];
    int64_t n = 0;
    char bare[64];
    const char *start = word + strspn(word, "-");
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(start, "="), start);
    for (EACH_ROW(table, o))
        if (n < 64)
            names[n++] = o->name;
    struct assay_suggestion found = assay_suggest(ASSAY_TOPIC_OPTION, bare, names, n);
    if (found.name)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "unknown option %s; did you mean --%s?", word, found.name);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown option %s; %s", word,
                           found.hint ? found.hint : "--help shows them all");
}

static const char *expectation(enum assay_option_type type)
{
    switch (type) {
    case ASSAY_OPTION_INT:
    case ASSAY_OPTION_SPARE_INT:
        return "a whole number";
    case ASSAY_OPTION_SIZE:
        return "a size such as 512M or 2GiB";
    case ASSAY_OPTION_DURATION:
        return "a duration such as 2s or 500ms";
    case ASSAY_OPTION_FRACTION:
        return "a fraction such as 1% or 0.01";
    case ASSAY_OPTION_LIST:
        return "a list such as a,b,c";
    default:
        return "a value";
    }
}

static enum assay_status bad_value(const struct assay_option *o, const char *value,
                                   struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s takes %s, not \"%s\"", o->name,
                           expectation(o->type), value);
}

static enum assay_status check_range(const struct assay_option *o, double number, const char *value,
                                     struct assay_error *err)
{
    bool bounded = o->min != 0 || o->max != 0;
    if (!bounded || (number >= o->min && number <= o->max))
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s must lie between %g and %g, not %s",
                           o->name, o->min, o->max, value);
}

static enum assay_status store(const struct assay_option *o, const char *value, void *field,
                               struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    double number = 0;
    switch (o->type) {
    case ASSAY_OPTION_FLAG:
        *(bool *)field = true;
        return ASSAY_OK;
    case ASSAY_OPTION_TEXT:
        *(const char **)field = value;
        return ASSAY_OK;
    case ASSAY_OPTION_SPARE:
    case ASSAY_OPTION_SPARE_FILE:
        *(const char **)field = value ? value : "";
        return ASSAY_OK;
    case ASSAY_OPTION_SPARE_INT:
        status = value ? assay_text_int64(value, (int64_t *)field) : ASSAY_OK;
        if (!value)
            *(int64_t *)field = 0;
        break;
    case ASSAY_OPTION_INT:
        status = assay_text_int64(value, (int64_t *)field);
        break;
    case ASSAY_OPTION_SIZE:
        status = assay_text_size(value, (int64_t *)field);
        break;
    case ASSAY_OPTION_DURATION:
        status = assay_text_duration(value, (double *)field);
        break;
    case ASSAY_OPTION_FRACTION:
        status = assay_text_fraction(value, (double *)field);
        break;
    case ASSAY_OPTION_LIST:
        status = assay_strings_split((struct assay_strings *)field, value);
        break;
    case ASSAY_OPTION_REPEAT:
        status = assay_strings_add((struct assay_strings *)field, value);
        break;
    }
    if (status == ASSAY_ERR_NOMEM)
        return assay_error_set(err, status, NULL, "out of memory");
    if (status != ASSAY_OK)
        return bad_value(o, value, err);
    if (o->type == ASSAY_OPTION_LIST || o->type == ASSAY_OPTION_REPEAT)
        return ASSAY_OK;
    bool whole = o->type == ASSAY_OPTION_INT || o->type == ASSAY_OPTION_SPARE_INT ||
                 o->type == ASSAY_OPTION_SIZE;
    number = whole ? (double)*(int64_t *)field : *(double *)field;
    return check_range(o, number, value, err);
}

/* ---- beside --resume ---- */

/* Where results go, how they are shown, and what does not touch the plan. */
static const char *const beside_resume[] = {
    "resume", "output",  "format",     "output-dir", "github-summary", "visual",         "config",
    "quiet",  "verbose", "ascii",      "wait",       "in-process",     "help",           "dry-run",
    "chart",  "dark",    "rasterized", "plot",       "profile",        "profile-memory",
};

/* What has been read so far. */
struct given {
    bool resume, help;
    const struct assay_option *of_plan; /* the first that a resumed run would not heed */
};

static void note_given(struct given *given, const struct assay_option *o)
{
    bool fine = false;
    for (size_t i = 0; i < sizeof beside_resume / sizeof beside_resume[0]; i++)
        fine = fine || strcmp(o->name, beside_resume[i]) == 0;
    given->resume = given->resume || strcmp(o->name, "resume") == 0;
    given->help = given->help || strcmp(o->name, "help") == 0;
    if (!fine && !given->of_plan)
        given->of_plan = o;
}

static enum assay_status check_resume(const struct given *given, struct assay_error *err)
{
    if (!given->resume || given->help || !given->of_plan)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "a resumed run keeps the plan it had; leave out --%s",
                           given->of_plan->name);
}

/* ---- reading ---- */

/* Does the word look like a file of this option: of a trace, or of what memory holds? */
static bool is_its_file(const struct assay_option *o, const char *word)
{
    static const char *const endings[2][3] = {{".json", ".perfetto-trace", ".pftrace"},
                                              {".html", ".pickle", ".pkl"}};
    bool memory = strcmp(o->name, "profile-memory") == 0;
    for (size_t i = 0; i < 3; i++) {
        const char *wanted = endings[memory][i];
        size_t length = strlen(word), ending = strlen(wanted);
        if (length > ending && strcmp(word + length - ending, wanted) == 0)
            return true;
    }
    return false;
}

static bool is_spare_type(enum assay_option_type type)
{
    return type == ASSAY_OPTION_SPARE || type == ASSAY_OPTION_SPARE_FILE ||
           type == ASSAY_OPTION_SPARE_INT;
}

/* May the next word be left to others? A number with no more digits than the upper bound is a
 * value, within the bounds or not; one with more is the beginning of a run's id. */
static bool is_spare(const struct assay_option *o, const char *word)
{
    int64_t number;
    char most[32];
    if (o->type == ASSAY_OPTION_SPARE_FILE)
        return word[0] == '-' || !is_its_file(o, word);
    if (o->type != ASSAY_OPTION_SPARE_INT)
        return word[0] == '-';
    snprintf(most, sizeof most, "%.0f", o->max);
    return assay_text_int64(word, &number) != ASSAY_OK || strlen(word) > strlen(most);
}

/* One option, whose value may be in the same word, in the next, or not needed. */
static enum assay_status parse_option(const struct assay_option_table *table, int argc,
                                      char *const *argv, int *at, void *out, struct given *given,
                                      struct assay_error *err)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    size_t name_length = is_long ? strcspn(word + 2, "=") : 1;
    const struct assay_option *o =
        is_long ? find_option(table, word + 2, name_length) : find_letter(table, word[1]);
    if (!o || (!is_long && word[2] && o->type == ASSAY_OPTION_FLAG))
        return unknown_option(table, word, err);
    note_given(given, o);
    const char *value = is_long && word[2 + name_length] == '=' ? word + 3 + name_length : NULL;
    if (!is_long && word[2])
        value = word + 2;
    if (o->type == ASSAY_OPTION_FLAG) {
        if (value)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s takes no value", o->name);
    } else if (!value && is_spare_type(o->type)) {
        if (*at + 1 < argc && !is_spare(o, argv[*at + 1]))
            value = argv[++*at];
    } else if (!value) {
        if (*at + 1 >= argc)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--%s needs %s", o->name,
                                   expectation(o->type));
        value = argv[++*at];
    }
    return store(o, value, field_of(table, o, out), err);
}

enum assay_status assay_options_parse(const struct assay_option_table *table, int argc,
                                      char *const *argv, void *out, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    struct given given = {0};
    bool only_words = false;
    for (int i = 0; i < argc && status == ASSAY_OK; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            status = parse_option(table, argc, argv, &i, out, &given, err);
        } else if (table->words_offset < 0) {
            status = assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unexpected \"%s\"", argv[i]);
        } else {
            struct assay_strings *words =
                (struct assay_strings *)((char *)out + table->words_offset);
            status = assay_strings_add(words, argv[i]);
            if (status != ASSAY_OK)
                assay_error_set(err, status, NULL, "out of memory");
        }
    }
    return status == ASSAY_OK ? check_resume(&given, err) : status;
}

void assay_options_fini(const struct assay_option_table *table, void *out)
{
    for (EACH_ROW(table, o))
        if (o->type == ASSAY_OPTION_LIST || o->type == ASSAY_OPTION_REPEAT)
            assay_strings_fini(field_of(table, o, out));
    if (table->words_offset >= 0)
        assay_strings_fini((struct assay_strings *)((char *)out + table->words_offset));
}

enum { HELP_COLUMN = 26, HELP_WIDTH = 98 };

/* `text` from HELP_COLUMN on, broken between words. */
static void wrap(const char *text, struct assay_text *out)
{
    int column = HELP_COLUMN;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            assay_text_format(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            assay_text_add(out, " ");
            column++;
        }
        assay_text_append(out, text, (size_t)length);
        column += length;
        text += length + (int)strspn(text + length, " ");
    }
    assay_text_add(out, "\n");
}

void assay_options_help(const struct assay_option_table *table, struct assay_text *out)
{
    for (EACH_ROW(table, o)) {
        char head[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(head, sizeof head, "  %s--%s%s%s", letter, o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        assay_text_format(out, "%-*s", HELP_COLUMN - 1, head);
        assay_text_add(out, strlen(head) >= HELP_COLUMN ? "\n                          " : " ");
        wrap(o->help, out);
    }
}
