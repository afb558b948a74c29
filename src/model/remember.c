/* remember.c: which kernel was fastest for a step, kept in the cache folder as one JSON object
 * (base/sealed.h). A file that was damaged is as good as none. */
#include "model/steps.h"

#include "base/folder.h"
#include "base/sealed.h"

#include <string.h>

enum { MAX_FILE = 16 << 20 };

static enum assay_status file_path(struct assay_text *out, struct assay_error *err)
{
    enum assay_status status = assay_folder_cache(out, err);
    if (status == ASSAY_OK && assay_folder_make(out->data, err) != ASSAY_OK)
        status = ASSAY_ERR_IO;
    assay_text_add(out, "/autotune.json");
    return out->failed ? ASSAY_ERR_NOMEM : status;
}

/* All that the choice may depend on: machine, threads, problem, recipe, and whether weights are
 * packed in every call. */
static void key_of(const struct assay_step *step, struct assay_text *out)
{
    const struct assay_problem *p = &step->problem;
    struct assay_device_info info;
    assay_device *device = p->host->device;
    device->driver->describe(device, &info);
    assay_text_format(out, "%s|%d|%s|%s|%s", info.name, (int)p->threads, p->op,
                      assay_dtype_name(p->dtype), p->recipe ? p->recipe : "");
    for (int32_t i = 0; i < p->n_axes; i++)
        assay_text_format(out, "%s%lld", i ? "x" : "|", (long long)p->axes[i]);
    for (int32_t i = 0; i < p->n_params; i++)
        assay_text_format(out, "%s%g", i ? "," : "|", p->params[i]);
    if (step->trains)
        assay_text_add(out, "|training");
}

/* What the file holds; an empty object where there is none, or it is damaged. */
static assay_json *read_file(const char *path)
{
    assay_json *all = assay_sealed_read(path, MAX_FILE, NULL);
    if (all && assay_json_is_object(all))
        return all;
    assay_json_free(all);
    return assay_json_object();
}

const struct assay_kernel *assay_steps_remembered(const struct assay_step *step)
{
    struct assay_text path = {0}, key = {0};
    const struct assay_kernel *kernel = NULL;
    key_of(step, &key);
    if (file_path(&path, NULL) == ASSAY_OK && !key.failed) {
        assay_json *all = read_file(path.data);
        const char *name = assay_json_string(assay_json_get(all, key.data), "");
        kernel = assay_kernel_find(step->problem.host->registry, name);
        if (kernel && (strcmp(kernel->op, step->problem.op) != 0 ||
                       assay_kernel_can_run(kernel, &step->problem, NULL) != ASSAY_OK))
            kernel = NULL; /* written by another version, or for another driver */
        assay_json_free(all);
    }
    assay_text_fini(&path);
    assay_text_fini(&key);
    return kernel;
}

/* Not being able to remember costs time the next time, nothing else. */
void assay_steps_remember(const struct assay_step *step)
{
    struct assay_text path = {0}, key = {0};
    key_of(step, &key);
    if (file_path(&path, NULL) == ASSAY_OK && !key.failed) {
        assay_json *all = read_file(path.data);
        assay_json_put_string(all, key.data, step->kernel->name);
        assay_sealed_write(path.data, all, NULL);
        assay_json_free(all);
    }
    assay_text_fini(&path);
    assay_text_fini(&key);
}
