/* ASSAY_IMPLEMENTATION(name, rank, recipes_rank, own): one line for each implementation of which
 * more is known than its name; all others, plug-ins' among them, have zeros. No include guard.
 *
 * `rank` is that of a baseline: ratios refer to the variant of a group that has the highest.
 * `recipes_rank` takes its place where a group compares recipes, which is done with assay's own
 * kernels. `own`: assay's own, shown for every recipe, also one it refuses. */
ASSAY_IMPLEMENTATION(reference, 6, 6, false) /* of a workload: what its author compares with */
ASSAY_IMPLEMENTATION(eager, 5, 5, false)     /* of a model: node by node */
ASSAY_IMPLEMENTATION(torch, 5, 5, false)     /* what a user of PyTorch has */
ASSAY_IMPLEMENTATION(onednn, 4, 0, false)
ASSAY_IMPLEMENTATION(native, 0, 4, true)
ASSAY_IMPLEMENTATION(cuda, 0, 0, true)
ASSAY_IMPLEMENTATION(cublaslt, 3, 3, false)
ASSAY_IMPLEMENTATION(cudnn, 2, 2, false)
ASSAY_IMPLEMENTATION(ref, 1, 1, false)
