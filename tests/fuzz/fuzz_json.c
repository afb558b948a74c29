/* fuzz_json.c: our reader and jansson's take the same texts for JSON and read the same from them.
 * Only the number of levels differs: ours are fewer. */
#include "base/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const assay_json *ours, const json_t *theirs)
{
    struct assay_text text = {0};
    char *want = json_dumps(theirs, JSON_COMPACT);
    assay_json_write(ours, 0, &text);
    bool same = want && !text.failed && strcmp(text.data, want) == 0;
    free(want);
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
