/* preset_list.h: one line for each preset, in the order `assay preset --list` has. No include
 * guard.
 */
ASSAY_PRESET(attn)
ASSAY_PRESET(mlp)
ASSAY_PRESET(conv)
ASSAY_PRESET(norm)
ASSAY_PRESET(transformer)
ASSAY_PRESET(sdres)
