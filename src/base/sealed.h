/* sealed.h: small JSON files that tell when they were changed: ceilings, autotuning.
 *
 * The last key of the object is `"sha256"`: the hash of all bytes before the line it stands on. It
 * is the last but one line of the file, and everything from there on is compared as it is. When
 * writing such a file by hand, make the hash with sha256sum. */
#ifndef ASSAY_BASE_SEALED_H
#define ASSAY_BASE_SEALED_H

#include "base/json.h"

/* Writes the object, which has at least one key, so that a reader finds the old file or all of the
 * new one. NULL (no memory) is ASSAY_ERR_NOMEM. */
enum assay_status assay_sealed_write(const char *path, const assay_json *object,
                                     struct assay_error *err);

/* The object of a sealed file of at most `most` bytes, without the seal; free it with
 * assay_json_free. NULL, and why, where there is none: ASSAY_ERR_IO it cannot be read,
 * ASSAY_ERR_CORRUPT it was changed or never sealed, ASSAY_ERR_NOMEM. */
assay_json *assay_sealed_read(const char *path, size_t most, struct assay_error *err);

#endif
