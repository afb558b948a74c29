/* preset_cases.c: cases that come with assay, with your own sizes, as one table.
 *     cc -O2 preset_cases.c $(pkg-config --cflags --libs assay) -o preset_cases */
#include <assay/assay.h>

#include <stdio.h>

int main(void)
{
    const char *attention[] = {"batch=1", "seq_len=256", "embed_dim=512", "num_heads=8"};
    const char *mlp[] = {"batch=1", "seq_len=128", "embed_dim=512", "hidden_dim=2048"};
    struct assay_error err = {0};
    assay_session *session = NULL;
    int failed = assay_session_open(NULL, &session, &err) != ASSAY_OK ||
                 assay_session_run_preset(session, "attn", attention, 4, &err) != ASSAY_OK ||
                 assay_session_run_preset(session, "mlp_swiglu", mlp, 4, &err) != ASSAY_OK ||
                 assay_session_cases_table(session, assay_write_file, stdout, &err) != ASSAY_OK;
    if (failed)
        fprintf(stderr, "preset_cases: %s %s\n", err.where, err.message);
    assay_session_close(session);
    return failed;
}
