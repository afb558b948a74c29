/* folder.h: where files live on this machine, and writing them so that a reader never sees half.
 *
 * Folders follow the XDG base directory specification: an environment variable counts only when it
 * is an absolute path, otherwise the folder below the home folder is used. Nothing is created until
 * assay_folder_make is called. */
#ifndef ASSAY_BASE_FOLDER_H
#define ASSAY_BASE_FOLDER_H

#include "base/text.h"

/* For what can be measured again: $XDG_CACHE_HOME/assay, or ~/.cache/assay. Appended to `out`.
 * ASSAY_ERR_IO when no home folder is known, ASSAY_ERR_NOMEM. */
enum assay_status assay_folder_cache(struct assay_text *out, struct assay_error *err);

/* For what cannot be measured again: $XDG_DATA_HOME/assay, or ~/.local/share/assay. Appended to
 * `out`. */
enum assay_status assay_folder_data(struct assay_text *out, struct assay_error *err);

/* Makes the folder and those above it that are missing, for this user alone (mode 0700, as XDG
 * asks). The error names the part of the path that failed. */
enum assay_status assay_folder_make(const char *path, struct assay_error *err);
/* The same with the modes the umask allows: for results that a user wants somewhere. */
enum assay_status assay_folder_make_open(const char *path, struct assay_error *err);

/* Puts `bytes` into the file `path`, whose folder must exist: whoever opens it, even after a crash,
 * finds either the old contents or all of the new. Goes through a file beside it, which is removed
 * when anything fails. What is not a regular file (a pipe, /dev/stdout) cannot be replaced and is
 * written as it is. */
enum assay_status assay_folder_write_atomic(const char *path, const void *bytes, size_t length,
                                            struct assay_error *err);
/* The same without waiting for the disk: after a crash of the machine the file may be empty. For
 * what is checked when it is read, and can be made again. */
enum assay_status assay_folder_write_quickly(const char *path, const void *bytes, size_t length,
                                             struct assay_error *err);

/* Appends a regular file's bytes to `out`. ASSAY_ERR_INVALID where it is something else or larger
 * than `most` bytes, ASSAY_ERR_IO where it cannot be read, ASSAY_ERR_NOMEM. */
enum assay_status assay_folder_read_file(const char *path, size_t most, struct assay_text *out,
                                         struct assay_error *err);

/* The beginning of a file of the system's (/proc, /sys), terminated, as far as it fits. Takes no
 * memory. 0, or the errno of what went wrong. */
int assay_folder_peek(const char *path, char *buf, size_t size);

/* Removes a file or a folder with all in it, following no links. Says nothing of what fails: what
 * stays is only litter. */
void assay_folder_remove(const char *path);

/* A name beside `path` that nobody else uses, appended to `out`: PATH.PID-TIME.tmp. */
void assay_folder_name_beside(const char *path, struct assay_text *out);

/* Creates a new file beside `path`, PATH.PID-TIME.ENDING, for writing: never an existing one, never
 * through a link. Its name replaces what `name` holds. The descriptor, or -1 and errno. */
int assay_folder_create_beside(const char *path, const char *ending, struct assay_text *name);

/* Removes files with such names from a folder when they are more than a day old: their writer was
 * killed. */
void assay_folder_sweep(const char *folder);

#endif
