/* git.h: the queries made to git. It never prompts: no terminal, no password program, no pager.
 *
 * Nothing that a repository says about itself starts a program. Downloading uses the user's own
 * configuration, for logins and proxies, and no hooks. Files are checked out without any
 * configuration but ours, so that no attribute finds a filter. A folder that is already here is
 * compared through a git folder of ours that borrows its objects and its index, because its own
 * configuration may name filters, a file system monitor, or a remote to fetch missing objects from.
 */
#ifndef ASSAY_REPO_GIT_H
#define ASSAY_REPO_GIT_H

#include "repo/process.h"

enum { ASSAY_COMMIT_TEXT = 48 }; /* 40 hexadecimal digits, and spare bytes */

/* Is it a commit written in full? */
bool assay_git_is_commit(const char *text);

/* Is git installed? If not, ASSAY_UNSUPPORTED, with what to do. */
enum assay_status assay_git_here(struct assay_error *err);

/* One line for each branch and tag of a remote repository: "COMMIT\trefs/heads/main". */
enum assay_status assay_git_list(const char *address, struct assay_text *out,
                                 struct assay_error *err);

/* Fetches one revision (a full name such as refs/heads/v1, or a commit), without history, into the
 * folder, which is made; its commit goes to `commit`. */
enum assay_status assay_git_fetch(const char *address, const char *revision, const char *folder,
                                  char commit[ASSAY_COMMIT_TEXT], struct assay_error *err);

/* The commit that is checked out in a folder, and whether the folder has changes on top of it. ""
 * where the folder is not under git, or git is not installed. Submodules are not looked at.
 * ASSAY_ERR_INTERRUPTED. */
enum assay_status assay_git_describe(const char *folder, char commit[ASSAY_COMMIT_TEXT],
                                     bool *dirty, struct assay_error *err);

#endif
