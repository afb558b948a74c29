#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

void assay_sha256_init(struct assay_sha256 *hash)
{
    /* Likewise of the square roots of the first 8. */
    *hash = (struct assay_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void schedule(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
                    f = state[5], g = state[6], h = state[7];
    schedule(block, w);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                      constants[i] + w[i];
        uint32_t t2 =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += sum[i];
}

void assay_sha256_add(struct assay_sha256 *hash, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    size_t filled = (size_t)(hash->length % 64);
    hash->length += length;
    while (length > 0) {
        if (filled == 0 && length >= 64) { /* straight from the caller's bytes */
            compress(hash->state, p);
            p += 64;
            length -= 64;
            continue;
        }
        size_t n = 64 - filled < length ? 64 - filled : length;
        memcpy(hash->block + filled, p, n);
        p += n;
        length -= n;
        filled = (filled + n) % 64;
        if (filled == 0)
            compress(hash->state, hash->block);
    }
}

void assay_sha256_add_text(struct assay_sha256 *hash, const char *text)
{
    if (text)
        assay_sha256_add(hash, text, strlen(text) + 1);
}

void assay_sha256_hex(struct assay_sha256 *hash, char out[ASSAY_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    static const unsigned char padding[64] = {0x80};
    unsigned char bits[8];
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(hash->length * 8 >> (56 - 8 * i));
    /* A one bit and zeros, so that the length fills the last block. */
    size_t filled = (size_t)(hash->length % 64);
    assay_sha256_add(hash, padding, filled < 56 ? 56 - filled : 120 - filled);
    assay_sha256_add(hash, bits, sizeof bits);
    for (int i = 0; i < 64; i++)
        out[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[64] = '\0';
}

enum assay_status assay_sha256_file(const char *path, char out[ASSAY_SHA256_HEX],
                                    struct assay_error *err)
{
    struct assay_sha256 hash;
    unsigned char bytes[16384];
    ssize_t got = -1;
    assay_sha256_init(&hash);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not stop us */
    if (fd >= 0)
        while ((got = read(fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
            assay_sha256_add(&hash, bytes, got > 0 ? (size_t)got : 0);
    int problem = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return assay_error_set(err, ASSAY_ERR_IO, path, "cannot be read: %s", strerror(problem));
    assay_sha256_hex(&hash, out);
    return ASSAY_OK;
}
