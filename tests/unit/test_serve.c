/* test_serve.c: a server in a thread of its own, asked over real sockets. */
#include "unit.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/io.h"
#include "serve/server.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = 16 << 20 /* more than the system holds for a reader */ };

static enum assay_status get(void *user, const char *name, struct assay_served *out,
                             struct assay_error *err)
{
    int *asked = user;
    (*asked)++;
    out->type = "text/html; charset=utf-8";
    if (strcmp(name, "") == 0)
        assay_text_format(&out->body, "<p>page %d", *asked);
    else if (strcmp(name, "large") == 0)
        for (int i = 0; i < LARGE / 16; i++)
            assay_text_add(&out->body, "0123456789abcdef");
    else if (strcmp(name, "broken") == 0)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, "run.jsonl:1", "is damaged");
    else
        return ASSAY_UNSUPPORTED;
    return ASSAY_OK;
}

struct running {
    assay_server *server;
    struct assay_site site;
    pthread_t thread;
    int stop[2], asked, port;
    char token[64];
    enum assay_status ended;
};

static void *run(void *argument)
{
    struct running *r = argument;
    r->ended = assay_server_run(r->server, &r->site, r->stop[0], NULL);
    return NULL;
}

/* With so much time for requests and for readers; 0: the usual. */
static void start(struct running *r, int ms)
{
    const struct assay_server_settings settings = {.request_ms = ms, .reader_ms = ms};
    *r = (struct running){.site = {.user = &r->asked, .get = get}};
    assert_int_equal(assay_server_open(&settings, &r->server, NULL), ASSAY_OK);
    assert_int_equal(sscanf(assay_server_address(r->server), "http://127.0.0.1:%d/%63[0-9a-f]/",
                            &r->port, r->token),
                     2);
    assert_int_equal(strlen(r->token), 32);
    assert_int_equal(pipe(r->stop), 0);
    assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
}

static void stop(struct running *r)
{
    assert_int_equal(assay_io_write(r->stop[1], "!", 1), 0);
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    assert_int_equal(r->ended, ASSAY_OK);
    assay_server_close(r->server);
    close(r->stop[0]);
    close(r->stop[1]);
}

static int dial(const struct running *r)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)r->port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s >= 0);
    assert_int_equal(connect(s, (const struct sockaddr *)&address, sizeof address), 0);
    return s;
}

/* All that comes until the other side closes; for assay_free. */
static char *hear(int s)
{
    struct assay_text text = {0};
    char part[4096];
    size_t got = 1;
    assay_text_add(&text, "");
    while (got > 0 && assay_io_read(s, part, sizeof part, &got) == 0)
        assay_text_append(&text, part, got);
    close(s);
    assert_false(text.failed);
    return text.data;
}

static char *ask(const struct running *r, const char *request)
{
    int s = dial(r);
    assert_int_equal(assay_io_write(s, request, strlen(request)), 0);
    return hear(s);
}

static char *ask_for(const struct running *r, const char *token, const char *name, const char *host)
{
    char request[512];
    snprintf(request, sizeof request, "GET /%s/%s HTTP/1.1\r\nHost: %s\r\n\r\n", token, name, host);
    return ask(r, request);
}

static char *ask_here(const struct running *r, const char *name)
{
    char host[64];
    snprintf(host, sizeof host, "127.0.0.1:%d", r->port);
    return ask_for(r, r->token, name, host);
}

static void assert_answer(char *answer, const char *begins, const char *holds)
{
    if (strncmp(answer, begins, strlen(begins)) != 0 || !strstr(answer, holds))
        fail_msg("not \"%s\" … \"%s\", but: %.600s", begins, holds, answer);
    assay_free(answer);
}

static void test_answers(void **state)
{
    (void)state;
    struct running r;
    start(&r, 0);
    assert_answer(ask_here(&r, ""), "HTTP/1.1 200 OK\r\n", "\r\n\r\n<p>page 1");
    assert_answer(ask_here(&r, ""), "HTTP/1.1 200 OK\r\n", "\r\n\r\n<p>page 2");
    assert_answer(ask_here(&r, ""), "HTTP/1.1 200 OK\r\n", "Cache-Control: no-store\r\n");
    assert_answer(ask_here(&r, "nothing"), "HTTP/1.1 404 Not Found\r\n", "404 Not Found\n");
    assert_answer(ask_here(&r, "broken"), "HTTP/1.1 500 ", "run.jsonl:1: is damaged\n");
    assert_answer(ask(&r, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 405 ", "Allow: GET\r\n");
    char *large = ask_here(&r, "large");
    char *body = strstr(large, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), LARGE);
    assay_free(large);
    stop(&r);
}

/* Whoever does not know the token, or comes by another name, learns nothing; the site is not even
 * asked. */
static void test_strangers(void **state)
{
    (void)state;
    struct running r;
    char host[64], wrong[64];
    start(&r, 0);
    snprintf(host, sizeof host, "localhost:%d", r.port);
    snprintf(wrong, sizeof wrong, "%s", r.token);
    assert_answer(ask_for(&r, wrong, "", host), "HTTP/1.1 200 ", "page 1");
    wrong[31] = wrong[31] == '0' ? '1' : '0';
    assert_answer(ask_for(&r, wrong, "", host), "HTTP/1.1 404 ", "404");
    wrong[31] = '\0';
    assert_answer(ask_for(&r, wrong, "", host), "HTTP/1.1 404 ", "404");
    assert_answer(ask_for(&r, "", "", host), "HTTP/1.1 404 ", "404");
    assert_answer(ask_for(&r, r.token, "", "evil.example"), "HTTP/1.1 421 ", "421");
    assert_answer(ask_for(&r, r.token, "", "127.0.0.1"), "HTTP/1.1 421 ", "421");
    assert_answer(ask_for(&r, r.token, "", "localhost:1"), "HTTP/1.1 421 ", "421");
    assert_int_equal(r.asked, 1);
    stop(&r);
}

/* Who says nothing, or takes nothing, is let go; others are answered meanwhile. */
static void test_slow(void **state)
{
    (void)state;
    struct running r;
    char byte, request[128];
    size_t got = 1;
    start(&r, 300);
    int64_t began = assay_clock_ns();
    int silent = dial(&r), greedy = dial(&r);
    int n = snprintf(request, sizeof request,
                     "GET /%s/large HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", r.token, r.port);
    assert_int_equal(assay_io_write(greedy, request, (size_t)n), 0);
    assert_answer(ask_here(&r, ""), "HTTP/1.1 200 OK\r\n", "page");
    assert_int_equal(assay_io_read(silent, &byte, 1, &got), 0);
    assert_int_equal(got, 0); /* closed */
    assert_true(assay_clock_ns() - began > 200 * 1000000ll);
    usleep(700000);
    char *part = hear(greedy);
    assert_true(strlen(part) < LARGE);
    assay_free(part);
    close(silent);
    assert_answer(ask_here(&r, ""), "HTTP/1.1 200 OK\r\n", "page");
    stop(&r);
}

/* More at once than there are places for: the rest wait, and everybody is answered. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 40 };
    struct running r;
    int sockets[MANY];
    char request[128];
    start(&r, 0);
    int n = snprintf(request, sizeof request, "GET /%s/ HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                     r.token, r.port);
    for (int i = 0; i < MANY; i++)
        sockets[i] = dial(&r);
    for (int i = MANY - 1; i >= 0; i--)
        assert_int_equal(assay_io_write(sockets[i], request, (size_t)n), 0);
    for (int i = 0; i < MANY; i++)
        assert_answer(hear(sockets[i]), "HTTP/1.1 200 OK\r\n", "page");
    stop(&r);
}

static void test_ports(void **state)
{
    (void)state;
    assay_server *first, *second;
    struct assay_error err = {0};
    struct assay_server_settings settings = {0};
    int port;
    assert_int_equal(assay_server_open(&settings, &first, &err), ASSAY_OK);
    assert_int_equal(sscanf(assay_server_address(first), "http://127.0.0.1:%d/", &port), 1);
    settings.port = port;
    assert_int_equal(assay_server_open(&settings, &second, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "is taken by another program"));
    assert_null(second);
    assay_server_close(first);
    assert_int_equal(assay_server_open(&settings, &second, NULL), ASSAY_OK);
    assay_server_close(second);
    assay_alloc_fail_after(1);
    assert_int_equal(assay_server_open(&settings, &second, NULL), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_slow),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
