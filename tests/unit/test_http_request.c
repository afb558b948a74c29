/* test_http_request.c: heads of requests, whole, in pieces, and such as no browser sends. */
#include "unit.h"

#include "serve/http_request.h"

#include <stdio.h>
#include <string.h>

#define HOST "Host: 127.0.0.1:8000\r\n"

static int read_text(const char *text, struct assay_http_request *out)
{
    return assay_http_request_read(text, strlen(text), out);
}

static void assert_status(int expected, const char *text)
{
    struct assay_http_request request;
    int got = read_text(text, &request);
    if (got != expected)
        fail_msg("%d, not %d, for: %s", got, expected, text);
}

static void test_what_browsers_send(void **state)
{
    (void)state;
    struct assay_http_request request;
    const char *text = "GET /5f0c/version?n=1 HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n"
                       "sec-ch-ua: \"Chromium\";v=\"156\"\r\n"
                       "Accept-Language: de;q=0.5,\ten\r\n"
                       "X-Empty:\r\n"
                       "Content-Length: 0\r\n\r\n";
    assert_int_equal(read_text(text, &request), ASSAY_HTTP_OK);
    assert_string_equal(request.path, "/5f0c/version?n=1");
    assert_string_equal(request.host, "127.0.0.1:8000");
    for (size_t n = 0; n < strlen(text); n++)
        if (assay_http_request_read(text, n, &request) != ASSAY_HTTP_MORE)
            fail_msg("the first %zu bytes are taken for all of them", n);
    assert_status(ASSAY_HTTP_OK, "GET / HTTP/1.0\r\nhOST: \t a \t\r\n\r\nwhat follows");
    assert_status(ASSAY_HTTP_OK, "GET / HTTP/1.1\r\nHost: a\r\nX: caf\xc3\xa9\r\n\r\n");
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {ASSAY_HTTP_METHOD_NOT_ALLOWED, "POST / HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_METHOD_NOT_ALLOWED, "HEAD / HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_METHOD_NOT_ALLOWED, "get / HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_METHOD_NOT_ALLOWED, "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_VERSION, "GET / HTTP/2.0\r\n" HOST "\r\n"},
        {ASSAY_HTTP_VERSION, "GET / HTTP/1.1x\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET /\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / /a HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET http://a/ HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET /\x01 HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "G(T / HTTP/1.1\r\n" HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "\x16\x03\x01\x02 not even text\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "Host : a\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST ": no name\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "X: a\nY: b\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "X: a\rY: b\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody"},
        {ASSAY_HTTP_BAD_REQUEST, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_status(cases[i].status, cases[i].text);
    struct assay_http_request request;
    static const char zero[] = "GET / HTTP/1.1\r\n" HOST "X: \0\r\n\r\n";
    assert_int_equal(assay_http_request_read(zero, sizeof zero - 1, &request),
                     ASSAY_HTTP_BAD_REQUEST);
}

static void test_limits(void **state)
{
    (void)state;
    static char text[2 * ASSAY_HTTP_MOST_HEAD];
    struct assay_http_request request;

    size_t n = (size_t)snprintf(text, sizeof text, "GET /");
    memset(text + n, 'a', ASSAY_HTTP_MOST_PATH - 2);
    strcpy(text + n + ASSAY_HTTP_MOST_PATH - 2, " HTTP/1.1\r\n" HOST "\r\n");
    assert_status(ASSAY_HTTP_OK, text);
    memset(text + n, 'a', ASSAY_HTTP_MOST_PATH - 1);
    strcpy(text + n + ASSAY_HTTP_MOST_PATH - 1, " HTTP/1.1\r\n" HOST "\r\n");
    assert_status(ASSAY_HTTP_URI_TOO_LONG, text);

    n = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 1; i < ASSAY_HTTP_MOST_FIELDS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "X: %d\r\n", i);
    strcpy(text + n, "\r\n");
    assert_status(ASSAY_HTTP_OK, text);
    strcpy(text + n, "X: one more\r\n\r\n");
    assert_status(ASSAY_HTTP_HEAD_TOO_LARGE, text);

    memset(text, 'a', sizeof text);
    assert_int_equal(assay_http_request_read(text, ASSAY_HTTP_MOST_HEAD - 1, &request),
                     ASSAY_HTTP_MORE);
    assert_int_equal(assay_http_request_read(text, ASSAY_HTTP_MOST_HEAD, &request),
                     ASSAY_HTTP_HEAD_TOO_LARGE);

    n = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: ");
    memset(text + n, 'h', ASSAY_HTTP_MOST_HOST);
    strcpy(text + n + ASSAY_HTTP_MOST_HOST - 1, "\r\n\r\n");
    assert_status(ASSAY_HTTP_OK, text);
    strcpy(text + n + ASSAY_HTTP_MOST_HOST - 1, "h\r\n\r\n");
    assert_status(ASSAY_HTTP_BAD_REQUEST, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_browsers_send),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
