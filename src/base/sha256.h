/* sha256.h: SHA-256 (FIPS 180-4): what names benchmark files in reports, and objects in the cache.
 */
#ifndef ASSAY_BASE_SHA256_H
#define ASSAY_BASE_SHA256_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_SHA256_HEX = 65 }; /* 64 hexadecimal digits and the end */

struct assay_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void assay_sha256_init(struct assay_sha256 *hash);
void assay_sha256_add(struct assay_sha256 *hash, const void *bytes, size_t length);
/* The text with its end, so that "ab" + "c" and "a" + "bc" differ; NULL counts as none. */
void assay_sha256_add_text(struct assay_sha256 *hash, const char *text);
/* Small letters. The hash is used up. */
void assay_sha256_hex(struct assay_sha256 *hash, char out[ASSAY_SHA256_HEX]);

/* Of a file's contents. ASSAY_ERR_IO where it cannot be read. */
enum assay_status assay_sha256_file(const char *path, char out[ASSAY_SHA256_HEX],
                                    struct assay_error *err);

#endif
