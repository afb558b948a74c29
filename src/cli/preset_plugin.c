/* preset_plugin.c: the shared object is opened in a child of this process; there its cases are
 * cases of the library (assay.h), which measures them, guarded, and writes table and JSON. */
#include "cli/preset_plugin.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "config/preset_set.h"
#include "device/device.h"
#include "tensor/dtype.h"
#include <assay/assay.h>
#include <assay/assay_preset.h>

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CASES = 64, MOST_BOUND = 4096 };

/* A case for given values of its parameters. */
struct bound {
    const struct assay_preset_entry *entry;
    char name[192]; /* the entry's, with what differs in a sweep: "one_sum length=100" */
    int64_t values[ASSAY_PRESET_MOST_PARAMETERS];
    struct assay_metadata metadata[ASSAY_PRESET_MOST_PARAMETERS];
    const char *device;
    enum assay_dtype dtype;
    void *state;
};

/* A shared object on its way to results. */
struct plugin {
    const struct assay_preset_options *options;
    const char *path;
    const struct assay_preset_plugin *own;
    struct assay_preset preset; /* the same as the built-in ones are, for --set and --list */
    struct assay_preset_case cases[MOST_CASES + 1];
    struct bound *bound;
    int32_t n_bound;
};

static const char *only_name(const struct assay_preset_options *options)
{
    return options->words.n + options->presets.n != 1 ? NULL
           : options->words.n                         ? options->words.items[0]
                                                      : options->presets.items[0];
}

static bool is_plugin(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

bool assay_preset_plugin_named(const struct assay_preset_options *options)
{
    for (int64_t i = 0; i < options->words.n; i++)
        if (is_plugin(options->words.items[i]))
            return true;
    for (int64_t i = 0; i < options->presets.n; i++)
        if (is_plugin(options->presets.items[i]))
            return true;
    return false;
}

/* ---- the shared object ---------------------------------------------------------------------- */

static enum assay_status check_entry(const struct plugin *p, const struct assay_preset_entry *entry,
                                     struct assay_error *err)
{
    if (!entry->name || !entry->name[0] || !entry->run)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->path,
                               "has a case without a name or without run");
    for (int i = 0; i < ASSAY_PRESET_MOST_PARAMETERS && entry->parameters[i].name; i++)
        if (!assay_expression_is_name(entry->parameters[i].name) || entry->parameters[i].value < 0)
            return assay_error_set(
                err, ASSAY_ERR_INVALID, p->path,
                "case %s: \"%.40s\" is not a parameter with a default of at least 0", entry->name,
                entry->parameters[i].name);
    return ASSAY_OK;
}

static enum assay_status check_plugin(const struct plugin *p, struct assay_error *err)
{
    const struct assay_preset_plugin *own = p->own;
    if (!own || own->struct_size < sizeof *own || own->abi != ASSAY_PRESET_ABI)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->path,
                               "was built for another assay_preset.h: it has ABI %u, this is %u",
                               own ? own->abi : 0, ASSAY_PRESET_ABI);
    if (!own->name || own->n_entries < 1 || own->n_entries > MOST_CASES || !own->entries)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->path,
                               "has no name, or not between 1 and %d cases", MOST_CASES);
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < own->n_entries && status == ASSAY_OK; i++)
        status = check_entry(p, &own->entries[i], err);
    return status;
}

/* As the table of presets has them, without counters: those are functions. */
static void describe(struct plugin *p)
{
    for (int32_t i = 0; i < p->own->n_entries; i++) {
        const struct assay_preset_entry *entry = &p->own->entries[i];
        struct assay_preset_case *c = &p->cases[i];
        c->name = entry->name;
        for (int k = 0; k < ASSAY_PRESET_MOST_PARAMETERS && entry->parameters[k].name; k++) {
            c->parameters[k] = (struct assay_preset_parameter){entry->parameters[k].name,
                                                               entry->parameters[k].value};
            c->zeros |= entry->parameters[k].value == 0 ? 1u << k : 0;
        }
    }
    p->preset =
        (struct assay_preset){.name = p->own->name, .summary = p->own->summary, .cases = p->cases};
}

static enum assay_status open_plugin(struct plugin *p, struct assay_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", strchr(p->path, '/') ? "" : "./", p->path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->path, "cannot be opened: %s", dlerror());
    union {
        void *symbol;
        const struct assay_preset_plugin *(*function)(void);
    } entry = {.symbol = dlsym(library, "assay_preset_plugin")};
    if (!entry.symbol)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->path,
                               "has no assay_preset_plugin (assay_preset.h)");
    p->own = entry.function();
    enum assay_status status = check_plugin(p, err);
    if (status == ASSAY_OK)
        describe(p);
    return status;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static int set_up(void *argument)
{
    struct bound *b = argument;
    struct assay_preset_setting setting = {sizeof setting, b->dtype, b->device, b->values};
    return b->entry->setup ? b->entry->setup(&setting, &b->state) : 0;
}

static int run_case(void *argument)
{
    const struct bound *b = argument;
    return b->entry->run(b->state);
}

static void tear_down(void *argument)
{
    const struct bound *b = argument;
    if (b->entry->teardown)
        b->entry->teardown(b->state);
}

static double count_macs(const struct assay_case *self)
{
    const struct bound *b = self->argument;
    return b->entry->macs(b->values);
}

static double count_flops(const struct assay_case *self)
{
    const struct bound *b = self->argument;
    return b->entry->flops(b->values);
}

/* Every combination of the values of the parameters from this one on. */
static enum assay_status bind_values(struct plugin *p, const struct assay_preset_sets *sets,
                                     struct bound *b, int64_t parameter, struct assay_error *err)
{
    const struct assay_preset_case *c = &p->cases[b->entry - p->own->entries];
    enum assay_status status = ASSAY_OK;
    if (parameter == assay_preset_case_parameters(c)) {
        if (p->n_bound == MOST_BOUND)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "more than %d cases", MOST_BOUND);
        p->bound[p->n_bound++] = *b;
        return ASSAY_OK;
    }
    const char *name = c->parameters[parameter].name;
    const struct assay_preset_set *set = assay_preset_sets_find(sets, &p->preset, c, name);
    const struct assay_axis *axis = set ? &set->values : NULL;
    size_t named = strlen(b->name);
    for (int64_t i = 0; i < (axis ? axis->n : 1) && status == ASSAY_OK; i++) {
        b->values[parameter] = axis ? axis->values[i] : c->parameters[parameter].value;
        b->metadata[parameter] =
            (struct assay_metadata){.key = name, .number = (double)b->values[parameter]};
        b->name[named] = '\0';
        if (axis && axis->n > 1)
            snprintf(b->name + named, sizeof b->name - named, " %s=%lld", name,
                     (long long)b->values[parameter]);
        status = bind_values(p, sets, b, parameter + 1, err);
    }
    return status;
}

static enum assay_status bind_cases(struct plugin *p, struct assay_error *err)
{
    const struct assay_preset *presets[] = {&p->preset};
    struct assay_preset_sets sets;
    enum assay_status status = assay_preset_sets_read(&p->options->sets, presets, 1, &sets, err);
    p->bound = assay_calloc(MOST_BOUND, sizeof *p->bound);
    if (status == ASSAY_OK && !p->bound)
        status = assay_error_nomem(err);
    for (int32_t i = 0; i < p->own->n_entries && status == ASSAY_OK; i++) {
        struct bound b = {.entry = &p->own->entries[i]};
        snprintf(b.name, sizeof b.name, "%s", b.entry->name);
        status = bind_values(p, &sets, &b, 0, err);
    }
    assay_preset_sets_fini(&sets);
    return status;
}

static enum assay_status run_bound(assay_session *session, const struct plugin *p, struct bound *b,
                                   struct assay_error *err)
{
    struct assay_case one;
    assay_case_init(&one, b->name, run_case, b);
    one.setup = set_up;
    one.teardown = tear_down;
    one.metadata = b->metadata;
    one.n_metadata = (int32_t)assay_preset_case_parameters(&p->cases[b->entry - p->own->entries]);
    one.macs = b->entry->macs ? count_macs : NULL;
    one.flops = b->entry->flops ? count_flops : NULL;
    return assay_session_run(session, &one, err);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* The session that the options ask for; by precision unless they fix the counts. */
static enum assay_status open_session(struct plugin *p, char *device, size_t size,
                                      assay_session **out, struct assay_error *err)
{
    const struct assay_measure_config *m = &p->options->measure;
    struct assay_session_options o;
    assay_session_options_init(&o);
    enum assay_status status = assay_measure_device(m->device ? m->device : "cpu", m->strict_device,
                                                    device, size, assay_warn, err);
    if (status != ASSAY_OK)
        return status;
    bool fixed = m->warmup || m->rounds;
    o.device = device;
    o.dtype = p->options->dtypes.n ? p->options->dtypes.items[0] : NULL;
    o.threads = (int32_t)m->threads;
    o.warmup = m->warmup;
    o.iters = m->rounds;
    o.precision = fixed ? 0 : m->precision > 0 ? m->precision : 0.01;
    o.budget_s = m->budget_s > 0 ? m->budget_s : 0.5;
    o.timeout_s = m->timeout_s;
    o.seed = (uint64_t)m->seed;
    o.isolate = assay_device_is_host(device);
    return assay_session_open(&o, out, err);
}

static enum assay_status write_results(const assay_session *session, const char *format, FILE *file,
                                       struct assay_error *err)
{
    if (format && strcmp(format, "kobench-json") == 0)
        return assay_session_cases_json(session, assay_write_file, file, err);
    return assay_session_cases_table(session, assay_write_file, file, err);
}

/* What of the options has no meaning here is told before anything runs. */
static enum assay_status check_options(const struct assay_preset_options *o,
                                       struct assay_error *err)
{
    const char *format = o->measure.format;
    const char *what =
        !only_name(o)                                  ? "other presets beside it"
        : o->compile                                   ? "--compile"
        : o->choice.implementations.n                  ? "--impl"
        : o->choice.baseline                           ? "--baseline"
        : o->measure.resume                            ? "--resume"
        : o->measure.outputs.n                         ? "--output"
        : o->measure.profile && !o->measure.profile[0] ? "--profile without a file"
        : o->measure.counters                          ? "--counters"
        : o->measure.profile_memory && !o->measure.profile_memory[0]
            ? "--profile-memory without a file"
        : strcmp(o->measure.cache, "hot") != 0 ? "--cache"
        : o->dtypes.n > 1                      ? "several dtypes"
        : format && strcmp(format, "kobench") != 0 && strcmp(format, "kobench-json") != 0
            ? "formats but kobench and kobench-json"
            : NULL;
    return what ? assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                  "a preset that is a shared object is measured without %s", what)
                : ASSAY_OK;
}

static enum assay_status measure_plugin(struct plugin *p, bool *wrong, struct assay_error *err)
{
    assay_session *session = NULL;
    char device[32];
    enum assay_status status = bind_cases(p, err);
    if (status == ASSAY_OK)
        status = open_session(p, device, sizeof device, &session, err);
    if (status == ASSAY_OK && p->options->measure.profile)
        status = assay_session_profile(session, p->options->measure.profile, err);
    if (status == ASSAY_OK && p->options->measure.profile_memory)
        status = assay_session_profile_memory(session, p->options->measure.profile_memory, err);
    for (int32_t i = 0; i < p->n_bound && status == ASSAY_OK; i++) {
        struct assay_error why = {0};
        p->bound[i].device = device;
        enum assay_dtype *dtype = &p->bound[i].dtype;
        *dtype = assay_device_is_host(device) ? ASSAY_DTYPE_F32 : ASSAY_DTYPE_F16;
        if (p->options->dtypes.n)
            status = assay_dtype_parse(p->options->dtypes.items[0], dtype, err);
        if (status != ASSAY_OK)
            break;
        status = run_bound(session, p, &p->bound[i], &why);
        *wrong = *wrong || status == ASSAY_ERR_FAILED;
        if (status != ASSAY_OK && status != ASSAY_ERR_FAILED)
            assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
        status = status == ASSAY_ERR_FAILED ? ASSAY_OK : status;
    }
    if (status == ASSAY_OK)
        status = write_results(session, p->options->measure.format, stdout, err);
    if (status == ASSAY_OK && p->options->measure.profile)
        status = assay_session_profile_end(session, err);
    if (status == ASSAY_OK && p->options->measure.profile_memory)
        status = assay_session_profile_memory_end(session, err);
    assay_session_close(session);
    return status;
}

static int print_list(const struct plugin *p)
{
    struct assay_text text = {0};
    assay_preset_describe(&p->preset, &text);
    return assay_print_text(&text);
}

/* All of it, in the child. */
static int act(const struct assay_preset_options *options)
{
    struct assay_error err = {0};
    struct plugin *p = assay_calloc(1, sizeof *p);
    bool wrong = false;
    if (!p)
        return assay_complain(&(struct assay_error){.code = ASSAY_ERR_NOMEM});
    p->options = options;
    p->path = only_name(options);
    int code = ASSAY_EXIT_FINE;
    enum assay_status status = open_plugin(p, &err);
    if (status == ASSAY_OK && options->list)
        code = print_list(p);
    else if (status == ASSAY_OK)
        status = measure_plugin(p, &wrong, &err);
    assay_free(p->bound);
    assay_free(p);
    return status != ASSAY_OK ? assay_complain(&err) : wrong ? ASSAY_EXIT_WRONG : code;
}

int assay_preset_plugin_run(const struct assay_preset_options *options)
{
    struct assay_error err = {0};
    int how = 0;
    if (check_options(options, &err) != ASSAY_OK)
        return assay_complain(&err);
    pid_t child = fork(); /* nothing is printed yet that would come twice */
    if (child == 0) {
        int code = act(options);
        _exit(fflush(stdout) == 0 || code ? code : ASSAY_EXIT_WRONG);
    }
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(how))
        return WEXITSTATUS(how);
    assay_error_set(&err, ASSAY_ERR_FAILED, only_name(options), "%s%s",
                    child < 0 ? "no process for it: " : "crashed: ",
                    child < 0 ? strerror(errno) : strsignal(WTERMSIG(how)));
    return assay_complain(&err);
}
