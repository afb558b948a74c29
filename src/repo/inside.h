/* inside.h: does a path stay inside a repository, once `..` and every link on its way are followed?
 *
 * A repository may hold a link to any file of its user's, and a compiler prints what it reads. So
 * everything that is read, compiled or searched on the repository's word is asked about here. */
#ifndef ASSAY_REPO_INSIDE_H
#define ASSAY_REPO_INSIDE_H

#include "base/error.h"

enum assay_inside {
    ASSAY_INSIDE,         /* it is there, and lies in the repository */
    ASSAY_INSIDE_NOTHING, /* there is no such file, and if there were it would lie inside */
    ASSAY_INSIDE_NOT,     /* it lies elsewhere, or leads through a link that cannot be judged */
};

/* `path` is absolute or counts from the root. With root NULL nothing is looked up: what the path
 * says decides. */
enum assay_inside assay_inside_find(const char *root, const char *path);

/* Does it lead through /proc/self/cwd or its like, which are other files for another process? */
bool assay_inside_leads_through_process(const char *path);

/* ASSAY_ERR_INVALID for what lies elsewhere; `shown` is how the error names it. */
enum assay_status assay_inside_check(const char *root, const char *path, const char *shown,
                                     struct assay_error *err);

#endif
