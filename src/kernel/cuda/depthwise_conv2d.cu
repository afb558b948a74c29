// depthwise_conv2d.cu: every channel convolved by itself; channels are last.
//
// Compile with -DELEMENT=… and -DUNIT=…, the channels of a thread: 4 where their number is a
// multiple of that, else 1. -DKERNEL=…, -DSTRIDE=…: a kernel of up to 3 x 3, whose weights stay in
// registers; KERNEL 0: any, and then one tap after the other.
//
// A thread has UNIT channels of TILE_X neighbouring columns and TILE_Y lines of the answer and goes
// down the lines of x under them, of which each is loaded once and added to all lines of the answer
// it belongs to. The threads of a block lie side by side in channels, then columns, then lines: what
// their windows share is found in L1. Taps outside the image are left out, not multiplied by 0: a NaN
// among the weights stays out of the answer there.
#include "types.cuh"

#ifndef TILE_X
#define TILE_X 2
#endif
#ifndef TILE_Y
#define TILE_Y 4
#endif

struct shape {
    s64 batch, height, width, channels, out_height, out_width;
    int pad, kernel, stride;
};

struct place {
    s64 image, c; // c: the first channel
    int x, y;     // the first column and line of the answer
    bool wanted;
};

// ---- channels -----------------------------------------------------------------------------------

#if UNIT == 4 && ELEMENT == 32
typedef uint4 unit;
#elif UNIT == 4
typedef uint2 unit;
#else
typedef element unit;
#endif

DEVICE unit unit_load(const element *from, bool wanted)
{
#if UNIT == 4 && ELEMENT == 32
    return wanted ? __ldg((const uint4 *)from) : make_uint4(0, 0, 0, 0);
#elif UNIT == 4
    return wanted ? __ldg((const uint2 *)from) : make_uint2(0, 0);
#else
    return wanted ? __ldg(from) : (element)0;
#endif
}

DEVICE void unit_unpack(unit u, float *v)
{
#if UNIT == 4 && ELEMENT == 32
    vec_unpack(u, v);
#elif UNIT == 4
    v[0] = element_get((u16)u.x);
    v[1] = element_get((u16)(u.x >> 16));
    v[2] = element_get((u16)u.y);
    v[3] = element_get((u16)(u.y >> 16));
#else
    v[0] = element_get(u);
#endif
}

DEVICE void unit_store(element *to, const float *v)
{
#if UNIT == 4 && ELEMENT == 32
    *(uint4 *)to = vec_pack(v);
#elif UNIT == 4 && ELEMENT == 16
    *(uint2 *)to = make_uint2(f16x2_from_floats(v[0], v[1]), f16x2_from_floats(v[2], v[3]));
#elif UNIT == 4
    *(uint2 *)to = make_uint2(bf16x2_from_floats(v[0], v[1]), bf16x2_from_floats(v[2], v[3]));
#else
    to[0] = element_from(v[0]);
#endif
}

DEVICE void unit_add(const float *x, const float *w, float *sum)
{
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        sum[j] = fmaf(x[j], w[j], sum[j]);
}

// ---- places -------------------------------------------------------------------------------------

// blockIdx.x counts blocks of channels, then of columns; y those of lines; z images. `beside` threads
// of a block have neighbouring channels, `columns` neighbouring columns, the rest lines.
DEVICE struct place place_of(struct shape s, u32 beside, u32 columns)
{
    u32 thread = threadIdx.x, lane = thread % beside, column = thread / beside % columns;
    u32 line = thread / beside / columns, lines = blockDim.x / beside / columns;
    u32 across = (u32)((s.channels / UNIT + beside - 1) / beside);
    struct place p;
    p.c = (s64)(blockIdx.x % across * beside + lane) * UNIT;
    p.x = (int)((blockIdx.x / across * columns + column) * TILE_X);
    p.y = (int)((blockIdx.y * lines + line) * TILE_Y);
    p.image = blockIdx.z;
    p.wanted = p.c < s.channels && p.x < s.out_width && p.y < s.out_height;
    return p;
}

DEVICE void sums_start(const element *bias, s64 c, float (&sum)[TILE_Y][TILE_X][UNIT])
{
    float b[UNIT];
    unit_unpack(unit_load(bias + c, bias != nullptr), b);
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
#pragma unroll
        for (int x = 0; x < TILE_X; x++)
#pragma unroll
            for (int j = 0; j < UNIT; j++)
                sum[y][x][j] = b[j];
}

DEVICE void sums_store(element *out, struct shape s, struct place p,
                       const float (&sum)[TILE_Y][TILE_X][UNIT])
{
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
#pragma unroll
        for (int x = 0; x < TILE_X; x++)
            if (p.y + y < s.out_height && p.x + x < s.out_width)
                unit_store(out + ((p.image * s.out_height + p.y + y) * s.out_width + p.x + x) *
                                     s.channels + p.c,
                           sum[y][x]);
}

// ---- small kernels ------------------------------------------------------------------------------

#if KERNEL

#define LINES ((TILE_Y - 1) * STRIDE + KERNEL)
#define COLUMNS ((TILE_X - 1) * STRIDE + KERNEL)

// Line `line` of those under the tile, added to the lines of the answer it belongs to.
DEVICE void add_line(int line, const unit (&u)[COLUMNS], const bool (&inside)[COLUMNS],
                     const float (&w)[KERNEL][KERNEL][UNIT], float (&sum)[TILE_Y][TILE_X][UNIT])
{
#pragma unroll
    for (int column = 0; column < COLUMNS; column++) {
        if (!inside[column])
            continue;
        float v[UNIT];
        unit_unpack(u[column], v);
#pragma unroll
        for (int y = 0; y < TILE_Y; y++)
#pragma unroll
            for (int x = 0; x < TILE_X; x++) {
                int ky = line - y * STRIDE, kx = column - x * STRIDE;
                if (ky >= 0 && ky < KERNEL && kx >= 0 && kx < KERNEL)
                    unit_add(v, w[ky][kx], sum[y][x]);
            }
    }
}

extern "C" __global__ void __launch_bounds__(256)
    depthwise(const element *x, const element *weights, const element *bias, element *out,
              struct shape s, u32 beside, u32 columns)
{
    struct place p = place_of(s, beside, columns);
    if (!p.wanted)
        return;
    int top = p.y * STRIDE - s.pad, left = p.x * STRIDE - s.pad;
    float w[KERNEL][KERNEL][UNIT], sum[TILE_Y][TILE_X][UNIT];
    bool inside[COLUMNS];
#pragma unroll
    for (int column = 0; column < COLUMNS; column++)
        inside[column] = left + column >= 0 && left + column < s.width;
#pragma unroll
    for (int tap = 0; tap < KERNEL * KERNEL; tap++)
        unit_unpack(unit_load(weights + tap * s.channels + p.c, true), w[tap / KERNEL][tap % KERNEL]);
    sums_start(bias, p.c, sum);
    // The next line is on its way while one is added.
    unit u[2][COLUMNS];
#pragma unroll
    for (int line = 0; line <= LINES; line++) {
        s64 y = top + line;
        const element *from = x + ((p.image * s.height + y) * s.width + left) * s.channels + p.c;
        if (line < LINES)
#pragma unroll
            for (int column = 0; column < COLUMNS; column++)
                u[line % 2][column] = unit_load(from + column * s.channels,
                                                inside[column] && y >= 0 && y < s.height);
        if (line > 0 && y - 1 >= 0 && y - 1 < s.height)
            add_line(line - 1, u[(line - 1) % 2], inside, w, sum);
    }
    sums_store(out, s, p, sum);
}

#else // ---- any kernel --------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(256)
    depthwise(const element *x, const element *weights, const element *bias, element *out,
              struct shape s, u32 beside, u32 columns)
{
    struct place p = place_of(s, beside, columns);
    if (!p.wanted)
        return;
    float sum[TILE_Y][TILE_X][UNIT];
    sums_start(bias, p.c, sum);
#pragma unroll 1
    for (int tap = 0; tap < s.kernel * s.kernel; tap++) {
        int ky = tap / s.kernel, kx = tap % s.kernel;
        unit u[TILE_Y][TILE_X];
        float w[UNIT], v[UNIT];
        unit_unpack(unit_load(weights + tap * s.channels + p.c, true), w);
        bool inside[TILE_Y][TILE_X];
#pragma unroll
        for (int i = 0; i < TILE_Y * TILE_X; i++) {
            s64 line = (s64)(p.y + i / TILE_X) * s.stride - s.pad + ky;
            s64 column = (s64)(p.x + i % TILE_X) * s.stride - s.pad + kx;
            bool in = line >= 0 && line < s.height && column >= 0 && column < s.width;
            inside[i / TILE_X][i % TILE_X] = in;
            u[i / TILE_X][i % TILE_X] = unit_load(
                x + ((p.image * s.height + line) * s.width + column) * s.channels + p.c, in);
        }
#pragma unroll
        for (int i = 0; i < TILE_Y * TILE_X; i++)
            if (inside[i / TILE_X][i % TILE_X]) {
                unit_unpack(u[i / TILE_X][i % TILE_X], v);
                unit_add(v, w, sum[i / TILE_X][i % TILE_X]);
            }
    }
    sums_store(out, s, p, sum);
}
#endif
