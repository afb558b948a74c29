/* messages.h: what a compiler read and printed, looked at before it is shown or used.
 *
 * A source may include any file its user can read, by an absolute path, through `..`, through a
 * link, or from within assembler, and a compiler's messages then hold that file's lines. Which
 * files were read is known from the compiler's own lists (-H while it reads, -MD at the end) and
 * from the places its messages name. If one of them is neither the repository's nor a header of the
 * system or of the user's own flags, nothing of the messages is shown, and nothing that was made is
 * used. */
#ifndef ASSAY_REPO_MESSAGES_H
#define ASSAY_REPO_MESSAGES_H

#include "repo/process.h"

/* Whose files may be read. */
struct assay_territory {
    const char *root;                       /* the repository */
    const char *headers;                    /* assay's own */
    const struct assay_arguments *compiler; /* the user's words: the program, and flags of $CC */
};

/* False for a file that is there and belongs to nobody of them. */
bool assay_territory_has(const struct assay_territory *territory, const char *path);

/* Takes the list of headers (-H) and colours out of what was printed. ASSAY_ERR_INVALID: a file
 * from elsewhere was read; the error names it, and the text is empty. */
enum assay_status assay_messages_check(const struct assay_territory *territory,
                                       const struct assay_arguments *files, struct assay_text *said,
                                       struct assay_error *err);

#endif
