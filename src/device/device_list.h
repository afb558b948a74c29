/* One line for each device, in the order `assay list devices` shows them. No include guard. */
ASSAY_DEVICE(cpu)
ASSAY_DEVICE(cuda)
