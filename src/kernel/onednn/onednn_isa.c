/* onednn_isa.c: with AMX or without: who can run, and what the row says of it. */
#include "kernel/onednn/onednn_isa.h"

#include "device/cpu/cpu_info.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- who can run ----------------------------------------------------------------------------- */

/* The types for which the library has AMX. */
static bool wants_amx(const struct assay_problem *problem)
{
    return problem && problem->dtype != ASSAY_DTYPE_F32 && assay_cpu_has(ASSAY_CPU_AMX_TILE);
}

enum assay_status assay_onednn_isa_can_run(const struct assay_problem *problem,
                                           struct assay_error *why)
{
    enum assay_status status = assay_onednn_can_run(problem, why);
    if (status != ASSAY_OK || !wants_amx(problem))
        return status;
    bool hidden = assay_cpu_info()->amx_leaf_hidden;
    if (hidden && (assay_onednn_amx_left_out() || !assay_onednn_users_limit()))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "its AMX path dies here (SIGILL): CPUID leaf 0x1D is hidden");
    if (assay_onednn_amx_left_out())
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "oneDNN was used without AMX in this process before");
    return ASSAY_OK;
}

enum assay_status assay_onednn_isa_can_run_avx512(const struct assay_problem *problem,
                                                  struct assay_error *why)
{
    enum assay_status status = assay_onednn_can_run(problem, why);
    if (status == ASSAY_OK && !assay_cpu_has(ASSAY_CPU_AMX_TILE))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "no AMX here to be left out: %s_onednn is the same",
                               problem ? problem->op : "OP");
    return status;
}

/* ---- what a reader should know ----------------------------------------------------------------
 */

static const char *best_isa(const struct assay_problem *problem)
{
    static const struct {
        uint32_t isa;
        const char *name;
    } names[] = {
        {ASSAY_CPU_AMX_TILE, "AMX"},
        {ASSAY_CPU_AVX512_BF16, "AVX-512 BF16"},
        {ASSAY_CPU_AVX512_VNNI, "AVX-512 VNNI"},
        {ASSAY_CPU_AVX512, "AVX-512"},
        {ASSAY_CPU_AVX2, "AVX2"},
    };
    size_t i = problem->dtype == ASSAY_DTYPE_F32 ? 3 : 0;
    for (; i < sizeof names / sizeof names[0]; i++)
        if (assay_cpu_has(names[i].isa))
            return names[i].name;
    return "SSE";
}

/* Called before setup, so it must not ask the library, which would settle its instruction sets. */
void assay_onednn_isa_note(const struct assay_problem *problem, char *text, size_t size)
{
    const struct assay_dnnl_api *dnnl;
    if (assay_onednn_api(&dnnl, NULL) != ASSAY_OK)
        return;
    const struct assay_dnnl_version *v = dnnl->version();
    const char *limit = assay_onednn_users_limit();
    if (limit)
        snprintf(text, size, "oneDNN %d.%d.%d, %s=%s", v->major, v->minor, v->patch, limit,
                 getenv(limit));
    else
        snprintf(text, size, "oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch,
                 best_isa(problem));
}

void assay_onednn_isa_note_avx512(const struct assay_problem *problem, char *text, size_t size)
{
    (void)problem;
    const struct assay_dnnl_api *dnnl;
    if (assay_onednn_api(&dnnl, NULL) != ASSAY_OK)
        return;
    const struct assay_dnnl_version *v = dnnl->version();
    snprintf(text, size, "oneDNN %d.%d.%d, AVX-512 BF16 (AMX left out%s)", v->major, v->minor,
             v->patch, assay_cpu_info()->amx_leaf_hidden ? ": CPUID leaf 0x1D is hidden here" : "");
}
