/* fuzz_options.c: the input's lines are the words after `assay bench`. What reads becomes a plan,
 * and a plan that was made survives being written and read. */
#include "config/bench_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 64, MOST_BYTES = 1024 };

static void say_nothing(const char *text) { (void)text; }

static void check_plan(const struct assay_plan *plan)
{
    struct assay_plan back;
    if (plan->n_groups < 1 || plan->n_groups > 100000)
        abort();
    if (plan->n_groups > 1000) /* only slower */
        return;
    assay_json *json = assay_plan_to_json(plan);
    if (assay_plan_from_json(json, &back, NULL) != ASSAY_OK || back.n_groups != plan->n_groups)
        abort();
    if (memcmp(plan->groups, back.groups, (size_t)plan->n_groups * sizeof *back.groups) != 0)
        abort();
    assay_json_free(json);
    assay_plan_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MOST_BYTES + 1];
    char *words[MOST_WORDS];
    int n = 0;
    struct assay_bench_config config;
    struct assay_plan plan;
    struct assay_error err = {0};
    if (size > MOST_BYTES)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at && n < MOST_WORDS; n++) {
        words[n] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = '\0';
    }
    assay_bench_config_init(&config);
    enum assay_status status = assay_options_parse(&assay_bench_options, n, words, &config, &err);
    if (status == ASSAY_OK) {
        status = assay_bench_plan(&config, &plan, say_nothing, &err);
        if (status == ASSAY_OK)
            check_plan(&plan);
        assay_plan_fini(&plan);
    }
    if (status != err.code || (status != ASSAY_OK && !err.message[0]))
        abort();
    assay_bench_config_fini(&config);
    return 0;
}
