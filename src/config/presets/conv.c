/* conv: a convolution; and a depthwise one with a 1 x 1 convolution behind it, unless pointwise is
 * false. Both are padded with half their kernel unless told: one row and column more than the image
 * has where the kernel is even. KoBench counts one operation an element for the depthwise one. */
#include "config/preset.h"

/* Rows and columns of the output. */
#define OUT(size)                                                                                  \
    "((" size " + 2*padding - kernel - (" size " + 2*padding - kernel)%stride)/stride + 1)"
#define PIXELS "batch*" OUT("height") "*" OUT("width")

static const char *const truths[] = {"false", "true", NULL};
static const char *const depthwise_models[] = {"depthwise", "depthwise_separable"};

static const struct assay_preset_case cases[] = {
    {.name = "conv2d",
     .model = "conv2d",
     .parameters = {{"batch", 4},
                    {"in_channels", 128},
                    {"out_channels", 256},
                    {"height", 64},
                    {"width", 64},
                    {"kernel", 3},
                    {"padding", 1},
                    {"stride", 1}},
     .zeros = 1u << 6,
     .follows = {[6] = "(kernel - kernel%2)/2"},
     .macs = PIXELS "*out_channels*kernel*kernel*in_channels"},
    {.name = "depthwise_conv2d",
     .model = "depthwise_separable",
     .parameters = {{"batch", 4},
                    {"channels", 256},
                    {"height", 64},
                    {"width", 64},
                    {"kernel", 3},
                    {"padding", 1},
                    {"stride", 1},
                    {"pointwise", 1}},
     .zeros = 1u << 5 | 1u << 7,
     .follows = {[5] = "(kernel - kernel%2)/2"},
     .words = {[7] = truths},
     .choice = "pointwise",
     .models = depthwise_models,
     .macs = PIXELS "*channels*(kernel*kernel + pointwise*channels)",
     .flops = PIXELS "*channels"},
    {0},
};

extern const struct assay_preset assay_preset_conv;
const struct assay_preset assay_preset_conv = {
    .name = "conv", .summary = "convolutions, dense and depthwise with 1 x 1", .cases = cases};
