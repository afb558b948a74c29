/* test_wire.c: messages between supervisor and worker, and whatever else may come through the pipe;
 * and who says that memory was short. */
#include "base/alloc.h"
#include "runner/oom.h"
#include "bench/wire.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static assay_json *message(const char *name, int64_t value)
{
    assay_json *json = assay_json_object();
    assay_json_put_string(json, "event", name);
    assay_json_put_int(json, "value", value);
    return json;
}

/* What `n` messages look like on the pipe. */
static void write_messages(int64_t n, struct assay_text *out)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct assay_wire writer = {.fd = ends[1]}, reader = {.fd = ends[0]};
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(assay_wire_send(&writer, message("note", i), NULL), ASSAY_OK);
    close(ends[1]);
    while (assay_wire_fill(&reader))
        ;
    assay_text_append(out, reader.pending.data, reader.pending.length);
    assay_text_fini(&reader.pending);
    close(ends[0]);
}

/* Reads bytes as they come from a pipe: how many messages, strays and misfits, and how many there
 * was no memory for. */
struct heard {
    int64_t messages, strays, misfits, lost;
    char why[400];
};

static struct heard hear(const char *bytes, size_t length)
{
    struct heard heard = {0};
    struct assay_wire reader = {0};
    const char *line;
    size_t size;
    assay_text_append(&reader.pending, bytes, length);
    while ((line = assay_wire_line(&reader, &size))) {
        char why[400];
        assay_json *json;
        switch (assay_wire_read(&reader, line, size, &json, why, sizeof why)) {
        case ASSAY_WIRE_MESSAGE:
            assert_int_equal(assay_json_int(assay_json_get(json, "value"), -1), heard.messages);
            heard.messages++;
            break;
        case ASSAY_WIRE_STRAY:
            heard.strays++;
            snprintf(heard.why, sizeof heard.why, "%s", why);
            break;
        case ASSAY_WIRE_MISFIT:
            heard.misfits++;
            snprintf(heard.why, sizeof heard.why, "%s", why);
            break;
        case ASSAY_WIRE_NO_MEMORY:
            heard.lost++;
        }
        assay_json_free(json);
    }
    assay_text_fini(&reader.pending);
    return heard;
}

static void messages_arrive_in_their_order(void **state)
{
    (void)state;
    struct assay_text bytes = {0};
    write_messages(5, &bytes);
    struct heard heard = hear(bytes.data, bytes.length);
    assert_int_equal(heard.messages, 5);
    assert_int_equal(heard.strays + heard.misfits, 0);
    assay_text_fini(&bytes);
}

/* `text` inserted at any offset of three messages: they all arrive, or it is noticed that one did
 * not.
 */
static void put_in_everywhere(const char *text)
{
    struct assay_text bytes = {0}, mixed = {0};
    write_messages(3, &bytes);
    for (size_t at = 0; at <= bytes.length; at++) {
        assay_text_clear(&mixed);
        assay_text_append(&mixed, bytes.data, at);
        assay_text_add(&mixed, text);
        assay_text_append(&mixed, bytes.data + at, bytes.length - at);
        struct heard heard = hear(mixed.data, mixed.length);
        assert_true(heard.messages == 3 || heard.misfits > 0 || at == bytes.length);
        if (heard.misfits == 0 && strchr(text, '\n'))
            assert_true(heard.strays > 0);
    }
    assay_text_fini(&bytes);
    assay_text_fini(&mixed);
}

static void what_a_kernel_prints_does_not_pass_for_a_message(void **state)
{
    (void)state;
    put_in_everywhere("hello\n");
    put_in_everywhere("no newline");
    put_in_everywhere("\n");
    put_in_everywhere("{\"event\":\"done\",\"group\":0,\"records\":0}\n");
    put_in_everywhere("}");
    struct heard heard = hear("a \x1b[31mkernel\x1b[0m\n", 19);
    assert_int_equal(heard.strays, 1);
    assert_string_equal(heard.why, "\"a \\x1b[31mkernel\\x1b[0m\" has no checksum");
}

static void a_doubled_or_lost_message_is_noticed(void **state)
{
    (void)state;
    struct assay_text bytes = {0}, mixed = {0};
    write_messages(3, &bytes);
    size_t first = (size_t)(strchr(bytes.data, '\n') - bytes.data) + 1;
    assay_text_append(&mixed, bytes.data, first);
    assay_text_append(&mixed, bytes.data, bytes.length);
    struct heard heard = hear(mixed.data, mixed.length);
    assert_int_equal(heard.messages, 3); /* and the copy refused */
    assert_int_equal(heard.misfits, 1);
    assert_non_null(strstr(heard.why, "is message 0, where 1 comes next"));
    heard = hear(bytes.data + first, bytes.length - first);
    assert_int_equal(heard.messages, 0);
    assert_int_equal(heard.misfits, 2);
    assay_text_fini(&bytes);
    assay_text_fini(&mixed);
}

static void a_pipe_without_a_reader_is_told(void **state)
{
    (void)state;
    int ends[2], problem = 0;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct assay_wire writer = {.fd = ends[1]};
    close(ends[0]);
    assert_int_equal(assay_wire_send(&writer, message("note", 1), &problem), ASSAY_ERR_IO);
    assert_int_equal(problem, EPIPE);
    assert_int_equal(writer.next, 0);
    assert_int_equal(assay_wire_send(&writer, NULL, NULL), ASSAY_ERR_NOMEM);
    close(ends[1]);
}

/* An event as the supervisor reads it; its members live as long as the message. */
static struct assay_event reread(assay_json *message)
{
    struct assay_event event;
    char why[100] = "";
    assert_non_null(message);
    assert_true(assay_event_read(message, &event, why, sizeof why));
    assert_string_equal(why, "");
    return event;
}

static void every_event_is_read_as_it_was_written(void **state)
{
    (void)state;
    const struct assay_kernel kernel = {.name = "linear_x", .implementation = "x"};
    const struct assay_contender two[] = {{.kernel = &kernel, .recipe = "int8wo"},
                                          {.kernel = &kernel}};
    const struct assay_error trouble = {.code = ASSAY_ERR_IO, .message = "no disk"};
    struct assay_event_name names[2];
    assay_json *message = assay_event_note("hello");
    struct assay_event event = reread(message);
    assert_int_equal(event.kind, ASSAY_EVENT_NOTE);
    assert_string_equal(event.text, "hello");
    assay_json_free(message);
    message = assay_event_contenders(two, 2);
    event = reread(message);
    assert_int_equal(event.kind, ASSAY_EVENT_CONTENDERS);
    assert_int_equal(assay_event_names(&event, names, 1), 1);
    assert_int_equal(assay_event_names(&event, names, 2), 2);
    assert_string_equal(names[0].kernel, "linear_x");
    assert_string_equal(names[0].recipe, "int8wo");
    assert_string_equal(names[1].implementation, "x");
    assert_string_equal(names[1].recipe, "");
    assay_json_free(message);
    message = assay_event_done(7, 3);
    event = reread(message);
    assert_int_equal(event.kind, ASSAY_EVENT_DONE);
    assert_int_equal(event.group, 7);
    assert_int_equal(event.n_records, 3);
    assay_json_free(message);
    message = assay_event_worn();
    assert_int_equal(reread(message).kind, ASSAY_EVENT_WORN);
    assay_json_free(message);
    message = assay_event_error(ASSAY_ERR_IO, &trouble);
    event = reread(message);
    assert_int_equal(event.kind, ASSAY_EVENT_ERROR);
    assert_int_equal(event.status, ASSAY_ERR_IO);
    assert_string_equal(event.text, "no disk");
    assay_json_free(message);
}

static void a_record_travels_as_an_event(void **state)
{
    (void)state;
    static const struct assay_record sent = {.group = 4, .op = "gelu", .kernel = "gelu_avx2"};
    static struct assay_record got;
    assay_json *message = assay_event_of_record(&sent);
    struct assay_event event = reread(message);
    assert_int_equal(event.kind, ASSAY_EVENT_RECORD);
    assert_int_equal(assay_event_record(&event, &got, NULL), ASSAY_OK);
    assert_int_equal(got.group, 4);
    assert_string_equal(got.kernel, "gelu_avx2");
    assay_json_free(message);
}

static void an_unknown_event_is_named(void **state)
{
    (void)state;
    struct assay_event event;
    char why[100];
    assay_json *json = message("lunch", 0);
    assert_false(assay_event_read(json, &event, why, sizeof why));
    assert_string_equal(why, "the event \"lunch\" is not known");
    assay_json_free(json);
}

/* Control groups of both versions, and machines without. */
static void kills_for_memory_are_counted_by_the_system(void **state)
{
    (void)state;
    assert_int_equal(assay_oom_kills(in_temporary("none")), -1);
    put_file("vm/proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
    assert_int_equal(assay_oom_kills(in_temporary("vm")), 7);
    put_file("two/proc/vmstat", "oom_kill 7\n");
    put_file("two/proc/self/cgroup", "0::/user.slice/one.scope\n");
    put_file("two/sys/fs/cgroup/user.slice/one.scope/memory.events",
             "low 0\nhigh 0\nmax 5\noom 2\noom_kill 3\noom_group_kill 9\n");
    assert_int_equal(assay_oom_kills(in_temporary("two")), 3);
    put_file("one/proc/self/cgroup", "5:cpu:/a\n4:memory:/b\n0::/\n");
    put_file("one/sys/fs/cgroup/memory/b/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    assert_int_equal(assay_oom_kills(in_temporary("one")), 4);
    put_file("root/proc/vmstat", "oom_kill 8\n");
    put_file("root/proc/self/cgroup", "0::/\n"); /* the topmost group counts nothing */
    assert_int_equal(assay_oom_kills(in_temporary("root")), 8);
}

/* A message that nobody had the memory to read is not a damaged one. */
static void without_memory_a_message_is_not_called_damaged(void **state)
{
    (void)state;
    struct assay_text bytes = {0};
    bool failed = true;
    write_messages(1, &bytes);
    for (int nth = 1; failed; nth++) {
        struct assay_wire reader = {0};
        char why[400];
        size_t size;
        assay_json *json;
        assay_text_append(&reader.pending, bytes.data, bytes.length);
        const char *line = assay_wire_line(&reader, &size);
        assert_non_null(line);
        assay_alloc_fail_after(nth);
        enum assay_wire_kind kind = assay_wire_read(&reader, line, size, &json, why, sizeof why);
        failed = assay_alloc_has_failed();
        assay_alloc_fail_after(0);
        assert_true(kind == ASSAY_WIRE_MESSAGE || (failed && kind == ASSAY_WIRE_NO_MEMORY));
        assert_int_equal(json != NULL, kind == ASSAY_WIRE_MESSAGE);
        assay_json_free(json);
        assay_text_fini(&reader.pending);
        assert_true(nth < 100);
    }
    assay_text_fini(&bytes);
}

/* Why nothing more can be read: the other end is closed, no memory, or an error. */
static void the_end_is_told_from_an_error(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct assay_wire reader = {.fd = ends[0]};
    assert_int_equal(write(ends[1], "{}\n", 3), 3);
    close(ends[1]);
    assay_alloc_fail_after(1);
    assert_false(assay_wire_fill(&reader));
    assay_alloc_fail_after(0);
    assert_int_equal(reader.problem, ENOMEM);
    assay_text_fini(&reader.pending);
    reader = (struct assay_wire){.fd = ends[0]};
    assert_false(assay_wire_fill(&reader));
    assert_int_equal(reader.problem, 0);
    close(ends[0]);
    assert_false(assay_wire_fill(&reader));
    assert_int_equal(reader.problem, EBADF);
}

int main(void)
{
    assay_json_count_memory(); /* so that it can be made to fail, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_their_order),
        cmocka_unit_test(what_a_kernel_prints_does_not_pass_for_a_message),
        cmocka_unit_test(a_doubled_or_lost_message_is_noticed),
        cmocka_unit_test(a_pipe_without_a_reader_is_told),
        cmocka_unit_test(every_event_is_read_as_it_was_written),
        cmocka_unit_test(a_record_travels_as_an_event),
        cmocka_unit_test(an_unknown_event_is_named),
        cmocka_unit_test(without_memory_a_message_is_not_called_damaged),
        cmocka_unit_test(the_end_is_told_from_an_error),
        cmocka_unit_test_setup_teardown(kills_for_memory_are_counted_by_the_system, temporary_make,
                                        temporary_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
