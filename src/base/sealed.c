#include "base/sealed.h"

#include "base/folder.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

/* The end of a sealed file: a line of its own, then the closing brace. */
#define SEAL "  \"sha256\": \"%s\"\n}\n"
enum { SEAL_LENGTH = sizeof SEAL - 1 - 2 + ASSAY_SHA256_HEX - 1 };

static void make_seal(const char *bytes, size_t length, char out[SEAL_LENGTH + 1])
{
    struct assay_sha256 hash;
    char digits[ASSAY_SHA256_HEX];
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, bytes, length);
    assay_sha256_hex(&hash, digits);
    snprintf(out, SEAL_LENGTH + 1, SEAL, digits);
}

enum assay_status assay_sealed_write(const char *path, const assay_json *object,
                                     struct assay_error *err)
{
    struct assay_text text = {0};
    char seal[SEAL_LENGTH + 1];
    enum assay_status status = ASSAY_ERR_NOMEM;
    assay_json_write(object, 2, &text);
    if (!text.failed && text.length > 2) {
        text.length -= 2; /* the newline and the brace: the seal has its own */
        assay_text_add(&text, ",\n");
    }
    if (!text.failed) {
        make_seal(text.data, text.length, seal);
        assay_text_add(&text, seal);
    }
    if (text.failed)
        assay_error_set(err, status, path, "no memory to write this file");
    else
        status = assay_folder_write_atomic(path, text.data, text.length, err);
    assay_text_fini(&text);
    return status;
}

/* Breaks the seal, if it fits: what is left is the object without it. */
static bool unseal(struct assay_text *text)
{
    char seal[SEAL_LENGTH + 1];
    if (text->length < SEAL_LENGTH + 2)
        return false;
    size_t length = text->length - SEAL_LENGTH;
    make_seal(text->data, length, seal);
    if (memcmp(text->data + length, seal, SEAL_LENGTH) != 0 ||
        memcmp(text->data + length - 2, ",\n", 2) != 0)
        return false;
    text->data[length - 2] = '}';
    text->length = length - 1;
    return true;
}

assay_json *assay_sealed_read(const char *path, size_t most, struct assay_error *err)
{
    struct assay_text text = {0};
    assay_json *object = NULL;
    if (assay_folder_read_file(path, most, &text, err) == ASSAY_OK) {
        if (unseal(&text))
            object = assay_json_parse(text.data, text.length, path, err);
        else
            assay_error_set(err, ASSAY_ERR_CORRUPT, path, "is damaged: its checksum does not fit");
    }
    assay_text_fini(&text);
    return object;
}
