#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

/* dlopen gives a sentence and no number. One that does not begin with the object's name and a colon
 * is what was left when there was no memory for the whole. */
static bool is_shortage(const char *said)
{
    static const char *const signs[] = {
        "memory",        "cannot create",       "cannot read",
        "Interrupted",   "Too many open files", "Input/output error",
        "failed to map", "cannot map"};
    if (!strchr(said, ':'))
        return true;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strstr(said, signs[i]))
            return true;
    return false;
}

void *assay_library_open(const char *name, struct assay_error *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    const char *said = dlerror();
    if (!said)
        said = "out of memory";
    if (is_shortage(said))
        assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "cannot be looked for: %s: %s", name, said);
    else
        assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "%s", said);
    return NULL;
}
