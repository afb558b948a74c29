/* sdres: the residual block of a diffusion model: x + conv(silu(gn(conv(silu(gn(x)))))), 3 x 3 and
 * as large as its input. 23 operations an element: two norms of 6, two SiLUs of 5, one addition. */
#include "config/preset.h"

static const struct assay_preset_case cases[] = {
    {.name = "sd_resblock",
     .model = "sd_resblock",
     .parameters = {{"batch", 2}, {"channels", 320}, {"height", 64}, {"width", 64}, {"groups", 32}},
     .multiples = {{"channels", "groups"}},
     .macs = "2*batch*channels*height*width*9*channels",
     .flops = "23*batch*channels*height*width"},
    {0},
};

extern const struct assay_preset assay_preset_sdres;
const struct assay_preset assay_preset_sdres = {
    .name = "sdres", .summary = "a residual block of Stable Diffusion", .cases = cases};
