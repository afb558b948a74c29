/* memory_file.h: a file of memory profiles, a page or a snapshot, that takes its name when it is
 * complete (base/part_file.h). */
#ifndef ASSAY_REPORT_MEMORY_FILE_H
#define ASSAY_REPORT_MEMORY_FILE_H

#include "trace/memory_profile.h"

enum assay_memory_form { ASSAY_MEMORY_PAGE, ASSAY_MEMORY_SNAPSHOT };
/* By the name of a file: .pickle and .pkl are snapshots, all else is a page. */
enum assay_memory_form assay_memory_form_of(const char *path);

typedef struct assay_memory_file assay_memory_file;

/* Opens it for writing: fails before anything is measured. `about` says what it is of, which
 * `device` what the index of the GPU is; neither is kept. */
enum assay_status assay_memory_file_open(const char *path, enum assay_memory_form form,
                                         const char *about, int32_t device, assay_memory_file **out,
                                         struct assay_error *err);
/* What could not be added is told when it is closed. */
void assay_memory_file_add(assay_memory_file *file, const struct assay_memory_profile *profile);
const char *assay_memory_file_path(const assay_memory_file *file);

/* Completes it and gives it its name; the error says why that cannot be. Frees it; NULL is fine. */
enum assay_status assay_memory_file_close(assay_memory_file *file, struct assay_error *err);
/* Without a file: nothing takes its name. NULL is fine. */
void assay_memory_file_cancel(assay_memory_file *file);

#endif
