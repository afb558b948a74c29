/* cpu_tiles_amx.h: the eight tile registers of AMX, all of 16 rows of 64 bytes. */
#ifndef ASSAY_DEVICE_CPU_TILES_AMX_H
#define ASSAY_DEVICE_CPU_TILES_AMX_H

#include <stdint.h>

struct assay_cpu_tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t colsb[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

/* Before the first use of tiles in a thread. Written as text: the compiler's own intrinsic declares
 * 8 of the 64 bytes it reads. */
static inline void assay_cpu_tiles_open(void)
{
    struct assay_cpu_tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.colsb[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(config) : "memory");
}

static inline void assay_cpu_tiles_close(void) { __asm__ volatile("tilerelease" ::: "memory"); }

#endif
