#include "serve/http_request.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

const char *assay_http_status_name(int status)
{
    switch (status) {
    case ASSAY_HTTP_OK:
        return "OK";
    case ASSAY_HTTP_NOT_FOUND:
        return "Not Found";
    case ASSAY_HTTP_METHOD_NOT_ALLOWED:
        return "Method Not Allowed";
    case ASSAY_HTTP_URI_TOO_LONG:
        return "URI Too Long";
    case ASSAY_HTTP_MISDIRECTED:
        return "Misdirected Request";
    case ASSAY_HTTP_HEAD_TOO_LARGE:
        return "Request Header Fields Too Large";
    case ASSAY_HTTP_SERVER_ERROR:
        return "Internal Server Error";
    case ASSAY_HTTP_VERSION:
        return "HTTP Version Not Supported";
    default:
        return "Bad Request";
    }
}

/* A part of the head; it is not terminated. */
struct part {
    const char *bytes;
    size_t length;
};

static bool is(struct part part, const char *name)
{
    return part.length == strlen(name) && strncasecmp(part.bytes, name, part.length) == 0;
}

/* Cuts what stands before `end` off `rest`; false where `end` is not there. */
static bool cut(struct part *rest, const char *end, struct part *out)
{
    size_t length = strlen(end);
    const char *found = memmem(rest->bytes, rest->length, end, length);
    if (!found)
        return false;
    *out = (struct part){rest->bytes, (size_t)(found - rest->bytes)};
    rest->bytes += out->length + length;
    rest->length -= out->length + length;
    return true;
}

/* RFC 9110, 5.6.2 */
static bool is_token(struct part part)
{
    for (size_t i = 0; i < part.length; i++) {
        char c = part.bytes[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return part.length > 0;
}

static bool is_visible(struct part part)
{
    for (size_t i = 0; i < part.length; i++)
        if (part.bytes[i] <= ' ' || part.bytes[i] > '~')
            return false;
    return part.length > 0;
}

static bool is_value(struct part part)
{
    for (size_t i = 0; i < part.length; i++) {
        unsigned char c = (unsigned char)part.bytes[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static struct part trim(struct part part)
{
    while (part.length > 0 && strchr(" \t", part.bytes[0]))
        part = (struct part){part.bytes + 1, part.length - 1};
    while (part.length > 0 && strchr(" \t", part.bytes[part.length - 1]))
        part.length--;
    return part;
}

static bool keep(struct part part, char *out, size_t size)
{
    if (part.length >= size)
        return false;
    memcpy(out, part.bytes, part.length);
    out[part.length] = '\0';
    return true;
}

/* "GET /path HTTP/1.1" */
static int read_first_line(struct part line, struct assay_http_request *out)
{
    struct part method, path;
    if (!cut(&line, " ", &method) || !cut(&line, " ", &path) || !is_token(method) ||
        !is_visible(path) || !is_visible(line) || line.length < 5 ||
        memcmp(line.bytes, "HTTP/", 5) != 0)
        return ASSAY_HTTP_BAD_REQUEST;
    if (!is(line, "HTTP/1.1") && !is(line, "HTTP/1.0"))
        return ASSAY_HTTP_VERSION;
    if (method.length != 3 || memcmp(method.bytes, "GET", 3) != 0)
        return ASSAY_HTTP_METHOD_NOT_ALLOWED;
    if (path.bytes[0] != '/')
        return ASSAY_HTTP_BAD_REQUEST;
    return keep(path, out->path, sizeof out->path) ? ASSAY_HTTP_OK : ASSAY_HTTP_URI_TOO_LONG;
}

static int read_field(struct part line, struct assay_http_request *out)
{
    struct part name;
    if (!cut(&line, ":", &name) || !is_token(name) || !is_value(line))
        return ASSAY_HTTP_BAD_REQUEST;
    struct part value = trim(line);
    if (is(name, "Transfer-Encoding") || (is(name, "Content-Length") && !is(value, "0")))
        return ASSAY_HTTP_BAD_REQUEST;
    if (!is(name, "Host"))
        return ASSAY_HTTP_OK;
    bool first = out->host[0] == '\0';
    return first && is_visible(value) && keep(value, out->host, sizeof out->host)
               ? ASSAY_HTTP_OK
               : ASSAY_HTTP_BAD_REQUEST;
}

int assay_http_request_read(const char *bytes, size_t length, struct assay_http_request *out)
{
    size_t most = length < ASSAY_HTTP_MOST_HEAD ? length : ASSAY_HTTP_MOST_HEAD;
    struct part head, line, rest = {bytes, most};
    *out = (struct assay_http_request){0};
    if (!cut(&rest, "\r\n\r\n", &head))
        return length < ASSAY_HTTP_MOST_HEAD ? ASSAY_HTTP_MORE : ASSAY_HTTP_HEAD_TOO_LARGE;
    head.length += 2; /* every line has its end */
    if (!cut(&head, "\r\n", &line))
        return ASSAY_HTTP_BAD_REQUEST;
    int status = read_first_line(line, out);
    for (int n = 0; status == ASSAY_HTTP_OK && cut(&head, "\r\n", &line); n++)
        status = n < ASSAY_HTTP_MOST_FIELDS ? read_field(line, out) : ASSAY_HTTP_HEAD_TOO_LARGE;
    if (status == ASSAY_HTTP_OK && out->host[0] == '\0')
        return ASSAY_HTTP_BAD_REQUEST;
    return status;
}
