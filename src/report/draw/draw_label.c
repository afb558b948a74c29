/* draw_label.c: numbers as they stand at ticks: as short as they are. */
#include "report/draw/draw_axis.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct unit {
    double scale;
    const char *name;
};

/* "2.5 us": with `digits` digits at the most, in the greatest unit that is not above the value. */
static void put(double value, const struct unit *units, int n, int digits, char *text, size_t size)
{
    int i = 0;
    if (size)
        text[0] = '\0';
    if (!isfinite(value))
        return;
    while (i + 1 < n && fabs(value) >= units[i + 1].scale * (1 - 1e-9))
        i++;
    snprintf(text, size, "%.*g%s", digits, value / units[i].scale + 0.0, units[i].name);
    char *point = strchr(text, localeconv()->decimal_point[0]);
    if (point && *point != '.')
        *point = '.';
}

#define PUT(units, digits)                                                                         \
    put(value, units, (int)(sizeof units / sizeof *units), digits, text, size)

void assay_axis_number(const void *user, double value, char *text, size_t size)
{
    static const struct unit units[] = {{1, ""}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
    static const struct unit binary[] = {{0x1p20, "Mi"}, {0x1p30, "Gi"}, {0x1p40, "Ti"}};
    (void)user;
    bool is_exact = fabs(value) <= 0x1p53; /* beyond, every double is a multiple of 2^20 */
    bool is_binary =
        is_exact && fabs(value) >= 0x1p20 && fmod(value, 0x1p20) == 0 && fmod(value, 1e6) != 0;
    if (is_binary)
        PUT(binary, 6);
    else
        PUT(units, 6);
}

void assay_axis_time(const void *user, double value, char *text, size_t size)
{
    static const struct unit units[] = {{1, " ns"}, {1e3, " us"}, {1e6, " ms"}, {1e9, " s"}};
    (void)user;
    PUT(units, 6);
}

void assay_axis_bandwidth(const void *user, double value, char *text, size_t size)
{
    static const struct unit units[] = {
        {1, " B/s"}, {1e3, " kB/s"}, {1e6, " MB/s"}, {1e9, " GB/s"}, {1e12, " TB/s"}};
    (void)user;
    PUT(units, 4);
}

void assay_axis_memory(const void *user, double value, char *text, size_t size)
{
    static const struct unit units[] = {
        {1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}};
    (void)user;
    PUT(units, 4);
}

void assay_axis_rate(const void *user, double value, char *text, size_t size)
{
    static const struct unit units[] = {{1, " FLOP/s"},    {1e3, " kFLOP/s"},  {1e6, " MFLOP/s"},
                                        {1e9, " GFLOP/s"}, {1e12, " TFLOP/s"}, {1e15, " PFLOP/s"}};
    (void)user;
    PUT(units, 4);
}

void assay_axis_ratio(const void *user, double value, char *text, size_t size)
{
    static const struct unit times[] = {{1, "x"}};
    (void)user;
    PUT(times, 4);
}

void assay_axis_share(const void *user, double value, char *text, size_t size)
{
    static const struct unit percent[] = {{0.01, "%"}};
    (void)user;
    PUT(percent, 4);
}

void assay_axis_decibel(const void *user, double value, char *text, size_t size)
{
    static const struct unit decibel[] = {{1, " dB"}};
    (void)user;
    PUT(decibel, 4);
}
