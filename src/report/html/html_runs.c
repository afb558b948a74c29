/* html_runs.c: what was measured, where and how; and what is wrong with it. */
#include "report/html/html_parts.h"

#include "report/draw/draw.h"
#include "report/report_cells.h"

#include <stdio.h>
#include <string.h>

/* The best that probes reached, by what they measure. */
struct ceilings {
    char bound[4][16];
    double rate[4];
    int n;
};

struct fact {
    const char *name;
    void (*write)(const struct assay_run_info *run, struct assay_text *out);
};

static void add_after(struct assay_text *out, const char *separator, const char *text)
{
    if (!text[0])
        return;
    assay_text_add(out, out->length ? separator : "");
    assay_text_add(out, text);
}

static void write_machine(const struct assay_run_info *run, struct assay_text *out)
{
    char memory[32] = "";
    add_after(out, "", run->device_name[0] ? run->device_name : run->device);
    if (!assay_run_on_host(run)) {
        if (run->gpu_memory_bytes > 0)
            assay_text_bytes(run->gpu_memory_bytes, memory, sizeof memory);
        add_after(out, ", ", memory);
        add_after(out, "; host ", run->cpu_name);
    }
    if (run->threads > 0 && assay_run_on_host(run))
        assay_text_format(out, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
}

static void write_isa(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->isa);
}

static void write_system(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->host_os);
}

static void write_started(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->started);
    add_after(out, " · ", run->id);
}

static void write_command(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->command);
}

static void write_method(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "",
              run->hot && run->cold ? "hot and cold cache"
              : run->hot            ? "hot cache"
              : run->cold           ? "cold cache"
                                    : "");
    if (run->precision > 0)
        assay_text_format(out, "%smedian to ±%g%%", out->length ? ", " : "", 100 * run->precision);
    if (run->warmup > 0)
        assay_text_format(out, ", %lld calls first", (long long)run->warmup);
    if (run->rounds > 0)
        assay_text_format(out, ", %lld samples", (long long)run->rounds);
}

static void write_version(const struct assay_run_info *run, struct assay_text *out)
{
    assay_text_format(out, "assay %s", run->version);
    if (run->commit[0])
        assay_text_format(out, " (%.12s)", run->commit);
    if (run->pytorch[0])
        assay_text_format(out, ", PyTorch %s", run->pytorch);
    if (run->pytorch_cuda[0])
        assay_text_format(out, ", CUDA %s", run->pytorch_cuda);
}

static void write_repository(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->repository);
    if (run->kernel_commit[0])
        assay_text_format(out, " at %.12s", run->kernel_commit);
    add_after(out, ", ", run->benchmark_path);
}

static void write_project(const struct assay_run_info *run, struct assay_text *out)
{
    add_after(out, "", run->project);
    add_after(out, " ", run->project_branch);
    if (run->project_sha[0])
        assay_text_format(out, " at %.12s", run->project_sha);
}

static const struct fact facts[] = {
    {"Machine", write_machine}, {"Instructions", write_isa},      {"System", write_system},
    {"Started", write_started}, {"Command", write_command},       {"Method", write_method},
    {"Program", write_version}, {"Repository", write_repository}, {"Project", write_project},
};

/* ---- ceilings ------------------------------------------------------------------------------- */

static void see_ceiling(struct ceilings *c, const char *bound, double rate)
{
    int i = 0;
    while (i < c->n && strcmp(c->bound[i], bound) != 0)
        i++;
    if (i == (int)(sizeof c->rate / sizeof c->rate[0]) || !(rate > 0))
        return;
    if (i == c->n)
        snprintf(c->bound[c->n++], sizeof c->bound[0], "%s", bound);
    c->rate[i] = rate > c->rate[i] ? rate : c->rate[i];
}

static void see_record(struct ceilings *c, const struct assay_record *record)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &record->states[s];
        bool compute = strcmp(m->bound, "compute") == 0;
        double work = compute ? record->flops : record->bytes_read + record->bytes_written;
        if (m->measured && m->ceiling_ns > 0 && m->bound[0])
            see_ceiling(c, m->bound, work / (m->ceiling_ns * 1e-9));
    }
}

static void write_copy_rate(const struct assay_run_info *run, struct assay_text *out)
{
    if (run->copy_bytes_per_s > 0)
        assay_text_format(out, "memory %.1f GB/s (copy)", run->copy_bytes_per_s / 1e9);
}

/* "memory 40.9 GB/s (copy); beside the kernels: L2 120 GB/s, compute 1.62 TFLOP/s" */
static void write_ceilings(const struct assay_book *book, int64_t run, struct assay_text *out)
{
    struct ceilings c = {.n = 0};
    struct assay_book_view view = {0};
    const struct assay_book_run *of = &book->runs[run];
    for (int64_t g = of->first; g < of->first + of->n && assay_book_open(book, g, &view); g++)
        for (int64_t i = 0; i < view.n; i++)
            see_record(&c, &view.records[i]);
    assay_book_view_fini(&view);
    write_copy_rate(&of->info, out);
    if (c.n)
        assay_text_add(out, out->length ? "; beside the kernels up to " : "up to ");
    for (int i = 0; i < c.n; i++) {
        struct assay_measurement m = {.bytes_per_s = c.rate[i], .flops_per_s = c.rate[i]};
        memcpy(m.bound, c.bound[i], sizeof m.bound);
        assay_text_format(out, "%s%s %s", i ? ", " : "", c.bound[i],
                          assay_cell_rate(&m, true).text);
    }
    if (!out->length)
        assay_text_add(out, "not known");
}

/* ---- the table ------------------------------------------------------------------------------ */

enum { CEILINGS = sizeof facts / sizeof facts[0], FACTS };

static void write_fact(const struct assay_book *book, int64_t run, int fact,
                       struct assay_text *text)
{
    assay_text_clear(text);
    if (fact == CEILINGS)
        write_ceilings(book, run, text);
    else
        facts[fact].write(&book->runs[run].info, text);
}

/* Nothing where no run has it; marked where runs differ. */
static void put_fact(struct assay_html_out *out, const struct assay_book *book, int fact)
{
    struct assay_text first = {0}, text = {0};
    bool any = false, differ = false;
    for (int64_t i = 0; i < book->n_runs; i++) {
        write_fact(book, i, fact, i ? &text : &first);
        any |= (i ? &text : &first)->length > 0;
        differ |= i && strcmp(text.data ? text.data : "", first.data ? first.data : "") != 0;
    }
    if (any)
        assay_text_format(&out->text, "<tr%s><th scope=row>%s", differ ? " class=differs" : "",
                          fact == CEILINGS ? "Ceilings" : facts[fact].name);
    for (int64_t i = 0; any && i < book->n_runs; i++) {
        write_fact(book, i, fact, &text);
        assay_html_put(out, "<td>");
        assay_draw_escape(&out->text, text.data ? text.data : "");
    }
    assay_html_put(out, any ? "\n" : "");
    out->text.failed |= text.failed || first.failed;
    assay_text_fini(&first);
    assay_text_fini(&text);
}

void assay_html_put_runs(struct assay_html_out *out, const struct assay_book *book)
{
    if (!book->n_runs)
        return;
    assay_html_put(out, "<section id=runs aria-labelledby=h-runs><h2 id=h-runs>");
    assay_html_put(out, book->n_runs > 1 ? "The runs" : "The run");
    assay_html_put(out, "</h2>\n<div class=scroll tabindex=0 role=region "
                        "aria-labelledby=h-runs><table class=facts aria-labelledby=h-runs>");
    if (book->n_runs > 1) {
        assay_html_put(out, "<thead><tr><th scope=col>run");
        for (int64_t i = 0; i < book->n_runs; i++)
            assay_text_format(&out->text, "<th scope=col>%lld", (long long)i + 1);
        assay_html_put(out, "\n");
    }
    assay_html_put(out, "<tbody>\n");
    for (int fact = 0; fact < FACTS; fact++)
        put_fact(out, book, fact);
    assay_html_put(out, "</table></div></section>\n");
}

void assay_html_put_method(struct assay_html_out *out, const struct assay_book *book)
{
    struct assay_text method = {0}, ceiling = {0};
    if (!book->n_runs)
        return;
    if (book->n_runs == 1) {
        write_method(&book->runs[0].info, &method);
        write_copy_rate(&book->runs[0].info, &ceiling);
    }
    assay_html_put(out, "<p class=muted>");
    if (method.length) {
        assay_html_put(out, "Method: ");
        assay_draw_escape(&out->text, method.data);
        assay_html_put(out, " · ");
    }
    if (ceiling.length) {
        assay_html_put(out, "ceiling: ");
        assay_draw_escape(&out->text, ceiling.data);
        assay_html_put(out, " · ");
    }
    assay_html_put(out, book->n_runs > 1 ? "<a href=#runs>Machines, methods and ceilings</a></p>\n"
                                         : "<a href=#runs>more of the run</a></p>\n");
    out->text.failed |= method.failed || ceiling.failed;
    assay_text_fini(&method);
    assay_text_fini(&ceiling);
}

/* ---- warnings ------------------------------------------------------------------------------- */

struct troubles {
    int64_t outcomes[ASSAY_OUTCOME_COUNT], first[ASSAY_OUTCOME_COUNT]; /* rows, from 1 */
    int64_t interrupted, timed, no_ceiling, no_samples;
};

static void see_troubles(struct troubles *t, const struct assay_record *record, int64_t row)
{
    bool timed = false, ceiling = false, samples = false;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &record->states[s];
        timed |= m->measured;
        ceiling |= m->measured && m->ceiling_ns > 0;
        samples |= m->measured && m->samples.n > 0;
    }
    if (t->outcomes[record->outcome]++ == 0)
        t->first[record->outcome] = row;
    t->interrupted += record->interrupted;
    t->timed += timed;
    t->no_ceiling += timed && !ceiling;
    t->no_samples += timed && !samples;
}

static void find_troubles(const struct assay_book *book, struct troubles *t)
{
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups && assay_book_open(book, g, &view); g++)
        for (int64_t i = 0; i < view.n; i++)
            see_troubles(t, &view.records[i], book->groups[g].first + i + 1);
    assay_book_view_fini(&view);
}

static void say(struct assay_text *out, int64_t n, const char *one, const char *many)
{
    if (n)
        assay_text_format(out, "<li>%lld %s\n", (long long)n, n == 1 ? one : many);
}

static void say_outcomes(struct assay_text *out, const struct troubles *t)
{
    for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++)
        if (t->outcomes[o] && !assay_outcome_is_fine((enum assay_outcome)o))
            assay_text_format(out, "<li>%lld row%s: %s, <a href=#r%lld>the first</a>\n",
                              (long long)t->outcomes[o], t->outcomes[o] == 1 ? "" : "s",
                              assay_cell_outcome((enum assay_outcome)o).text,
                              (long long)t->first[o]);
}

static const char *machine_of(const struct assay_run_info *run)
{
    return run->device_name[0] ? run->device_name : run->device;
}

static void say_machines(struct assay_text *out, const struct assay_book *book)
{
    bool differ = false, versions = false;
    for (int64_t i = 1; i < book->n_runs; i++) {
        const struct assay_run_info *a = &book->runs[0].info, *b = &book->runs[i].info;
        differ |= strcmp(machine_of(a), machine_of(b)) != 0 || a->threads != b->threads;
        versions |= strcmp(a->version, b->version) != 0;
    }
    if (differ)
        assay_text_add(out, "<li>The runs are of different machines, or of different numbers of "
                            "threads: compare ratios and shares of ceilings, not times\n");
    if (versions)
        assay_text_add(out, "<li>The runs are of different versions of assay\n");
}

static void say_samples(struct assay_text *out, const struct troubles *t)
{
    if (t->timed && t->no_samples == t->timed)
        assay_text_add(out, "<li>No row has its samples: an older version measured them\n");
    else
        say(out, t->no_samples, "row has no samples", "rows have no samples");
}

void assay_html_put_warnings(struct assay_html_out *out, const struct assay_book *book,
                             int64_t left)
{
    struct troubles t = {.timed = 0};
    struct assay_text text = {0};
    find_troubles(book, &t);
    say(&text, left, "group is not here: it was not measured, or not yet",
        "groups are not here: they were not measured, or not yet");
    say_outcomes(&text, &t);
    say_machines(&text, book);
    say(&text, t.interrupted, "row has fewer samples: the run was interrupted",
        "rows have fewer samples: the run was interrupted");
    if (t.timed && t.no_ceiling == t.timed)
        assay_text_add(&text, "<li>No ceiling of this machine is known: nothing says how far from "
                              "its limits the kernels are\n");
    else
        say(&text, t.no_ceiling, "row has no ceiling to compare with",
            "rows have no ceiling to compare with");
    say_samples(&text, &t);
    if (text.length) {
        assay_html_put(out,
                       "<section id=notes aria-labelledby=h-notes><h2 id=h-notes>Please note</h2>"
                       "<ul>\n");
        assay_html_put(out, text.data);
        assay_html_put(out, "</ul></section>\n");
    }
    out->text.failed |= text.failed;
    assay_text_fini(&text);
}
