/* preset_file.c: presets from YAML. A case has those parameters of its own and of the file that it
 * uses, because a sweep over one that it does not use would measure the same again. */
#include "config/preset_file.h"

#include "base/alloc.h"
#include "config/run_reading.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_CASES = 32,
    MOST_NAME = 28,      /* of a preset or a case: a model described here has both in its name */
    MOST_PARAMETER = 15, /* as long as the name of a record's axis may be */
    MOST_SHARED = 32,    /* parameters of the file */
};

/* A file on its way in. */
struct reader {
    struct assay_reading reading; /* for its errors */
    struct assay_preset_file *out;
    const struct assay_yaml *shared[MOST_SHARED]; /* parameters of the file, in its order */
    bool used[MOST_SHARED];
    int64_t n_shared;
    int64_t n_cases;
};

bool assay_preset_file_is(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strchr(name, '/') || (dot && (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0));
}

/* ---- small things --------------------------------------------------------------------------- */

/* A text that lives as long as the preset. */
static const char *keep(struct reader *r, const char *text)
{
    struct assay_strings *texts = &r->out->texts;
    return assay_strings_add(texts, text) == ASSAY_OK ? texts->items[texts->n - 1] : NULL;
}

/* A name of a preset or of a case, kept. */
static enum assay_status read_name(struct reader *r, const struct assay_yaml *node,
                                   const char **out)
{
    if (node->kind != ASSAY_YAML_SCALAR || !node->text[0])
        return assay_reading_wrong_type(&r->reading, node->key, node, "a name");
    if (strlen(node->text) > MOST_NAME || strpbrk(node->text, " /="))
        return assay_reading_fail(&r->reading, assay_place_of(node),
                                  "a name has at most %d letters, and no blank, / or =", MOST_NAME);
    *out = keep(r, node->text);
    return *out ? ASSAY_OK : assay_reading_no_memory(&r->reading);
}

/* ---- parameters ----------------------------------------------------------------------------- */

static enum assay_status check_parameter(struct reader *r, const struct assay_yaml *node)
{
    int64_t value;
    if (!assay_expression_is_name(node->key) || strlen(node->key) > MOST_PARAMETER)
        return assay_reading_fail(
            &r->reading, assay_place_of_key(node),
            "\"%.60s\" cannot be the name of a parameter: letters, digits and _, %d "
            "at the most",
            node->key, MOST_PARAMETER);
    if (!assay_yaml_int(node, &value) || value < 0)
        return assay_reading_wrong_type(&r->reading, node->key, node,
                                        "its default, a whole number of at least 0");
    return ASSAY_OK;
}

static enum assay_status check_parameters(struct reader *r, const struct assay_yaml *map)
{
    enum assay_status status = ASSAY_OK;
    if (map && map->kind != ASSAY_YAML_MAP)
        return assay_reading_wrong_type(&r->reading, map->key, map,
                                        "a mapping of names to defaults");
    for (const struct assay_yaml *at = map ? map->first : NULL; at && status == ASSAY_OK;
         at = at->next)
        status = check_parameter(r, at);
    return status;
}

static enum assay_status read_shared(struct reader *r, const struct assay_yaml *map)
{
    enum assay_status status = check_parameters(r, map);
    for (const struct assay_yaml *at = map ? map->first : NULL; at && status == ASSAY_OK;
         at = at->next) {
        if (r->n_shared == MOST_SHARED)
            return assay_reading_fail(&r->reading, assay_place_of_key(at),
                                      "more than %d parameters", MOST_SHARED);
        r->shared[r->n_shared++] = at;
    }
    return status;
}

/* Does this name stand in any value below the node? */
static bool mentions(const struct assay_yaml *node, const char *name)
{
    if (!node)
        return false;
    if (node->kind == ASSAY_YAML_SCALAR)
        return assay_expression_names(node->text, name);
    for (const struct assay_yaml *at = node->first; at; at = at->next)
        if (mentions(at, name))
            return true;
    return false;
}

/* Is it a size of the model that nothing else is said of? */
static bool is_axis(const struct assay_op *op, const struct assay_yaml *sizes, const char *name)
{
    for (int32_t i = 0; op && i < assay_op_axes(op); i++)
        if (strcmp(op->axis_names[i], name) == 0)
            return !assay_yaml_get(sizes, name);
    return false;
}

/* A case on its way in. */
struct draft {
    const struct assay_yaml *node, *model, *sizes, *parameters, *macs, *flops;
    const struct assay_op *op; /* of a model that is named; NULL: described */
    struct assay_preset_case *c;
};

static bool uses(const struct draft *d, const char *name)
{
    return mentions(d->macs, name) || mentions(d->flops, name) || mentions(d->sizes, name) ||
           (d->op ? is_axis(d->op, d->sizes, name) : mentions(d->model, name));
}

static enum assay_status add_parameter(struct reader *r, struct draft *d,
                                       const struct assay_yaml *node)
{
    int64_t n = assay_preset_case_parameters(d->c), most = ASSAY_PRESET_PARAMETERS - 1, value;
    if (!d->op)
        most = ASSAY_MAX_AXES; /* they are the model's axes */
    if (n >= most)
        return assay_reading_fail(&r->reading, assay_place_of(d->node),
                                  "this case has more than %lld parameters", (long long)most);
    assay_yaml_int(node, &value);
    d->c->parameters[n] = (struct assay_preset_parameter){keep(r, node->key), value};
    d->c->zeros |= value == 0 ? 1u << n : 0;
    return d->c->parameters[n].name ? ASSAY_OK : assay_reading_no_memory(&r->reading);
}

/* Those of the file that the case uses, with its own defaults, then its own. */
static enum assay_status read_parameters(struct reader *r, struct draft *d)
{
    enum assay_status status = check_parameters(r, d->parameters);
    for (int64_t i = 0; i < r->n_shared && status == ASSAY_OK; i++) {
        const struct assay_yaml *own = assay_yaml_get(d->parameters, r->shared[i]->key);
        if (!uses(d, r->shared[i]->key))
            continue;
        r->used[i] = true;
        status = add_parameter(r, d, own ? own : r->shared[i]);
    }
    for (const struct assay_yaml *at = d->parameters ? d->parameters->first : NULL;
         at && status == ASSAY_OK; at = at->next) {
        if (!uses(d, at->key))
            return assay_reading_fail(&r->reading, assay_place_of_key(at),
                                      "nothing in this case uses the parameter \"%s\"", at->key);
        if (assay_preset_case_parameter(d->c, at->key) < 0)
            status = add_parameter(r, d, at);
    }
    return status;
}

/* ---- models --------------------------------------------------------------------------------- */

static enum assay_status find_model(struct reader *r, struct draft *d)
{
    const struct assay_model *model;
    struct assay_error why = {0};
    char op[64];
    if (d->model->kind != ASSAY_YAML_SCALAR)
        return d->model->kind == ASSAY_YAML_MAP
                   ? ASSAY_OK
                   : assay_reading_wrong_type(&r->reading, "model", d->model,
                                              "a model's name, or a mapping with inputs and nodes");
    enum assay_status status = assay_model_find(d->model->text, &model, &why);
    if (status != ASSAY_OK)
        return assay_reading_pass_on(&r->reading, d->model, status, &why, NULL);
    snprintf(op, sizeof op, ASSAY_MODEL_PREFIX "%s", model->name);
    d->op = assay_model_op(op);
    d->c->model = keep(r, model->name);
    return d->op && d->c->model ? ASSAY_OK : assay_reading_no_memory(&r->reading);
}

static enum assay_status read_sizes(struct reader *r, struct draft *d)
{
    const char *axes[ASSAY_MAX_AXES + 1] = {0};
    int32_t n = d->op ? assay_op_axes(d->op) : 0;
    if (d->sizes && !d->op)
        return assay_reading_fail(&r->reading, assay_place_of_key(d->sizes),
                                  "sizes belong to a model that is named; one that is described "
                                  "here has them in its nodes");
    if (d->sizes && d->sizes->kind != ASSAY_YAML_MAP)
        return assay_reading_wrong_type(&r->reading, "sizes", d->sizes,
                                        "a mapping of the model's sizes to expressions");
    for (int32_t i = 0; i < n; i++)
        axes[i] = d->op->axis_names[i];
    enum assay_status status =
        d->sizes ? assay_reading_keys(&r->reading, d->sizes, "this model", axes) : ASSAY_OK;
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++) {
        const struct assay_yaml *size = assay_yaml_get(d->sizes, axes[i]);
        if (!size && assay_preset_case_parameter(d->c, axes[i]) < 0)
            return assay_reading_fail(&r->reading, assay_place_of(d->model),
                                      "model %s needs a size %s: a parameter of this name, or "
                                      "`sizes: {%s: …}`",
                                      d->c->model, axes[i], axes[i]);
        if (size && size->kind != ASSAY_YAML_SCALAR)
            return assay_reading_wrong_type(&r->reading, axes[i], size, "an expression");
        if (size && !(d->c->sizes[i] = keep(r, size->text)))
            return assay_reading_no_memory(&r->reading);
    }
    return status;
}

/* An error of the models in a description, with the line of what it is about: "nodes[3].features".
 */
static enum assay_status bad_description(struct reader *r, const struct draft *d,
                                         enum assay_status status, const struct assay_error *why)
{
    if (status == ASSAY_ERR_NOMEM)
        return assay_reading_no_memory(&r->reading);
    return assay_reading_fail(&r->reading, assay_place_of(assay_yaml_at(d->model, why->where)),
                              "%s%s%.400s", why->where, why->where[0] ? ": " : "", why->message);
}

/* The description as the models take it: with a name, and with what its sizes speak of. */
static assay_json *description(const struct draft *d)
{
    assay_json *json = assay_yaml_to_json(d->model), *parameters = assay_json_object();
    for (int64_t i = 0; i < assay_preset_case_parameters(d->c); i++)
        assay_json_put_int(parameters, d->c->parameters[i].name, d->c->parameters[i].value);
    assay_json_put_string(json, "name", d->c->model);
    assay_json_put(json, "parameters", parameters);
    return json;
}

static enum assay_status describe_model(struct reader *r, struct draft *d)
{
    static const char *const keys[] = {"inputs", "nodes", NULL};
    struct assay_error why = {0};
    struct assay_text text = {0};
    char name[64];
    const struct assay_yaml *own = assay_yaml_get(d->model, "name");
    if (own)
        return assay_reading_fail(
            &r->reading, assay_place_of_key(own),
            "a model of a preset has the name of its case, and none of its own");
    enum assay_status status =
        assay_reading_keys(&r->reading, d->model, "a model of a preset", keys);
    if (status != ASSAY_OK)
        return status;
    snprintf(name, sizeof name, "%s.%s", r->out->preset.name, d->c->name);
    d->c->model = keep(r, name);
    assay_json *json = d->c->model ? description(d) : NULL;
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    status = !json || text.failed ? ASSAY_ERR_NOMEM : assay_model_add(text.data, &why);
    if (status == ASSAY_OK)
        status = assay_strings_add(&r->out->models, text.data);
    if (status != ASSAY_OK)
        status = bad_description(r, d, status, &why);
    assay_text_fini(&text);
    return status;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static enum assay_status read_counter(struct reader *r, const struct draft *d,
                                      const struct assay_yaml *node, const char **out)
{
    struct assay_variable variables[ASSAY_PRESET_PARAMETERS];
    struct assay_error why = {0};
    int64_t n = assay_preset_case_parameters(d->c);
    double value;
    if (!node)
        return ASSAY_OK;
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(&r->reading, node->key, node, "an expression");
    for (int64_t i = 0; i < n; i++)
        variables[i] =
            (struct assay_variable){d->c->parameters[i].name, (double)d->c->parameters[i].value};
    if (assay_expression_value(node->text, variables, n, &value, &why) != ASSAY_OK)
        return assay_reading_fail(&r->reading, assay_place_of(node), "%s: %.400s", node->key,
                                  why.message);
    *out = keep(r, node->text);
    return *out ? ASSAY_OK : assay_reading_no_memory(&r->reading);
}

/* With its defaults it must be something that can be measured. */
static enum assay_status try_case(struct reader *r, const struct draft *d)
{
    struct assay_preset_problem problem;
    struct assay_error why = {0};
    int64_t values[ASSAY_PRESET_PARAMETERS];
    for (int64_t i = 0; i < assay_preset_case_parameters(d->c); i++)
        values[i] = d->c->parameters[i].value;
    if (assay_preset_case_problem(d->c, values, ASSAY_DTYPE_F32, &problem, &why) == ASSAY_OK)
        return ASSAY_OK;
    return assay_reading_fail(&r->reading, assay_place_of(d->node), "%s%s%.400s", why.where,
                              why.where[0] ? ": " : "", why.message);
}

static enum assay_status settle_case_name(struct reader *r, struct draft *d)
{
    const struct assay_yaml *name = assay_yaml_get(d->node, "name");
    enum assay_status status = ASSAY_OK;
    d->c->name = r->out->preset.name; /* of a case without one: there is only one then */
    if (name)
        status = read_name(r, name, &d->c->name);
    for (int64_t i = 0; i < r->n_cases && status == ASSAY_OK; i++)
        if (strcmp(r->out->cases[i].name, d->c->name) == 0)
            return assay_reading_fail(&r->reading, assay_place_of(name ? name : d->node),
                                      "two cases are named \"%s\"; each needs a name of its own",
                                      d->c->name);
    return status;
}

static enum assay_status read_case(struct reader *r, const struct assay_yaml *node)
{
    static const char *const keys[] = {"name", "model", "parameters", "sizes",
                                       "macs", "flops", NULL};
    if (node->kind != ASSAY_YAML_MAP)
        return assay_reading_wrong_type(&r->reading, "cases", node, "a mapping, or a list of them");
    if (r->n_cases == MOST_CASES)
        return assay_reading_fail(&r->reading, assay_place_of(node), "more than %d cases",
                                  MOST_CASES);
    struct draft d = {
        .node = node,
        .model = assay_yaml_get(node, "model"),
        .sizes = assay_yaml_get(node, "sizes"),
        .parameters = assay_yaml_get(node, "parameters"),
        .macs = assay_yaml_get(node, "macs"),
        .flops = assay_yaml_get(node, "flops"),
        .c = &r->out->cases[r->n_cases],
    };
    enum assay_status status = assay_reading_keys(&r->reading, node, "a case", keys);
    if (status != ASSAY_OK)
        return status;
    if (!d.model)
        return assay_reading_fail(&r->reading, assay_place_of(node), "this case has no model");
    status = settle_case_name(r, &d);
    if (status == ASSAY_OK)
        status = find_model(r, &d);
    if (status == ASSAY_OK)
        status = read_parameters(r, &d);
    if (status == ASSAY_OK)
        status = read_counter(r, &d, d.macs, &d.c->macs);
    if (status == ASSAY_OK)
        status = read_counter(r, &d, d.flops, &d.c->flops);
    if (status == ASSAY_OK)
        status = read_sizes(r, &d);
    if (status == ASSAY_OK && !d.op)
        status = describe_model(r, &d);
    if (status == ASSAY_OK)
        status = try_case(r, &d);
    r->n_cases++;
    return status;
}

static enum assay_status read_cases(struct reader *r, const struct assay_yaml *node)
{
    enum assay_status status = ASSAY_OK;
    r->out->cases = assay_calloc(MOST_CASES + 1, sizeof *r->out->cases);
    r->out->preset.cases = r->out->cases;
    if (!r->out->cases)
        return assay_reading_no_memory(&r->reading);
    if (node->kind != ASSAY_YAML_LIST)
        return read_case(r, node);
    if (!node->first)
        return assay_reading_fail(&r->reading, assay_place_of(node), "cases is an empty list");
    for (const struct assay_yaml *at = node->first; at && status == ASSAY_OK; at = at->next)
        status = read_case(r, at);
    return status;
}

/* ---- the file ------------------------------------------------------------------------------- */

static enum assay_status read_root(struct reader *r, const struct assay_yaml *root)
{
    static const char *const keys[] = {"name", "summary", "parameters", "cases", NULL};
    if (!root || root->kind != ASSAY_YAML_MAP)
        return assay_reading_fail(&r->reading,
                                  root ? assay_place_of(root) : (struct assay_place){0},
                                  "a preset is a mapping with a name and cases");
    const struct assay_yaml *name = assay_yaml_get(root, "name");
    const struct assay_yaml *summary = assay_yaml_get(root, "summary");
    const struct assay_yaml *cases = assay_yaml_get(root, "cases");
    enum assay_status status = assay_reading_keys(&r->reading, root, "a preset", keys);
    if (status != ASSAY_OK)
        return status;
    if (!name || !cases)
        return assay_reading_fail(&r->reading, assay_place_of(root), "this preset has no %s",
                                  name ? "cases" : "name");
    status = read_name(r, name, &r->out->preset.name);
    if (status == ASSAY_OK && summary && summary->kind != ASSAY_YAML_SCALAR)
        status = assay_reading_wrong_type(&r->reading, "summary", summary, "a text");
    if (status == ASSAY_OK && summary && !(r->out->preset.summary = keep(r, summary->text)))
        status = assay_reading_no_memory(&r->reading);
    if (status == ASSAY_OK)
        status = read_shared(r, assay_yaml_get(root, "parameters"));
    if (status == ASSAY_OK)
        status = read_cases(r, cases);
    for (int64_t i = 0; i < r->n_shared && status == ASSAY_OK; i++)
        if (!r->used[i])
            status = assay_reading_fail(&r->reading, assay_place_of_key(r->shared[i]),
                                        "no case uses the parameter \"%s\"", r->shared[i]->key);
    return status;
}

enum assay_status assay_preset_file_parse(const char *bytes, size_t length, const char *file,
                                          struct assay_preset_file *out, struct assay_error *err)
{
    struct assay_run_config config = {0}; /* of it only the file's name */
    struct reader reader = {.reading = {.config = &config, .err = err}, .out = out};
    struct assay_yaml *root;
    *out = (struct assay_preset_file){0};
    assay_run_config_name(&config, file);
    enum assay_status status = assay_yaml_parse(bytes, length, config.file, &root, err);
    if (status == ASSAY_OK)
        status = read_root(&reader, root);
    assay_yaml_destroy(root);
    return status;
}

enum assay_status assay_preset_file_read(const char *path, struct assay_preset_file *out,
                                         struct assay_error *err)
{
    char *bytes;
    size_t length = 0;
    *out = (struct assay_preset_file){0};
    enum assay_status status = assay_yaml_read_file(path, "preset", &bytes, &length, err);
    if (status == ASSAY_OK)
        status = assay_preset_file_parse(bytes, length, path, out, err);
    assay_free(bytes);
    return status;
}

void assay_preset_file_fini(struct assay_preset_file *file)
{
    assay_free(file->cases);
    assay_strings_fini(&file->texts);
    assay_strings_fini(&file->models);
    *file = (struct assay_preset_file){0};
}
