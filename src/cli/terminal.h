/* terminal.h: what the place that text goes to can show. */
#ifndef ASSAY_CLI_TERMINAL_H
#define ASSAY_CLI_TERMINAL_H

#include <stdbool.h>

struct assay_terminal {
    bool is_terminal;
    bool escapes; /* its cursor can be moved: TERM says what it is, and not that it is dumb */
    bool colour;  /* and nobody said NO_COLOR */
    bool ascii;   /* by the locale's charset */
    int columns;  /* of a terminal, or what COLUMNS says; 0: as many as one likes */
};

void assay_terminal_look(int file, struct assay_terminal *out);

/* Of this file alone, now: a terminal may be made wider at any time. */
int assay_terminal_columns(int file);

#endif
