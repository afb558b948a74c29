#include "report/memory_file.h"

#include "base/alloc.h"
#include "base/part_file.h"
#include "report/memory_page.h"
#include "trace/memory_snapshot.h"

#include <stdio.h>
#include <string.h>

struct assay_memory_file {
    struct assay_part_file file;
    enum assay_memory_form form;
    assay_memory_snapshot *snapshot;
    struct assay_text text; /* of a page, until it is written */
    char about[512];
    int64_t n;
    bool no_memory;
};

enum assay_memory_form assay_memory_form_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".pickle") == 0 || strcmp(dot, ".pkl") == 0) ? ASSAY_MEMORY_SNAPSHOT
                                                                            : ASSAY_MEMORY_PAGE;
}

static int write_bytes(void *user, const char *bytes, size_t length)
{
    return assay_part_file_write(user, bytes, length);
}

static void write_text(assay_memory_file *f)
{
    f->no_memory = f->no_memory || f->text.failed;
    if (f->text.length > 0)
        assay_part_file_write(&f->file, f->text.data, f->text.length);
    assay_text_clear(&f->text);
}

enum assay_status assay_memory_file_open(const char *path, enum assay_memory_form form,
                                         const char *about, int32_t device, assay_memory_file **out,
                                         struct assay_error *err)
{
    assay_memory_file *f = assay_calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return assay_error_nomem(err);
    f->form = form;
    snprintf(f->about, sizeof f->about, "%s", about);
    enum assay_status status = assay_part_file_open(&f->file, path, err);
    if (status == ASSAY_OK && form == ASSAY_MEMORY_SNAPSHOT) {
        f->snapshot = assay_memory_snapshot_create(device, write_bytes, &f->file);
        if (!f->snapshot)
            status = assay_error_nomem(err);
    } else if (status == ASSAY_OK) {
        assay_memory_page_begin(f->about, &f->text);
        write_text(f);
    }
    if (status != ASSAY_OK) {
        assay_memory_file_cancel(f);
        return status;
    }
    *out = f;
    return ASSAY_OK;
}

void assay_memory_file_add(assay_memory_file *f, const struct assay_memory_profile *profile)
{
    struct assay_memory_items items;
    if (f->form == ASSAY_MEMORY_SNAPSHOT) {
        f->no_memory |= assay_memory_snapshot_add(f->snapshot, profile) != ASSAY_OK;
        return;
    }
    if (assay_memory_items_make(profile, &items) != ASSAY_OK) {
        f->no_memory = true;
        return;
    }
    assay_memory_page_add(++f->n, profile, &items, &f->text);
    write_text(f);
    assay_memory_items_fini(&items);
}

const char *assay_memory_file_path(const assay_memory_file *f) { return f->file.path; }

static enum assay_status finish(assay_memory_file *f, bool keep, struct assay_error *err)
{
    if (!f)
        return ASSAY_OK;
    if (f->form == ASSAY_MEMORY_PAGE && keep) {
        assay_memory_page_end(&f->text);
        write_text(f);
    }
    assay_memory_snapshot_end(f->snapshot, f->about);
    bool whole = !f->no_memory;
    enum assay_status status = assay_part_file_close(&f->file, keep && whole, err);
    if (status == ASSAY_OK && keep && !whole)
        status = assay_error_nomem(err);
    assay_text_fini(&f->text);
    assay_free(f);
    return status;
}

enum assay_status assay_memory_file_close(assay_memory_file *f, struct assay_error *err)
{
    return finish(f, true, err);
}

void assay_memory_file_cancel(assay_memory_file *f) { finish(f, false, NULL); }
