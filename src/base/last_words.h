/* last_words.h: the final message of a process that has to end, for the process that watches it. */
#ifndef ASSAY_BASE_LAST_WORDS_H
#define ASSAY_BASE_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Where they go: `size` bytes that outlive this process (a shared page). NULL: only to stderr. */
void assay_last_words_to(char *place, size_t size);

/* Is there such a page, and so a parent that goes on without this process? */
bool assay_last_words_are_heard(void);

/* Leaves the message and ends the process at once. May be called in a signal's handler. */
_Noreturn void assay_last_words(const char *words);

#endif
