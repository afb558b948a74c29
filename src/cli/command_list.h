/* One line for each command, in the order of the help. No include guard. */
ASSAY_COMMAND(bench)
ASSAY_COMMAND(run)
ASSAY_COMMAND(ci)
ASSAY_COMMAND(preset)
ASSAY_COMMAND(kernel)
ASSAY_COMMAND(list)
ASSAY_COMMAND(info)
ASSAY_COMMAND(help)
