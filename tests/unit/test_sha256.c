/* test_sha256.c: known answers: those of FIPS 180-4 and its test vectors, lengths around a block.
 */
#include "base/sha256.h"
#include "temporary.h"

static void hash_in_pieces(const char *bytes, size_t length, size_t piece, char *out)
{
    struct assay_sha256 hash;
    assay_sha256_init(&hash);
    for (size_t i = 0; i < length; i += piece)
        assay_sha256_add(&hash, bytes + i, length - i < piece ? length - i : piece);
    assay_sha256_hex(&hash, out);
}

static const struct {
    const char *text, *want;
} vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qr"
     "smnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void texts_have_their_known_hashes_in_any_pieces(void **state)
{
    (void)state;
    char got[ASSAY_SHA256_HEX];
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        for (size_t piece = 1; piece < 130; piece++) {
            hash_in_pieces(vectors[i].text, strlen(vectors[i].text), piece, got);
            assert_string_equal(got, vectors[i].want);
        }
}

/* A million letters, as the standard has it; and 55, 56, 63, 64, 65: where the padding turns over,
 * from `head -c N /dev/zero | tr '\0' a | sha256sum`. */
static void lengths_around_a_block_and_a_long_one(void **state)
{
    (void)state;
    static char letters[1000000];
    static const struct {
        size_t length;
        const char *want;
    } table[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    memset(letters, 'a', sizeof letters);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char got[ASSAY_SHA256_HEX];
        hash_in_pieces(letters, table[i].length, 4093, got);
        assert_string_equal(got, table[i].want);
    }
}

static void a_text_counts_with_its_end(void **state)
{
    (void)state;
    struct assay_sha256 a, b;
    char got_a[ASSAY_SHA256_HEX], got_b[ASSAY_SHA256_HEX];
    assay_sha256_init(&a);
    assay_sha256_init(&b);
    assay_sha256_add_text(&a, "ab");
    assay_sha256_add_text(&a, "c");
    assay_sha256_add_text(&b, "a");
    assay_sha256_add_text(&b, "bc");
    assay_sha256_add_text(&b, NULL);
    assay_sha256_hex(&a, got_a);
    assay_sha256_hex(&b, got_b);
    assert_string_not_equal(got_a, got_b);
}

static void a_file_has_the_hash_of_its_contents(void **state)
{
    (void)state;
    char got[ASSAY_SHA256_HEX];
    struct assay_error err = {0};
    assert_int_equal(assay_sha256_file(put_file("x", "abc"), got, &err), ASSAY_OK);
    assert_string_equal(got, vectors[1].want);
    assert_int_equal(assay_sha256_file(in_temporary("none"), got, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(assay_sha256_file(temporary, got, NULL), ASSAY_ERR_IO); /* a folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_their_known_hashes_in_any_pieces),
        cmocka_unit_test(lengths_around_a_block_and_a_long_one),
        cmocka_unit_test(a_text_counts_with_its_end),
        cmocka_unit_test_setup_teardown(a_file_has_the_hash_of_its_contents, temporary_make,
                                        temporary_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
