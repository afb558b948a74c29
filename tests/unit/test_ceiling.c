/* Ceilings: what work must cost, remembering them, and measuring them; and the folders they need.
 */
#include "base/alloc.h"
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
#include <time.h>
#include <unistd.h>

/* ---- streams --------------------------------------------------------------------------------- */

static void expect_mix(double read, double written, double reads, double writes, double copies,
                       double triads)
{
    struct assay_ceiling_mix mix = assay_ceiling_mix(read, written);
    assert_near(mix.bytes[ASSAY_PROBE_READ], reads, 1e-9);
    assert_near(mix.bytes[ASSAY_PROBE_WRITE], writes, 1e-9);
    assert_near(mix.bytes[ASSAY_PROBE_COPY], copies, 1e-9);
    assert_near(mix.bytes[ASSAY_PROBE_TRIAD], triads, 1e-9);
}

static void work_is_a_mix_of_streams(void **state)
{
    (void)state;
    expect_mix(0, 0, 0, 0, 0, 0);
    expect_mix(1000, 0, 1000, 0, 0, 0);
    expect_mix(0, 1000, 0, 1000, 0, 0);
    expect_mix(1000, 1000, 0, 0, 2000, 0);
    expect_mix(2000, 1000, 0, 0, 0, 3000);
    expect_mix(1500, 1000, 0, 0, 1000, 1500); /* half of the writes have a second read */
    expect_mix(5000, 1000, 3000, 0, 0, 3000);
    expect_mix(1000, 3000, 0, 2000, 2000, 0);
}

/* Less than a twentieth is not a separate stream, and no byte of it is lost. */
static void crumbs_go_along_with_the_rest(void **state)
{
    (void)state;
    expect_mix(1010, 1000, 0, 0, 2010, 0); /* as of a norm: 30 bytes would be a triad */
    expect_mix(1000, 10, 1010, 0, 0, 0);
    expect_mix(10, 1000, 0, 1010, 0, 0);
    expect_mix(1040, 1000, 0, 0, 1920, 120); /* 120 of 2040 are more */
    expect_mix(1033, 1000, 0, 0, 2033, 0);   /* 99 of 2033 are less */
}

static void probes_have_names_and_streams(void **state)
{
    (void)state;
    static const char *const names[] = {"read", "write", "copy", "triad"};
    static const int streams[] = {1, 1, 2, 3};
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++) {
        assert_string_equal(assay_probe_name((enum assay_probe_kind)i), names[i]);
        assert_int_equal(assay_probe_streams((enum assay_probe_kind)i), streams[i]);
    }
}

/* ---- what work must cost --------------------------------------------------------------------- */

/* Round numbers: a byte at 1 GB/s takes 1 ns. */
static struct assay_ceilings example(void)
{
    return (struct assay_ceilings){
        .device = "Some CPU (R) 9000 @ 3.00GHz",
        .threads = 2,
        .n_levels = 3,
        .levels = {{"L1", 1000}, {"L2", 100000}, {"memory", SIZE_MAX}},
        .n_points = 4,
        .points = {{500, {100e9, 50e9, 80e9, 90e9}},
                   {1000, {90e9, 50e9, 80e9, 90e9}},
                   {50000, {40e9, 20e9, 25e9, 30e9}},
                   {1000000, {10e9, 5e9, 8e9, 6e9}}},
        .flops = {1000e9, 1000e9, 2000e9, 4000e9},
        .clock_hz = 3e9,
        .timer_ns = 21.5,
        .floor_ns = 22,
        .measured_at = 1700000000,
    };
}

static double read_rate(const struct assay_ceilings *c, double working_set, bool cold)
{
    return assay_ceiling_rate(c, ASSAY_PROBE_READ, working_set, cold) * 1e-9;
}

static void the_rate_follows_the_curve(void **state)
{
    (void)state;
    struct assay_ceilings c = example(), none = {0};
    assert_near(read_rate(&c, 0, false), 100, 0);
    assert_near(read_rate(&c, 500, false), 100, 0);
    assert_near(read_rate(&c, 1000, false), 90, 0);
    assert_near(read_rate(&c, 1001, false), 40, 0); /* more than that point: on the way down */
    assert_near(read_rate(&c, 50000, false), 40, 0);
    assert_near(read_rate(&c, 1e12, false), 10, 0); /* beyond the last: the last */
    assert_near(read_rate(&c, 500, true), 10, 0);   /* cold: memory's, whatever its size */
    assert_near(assay_ceiling_rate(&c, ASSAY_PROBE_TRIAD, 50000, false), 30e9, 0);
    assert_near(read_rate(&none, 500, false), 0, 0);
    assert_near(read_rate(&none, 500, true), 0, 0);
}

/* A point that was measured in a good moment does not count for what is far below it. */
static void between_two_points_the_slower_counts(void **state)
{
    (void)state;
    struct assay_ceilings c = example();
    c.points[1].rates[ASSAY_PROBE_READ] = 20e9;
    assert_near(read_rate(&c, 45000, false), 40, 0); /* as good as at the point itself */
    assert_near(read_rate(&c, 40000, false), 40, 0);
    assert_near(read_rate(&c, 39999, false), 20, 0);
    assert_near(read_rate(&c, 999, false), 20, 0);
}

static void working_sets_live_in_levels(void **state)
{
    (void)state;
    struct assay_ceilings c = example(), none = {0};
    assert_string_equal(assay_ceiling_level(&c, 0, false), "L1");
    assert_string_equal(assay_ceiling_level(&c, 1000, false), "L1"); /* what just fits is in it */
    assert_string_equal(assay_ceiling_level(&c, 1001, false), "L2");
    assert_string_equal(assay_ceiling_level(&c, 100001, false), "memory");
    assert_string_equal(assay_ceiling_level(&c, 1e30, false), "memory");
    assert_string_equal(assay_ceiling_level(&c, 10, true), "memory");
    assert_string_equal(assay_ceiling_level(&none, 10, false), "");
    assert_string_equal(assay_ceiling_level(&none, 10, true), "");
}

static void expect_time(double read, double written, double flops, double set, bool cold,
                        double transfer_ns, double compute_ns)
{
    struct assay_ceilings c = example();
    struct assay_ceiling_time got =
        assay_ceiling_time(&c, read, written, flops, ASSAY_CEILING_F32, set, cold);
    assert_near(got.transfer_ns, transfer_ns, 1e-9 * transfer_ns);
    assert_near(got.compute_ns, compute_ns, 1e-9 * compute_ns);
}

static void time_is_that_of_bytes_and_that_of_operations(void **state)
{
    (void)state;
    expect_time(400, 400, 0, 800, false, 800 / 80.0, 0);
    expect_time(400, 400, 0, 50000, false, 800 / 25.0, 0);
    expect_time(400, 400, 0, 800, true, 800 / 8.0, 0);
    expect_time(1000, 0, 0, 1e9, false, 1000 / 10.0, 0);
    expect_time(0, 1000, 0, 1e9, false, 1000 / 5.0, 0);
    expect_time(2000, 1000, 0, 1e9, false, 3000 / 6.0, 0);
    expect_time(1000, 3000, 0, 1e9, false, 2000 / 8.0 + 2000 / 5.0, 0);
    expect_time(5000, 1000, 0, 1e9, false, 3000 / 6.0 + 3000 / 10.0, 0);
    expect_time(900, 0, 1e6, 1000, false, 10, 1000);
    expect_time(0, 0, 1e6, 0, false, 0, 1000);
    expect_time(0, 0, 0, 0, false, 0, 0);
}

static void time_without_rates_is_unknown(void **state)
{
    (void)state;
    struct assay_ceilings none = {0}, partly = example();
    struct assay_ceiling_time got =
        assay_ceiling_time(&none, 100, 100, 100, ASSAY_CEILING_F32, 100, false);
    assert_true(isnan(got.transfer_ns) && isnan(got.compute_ns));
    got = assay_ceiling_time(&none, 0, 0, 0, ASSAY_CEILING_F32, 0, false);
    assert_near(got.transfer_ns, 0, 0);
    assert_near(got.compute_ns, 0, 0);

    partly.points[3].rates[ASSAY_PROBE_COPY] = 0;
    got = assay_ceiling_time(&partly, 100, 300, 1e6, ASSAY_CEILING_F32, 100, true);
    assert_true(isnan(got.transfer_ns)); /* half known is not known */
    assert_near(got.compute_ns, 1000, 1e-9);
    got = assay_ceiling_time(&partly, 100, 0, 1e6, ASSAY_CEILING_F8, 100, true);
    assert_near(got.transfer_ns, 10, 1e-9); /* copying is not needed here */
    assert_true(isnan(got.compute_ns));
}

/* ---- what is seen raises them ---------------------------------------------------------------- */

static bool raise_read(struct assay_ceilings *c, double working_set, bool cold, double rate)
{
    return assay_ceilings_raise(c, ASSAY_PROBE_READ, 0, working_set, cold, rate);
}

static void what_was_faster_than_ever_raises_a_point(void **state)
{
    (void)state;
    struct assay_ceilings c = example(), before = example();
    assert_false(raise_read(&c, 50000, false, 39e9));
    assert_memory_equal(c.points, before.points, sizeof c.points); /* never lowered */
    assert_false(raise_read(&c, 50000, false, 40.5e9));
    assert_near(c.points[2].rates[ASSAY_PROBE_READ], 40.5e9, 0); /* taken, not worth saving */
    assert_true(raise_read(&c, 40000, false, 42e9));             /* within a quarter */
    assert_true(raise_read(&c, 62500, false, 44e9));
    assert_near(c.points[2].rates[ASSAY_PROBE_READ], 44e9, 0);
    assert_near(c.points[2].rates[ASSAY_PROBE_COPY], 25e9, 0);
    assert_false(raise_read(&c, 39000, false, 1e12)); /* near no point */
    assert_false(raise_read(&c, 63000, false, 1e12));
    assert_false(raise_read(&c, 1e9, false, 1e12));
    assert_near(c.points[2].rates[ASSAY_PROBE_READ], 44e9, 0);
    assert_true(raise_read(&c, 77, true, 11e9)); /* cold: the last point */
    assert_near(c.points[3].rates[ASSAY_PROBE_READ], 11e9, 0);
    assert_near(c.points[0].rates[ASSAY_PROBE_READ], 100e9, 0);
}

static void what_was_faster_than_ever_raises_arithmetic(void **state)
{
    (void)state;
    struct assay_ceilings c = example(), none = {0};
    assert_false(assay_ceilings_raise(&c, ASSAY_PROBE_MATH, ASSAY_CEILING_BF16, 0, false, 1e12));
    assert_near(c.flops[ASSAY_CEILING_BF16], 2e12, 0);
    assert_true(assay_ceilings_raise(&c, ASSAY_PROBE_MATH, ASSAY_CEILING_BF16, 0, true, 3e12));
    assert_near(c.flops[ASSAY_CEILING_BF16], 3e12, 0);
    assert_near(c.flops[ASSAY_CEILING_F32], 1e12, 0);
    assert_true(assay_ceilings_raise(&c, ASSAY_PROBE_MATH, ASSAY_CEILING_F8, 0, false, 1));
    assert_false(raise_read(&none, 1000, true, 1e9)); /* there is no curve to raise */
}

/* ---- a new folder for each test -------------------------------------------------------------- */

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
    saved.points[0].rates[0] = 123456789012.34567; /* every digit */
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
        assert_string_equal(loaded.levels[i].name, saved.levels[i].name);
        assert_true(loaded.levels[i].bytes == saved.levels[i].bytes);
    }
    assert_int_equal(loaded.n_points, 4);
    assert_memory_equal(loaded.points, saved.points, sizeof loaded.points);
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

/* Ceilings that nobody had the memory to read are not ones to be measured again. */
static void without_memory_ceilings_are_not_called_damaged(void **state)
{
    (void)state;
    struct assay_ceilings saved = example(), loaded;
    assert_int_equal(assay_ceilings_save(&saved, NULL), ASSAY_OK);
    assay_json_count_memory();
    bool failed = true;
    for (int nth = 1; failed; nth++) {
        struct assay_error why = {0};
        assay_alloc_fail_after(nth);
        enum assay_status status = assay_ceilings_load(saved.device, 2, &loaded, &why);
        failed = assay_alloc_has_failed();
        assay_alloc_fail_after(0);
        assert_int_equal(status, failed ? ASSAY_ERR_NOMEM : ASSAY_OK);
        assert_int_equal(why.code, status);
        assert_true(nth < 1000);
    }
}

/* Nor are those of a file that is there and cannot be read. */
static void ceilings_that_cannot_be_read_are_not_called_damaged(void **state)
{
    (void)state;
    struct assay_ceilings saved = example(), loaded;
    struct assay_error why = {0};
    assert_int_equal(assay_ceilings_save(&saved, NULL), ASSAY_OK);
    struct rlimit none = {0}, held;
    getrlimit(RLIMIT_NOFILE, &held);
    none.rlim_max = held.rlim_max;
    setrlimit(RLIMIT_NOFILE, &none);
    enum assay_status status = assay_ceilings_load(saved.device, 2, &loaded, &why);
    setrlimit(RLIMIT_NOFILE, &held);
    assert_int_equal(status, ASSAY_ERR_IO);
    assert_non_null(strstr(why.message, "Too many open files"));
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
        {"\"version\": 5", "\"version\": 4"},
        {"\"version\": 5", "\"version\": 6"},
        {"\"version\": 5", "\"version\": \"5\""},
        {"assay-ceilings", "assay-records"},
        {"\"threads\": 2", "\"threads\": 0"},
        {"\"levels\"", "\"storeys\""},
        {"\"points\"", "\"places\""},
        {"\"L2\"", "\"a name that is too long\""},
        {"\"L1\"", "\"\""},
        {"\"bytes\": 1000\n", "\"bytes\": 200000\n"}, /* a level larger than the next */
        {"\"bytes\": 1000\n", "\"bytes\": null\n"},
        {"\"bytes\": null", "\"bytes\": 7"},
        {"\"bytes\": 500,", "\"bytes\": 1000,"}, /* a point no smaller than the next */
        {"\"bytes\": 500,", "\"bytes\": 0,"},
        {"\"bytes\": 500,", "\"bytes\": null,"},
        {"\"read\": 100000000000.0", "\"read\": -1.0"},
        {"\"triad\": 90000000000.0", "\"triad\": null"},
        {"\"copy\"", "\"copies\""},
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

static double rate_at(const struct assay_ceilings *c, int point, int kind)
{
    assert_true(c->points[point].rates[kind] > 1e8);
    return c->points[point].rates[kind];
}

/* A size in the middle of the first cache, and the largest. Four fifths: under a sanitizer, or
 * beside a busy neighbour, they come close to each other. */
static void check_curve(const struct assay_ceilings *c)
{
    assert_true(c->n_points >= 10 && c->n_points <= ASSAY_MAX_POINTS);
    assert_int_equal(c->points[0].bytes, 16 << 10);
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++) {
        assert_true(rate_at(c, 0, kind) >= 0.8 * rate_at(c, c->n_points - 1, kind));
        for (int i = 1; i < c->n_points; i++) {
            assert_int_equal(c->points[i].bytes, 2 * c->points[i - 1].bytes);
            rate_at(c, i, kind);
        }
    }
}

static void calibration_makes_sense(void **state)
{
    (void)state;
    struct assay_device device = {.threads = 1};
    struct assay_ceilings c, again;
    struct assay_error err = {0};
    clock_t start = clock(); /* of this process: the machine may be busy with others */
    enum assay_status status = assay_cpu_calibrate(&device, &c, &err);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status == ASSAY_UNSUPPORTED) { /* too busy, and it says so */
        assert_true(strlen(err.message) > 0);
        skip();
    }
    assert_int_equal(status, ASSAY_OK);
    assert_true(seconds < (HAVE_ASAN || HAVE_TSAN ? 40 : 16));
    assert_int_equal(c.threads, 1);
    assert_true(c.device[0] && c.n_levels >= 2 && c.n_levels <= ASSAY_MAX_LEVELS);
    assert_string_equal(c.levels[0].name, "L1");
    assert_string_equal(c.levels[c.n_levels - 1].name, "memory");
    assert_true(c.levels[c.n_levels - 1].bytes == SIZE_MAX);
    for (int i = 1; i < c.n_levels; i++)
        assert_true(c.levels[i].bytes > c.levels[i - 1].bytes);
    check_curve(&c);
    assert_true(c.flops[ASSAY_CEILING_F32] > 1e8 && c.flops[ASSAY_CEILING_S8] > 1e8);
    assert_true(c.timer_ns > 0 && c.timer_ns < 1e5 && c.floor_ns > 0 && c.floor_ns < 1e6);
    assert_true(c.measured_at > 1700000000);
    assert_int_equal(assay_ceilings_save(&c, NULL), ASSAY_OK); /* and what is found can be read */
    assert_int_equal(assay_ceilings_load(c.device, 1, &again, &err), ASSAY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_a_mix_of_streams),
        cmocka_unit_test(crumbs_go_along_with_the_rest),
        cmocka_unit_test(probes_have_names_and_streams),
        cmocka_unit_test(the_rate_follows_the_curve),
        cmocka_unit_test(between_two_points_the_slower_counts),
        cmocka_unit_test(working_sets_live_in_levels),
        cmocka_unit_test(time_is_that_of_bytes_and_that_of_operations),
        cmocka_unit_test(time_without_rates_is_unknown),
        cmocka_unit_test(what_was_faster_than_ever_raises_a_point),
        cmocka_unit_test(what_was_faster_than_ever_raises_arithmetic),
        cmocka_unit_test_setup_teardown(saved_ceilings_come_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(ceilings_are_of_one_device_and_thread_count, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(without_memory_ceilings_are_not_called_damaged, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(ceilings_that_cannot_be_read_are_not_called_damaged,
                                        make_folder, remove_folder),
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
