/* part_file.h: a file that is written beside its name, as NAME.PID-TIME.part, and takes it when it
 * is complete and on the disk: whoever opens the name finds something whole. What is no regular
 * file (a pipe, /dev/full) is written in place. */
#ifndef ASSAY_BASE_PART_FILE_H
#define ASSAY_BASE_PART_FILE_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct assay_part_file {
    int file;          /* a descriptor; -1: not open */
    char *path, *part; /* NULL part: written in place */
    int error;         /* errno of the first failed write */
};

/* ASSAY_ERR_INVALID where the file cannot be written: it is told before anything is measured. */
enum assay_status assay_part_file_open(struct assay_part_file *file, const char *path,
                                       struct assay_error *err);
/* 0, or the errno, which is kept: nothing is written after it. */
int assay_part_file_write(struct assay_part_file *file, const char *bytes, size_t length);
/* Gives the file its name, or removes it where a write has failed or `keep` is false. ASSAY_ERR_IO
 * says why it could not be kept. */
enum assay_status assay_part_file_close(struct assay_part_file *file, bool keep,
                                        struct assay_error *err);

/* Removes what writers of this name that were killed have left; whoever writes one holds it locked.
 */
void assay_part_file_sweep(const char *path);

#endif
