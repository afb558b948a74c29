/* fuzz_json.c: our reader and jansson's take the same texts for JSON and read the same from them,
 * and what ours writes of it jansson reads as that again. Only the number of levels differs: ours
 * are fewer. */
#include "base/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const assay_json *ours, const json_t *theirs)
{
    struct assay_text text = {0};
    assay_json_write(ours, 0, &text);
    json_t *again = text.failed ? NULL : json_loadb(text.data, text.length, 0, NULL);
    bool same = again && json_equal(again, theirs);
    json_decref(again);
    assay_text_fini(&text);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error err = {0};
    assay_json *ours = assay_json_parse((const char *)data, size, "text", &err);
    json_t *theirs = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    bool deep = strstr(err.message, "too many levels") != NULL;
    bool zero = size > 0 && memchr(data, 0, size);
    if (zero ? ours != NULL : !ours != !theirs && !deep)
        abort();
    if (!ours && (err.code != ASSAY_ERR_CORRUPT || !err.message[0] || !err.where[0]))
        abort();
    if (ours && !is_same(ours, theirs))
        abort();
    assay_json_free(ours);
    json_decref(theirs);
    return 0;
}
