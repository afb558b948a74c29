/* man_page.h: the man page, made from docs/assay.1.in and the commands' option rows. */
#ifndef ASSAY_CLI_MAN_PAGE_H
#define ASSAY_CLI_MAN_PAGE_H

#include "base/text.h"

/* The page's text with its lines `.\" SYNOPSIS` and `.\" OPTIONS` replaced by how commands are
 * called and what their options are, and @VERSION@ by the version. */
void assay_man_page_write(const char *text, struct assay_text *out);

#endif
