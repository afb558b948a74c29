/* object_cache.h: what a compiler made, kept by what went into it: CACHE/objects/.
 *
 *   KEY.files       the files a command read, each with its hash; KEY is of the command
 *   KEY.o, KEY.so   what came out; KEY is of the command and the hashes of those files
 *   KEY.o.stamp     its own hash, so that a damaged one is made again
 *
 * Entries not used for 90 days are removed when something new is made.
 *
 * A file whose size, inode and time of change are as they were is not read again, so that a run
 * that finds everything costs some calls of stat. A new header that would shadow another one,
 * created after the command ran, is not noticed. */
#ifndef ASSAY_REPO_OBJECT_CACHE_H
#define ASSAY_REPO_OBJECT_CACHE_H

#include "base/sha256.h"
#include "repo/process.h"

/* One command that makes one file. */
struct assay_making {
    const struct assay_arguments *command; /* without -o, which is appended */
    const char *folder;                    /* where it runs */
    const struct assay_arguments *inputs;  /* files it reads that are known before */
    bool lists_inputs;                     /* it is a compiler, which tells the others (-MD) */
    const char *ending;                    /* ".o", ".so" */
    struct assay_sha256 key;       /* begun with the other inputs: the compiler, the machine */
    void (*say)(const char *text); /* receives the command when it is run; NULL: nobody */
    /* Looks at the files that were read, as far as they are known, and at what was printed, before
     * anything of it is used. What is not ASSAY_OK ends it. NULL: nobody looks. */
    enum assay_status (*inspect)(const void *user, const struct assay_arguments *files,
                                 struct assay_text *output, struct assay_error *err);
    const void *user; /* of inspect */
};

struct assay_made {
    struct assay_text path;
    struct assay_text output, command; /* of the command, where it was run */
    bool ran;
    struct assay_process_end end; /* where the command failed: how */
};

/* Finds it, or makes it. ASSAY_ERR_FAILED: the command did not go well; what it said is in
 * `output`, and saying so is left to the caller. ASSAY_ERR_IO: the cache folder;
 * ASSAY_ERR_INTERRUPTED. */
enum assay_status assay_object_cache_make(const struct assay_making *making, struct assay_made *out,
                                          struct assay_error *err);
void assay_made_fini(struct assay_made *made);

#endif
