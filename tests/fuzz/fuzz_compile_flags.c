/* fuzz_compile_flags.c: words, each on a line. Whatever passes as a list of flags does not begin
 * like one that is known to run a program, nor like a file of flags. */
#include "repo/compile_flags.h"
#include "repo/process.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct assay_arguments *words)
{
    static const char *const bad[] = {"@",       "-fplugin", "-wrapper", "-B",         "-specs",
                                      "--specs", "-fuse-ld", "-Wa,",     "-Wp,",       "-Xclang",
                                      "-mllvm",  "-include", "-imacros", "-fdump",     "-fprofile",
                                      "-ccbin",  "-optf",    "-o",       "-save-temps"};
    for (int64_t i = 0; i < words->n; i++)
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
            if (strncmp(words->items[i], bad[k], strlen(bad[k])) == 0 &&
                !(i > 0 && strcmp(words->items[i - 1], "-Xlinker") == 0))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_arguments words = {0};
    struct assay_text text = {0};
    assay_text_append(&text, (const char *)data, size);
    for (char *word = text.data, *next; word; word = next) {
        next = strchr(word, '\n');
        if (next)
            *next++ = '\0';
        assay_arguments_add(&words, word);
    }
    for (int list = ASSAY_FLAGS_C; list <= ASSAY_FLAGS_LINK; list++) {
        struct assay_error err = {0};
        int64_t at = -1;
        if (assay_compile_flags_check_list((enum assay_flag_list)list,
                                           (const char *const *)words.items, NULL, &at,
                                           &err) == ASSAY_OK)
            check(&words);
        else if (at < 0 || at >= words.n || !err.message[0])
            abort();
    }
    assay_arguments_fini(&words);
    assay_text_fini(&text);
    return 0;
}
