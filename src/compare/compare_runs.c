/* compare_runs.c: what two runs do not have in common, apart from their rows. Only what both tell
 * of is compared: many formats have no head. */
#include "compare/compare.h"

#include <stdio.h>
#include <string.h>

struct saying {
    struct assay_strings *out;
    enum assay_status status;
};

static void add(struct saying *s, const char *text)
{
    if (s->status == ASSAY_OK)
        s->status = assay_strings_add(s->out, text);
}

/* "another GPU: A, then B" */
static void say_texts(struct saying *s, const char *what, const char *a, const char *b)
{
    struct assay_text text = {0};
    if (!a[0] || !b[0] || strcmp(a, b) == 0)
        return;
    assay_text_format(&text, "%s: %s, then %s", what, a, b);
    if (text.failed)
        s->status = ASSAY_ERR_NOMEM;
    else
        add(s, text.data);
    assay_text_fini(&text);
}

static void say_numbers(struct saying *s, const char *what, const char *unit, int64_t a, int64_t b)
{
    char one[40], other[40];
    snprintf(one, sizeof one, "%lld%s", (long long)a, unit);
    snprintf(other, sizeof other, "%lld%s", (long long)b, unit);
    if (a > 0 && b > 0)
        say_texts(s, what, one, other);
}

/* A number that one run fixed and the other did not. */
static void say_fixed(struct saying *s, const char *what, int64_t a, int64_t b)
{
    char one[40] = "not fixed", other[40] = "not fixed";
    if (a > 0)
        snprintf(one, sizeof one, "%lld", (long long)a);
    if (b > 0)
        snprintf(other, sizeof other, "%lld", (long long)b);
    say_texts(s, what, one, other);
}

static const char *states_of(const struct assay_run_info *run)
{
    return run->hot && run->cold ? "hot and cold" : run->hot ? "hot" : run->cold ? "cold" : "";
}

static void say_machine(struct saying *s, const struct assay_run_info *a,
                        const struct assay_run_info *b)
{
    bool host = assay_run_on_host(a) && assay_run_on_host(b);
    size_t before = (size_t)s->out->n;
    say_texts(s, "another device", a->device, b->device);
    if ((size_t)s->out->n == before)
        say_texts(s, host ? "another machine" : "another GPU", a->device_name, b->device_name);
    if (!host || !a->device_name[0] || !b->device_name[0])
        say_texts(s, "another CPU", a->cpu_name, b->cpu_name);
    if (!a->device_name[0] || !b->device_name[0])
        say_texts(s, "another GPU", a->gpu_name, b->gpu_name);
    say_texts(s, "other instructions", a->isa, b->isa);
    say_texts(s, "another system", a->host_os, b->host_os);
    if (host)
        say_numbers(s, "another number of threads", "", a->threads, b->threads);
}

static void say_source(struct saying *s, const struct assay_run_info *a,
                       const struct assay_run_info *b)
{
    say_texts(s, "another version of assay", a->version, b->version);
    if (strcmp(a->version, b->version) == 0)
        say_texts(s, "another build of assay", a->commit, b->commit);
    say_texts(s, "another repository", a->repository, b->repository);
    say_texts(s, "another commit", a->kernel_commit, b->kernel_commit);
}

static void say_method(struct saying *s, const struct assay_results *a,
                       const struct assay_results *b)
{
    const struct assay_run_info *one = &a->run, *other = &b->run;
    char x[40] = "", y[40] = "";
    say_texts(s, "other caches", states_of(one), states_of(other));
    if (!(one->precision > 0) || !(other->precision > 0)) /* these formats have no method */
        return;
    snprintf(x, sizeof x, "%g%%", 100 * one->precision);
    snprintf(y, sizeof y, "%g%%", 100 * other->precision);
    say_texts(s, "another precision", x, y);
    say_fixed(s, "another number of samples", one->rounds, other->rounds);
    say_fixed(s, "another number of warm-up calls", one->warmup, other->warmup);
    if (a->budget_s > 0 && b->budget_s > 0) {
        snprintf(x, sizeof x, "%g s", a->budget_s);
        snprintf(y, sizeof y, "%g s", b->budget_s);
        say_texts(s, "another budget", x, y);
    }
}

static void say_whole(struct saying *s, const char *which, const struct assay_results *run)
{
    char text[160];
    if (run->groups_missing <= 0)
        return;
    snprintf(text, sizeof text, "the %s run is not finished: %lld of %lld groups are missing",
             which, (long long)run->groups_missing, (long long)run->groups);
    add(s, text);
}

enum assay_status assay_compare_runs(const struct assay_results *old_run,
                                     const struct assay_results *new_run, struct assay_strings *out,
                                     struct assay_error *err)
{
    struct saying s = {.out = out};
    if (old_run->run.id[0] && strcmp(old_run->run.id, new_run->run.id) == 0)
        add(&s, "both are the same run");
    say_machine(&s, &old_run->run, &new_run->run);
    say_source(&s, &old_run->run, &new_run->run);
    say_method(&s, old_run, new_run);
    say_whole(&s, "old", old_run);
    say_whole(&s, "new", new_run);
    return s.status == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}
