/* repository.h: where a kernel repository lies: a folder or file here, or a remote one that is
 * cloned with git into the cache folder.
 *
 * Clones are kept by commit: CACHE/repositories/<commit>/, with a file beside them that records
 * which commit a revision resolved to last, for --offline. */
#ifndef ASSAY_REPO_REPOSITORY_H
#define ASSAY_REPO_REPOSITORY_H

#include "base/error.h"
#include "base/text.h"

/* What the user requested. */
struct assay_repository_wanted {
    const char *name;    /* a path, or OWNER/NAME, OWNER/NAME@v1, OWNER/NAME@branch */
    const char *version; /* of --version: "1" or "v1"; NULL: not given */
    const char *branch;  /* of --branch; NULL: not given */
    /* Base address of remote ones: "file:///srv/git"; NULL: ASSAY_REPOSITORY_HUB. */
    const char *hub;
    bool offline;                  /* only what the cache holds */
    void (*say)(const char *text); /* receives "Downloading owner/name@v1..."; NULL: nobody */
};

#define ASSAY_REPOSITORY_HUB "https://huggingface.co"

/* Fill with assay_repository_find, free with assay_repository_fini. Start from {0}. */
struct assay_repository {
    /* The folder, absolute. Of a single file the folder it lies in, or the one above where that is
     * benchmarks/ or kernels/: where assay.yml lies. */
    struct assay_text root;
    struct assay_text file; /* absolute, where a single file was named; else empty */
    char name[128];         /* as shown: "owner/name@v1", or the path as typed */
    char commit[48];        /* of the clone or of the folder's own git; empty: not under git */
    bool cloned;            /* by assay: nobody has looked at it here */
    bool dirty;             /* the folder has changes that are not in the commit */
};

/* A path is what starts with '/', './', '../' or '~', and, where neither version nor branch is
 * given, anything that exists. A version is a branch or else a tag of that name, and so is the part
 * after an '@', which may also be a full commit. Large files that git keeps elsewhere (LFS) and
 * submodules are left out.
 *
 * Errors: no such path; a remote repository without a revision; a revision that is only digits
 * ("write v1"); more than one of @, --version, --branch; git not installed (ASSAY_UNSUPPORTED); no
 * such repository or revision; not in the cache though offline. */
enum assay_status assay_repository_find(const struct assay_repository_wanted *wanted,
                                        struct assay_repository *out, struct assay_error *err);
/* Also after an error. */
void assay_repository_fini(struct assay_repository *repository);

#endif
