#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#undef assay_error_set
#undef assay_error_nomem
enum assay_status assay_error_set(struct assay_error *err, enum assay_status code,
                                  const char *where, const char *fmt, ...)
{
    if (!err || err->code != ASSAY_OK)
        return code;
    err->code = code;
    snprintf(err->where, sizeof err->where, "%s", where ? where : "");
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return code;
}

enum assay_status assay_error_nomem(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
}

void assay_error_format(const struct assay_error *err, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s", err->where, err->where[0] ? ": " : "", err->message);
}

const char *assay_status_name(enum assay_status status)
{
    switch (status) {
    case ASSAY_OK:
        return "ok";
    case ASSAY_UNSUPPORTED:
        return "unsupported";
    case ASSAY_ERR_INVALID:
        return "invalid";
    case ASSAY_ERR_NOMEM:
        return "out of memory";
    case ASSAY_ERR_IO:
        return "input/output error";
    case ASSAY_ERR_DEVICE:
        return "device error";
    case ASSAY_ERR_CORRUPT:
        return "corrupt data";
    case ASSAY_ERR_INTERRUPTED:
        return "interrupted";
    case ASSAY_ERR_INTERNAL:
        return "internal error";
    case ASSAY_ERR_FAILED:
        return "failed";
    }
    return "unknown status";
}
