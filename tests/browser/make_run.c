/* make_run.c: a made-up run as JSON lines, for `assay report` to make a page of.
 * usage: make_run KIND [ROWS] >FILE.jsonl
 *
 * KIND is one of those below; a run of 10,000 rows takes some 30 MB, with samples 90 MB. */
#include "../unit/book_case.h"

#include "strange.h"

#define STRANGE(list) (list), (int64_t)(sizeof(list) / sizeof *(list))

static void nothing(struct assay_record *r) { (void)r; }
static void one_fastest(struct assay_record *r)
{
    r->states[HOT].fastest = r->states[COLD].fastest = r->variant == 1 + r->group % 3;
}
static void hostile(struct assay_record *r) { strange_record(r, STRANGE(strange_hostile)); }

static void failed(struct assay_record *r)
{
    *r = failing(*r, (enum assay_outcome)(1 + r->group % (ASSAY_OUTCOME_COUNT - 1)), "no luck");
    memset(r->states, 0, sizeof r->states);
}

/* What tells a large run's groups apart: op, sizes, type. */
static void spread(struct assay_record *r)
{
    static const char *const ops[] = {"layernorm", "softmax", "rmsnorm", "gelu", "linear"};
    snprintf(r->op, sizeof r->op, "%s", ops[r->group % 5]);
    snprintf(r->title, sizeof r->title, "%s", ops[r->group % 5]);
    snprintf(r->kernel, sizeof r->kernel, "%.20s_%.31s", r->op, r->implementation);
    r->axes[0] = 1 + r->group / 5 / 12;
    r->axes[1] = (int64_t)1 << (4 + r->group / 5 % 12);
}

static const struct kind {
    const char *name;
    struct book_case shape;
    void (*tweak)(struct assay_record *record);
} kinds[] = {
    {"usual", {.sizes = 8, .variants = 4, .dtypes = 2, .samples = 64}, one_fastest},
    {"one", {.variants = 1, .samples = 64}, nothing},
    {"empty", {0}, nothing},
    {"bad", {.sizes = 8, .variants = 6, .samples = 32, .bad = true}, nothing},
    {"failed", {.sizes = 4, .variants = 3}, failed},
    {"models", {.sizes = 6, .variants = 2, .models = true, .samples = 32}, nothing},
    {"recipes", {.sizes = 3, .variants = 4, .recipes = true, .samples = 32}, nothing},
    {"hostile", {.sizes = 4, .variants = 12, .samples = 8}, hostile},
    {"large", {.variants = 5}, spread},
    {"large_samples", {.variants = 5, .samples = 128}, spread},
};

static void to_stdout(void *user, const char *bytes, size_t length)
{
    (void)user;
    if (fwrite(bytes, 1, length, stdout) != length) {
        perror("make_run");
        exit(1);
    }
}

static void write_groups(const struct kind *kind, int64_t groups, assay_report *report)
{
    static struct assay_record records[64];
    int64_t n = kind->shape.variants, sizes = kind->shape.sizes > 0 ? kind->shape.sizes : 1;
    for (int64_t group = 0; group < groups && n > 0; group++) {
        for (int64_t v = 0; v < n; v++) {
            records[v] = book_case_record(&kind->shape, group, group % sizes, group / sizes, v);
            kind->tweak(&records[v]);
        }
        assay_report_group(report, records, n);
    }
}

int main(int argc, char **argv)
{
    size_t k = 0, n_kinds = sizeof kinds / sizeof *kinds;
    while (k < n_kinds && (argc < 2 || strcmp(argv[1], kinds[k].name) != 0))
        k++;
    if (k == n_kinds) {
        fprintf(stderr, "usage: make_run KIND [ROWS]; KIND is");
        for (size_t i = 0; i < n_kinds; i++)
            fprintf(stderr, " %s", kinds[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    const struct book_case *shape = &kinds[k].shape;
    int64_t sizes = shape->sizes > 0 ? shape->sizes : 1,
            dtypes = shape->dtypes > 0 ? shape->dtypes : 1;
    int64_t groups = shape->variants > 0 ? sizes * dtypes : 0;
    if (argc > 2 && shape->variants > 0)
        groups = strtoll(argv[2], NULL, 10) / shape->variants;
    struct assay_run_info run = a_run;
    struct assay_sink sink = {NULL, to_stdout, NULL};
    struct assay_report_style style = {.width = 100};
    run.groups = groups;
    if (kinds[k].tweak == hostile)
        strange_run(&run, STRANGE(strange_hostile));
    assay_report *report = assay_report_create(format_named("jsonl"), &sink, &style);
    assert_non_null(report);
    assay_report_begin(report, &run);
    write_groups(&kinds[k], groups, report);
    assay_report_end(report);
    assay_report_destroy(report);
    return fflush(stdout) ? 1 : 0;
}
