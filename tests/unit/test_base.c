/* test_base.c: errors, growing text, nearest names, units, numbers, random numbers, allocation. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/library.h"
#include "base/load.h"
#include "base/rng.h"
#include "base/text.h"
#include "unit.h"

#include <string.h>
#include <sys/resource.h>

/* ---- error ---------------------------------------------------------------------------------- */

static void the_first_error_wins(void **state)
{
    (void)state;
    struct assay_error err = {0};
    assert_int_equal(assay_error_set(&err, ASSAY_ERR_IO, "a.yaml:3", "cannot read %s", "a.yaml"),
                     ASSAY_ERR_IO);
    assert_int_equal(assay_error_set(&err, ASSAY_ERR_NOMEM, NULL, "later"), ASSAY_ERR_NOMEM);
    assert_int_equal(err.code, ASSAY_ERR_IO);
    assert_string_equal(err.where, "a.yaml:3");
    assert_string_equal(err.message, "cannot read a.yaml");
}

static void an_error_may_have_no_place_and_no_reader(void **state)
{
    (void)state;
    struct assay_error err = {0};
    char line[64];
    assert_int_equal(assay_error_set(NULL, ASSAY_UNSUPPORTED, "x", "y"), ASSAY_UNSUPPORTED);
    assay_error_set(&err, ASSAY_ERR_INVALID, NULL, "no such op");
    assay_error_format(&err, line, sizeof line);
    assert_string_equal(line, "no such op");
    struct assay_error placed = {0};
    assay_error_set(&placed, ASSAY_ERR_INVALID, "--op", "no such op");
    assay_error_format(&placed, line, sizeof line);
    assert_string_equal(line, "--op: no such op");
}

static void a_long_message_is_cut_not_spilled(void **state)
{
    (void)state;
    struct assay_error err = {0};
    char word[1024], line[16];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assay_error_set(&err, ASSAY_ERR_INVALID, word, "%s", word);
    assert_int_equal(strlen(err.where), sizeof err.where - 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assay_error_format(&err, line, sizeof line);
    assert_int_equal(strlen(line), sizeof line - 1);
}

static void every_status_has_a_name_and_only_negative_ones_fail(void **state)
{
    (void)state;
    for (int i = ASSAY_ERR_FAILED; i <= ASSAY_UNSUPPORTED; i++) {
        assert_string_not_equal(assay_status_name((enum assay_status)i), "unknown status");
        assert_int_equal(assay_failed((enum assay_status)i), i < 0);
    }
}

/* ---- text ----------------------------------------------------------------------------------- */

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    struct assay_text text = {0};
    for (int i = 0; i < 1000; i++) {
        assay_text_add(&text, "ab");
        assay_text_append(&text, "c…", 1);
        assay_text_format(&text, "%03d", i);
        assert_int_equal(text.length, 6 * (i + 1));
        assert_int_equal(strlen(text.data), text.length);
    }
    assert_memory_equal(text.data + text.length - 6, "abc999", 7);
    assert_false(text.failed);
    assay_text_clear(&text);
    assert_int_equal(text.length, 0);
    assert_string_equal(text.data, "");
    assay_text_fini(&text);
    assert_null(text.data);
    assay_text_fini(&text); /* again does nothing */
}

/* Whichever allocation fails, what was there stays, `failed` is set and stays set. */
static void text_survives_every_failed_allocation(void **state)
{
    (void)state;
    bool failed = true;
    for (int64_t nth = 1; failed; nth++) {
        struct assay_text text = {0};
        assay_alloc_fail_after(nth);
        for (int i = 0; i < 100; i++) {
            assay_text_add(&text, "0123456789");
            assay_text_format(&text, "%s", "0123456789");
        }
        assay_alloc_fail_after(0);
        failed = text.failed;
        if (failed) {
            size_t length = text.length;
            assay_text_add(&text, "more");
            assert_int_equal(text.length, length);
        }
        if (text.data)
            assert_int_equal(strlen(text.data), text.length);
        assert_int_equal(text.length % 10, 0);
        assert_true(failed ? nth < 10 : text.length == 2000);
        assay_text_fini(&text);
    }
}

static void same_ignores_case_but_not_length(void **state)
{
    (void)state;
    assert_true(assay_text_same("LayerNorm", "layernorm"));
    assert_true(assay_text_same("", ""));
    assert_false(assay_text_same("relu", "relu6"));
    assert_false(assay_text_same("relu6", "relu"));
    assert_false(assay_text_same("a", ""));
}

/* Edits to the nearest: layrnorm 1, LAYERNROM 2, sofmax 1, mes 2; xyz shares at most a letter. */
static void nearest_name_is_the_fewest_edits_away(void **state)
{
    (void)state;
    static const char *const names[] = {"rmsnorm", "layernorm", "softmax", "relu", "mse", "ce"};
    static const struct {
        const char *word, *want;
    } table[] = {
        {"layrnorm", "layernorm"},
        {"LAYERNROM", "layernorm"},
        {"sofmax", "softmax"},
        {"relu", "relu"},
        {"relu7", "relu"},
        {"mes", "mse"},
        {"xyz", NULL},
        {"zz", NULL},
        {"c", NULL},
        {"", NULL},
        {"quantise_everything", NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *got = assay_text_nearest(table[i].word, names, 6);
        if (table[i].want)
            assert_string_equal(got, table[i].want);
        else
            assert_null(got);
    }
    assert_null(assay_text_nearest("relu", names, 0));
}

static void nearest_name_takes_words_of_any_length(void **state)
{
    (void)state;
    char word[500];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const candidates[] = {word, "aaaa"};
    assert_null(assay_text_nearest(word, candidates, 2));
}

static void times_have_three_digits_in_the_fitting_unit(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *want;
    } table[] = {
        {0, "0.00 ns"},       {0.5, "0.50 ns"},   {1, "1.00 ns"},      {9.994, "9.99 ns"},
        {9.996, "10.0 ns"},   {99.94, "99.9 ns"}, {99.96, "100 ns"},   {850, "850 ns"},
        {999.4, "999 ns"},    {999.5, "1.00 us"}, {2.31e6, "2.31 ms"}, {999.6e3, "1.00 ms"},
        {45.67e6, "45.7 ms"}, {1.5e9, "1.50 s"},  {3600e9, "3600 s"},  {123.4e3, "123 us"},
    };
    char buf[32];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assay_text_time(table[i].ns, buf, sizeof buf);
        assert_string_equal(buf, table[i].want);
    }
}

static void bytes_have_one_decimal_in_powers_of_1000(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *want;
    } table[] = {
        {0, "0 B"},        {1, "1 B"},           {999, "999 B"},      {1000, "1.0 kB"},
        {1500, "1.5 kB"},  {999949, "999.9 kB"}, {999950, "1.0 MB"},  {100.66e6, "100.7 MB"},
        {1.2e9, "1.2 GB"}, {24.7e12, "24.7 TB"}, {5e15, "5000.0 TB"},
    };
    char buf[32];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assay_text_bytes(table[i].bytes, buf, sizeof buf);
        assert_string_equal(buf, table[i].want);
    }
}

static void counts_have_two_decimals_and_a_prefix(void **state)
{
    (void)state;
    static const struct {
        double count;
        const char *want;
    } table[] = {
        {0, "0 "},
        {7, "7 "},
        {0.5, "0.50 "},
        {999, "999 "},
        {1000, "1.00 k"},
        {999995, "1.00 M"},
        {402653184, "402.65 M"},
        {25769803776.0, "25.77 G"},
        {1.2e15, "1.20 P"},
        {4e21, "4000.00 E"},
    };
    char buf[32];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assay_text_count(table[i].count, buf, sizeof buf);
        assert_string_equal(buf, table[i].want);
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void integers_are_whole_words(void **state)
{
    (void)state;
    int64_t value = 7;
    assert_int_equal(assay_text_int64("-42", &value), ASSAY_OK);
    assert_int_equal(value, -42);
    assert_int_equal(assay_text_int64("9223372036854775807", &value), ASSAY_OK);
    assert_true(value == INT64_MAX);
    static const char *const junk[] = {
        "", " 1", "1 ", "1.0", "0x10", "abc", "1k", "-", "9223372036854775808"};
    value = 7;
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        assert_int_equal(assay_text_int64(junk[i], &value), ASSAY_ERR_INVALID);
    assert_int_equal(value, 7); /* untouched by failures */
}

static void doubles_are_finite_whole_words(void **state)
{
    (void)state;
    double value = 7;
    assert_int_equal(assay_text_double("-1.5e-3", &value), ASSAY_OK);
    assert_near(value, -1.5e-3, 0);
    static const char *const junk[] = {"", " 1", "1 ", "1,5", "nan", "inf", "1e999", "x"};
    value = 7;
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        assert_int_equal(assay_text_double(junk[i], &value), ASSAY_ERR_INVALID);
    assert_near(value, 7, 0);
}

static void sizes_know_powers_of_1000_and_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } table[] = {
        {"0", 0},       {"768", 768},     {"4k", 4000},       {"4K", 4000},
        {"1.5k", 1500}, {"1.005k", 1005}, {"2M", 2000000},    {"1G", 1000000000},
        {"4Ki", 4096},  {"1KiB", 1024},   {"1.5Mi", 1572864}, {"2Gi", INT64_C(2147483648)},
        {"64B", 64},    {"1MB", 1000000}, {"1e3", 1000},      {"2T", 2000000000000},
    };
    int64_t value;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(assay_text_size(table[i].text, &value), ASSAY_OK);
        assert_int_equal(value, table[i].want);
    }
    static const char *const junk[] = {"",  "k",   "-1",  " 1",  "1 k", "1kk", "1ki",
                                       "x", "nan", "inf", "0.5", "1.5", "1e19"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        assert_int_equal(assay_text_size(junk[i], &value), ASSAY_ERR_INVALID);
}

static void durations_are_seconds_unless_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double want;
    } table[] = {{"2", 2},      {"0.5", 0.5}, {"2s", 2},    {"250ms", 0.25}, {"10us", 1e-5},
                 {"5ns", 5e-9}, {"2m", 120},  {"1min", 60}, {"1.5h", 5400},  {"0", 0}};
    double value;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(assay_text_duration(table[i].text, &value), ASSAY_OK);
        assert_near(value, table[i].want, 1e-12 * table[i].want);
    }
    static const char *const junk[] = {"", "s", "-1s", "1 s", "1d", "1S", "1ss", "nan", "1e999s"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        assert_int_equal(assay_text_duration(junk[i], &value), ASSAY_ERR_INVALID);
}

static void fractions_are_percent_or_plain(void **state)
{
    (void)state;
    double value;
    assert_int_equal(assay_text_fraction("1%", &value), ASSAY_OK);
    assert_near(value, 0.01, 1e-17);
    assert_int_equal(assay_text_fraction("0.01", &value), ASSAY_OK);
    assert_near(value, 0.01, 0);
    assert_int_equal(assay_text_fraction("0.5%", &value), ASSAY_OK);
    assert_near(value, 0.005, 1e-17);
    static const char *const junk[] = {"", "%", "-1%", "1 %", "1%%", "1pct", "nan%"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        assert_int_equal(assay_text_fraction(junk[i], &value), ASSAY_ERR_INVALID);
}

/* ---- random numbers ------------------------------------------------------------------------- */

/* The published outputs of SplitMix64 for the seeds 0 and 1234567. */
static void rng_is_splitmix64(void **state)
{
    (void)state;
    struct assay_rng zero = {0}, other = {1234567};
    assert_true(assay_rng_next(&zero) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(assay_rng_next(&zero) == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(assay_rng_next(&zero) == UINT64_C(0x06c45d188009454f));
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    for (int i = 0; i < 5; i++)
        assert_true(assay_rng_next(&other) == want[i]);
}

static void rng_at_is_the_stream_by_index(void **state)
{
    (void)state;
    struct assay_rng rng = {42};
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(assay_rng_at(42, i) == assay_rng_next(&rng));
}

static void rng_below_meets_every_value_and_no_other(void **state)
{
    (void)state;
    struct assay_rng rng = {7};
    int seen[10] = {0};
    for (int i = 0; i < 10000; i++) {
        int64_t value = assay_rng_below(&rng, 10);
        assert_in_range(value, 0, 9);
        seen[value]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 850, 1150); /* 1000 ± 5 deviations of sqrt(900) = 30 */
    assert_int_equal(assay_rng_below(&rng, 1), 0);
}

/* ---- allocation ----------------------------------------------------------------------------- */

static void allocation_is_zeroed_and_takes_nothing(void **state)
{
    (void)state;
    static const unsigned char zeros[1000];
    unsigned char *bytes = assay_calloc(10, 100);
    assert_memory_equal(bytes, zeros, 1000);
    assay_free(bytes);
    void *nothing = assay_calloc(0, 8);
    assert_non_null(nothing);
    assay_free(nothing);
    assay_free(NULL);
}

/* 2^63 * 2 is 0 in 64 bits: without the check this would be a block of one byte. */
static void allocation_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    size_t half = SIZE_MAX / 2 + 1;
    assert_null(assay_calloc(half, 2));
    assert_null(assay_realloc(NULL, half, 2));
    assert_null(assay_calloc(SIZE_MAX / 3, 4));
}

static void the_nth_allocation_and_all_after_it_fail(void **state)
{
    (void)state;
    assay_alloc_fail_after(3);
    void *one = assay_calloc(1, 1);
    char *two = assay_strdup("two");
    void *three = assay_calloc(1, 1), *four = assay_realloc(NULL, 1, 1);
    char *five = assay_strdup("five");
    assay_alloc_fail_after(0);
    assert_non_null(one);
    assert_string_equal(two, "two");
    assert_null(three);
    assert_null(four);
    assert_null(five);
    void *six = assay_calloc(1, 1);
    assert_non_null(six);
    assay_free(one);
    assay_free(two);
    assay_free(six);
}

static void a_failed_realloc_keeps_the_block(void **state)
{
    (void)state;
    char *text = assay_strdup("kept");
    assay_alloc_fail_after(1);
    assert_null(assay_realloc(text, 100, 1));
    assay_alloc_fail_after(0);
    assert_string_equal(text, "kept");
    assay_free(text);
}

static void the_clock_does_not_run_backwards(void **state)
{
    (void)state;
    int64_t before = assay_clock_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = assay_clock_ns();
        assert_true(now >= before);
        before = now;
    }
}

/* A library of the C library's that nothing else has loaded. */
static void a_library_there_is_no_room_for_is_not_missing(void **state)
{
    (void)state;
    if (HAVE_ASAN || HAVE_TSAN) /* they cannot live under a limit */
        skip();
    struct assay_error err = {0}, missing = {0};
    struct rlimit held, none;
    assert_null(assay_library_open("libassay-has-no-such.so", &missing));
    assert_int_equal(missing.code, ASSAY_UNSUPPORTED);
    getrlimit(RLIMIT_AS, &held);
    none = (struct rlimit){0, held.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    void *library = assay_library_open("libnss_compat.so.2", &err);
    setrlimit(RLIMIT_AS, &held);
    assert_null(library);
    assert_int_equal(err.code, ASSAY_ERR_NOMEM);
}

static void names_are_shown_without_control_characters(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shown, *lines;
    } names[] = {
        {"plain näme ✓", "plain näme ✓", "plain näme ✓"},
        {"a\nb\tc", "a\\nb\\tc", "a\nb\tc"},
        {"\033]0;x\a\r\b\177", "\\x1b]0;x\\x07\\x0d\\x08\\x7f", "\\x1b]0;x\\x07\\x0d\\x08\\x7f"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J", "\\xc2\\x9b2J"},
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6",
         "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6"},
        {"\xff", "\\xff", "\\xff"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct assay_text shown = {0}, lines = {0};
        assay_text_add_shown(&shown, names[i].name);
        assay_text_add_shown_lines(&lines, names[i].name);
        assert_string_equal(shown.data, names[i].shown);
        assert_string_equal(lines.data, names[i].lines);
        assay_text_fini(&shown);
        assay_text_fini(&lines);
    }
}

static void this_thread_runs(void **state)
{
    (void)state;
    long running = 0, all = 0;
    assert_true(assay_load_threads(&running, &all));
    assert_true(running >= 1);
    assert_true(all >= running);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_shown_without_control_characters),
        cmocka_unit_test(a_library_there_is_no_room_for_is_not_missing),
        cmocka_unit_test(the_first_error_wins),
        cmocka_unit_test(an_error_may_have_no_place_and_no_reader),
        cmocka_unit_test(a_long_message_is_cut_not_spilled),
        cmocka_unit_test(every_status_has_a_name_and_only_negative_ones_fail),
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(text_survives_every_failed_allocation),
        cmocka_unit_test(same_ignores_case_but_not_length),
        cmocka_unit_test(nearest_name_is_the_fewest_edits_away),
        cmocka_unit_test(nearest_name_takes_words_of_any_length),
        cmocka_unit_test(times_have_three_digits_in_the_fitting_unit),
        cmocka_unit_test(bytes_have_one_decimal_in_powers_of_1000),
        cmocka_unit_test(counts_have_two_decimals_and_a_prefix),
        cmocka_unit_test(integers_are_whole_words),
        cmocka_unit_test(doubles_are_finite_whole_words),
        cmocka_unit_test(sizes_know_powers_of_1000_and_1024),
        cmocka_unit_test(durations_are_seconds_unless_they_say),
        cmocka_unit_test(fractions_are_percent_or_plain),
        cmocka_unit_test(rng_is_splitmix64),
        cmocka_unit_test(rng_at_is_the_stream_by_index),
        cmocka_unit_test(rng_below_meets_every_value_and_no_other),
        cmocka_unit_test(allocation_is_zeroed_and_takes_nothing),
        cmocka_unit_test(allocation_refuses_sizes_that_overflow),
        cmocka_unit_test(the_nth_allocation_and_all_after_it_fail),
        cmocka_unit_test(a_failed_realloc_keeps_the_block),
        cmocka_unit_test(the_clock_does_not_run_backwards),
        cmocka_unit_test(this_thread_runs),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
