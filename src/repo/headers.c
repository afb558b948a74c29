#include "repo/headers.h"

#include "base/folder.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a path");
}

static bool is_there(const char *path, const char *text)
{
    struct assay_text found = {0};
    size_t length = strlen(text);
    bool same = assay_folder_read_file(path, length, &found, NULL) == ASSAY_OK &&
                found.length == length && memcmp(found.data, text, length) == 0;
    assay_text_fini(&found);
    return same;
}

/* Each file comes whole or not at all, so another assay may be doing the same. */
static enum assay_status write_header(const char *folder, const struct assay_header *header,
                                      struct assay_error *err)
{
    struct assay_text path = {0};
    assay_text_format(&path, "%s/assay", folder);
    size_t length = path.length;
    assay_text_format(&path, "/%s", header->name);
    enum assay_status status = path.failed ? no_memory(err) : ASSAY_OK;
    if (status == ASSAY_OK && !is_there(path.data, header->text)) {
        path.data[length] = '\0';
        status = assay_folder_make(path.data, err);
        path.data[length] = '/';
        if (status == ASSAY_OK)
            status = assay_folder_write_atomic(path.data, header->text, strlen(header->text), err);
    }
    assay_text_fini(&path);
    return status;
}

enum assay_status assay_headers_folder(struct assay_text *out, struct assay_error *err)
{
    struct assay_sha256 hash;
    char hex[ASSAY_SHA256_HEX];
    assay_sha256_init(&hash);
    for (int i = 0; i < assay_n_headers; i++) {
        assay_sha256_add_text(&hash, assay_headers[i].name);
        assay_sha256_add_text(&hash, assay_headers[i].text);
    }
    assay_sha256_hex(&hash, hex);
    size_t start = out->length;
    enum assay_status status = assay_folder_cache(out, err);
    assay_text_format(out, "/include-%.16s", hex);
    if (status == ASSAY_OK && out->failed)
        status = no_memory(err);
    for (int i = 0; i < assay_n_headers && status == ASSAY_OK; i++)
        status = write_header(out->data + start, &assay_headers[i], err);
    return status;
}

enum assay_status assay_headers_first(const char *folder, struct assay_text *out,
                                      struct assay_error *err)
{
    static const struct assay_header empty = {"assay_first.h",
                                              "/* Included before all others. */\n"};
    assay_text_format(out, "%s/assay/%s", folder, empty.name);
    return out->failed ? no_memory(err) : write_header(folder, &empty, err);
}
