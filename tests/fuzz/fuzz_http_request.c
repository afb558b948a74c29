/* fuzz_http_request.c: whatever comes is refused, or a path and a host without surprises; and no
 * part of it was taken for something else. */
#include "serve/http_request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_visible(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    if (length == 0 || length == most)
        abort();
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_http_request request;
    char *bytes = malloc(size); /* of the exact size, so that a sanitizer sees its end */
    if (!bytes || size == 0) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, data, size);
    int status = assay_http_request_read(bytes, size, &request);
    if (status == ASSAY_HTTP_OK) {
        check_visible(request.path, sizeof request.path);
        check_visible(request.host, sizeof request.host);
        if (request.path[0] != '/')
            abort();
    } else if (status == ASSAY_HTTP_MORE) {
        if (size >= ASSAY_HTTP_MOST_HEAD)
            abort();
    } else if (strcmp(assay_http_status_name(status), "OK") == 0) {
        abort();
    }
    int before = assay_http_request_read(bytes, size - 1, &request);
    if (before != ASSAY_HTTP_MORE && before != status)
        abort();
    free(bytes);
    return 0;
}
