/* shape_list.h: one line for each set of shapes, in the order `assay list shapes` has. No include
 * guard. */
ASSAY_SHAPES(llama)
ASSAY_SHAPES(llama4)
ASSAY_SHAPES(deepseek_v3_236b)
ASSAY_SHAPES(deepseek_v3_671b)
ASSAY_SHAPES(qwen3_32b)
ASSAY_SHAPES(gemma3_27b)
ASSAY_SHAPES(pow2)
ASSAY_SHAPES(pow2_extended)
ASSAY_SHAPES(small_sweep)
ASSAY_SHAPES(sweep)
