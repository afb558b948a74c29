#include "report/report_kobench.h"

#include "base/text.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct assay_cell assay_kobench_name(const struct assay_record *record, const char *variant)
{
    struct assay_cell cell = {""};
    bool eager = strcmp(record->implementation, "eager") == 0;
    bool plain = !record->recipe[0] || strcmp(record->recipe, "baseline") == 0;
    assay_cell_add(&cell, "%s", record->entry[0] ? record->entry : assay_cell_subject(record));
    if (record->entry[0] && record->pass[0])
        assay_cell_add(&cell, "_%s", record->pass);
    if (variant[0] && !(eager && plain))
        assay_cell_add(&cell, "/%s", variant);
    if (!plain)
        assay_cell_add(&cell, "/%s", record->recipe);
    return cell;
}

const char *assay_kobench_dtype(enum assay_dtype dtype)
{
    const struct assay_dtype_info *info = assay_dtype_info(dtype);
    return !info ? "none" : info->aliases[1] ? info->aliases[1] : info->name;
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* Models of the built-in presets, and what of them is no axis. */
static const struct {
    const char *op;
    struct assay_kobench_parameter constant;
} models[] = {
    {"model:multi_head_attention", {0}},
    {"model:mlp_gelu", {.key = "activation", .text = "gelu"}},
    {"model:mlp_relu", {.key = "activation", .text = "relu"}},
    {"model:mlp_swiglu", {0}},
    {"model:layer_norm", {0}},
    {"model:group_norm", {0}},
    {"model:rms_norm", {.key = "eps", .number = 1e-6}},
    {"model:rms_norm_1e_5", {.key = "eps", .number = 1e-5}},
    {"model:rms_norm_1e_8", {.key = "eps", .number = 1e-8}},
    {"model:conv2d", {.key = "groups", .number = 1}},
    {"model:depthwise_separable", {.key = "pointwise", .number = 1, .truth = true}},
    {"model:depthwise", {.key = "pointwise", .number = 0, .truth = true}},
    {"model:preset_transformer", {0}},
    {"model:sd_resblock", {0}},
};

static double axis_of(const struct assay_record *record, const char *name)
{
    for (int32_t i = 0; i < record->n_axes; i++)
        if (strcmp(record->axis_names[i], name) == 0)
            return (double)record->axes[i];
    return (double)NAN;
}

static const char *kobench_name(const char *axis)
{
    return strcmp(axis, "batch") == 0    ? "batch_size"
           : strcmp(axis, "kernel") == 0 ? "kernel_size"
                                         : axis;
}

/* Of a convolution of a square image, which is the only kind that KoBench has. */
static int32_t add_square(const struct assay_record *record, struct assay_kobench_parameter *out)
{
    double size = axis_of(record, "height"), kernel = axis_of(record, "kernel");
    double rest = size + 2 * axis_of(record, "padding") - kernel;
    if (!(kernel > 0) || axis_of(record, "width") != size)
        return 0;
    out[0] = (struct assay_kobench_parameter){.key = "image_size", .number = size};
    out[1] = (struct assay_kobench_parameter){
        .key = "out_dim", .number = floor(rest / axis_of(record, "stride")) + 1};
    return 2;
}

int32_t assay_kobench_parameters(const struct assay_record *record,
                                 struct assay_kobench_parameter out[ASSAY_KOBENCH_PARAMETERS])
{
    const struct assay_kobench_parameter *constant = NULL;
    int32_t n = 0;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].op, record->op) == 0)
            constant = &models[i].constant;
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++) {
        const char *name = record->axis_names[i];
        out[n++] = (struct assay_kobench_parameter){.key = constant ? kobench_name(name) : name,
                                                    .number = (double)record->axes[i]};
    }
    if (constant)
        n += add_square(record, &out[n]);
    if (constant && constant->key)
        out[n++] = *constant;
    return n;
}

struct assay_cell assay_kobench_memory(double bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    struct assay_cell cell = {"n/a"};
    int i = 0;
    if (!(bytes >= 0) || isinf(bytes))
        return cell;
    for (; i < 4 && (bytes >= 999.5 || (i < 2 && bytes > 0)); i++)
        bytes /= 1024; /* at least MB, except for 0 */
    snprintf(cell.text, sizeof cell.text, "%.*f %s",
             i == 0          ? 0
             : bytes < 9.995 ? 2
             : bytes < 99.95 ? 1
                             : 0,
             bytes, units[i]);
    return cell;
}

struct assay_cell assay_kobench_count(double count, const char *unit)
{
    struct assay_cell cell = {"n/a"};
    if (!(count >= 0) || isinf(count))
        return cell;
    assay_text_count(count, cell.text, sizeof cell.text);
    assay_cell_add(&cell, "%s", unit);
    return cell;
}

double assay_kobench_rate(double count, const struct assay_measurement *m)
{
    return m->time.mean > 0 ? count / (m->time.mean * 1e-9) : (double)NAN;
}
