#include "cli/profile_show.h"

#include "base/version.h"
#include "report/report_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- figures as texts ---- */

struct cell {
    char text[160];
};

static struct cell cell_time(double ns)
{
    struct cell c = {"-"};
    if (ns > 0)
        assay_text_time(ns, c.text, sizeof c.text);
    return c;
}

static struct cell cell_percent(double share)
{
    struct cell c = {"-"};
    if (isfinite(share))
        snprintf(c.text, sizeof c.text, share < 0.0995 ? "%.1f%%" : "%.0f%%", share * 100);
    return c;
}

static struct cell cell_rate(double per_s)
{
    struct cell c = {"-"};
    double giga = per_s / 1e9;
    if (giga > 0)
        snprintf(c.text, sizeof c.text,
                 giga < 9.995   ? "%.2f"
                 : giga < 99.95 ? "%.1f"
                                : "%.0f",
                 giga);
    return c;
}

/* What binds, and where memory does which: "memory (L3)". */
static struct cell cell_binds(const struct assay_part *p)
{
    struct cell c = {""};
    bool cache = p->binds == ASSAY_BINDS_MEMORY && strcmp(p->bound, "memory") != 0;
    snprintf(c.text, sizeof c.text, "%s%s%s%s", assay_binds_name(p->binds), cache ? " (" : "",
             cache ? p->bound : "", cache ? ")" : "");
    return c;
}

static struct cell cell_waits(const struct assay_part *p)
{
    return cell_percent(p->call_ns > 0 ? p->waits_ns / p->call_ns : (double)NAN);
}

/* What a part is called: its op and shape, its phase, or the kernel and how many nodes it has. */
static struct cell cell_name(const struct assay_part *p)
{
    struct cell c = {""};
    if (p->node >= 0)
        snprintf(c.text, sizeof c.text, "%lld %.30s %.40s", (long long)p->node, p->op, p->shape);
    else if (p->phase[0])
        snprintf(c.text, sizeof c.text, "%s", p->phase);
    else if (p->nodes > 1)
        snprintf(c.text, sizeof c.text, "%.60s x %lld", p->kernel, (long long)p->nodes);
    else
        snprintf(c.text, sizeof c.text, "%.60s", p->kernel);
    return c;
}

/* ---- the columns of table and Markdown ---- */

static struct cell cell_kernel(const struct assay_part *p)
{
    struct cell c = {""};
    snprintf(c.text, sizeof c.text, "%s", p->node >= 0 ? p->kernel : "");
    return c;
}
static struct cell cell_calls(const struct assay_part *p)
{
    struct cell c = {""};
    snprintf(c.text, sizeof c.text, "%lld", (long long)p->calls);
    return c;
}
static struct cell cell_total(const struct assay_part *p) { return cell_time(p->total_ns); }
static struct cell cell_call(const struct assay_part *p) { return cell_time(p->call_ns); }
static struct cell cell_share(const struct assay_part *p) { return cell_percent(p->share); }
static struct cell cell_bytes(const struct assay_part *p) { return cell_rate(p->bytes_per_s); }
static struct cell cell_flops(const struct assay_part *p) { return cell_rate(p->flops_per_s); }
static struct cell cell_ceiling(const struct assay_part *p)
{
    return cell_percent(p->ceiling_share);
}

static const struct {
    const char *heading;
    int width;
    bool right, spare; /* left out first where the table does not fit */
    struct cell (*of)(const struct assay_part *);
} columns[] = {
    {"node", 26, false, false, cell_name},   {"kernel", 20, false, true, cell_kernel},
    {"calls", 5, true, true, cell_calls},    {"total", 8, true, true, cell_total},
    {"a call", 8, true, false, cell_call},   {"share", 5, true, false, cell_share},
    {"GB/s", 6, true, false, cell_bytes},    {"GFLOP/s", 7, true, false, cell_flops},
    {"ceil", 5, true, false, cell_ceiling},  {"waits", 5, true, true, cell_waits},
    {"binds", 12, false, false, cell_binds},
};
enum { COLUMNS = sizeof columns / sizeof columns[0], LEAST_WIDTH = 60 };

/* ---- the table ---- */

struct table {
    struct assay_sink sink;
    struct assay_line line;
    int width;
    bool shown[COLUMNS];
};

static void add_bytes(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static void begin_table(struct table *t, const struct assay_report_style *style,
                        struct assay_text *out)
{
    int width = 0;
    *t = (struct table){.sink = {out, add_bytes, &out->failed}};
    assay_line_init(&t->line, style);
    t->width = style->width < LEAST_WIDTH ? LEAST_WIDTH : style->width;
    for (int i = 0; i < COLUMNS; i++) {
        t->shown[i] = true;
        width += columns[i].width + 1;
    }
    for (int i = 0; i < COLUMNS && width > t->width; i++)
        if (columns[i].spare) {
            t->shown[i] = false;
            width -= columns[i].width + 1;
        }
}

static void put_cells(struct table *t, const struct assay_part *part, enum assay_line_ink ink)
{
    for (int i = 0; i < COLUMNS; i++) {
        struct cell cell = {""};
        if (!t->shown[i])
            continue;
        if (part)
            cell = columns[i].of(part);
        else
            snprintf(cell.text, sizeof cell.text, "%s", columns[i].heading);
        assay_line_to(&t->line, t->line.columns + 1);
        if (columns[i].right)
            assay_line_right(&t->line, cell.text, columns[i].width, ink);
        else
            assay_line_left(&t->line, cell.text, columns[i].width, ink);
    }
    assay_line_flush(&t->line, &t->sink);
}

static void put_text(struct table *t, const char *text, int indent, enum assay_line_ink ink)
{
    assay_line_to(&t->line, indent);
    assay_line_wrap(&t->line, &t->sink, text, indent, t->width, ink);
    assay_line_flush(&t->line, &t->sink);
}

static void put_head(struct table *t, const struct assay_breakdown *b)
{
    struct assay_flow flow = {
        .line = &t->line, .sink = &t->sink, .indent = 1, .width = t->width, .ink = ASSAY_INK_DIM};
    put_text(t, b->title, 0, ASSAY_INK_BOLD);
    if (b->calls > 0) {
        assay_line_to(&t->line, 1);
        assay_flow_item(&flow, "%lld calls", (long long)b->calls);
        assay_flow_item(&flow, "%s each", cell_time(b->call_ns).text);
        assay_flow_item(&flow, "timed %s", cell_time(b->timed_ns).text);
        assay_flow_item(&flow, "%s of %s in nodes", cell_percent(b->named_share).text,
                        b->gpu_source[0] ? "their time" : "the pass");
        assay_line_flush(&t->line, &t->sink);
    }
    if (b->missing[0]) {
        struct assay_text text = {0};
        assay_text_format(&text, "missing: %s", b->missing);
        put_text(t, text.data ? text.data : "", 1, ASSAY_INK_WARN);
        assay_text_fini(&text);
    }
}

/* "GPU  linear_wgmma  launches 12 · 34.6 ms · 83% · grid 8x4x1 · block 384x1x1 · …" */
static void put_gpu(struct table *t, const struct assay_breakdown *b)
{
    struct assay_flow flow = {
        .line = &t->line, .sink = &t->sink, .indent = 5, .width = t->width, .ink = ASSAY_INK_DIM};
    for (int64_t i = 0; i < b->n_gpu; i++) {
        const struct assay_gpu_part *p = &b->gpu[i];
        flow.started = false;
        assay_line_to(&t->line, 1);
        assay_line_put(&t->line, "GPU ", 4, ASSAY_INK_DIM);
        assay_flow_item(&flow, "%s", p->name);
        assay_flow_item(&flow, "%lld x", (long long)p->launches);
        assay_flow_item(&flow, "%s", cell_time(p->total_ns).text);
        assay_flow_item(&flow, "%s of what the GPU did", cell_percent(p->share).text);
        if (p->grid[0]) {
            assay_flow_item(&flow, "grid %s", p->grid);
            assay_flow_item(&flow, "block %s", p->block);
            assay_flow_item(&flow, "%.0f registers", p->registers);
            assay_flow_item(&flow, "%.0f B shared", p->shared_bytes);
        }
        assay_line_flush(&t->line, &t->sink);
    }
}

static void put_sentence(struct table *t, const struct assay_breakdown *b)
{
    struct assay_text text = {0};
    assay_breakdown_sentence(b, &text);
    put_text(t, text.data ? text.data : "", 1, ASSAY_INK_PLAIN);
    assay_text_fini(&text);
}

static bool shows(enum assay_profile_by by, enum assay_profile_by part)
{
    return by == ASSAY_PROFILE_BY_ALL || by == part;
}

void assay_profile_table(const struct assay_breakdowns *profiles, enum assay_profile_by by,
                         const struct assay_report_style *style, struct assay_text *out)
{
    struct table t;
    begin_table(&t, style, out);
    for (int64_t i = 0; i < profiles->n; i++) {
        const struct assay_breakdown *b = &profiles->items[i];
        if (i > 0)
            assay_text_add(out, "\n");
        put_head(&t, b);
        if (b->n_nodes > 0)
            put_cells(&t, NULL, ASSAY_INK_DIM);
        for (int64_t k = 0; k < b->n_nodes && shows(by, ASSAY_PROFILE_BY_NODE); k++)
            put_cells(&t, &b->nodes[k], ASSAY_INK_PLAIN);
        bool sums = by == ASSAY_PROFILE_BY_KERNEL || b->n_kernels < b->n_nodes;
        for (int64_t k = 0; k < b->n_kernels && sums && shows(by, ASSAY_PROFILE_BY_KERNEL); k++)
            put_cells(&t, &b->kernels[k], ASSAY_INK_SERIES);
        if (shows(by, ASSAY_PROFILE_BY_KERNEL))
            put_gpu(&t, b);
        for (int64_t k = 0; k < b->n_phases && shows(by, ASSAY_PROFILE_BY_PHASE); k++)
            put_cells(&t, &b->phases[k], ASSAY_INK_BOLD);
        put_sentence(&t, b);
    }
}

/* ---- Markdown ---- */

static void add_md_cell(struct assay_text *out, const char *text)
{
    assay_text_add(out, " ");
    for (const char *c = text; *c; c++)
        assay_text_format(out, *c == '|' ? "\\|" : "%c", *c);
    assay_text_add(out, " |");
}

static void add_md_rows(const struct assay_part *parts, int64_t n, struct assay_text *out)
{
    for (int64_t k = 0; k < n; k++) {
        assay_text_add(out, "|");
        for (int i = 0; i < COLUMNS; i++)
            add_md_cell(out, columns[i].of(&parts[k]).text);
        assay_text_add(out, "\n");
    }
}

static void add_md_gpu(const struct assay_breakdown *b, struct assay_text *out)
{
    if (b->n_gpu == 0)
        return;
    assay_text_add(out, "\n| on the GPU | launches | total | share | grid | block | registers | "
                        "shared B |\n| --- | ---: | ---: | ---: | --- | --- | ---: | ---: |\n");
    for (int64_t i = 0; i < b->n_gpu; i++) {
        const struct assay_gpu_part *p = &b->gpu[i];
        assay_text_add(out, "|");
        add_md_cell(out, p->name);
        assay_text_format(out, " %lld | %s | %s | %s | %s | %.0f | %.0f |\n",
                          (long long)p->launches, cell_time(p->total_ns).text,
                          cell_percent(p->share).text, p->grid, p->block, p->registers,
                          p->shared_bytes);
    }
}

void assay_profile_md(const struct assay_breakdowns *profiles, enum assay_profile_by by,
                      struct assay_text *out)
{
    for (int64_t i = 0; i < profiles->n; i++) {
        const struct assay_breakdown *b = &profiles->items[i];
        assay_text_format(out, "%s### %s\n\n|", i > 0 ? "\n" : "", b->title);
        for (int k = 0; k < COLUMNS; k++)
            assay_text_format(out, " %s |", columns[k].heading);
        assay_text_add(out, "\n|");
        for (int k = 0; k < COLUMNS; k++)
            assay_text_add(out, columns[k].right ? " ---: |" : " --- |");
        assay_text_add(out, "\n");
        if (shows(by, ASSAY_PROFILE_BY_NODE))
            add_md_rows(b->nodes, b->n_nodes, out);
        if (shows(by, ASSAY_PROFILE_BY_KERNEL))
            add_md_rows(b->kernels, b->n_kernels, out);
        if (shows(by, ASSAY_PROFILE_BY_KERNEL))
            add_md_gpu(b, out);
        if (shows(by, ASSAY_PROFILE_BY_PHASE))
            add_md_rows(b->phases, b->n_phases, out);
        assay_text_add(out, "\n");
        assay_breakdown_sentence(b, out);
        assay_text_add(out, "\n");
        if (b->missing[0])
            assay_text_format(out, "\nMissing: %s\n", b->missing);
    }
}

/* ---- JSON ---- */

static assay_json *part_to_json(const struct assay_part *p)
{
    assay_json *o = assay_json_object();
    if (p->node >= 0) {
        assay_json_put_int(o, "node", p->node);
        assay_json_put_string(o, "op", p->op);
        assay_json_put_string(o, "shape", p->shape);
    } else {
        assay_json_put_int(o, "nodes", p->nodes);
    }
    if (p->phase[0])
        assay_json_put_string(o, "phase", p->phase);
    if (p->kernel[0])
        assay_json_put_string(o, "kernel", p->kernel);
    assay_json_put_int(o, "calls", p->calls);
    assay_json_put_double(o, "total_ns", p->total_ns);
    assay_json_put_double(o, "call_ns", p->call_ns);
    assay_json_put_double(o, "share", p->share);
    assay_json_put_double(o, "waits_ns", p->waits_ns);
    assay_json_put_double(o, "bytes", p->bytes);
    assay_json_put_double(o, "flops", p->flops);
    assay_json_put_double(o, "bytes_per_s", p->bytes_per_s);
    assay_json_put_double(o, "flops_per_s", p->flops_per_s);
    assay_json_put_double(o, "ceiling_ns", p->ceiling_ns);
    assay_json_put_double(o, "ceiling_share", p->ceiling_share);
    assay_json_put_string(o, "binds", assay_binds_name(p->binds));
    assay_json_put_string(o, "bound", p->bound);
    return o;
}

static assay_json *parts_to_json(const struct assay_part *parts, int64_t n)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < n; i++)
        assay_json_append(list, part_to_json(&parts[i]));
    return list;
}

static assay_json *gpu_to_json(const struct assay_breakdown *b)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < b->n_gpu; i++) {
        const struct assay_gpu_part *p = &b->gpu[i];
        assay_json *o = assay_json_object();
        assay_json_put_string(o, "name", p->name);
        assay_json_put_int(o, "launches", p->launches);
        assay_json_put_double(o, "total_ns", p->total_ns);
        assay_json_put_double(o, "share", p->share);
        assay_json_put_string(o, "grid", p->grid);
        assay_json_put_string(o, "block", p->block);
        assay_json_put_double(o, "registers", p->registers);
        assay_json_put_double(o, "shared_bytes", p->shared_bytes);
        assay_json_append(list, o);
    }
    return list;
}

static assay_json *breakdown_to_json(const struct assay_breakdown *b)
{
    assay_json *o = assay_json_object();
    struct assay_text sentence = {0};
    assay_breakdown_sentence(b, &sentence);
    assay_json_put_string(o, "title", b->title);
    assay_json_put_string(o, "implementation", b->implementation);
    assay_json_put_string(o, "kernel", b->kernel);
    assay_json_put_string(o, "recipe", b->recipe);
    assay_json_put_string(o, "missing", b->missing);
    assay_json_put_int(o, "calls", b->calls);
    assay_json_put_int(o, "threads", b->threads);
    assay_json_put_double(o, "wall_ns", b->wall_ns);
    assay_json_put_double(o, "call_ns", b->call_ns);
    assay_json_put_double(o, "timed_ns", b->timed_ns);
    assay_json_put_double(o, "named_share", b->named_share);
    assay_json_put_double(o, "ceiling_ns", b->ceiling_ns);
    assay_json_put_string(o, "sentence", sentence.data ? sentence.data : "");
    assay_json_put(o, "nodes", parts_to_json(b->nodes, b->n_nodes));
    assay_json_put(o, "kernels", parts_to_json(b->kernels, b->n_kernels));
    if (b->gpu_source[0]) {
        assay_json_put_string(o, "gpu_seen_by", b->gpu_source);
        assay_json_put(o, "gpu", gpu_to_json(b));
    }
    if (b->n_phases > 0)
        assay_json_put(o, "phases", parts_to_json(b->phases, b->n_phases));
    assay_text_fini(&sentence);
    return o;
}

void assay_profile_json(const struct assay_breakdowns *profiles, struct assay_text *out)
{
    assay_json *o = assay_json_object(), *list = assay_json_array();
    assay_json_put_int(o, "assay_profile", 1);
    assay_json_put_string(o, "version", profiles->version);
    assay_json_put_string(o, "run", profiles->run);
    assay_json_put_string(o, "device", profiles->device);
    for (int64_t i = 0; i < profiles->n; i++)
        assay_json_append(list, breakdown_to_json(&profiles->items[i]));
    assay_json_put(o, "variants", list);
    assay_json_write(o, 2, out);
    assay_text_add(out, "\n");
    assay_json_free(o);
}
