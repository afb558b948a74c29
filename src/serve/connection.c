#include "serve/connection.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char type_of_errors[] = "text/plain; charset=utf-8";

static void give_time(struct assay_connection *c, int ms)
{
    c->until_ns = assay_clock_ns() + (int64_t)ms * 1000000;
}

void assay_connection_begin(struct assay_connection *c, int socket,
                            const struct assay_connection_host *host)
{
    c->socket = socket;
    c->step = ASSAY_CONNECTION_READS;
    c->n = 0;
    give_time(c, host->request_ms);
}

void assay_connection_end(struct assay_connection *c)
{
    if (c->socket >= 0)
        close(c->socket);
    c->socket = -1;
    assay_text_fini(&c->answer);
}

short assay_connection_events(const struct assay_connection *c)
{
    return c->step == ASSAY_CONNECTION_WRITES ? POLLOUT : POLLIN;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* In a time that does not tell how much of it is right. */
static bool same_secret(const char *a, const char *b, size_t length)
{
    unsigned char difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

/* What follows "/TOKEN/"; NULL where the path lies elsewhere. */
static const char *name_below(const char *path, const char *token)
{
    size_t length = strlen(token);
    if (strlen(path) < length + 2 || path[length + 1] != '/' ||
        !same_secret(path + 1, token, length))
        return NULL;
    return path + length + 2;
}

static int find(const struct assay_http_request *request, const struct assay_connection_host *host,
                const struct assay_site *site, struct assay_served *out)
{
    struct assay_error err = {0};
    const char *name = name_below(request->path, host->token);
    if (!assay_text_same(request->host, host->names[0]) &&
        !assay_text_same(request->host, host->names[1]))
        return ASSAY_HTTP_MISDIRECTED;
    if (!name)
        return ASSAY_HTTP_NOT_FOUND;
    enum assay_status status = site->get(site->user, name, out, &err);
    if (status == ASSAY_OK && !out->body.failed)
        return ASSAY_HTTP_OK;
    assay_text_fini(&out->body);
    if (status == ASSAY_UNSUPPORTED)
        return ASSAY_HTTP_NOT_FOUND;
    char text[800];
    if (status == ASSAY_OK)
        assay_error_nomem(&err);
    assay_error_format(&err, text, sizeof text);
    assay_text_format(&out->body, "%s\n", text);
    return ASSAY_HTTP_SERVER_ERROR;
}

/* Nothing is kept by the browser, framed by another page, or told to one that is linked to. */
static void write_answer(struct assay_text *out, int status, struct assay_served *served)
{
    if (status != ASSAY_HTTP_OK) {
        served->type = type_of_errors;
        if (served->body.length == 0)
            assay_text_format(&served->body, "%d %s\n", status, assay_http_status_name(status));
    }
    assay_text_clear(out);
    assay_text_format(out,
                      "HTTP/1.1 %d %s\r\n"
                      "Content-Type: %s\r\n"
                      "Content-Length: %zu\r\n"
                      "Connection: close\r\n"
                      "Cache-Control: no-store\r\n"
                      "X-Content-Type-Options: nosniff\r\n"
                      "X-Frame-Options: DENY\r\n"
                      "Referrer-Policy: no-referrer\r\n"
                      "Cross-Origin-Resource-Policy: same-origin\r\n",
                      status, assay_http_status_name(status), served->type, served->body.length);
    if (status == ASSAY_HTTP_METHOD_NOT_ALLOWED)
        assay_text_add(out, "Allow: GET\r\n");
    assay_text_add(out, "\r\n");
    if (served->body.length > 0)
        assay_text_append(out, served->body.data, served->body.length);
    out->failed = out->failed || served->body.failed;
}

static void answer(struct assay_connection *c, const struct assay_http_request *request, int status,
                   const struct assay_connection_host *host, const struct assay_site *site)
{
    struct assay_served served = {0};
    if (status == ASSAY_HTTP_OK)
        status = find(request, host, site, &served);
    write_answer(&c->answer, status, &served);
    assay_text_fini(&served.body);
    if (c->answer.failed) { /* there is no memory even to say so */
        assay_connection_end(c);
        return;
    }
    c->step = ASSAY_CONNECTION_WRITES;
    c->n = 0;
    give_time(c, host->reader_ms);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* False: there is nothing to be had now, or ever; then the connection has ended. */
static bool moved(struct assay_connection *c, ssize_t n)
{
    if (n > 0)
        return true;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        assay_connection_end(c);
    return false;
}

static void read_request(struct assay_connection *c, const struct assay_connection_host *host,
                         const struct assay_site *site)
{
    struct assay_http_request request;
    ssize_t n = recv(c->socket, c->request + c->n, sizeof c->request - c->n, 0);
    if (!moved(c, n))
        return;
    c->n += (size_t)n;
    int status = assay_http_request_read(c->request, c->n, &request);
    if (status != ASSAY_HTTP_MORE)
        answer(c, &request, status, host, site);
}

/* A socket that is closed with bytes unread resets the connection, and the other side may lose the
 * answer: so they are read first, for as long as a request may take. */
static void write_on(struct assay_connection *c, const struct assay_connection_host *host)
{
    while (c->n < c->answer.length) {
        ssize_t n = send(c->socket, c->answer.data + c->n, c->answer.length - c->n, MSG_NOSIGNAL);
        if (!moved(c, n))
            return;
        c->n += (size_t)n;
        give_time(c, host->reader_ms);
    }
    assay_text_fini(&c->answer);
    shutdown(c->socket, SHUT_WR);
    c->step = ASSAY_CONNECTION_DRAINS;
    give_time(c, host->request_ms);
}

void assay_connection_go_on(struct assay_connection *c, const struct assay_connection_host *host,
                            const struct assay_site *site)
{
    if (c->step == ASSAY_CONNECTION_READS)
        read_request(c, host, site);
    else if (c->step == ASSAY_CONNECTION_DRAINS)
        moved(c, recv(c->socket, c->request, sizeof c->request, 0));
    if (c->socket >= 0 && c->step == ASSAY_CONNECTION_WRITES)
        write_on(c, host);
}
