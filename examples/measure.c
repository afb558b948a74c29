/* Measures layernorm with the library and prints the table: the C form of a five-line script.
 *     cc measure.c $(pkg-config --cflags --libs assay) -o measure && ./measure */
#include <assay/assay.h>
#include <stdio.h>

static void to_stdout(void *user, const char *bytes, size_t length)
{
    (void)fwrite(bytes, 1, length, user);
}

int main(void)
{
    struct assay_error err = {0};
    struct assay_session_options options = {
        .struct_size = sizeof options, .dtype = "bf16", .hot = 1, .budget_s = 0.5};
    const int64_t axes[] = {8, 128, 768};
    assay_session *session = NULL;
    if (assay_session_open(&options, &session, &err) != ASSAY_OK ||
        assay_session_measure(session, "layernorm", axes, 3, &err) != ASSAY_OK ||
        assay_session_report(session, "table", to_stdout, stdout, &err) != ASSAY_OK) {
        fprintf(stderr, "measure: %s\n", err.message);
        assay_session_close(session);
        return 1;
    }
    int wrong = 0;
    for (int64_t i = 0; i < assay_session_count(session); i++) {
        const struct assay_result *result = assay_session_result(session, i);
        wrong += result->status[0] == 'm'; /* mismatch or mistrusted */
    }
    assay_session_close(session);
    return wrong ? 1 : 0;
}
