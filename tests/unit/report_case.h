/* report_case.h: what the tests of reports share: records to report on, running a format, golden
 * files (ASSAY_UPDATE_GOLDEN=1 rewrites them; look at the diff), widths of lines and CSV fields. */
#ifndef ASSAY_TESTS_REPORT_CASE_H
#define ASSAY_TESTS_REPORT_CASE_H

#include "unit.h"

#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static inline struct assay_record plain_record(int64_t group, int64_t variant, const char *op,
                                               const char *title, const char *implementation)
{
    struct assay_record r = {
        .group = group,
        .variant = variant,
        .device = "cpu",
        .dtype = ASSAY_DTYPE_F32,
        .n_axes = 3,
        .axis_names = {"batch", "seq", "dim"},
        .axes = {32, 512, 768},
        .threads = 2,
        .seed = 42,
        .baseline = "onednn",
        .bytes_read = 50337792,
        .bytes_written = 50331648,
        .flops = 8e7,
        .macs = (double)NAN,
        .counted_flops = (double)NAN,
        .memory_bytes = 100669440,
        .idle_bytes = 50337792,
        .peak_bytes = 50337792 + 50331648 + 8388608,
        .workspace_bytes = 8388608,
        .system_peak_bytes = 167772160,
        .setup_ns = 1250,
        .floor_ns = 24,
        .accuracy_db = (double)NAN,
        .more_accuracy_db = {(double)NAN, (double)NAN},
        .saved_bytes = (double)NAN,
        .planned_bytes = (double)NAN,
        .activation_share = (double)NAN,
        .verification = {.done = true,
                         .compared = 1024 * 768,
                         .of = 12582912,
                         .max_abs = 3.1e-7,
                         .max_rel = 2.2e-6,
                         .rms = 4.4e-8,
                         .sqnr_db = 142.25,
                         .tolerance_relative = 1e-5,
                         .tolerance_absolute = 1e-6,
                         .times = 3},
    };
    snprintf(r.op, sizeof r.op, "%s", op);
    snprintf(r.title, sizeof r.title, "%s", title);
    snprintf(r.implementation, sizeof r.implementation, "%s", implementation);
    snprintf(r.kernel, sizeof r.kernel, "%.30s_%.31s", op, implementation);
    return r;
}

/* A measurement around this median, with an interval of ± frac. */
static inline struct assay_measurement around(double median_ns, double frac)
{
    struct assay_measurement m = {
        .measured = true,
        .iters = 8,
        .time = {.n = 120,
                 .mean = median_ns * 1.01,
                 .std = median_ns * 0.02,
                 .min = median_ns * 0.98,
                 .max = median_ns * 1.2,
                 .median = median_ns,
                 .q1 = median_ns * 0.995,
                 .q3 = median_ns * 1.005,
                 .iqr = median_ns * 0.01,
                 .p5 = median_ns * 0.985,
                 .p95 = median_ns * 1.05,
                 .p99 = median_ns * 1.15,
                 .outliers = 3,
                 .median_ci = {median_ns * (1 - frac), median_ns * (1 + frac)},
                 .median_ci_frac = frac},
        .precise = true,
        .bytes_per_s = 100669440 / (median_ns * 1e-9),
        .flops_per_s = 8e7 / (median_ns * 1e-9),
        .ceiling_ns = 1.64e6,
        .bound = "memory",
        .efficiency = 1.64e6 / median_ns,
        .efficiency_ci = {1.64e6 / median_ns * fmax(1 - frac / 2, 0),
                          1.64e6 / median_ns * (1 + frac)},
        .ceiling_rounds = 31,
        .machine_frac = 0.98,
        .disturbed = 1,
        .context_switches = 1,
        .clock_hz = 2.9e9,
    };
    return m;
}

static inline struct assay_measurement against(struct assay_measurement m, double ratio,
                                               double frac, bool significant)
{
    m.has_ratio = true;
    m.ratio = (struct assay_ratio){.n = 120,
                                   .ratio = ratio,
                                   .ci = {ratio * (1 - frac), ratio * (1 + frac)},
                                   .ci_frac = frac,
                                   .significant = significant,
                                   .smallest_visible = frac * 1.4};
    return m;
}

static inline struct assay_measurement no_ceiling(struct assay_measurement m)
{
    m.ceiling_ns = m.efficiency = m.machine_frac = 0;
    m.efficiency_ci = (struct assay_interval){0};
    m.ceiling_rounds = 0;
    m.bound[0] = '\0';
    return m;
}

/* The share of its best that the machine reached meanwhile. */
static inline struct assay_measurement at_speed(struct assay_measurement m, double frac)
{
    m.machine_frac = frac;
    return m;
}

/* This many samples of 120 were disturbed, in one way or two. */
static inline struct assay_measurement disturbed(struct assay_measurement m, int64_t waited,
                                                 int64_t stolen, int64_t in_all)
{
    m.waited = waited;
    m.stolen = stolen;
    m.disturbed = in_all;
    return m;
}

/* With samples that scatter around the median, now and then a disturbed one. */
static inline struct assay_measurement sampled(struct assay_measurement m, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double part = (double)((i * 37 + i * i * 11) % 97) / 96; /* 0 … 1, in no order */
        bool hit = i % 19 == 7;
        double ns = m.time.median * (0.99 + 0.02 * part * part + (hit ? 0.01 * (double)i : 0));
        assay_samples_offer(&m.samples, n, i, ns, hit || i % 23 == 5);
    }
    m.time.n = n;
    return m;
}

static inline struct assay_measurement fastest(struct assay_measurement m)
{
    m.fastest = true;
    return m;
}

static inline struct assay_record failing(struct assay_record r, enum assay_outcome outcome,
                                          const char *reason)
{
    r.outcome = outcome;
    r.verification = (struct assay_verification){0};
    r.idle_bytes = r.peak_bytes = r.workspace_bytes = r.system_peak_bytes = (double)NAN;
    snprintf(r.reason, sizeof r.reason, "%s", reason);
    return r;
}

enum { HOT = ASSAY_CACHE_HOT, COLD = ASSAY_CACHE_COLD, MOST = 8 };

struct group {
    int64_t n;
    struct assay_record records[MOST];
};

static const struct assay_run_info a_run = {
    .id = "20261115-034711-a1b2",
    .version = "0.1.0",
    .command = "assay bench --op layernorm,gelu \"--quoted\"",
    .started = "2026-11-15T03:47:11Z",
    .host_os = "Linux 6.1",
    .device = "cpu",
    .device_name = "Intel(R) Xeon(R) Processor",
    .isa = "avx2 avx512f",
    .threads = 2,
    .hot = true,
    .cold = true,
    .precision = 0.01,
    .copy_bytes_per_s = 40.94e9,
    .groups = 3,
    .cpu_name = "Intel(R) Xeon(R) Processor",
};

static inline void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static const struct assay_report_format *format_named(const char *name)
{
    const struct assay_report_format *format = NULL;
    assert_int_equal(assay_report_find(name, &format, NULL), ASSAY_OK);
    return format;
}

static inline void report_groups(const char *format, const struct assay_report_style *style,
                                 const struct assay_run_info *run, const struct group *groups,
                                 int n, struct assay_text *out)
{
    struct assay_sink sink = {out, write_text, NULL};
    assay_report *report = assay_report_create(format_named(format), &sink, style);
    assert_non_null(report);
    assay_report_begin(report, run);
    for (int i = 0; i < n; i++)
        assay_report_group(report, groups[i].records, groups[i].n);
    assay_report_end(report);
    assay_report_destroy(report);
    assert_false(out->failed);
}

static inline void update_golden(const char *path, const struct assay_text *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->length, file), text->length);
    fclose(file);
}

static inline struct assay_text read_file(const char *path)
{
    struct assay_text text = {0};
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is missing; ASSAY_UPDATE_GOLDEN=1 makes it", path);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        assay_text_append(&text, block, n);
    fclose(file);
    return text;
}

/* Which line differs says more than two long strings. */
static inline void assert_same_lines(const char *path, const char *got, const char *want)
{
    assert_non_null(want);
    for (int line = 1; *got || *want; line++) {
        size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
        if (g != w || memcmp(got, want, g) != 0)
            fail_msg("%s:%d:\n  want: %.*s\n  got:  %.*s", path, line, (int)w, want, (int)g, got);
        got += g + (got[g] == '\n');
        want += w + (want[w] == '\n');
    }
}

static inline void check_golden(const char *name, struct assay_text got)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/report.%s", ASSAY_SOURCE_DIR, name);
    if (getenv("ASSAY_UPDATE_GOLDEN"))
        update_golden(path, &got);
    struct assay_text want = read_file(path);
    assert_same_lines(path, got.data, want.data);
    assert_int_equal(got.length, want.length);
    assay_text_fini(&want);
    assay_text_fini(&got);
}

static const struct assay_report_style usual_style = {.width = 100};

/* Columns as the C library counts them, but for ASCII's, colours left out: not our own counting. */
static inline int columns_of_line(const char *line, size_t length)
{
    int columns = 0;
    mbstate_t shift = {0};
    for (size_t i = 0; i < length;) {
        if (line[i] == '\033') {
            i += strcspn(line + i, "m") + 1;
            continue;
        }
        if (line[i] >= ' ' && line[i] <= '~') {
            columns++;
            i++;
            continue;
        }
        wchar_t c;
        size_t n = mbrtowc(&c, line + i, length - i, &shift);
        assert_true(n > 0 && n <= 4);
        assert_true(wcwidth(c) >= 0);
        columns += wcwidth(c);
        i += n;
    }
    return columns;
}

static inline void assert_no_wider(const struct assay_text *text, int width)
{
    for (const char *line = text->data; *line;) {
        size_t length = strcspn(line, "\n");
        int columns = columns_of_line(line, length);
        if (columns > width)
            fail_msg("%d columns of %d: %.*s", columns, width, (int)length, line);
        assert_true(length == 0 || line[length - 1] != ' ');
        line += length + (line[length] == '\n');
    }
}

/* Splits as RFC 4180 says; the number of fields of one record, and where it ends. */
static inline int csv_fields(const char **at)
{
    int fields = 1;
    bool quoted = false;
    for (; **at && (quoted || **at != '\n'); ++*at) {
        if (**at == '"')
            quoted = !quoted;
        else if (**at == ',' && !quoted)
            fields++;
    }
    assert_false(quoted);
    *at += **at == '\n';
    return fields;
}

#endif
