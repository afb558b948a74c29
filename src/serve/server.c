#include "serve/server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_CONNECTIONS = 16, /* a browser opens six, some of them in advance */
    MOST_WAITING = 64,     /* connections that the system keeps until there is a place */
    TOKEN_BYTES = 16,
    REQUEST_MS = 5000,
    READER_MS = 30000,
    WITHOUT_DESCRIPTORS_MS = 100,
};

struct assay_server {
    int listener;
    char token[2 * TOKEN_BYTES + 1];
    char names[2][32]; /* as requests may name this host */
    char address[128];
    struct assay_connection_host host;
    struct assay_connection connections[MOST_CONNECTIONS];
};

/* ---- opening -------------------------------------------------------------------------------- */

static enum assay_status make_token(char *token, struct assay_error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return assay_error_set(err, ASSAY_ERR_IO, NULL,
                               "the system gives no random numbers for an address that nobody can "
                               "guess: %s",
                               strerror(errno));
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return ASSAY_OK;
}

static enum assay_status cannot_listen(int port, struct assay_error *err)
{
    int why = errno;
    if (why == EADDRINUSE && port > 0)
        return assay_error_set(err, ASSAY_ERR_IO, NULL,
                               "port %d of 127.0.0.1 is taken by another program; choose another "
                               "one, or 0 for any that is free",
                               port);
    if (why == EACCES && port > 0)
        return assay_error_set(
            err, ASSAY_ERR_IO, NULL,
            "port %d is not for this user; choose one from 1024 on, or 0 for any "
            "that is free",
            port);
    return assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot listen at 127.0.0.1: %s",
                           strerror(why));
}

static enum assay_status open_listener(int port, int *listener, struct assay_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int again = 1; /* the port of a server that has just ended may be used */
    *listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*listener < 0 ||
        setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again) != 0 ||
        bind(*listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(*listener, MOST_WAITING) != 0)
        return cannot_listen(port, err);
    return ASSAY_OK;
}

/* The port it has become. */
static enum assay_status name_address(struct assay_server *server, struct assay_error *err)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    if (getsockname(server->listener, (struct sockaddr *)&address, &size) != 0)
        return cannot_listen(0, err);
    int port = ntohs(address.sin_port);
    snprintf(server->names[0], sizeof server->names[0], "127.0.0.1:%d", port);
    snprintf(server->names[1], sizeof server->names[1], "localhost:%d", port);
    snprintf(server->address, sizeof server->address, "http://%s/%s/", server->names[0],
             server->token);
    return ASSAY_OK;
}

enum assay_status assay_server_open(const struct assay_server_settings *settings,
                                    assay_server **out, struct assay_error *err)
{
    assay_server *server = assay_calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return assay_error_nomem(err);
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        server->connections[i].socket = -1;
    server->listener = -1;
    server->host = (struct assay_connection_host){
        .names = {server->names[0], server->names[1]},
        .token = server->token,
        .request_ms = settings->request_ms > 0 ? settings->request_ms : REQUEST_MS,
        .reader_ms = settings->reader_ms > 0 ? settings->reader_ms : READER_MS};
    enum assay_status status = make_token(server->token, err);
    if (status == ASSAY_OK)
        status = open_listener(settings->port, &server->listener, err);
    if (status == ASSAY_OK)
        status = name_address(server, err);
    if (status == ASSAY_OK)
        *out = server;
    else
        assay_server_close(server);
    return status;
}

void assay_server_close(assay_server *server)
{
    if (!server)
        return;
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        assay_connection_end(&server->connections[i]);
    if (server->listener >= 0)
        close(server->listener);
    assay_free(server);
}

const char *assay_server_address(const assay_server *server) { return server->address; }

/* ---- the loop ------------------------------------------------------------------------------- */

static struct assay_connection *free_connection(struct assay_server *server)
{
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (server->connections[i].socket < 0)
            return &server->connections[i];
    return NULL;
}

/* Who comes while all places are taken waits in the listener's queue. */
static void accept_all(struct assay_server *server)
{
    struct assay_connection *c;
    while ((c = free_connection(server))) {
        int socket = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                poll(NULL, 0, WITHOUT_DESCRIPTORS_MS); /* or the loop would spin */
            return;
        }
        assay_connection_begin(c, socket, &server->host);
    }
}

static void end_late(struct assay_server *server)
{
    int64_t now = assay_clock_ns();
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (server->connections[i].socket >= 0 && now >= server->connections[i].until_ns)
            assay_connection_end(&server->connections[i]);
}

/* Until the first connection's time is over; -1 where there is none. */
static int patience_ms(const struct assay_server *server)
{
    int64_t first = -1;
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        const struct assay_connection *c = &server->connections[i];
        if (c->socket >= 0 && (first < 0 || c->until_ns < first))
            first = c->until_ns;
    }
    if (first < 0)
        return -1;
    int64_t left = first - assay_clock_ns();
    return left > 0 ? (int)(left / 1000000) + 1 : 0;
}

enum { STOP, LISTENER, FIRST, WATCHED = FIRST + MOST_CONNECTIONS };

/* poll passes over a descriptor of -1. */
static void watch(struct assay_server *server, int stop, struct pollfd *watched)
{
    watched[STOP] = (struct pollfd){.fd = stop, .events = POLLIN};
    watched[LISTENER] =
        (struct pollfd){.fd = free_connection(server) ? server->listener : -1, .events = POLLIN};
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        watched[FIRST + i] =
            (struct pollfd){.fd = server->connections[i].socket,
                            .events = assay_connection_events(&server->connections[i])};
}

enum assay_status assay_server_run(assay_server *server, const struct assay_site *site, int stop,
                                   struct assay_error *err)
{
    struct pollfd watched[WATCHED];
    for (;;) {
        watch(server, stop, watched);
        if (poll(watched, WATCHED, patience_ms(server)) < 0) {
            if (errno == EINTR)
                continue;
            return assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot wait for requests: %s",
                                   strerror(errno));
        }
        if (watched[STOP].revents)
            return ASSAY_OK;
        for (int i = 0; i < MOST_CONNECTIONS; i++)
            if (watched[FIRST + i].revents)
                assay_connection_go_on(&server->connections[i], &server->host, site);
        end_late(server);
        if (watched[LISTENER].revents)
            accept_all(server);
    }
}
