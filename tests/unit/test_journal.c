/* test_journal.c: a journal written, cut short at every byte, damaged, found, and gone on with. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/group.h"
#include "bench/journal.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

/* Each test has a data folder of its own. */
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

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct heard *heard = user;
    assert_true(heard->n_groups < 16);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(records[i].group, group);
    heard->records[heard->n_groups] = n;
    heard->groups[heard->n_groups++] = group;
}

static enum assay_status hear(const char *path, struct heard *heard, int64_t *size_good,
                              struct assay_error *err)
{
    *heard = (struct heard){0};
    struct assay_journal_visitor visitor = {.user = heard, .head = on_head, .group = on_group};
    return assay_journal_read(path, &visitor, size_good, err);
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

static void spew(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    struct heard heard;
    int64_t good;
    size_t size;
    char *path = write_journal("20260101-000000-aaaa");
    assert_int_equal(hear(path, &heard, &good, NULL), ASSAY_OK);
    assert_int_equal(heard.heads, 1);
    assert_string_equal(heard.id, "20260101-000000-aaaa");
    assert_int_equal(heard.plan_groups, 4);
    assert_int_equal(heard.n_groups, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(heard.groups[i], i);
        assert_int_equal(heard.records[i], 2);
    }
    free(slurp(path, &size));
    assert_int_equal(good, size);
    free(path);
}

/* Killed at any moment: what was finished before is read, and nothing else. */
static void test_cut_short_at_every_byte(void **state)
{
    (void)state;
    char *path = write_journal("cut");
    size_t size;
    char *bytes = slurp(path, &size);
    size_t head = (size_t)(strchr(bytes, '\n') - bytes) + 1;
    for (size_t cut = 0; cut <= size; cut++) {
        struct heard heard;
        struct assay_error err = {0};
        int64_t good = -1, lines = 0, done_end = (int64_t)head;
        spew(path, bytes, cut);
        enum assay_status status = hear(path, &heard, &good, &err);
        if (cut < head - 1) { /* without its last newline the head is still whole */
            assert_int_equal(status, ASSAY_ERR_CORRUPT);
            assert_int_equal(heard.heads, 0);
            continue;
        }
        assert_int_equal(status, ASSAY_OK);
        for (size_t i = 0; i < cut; i++)
            if (bytes[i] == '\n' && ++lines > 1 && (lines - 1) % 3 == 0)
                done_end = (int64_t)i + 1;
        assert_int_equal(heard.n_groups, lines > 1 ? (lines - 1) / 3 : 0);
        if (cut >= head)
            assert_int_equal(good, done_end);
    }
    free(bytes);
    free(path);
}

/* A changed byte anywhere is refused with its line, or changes nothing that matters. */
static void test_damaged_at_every_byte(void **state)
{
    (void)state;
    char *path = write_journal("damaged");
    size_t size;
    char *bytes = slurp(path, &size);
    for (size_t at = 0; at < size; at += 3) {
        struct heard heard;
        struct assay_error err = {0};
        char held = bytes[at];
        bytes[at] = '\x01';
        spew(path, bytes, size);
        bytes[at] = held;
        if (hear(path, &heard, NULL, &err) == ASSAY_OK)
            continue;
        assert_int_equal(err.code, ASSAY_ERR_CORRUPT);
        assert_int_equal(strncmp(err.where, path, strlen(path)), 0);
    }
    free(bytes);
    free(path);
}

static void assert_damaged(const char *text, const char *line, const char *message)
{
    static int n;
    char id[16], place[192];
    struct heard heard;
    struct assay_error err = {0};
    snprintf(id, sizeof id, "run%d", n++);
    char *path = write_journal(id);
    append(path, text);
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
    snprintf(place, sizeof place, "%s:%s", path, line);
    assert_string_equal(err.where, place);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    assert_int_equal(heard.n_groups, 3); /* what is before the damage was told */
    free(path);
}

static void test_the_damaged_line_is_named(void **state)
{
    (void)state;
    assert_damaged("nonsense\n", "11", "is not valid JSON");
    assert_damaged("\n{\"done\":3}\n", "11", "is not valid JSON");
    assert_damaged("{\"done\":4}\n", "11", "names a group that the plan does not have");
    assert_damaged("{\"done\":-1}\n", "11", "names a group that the plan does not have");
    assert_damaged("{}\n", "11", "names a group that the plan does not have");
    assert_damaged("[]\n", "11", "names a group that the plan does not have");
    assert_damaged("{\"record\":{}}\n", "11", "");
}

static void test_records_of_another_group(void **state)
{
    (void)state;
    char *path = write_journal("mixed");
    struct heard heard;
    struct assay_error err = {0};
    assay_journal *journal;
    struct assay_record record = make_record(2, 0);
    size_t size;
    free(slurp(path, &size));
    assert_int_equal(assay_journal_reopen(path, (int64_t)size, &journal, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_append(journal, 3, &record, 1, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "holds records of another group"));
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
    assert_int_equal(assay_journal_append(journal, 0, records, ASSAY_MAX_VARIANTS + 1, NULL),
                     ASSAY_OK);
    assert_int_equal(hear(assay_journal_path(journal), &heard, NULL, NULL), ASSAY_ERR_CORRUPT);
    assay_journal_close(journal);
    assay_plan_fini(&plan);
}

static void test_an_interrupted_group_is_measured_again(void **state)
{
    (void)state;
    char *path = write_journal("interrupted");
    struct heard heard;
    int64_t good, good_before;
    assay_journal *journal;
    assert_int_equal(hear(path, &heard, &good_before, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_reopen(path, good_before, &journal, NULL), ASSAY_OK);
    /* One variant had crashed before the user lost patience with the next. */
    struct assay_record records[2] = {make_record(3, 0), make_record(3, 1)};
    records[0].interrupted = true;
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, &good, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 3);
    assert_int_equal(good, good_before);
    /* Resumed: what was cut short goes, the whole group comes. */
    assert_int_equal(assay_journal_reopen(path, good, &journal, NULL), ASSAY_OK);
    records[0].interrupted = false;
    assert_int_equal(assay_journal_append(journal, 3, records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_OK);
    assert_int_equal(heard.n_groups, 4);
    assert_int_equal(heard.records[3], 2);
    free(path);
}

static void test_files_that_are_no_journals(void **state)
{
    (void)state;
    struct heard heard;
    struct assay_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_IO);
    spew(path, "", 0);
    err = (struct assay_error){0};
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "is empty"));
    spew(path, "{}\n", 3);
    err = (struct assay_error){0};
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "not a journal"));
    spew(path, "{\"assay_journal\":1}\n", 20);
    err = (struct assay_error){0};
    assert_int_equal(hear(path, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "its plan is damaged"));
    spew(path, "\0\n", 2);
    assert_int_equal(hear(path, &heard, NULL, NULL), ASSAY_ERR_CORRUPT);
    err = (struct assay_error){0};
    assert_int_equal(hear(folder, &heard, NULL, &err), ASSAY_ERR_CORRUPT);
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

static void test_runs_are_found_by_name(void **state)
{
    (void)state;
    char got[256];
    struct assay_error err = {0};
    assert_int_equal(find("last", got, sizeof got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "there are no runs to resume"));
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
    usleep(20000); /* a file system's clock may be coarse */
    char *same_second = write_journal("20260101-000000-00000"); /* written later: later */
    usleep(20000);
    char *last = write_journal("20260101-000000-0");
    assert_int_equal(find("last", got, sizeof got, NULL), ASSAY_OK);
    assert_string_equal(got, last);
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

static void test_a_full_disk_is_told(void **state)
{
    (void)state;
    assay_journal *journal = NULL;
    struct assay_error err = {0};
    struct assay_record record = make_record(0, 0);
    if (assay_journal_reopen("/dev/full", 0, &journal, NULL) != ASSAY_OK) /* no truncating there */
        return;
    assert_int_equal(assay_journal_append(journal, 0, &record, 1, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "make room"));
    assay_journal_close(journal);
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
        assay_journal_close(journal);
        assert_true(nth < 200);
    }
    assay_plan_fini(&plan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_cut_short_at_every_byte),
        TEST(test_damaged_at_every_byte),
        TEST(test_the_damaged_line_is_named),
        TEST(test_records_of_another_group),
        TEST(test_more_records_than_a_group_can_have),
        TEST(test_an_interrupted_group_is_measured_again),
        TEST(test_files_that_are_no_journals),
        TEST(test_runs_are_found_by_name),
        TEST(test_a_journal_is_never_overwritten),
        TEST(test_a_full_disk_is_told),
        TEST(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
