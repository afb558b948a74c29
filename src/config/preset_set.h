/* preset_set.h: parameters of presets as --set gives them: "seq_len=4096", "attn.seq_len=…",
 * "mlp_gelu.hidden_dim=4096,8192", "seq_len=1024:8192:x2", "activation=relu". KoBench's names are
 * known too: batch_size, kernel_size, and image_size, which is height and width. */
#ifndef ASSAY_CONFIG_PRESET_SET_H
#define ASSAY_CONFIG_PRESET_SET_H

#include "config/axis.h"
#include "config/preset.h"
#include "record/plan.h"

enum { ASSAY_PRESET_SETS = 64 };

struct assay_preset_set {
    char scope[64]; /* a preset or a case; empty: every case that has the parameter */
    char name[48];
    char written[48]; /* the name as it was given */
    int64_t text;     /* which of the texts it is from: two of one text change together */
    struct assay_axis values;
};

struct assay_preset_sets {
    struct assay_preset_set items[2 * ASSAY_PRESET_SETS]; /* a text may be two */
    int64_t n;
};

/* Reads them and checks that each names a parameter of these presets; the error names the nearest
 * and lists what there is. Release also after a failure. */
enum assay_status assay_preset_sets_read(const struct assay_strings *texts,
                                         const struct assay_preset *const *presets,
                                         int64_t n_presets, struct assay_preset_sets *out,
                                         struct assay_error *err);
void assay_preset_sets_fini(struct assay_preset_sets *sets);

/* What the sets say of a case's parameter: the last that applies; NULL: nothing. */
const struct assay_preset_set *assay_preset_sets_find(const struct assay_preset_sets *sets,
                                                      const struct assay_preset *preset,
                                                      const struct assay_preset_case *c,
                                                      const char *parameter);

#endif
