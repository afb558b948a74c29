/* model_bed.h: a model as a whole group on the CPU, for tests. */
#ifndef ASSAY_TESTS_MODEL_BED_H
#define ASSAY_TESTS_MODEL_BED_H

#include "unit.h"

#include "bench/group.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RECORDS = 64 };

struct bed {
    struct assay_bench bench;
    struct assay_job job;
    struct assay_record records[MAX_RECORDS];
    int64_t n;
};

static inline void on_record(void *user, const struct assay_record *record)
{
    struct bed *bed = user;
    assert_true(bed->n < MAX_RECORDS);
    bed->records[bed->n++] = *record;
}

static inline void make_bed(struct bed *bed, const char *model, enum assay_dtype dtype, int64_t m,
                            int64_t k, int64_t n)
{
    const struct assay_device_driver *driver;
    int32_t index;
    *bed = (struct bed){
        .job = {.group = {.dtype = dtype, .n_axes = 3, .axes = {m, k, n}, .compile = "default"},
                .settings = {.device = "cpu",
                             .threads = 2,
                             .hot = true,
                             .precision = 0.5,
                             .budget_s = 1,
                             .timeout_s = 60,
                             .warmup = 1,
                             .rounds = 3,
                             .seed = 42}},
    };
    snprintf(bed->job.group.op, sizeof bed->job.group.op, "model:%s", model);
    assert_int_equal(assay_device_parse("cpu", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, index, 2, &bed->bench.host.device, NULL), ASSAY_OK);
    bed->bench.host.registry = assay_kernel_registry_create();
}

static inline void clear_bed(struct bed *bed)
{
    assay_settings_fini(&bed->job.settings);
    assay_device_close(bed->bench.host.device);
    assay_kernel_registry_destroy(bed->bench.host.registry);
}

static inline void measure(struct bed *bed, const char *recipes)
{
    struct assay_error err = {0};
    struct assay_group_hooks hooks = {.user = bed, .record = on_record};
    assert_int_equal(assay_strings_split(&bed->job.settings.recipes, recipes), ASSAY_OK);
    enum assay_status status = assay_group_run(&bed->bench, &bed->job, &hooks, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, ASSAY_OK);
}

#endif
