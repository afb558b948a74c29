/* server.h: a small HTTP/1.1 server of one site, for browsers on this machine alone.
 *
 * It listens at 127.0.0.1, and everything lies below a token that nobody can guess, because other
 * users of the machine reach that address too. A request that names another host is refused, so
 * that a web page cannot get there by a name of its own that it makes point here. Each connection
 * is for one request. There is one loop and no thread: what the site is slow to make, others wait
 * for. */
#ifndef ASSAY_SERVE_SERVER_H
#define ASSAY_SERVE_SERVER_H

#include "base/text.h"

typedef struct assay_server assay_server;

struct assay_server_settings {
    int port; /* 0: any that is free */
    /* How long a request, and then a reader that takes nothing, is waited for; 0: as usual. */
    int request_ms, reader_ms;
};

/* What there is under a name. */
struct assay_served {
    const char *type; /* "text/html; charset=utf-8" */
    struct assay_text body;
};

struct assay_site {
    void *user;
    /* `name` is what follows the token: "" for the page, "version" … ASSAY_UNSUPPORTED: there is no
     * such thing. Other failures are answered with the error's text. */
    enum assay_status (*get)(void *user, const char *name, struct assay_served *out,
                             struct assay_error *err);
};

enum assay_status assay_server_open(const struct assay_server_settings *settings,
                                    assay_server **out, struct assay_error *err);
void assay_server_close(assay_server *server);

/* "http://127.0.0.1:40123/6f1e…/" */
const char *assay_server_address(const assay_server *server);

/* Answers requests until the descriptor `stop` can be read. */
enum assay_status assay_server_run(assay_server *server, const struct assay_site *site, int stop,
                                   struct assay_error *err);

#endif
