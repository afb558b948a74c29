/* test_fence.c: operands against pages that nobody may touch. What is touched is told by the last
 * words of a child process. */
#include "unit.h"

#include "base/last_words.h"
#include "runner/fence.h"
#include "op/op.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3 * 5 * 7, WORDS = 128 };

static struct assay_problem problem_of_add(void)
{
    struct assay_problem problem;
    int64_t axes[ASSAY_MAX_AXES] = {3, 5, 7};
    assert_int_equal(
        assay_op_problem(assay_op_find("add"), ASSAY_DTYPE_F32, NULL, axes, 1, &problem, NULL),
        ASSAY_OK);
    return problem;
}

static float values[2][COUNT];

static assay_fence *make(enum assay_fence_side side)
{
    struct assay_problem problem = problem_of_add();
    const void *inputs[2] = {values[0], values[1]};
    assay_fence *fence = NULL;
    for (int i = 0; i < COUNT; i++) {
        values[0][i] = (float)i;
        values[1][i] = -2 * (float)i;
    }
    assert_int_equal(assay_fence_create(&problem, inputs, side, &fence, NULL), ASSAY_OK);
    return fence;
}

static void test_what_is_within_can_be_used(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        assay_fence *fence = make((enum assay_fence_side)side);
        const struct assay_args *args = assay_fence_args(fence);
        assay_fence_arm(fence);
        const float *a = args->in[0], *b = args->in[1];
        float *out = args->out[0];
        for (int i = 0; i < COUNT; i++)
            out[i] = a[i] + b[i];
        assert_memory_equal(a, values[0], sizeof values[0]);
        assert_memory_equal(b, values[1], sizeof values[1]);
        assert_near((double)out[COUNT - 1], -(COUNT - 1), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal((uintptr_t)(i < 2 ? args->in[i] : args->out[0]) % 64, 0);
        assay_fence_disarm(fence);
        assay_fence_destroy(fence);
    }
    assay_fence_destroy(NULL);
}

/* Touches `at` floats from the start of a tensor in a child, and takes its last words. */
static void touch(enum assay_fence_side side, int tensor, int64_t at, bool write, char *words)
{
    char *heard = mmap(NULL, WORDS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(heard != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        assay_last_words_to(heard, WORDS);
        assay_fence *fence = make(side);
        const struct assay_args *args = assay_fence_args(fence);
        volatile float *data = tensor < 2 ? (volatile float *)(uintptr_t)args->in[tensor]
                                          : (volatile float *)args->out[tensor - 2];
        assay_fence_arm(fence);
        if (write)
            data[at] = 1;
        else
            (void)data[at];
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || !heard[0]);
    memcpy(words, heard, WORDS);
    munmap(heard, WORDS);
}

static void test_what_is_beyond_is_named(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const char *wrote = "wrote past the end of output 0";
#else
    const char *wrote = "read past the end of output 0"; /* it cannot be told apart there */
#endif
    char words[WORDS];
    touch(ASSAY_FENCE_END, 0, COUNT + 16, false, words);
    assert_string_equal(words, "read past the end of input 0");
    touch(ASSAY_FENCE_END, 2, COUNT + 16, true, words);
    assert_string_equal(words, wrote);
    touch(ASSAY_FENCE_START, 1, -1, false, words);
    assert_string_equal(words, "read before the start of input 1");
    touch(ASSAY_FENCE_END, 0, COUNT - 1, false, words);
    assert_string_equal(words, "");
    touch(ASSAY_FENCE_END, 0, INT64_C(1) << 40, false, words); /* a crash, but not at a fence */
    assert_string_equal(words, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_within_can_be_used),
        cmocka_unit_test(test_what_is_beyond_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
