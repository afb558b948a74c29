/* conv: a convolution of stride 1; and a depthwise one, padded with half its kernel, with a 1 x 1
 * convolution behind it: one row and column more than the image has where the kernel is even.
 * KoBench counts one operation an element for the depthwise one. */
#include "config/preset.h"

static const struct assay_preset_case cases[] = {
    {.name = "conv2d",
     .model = "conv2d",
     .parameters = {{"batch", 4},
                    {"in_channels", 128},
                    {"out_channels", 256},
                    {"height", 64},
                    {"width", 64},
                    {"kernel", 3},
                    {"padding", 1}},
     .zeros = 1u << 6,
     .macs = "batch*out_channels*(height + 2*padding - kernel + 1)*(width + 2*padding - kernel + 1)"
             "*kernel*kernel*in_channels"},
    {.name = "depthwise_conv2d",
     .model = "depthwise_separable",
     .parameters = {{"batch", 4}, {"channels", 256}, {"height", 64}, {"width", 64}, {"kernel", 3}},
     .macs = "batch*(height + 1 - kernel%2)*(width + 1 - kernel%2)*channels"
             "*(kernel*kernel + channels)",
     .flops = "batch*(height + 1 - kernel%2)*(width + 1 - kernel%2)*channels"},
    {0},
};

extern const struct assay_preset assay_preset_conv;
const struct assay_preset assay_preset_conv = {
    .name = "conv", .summary = "convolutions, dense and depthwise with 1 x 1", .cases = cases};
