/* breakdown_read.c: a trace read back: its calls, nodes and waits summed up for each variant. */
#include "trace/breakdown_make.h"

#include "base/alloc.h"
#include "base/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a time: thirty years. Sums of them are still numbers. */
static const double LONGEST_NS = 1e18;
/* A profile of a day's run is some megabytes. */
enum { MOST_BYTES = 1 << 30, MOST_VARIANTS = 100000, MOST_NODES = 4096 };

/* One call of a node. */
struct lasted {
    int64_t node;
    double ns, waits_ns; /* of all threads; NaN: nobody noted them */
};

/* A variant while its events are read. */
struct gathered {
    struct assay_breakdown out;
    int64_t process, capacity, gpu_capacity;
    double first_ns, last_ns;
    double *calls_ns; /* of each call, for their median */
    int64_t calls_capacity;
    struct lasted *lasted; /* each call of each node, likewise */
    int64_t n_lasted, lasted_capacity;
};

struct reading {
    struct gathered *items;
    int64_t n, capacity;
    const char *where;
    struct assay_error *err;
};

static double number(const assay_json *event, const char *key)
{
    return assay_json_double(assay_json_get(event, key), (double)NAN);
}

static double arg(const assay_json *event, const char *key)
{
    double value = assay_json_double(assay_json_get(assay_json_get(event, "args"), key), 0);
    return isfinite(value) && value >= 0 ? value : 0;
}

static void arg_text(const assay_json *event, const char *key, char *out, size_t size)
{
    const assay_json *args = assay_json_get(event, "args");
    snprintf(out, size, "%s", assay_json_string(assay_json_get(args, key), ""));
}

static struct gathered *variant_of(struct reading *r, int64_t process)
{
    for (int64_t i = r->n - 1; i >= 0; i--)
        if (r->items[i].process == process)
            return &r->items[i];
    return NULL;
}

/* Room for one more; false where there is none. */
static bool grow(void **items, int64_t n, int64_t *capacity, size_t each)
{
    if (n < *capacity)
        return true;
    int64_t wanted = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = assay_realloc(*items, (size_t)wanted, each);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/* ---- events ---- */

static enum assay_status add_process(struct reading *r, const assay_json *event)
{
    void *items = r->items;
    if (r->n >= MOST_VARIANTS)
        return assay_error_set(r->err, ASSAY_ERR_CORRUPT, r->where, "too many processes");
    if (!grow(&items, r->n, &r->capacity, sizeof *r->items))
        return assay_error_nomem(r->err);
    r->items = items;
    struct gathered *v = &r->items[r->n++];
    *v = (struct gathered){.process = assay_json_int(assay_json_get(event, "pid"), -1)};
    arg_text(event, "name", v->out.title, sizeof v->out.title);
    return ASSAY_OK;
}

static enum assay_status add_call(struct reading *r, struct gathered *v, const assay_json *event,
                                  double start_ns, double ns)
{
    void *calls = v->calls_ns;
    struct assay_breakdown *b = &v->out;
    if (!grow(&calls, b->calls, &v->calls_capacity, sizeof *v->calls_ns))
        return assay_error_nomem(r->err);
    v->calls_ns = calls;
    if (b->calls == 0) {
        v->first_ns = v->last_ns = start_ns;
        arg_text(event, "implementation", b->implementation, sizeof b->implementation);
        arg_text(event, "kernel", b->kernel, sizeof b->kernel);
        arg_text(event, "recipe", b->recipe, sizeof b->recipe);
        arg_text(event, "missing", b->missing, sizeof b->missing);
        arg_text(event, "gpu_seen_by", b->gpu_source, sizeof b->gpu_source);
        b->timed_ns = arg(event, "timed_median_us") * 1e3;
        b->threads = (int64_t)fmin(arg(event, "threads"), 65536);
    }
    v->last_ns = fmax(v->last_ns, start_ns + ns);
    v->calls_ns[b->calls++] = ns;
    b->total_ns += ns;
    return ASSAY_OK;
}

static enum assay_status node_of(struct reading *r, struct gathered *v, int64_t index,
                                 struct assay_part **out)
{
    void *nodes = v->out.nodes;
    if (index >= MOST_NODES)
        return assay_error_set(r->err, ASSAY_ERR_CORRUPT, r->where, "node %lld is beyond all",
                               (long long)index);
    while (v->out.n_nodes <= index) {
        if (!grow(&nodes, v->out.n_nodes, &v->capacity, sizeof *v->out.nodes))
            return assay_error_nomem(r->err);
        v->out.nodes = nodes;
        v->out.nodes[v->out.n_nodes] =
            (struct assay_part){.node = v->out.n_nodes, .nodes = 1, .waits_ns = (double)NAN};
        v->out.n_nodes++;
    }
    *out = &v->out.nodes[index];
    return ASSAY_OK;
}

static enum assay_status add_node(struct reading *r, struct gathered *v, const assay_json *event,
                                  double ns)
{
    struct assay_part *node = NULL;
    enum assay_status status = node_of(r, v, (int64_t)fmin(arg(event, "node"), 1e9), &node);
    if (status != ASSAY_OK)
        return status;
    if (node->calls++ == 0) {
        arg_text(event, "op", node->op, sizeof node->op);
        arg_text(event, "shape", node->shape, sizeof node->shape);
        arg_text(event, "kernel", node->kernel, sizeof node->kernel);
        arg_text(event, "bound", node->bound, sizeof node->bound);
        arg_text(event, "phase", node->phase, sizeof node->phase);
        node->bytes = arg(event, "bytes");
        node->flops = arg(event, "flops");
        node->ceiling_ns = arg(event, "ceiling_us") * 1e3;
    }
    void *lasted = v->lasted;
    if (!grow(&lasted, v->n_lasted, &v->lasted_capacity, sizeof *v->lasted))
        return assay_error_nomem(r->err);
    v->lasted = lasted;
    v->lasted[v->n_lasted++] = (struct lasted){node->node, ns, (double)NAN};
    node->total_ns += ns;
    return ASSAY_OK;
}

static enum assay_status add_gpu(struct reading *r, struct gathered *v, const assay_json *event,
                                 double ns)
{
    const char *name = assay_json_string(assay_json_get(event, "name"), "");
    struct assay_gpu_part *part = NULL;
    void *parts = v->out.gpu;
    for (int64_t i = 0; i < v->out.n_gpu && !part; i++)
        if (strncmp(v->out.gpu[i].name, name, sizeof part->name - 1) == 0)
            part = &v->out.gpu[i];
    if (!part && v->out.n_gpu >= MOST_NODES)
        return assay_error_set(r->err, ASSAY_ERR_CORRUPT, r->where, "too many kernels");
    if (!part) {
        if (!grow(&parts, v->out.n_gpu, &v->gpu_capacity, sizeof *v->out.gpu))
            return assay_error_nomem(r->err);
        v->out.gpu = parts;
        part = &v->out.gpu[v->out.n_gpu++];
        *part = (struct assay_gpu_part){.registers = arg(event, "registers"),
                                        .shared_bytes = arg(event, "shared_bytes")};
        snprintf(part->name, sizeof part->name, "%s", name);
        arg_text(event, "grid", part->grid, sizeof part->grid);
        arg_text(event, "block", part->block, sizeof part->block);
    }
    double whole = arg(event, "duration_us") * 1e3; /* a slice may be cut */
    part->launches++;
    part->total_ns += whole > 0 && whole <= LONGEST_NS ? whole : ns;
    return ASSAY_OK;
}

/* Of the last call of its node: waits stand behind it. */
static void add_wait(struct gathered *v, const assay_json *event, double ns)
{
    int64_t node = (int64_t)fmin(arg(event, "node"), 1e9);
    for (int64_t i = v->n_lasted - 1; i >= 0; i--)
        if (v->lasted[i].node == node) {
            v->lasted[i].waits_ns = isnan(v->lasted[i].waits_ns) ? ns : v->lasted[i].waits_ns + ns;
            return;
        }
}

static enum assay_status add_slice(struct reading *r, const assay_json *event)
{
    struct gathered *v = variant_of(r, assay_json_int(assay_json_get(event, "pid"), -1));
    const char *category = assay_json_string(assay_json_get(event, "cat"), "");
    double start_ns = number(event, "ts") * 1e3, ns = number(event, "dur") * 1e3;
    if (!(fabs(start_ns) <= LONGEST_NS) || !(ns >= 0) || ns > LONGEST_NS)
        return assay_error_set(r->err, ASSAY_ERR_CORRUPT, r->where,
                               "a slice has no time: \"ts\" and \"dur\" must be numbers");
    if (v && strcmp(category, "call") == 0)
        return add_call(r, v, event, start_ns, ns);
    if (v && strcmp(category, "node") == 0)
        return add_node(r, v, event, ns);
    if (v && strcmp(category, "gpu") == 0)
        return add_gpu(r, v, event, ns);
    if (v && strcmp(category, "wait") == 0)
        add_wait(v, event, ns);
    if (v && strcmp(category, "missing") == 0)
        arg_text(event, "missing", v->out.missing, sizeof v->out.missing);
    return ASSAY_OK;
}

static enum assay_status add_event(struct reading *r, const assay_json *event)
{
    const char *phase = assay_json_string(assay_json_get(event, "ph"), "");
    const char *name = assay_json_string(assay_json_get(event, "name"), "");
    if (strcmp(phase, "M") == 0 && strcmp(name, "process_name") == 0)
        return add_process(r, event);
    return strcmp(phase, "X") == 0 ? add_slice(r, event) : ASSAY_OK;
}

/* ---- what they come to ---- */

static int compare_ns(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_lasted(const void *a, const void *b)
{
    const struct lasted *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* By node, then by length: the middle of each node's, and how long its threads waited in it. */
static void take_medians(struct gathered *v)
{
    const struct lasted *all = v->lasted;
    if (v->n_lasted > 1)
        qsort(v->lasted, (size_t)v->n_lasted, sizeof *v->lasted, compare_lasted);
    for (int64_t i = 0, n; i < v->n_lasted; i += n) {
        for (n = 1; i + n < v->n_lasted && all[i + n].node == all[i].node; n++)
            continue;
        const struct lasted *middle = &all[i + n / 2], *other = &all[i + (n - 1) / 2];
        struct assay_part *node = &v->out.nodes[all[i].node];
        double threads = v->out.threads > 0 ? (double)v->out.threads : 1;
        node->call_ns = (middle->ns + other->ns) / 2;
        node->waits_ns = (middle->waits_ns + other->waits_ns) / 2 / threads;
    }
}

/* Nodes of a model that its pass does not run, the forward ones before a backward pass, go. */
static void drop_idle(struct assay_breakdown *b)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i].calls > 0)
            b->nodes[kept++] = b->nodes[i];
    b->n_nodes = kept;
}

static enum assay_status settle(struct gathered *v)
{
    struct assay_breakdown *b = &v->out;
    b->wall_ns = b->gpu_source[0] ? b->total_ns : v->last_ns - v->first_ns;
    if (b->calls > 0) {
        qsort(v->calls_ns, (size_t)b->calls, sizeof *v->calls_ns, compare_ns);
        b->call_ns = (v->calls_ns[b->calls / 2] + v->calls_ns[(b->calls - 1) / 2]) / 2;
    }
    take_medians(v);
    drop_idle(b);
    return assay_breakdown_settle(b);
}

/* Processes that are no variants, the caller's ranges, stay out. */
static enum assay_status take(struct reading *r, struct assay_breakdowns *out)
{
    out->items = assay_calloc((size_t)r->n + 1, sizeof *out->items);
    if (!out->items)
        return assay_error_nomem(r->err);
    for (int64_t i = 0; i < r->n; i++) {
        struct gathered *v = &r->items[i];
        if (v->out.calls == 0 && !v->out.missing[0])
            continue;
        enum assay_status status = settle(v);
        out->items[out->n++] = v->out;
        v->out.nodes = NULL;
        v->out.gpu = NULL;
        if (status != ASSAY_OK)
            return assay_error_nomem(r->err);
    }
    if (out->n == 0)
        return assay_error_set(r->err, ASSAY_ERR_INVALID, r->where,
                               "no profile of assay's: it has no calls of a variant");
    return ASSAY_OK;
}

static void other_text(const assay_json *trace, const char *key, char *out, size_t size)
{
    const assay_json *other = assay_json_get(trace, "otherData");
    snprintf(out, size, "%s", assay_json_string(assay_json_get(other, key), ""));
}

static enum assay_status gather(const assay_json *trace, struct reading *r,
                                struct assay_breakdowns *out)
{
    const assay_json *events = assay_json_get(trace, "traceEvents");
    enum assay_status status = ASSAY_OK;
    if (!assay_json_is_array(events))
        return assay_error_set(r->err, ASSAY_ERR_INVALID, r->where,
                               "no trace: it has no \"traceEvents\"");
    for (int64_t i = 0; i < assay_json_count(events) && status == ASSAY_OK; i++)
        status = add_event(r, assay_json_at(events, i));
    other_text(trace, "run", out->run, sizeof out->run);
    other_text(trace, "assay", out->version, sizeof out->version);
    other_text(trace, "device", out->device, sizeof out->device);
    return status == ASSAY_OK ? take(r, out) : status;
}

enum assay_status assay_breakdowns_parse(const char *text, size_t length, const char *where,
                                         struct assay_breakdowns *out, struct assay_error *err)
{
    struct reading r = {.where = where, .err = err};
    *out = (struct assay_breakdowns){0};
    if (length > 0 && text[0] == '\n') /* the tag of a trace's first packet */
        return assay_error_set(err, ASSAY_ERR_INVALID, where,
                               "a trace in Perfetto's form cannot be read back: record it as JSON "
                               "(--profile FILE.json)");
    assay_json *trace = assay_json_parse(text, length, where, err);
    if (!trace)
        return err ? err->code : ASSAY_ERR_CORRUPT;
    enum assay_status status = gather(trace, &r, out);
    assay_json_free(trace);
    for (int64_t i = 0; i < r.n; i++) {
        assay_free(r.items[i].out.nodes);
        assay_free(r.items[i].out.gpu);
        assay_free(r.items[i].calls_ns);
        assay_free(r.items[i].lasted);
    }
    assay_free(r.items);
    if (status != ASSAY_OK)
        assay_breakdowns_fini(out);
    return status;
}

enum assay_status assay_breakdowns_read(const char *path, struct assay_breakdowns *out,
                                        struct assay_error *err)
{
    struct assay_text text = {0};
    struct assay_error why = {0};
    *out = (struct assay_breakdowns){0};
    enum assay_status status = assay_folder_read_file(path, MOST_BYTES, &text, &why);
    if (status == ASSAY_ERR_IO)
        status = ASSAY_ERR_INVALID; /* a name that was mistyped */
    if (status == ASSAY_OK)
        status = assay_breakdowns_parse(text.data ? text.data : "", text.length, path, out, &why);
    if (status != ASSAY_OK)
        assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
    assay_text_fini(&text);
    return status;
}
