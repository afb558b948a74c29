/* fake.h: what fake_nvrtc.c makes and fake_cuda.c loads: a "compiled" text that carries its name
 * and options. */
#ifndef ASSAY_TESTS_DEVICE_FAKE_H
#define ASSAY_TESTS_DEVICE_FAKE_H

#define FAKE_IMAGE_MAGIC "a fake image"

struct fake_image {
    char magic[16];
    char text[64];
    char options[256]; /* as given, separated by blanks */
};

/* What the driver has done, for who listens: fake_cupti.c. */
struct fake_activity {
    enum { FAKE_KERNEL, FAKE_COPY, FAKE_FILL } kind;
    const char *name; /* of a kernel */
    long long start_ns, end_ns;
    unsigned grid[3], block[3], shared_bytes;
    unsigned long long bytes; /* of a copy or a fill */
    unsigned value;           /* of a fill */
};

#endif
