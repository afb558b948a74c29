/* test_frame.c: lines and files that tell when they were changed, and what both are read and
 * written with: short counts, signals, locks. */
#include "base/frame.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/sealed.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

static assay_json *parse(const char *text)
{
    assay_json *json = assay_json_parse(text, strlen(text), "test", NULL);
    assert_non_null(json);
    return json;
}

static void framed(const char *json, int64_t seq, struct assay_text *out)
{
    assay_json *value = parse(json);
    assay_text_clear(out);
    assay_frame_write(value, seq, out);
    assay_json_free(value);
}

/* RFC 3720, B.4, and the usual one. */
static void crc32c_of_known_bytes(void **state)
{
    (void)state;
    unsigned char bytes[32] = {0};
    assert_int_equal(assay_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(assay_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(assay_crc32c(0, bytes, 32), 0x62a8ab43);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(assay_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(assay_crc32c(assay_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    assert_int_equal(assay_crc32c(7, "", 0), 7);
}

static void a_framed_line_is_json_and_tells_its_number(void **state)
{
    (void)state;
    struct assay_text line = {0};
    int64_t seq = -1;
    const char *what = NULL;
    framed("{\"done\":3,\"records\":2}", 17, &line);
    assert_int_equal(
        strncmp(line.data, "{\"done\":3,\"records\":2,\"seq\":17,\"length\":21,\"crc\":\"", 47), 0);
    assert_int_equal(line.data[line.length - 1], '\n');
    assert_true(assay_frame_check(line.data, line.length - 1, &seq, &what));
    assert_int_equal(seq, 17);
    assay_json *json = assay_json_parse(line.data, line.length, "test", NULL);
    assert_int_equal(assay_json_int(assay_json_get(json, "done"), -1), 3);
    assay_json_free(json);
    assay_text_fini(&line);
}

/* In one piece or in several: the same line. */
static void a_line_may_be_written_in_pieces(void **state)
{
    (void)state;
    const char *text = "{\"a\":[1,2,3],\"b\":\"x\"";
    struct assay_text line = {0}, whole = {0};
    framed("{\"a\":[1,2,3],\"b\":\"x\"}", 0, &whole);
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        struct assay_frame frame = {0};
        assay_text_clear(&line);
        assay_text_add(&line, text);
        assay_frame_add(&frame, text, cut);
        assay_frame_add(&frame, text + cut, strlen(text) - cut);
        assay_frame_end(&frame, 0, &line);
        assert_string_equal(line.data, whole.data);
    }
    assay_text_fini(&line);
    assay_text_fini(&whole);
}

static void every_flipped_bit_and_every_cut_is_seen(void **state)
{
    (void)state;
    struct assay_text line = {0};
    int64_t seq;
    const char *what;
    framed("{\"event\":\"note\",\"text\":\"some of this, \\\"some\\\" of that\"}", 123456789,
           &line);
    size_t length = line.length - 1;
    for (size_t bit = 0; bit < 8 * length; bit++) {
        line.data[bit / 8] = (char)(line.data[bit / 8] ^ 1 << bit % 8);
        assert_false(assay_frame_check(line.data, length, &seq, &what));
        line.data[bit / 8] = (char)(line.data[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t cut = 0; cut < length; cut++) {
        assert_false(assay_frame_check(line.data, cut, &seq, &what));
        if (cut > 0)
            assert_false(assay_frame_check(line.data + cut, length - cut, &seq, &what));
    }
    assert_true(assay_frame_check(line.data, length, &seq, &what));
    assay_text_fini(&line);
}

static void what_has_no_frame_is_told_apart(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "}",
                                        "{}",
                                        "hello",
                                        "{\"done\":3}",
                                        ",\"crc\":\"00000000\"}",
                                        "{,\"seq\":1,\"length\":1,\"crc\":\"00000000\"}",
                                        "{\"a\":1,\"length\":6,\"crc\":\"00000000\"}"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int64_t seq;
        const char *what = NULL;
        assert_false(assay_frame_check(lines[i], strlen(lines[i]), &seq, &what));
        assert_non_null(what);
    }
}

/* A checksum that fits does not make up for a length that does not. */
static void a_length_that_is_wrong_is_seen(void **state)
{
    (void)state;
    struct assay_text line = {0};
    struct assay_frame frame = {0};
    int64_t seq;
    const char *what = "";
    assay_text_add(&line, "{\"a\":1");
    assay_frame_add(&frame, "{\"a\":1", 6);
    frame.length++;
    assay_frame_end(&frame, 0, &line);
    assert_false(assay_frame_check(line.data, line.length - 1, &seq, &what));
    assert_string_equal(what, "its length does not fit");
    assay_text_fini(&line);
}

/* ---- sealed files ---------------------------------------------------------------------------- */

static void a_sealed_file_comes_back(void **state)
{
    (void)state;
    const char *path = in_temporary("file.json");
    struct assay_error err = {0};
    assay_json *json = parse("{\"b\":[1,{\"c\":null}],\"a\":\"x\"}");
    assert_int_equal(assay_sealed_write(path, json, &err), ASSAY_OK);
    assay_json_free(json);
    json = assay_sealed_read(path, 1000, &err);
    assert_non_null(json);
    assert_string_equal(assay_json_string(assay_json_get(json, "a"), ""), "x");
    assert_int_equal(assay_json_count(assay_json_get(json, "b")), 2);
    assert_null(assay_json_get(json, "sha256"));
    assay_json_put_int(json, "more", 1); /* what was read can be written again */
    assert_int_equal(assay_sealed_write(path, json, &err), ASSAY_OK);
    assay_json_free(json);
    json = assay_sealed_read(path, 1000, &err);
    assert_int_equal(assay_json_int(assay_json_get(json, "more"), 0), 1);
    assay_json_free(json);
    assert_null(assay_sealed_read(path, 20, &err));
    assert_int_equal(err.code, ASSAY_ERR_INVALID);
    err = (struct assay_error){0};
    assert_null(assay_sealed_read(in_temporary("none"), 1000, &err));
    assert_int_equal(err.code, ASSAY_ERR_IO);
    assert_int_equal(assay_sealed_write(path, NULL, NULL), ASSAY_ERR_NOMEM);
}

static void a_changed_bit_breaks_the_seal(void **state)
{
    (void)state;
    const char *path = in_temporary("file.json");
    struct assay_text text = {0};
    struct assay_error err = {0};
    assay_json *json = parse("{\"format\":\"x\",\"rate\":123.5}");
    assert_int_equal(assay_sealed_write(path, json, NULL), ASSAY_OK);
    assay_json_free(json);
    assert_int_equal(assay_folder_read_file(path, 1000, &text, NULL), ASSAY_OK);
    for (size_t bit = 0; bit < 8 * text.length; bit++) {
        text.data[bit / 8] = (char)(text.data[bit / 8] ^ 1 << bit % 8);
        assert_int_equal(assay_folder_write_quickly(path, text.data, text.length, NULL), ASSAY_OK);
        text.data[bit / 8] = (char)(text.data[bit / 8] ^ 1 << bit % 8);
        err = (struct assay_error){0};
        assert_null(assay_sealed_read(path, 1000, &err));
        assert_int_equal(err.code, ASSAY_ERR_CORRUPT);
    }
    for (size_t cut = 0; cut < text.length; cut++) {
        assert_int_equal(assay_folder_write_quickly(path, text.data, cut, NULL), ASSAY_OK);
        assert_null(assay_sealed_read(path, 1000, NULL));
    }
    assay_text_fini(&text);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void on_signal(int signal_number) { (void)signal_number; }

struct slow_reader {
    int fd;
    pthread_t writer;
    size_t got;
    uint32_t crc;
};

/* Reads little by little, and disturbs the writer by signals meanwhile. */
static void *read_slowly(void *user)
{
    struct slow_reader *r = user;
    char bytes[1000];
    size_t got;
    while (assay_io_read(r->fd, bytes, sizeof bytes, &got) == 0 && got > 0) {
        r->crc = assay_crc32c(r->crc, bytes, got);
        r->got += got;
        if (r->got % 16 == 0)
            pthread_kill(r->writer, SIGUSR1);
    }
    return NULL;
}

static void signals_and_full_pipes_lose_nothing(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 };
    struct sigaction action = {.sa_handler = on_signal}; /* calls are not restarted */
    char *bytes = calloc(LENGTH, 1);
    int ends[2];
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < LENGTH; i++)
        bytes[i] = (char)(i * 31 >> 3);
    for (int flags = 0; flags < 2; flags++) {
        struct slow_reader reader = {.writer = pthread_self()};
        pthread_t thread;
        assert_int_equal(pipe2(ends, O_CLOEXEC | (flags ? O_NONBLOCK : 0)), 0);
        reader.fd = ends[0];
        assert_int_equal(pthread_create(&thread, NULL, read_slowly, &reader), 0);
        assert_int_equal(assay_io_write(ends[1], bytes, LENGTH), 0);
        close(ends[1]);
        pthread_join(thread, NULL);
        close(ends[0]);
        assert_int_equal(reader.got, LENGTH);
        assert_int_equal(reader.crc, assay_crc32c(0, bytes, LENGTH));
    }
    free(bytes);
}

static void failures_are_told_by_errno(void **state)
{
    (void)state;
    int ends[2];
    size_t got;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(assay_io_sync(ends[1]), 0); /* not to be synced, and no error */
    close(ends[0]);
    assert_int_equal(assay_io_write(ends[1], "x", 1), EPIPE);
    close(ends[1]);
    assert_int_equal(assay_io_write(ends[1], "x", 1), EBADF);
    assert_int_equal(assay_io_read(ends[1], &ends, 1, &got), EBADF);
    assert_int_equal(assay_io_sync(ends[1]), EBADF);
    assert_int_equal(assay_io_truncate(ends[1], 0), EBADF);
    assert_int_equal(assay_io_sync_folder_of("/nowhere/file"), ENOENT);
    assert_int_equal(assay_io_sync_folder_of("/file"), 0);
    assert_int_equal(assay_io_sync_folder_of("file"), 0);
    assert_int_equal(assay_io_sync_folder_of(in_temporary("file")), 0);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void a_lock_has_one_holder_who_can_be_told(void **state)
{
    (void)state;
    const char *path = in_temporary("lock");
    struct stat found;
    int first = assay_lock_open(path, true), second = assay_lock_open(path, true);
    assert_true(first >= 0 && second >= 0);
    assert_int_equal(fstat(first, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0444);
    assert_int_equal(assay_lock_holder(second), 0);
    assert_int_equal(assay_lock_try(first), 0);
    assert_int_equal(assay_lock_try(second), EWOULDBLOCK);
    if (access("/proc/locks", R_OK) == 0)
        assert_int_equal(assay_lock_holder(second), getpid());
    close(first);
    assert_int_equal(assay_lock_try(second), 0);
    close(second);
}

/* Where everyone may write, what lies there may be anybody's trap. */
static void a_lock_is_no_link_and_no_pipe(void **state)
{
    (void)state;
    assert_int_equal(symlink(in_temporary("elsewhere"), in_temporary("link")), 0);
    assert_int_equal(assay_lock_open(in_temporary("link"), true), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_not_equal(access(in_temporary("elsewhere"), F_OK), 0);
    assert_int_equal(mkfifo(in_temporary("pipe"), 0600), 0);
    assert_int_equal(assay_lock_open(in_temporary("pipe"), true), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(assay_lock_open(temporary, true), -1);
    assert_int_equal(assay_lock_open(in_temporary("no/such/folder"), true), -1);
}

/* The same for files beside a result. */
static void a_file_beside_another_is_always_a_new_one(void **state)
{
    (void)state;
    struct assay_text one = {0}, two = {0};
    int first = assay_folder_create_beside(in_temporary("r.json"), "part", &one);
    int second = assay_folder_create_beside(in_temporary("r.json"), "part", &two);
    assert_true(first >= 0 && second >= 0);
    assert_string_not_equal(one.data, two.data);
    assert_int_equal(strncmp(one.data, in_temporary("r.json."), strlen(temporary) + 8), 0);
    assert_string_equal(one.data + one.length - 5, ".part");
    close(first);
    close(second);
    assert_int_equal(assay_folder_create_beside(in_temporary("no/r.json"), "part", &one), -1);
    assay_text_fini(&one);
    assay_text_fini(&two);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_of_known_bytes),
        cmocka_unit_test(a_framed_line_is_json_and_tells_its_number),
        cmocka_unit_test(a_line_may_be_written_in_pieces),
        cmocka_unit_test(every_flipped_bit_and_every_cut_is_seen),
        cmocka_unit_test(what_has_no_frame_is_told_apart),
        cmocka_unit_test(a_length_that_is_wrong_is_seen),
        WITH_FOLDER(a_sealed_file_comes_back),
        WITH_FOLDER(a_changed_bit_breaks_the_seal),
        cmocka_unit_test(signals_and_full_pipes_lose_nothing),
        WITH_FOLDER(failures_are_told_by_errno),
        WITH_FOLDER(a_lock_has_one_holder_who_can_be_told),
        WITH_FOLDER(a_lock_is_no_link_and_no_pipe),
        WITH_FOLDER(a_file_beside_another_is_always_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
