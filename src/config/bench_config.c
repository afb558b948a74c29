#include "config/bench_config.h"

#include "config/sweep.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct assay_bench_config, field)

static const struct assay_option bench_option_rows[] = {
    {"batch", 0, ASSAY_OPTION_TEXT, AT(batch), "LIST",
     "sizes of the first axis: 16,32 or 16:128:x2 or 256:1024:+256", 0, 0},
    {"seq", 0, ASSAY_OPTION_TEXT, AT(seq), "LIST", "sizes of the second axis", 0, 0},
    {"dim", 0, ASSAY_OPTION_TEXT, AT(dim), "LIST", "sizes of the last axis", 0, 0},
    {"shape", 0, ASSAY_OPTION_LIST, AT(shapes), "LIST",
     "whole shapes: MxKxN for linear, MxK for quantize, BATCHxSEQxHEADSxDIM for attention, else "
     "BATCHxSEQxDIM",
     0, 0},
    {"shapes", 0, ASSAY_OPTION_LIST, AT(shape_sets), "LIST",
     "sets of shapes for linear: llama, pow2, pow2:10:12 (`assay list shapes`)", 0, 0},
    {"mode", 0, ASSAY_OPTION_LIST, AT(modes), "LIST",
     "of ops that have modes (`assay list ops`): bias+gelu, s8-row; none: the plain one", 0, 0},
    {"recipe", 0, ASSAY_OPTION_LIST, AT(recipes), "LIST",
     "how linear's weights are stored: int8wo, int4wo-128, all (`assay list recipes`); baseline is "
     "always among them",
     0, 0},
    {"dtype", 0, ASSAY_OPTION_LIST, AT(dtypes), "LIST",
     "element types: f32 (default), bf16, f16; of linear also s8", 0, 0},
    {"impl", 0, ASSAY_OPTION_LIST, AT(implementations), "LIST",
     "implementations to compare: native, onednn, ref (default: all)", 0, 0},
    {"kernel", 0, ASSAY_OPTION_LIST, AT(kernels), "LIST",
     "exactly these kernels (`assay list kernels`), or all of an op's", 0, 0},
    {"cache", 0, ASSAY_OPTION_TEXT, AT(cache), "STATE", "hot, cold or both (default)", 0, 0},
    {"threads", 't', ASSAY_OPTION_INT, AT(threads), "N",
     "threads of CPU kernels (default: all cores)", 1, 4096},
    {"precision", 0, ASSAY_OPTION_FRACTION, AT(precision), "P",
     "stop when every interval is within ±P (default 1%)", 1e-5, 0.5},
    {"budget", 0, ASSAY_OPTION_DURATION, AT(budget_s), "TIME",
     "stop after so long for each group and cache state (default 2s; tour 0.4s)", 1e-3, 86400},
    {"warmup", 0, ASSAY_OPTION_INT, AT(warmup), "N",
     "warm up with N calls, beside those that find a sample's length", 1, 1e9},
    {"iters", 0, ASSAY_OPTION_INT, AT(rounds), "N", "take exactly N samples of each variant", 1,
     1e6},
    {"baseline", 0, ASSAY_OPTION_TEXT, AT(baseline), "IMPL",
     "what speedups refer to (default: onednn where it runs, else ref; native with --recipe)", 0,
     0},
    {"seed", 0, ASSAY_OPTION_INT, AT(seed), "N", "of inputs and order (default 0)", 0, 9e18},
    {"timeout", 0, ASSAY_OPTION_DURATION, AT(timeout_s), "TIME",
     "give up a kernel that does not answer for so long (default 60s)", 0.05, 86400},
    {"max-elements", 0, ASSAY_OPTION_SIZE, AT(max_elements), "N",
     "skip larger inputs; 0: none (default 50M in sweeps over batch, seq and dim)", 0, 9e18},
    {"memory-limit", 0, ASSAY_OPTION_SIZE, AT(memory_limit), "SIZE",
     "memory the measuring process may use (default: what is free)", 0, 9e18},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(outputs), "FILE",
     "also write FILE, in the format of its extension or as FORMAT:FILE; repeatable", 0, 0},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(format), "FORMAT",
     "of --output, or of standard output where there is none (`assay list formats`)", 0, 0},
    {"resume", 0, ASSAY_OPTION_TEXT, AT(resume), "RUN",
     "go on with an earlier run: its id, \"last\", or a journal file", 0, 0},
    {"plugin", 0, ASSAY_OPTION_REPEAT, AT(plugins), "FILE",
     "load kernels from a shared object (assay_kernel.h); repeatable", 0, 0},
    {"device", 0, ASSAY_OPTION_TEXT, AT(device), "NAME",
     "where to run: cpu, cuda or cuda:N (default cpu)", 0, 0},
    {"strict-device", 0, ASSAY_OPTION_FLAG, AT(strict_device), NULL,
     "fail if the device is not here, instead of falling back to the cpu", 0, 0},
    {"autotune", 0, ASSAY_OPTION_FLAG, AT(autotune), NULL,
     "have libraries that offer several algorithms (cuBLASLt) time them all first", 0, 0},
    {"energy", 0, ASSAY_OPTION_FLAG, AT(energy), NULL,
     "also measure the energy of a call, where the device has a counter (half a second each)", 0,
     0},
    {"in-process", 0, ASSAY_OPTION_FLAG, AT(in_process), NULL,
     "run kernels in this process, for debuggers: a crash ends everything", 0, 0},
    {"wait", 0, ASSAY_OPTION_FLAG, AT(wait), NULL, "wait for another run to end instead of failing",
     0, 0},
    {"quiet", 'q', ASSAY_OPTION_FLAG, AT(quiet), NULL,
     "no table, no progress: only files and errors", 0, 0},
    {"verbose", 'v', ASSAY_OPTION_FLAG, AT(verbose), NULL,
     "samples, quartiles, disturbances and accuracy of each row", 0, 0},
    {"ascii", 0, ASSAY_OPTION_FLAG, AT(ascii), NULL, "a table without characters beyond ASCII", 0,
     0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(help), NULL, "this text", 0, 0},
    {0},
};

const struct assay_option_table assay_bench_options = {
    .options = bench_option_rows, .words_offset = AT(ops), .words = "[OP...]"};

void assay_bench_config_init(struct assay_bench_config *config)
{
    *config = (struct assay_bench_config){
        .cache = "both",
        .device = "cpu",
        .max_elements = -1,
        .timeout_s = 60,
    };
}

void assay_bench_config_fini(struct assay_bench_config *config)
{
    assay_options_fini(&assay_bench_options, config);
}

static const double TOUR_BUDGET_S = 0.4;

static enum assay_status parse_cache(const char *text, struct assay_settings *s,
                                     struct assay_error *err)
{
    s->hot = assay_text_same(text, "hot") || assay_text_same(text, "both");
    s->cold = assay_text_same(text, "cold") || assay_text_same(text, "both");
    if (s->hot || s->cold)
        return ASSAY_OK;
    static const char *const names[] = {"hot", "cold", "both"};
    const char *nearest = assay_text_nearest(text, names, 3);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--cache takes hot, cold or both, not \"%s\"; did you mean \"%s\"?",
                           text, nearest ? nearest : "both");
}

static enum assay_status settle_device(const struct assay_bench_config *c, struct assay_settings *s,
                                       void (*warn)(const char *), struct assay_error *err)
{
    const struct assay_device_driver *driver;
    int32_t index;
    struct assay_error why = {0};
    enum assay_status status = assay_device_parse(c->device, &driver, &index, &why);
    if (status == ASSAY_OK) {
        snprintf(s->device, sizeof s->device, "%s", driver->name);
        if (index > 0)
            snprintf(s->device, sizeof s->device, "%s:%d", driver->name, index);
        return ASSAY_OK;
    }
    if (status != ASSAY_UNSUPPORTED)
        return assay_error_set(err, status, NULL, "%s", why.message);
    if (c->strict_device)
        return assay_error_set(err, ASSAY_UNSUPPORTED, c->device, "%s", why.message);
    char text[640];
    snprintf(text, sizeof text, "device \"%s\" is not here (%s); using the cpu instead", c->device,
             why.message);
    warn(text);
    snprintf(s->device, sizeof s->device, "cpu");
    return ASSAY_OK;
}

/* Plug-ins are code of others: only the worker opens them, and it then checks the names again. */
static enum assay_status check_plugin_files(const struct assay_strings *plugins,
                                            struct assay_error *err)
{
    for (int64_t i = 0; i < plugins->n; i++)
        if (access(plugins->items[i], R_OK) != 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, plugins->items[i],
                                   "this plug-in cannot be read: %s", strerror(errno));
    return ASSAY_OK;
}

static enum assay_status check_kernels(const struct assay_bench_config *c, struct assay_error *err)
{
    if (c->plugins.n)
        return check_plugin_files(&c->plugins, err);
    assay_kernel_registry *registry = assay_kernel_registry_create();
    if (!registry)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    struct assay_kernel_choice choice = {
        .implementations = (const char *const *)c->implementations.items,
        .n_implementations = c->implementations.n,
        .kernels = (const char *const *)c->kernels.items,
        .n_kernels = c->kernels.n,
        .baseline = c->baseline,
    };
    enum assay_status status = assay_kernel_check_choice(registry, &choice, err);
    assay_kernel_registry_destroy(registry);
    return status;
}

static enum assay_status make_settings(const struct assay_bench_config *c,
                                       const struct assay_sweep *sweep, struct assay_settings *s,
                                       void (*warn)(const char *), struct assay_error *err)
{
    *s = (struct assay_settings){
        .threads = c->threads ? (int32_t)c->threads : assay_cpu_info()->cores,
        .precision = c->precision > 0 ? c->precision : 0.01,
        .budget_s = c->budget_s > 0  ? c->budget_s
                    : sweep->is_tour ? TOUR_BUDGET_S
                                     : 2,
        .timeout_s = c->timeout_s,
        .warmup = c->warmup,
        .rounds = c->rounds,
        .seed = (uint64_t)c->seed,
        .memory_limit = c->memory_limit,
        .energy = c->energy,
        .autotune = c->autotune,
    };
    if (s->threads > assay_cpu_info()->cores)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--threads %d is more than the %d cores this process may use",
                               s->threads, assay_cpu_info()->cores);
    if (c->baseline)
        snprintf(s->baseline, sizeof s->baseline, "%s", c->baseline);
    enum assay_status status = parse_cache(c->cache, s, err);
    if (status == ASSAY_OK)
        status = settle_device(c, s, warn, err);
    if (status == ASSAY_OK)
        status = check_kernels(c, err);
    if (status != ASSAY_OK)
        return status;
    if (assay_strings_copy(&c->implementations, &s->implementations) != ASSAY_OK ||
        assay_strings_copy(&c->kernels, &s->kernels) != ASSAY_OK ||
        assay_strings_copy(&c->plugins, &s->plugins) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    return assay_sweep_recipes(sweep, &s->recipes, err);
}

enum assay_status assay_bench_plan(const struct assay_bench_config *config, struct assay_plan *out,
                                   void (*warn)(const char *text), struct assay_error *err)
{
    struct assay_sweep sweep;
    *out = (struct assay_plan){0};
    enum assay_status status = assay_sweep_init(&sweep, config, err);
    if (status == ASSAY_OK)
        status = make_settings(config, &sweep, &out->settings, warn, err);
    if (status == ASSAY_OK)
        status = assay_sweep_plan(&sweep, out, err);
    assay_sweep_fini(&sweep);
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}
