#include "base/suggest.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Words of other tools, separated by blanks, and what assay calls it: a name where the command has
 * it, else a hint. */
struct row {
    enum assay_topic topic;
    const char *words, *name, *hint;
};

#define NO_NORM "there is no such norm; layernorm, rmsnorm and groupnorm are there"
#define FLOAT8_RECIPES "8-bit floats are the recipes float8wo, float8dq-row and float8dq-tensor"
#define BITS_8 "no op computes in 8-bit floats; linear takes weights in them: --recipe float8wo"
#define BITS_4 "no op computes in 4 bits; linear takes weights in them: --recipe int4wo-128"

/* clang-format off */
static const struct row rows[] = {
    {ASSAY_TOPIC_OP, "gemm matmul mm bmm addmm dense fc gemv dot sgemm hgemm", "linear", NULL},
    {ASSAY_TOPIC_OP, "ln norm", "layernorm", NULL},
    {ASSAY_TOPIC_OP, "rms", "rmsnorm", NULL},
    {ASSAY_TOPIC_OP, "gn", "groupnorm", NULL},
    {ASSAY_TOPIC_OP, "batchnorm batch_norm bn instancenorm instance_norm", NULL, NO_NORM},
    {ASSAY_TOPIC_OP, "attn flash flash_attention flashattention mha scaled_dot_product_attention", "attention", NULL},
    {ASSAY_TOPIC_OP, "conv1d conv3d convolution", "conv2d", NULL},
    {ASSAY_TOPIC_OP, "glu geglu silu_and_mul", "swiglu", NULL},
    {ASSAY_TOPIC_OP, "tanh", "gelu_tanh", NULL},
    {ASSAY_TOPIC_OP, "l2_loss", "mse", NULL},
    {ASSAY_TOPIC_OP, "nll xent nll_loss", "cross_entropy", NULL},
    {ASSAY_TOPIC_OP, "memcpy stream", "copy", NULL},
    {ASSAY_TOPIC_OP, "all", NULL, "name the ops (`assay list ops`), or none for a tour"},

    {ASSAY_TOPIC_DEVICE, "gpu nvidia cuda0 gpu0", "cuda", NULL},
    {ASSAY_TOPIC_DEVICE, "host x86 amx avx512", "cpu", NULL},
    {ASSAY_TOPIC_DEVICE, "rocm hip amd metal vulkan tpu npu", NULL, "there are cpu and cuda"},

    {ASSAY_TOPIC_DTYPE, "fp8 float8 f8", NULL, BITS_8},
    {ASSAY_TOPIC_DTYPE, "int4 i4 s4 fp4 f4 nvfp4 mxfp4", NULL, BITS_4},
    {ASSAY_TOPIC_DTYPE, "tf32 single", "f32", NULL},
    {ASSAY_TOPIC_DTYPE, "bf brain", "bf16", NULL},

    {ASSAY_TOPIC_RECIPE, "int4 i4 w4a16 awq gptq q4 uint4", "int4wo-128", NULL},
    {ASSAY_TOPIC_RECIPE, "int8 i8 w8a16 q8", "int8wo", NULL},
    {ASSAY_TOPIC_RECIPE, "w8a8", "int8dq", NULL},
    {ASSAY_TOPIC_RECIPE, "fp8 float8 f8 e4m3", NULL, FLOAT8_RECIPES},
    {ASSAY_TOPIC_RECIPE, "tensorwise", "float8dq-tensor", NULL},
    {ASSAY_TOPIC_RECIPE, "rowwise axiswise", "float8dq-row", NULL},
    {ASSAY_TOPIC_RECIPE, "rowwise_with_gw_hp rowwise-with-gw-hp rowwise-gw-hp",
     "float8dq-row-gw-hp", NULL},
    {ASSAY_TOPIC_RECIPE, "none bf16 bfloat16 fp16 f16 float16 fp32 f32", "baseline", NULL},

    {ASSAY_TOPIC_OPTION, "json", NULL, "write -o FILE.json, or -f json for standard output"},
    {ASSAY_TOPIC_OPTION, "csv", NULL, "write -o FILE.csv, or -f csv for standard output"},
    {ASSAY_TOPIC_OPTION, "md markdown", NULL, "write -o FILE.md, or -f md for standard output"},
    {ASSAY_TOPIC_OPTION, "out outfile save file log", "output", NULL},
    {ASSAY_TOPIC_OPTION, "gpu cuda", NULL, "write --device cuda"},
    {ASSAY_TOPIC_OPTION, "cpu", NULL, "write --device cpu"},
    {ASSAY_TOPIC_OPTION, "list", NULL, "`assay list` shows ops, kernels, recipes, shapes and more"},
    {ASSAY_TOPIC_OPTION, "version", NULL, "write `assay --version`"},
    {ASSAY_TOPIC_OPTION, "no-color no-colour color colour", NULL, "set NO_COLOR=1, or write --ascii"},
    {ASSAY_TOPIC_OPTION, "size sizes dims mkn", "shape", NULL},
    {ASSAY_TOPIC_OPTION, "type data-type", "dtype", NULL},
    {ASSAY_TOPIC_OPTION, "iter repeat repeats reps rep runs samples n", "iters", NULL},
    {ASSAY_TOPIC_OPTION, "time duration min-time max-time seconds", "budget", NULL},
    {ASSAY_TOPIC_OPTION, "warm-up warmups warmup-iters", "warmup", NULL},
    {ASSAY_TOPIC_OPTION, "backend backends implementation implementations lib", "impl", NULL},
    {ASSAY_TOPIC_OPTION, "quant quantize quantization scheme", "recipe", NULL},
    {ASSAY_TOPIC_OPTION, "num-threads nthreads cores jobs", "threads", NULL},
    {ASSAY_TOPIC_OPTION, "debug", "verbose", NULL},
    {ASSAY_TOPIC_OPTION, "dryrun plan", "dry-run", NULL},
    {ASSAY_TOPIC_OPTION, "full all", "sweep", NULL},

    {ASSAY_TOPIC_CACHE, "warm cached l1 l2 l3", "hot", NULL},
    {ASSAY_TOPIC_CACHE, "dram memory flush flushed none", "cold", NULL},
    {ASSAY_TOPIC_CACHE, "all", "both", NULL},

    {ASSAY_TOPIC_FORMAT, "markdown", "md", NULL},
    {ASSAY_TOPIC_FORMAT, "text txt terminal", "table", NULL},
    {ASSAY_TOPIC_FORMAT, "torch", "pytorch", NULL},
    {ASSAY_TOPIC_FORMAT, "png", NULL, "write -o FILE.png"},
    {ASSAY_TOPIC_FORMAT, "chart image picture", "svg", NULL},
    {ASSAY_TOPIC_FORMAT, "page web htm", "html", NULL},

    {ASSAY_TOPIC_CHART, "bar bars barchart speedup-bars", "speedup", NULL},
    {ASSAY_TOPIC_CHART, "line lines scaling", "sweep", NULL},
    {ASSAY_TOPIC_CHART, "heatmap grid matrix map", "heat", NULL},
    {ASSAY_TOPIC_CHART, "histogram hist violin box density samples strip", "distribution", NULL},
    {ASSAY_TOPIC_CHART, "timeline trace timeseries time-series order", "series", NULL},
    {ASSAY_TOPIC_CHART, "scatter frontier recipes", "pareto", NULL},
    {ASSAY_TOPIC_CHART, "eager compile", "compiled", NULL},
    {ASSAY_TOPIC_CHART, "roof ceilings", "roofline", NULL},
    {ASSAY_TOPIC_CHART, "failures errors", "outcome", NULL},
};
/* clang-format on */

static bool has_word(const char *words, const char *word)
{
    char one[64];
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (assay_text_same(one, word))
            return true;
        at += length;
    }
    return false;
}

static const char *find_same(const char *name, const char *const *candidates, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (assay_text_same(candidates[i], name))
            return candidates[i];
    return NULL;
}

struct assay_suggestion assay_suggest(enum assay_topic topic, const char *word,
                                      const char *const *candidates, int64_t n)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].topic != topic || !has_word(rows[i].words, word))
            continue;
        const char *name = rows[i].name ? find_same(rows[i].name, candidates, n) : NULL;
        if (name || rows[i].hint)
            return (struct assay_suggestion){.name = name, .hint = name ? NULL : rows[i].hint};
    }
    return (struct assay_suggestion){.name = assay_text_nearest(word, candidates, n)};
}

const char *assay_suggest_text(enum assay_topic topic, const char *word,
                               const char *const *candidates, int64_t n, const char *otherwise,
                               char *buf, size_t size)
{
    struct assay_suggestion found = assay_suggest(topic, word, candidates, n);
    if (found.name)
        snprintf(buf, size, "did you mean \"%s\"?", found.name);
    else
        snprintf(buf, size, "%s", found.hint ? found.hint : otherwise);
    return buf;
}
