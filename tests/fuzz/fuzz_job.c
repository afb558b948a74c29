/* fuzz_job.c: whatever reads as a job is written and read again, and must come out the same. */
#include "record/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_job(const char *text, size_t length, struct assay_job *out)
{
    struct assay_error err = {0};
    assay_json *json = assay_json_parse(text, length, "fuzz", &err);
    enum assay_status status = json ? assay_job_from_json(json, out, &err) : ASSAY_ERR_CORRUPT;
    if (status != err.code)
        abort();
    assay_json_free(json);
    return status == ASSAY_OK;
}

static void write_job(const struct assay_job *job, struct assay_text *out)
{
    assay_json *json = assay_job_to_json(job);
    assay_json_write(json, 0, out);
    assay_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_job first, second;
    struct assay_text once = {0}, twice = {0};
    if (!read_job((const char *)data, size, &first))
        return 0;
    write_job(&first, &once);
    if (once.failed || !read_job(once.data, once.length, &second))
        abort();
    write_job(&second, &twice);
    if (twice.failed || strcmp(once.data, twice.data) != 0)
        abort();
    assay_job_fini(&first);
    assay_job_fini(&second);
    assay_text_fini(&once);
    assay_text_fini(&twice);
    return 0;
}
