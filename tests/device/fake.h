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

#endif
