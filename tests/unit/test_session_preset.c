/* test_session_preset.c: presets through assay.h: their results are cases of the session. */
#include "unit.h"

#include "device/ceiling.h"
#include "device/cpu/cpu_info.h"
#include <assay/assay.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct assay_error err;

static assay_session *open_session(int64_t iters)
{
    assay_session *session = NULL;
    struct assay_session_options options;
    assay_session_options_init(&options);
    options.threads = 1;
    options.iters = iters;
    options.precision = iters ? 0 : 0.4;
    options.budget_s = 0.02;
    err = (struct assay_error){0};
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_OK);
    return session;
}

static const char *const tiny[] = {"batch=1", "seq_len=4", "embed_dim=16", "hidden_dim=8",
                                   "num_heads=2"};

static void a_preset_gives_cases(void **state)
{
    (void)state;
    assay_session *session = open_session(5);
    assert_int_equal(assay_session_run_preset(session, "mlp", tiny, 4, &err), ASSAY_OK);
    assert_int_equal(assay_session_case_count(session), 2);
    const struct assay_case_result *r = assay_session_case(session, 1);
    assert_string_equal(r->name, "mlp_swiglu");
    assert_string_equal(r->status, "ok");
    assert_string_equal(r->device, "cpu");
    assert_string_equal(r->dtype, "float32");
    assert_int_equal(r->samples, 5);
    assert_int_equal(r->warmup, 8);
    assert_true(r->latency_ms > 0 && r->median_lo_ms <= r->median_hi_ms);
    assert_near(r->macs, 3 * 4 * 16 * 8, 0);
    assert_near(r->flops, 6 * 4 * 8, 0);
    assert_near(r->macs_rate * r->latency_ms / 1000, r->macs, 1e-6 * r->macs);
    assert_int_equal(r->n_metadata, 4);
    assert_string_equal(r->metadata[0].key, "batch_size");
    assert_string_equal(r->metadata[3].key, "hidden_dim");
    assert_near(r->metadata[3].number, 8, 0);
    assert_true(r->peak_vram_mb >= r->idle_vram_mb && r->idle_vram_mb > 0);
    assay_session_close(session);
}

static void one_case_and_a_sweep(void **state)
{
    (void)state;
    static const char *const sweep[] = {"batch=1,2", "seq_len=4", "embed_dim=8"};
    assay_session *session = open_session(0);
    assert_int_equal(assay_session_run_preset(session, "rms_norm", sweep, 3, &err), ASSAY_OK);
    assert_int_equal(assay_session_case_count(session), 2);
    const struct assay_case_result *r = assay_session_case(session, 1);
    assert_string_equal(r->name, "rms_norm");
    assert_near(r->metadata[0].number, 2, 0);
    assert_true(isnan(r->macs) && isnan(r->macs_rate));
    assert_near(r->flops, 4 * 2 * 4 * 8, 0);
    assay_session_close(session);
}

static void a_case_by_the_name_it_has_then(void **state)
{
    (void)state;
    static const char *const sets[] = {"batch_size=1", "seq_len=4", "embed_dim=8", "hidden_dim=8",
                                       "activation=relu"};
    assay_session *session = open_session(3);
    assert_int_equal(assay_session_run_preset(session, "mlp_gelu", sets, 5, &err), ASSAY_OK);
    assert_int_equal(assay_session_case_count(session), 1);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_string_equal(r->name, "mlp_relu");
    assert_string_equal(r->metadata[r->n_metadata - 1].key, "activation");
    assert_string_equal(r->metadata[r->n_metadata - 1].text, "relu");
    assay_session_close(session);
}

static void what_makes_no_sense(void **state)
{
    (void)state;
    assay_session *session = open_session(5);
    const char *bad = "seq_lne=4";
    assert_int_equal(assay_session_run_preset(session, "atn", NULL, 0, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"attn\"?"));
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run_preset(session, "attn", &bad, 1, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"seq_len\"?"));
    bad = NULL;
    assert_int_equal(assay_session_run_preset(session, "attn", &bad, 1, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_run_preset(session, "attn", NULL, 1, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_run_preset(session, NULL, NULL, 0, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_run_preset(NULL, "attn", NULL, 0, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_case_count(session), 0);
    assay_session_close(session);
}

/* Ceilings that nothing reaches, in a private folder, so that this machine is not measured. */
static int make_ceilings(void **state)
{
    static char folder[] = "/tmp/assay-session-preset-XXXXXX";
    struct assay_ceilings c = {
        .threads = 1,
        .n_levels = 1,
        .levels = {{"memory", SIZE_MAX}},
        .n_points = 1,
        .points = {{1 << 20, {1e15, 1e15, 1e15, 1e15}}},
        .flops = {1e18, 1e18, 1e18, 1e18, 1e18},
        .clock_hz = 3e9,
        .timer_ns = 20,
        .floor_ns = 20,
        .measured_at = 1700000000,
    };
    snprintf(c.device, sizeof c.device, "%s", assay_cpu_info()->model);
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0)
        return -1;
    *state = folder;
    return assay_ceilings_save(&c, &err) == ASSAY_OK ? 0 : -1;
}

static int remove_ceilings(void **state)
{
    char path[128];
    snprintf(path, sizeof path, "%s/assay", (const char *)*state);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0); /* those that are folders stay */
    if (folder)
        closedir(folder);
    return rmdir(path) == 0 && rmdir(*state) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preset_gives_cases),
        cmocka_unit_test(one_case_and_a_sweep),
        cmocka_unit_test(a_case_by_the_name_it_has_then),
        cmocka_unit_test(what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, make_ceilings, remove_ceilings);
}
