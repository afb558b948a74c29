/* fuzz_config.c: the input is a configuration. Whatever is YAML becomes JSON; what is a
 * configuration becomes a plan, and the plan survives being written and read. Models described in
 * it stay out: they would be known to all inputs that follow. */
#include "base/json.h"
#include "config/run_plan.h"
#include "config/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void say_nothing(const char *text) { (void)text; }

static bool describes_a_model(const struct assay_yaml *node)
{
    if (assay_yaml_get(node, "nodes") || assay_yaml_get(node, "model"))
        return true;
    for (const struct assay_yaml *at = node->first; at; at = at->next)
        if (describes_a_model(at))
            return true;
    return false;
}

/* Every node of a tree can be asked everything. */
static void ask(const struct assay_yaml *node)
{
    bool truth;
    int64_t number;
    assay_yaml_is_null(node);
    assay_yaml_bool(node, &truth);
    assay_yaml_int(node, &number);
    if (node->line < 1 || node->column < 1 || (node->kind == ASSAY_YAML_SCALAR) != !!node->text)
        abort();
    assay_yaml_at(node, "nodes[1].features");
    for (const struct assay_yaml *at = node->first; at; at = at->next) {
        if ((node->kind == ASSAY_YAML_MAP) != (at->key != NULL))
            abort();
        ask(at);
    }
}

static void check_plan(const struct assay_plan *plan)
{
    struct assay_plan back;
    if (plan->n_groups < 1 || plan->n_groups > 100000)
        abort();
    if (plan->n_groups > 200) /* only slower */
        return;
    assay_json *json = assay_plan_to_json(plan);
    if (assay_plan_from_json(json, &back, NULL) != ASSAY_OK || back.n_groups != plan->n_groups)
        abort();
    if (memcmp(plan->groups, back.groups, (size_t)plan->n_groups * sizeof *back.groups) != 0)
        abort();
    assay_json_free(json);
    assay_plan_fini(&back);
}

static void make_plan(const char *text, size_t size, bool lenient)
{
    struct assay_run_options options;
    struct assay_run_config config;
    struct assay_plan plan = {0};
    struct assay_error err = {0};
    assay_run_options_init(&options);
    enum assay_status status = assay_run_config_parse(text, size, "fuzz", lenient, &config, &err);
    if (status == ASSAY_OK)
        status = assay_run_plan(&options, &config, &plan, say_nothing, &err);
    if (status == ASSAY_OK)
        check_plan(&plan);
    if (status != err.code || (status != ASSAY_OK && !err.message[0]))
        abort();
    assay_plan_fini(&plan);
    assay_run_config_fini(&config);
    assay_run_options_fini(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_yaml *root = NULL;
    struct assay_error err = {0};
    const char *text = (const char *)data;
    if (assay_yaml_parse(text, size, "fuzz", &root, &err) != err.code)
        abort();
    if (root) {
        ask(root);
        assay_json_free(assay_yaml_to_json(root));
    }
    for (int lenient = 0; lenient < 2 && (!root || !describes_a_model(root)); lenient++)
        make_plan(text, size, lenient);
    assay_yaml_destroy(root);
    return 0;
}
