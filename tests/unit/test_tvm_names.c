/* Which functions of TVM-FFI a file has, by its bytes alone, and what FILE.so.args says of them. */
#include "unit.h"

#include "runner/tvm_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char folder[64], object[80], sidecar[96];
    struct tvm_names names;
    struct assay_error err;
};

static int make(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    snprintf(f->folder, sizeof f->folder, "/tmp/assay-tvm-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->object, sizeof f->object, "%s/mine.so", f->folder);
    snprintf(f->sidecar, sizeof f->sidecar, "%s.args", f->object);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    unlink(f->object);
    unlink(f->sidecar);
    rmdir(f->folder);
    free(f);
    return 0;
}

static void put(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Texts with zeros between them, as a table of strings has them. */
#define OBJECT(f, texts)                                                                           \
    do {                                                                                           \
        static const char bytes[] = "\177ELF\0" texts;                                             \
        put((f)->object, bytes, sizeof bytes);                                                     \
    } while (0)

static enum assay_status read_names(struct fixture *f)
{
    f->err = (struct assay_error){0};
    return assay_tvm_names_read(f->object, &f->names, &f->err);
}

static void expect(const struct fixture *f, int32_t i, const char *name, const char *op)
{
    assert_true(i < f->names.n);
    assert_string_equal(f->names.items[i].name, name);
    assert_string_equal(f->names.items[i].op->name, op);
}

static void is_one(void **state)
{
    struct fixture *f = *state;
    OBJECT(f, "__tvm_ffi_relu\0");
    assert_true(assay_tvm_is(f->object));
    OBJECT(f, "__tvm_ffi_relu\0assay_plugin\0");
    assert_false(assay_tvm_is(f->object));
    OBJECT(f, "__tvm_ffi_relu\0assay_benchmarks\0");
    assert_false(assay_tvm_is(f->object));
    OBJECT(f, "__tvm_ffi_relu\0assay_plugins_not\0");
    assert_true(assay_tvm_is(f->object));
    OBJECT(f, "x__tvm_ffi_relu\0");
    assert_false(assay_tvm_is(f->object));
    put(f->object, "__tvm_ffi_relu", 15);
    assert_false(assay_tvm_is(f->object));
    assert_false(assay_tvm_is(f->folder));
    assert_false(assay_tvm_is("/nowhere"));
    put(f->object, "", 0);
    assert_false(assay_tvm_is(f->object));
}

static void ops_by_names(void **state)
{
    struct fixture *f = *state;
    OBJECT(f, "__tvm_ffi__library_ctx\0__tvm_ffi_relu\0__tvm_ffi_swish_fast\0__tvm_ffi_relu\0"
              "__tvm_ffi_layernorm_gelu_2\0__tvm_ffi_layernorm_gel\0__tvm_ffi_relux\0"
              "__tvm_ffi_loss\0__tvm_ffi_gelu!\0__tvm_ffi_\0TVMFFIObjectDecRef\0");
    assert_int_equal(read_names(f), ASSAY_OK);
    assert_int_equal(f->names.n, 4);
    expect(f, 0, "relu", "relu");
    expect(f, 1, "swish_fast", "silu");
    expect(f, 2, "layernorm_gelu_2", "layernorm_gelu");
    expect(f, 3, "layernorm_gel", "layernorm");
    assert_true(f->names.needs_library);
    assert_int_equal(f->names.items[0].n_arguments, 2);
    assert_int_equal(f->names.items[0].arguments[1].source, TVM_IS_OUTPUT);
    assert_int_equal(f->names.items[0].arguments[1].index, -1);
}

static void none_is_an_ops(void **state)
{
    struct fixture *f = *state;
    OBJECT(f, "__tvm_ffi_mine\0__tvm_ffi_other\0__tvm_ffi_mine\0");
    assert_int_equal(read_names(f), ASSAY_ERR_INVALID);
    assert_non_null(strstr(f->err.message, "(mine, other)"));
    assert_string_equal(f->err.where, f->object);
}

static void every_argument(void **state)
{
    static const char text[] = "# about\n\n my_norm : rmsnorm out0 in eps dim -3 1e-5 true false "
                               "none in1 # the rest\r\nother:relu in out";
    struct fixture *f = *state;
    OBJECT(f, "__tvm_ffi_relu\0");
    put(f->sidecar, text, sizeof text - 1);
    assert_int_equal(read_names(f), ASSAY_OK);
    assert_int_equal(f->names.n, 2);
    expect(f, 0, "my_norm", "rmsnorm");
    expect(f, 1, "other", "relu");
    const struct tvm_argument *a = f->names.items[0].arguments;
    assert_int_equal(f->names.items[0].n_arguments, 10);
    assert_true(a[0].source == TVM_IS_OUTPUT && a[0].index == 0);
    assert_true(a[1].source == TVM_IS_INPUT && a[1].index == -1);
    assert_true(a[2].source == TVM_IS_PARAM && a[2].index == 0);
    assert_true(a[3].source == TVM_IS_AXIS && a[3].index == 2);
    assert_true(a[4].value.type == TVM_INT && a[4].value.v.integer == -3);
    assert_true(a[5].value.type == TVM_FLOAT && a[5].value.v.real == 1e-5);
    assert_true(a[6].value.type == TVM_BOOL && a[6].value.v.integer == 1);
    assert_true(a[7].value.type == TVM_BOOL && a[7].value.v.integer == 0);
    assert_int_equal(a[8].value.type, TVM_NONE);
    assert_true(a[9].source == TVM_IS_INPUT && a[9].index == 1);
}

static void mistakes(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } cases[] = {
        {"", ".args", "names no functions"},
        {"relu", ".args:1", "write it as"},
        {"relu: relu", ".args:1", "write it as"},
        {"\nrelu: relv in out", ".args:2", "did you mean \"relu\""},
        {"relu: relu in out in99", ".args:1", "unknown argument \"in99\""},
        {"relu: relu inn", ".args:1", "unknown argument \"inn\""},
        {"a: relu in out\na: relu in out", ".args:2", "was there already"},
        {"relu: rmsnorm slope", ".args:1", "eps"},
    };
    struct fixture *f = *state;
    OBJECT(f, "__tvm_ffi_relu\0");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(f->sidecar, cases[i].text, strlen(cases[i].text));
        assert_int_equal(read_names(f), ASSAY_ERR_INVALID);
        assert_non_null(strstr(f->err.where, cases[i].where));
        assert_non_null(strstr(f->err.message, cases[i].message));
    }
}

static void too_many(void **state)
{
    struct fixture *f = *state;
    char text[8192] = "relu: relu";
    OBJECT(f, "__tvm_ffi_relu\0");
    for (int i = 0; i <= TVM_ARGUMENTS; i++)
        strcat(text, " 1");
    put(f->sidecar, text, strlen(text));
    assert_int_equal(read_names(f), ASSAY_ERR_INVALID);
    assert_non_null(strstr(f->err.message, "more than 32 arguments"));
    text[0] = '\0';
    for (int i = 0; i <= TVM_FUNCTIONS; i++)
        snprintf(text + strlen(text), 32, "f%d: relu in out\n", i);
    put(f->sidecar, text, strlen(text));
    assert_int_equal(read_names(f), ASSAY_ERR_INVALID);
    assert_non_null(strstr(f->err.message, "more than 64 functions"));
    memset(text, 'x', sizeof text - 1);
    put(f->sidecar, text, sizeof text - 1);
    assert_int_equal(read_names(f), ASSAY_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_one, make, end),
        cmocka_unit_test_setup_teardown(ops_by_names, make, end),
        cmocka_unit_test_setup_teardown(none_is_an_ops, make, end),
        cmocka_unit_test_setup_teardown(every_argument, make, end),
        cmocka_unit_test_setup_teardown(mistakes, make, end),
        cmocka_unit_test_setup_teardown(too_many, make, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
