/* headers.h: assay's public headers as files that a compiler finds, wherever the program came from:
 * it carries their texts. */
#ifndef ASSAY_REPO_HEADERS_H
#define ASSAY_REPO_HEADERS_H

#include "base/text.h"

/* The files of include/assay, embedded when the program is built. */
struct assay_header {
    const char *name, *text; /* "assay_kernel.h" */
};
extern const struct assay_header assay_headers[];
extern const int assay_n_headers;

/* The folder to give to -I, appended to `out`: CACHE/include-HASH, by what is in them. Written
 * where something of it is missing or was changed. */
enum assay_status assay_headers_folder(struct assay_text *out, struct assay_error *err);

/* An empty header in that folder, to be included before all others; its path goes to `out`. */
enum assay_status assay_headers_first(const char *folder, struct assay_text *out,
                                      struct assay_error *err);

#endif
