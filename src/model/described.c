/* described.c: models described as JSON (see assay_model_add in model.h). */
#include "model/model_op.h"

#include "base/alloc.h"
#include "base/json.h"
#include "op/linear.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 32, MAX_DESCRIBED_INPUTS = 4 };

/* A number, an axis, or a number times an axis. */
struct size {
    int64_t factor;
    char axis; /* 'm', 'k', 'n'; 0: none */
};

struct described_input {
    char name[MAX_WORD];
    struct size rows, columns;
};

struct described_node {
    char op[MAX_WORD], mode[MAX_WORD], name[MAX_WORD];
    int32_t in[2]; /* inputs count from 0, nodes behind them */
    int32_t n_in;
    struct size features;
    int64_t seq, heads;
    bool causal;
};

struct described {
    struct assay_model model; /* first: a model found is one of these */
    char name[MAX_WORD];
    char *text; /* the description, to know it again */
    struct described_input inputs[MAX_DESCRIBED_INPUTS];
    struct described_node nodes[ASSAY_GRAPH_NODES];
    int32_t n_inputs, n_nodes;
};

/* ---- building ---------------------------------------------------------------------------------
 */

static int64_t size_of(const struct size *size, const int64_t *axes)
{
    static const char names[] = "mkn";
    return size->axis ? size->factor * axes[strchr(names, size->axis) - names] : size->factor;
}

static int32_t build_node(struct assay_graph *g, const struct described_node *node,
                          const int32_t *values, const int64_t *axes)
{
    int32_t x = values[node->in[0]];
    if (strcmp(node->op, "linear") == 0)
        return assay_graph_linear(g, x, size_of(&node->features, axes), node->mode);
    if (strcmp(node->op, "layernorm") == 0)
        return assay_graph_layernorm(g, x);
    if (strcmp(node->op, "rmsnorm") == 0)
        return assay_graph_rmsnorm(g, x);
    if (strcmp(node->op, "attention") == 0)
        return assay_graph_attention(g, x, node->seq, node->heads, node->causal);
    return node->n_in == 2 ? assay_graph_binary(g, node->op, x, values[node->in[1]])
                           : assay_graph_unary(g, node->op, x);
}

static void build_described(const struct described *d, struct assay_graph *g, const int64_t *axes)
{
    int32_t values[MAX_DESCRIBED_INPUTS + ASSAY_GRAPH_NODES];
    for (int32_t i = 0; i < d->n_inputs; i++)
        values[i] = assay_graph_input(g, size_of(&d->inputs[i].rows, axes),
                                      size_of(&d->inputs[i].columns, axes));
    for (int32_t i = 0; i < d->n_nodes; i++) {
        bool fine = g->error.code == ASSAY_OK;
        values[d->n_inputs + i] = build_node(g, &d->nodes[i], values, axes);
        if (fine && g->error.code != ASSAY_OK)
            snprintf(g->error.where, sizeof g->error.where, "nodes[%d]", (int)i);
    }
    assay_graph_output(g, values[d->n_inputs + d->n_nodes - 1]);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

struct reader {
    struct described *d;
    struct assay_error *err;
    int32_t node; /* -1: outside the nodes */
};

static enum assay_status bad(struct reader *r, const char *key, const char *message)
{
    char where[96];
    if (r->node >= 0)
        snprintf(where, sizeof where, "nodes[%d]%s%s", (int)r->node, key[0] ? "." : "", key);
    else
        snprintf(where, sizeof where, "%s", key);
    return assay_error_set(r->err, ASSAY_ERR_INVALID, where, "%s", message);
}

static enum assay_status read_word(struct reader *r, const assay_json *json, const char *key,
                                   char *out)
{
    const char *text = assay_json_string(json, NULL);
    if (!text || !text[0])
        return bad(r, key, "must be a word");
    if (strlen(text) >= MAX_WORD)
        return bad(r, key, "is too long a word");
    snprintf(out, MAX_WORD, "%s", text);
    return ASSAY_OK;
}

/* 512, "512", "k", "4*k". */
static enum assay_status read_size(struct reader *r, const assay_json *json, const char *key,
                                   struct size *out)
{
    static const char help[] = "must be a number, m, k, n, or a number times one of these (4*k)";
    static const int64_t most = INT64_C(1) << 28;
    const char *text = assay_json_string(json, NULL);
    *out = (struct size){.factor = assay_json_int(json, 0)};
    if (text) {
        char *end;
        out->factor = strtoll(text, &end, 10);
        if (end == text)
            out->factor = 1;
        while (*end == '*' || *end == ' ')
            end++;
        out->axis = *end && strchr("mkn", *end) ? *end++ : 0;
        if (*end || !text[0])
            return bad(r, key, help);
    }
    return out->factor >= 1 && out->factor <= most ? ASSAY_OK : bad(r, key, help);
}

/* A value by name: an input or a node before this one. */
static int32_t value_named(const struct described *d, const char *name)
{
    for (int32_t i = d->n_nodes - 1; i >= 0; i--)
        if (strcmp(d->nodes[i].name, name) == 0)
            return d->n_inputs + i;
    for (int32_t i = 0; i < d->n_inputs; i++)
        if (strcmp(d->inputs[i].name, name) == 0)
            return i;
    return -1;
}

static enum assay_status read_value(struct reader *r, const assay_json *json, const char *key,
                                    struct described_node *node)
{
    char name[MAX_WORD], message[96];
    enum assay_status status = read_word(r, json, key, name);
    if (status != ASSAY_OK)
        return status;
    int32_t value = value_named(r->d, name);
    snprintf(message, sizeof message, "nothing before this is named \"%s\"", name);
    if (value < 0)
        return bad(r, key, message);
    node->in[node->n_in++] = value;
    return ASSAY_OK;
}

static enum assay_status read_node_inputs(struct reader *r, const assay_json *json,
                                          struct described_node *node)
{
    const assay_json *one = assay_json_get(json, "input"), *list = assay_json_get(json, "inputs");
    enum assay_status status = ASSAY_OK;
    if (one)
        return read_value(r, one, "input", node);
    if (list &&
        (!assay_json_is_array(list) || assay_json_count(list) < 1 || assay_json_count(list) > 2))
        return bad(r, "inputs", "must be a list of one or two names");
    for (int64_t i = 0; i < assay_json_count(list) && status == ASSAY_OK; i++)
        status = read_value(r, assay_json_at(list, i), "inputs", node);
    if (!list)
        node->in[node->n_in++] = r->d->n_nodes ? r->d->n_inputs + r->d->n_nodes - 1 : 0;
    return status;
}

static enum assay_status read_op(struct reader *r, const assay_json *json,
                                 struct described_node *node)
{
    static const char *const names[] = {"linear",  "layernorm", "rmsnorm",   "attention", "add",
                                        "sigmoid", "relu",      "leakyrelu", "relu6",     "gelu",
                                        "silu",    "hardswish", "gelu_tanh", "softmax"};
    enum assay_status status = read_word(r, assay_json_get(json, "op"), "op", node->op);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == ASSAY_OK; i++)
        if (strcmp(node->op, names[i]) == 0)
            return ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    char message[192];
    const char *nearest = assay_text_nearest(node->op, names, sizeof names / sizeof names[0]);
    snprintf(message, sizeof message,
             "\"%s\" is no op a model can have; did you mean \"%s\"? There are linear, layernorm, "
             "rmsnorm, attention, add and the activations",
             node->op, nearest ? nearest : "linear");
    return bad(r, "op", message);
}

/* Which keys an op has: all have the first four. */
static bool has_key(const struct described_node *node, const char *key)
{
    static const struct {
        const char *key, *op;
    } keys[] = {{"op", NULL},         {"name", NULL},         {"input", NULL},
                {"inputs", NULL},     {"features", "linear"}, {"mode", "linear"},
                {"seq", "attention"}, {"heads", "attention"}, {"causal", "attention"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i].key) == 0 && (!keys[i].op || strcmp(node->op, keys[i].op) == 0))
            return true;
    return false;
}

static enum assay_status read_node(struct reader *r, const assay_json *json)
{
    struct described *d = r->d;
    struct described_node *node = &d->nodes[d->n_nodes];
    *node = (struct described_node){.seq = 1, .heads = 1};
    if (!assay_json_is_object(json))
        return bad(r, "", "must be a mapping with an op");
    enum assay_status status = read_op(r, json, node);
    for (int64_t i = 0; i < assay_json_count_keys(json) && status == ASSAY_OK; i++)
        if (!has_key(node, assay_json_key_at(json, i)))
            status = bad(r, assay_json_key_at(json, i), "is no key of this op");
    if (status == ASSAY_OK)
        status = read_node_inputs(r, json, node);
    int32_t wanted = strcmp(node->op, "add") == 0 ? 2 : 1;
    if (status == ASSAY_OK && node->n_in != wanted)
        status = bad(r, "inputs", wanted == 2 ? "must be two names" : "must be one name");
    if (status == ASSAY_OK && assay_json_get(json, "name"))
        status = read_word(r, assay_json_get(json, "name"), "name", node->name);
    if (status == ASSAY_OK && node->name[0] && value_named(d, node->name) >= 0)
        status = bad(r, "name", "is taken already");
    if (status == ASSAY_OK && strcmp(node->op, "linear") == 0)
        status = read_size(r, assay_json_get(json, "features"), "features", &node->features);
    if (status == ASSAY_OK && assay_json_get(json, "mode"))
        status = read_word(r, assay_json_get(json, "mode"), "mode", node->mode);
    if (status == ASSAY_OK && strcmp(node->op, "attention") == 0) {
        node->seq = assay_json_int(assay_json_get(json, "seq"), 0);
        node->heads = assay_json_int(assay_json_get(json, "heads"), 0);
        node->causal = assay_json_bool(assay_json_get(json, "causal"), false);
        if (node->seq < 1 || node->heads < 1)
            status = bad(r, node->seq < 1 ? "seq" : "heads", "must be a number of at least 1");
    }
    d->n_nodes += status == ASSAY_OK;
    return status;
}

static enum assay_status read_inputs(struct reader *r, const assay_json *json)
{
    struct described *d = r->d;
    enum assay_status status = ASSAY_OK;
    if (!json) { /* what every model of [m, k, n] starts from */
        d->inputs[d->n_inputs++] = (struct described_input){"x", {1, 'm'}, {1, 'k'}};
        return ASSAY_OK;
    }
    int64_t n = assay_json_count_keys(json);
    if (!assay_json_is_object(json) || n < 1 || n > MAX_DESCRIBED_INPUTS)
        return bad(r, "inputs", "must be a mapping of one to four names to [rows, columns]");
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++) {
        const char *name = assay_json_key_at(json, i);
        const assay_json *sizes = assay_json_get(json, name);
        struct described_input *input = &d->inputs[d->n_inputs++];
        char key[64];
        snprintf(key, sizeof key, "inputs.%.48s", name);
        if (strlen(name) >= MAX_WORD)
            return bad(r, key, "is too long a name");
        snprintf(input->name, sizeof input->name, "%s", name);
        if (!assay_json_is_array(sizes) || assay_json_count(sizes) != 2)
            return bad(r, key, "must be [rows, columns]");
        status = read_size(r, assay_json_at(sizes, 0), key, &input->rows);
        if (status == ASSAY_OK)
            status = read_size(r, assay_json_at(sizes, 1), key, &input->columns);
    }
    return status;
}

static enum assay_status read_description(struct reader *r, const assay_json *json)
{
    static const char *const keys[] = {"name", "inputs", "nodes"};
    const assay_json *nodes = assay_json_get(json, "nodes");
    if (!assay_json_is_object(json))
        return bad(r, "", "a model must be a mapping with nodes");
    for (int64_t i = 0; i < assay_json_count_keys(json); i++) {
        const char *key = assay_json_key_at(json, i);
        if (strcmp(key, keys[0]) != 0 && strcmp(key, keys[1]) != 0 && strcmp(key, keys[2]) != 0)
            return bad(r, key, "is no key of a model: there are name, inputs and nodes");
    }
    enum assay_status status = read_word(r, assay_json_get(json, "name"), "name", r->d->name);
    if (status == ASSAY_OK)
        status = read_inputs(r, assay_json_get(json, "inputs"));
    if (status == ASSAY_OK && (!assay_json_is_array(nodes) || assay_json_count(nodes) < 1 ||
                               assay_json_count(nodes) > ASSAY_GRAPH_NODES))
        status = bad(r, "nodes", "must be a list of one to 40 ops");
    for (int64_t i = 0; i < assay_json_count(nodes) && status == ASSAY_OK; i++) {
        r->node = (int32_t)i;
        status = read_node(r, assay_json_at(nodes, i));
    }
    return status;
}

/* A description that cannot be built for plain sizes is told now, not when it is measured. */
static enum assay_status try_to_build(const struct described *d, struct assay_error *err)
{
    static const int64_t plain[] = {16, 3072, 3072};
    struct assay_graph *g = assay_calloc(1, sizeof *g);
    if (!g)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    *g = (struct assay_graph){.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
    build_described(d, g, plain);
    enum assay_status status = g->error.code;
    if (status != ASSAY_OK)
        assay_error_set(err, status, g->error.where[0] ? g->error.where : "nodes", "%s",
                        g->error.message);
    assay_free(g);
    return status;
}

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    build_described((const struct described *)model, g, axes);
}

enum assay_status assay_model_add(const char *json, struct assay_error *err)
{
    struct described *d = assay_calloc(1, sizeof *d);
    assay_json *tree = assay_json_parse(json, strlen(json), "model", err);
    struct reader reader = {.d = d, .err = err, .node = -1};
    const struct assay_model *known = NULL;
    enum assay_status status = ASSAY_ERR_INVALID;
    if (!d) {
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
        goto cleanup;
    }
    if (tree)
        status = read_description(&reader, tree);
    if (status == ASSAY_OK)
        status = try_to_build(d, err);
    if (status != ASSAY_OK)
        goto cleanup;
    if (assay_model_find(d->name, &known, NULL) == ASSAY_OK) {
        bool same = known->build_from == build &&
                    strcmp(((const struct described *)known)->text, json) == 0;
        if (!same)
            status = assay_error_set(err, ASSAY_ERR_INVALID, "name",
                                     "there is a model \"%s\" already", d->name);
        goto cleanup; /* the same again: nothing to do */
    }
    d->text = assay_strdup(json);
    d->model = (struct assay_model){.name = d->name,
                                    .title = d->name,
                                    .summary = "described in a configuration",
                                    .build_from = build};
    status = d->text ? assay_model_add_built(&d->model, err)
                     : assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    if (status == ASSAY_OK)
        d = NULL; /* it lives on */
cleanup:
    assay_json_free(tree);
    if (d)
        assay_free(d->text);
    assay_free(d);
    return status;
}
