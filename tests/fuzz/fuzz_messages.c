/* fuzz_messages.c: what a compiler printed loses its list of headers, and nothing gets in; where a
 * file from elsewhere was read, nothing is left. */
#include "repo/messages.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct assay_arguments none = {0};
    const struct assay_territory territory = {"/usr/share/common-licenses", "/usr/include", &none};
    struct assay_text said = {0};
    struct assay_error err = {0};
    if (size > 4096)
        return 0;
    assay_text_append(&said, (const char *)data, size);
    enum assay_status status = assay_messages_check(&territory, &none, &said, &err);
    if (status == ASSAY_OK && said.data && strlen(said.data) > size + 1)
        abort();
    if (status != ASSAY_OK && (said.length || !err.message[0]))
        abort();
    assay_text_fini(&said);
    return 0;
}
