/* Ceilings: what work must cost, remembering them, and measuring them; and the folders they need.
 */
#include "base/clock.h"
#include "base/folder.h"
#include "base/sealed.h"
#include "device/ceiling.h"
#include "device/cpu/cpu_calibrate.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what work must cost --------------------------------------------------------------------- */

/* Round numbers: a byte at 1 GB/s takes 1 ns. */
static struct assay_ceilings example(void)
{
    return (struct assay_ceilings){
        .device = "Some CPU (R) 9000 @ 3.00GHz",
        .threads = 2,
        .n_levels = 3,
        .levels = {{"L1", 1000, 100e9, 50e9, 80e9},
                   {"L2", 100000, 40e9, 20e9, 25e9},
                   {"memory", SIZE_MAX, 10e9, 5e9, 8e9}},
        .flops = {1000e9, 1000e9, 2000e9, 4000e9},
        .clock_hz = 3e9,
        .timer_ns = 21.5,
        .floor_ns = 22,
        .measured_at = 1700000000,
    };
}

static void expect(double read, double written, double flops, double set, bool cold, double ns,
                   const char *bound)
{
    struct assay_ceilings c = example();
    struct assay_ceiling_time got =
        assay_ceiling_time(&c, read, written, flops, ASSAY_CEILING_F32, set, cold);
    assert_near(got.ns, ns, 1e-9 * ns);
    assert_string_equal(got.bound, bound);
}

static void time_follows_the_level(void **state)
{
    (void)state;
    expect(400, 400, 0, 800, false, 800 / 80.0, "L1");
    expect(400, 400, 0, 1000, false, 10, "L1"); /* what just fits is in it */
    expect(400, 400, 0, 1001, false, 800 / 25.0, "L2");
    expect(400, 400, 0, 100001, false, 800 / 8.0, "memory");
    expect(400, 400, 0, 800, true, 800 / 8.0, "memory"); /* cold: whatever its size */
}

static void time_splits_reads_and_writes(void **state)
{
    (void)state;
    expect(1000, 0, 0, 1e9, false, 1000 / 10.0, "memory");
    expect(0, 1000, 0, 1e9, false, 1000 / 5.0, "memory");
    expect(2000, 1000, 0, 1e9, false, 2000 / 8.0 + 1000 / 10.0, "memory");
    expect(1000, 2000, 0, 1e9, false, 2000 / 8.0 + 1000 / 5.0, "memory");
}

static void time_names_what_binds(void **state)
{
    (void)state;
    expect(800, 0, 1e6, 800, false, 1000, "compute"); /* 8 ns of reading, 1000 of arithmetic */
    expect(800, 0, 1e3, 800, false, 8, "L1");
    expect(0, 0, 1e6, 0, false, 1000, "compute");
    expect(0, 0, 0, 0, false, 0, "");
}

static void time_without_rates_is_unknown(void **state)
{
    (void)state;
    struct assay_ceilings none = {0};
    struct assay_ceiling_time got =
        assay_ceiling_time(&none, 100, 100, 100, ASSAY_CEILING_F32, 100, false);
    assert_true(got.ns == 0);
    assert_string_equal(got.bound, "");

    struct assay_ceilings partly = example();
    partly.levels[2].copy = 0;
    got = assay_ceiling_time(&partly, 100, 100, 0, ASSAY_CEILING_F32, 100, true);
    assert_true(got.ns == 0);
    assert_string_equal(got.bound, "");
    got = assay_ceiling_time(&partly, 100, 100, 1e6, ASSAY_CEILING_F32, 100,
                             true); /* the other side still binds */
    assert_string_equal(got.bound, "compute");
    got = assay_ceiling_time(&partly, 100, 0, 0, ASSAY_CEILING_F32, 100,
                             true); /* and copy is not needed here */
    assert_near(got.ns, 10, 1e-9);
}

/* ---- a folder of its own for each test ------------------------------------------------------- */

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/assay-test-XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) ? setenv("XDG_CACHE_HOME", folder, 1) : -1;
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *place)
{
    (void)found, (void)kind, (void)place;
    return remove(path);
}

static int remove_folder(void **state)
{
    int rc = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

static int entries_in(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void read_back(const char *path, char *buf, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    buf[fread(buf, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* ---- remembering ----------------------------------------------------------------------------- */

static const char file_name[] = "assay/ceilings-some-cpu-r-9000-3-00ghz-2t.json";

static void saved_ceilings_come_back(void **state)
{
    struct assay_ceilings saved = example(), loaded = {0};
    saved.levels[0].read = 123456789012.34567; /* every digit */
    struct assay_error err = {0};
    assert_int_equal(assay_ceilings_save(&saved, &err), ASSAY_OK);
    char path[256];
    snprintf(path, sizeof path, "%s/%s", (char *)*state, file_name);
    assert_int_equal(access(path, R_OK), 0);

    assert_int_equal(assay_ceilings_load(saved.device, 2, &loaded, &err), ASSAY_OK);
    assert_string_equal(loaded.device, saved.device);
    assert_int_equal(loaded.threads, 2);
    assert_int_equal(loaded.n_levels, 3);
    assert_int_equal(loaded.measured_at, saved.measured_at);
    assert_true(memcmp(loaded.flops, saved.flops, sizeof loaded.flops) == 0 &&
                loaded.clock_hz == saved.clock_hz);
    assert_true(loaded.timer_ns == saved.timer_ns && loaded.floor_ns == saved.floor_ns);
    for (int i = 0; i < 3; i++) {
        const struct assay_ceiling_level *a = &saved.levels[i], *b = &loaded.levels[i];
        assert_string_equal(a->name, b->name);
        assert_true(a->bytes == b->bytes);
        assert_true(a->read == b->read && a->write == b->write && a->copy == b->copy);
    }
}

static void ceilings_are_of_one_device_and_thread_count(void **state)
{
    (void)state;
    struct assay_ceilings saved = example(), loaded;
    struct assay_error err = {0}, why = {0};
    assert_int_equal(assay_ceilings_load(saved.device, 2, &loaded, &why), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(why.message, "not measured"));
    assert_int_equal(assay_ceilings_save(&saved, &err), ASSAY_OK);
    assert_int_equal(assay_ceilings_load(saved.device, 1, &loaded, NULL), ASSAY_UNSUPPORTED);
    assert_int_equal(assay_ceilings_load("other", 2, &loaded, NULL), ASSAY_UNSUPPORTED);
    /* The same file name, another device. */
    assert_int_equal(assay_ceilings_load("some cpu-R-9000 3.00GHz", 2, &loaded, NULL),
                     ASSAY_UNSUPPORTED);
}

/* Writes the example with `from` replaced by `to`, and says whether it still loads. */
static enum assay_status load_changed(const char *folder, const char *from, const char *to)
{
    struct assay_ceilings c = example();
    assert_int_equal(assay_ceilings_save(&c, NULL), ASSAY_OK);
    char path[256], text[4096], changed[4200];
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    read_back(path, text, sizeof text);
    char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(assay_folder_write_atomic(path, changed, strlen(changed), NULL), ASSAY_OK);
    if (strcmp(from, to) != 0)
        assert_int_equal(assay_ceilings_load(c.device, c.threads, &c, NULL), ASSAY_UNSUPPORTED);
    char *seal = strstr(changed, ",\n  \"sha256\"");
    assert_non_null(seal);
    memcpy(seal, "}", 2);
    assay_json *json = assay_json_parse(changed, strlen(changed), path, NULL);
    if (json) /* sealed again: what the seal says is not all that is checked */
        assert_int_equal(assay_sealed_write(path, json, NULL), ASSAY_OK);
    assay_json_free(json);
    return assay_ceilings_load(c.device, c.threads, &c, NULL);
}

static void corrupt_files_are_measured_again(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"\"version\": 4", "\"version\": 5"},
        {"\"version\": 4", "\"version\": \"4\""},
        {"assay-ceilings", "assay-records"},
        {"\"threads\": 2", "\"threads\": 0"},
        {"\"levels\"", "\"storeys\""},
        {"\"L2\"", "\"a name that is too long\""},
        {"\"L1\"", "\"\""},
        {"\"bytes\": 1000,", "\"bytes\": 200000,"}, /* larger than the next */
        {"\"bytes\": 1000,", "\"bytes\": null,"},
        {"\"bytes\": null", "\"bytes\": 7"},
        {"\"flops_f32\": 1000000000000.0", "\"flops_f32\": null"},
        {"\"flops_f32\": 1000000000000.0", "\"flops_f32\": -1"},
        {"\"clock_hz\": 3000000000.0", "\"clock_hz\": true"},
        {"{", ""},
    };
    assert_int_equal(load_changed(*state, "{", "{"), ASSAY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (load_changed(*state, cases[i].from, cases[i].to) != ASSAY_UNSUPPORTED)
            fail_msg("accepted with %s instead of %s", cases[i].to, cases[i].from);
}

static void an_empty_or_endless_file_is_not_ceilings(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", (char *)*state, file_name);
    struct assay_ceilings c = example();
    assert_int_equal(assay_ceilings_save(&c, NULL), ASSAY_OK);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(assay_ceilings_load(c.device, 2, &c, NULL), ASSAY_UNSUPPORTED);
    assert_int_equal(truncate(path, 100000000), 0);
    assert_int_equal(assay_ceilings_load(c.device, 2, &c, NULL), ASSAY_UNSUPPORTED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(assay_ceilings_load(c.device, 2, &c, NULL), ASSAY_UNSUPPORTED);
}

/* ---- folders --------------------------------------------------------------------------------- */

static void expect_folder(enum assay_status (*folder)(struct assay_text *, struct assay_error *),
                          const char *path)
{
    struct assay_text text = {0};
    struct assay_error err = {0};
    assert_int_equal(folder(&text, &err), ASSAY_OK);
    assert_string_equal(text.data, path);
    assay_text_fini(&text);
}

static void folders_follow_xdg(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    setenv("XDG_CACHE_HOME", "/var/cache/mine", 1);
    setenv("XDG_DATA_HOME", "/var/data", 1);
    expect_folder(assay_folder_cache, "/var/cache/mine/assay");
    expect_folder(assay_folder_data, "/var/data/assay");
    setenv("XDG_CACHE_HOME", "relative/path", 1);
    setenv("XDG_DATA_HOME", "", 1);
    expect_folder(assay_folder_cache, "/home/someone/.cache/assay");
    expect_folder(assay_folder_data, "/home/someone/.local/share/assay");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME"); /* then the user database knows, or says that nobody does */
    struct assay_text text = {0};
    struct assay_error err = {0};
    if (assay_folder_cache(&text, &err) == ASSAY_OK)
        assert_non_null(strstr(text.data, "/.cache/assay"));
    else
        assert_non_null(strstr(err.message, "XDG_CACHE_HOME"));
    assay_text_fini(&text);
}

static void folders_are_made_with_those_above(void **state)
{
    char path[256];
    struct stat found;
    struct assay_error err = {0};
    snprintf(path, sizeof path, "%s/a//b/c/", (char *)*state);
    assert_int_equal(assay_folder_make(path, &err), ASSAY_OK);
    assert_int_equal(assay_folder_make(path, &err), ASSAY_OK);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    assert_int_equal(assay_folder_make("/", &err), ASSAY_OK);
}

static void a_folder_that_cannot_be_made_is_named(void **state)
{
    char file[256], path[300];
    struct assay_error err = {0};
    snprintf(file, sizeof file, "%s/file", (char *)*state);
    assert_int_equal(assay_folder_write_atomic(file, "x", 1, &err), ASSAY_OK);
    snprintf(path, sizeof path, "%s/below/it", file);
    assert_int_equal(assay_folder_make(path, &err), ASSAY_ERR_IO);
    assert_string_equal(err.where, file);
    assert_non_null(strstr(err.message, "not a folder"));
    assert_int_equal(assay_folder_make("", NULL), ASSAY_ERR_IO);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void files_are_replaced_whole(void **state)
{
    char path[256], text[64];
    snprintf(path, sizeof path, "%s/file", (char *)*state);
    assert_int_equal(assay_folder_write_atomic(path, "first, long", 11, NULL), ASSAY_OK);
    assert_int_equal(assay_folder_write_atomic(path, "second", 6, NULL), ASSAY_OK);
    read_back(path, text, sizeof text);
    assert_string_equal(text, "second");
    assert_int_equal(assay_folder_write_atomic(path, "", 0, NULL), ASSAY_OK);
    read_back(path, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(entries_in(*state), 1);
}

static void a_file_that_does_not_fit_leaves_the_old_one(void **state)
{
    char path[256], text[64];
    struct assay_error err = {0};
    static char large[8192];
    snprintf(path, sizeof path, "%s/file", (char *)*state);
    assert_int_equal(assay_folder_write_atomic(path, "old", 3, NULL), ASSAY_OK);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN); /* so that the write fails as on a full disk, halfway */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum assay_status status = assay_folder_write_atomic(path, large, sizeof large, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, ASSAY_ERR_IO);
    assert_string_equal(err.where, path);
    assert_non_null(strstr(err.message, "too large"));
    read_back(path, text, sizeof text);
    assert_string_equal(text, "old");
    assert_int_equal(entries_in(*state), 1);
}

static void writing_where_it_cannot_be_says_why(void **state)
{
    char path[256];
    struct assay_error err = {0};
    snprintf(path, sizeof path, "%s/missing/file", (char *)*state);
    assert_int_equal(assay_folder_write_atomic(path, "x", 1, &err), ASSAY_ERR_IO);
    assert_string_equal(err.where, path);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(assay_folder_write_atomic(*state, "x", 1, NULL), ASSAY_ERR_IO);

    err = (struct assay_error){0};
    snprintf(path, sizeof path, "%s/file", (char *)*state);
    chmod(*state, 0500);
    if (access(*state, W_OK) != 0) { /* root may write anywhere */
        assert_int_equal(assay_folder_write_atomic(path, "x", 1, &err), ASSAY_ERR_IO);
        assert_non_null(strstr(err.message, "Permission denied"));
    }
    chmod(*state, 0700);
    assert_int_equal(entries_in(*state), 0);
}

static void what_is_no_file_is_written_as_it_is(void **state)
{
    (void)state;
    struct assay_error err = {0};
    struct stat found;
    assert_int_equal(assay_folder_write_atomic("/dev/null", "x", 1, &err), ASSAY_OK);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(assay_folder_write_atomic("/dev/full", "x", 1, &err), ASSAY_ERR_IO);
        assert_string_equal(err.where, "/dev/full");
        assert_non_null(strstr(err.message, "No space left"));
    }
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void the_clock_is_a_clock(void **state)
{
    (void)state;
    double hz = assay_cpu_clock_hz();
#if defined(__x86_64__)
    assert_true(hz > 0.5e9 && hz < 7e9);
#else
    assert_true(hz == 0);
#endif
}

/* Four fifths: under a sanitizer, or beside a busy neighbour, levels come close to each other. */
static bool not_slower(const struct assay_ceiling_level *a, const struct assay_ceiling_level *b)
{
    return a->read >= 0.8 * b->read && a->write >= 0.8 * b->write && a->copy >= 0.8 * b->copy;
}

static void calibration_makes_sense(void **state)
{
    (void)state;
    struct assay_device device = {.threads = 1};
    struct assay_ceilings c;
    struct assay_error err = {0};
    int64_t start = assay_clock_ns();
    enum assay_status status = assay_cpu_calibrate(&device, &c, &err);
    double seconds = (double)(assay_clock_ns() - start) / 1e9;
    if (status == ASSAY_UNSUPPORTED) { /* too busy, and it says so */
        assert_true(strlen(err.message) > 0);
        skip();
    }
    assert_int_equal(status, ASSAY_OK);
    assert_true(seconds < 4);
    assert_int_equal(c.threads, 1);
    assert_true(c.device[0] && c.n_levels >= 2 && c.n_levels <= ASSAY_MAX_LEVELS);
    assert_string_equal(c.levels[0].name, "L1");
    assert_string_equal(c.levels[c.n_levels - 1].name, "memory");
    assert_true(c.levels[c.n_levels - 1].bytes == SIZE_MAX);
    for (int i = 0; i < c.n_levels; i++)
        assert_true(c.levels[i].read > 1e8 && c.levels[i].write > 1e8 && c.levels[i].copy > 1e8);
    for (int i = 1; i < c.n_levels; i++)
        assert_true(c.levels[i].bytes > c.levels[i - 1].bytes);
    if (c.n_levels > 2)
        assert_true(not_slower(&c.levels[0], &c.levels[1]));
    assert_true(not_slower(&c.levels[1], &c.levels[c.n_levels - 1]));
    assert_true(c.flops[ASSAY_CEILING_F32] > 1e8 && c.flops[ASSAY_CEILING_S8] > 1e8);
    assert_true(c.timer_ns > 0 && c.timer_ns < 1e5 && c.floor_ns > 0 && c.floor_ns < 1e6);
    assert_true(c.measured_at > 1700000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_follows_the_level),
        cmocka_unit_test(time_splits_reads_and_writes),
        cmocka_unit_test(time_names_what_binds),
        cmocka_unit_test(time_without_rates_is_unknown),
        cmocka_unit_test_setup_teardown(saved_ceilings_come_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(ceilings_are_of_one_device_and_thread_count, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(corrupt_files_are_measured_again, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(an_empty_or_endless_file_is_not_ceilings, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(folders_are_made_with_those_above, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_is_named, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(files_are_replaced_whole, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_does_not_fit_leaves_the_old_one, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(writing_where_it_cannot_be_says_why, make_folder,
                                        remove_folder),
        cmocka_unit_test(what_is_no_file_is_written_as_it_is),
        cmocka_unit_test(folders_follow_xdg),
        cmocka_unit_test(the_clock_is_a_clock),
        cmocka_unit_test_setup_teardown(calibration_makes_sense, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
