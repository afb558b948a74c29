/* test_journal.c: a journal written, cut short at every byte, damaged, found, and continued; and
 * journals of format 1. */
#include "unit.h"

#include "base/alloc.h"
#include "base/frame.h"
#include "bench/group.h"
#include "bench/journal.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

/* Each test has its own data folder. */
static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/assay-journal-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("XDG_DATA_HOME", folder, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct assay_plan make_plan(int64_t n_groups)
{
    struct assay_plan plan = {.settings = {.device = "cpu",
                                           .threads = 1,
                                           .hot = true,
                                           .precision = 0.01,
                                           .budget_s = 1,
                                           .timeout_s = 1}};
    for (int64_t i = 0; i < n_groups; i++) {
        struct assay_group group = {
            .op = "relu", .dtype = ASSAY_DTYPE_F32, .n_axes = 3, .axes = {1, 1, i + 1}};
        assert_int_equal(assay_plan_add(&plan, &group), ASSAY_OK);
    }
    return plan;
}

static struct assay_record make_record(int64_t group, int64_t variant)
{
    struct assay_record record = {.group = group,
                                  .variant = variant,
                                  .op = "relu",
                                  .dtype = ASSAY_DTYPE_F32,
                                  .n_axes = 3,
                                  .axes = {1, 1, group + 1},
                                  .threads = 1};
    snprintf(record.kernel, sizeof record.kernel, "kernel%lld", (long long)variant);
    return record;
}

/* What a reader heard. */
struct heard {
    int64_t heads, n_groups, groups[16], records[16];
    char id[32];
    int64_t plan_groups;
    int64_t damaged; /* lines that were refused; the first: */
    char where[200], what[300];
};

static enum assay_status on_head(void *user, const struct assay_run_info *run,
                                 struct assay_plan *plan, struct assay_error *err)
{
    struct heard *heard = user;
    (void)err;
    heard->heads++;
    heard->plan_groups = plan->n_groups;
    memcpy(heard->id, run->id, sizeof heard->id);
    return ASSAY_OK;
}

/* Nothing that is told differs from what was written. */
static void assert_same(const struct assay_record *record)
{
    struct assay_record written = make_record(record->group, record->variant);
    struct assay_text a = {0}, b = {0};
    assay_json *json = assay_record_to_json(record);
    assay_json_write(json, 0, &a);
    assay_json_free(json);
    json = assay_record_to_json(&written);
    assay_json_write(json, 0, &b);
    assay_json_free(json);
    if (!a.failed && !b.failed)
        assert_string_equal(a.data, b.data);
    assay_text_fini(&a);
    assay_text_fini(&b);
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct heard *heard = user;
    assert_true(heard->n_groups < 16);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(records[i].group, group);
        assert_same(&records[i]);
    }
    heard->records[heard->n_groups] = n;
    heard->groups[heard->n_groups++] = group;
}

static void on_damage(void *user, const char *where, const char *what)
{
    struct heard *heard = user;
    if (heard->damaged++ > 0)
        return;
    snprintf(heard->where, sizeof heard->where, "%s", where);
    snprintf(heard->what, sizeof heard->what, "%s", what);
}

static enum assay_status hear(const char *path, struct heard *heard, struct assay_journal_end *end,
                              struct assay_error *err)
{
    struct assay_journal_end own;
    *heard = (struct heard){0};
    struct assay_journal_visitor visitor = {
        .user = heard, .head = on_head, .group = on_group, .damaged = on_damage};
    enum assay_status status = assay_journal_read(path, &visitor, end ? end : &own, err);
    assert_int_equal((end ? end : &own)->damaged, heard->damaged);
    return status;
}

/* Goes on with a journal from where it is good. */
static assay_journal *reopen(const char *path)
{
    struct heard heard;
    struct assay_journal_end end;
    assay_journal *journal = NULL;
    assert_int_equal(assay_journal_open(path, &journal, NULL), ASSAY_OK);
    assert_int_equal(hear(path, &heard, &end, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_go_on(journal, &end, NULL), ASSAY_OK);
    return journal;
}

/* A run of four groups, three of which are done with two records each. */
static char *write_journal(const char *id)
{
    struct assay_run_info run = {.version = "0", .threads = 1};
    snprintf(run.id, sizeof run.id, "%s", id);
    struct assay_plan plan = make_plan(4);
    assay_journal *journal = NULL;
    assert_int_equal(assay_journal_create(&run, &plan, &journal, NULL), ASSAY_OK);
    for (int64_t g = 0; g < 3; g++) {
        struct assay_record records[2] = {make_record(g, 0), make_record(g, 1)};
        assert_int_equal(assay_journal_append(journal, g, records, 2, NULL), ASSAY_OK);
    }
    char *path = strdup(assay_journal_path(journal));
    assay_journal_close(journal);
    assay_plan_fini(&plan);
    return path;
}

static char *slurp(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = calloc(1, 1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Written over what is there: emptied first, a file is sent to the disk each time. */
static void spew(const char *path, const char *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Line `n` (from 1) of a text, with its newline. */
static char *line_at(char *text, int n, size_t *length)
{
    while (--n > 0)
        text = strchr(text, '\n') + 1;
    *length = (size_t)(strchr(text, '\n') - text) + 1;
    return text;
}

/* Writes the lines with these numbers, in this order; 0 ends the list. */
static void spew_lines(const char *path, char *text, const int *numbers)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (; *numbers; numbers++) {
        size_t length;
        const char *line = line_at(text, *numbers, &length);
        assert_int_equal(fwrite(line, 1, length, file), length);
    }
    fclose(file);
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    struct heard heard;
    struct assay_journal_end end;
    size_t size;
    char *path = write_journal("20260101-000000-aaaa");
    assert_int_equal(hear(path, &heard, &end, NULL), ASSAY_OK);
    assert_int_equal(heard.heads, 1);
    assert_string_equal(heard.id, "20260101-000000-aaaa");
    assert_int_equal(heard.plan_groups, 4);
    assert_int_equal(heard.n_groups, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(heard.groups[i], i);
        assert_int_equal(heard.records[i], 2);
    }
    free(slurp(path, &size));
    assert_int_equal(end.size, size);
    assert_int_equal(end.version, 2);
    assert_int_equal(end.next, 10);
    assert_int_equal(end.damaged, 0);
    free(path);
}

/* Killed at any moment: what was finished before is read, and nothing else. That is no damage. */
static void test_cut_short_at_every_byte(void **state)
{
    (void)state;
    char *path = write_journal("cut");
    size_t size;
    char *bytes = slurp(path, &size);
    size_t head = (size_t)(strchr(bytes, '\n') - bytes) + 1;
    for (size_t cut = 0; cut <= size; cut++) {
        if (left_out(1))
            continue;
        struct heard heard;
        struct assay_error err = {0};
        struct assay_journal_end end;
        int64_t lines = 0, done_end = (int64_t)head;
        spew(path, bytes, cut);
        enum assay_status status = hear(path, &heard, &end, &err);
        if (cut < head) {
            assert_int_equal(status, ASSAY_ERR_CORRUPT);
            assert_int_equal(heard.heads, 0);
            continue;
        }
        assert_int_equal(status, ASSAY_OK);
        assert_int_equal(heard.damaged, 0);
        for (size_t i = 0; i < cut; i++)
            if (bytes[i] == '\n' && ++lines > 1 && (lines - 1) % 3 == 0)
                done_end = (int64_t)i + 1;
        assert_int_equal(heard.n_groups, lines > 1 ? (lines - 1) / 3 : 0);
        assert_int_equal(end.size, done_end);
    }
    free(bytes);
    free(path);
}

/* A flipped bit is refused and costs at most the groups of the lines it touches: a newline has two.
 * on_group sees to it that nothing is told that was not written. */
static void test_a_flipped_bit_anywhere(void **state)
{
    (void)state;
    char *path = write_journal("flipped");
    size_t size;
    char *bytes = slurp(path, &size);
    size_t head = (size_t)(strchr(bytes, '\n') - bytes) + 1;
    for (size_t at = 0; at < size; at += at % 5 ? 1 : 3) {
        if (left_out(1))
            continue;
        struct heard heard;
        struct assay_error err = {0};
        char held = bytes[at];
        bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
        spew(path, bytes, size);
        bytes[at] = held;
        enum assay_status status = hear(path, &heard, NULL, &err);
        if (at < head) {
            assert_int_equal(status, ASSAY_ERR_CORRUPT);
            assert_int_equal(strncmp(err.where, path, strlen(path)), 0);
            assert_int_equal(heard.n_groups, 0);
            continue;
        }
        assert_int_equal(status, ASSAY_OK);
        assert_true(heard.n_groups < 3 && heard.n_groups >= (held == '\n' ? 1 : 2));
        assert_true(heard.damaged > 0 || at == size - 1); /* without its newline: cut short */
        if (heard.damaged)
            assert_int_equal(strncmp(heard.where, path, strlen(path)), 0);
    }
    free(bytes);
    free(path);
}

static void assert_damaged(const char *text, int line, const char *message)
{
    static int n;
    char id[16], place[192];
    struct heard heard;
    snprintf(id, sizeof id, "run%d", n++);
    char *path = write_journal(id);
    append(path, text);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.damaged, 1);
    snprintf(place, sizeof place, "%s:%d", path, line);
    assert_string_equal(heard.where, place);
    if (!strstr(heard.what, message))
        fail_msg("%s", heard.what);
    assert_int_equal(heard.n_groups, 3);
    free(path);
}

/* The same, with a frame that fits. */
static void assert_framed_damaged(const char *json, const char *message)
{
    struct assay_text line = {0};
    assay_json *value = assay_json_parse(json, strlen(json), "test", NULL);
    assert_non_null(value);
    assay_frame_write(value, 10, &line);
    assay_json_free(value);
    assert_damaged(line.data, 11, message);
    assay_text_fini(&line);
}

static void test_the_damaged_line_is_named(void **state)
{
    (void)state;
    assert_damaged("nonsense\n", 11, "has no checksum");
    assert_damaged("\n", 11, "has no checksum");
    assert_damaged("{\"done\":3}\n", 11, "has no checksum");
    assert_damaged("{\"done\":3,\"records\":0,\"seq\":10,\"length\":21,\"crc\":\"00000000\"}\n", 11,
                   "its checksum does not fit");
    assert_framed_damaged("{\"done\":4,\"records\":1}",
                          "names a group that the plan does not have");
    assert_framed_damaged("{\"done\":-1,\"records\":1}",
                          "names a group that the plan does not have");
    assert_framed_damaged("{\"other\":1}", "names a group that the plan does not have");
    assert_framed_damaged("{\"done\":3,\"records\":0}", "of the 0 records of group 3");
    assert_framed_damaged("{\"done\":3,\"records\":1}",
                          "of the 1 records of group 3 0 can be read");
    assert_framed_damaged("{\"record\":{}}", "");
}

/* Reading goes on behind the damage, and the group is measured again where the run goes on: behind
 * all that is there. */
static void test_damage_in_the_middle_costs_its_group(void **state)
{
    (void)state;
    char *path = write_journal("middle");
    size_t size, length;
    char *bytes = slurp(path, &size);
    struct heard heard;
    struct assay_journal_end end;
    line_at(bytes, 6, &length)[20] ^= 4; /* the second record of group 1 */
    spew(path, bytes, size);
    assert_int_equal(hear(path, &heard, &end, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 2);
    assert_int_equal(heard.groups[0], 0);
    assert_int_equal(heard.groups[1], 2);
    assert_int_equal(heard.damaged, 2); /* the line, and that its group is not complete */
    assert_int_equal(end.size, size);
    assay_journal *journal = reopen(path);
    struct assay_record records[2] = {make_record(1, 0), make_record(1, 1)};
    assert_int_equal(assay_journal_append(journal, 1, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, &end, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(heard.groups[2], 1);
    assert_true(end.size > (int64_t)size);
    free(bytes);
    free(path);
}

/* The last line is damaged and what comes behind it begins with the same number. */
static void test_a_damaged_end_is_gone_on_with(void **state)
{
    (void)state;
    char *path = write_journal("end");
    size_t size;
    char *bytes = slurp(path, &size);
    struct heard heard;
    bytes[size - 30] ^= 1;
    spew(path, bytes, size);
    assay_journal *journal = reopen(path);
    struct assay_record records[2] = {make_record(2, 0), make_record(2, 1)};
    assert_int_equal(assay_journal_append(journal, 2, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(heard.damaged, 1);
    free(bytes);
    free(path);
}

/* Lines that are whole, but too many, too few, or somewhere else. The head is 1; groups have the
 * lines 2-4, 5-7 and 8-10. */
static void test_lines_doubled_lost_and_moved(void **state)
{
    (void)state;
    static const struct {
        int lines[16];
        int64_t groups, damaged;
    } cases[] = {
        {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3, 0},
        {{1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3, 3}, /* a group twice */
        {{1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3, 1},       /* a record twice */
        {{1, 2, 4, 5, 6, 7, 8, 9, 10}, 2, 2},             /* a record lost */
        {{1, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 2},
        {{1, 2, 3, 5, 6, 7, 8, 9, 10}, 2, 1},       /* a `done` lost */
        {{1, 5, 6, 7, 8, 9, 10}, 2, 1},             /* a group lost */
        {{1, 2, 3, 4, 8, 9, 10, 5, 6, 7}, 2, 4},    /* groups in another order */
        {{1, 2, 3, 4, 5, 6, 7, 1, 8, 9, 10}, 3, 1}, /* the head again */
        {{1, 2, 6, 4, 5, 3, 7, 8, 9, 10}, 1, 5},    /* records exchanged */
    };
    char *path = write_journal("moved");
    size_t size;
    char *bytes = slurp(path, &size);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard heard;
        spew_lines(path, bytes, cases[i].lines);
        assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
        if (heard.n_groups != cases[i].groups || heard.damaged != cases[i].damaged)
            fail_msg("case %zu: %lld groups, %lld damaged", i, (long long)heard.n_groups,
                     (long long)heard.damaged);
        for (int64_t g = 0; g < heard.n_groups; g++)
            assert_int_equal(heard.records[g], 2);
    }
    free(bytes);
    free(path);
}

static void test_records_of_another_group(void **state)
{
    (void)state;
    char *path = write_journal("mixed");
    struct heard heard;
    assay_journal *journal = reopen(path);
    struct assay_record record = make_record(2, 0);
    assert_int_equal(assay_journal_append(journal, 3, &record, 1, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_non_null(strstr(heard.what, "of the 1 records of group 3 0 can be read"));
    free(path);
}

/* ---- format 1 -------------------------------------------------------------------------------- */

/* The journal as a version before wrote it: the same without frames. */
static char *write_old_journal(const char *id)
{
    char *path = write_journal(id);
    size_t size, length;
    char *bytes = slurp(path, &size);
    FILE *file = fopen(path, "wb");
    for (int i = 1; i <= 10; i++) {
        char *line = line_at(bytes, i, &length);
        char *frame =
            memmem(line, length, i > 1 && (i - 1) % 3 == 0 ? ",\"records\":" : ",\"seq\":",
                   i > 1 && (i - 1) % 3 == 0 ? 11 : 7);
        assert_non_null(frame);
        if (i == 1)
            line[17] = '1';
        fprintf(file, "%.*s}\n", (int)(frame - line), line);
    }
    fclose(file);
    free(bytes);
    return path;
}

static void test_old_journals_are_read_and_gone_on_with(void **state)
{
    (void)state;
    struct heard heard;
    struct assay_journal_end end;
    char *path = write_old_journal("old");
    size_t size;
    assert_int_equal(hear(path, &heard, &end, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(heard.damaged, 0);
    assert_int_equal(end.version, 1);
    assay_journal *journal = reopen(path);
    struct assay_record records[2] = {make_record(3, 0), make_record(3, 1)};
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 4);
    char *bytes = slurp(path, &size);
    assert_null(strstr(bytes, "\"crc\"")); /* the version that wrote it can still read it */
    free(bytes);
    free(path);
}

/* Without numbers a damaged line costs the group whose `done` comes next. */
static void test_damage_in_an_old_journal(void **state)
{
    (void)state;
    static const struct {
        int lines[16], broken;
        int64_t groups;
    } cases[] = {
        {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5, 2},          /* a record */
        {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 7, 1},          /* a `done`: it and the next */
        {{1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0, 3}, /* a group twice */
        {{1, 2, 3, 5, 6, 7, 8, 9, 10}, 0, 2},             /* no `done` */
    };
    char *path = write_old_journal("old_damaged");
    size_t size, length;
    char *bytes = slurp(path, &size);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard heard;
        char *at = cases[i].broken ? line_at(bytes, cases[i].broken, &length) : NULL;
        if (at)
            *at = 'x';
        spew_lines(path, bytes, cases[i].lines);
        if (at)
            *at = '{';
        assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
        if (heard.n_groups != cases[i].groups)
            fail_msg("case %zu: %lld groups", i, (long long)heard.n_groups);
        assert_true(i == 3 || heard.damaged > 0);
    }
    free(bytes);
    free(path);
}

/* ---- who may write --------------------------------------------------------------------------- */

static void test_two_cannot_go_on_with_one_run(void **state)
{
    (void)state;
    char *path = write_journal("locked"), own[64];
    assay_journal *first = reopen(path), *second = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_journal_open(path, &second, &err), ASSAY_UNSUPPORTED);
    assert_null(second);
    snprintf(own, sizeof own, "process %d is continuing this run", (int)getpid());
    if (access("/proc/locks", R_OK) == 0)
        assert_non_null(strstr(err.message, own));
    assay_journal_close(first);
    assert_int_equal(assay_journal_open(path, &second, NULL), ASSAY_OK);
    assay_journal_close(second);
    free(path);
}

static void test_more_records_than_a_group_can_have(void **state)
{
    (void)state;
    struct assay_run_info run = {.id = "many"};
    struct assay_plan plan = make_plan(1);
    static struct assay_record records[ASSAY_MAX_VARIANTS + 1];
    for (int64_t i = 0; i <= ASSAY_MAX_VARIANTS; i++)
        records[i] = make_record(0, i);
    assay_journal *journal = NULL;
    struct heard heard;
    assert_int_equal(assay_journal_create(&run, &plan, &journal, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_append(journal, 0, records, ASSAY_MAX_VARIANTS, NULL), ASSAY_OK);
    assert_int_equal(hear(assay_journal_path(journal), &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.records[0], ASSAY_MAX_VARIANTS);
    assay_journal_close(journal);
    struct assay_run_info other = {.id = "too_many"};
    assert_int_equal(assay_journal_create(&other, &plan, &journal, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_append(journal, 0, records, ASSAY_MAX_VARIANTS + 1, NULL),
                     ASSAY_OK);
    assert_int_equal(hear(assay_journal_path(journal), &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 0);
    assert_int_equal(heard.damaged, 1);
    assay_journal_close(journal);
    assay_plan_fini(&plan);
}

/* A group that was interrupted, or whose worker was killed, is not done. */
static void assert_measured_again(const char *id, bool interrupted)
{
    char *path = write_journal(id);
    struct heard heard;
    struct assay_journal_end before, after;
    assert_int_equal(hear(path, &heard, &before, NULL), ASSAY_OK);
    assay_journal *journal = reopen(path);
    /* One variant had crashed before the user lost patience with the next. */
    struct assay_record records[2] = {make_record(3, 0), make_record(3, 1)};
    records[0].interrupted = interrupted;
    records[1].outcome = interrupted ? ASSAY_OUTCOME_OK : ASSAY_OUTCOME_KILLED;
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, &after, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(heard.damaged, 0);
    assert_int_equal(after.size, before.size);
    /* Resumed: what was cut short goes, the whole group comes. */
    journal = reopen(path);
    records[0].interrupted = false;
    records[1].outcome = ASSAY_OUTCOME_OK;
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.damaged, 0);
    assert_int_equal(heard.n_groups, 4);
    assert_int_equal(heard.records[3], 2);
    free(path);
}

static void test_an_interrupted_group_is_measured_again(void **state)
{
    (void)state;
    assert_measured_again("interrupted", true);
    assert_measured_again("killed", false);
}

static void assert_no_journal(const char *path, enum assay_status status, const char *message)
{
    struct heard heard;
    struct assay_error err = {0};
    assert_int_equal(hear(path, &heard, NULL, &err), status);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    assert_int_equal(heard.heads, 0);
}

static void test_files_that_are_no_journals(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    assert_no_journal(path, ASSAY_ERR_IO, "No such file");
    spew(path, "", 0);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "is empty");
    spew(path, "{}\n", 3);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "is not a journal");
    spew(path, "{\"assay_journal\":1}\n", 20);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "the head of this journal is damaged");
    spew(path, "{\"assay_journal\":1,\"plan\":{}}\n", 30);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "the head of this journal is damaged");
    spew(path, "{\"assay_journal\":2,\"plan\":{}}\n", 30);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "has no checksum");
    spew(path, "\0\n", 2);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "is not a journal");
    assert_no_journal(folder, ASSAY_ERR_INVALID, "is a folder, not a journal");
    assert_no_journal("/dev/zero", ASSAY_ERR_INVALID, "is a device, not a journal");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_no_journal(path, ASSAY_ERR_INVALID, "is a pipe, not a journal");
    assay_journal *journal = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_journal_open(path, &journal, &err), ASSAY_ERR_INVALID);
    assert_int_equal(assay_journal_open("/dev/zero", &journal, NULL), ASSAY_ERR_INVALID);
    assert_true(assay_journal_open(folder, &journal, NULL) != ASSAY_OK);
    assert_null(journal);
}

/* A line without an end costs no memory, at the beginning no time either. */
static void test_endless_lines(void **state)
{
    (void)state;
    struct heard heard;
    char *path = write_journal("endless");
    size_t before = assay_alloc_held();
    assay_alloc_reset_peak();
    int file = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(ftruncate(file, 200 << 20), 0); /* a hole, which takes no disk space */
    assert_int_equal(write(file, "\nx\n", 3), 3);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(heard.damaged, 2);
    assert_non_null(strstr(heard.what, "longer than any line"));
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(ftruncate(file, (off_t)1 << 36), 0);
    close(file);
    assert_no_journal(path, ASSAY_ERR_CORRUPT, "is not a journal");
    assert_true(assay_alloc_peak() - before < 16 << 20);
    free(path);
}

/* ---- finding --------------------------------------------------------------------------------- */

static enum assay_status find(const char *name, char *out, size_t size, struct assay_error *err)
{
    struct assay_text path = {0};
    enum assay_status status = assay_journal_find(name, &path, err);
    snprintf(out, size, "%s", path.data ? path.data : "");
    assay_text_fini(&path);
    return status;
}

static void assert_cannot_be_found(const char *name, const char *why)
{
    char got[256];
    struct assay_error err = {0};
    assert_int_equal(find(name, got, sizeof got, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, why))
        fail_msg("%s: %s", name, err.message);
}

static void test_runs_are_found_by_name(void **state)
{
    (void)state;
    char got[256];
    struct assay_error err = {0};
    assert_int_equal(find("last", got, sizeof got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "there are no runs in"));
    char *old = write_journal("20250101-000000-ffff"),
         *new_one = write_journal("20260101-000000-0000");
    assert_int_equal(find("last", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, new_one);
    assert_int_equal(find("20250101-000000-ffff", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, old);
    assert_int_equal(find(old, got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, old);
    err = (struct assay_error){0};
    assert_int_equal(find("20270101", got, sizeof got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "no run \"20270101\""));
    assert_non_null(strstr(err.message, "the newest of 2 is \"20260101-000000-0000\""));
    assert_int_equal(find("last~1", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, old);
    assert_int_equal(find("2025", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, old);
    assert_cannot_be_found("20",
                           "2 runs begin with \"20\", the newest is \"20260101-000000-0000\"");
    assert_cannot_be_found("last~2", "is more than there are: 2 runs");
    assert_cannot_be_found("last~", "no run \"last~\"");
    assert_cannot_be_found("last~-1", "no run \"last~-1\"");
    usleep(20000); /* a file system's clock may be coarse */
    char *same_second = write_journal("20260101-000000-00000"); /* written later: later */
    usleep(20000);
    char *last = write_journal("20260101-000000-0");
    assert_int_equal(find("last", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, last);
    char *foreign = write_journal("zzz");
    struct assay_journal_names names;
    assert_int_equal(assay_journal_list(&names, NULL), ASSAY_OK);
    assert_int_equal(names.ids.n, 4);
    assert_string_equal(names.ids.items[0], "20260101-000000-0");
    assert_string_equal(names.ids.items[3], "20250101-000000-ffff");
    assert_int_equal(names.foreign.n, 1);
    assert_string_equal(names.foreign.items[0], "zzz.jsonl");
    assay_journal_names_fini(&names);
    assert_int_equal(find("last", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, last);
    free(foreign);
    free(same_second);
    free(last);
    free(old);
    free(new_one);
}

static void test_a_journal_is_never_overwritten(void **state)
{
    (void)state;
    char *path = write_journal("once");
    struct assay_run_info run = {.id = "once"};
    struct assay_plan plan = make_plan(1);
    assay_journal *journal = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_journal_create(&run, &plan, &journal, &err), ASSAY_ERR_IO);
    assert_null(journal);
    assay_plan_fini(&plan);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 077, 0); /* nobody else's business */
    free(path);
}

/* A file that may not grow: the message says so, and what was there is still whole. */
static void test_a_file_that_cannot_grow_is_told(void **state)
{
    (void)state;
    struct rlimit limit, held;
    struct assay_error err = {0};
    struct heard heard;
    size_t size;
    char *path = write_journal("full");
    assay_journal *journal = reopen(path);
    struct assay_record records[2] = {make_record(3, 0), make_record(3, 1)};
    free(slurp(path, &size));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &held);
    limit = (struct rlimit){size + 100, held.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    enum assay_status status = assay_journal_append(journal, 3, records, 2, &err);
    setrlimit(RLIMIT_FSIZE, &held);
    assert_int_equal(status, ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "File too large; make room"));
    /* Nothing of it is left; and there is disk space again. */
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 4);
    assert_int_equal(heard.damaged, 0);
    free(path);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    struct assay_plan plan = make_plan(2);
    struct assay_record record = make_record(0, 0);
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int nth = 1; status != ASSAY_OK; nth++) {
        struct assay_run_info run = {.version = "0"};
        struct assay_error err = {0};
        struct heard heard;
        char path[128];
        assay_journal *journal = NULL;
        snprintf(run.id, sizeof run.id, "nomem%d", nth);
        snprintf(path, sizeof path, "%s/assay/runs/%s.jsonl", folder, run.id);
        assay_alloc_fail_after(nth);
        status = assay_journal_create(&run, &plan, &journal, &err);
        if (status == ASSAY_OK)
            status = assay_journal_append(journal, 0, &record, 1, &err);
        if (status == ASSAY_OK)
            status = hear(path, &heard, NULL, &err);
        char found[128];
        enum assay_status searched = find(run.id, found, sizeof found, NULL);
        assay_alloc_fail_after(0);
        assert_true(searched == ASSAY_OK || status != ASSAY_OK || searched == ASSAY_ERR_NOMEM);
        assert_int_equal(err.code, status);
        assert_true(status == ASSAY_OK || status == ASSAY_ERR_NOMEM); /* no damage is seen in it */
        assert_true(journal || access(path, F_OK) != 0); /* what is not begun is not there */
        assay_journal_close(journal);
        assert_true(nth < 2000);
    }
    assay_plan_fini(&plan);
}

int main(void)
{
    assay_json_count_memory(); /* so that it can be made to fail, too */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_cut_short_at_every_byte),
        TEST(test_a_flipped_bit_anywhere),
        TEST(test_the_damaged_line_is_named),
        TEST(test_damage_in_the_middle_costs_its_group),
        TEST(test_a_damaged_end_is_gone_on_with),
        TEST(test_lines_doubled_lost_and_moved),
        TEST(test_records_of_another_group),
        TEST(test_old_journals_are_read_and_gone_on_with),
        TEST(test_damage_in_an_old_journal),
        TEST(test_two_cannot_go_on_with_one_run),
        TEST(test_more_records_than_a_group_can_have),
        TEST(test_an_interrupted_group_is_measured_again),
        TEST(test_files_that_are_no_journals),
        TEST(test_endless_lines),
        TEST(test_runs_are_found_by_name),
        TEST(test_a_journal_is_never_overwritten),
        TEST(test_a_file_that_cannot_grow_is_told),
        TEST(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
