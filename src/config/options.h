/* options.h: options as data. One table of rows (name, type, range, default, help, offset) drives
 * the parsing, the help text and the freeing of a command's options, completions and man page. */
#ifndef ASSAY_CONFIG_OPTIONS_H
#define ASSAY_CONFIG_OPTIONS_H

#include "record/plan.h"

enum assay_option_type {
    ASSAY_OPTION_FLAG,       /* bool */
    ASSAY_OPTION_TEXT,       /* const char *: borrowed from argv; NULL until given */
    ASSAY_OPTION_INT,        /* int64_t */
    ASSAY_OPTION_SIZE,       /* int64_t, with suffixes: 512M, 2GiB */
    ASSAY_OPTION_DURATION,   /* double, seconds: 2s, 500ms */
    ASSAY_OPTION_FRACTION,   /* double: 1%, 0.01 */
    ASSAY_OPTION_LIST,       /* struct assay_strings: comma-separated, and repeatable */
    ASSAY_OPTION_REPEAT,     /* struct assay_strings: one each time, commas kept */
    ASSAY_OPTION_SPARE,      /* const char *: "" where the option stands without a value */
    ASSAY_OPTION_SPARE_FILE, /* the same; a next word is its value only where it is the name of a
                              * trace: it ends in .json, .perfetto-trace or .pftrace */
    ASSAY_OPTION_SPARE_INT,  /* int64_t: 0 where it does; a next word that is not a number, or has
                              * more digits than the upper bound, is not its value */
};

struct assay_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum assay_option_type type;
    size_t offset;     /* of the field in the command's struct */
    const char *value; /* what stands for the value in the help: "N", "DTYPES"; how shells complete
                        * it follows from this word (cli/completion.c) */
    const char *help;
    double min, max; /* of numbers, inclusive; both 0: no bounds */
};

struct assay_option_table {
    const struct assay_option *options; /* ends with a NULL name */
    /* Where words that are not options go; -1: there are none. */
    int64_t words_offset;
    const char *words; /* what they are in the help: "OP…" */
    /* Rows of a struct that several commands' structs hold, and where this one's holds it. */
    const struct assay_option *shared; /* ends with a NULL name; NULL: none */
    size_t shared_offset;
};

/* Reads argv[0 … argc) into `out`, a struct that holds the defaults. `--name value`,
 * `--name=value`, `-x value`; `--` ends options. The error names the option, and the nearest for an
 * unknown one. Beside --resume stand only options that leave the plan as it is. */
enum assay_status assay_options_parse(const struct assay_option_table *table, int argc,
                                      char *const *argv, void *out, struct assay_error *err);

/* Releases the lists in `out`. */
void assay_options_fini(const struct assay_option_table *table, void *out);

/* Walks through the rows: the table's own, then the shared ones. Start from NULL; NULL after the
 * last. */
const struct assay_option *assay_options_next(const struct assay_option_table *table,
                                              const struct assay_option *at);

/* One line for each option, wrapped at 100 columns. */
void assay_options_help(const struct assay_option_table *table, struct assay_text *out);

#endif
