/* http_request.h: the head of an HTTP/1.1 request, read strictly.
 *
 * Only GET without a body is let through. Lines end with CR LF, nothing is folded, and no byte
 * below 0x20 but a tab stands in a value: whoever sends something else is no browser. Paths are
 * compared byte by byte, so nothing is decoded. */
#ifndef ASSAY_SERVE_HTTP_REQUEST_H
#define ASSAY_SERVE_HTTP_REQUEST_H

#include <stddef.h>

enum {
    ASSAY_HTTP_MOST_HEAD = 8192, /* bytes, with the empty line; a browser's has some 1000 */
    ASSAY_HTTP_MOST_FIELDS = 64,
    ASSAY_HTTP_MOST_PATH = 256,
    ASSAY_HTTP_MOST_HOST = 64,
};

struct assay_http_request {
    char path[ASSAY_HTTP_MOST_PATH]; /* as it was sent, with what stands behind a `?` */
    char host[ASSAY_HTTP_MOST_HOST];
};

enum {
    ASSAY_HTTP_MORE = 0, /* the head is not whole yet */
    ASSAY_HTTP_OK = 200,
    ASSAY_HTTP_BAD_REQUEST = 400,
    ASSAY_HTTP_NOT_FOUND = 404,
    ASSAY_HTTP_METHOD_NOT_ALLOWED = 405,
    ASSAY_HTTP_URI_TOO_LONG = 414,
    ASSAY_HTTP_MISDIRECTED = 421,
    ASSAY_HTTP_HEAD_TOO_LARGE = 431,
    ASSAY_HTTP_SERVER_ERROR = 500,
    ASSAY_HTTP_VERSION = 505,
};

/* Reads what has come so far: ASSAY_HTTP_MORE, ASSAY_HTTP_OK with `out`, or the status that the
 * request is refused with. */
int assay_http_request_read(const char *bytes, size_t length, struct assay_http_request *out);

/* "Not Found" */
const char *assay_http_status_name(int status);

#endif
