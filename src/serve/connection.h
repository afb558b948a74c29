/* connection.h: one request and its answer, in as many steps as the other side makes of it. */
#ifndef ASSAY_SERVE_CONNECTION_H
#define ASSAY_SERVE_CONNECTION_H

#include "serve/http_request.h"
#include "serve/server.h"

enum assay_connection_step {
    ASSAY_CONNECTION_READS,
    ASSAY_CONNECTION_WRITES,
    ASSAY_CONNECTION_DRAINS, /* the answer is out: what else comes is thrown away */
};

struct assay_connection {
    int socket; /* -1: none; non-blocking */
    enum assay_connection_step step;
    int64_t until_ns; /* it is closed then */
    size_t n;         /* bytes of the request, or of `answer` that are sent */
    char request[ASSAY_HTTP_MOST_HEAD];
    struct assay_text answer;
};

/* What a server knows that its connections need. */
struct assay_connection_host {
    const char *names[2]; /* the hosts that a request may name: "127.0.0.1:40123" */
    const char *token;
    int request_ms, reader_ms;
};

void assay_connection_begin(struct assay_connection *connection, int socket,
                            const struct assay_connection_host *host);
void assay_connection_end(struct assay_connection *connection);

/* What poll is to wait for. */
short assay_connection_events(const struct assay_connection *connection);

/* Goes on as far as it goes without waiting. */
void assay_connection_go_on(struct assay_connection *connection,
                            const struct assay_connection_host *host,
                            const struct assay_site *site);

#endif
