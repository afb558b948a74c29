// depthwise_conv2d.cu: every channel convolved by itself; channels are last.
//
// Compile with -DELEMENT=… and -DUNIT=…, the channels of a thread: 4 where their number is a
// multiple of that, else 1; -DKERNEL=…, -DSTRIDE=…, or KERNEL 0: any, and then one tap after the
// other, which is slow.
//
// A thread has UNIT channels of TILE_X neighbouring columns and TILE_Y lines of the output. Kernels
// of up to 3 x 3 stay in registers, and the thread goes down the lines of x under its tile, of
// which each is loaded once and added to all output lines it belongs to. Larger kernels go
// line by line of the kernel. The threads of a block lie side by side in channels, then columns,
// then lines: what their windows share is found in L1. Taps outside the image are left out, not
// multiplied by 0: a NaN among the weights does not reach the output there.
#include "types.cuh"

#define TILE_X (ELEMENT == 32 ? 2 : 4) // more does not fit into registers
#define TILE_Y 4

struct shape {
    s64 batch, height, width, channels, out_height, out_width;
    int pad, kernel, stride;
};

struct tile {
    s64 image, c; // c: the first channel
    int x, y;     // the first column and line of the output
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

// 0 where not wanted.
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

// ---- tiles --------------------------------------------------------------------------------------

// blockIdx.x counts blocks of channels, then of columns; y those of lines; z images. `beside`
// threads of a block have neighbouring channels, `columns` neighbouring columns, the rest lines.
DEVICE struct tile tile_of(struct shape s, u32 beside, u32 columns)
{
    u32 thread = threadIdx.x, lane = thread % beside, column = thread / beside % columns;
    u32 line = thread / beside / columns, lines = blockDim.x / beside / columns;
    u32 across = (u32)((s.channels / UNIT + beside - 1) / beside);
    struct tile p;
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

DEVICE void sums_store(element *out, struct shape s, struct tile p,
                       const float (&sum)[TILE_Y][TILE_X][UNIT])
{
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
#pragma unroll
        for (int x = 0; x < TILE_X; x++)
            if (p.y + y < s.out_height && p.x + x < s.out_width)
                unit_store(out +
                               ((p.image * s.out_height + p.y + y) * s.out_width + p.x + x) *
                                   s.channels +
                               p.c,
                           sum[y][x]);
}

// ---- small kernels ------------------------------------------------------------------------------

#if KERNEL

#define LINES ((TILE_Y - 1) * STRIDE + KERNEL)
#define COLUMNS ((TILE_X - 1) * STRIDE + KERNEL)

// The columns of x under the tile that are in the image.
DEVICE void find_inside(struct shape s, int left, bool (&inside)[COLUMNS])
{
#pragma unroll
    for (int column = 0; column < COLUMNS; column++)
        inside[column] = left + column >= 0 && left + column < s.width;
}

// Line y of x, from column `left` on; 0 where it is outside.
DEVICE void load_line(const element *x, struct shape s, struct tile p, s64 y, int left,
                      const bool (&inside)[COLUMNS], unit (&u)[COLUMNS])
{
    const element *from = x + ((p.image * s.height + y) * s.width + left) * s.channels + p.c;
#pragma unroll
    for (int column = 0; column < COLUMNS; column++)
        u[column] = unit_load(from + column * s.channels, inside[column] && y >= 0 && y < s.height);
}

// A line of x, added to line y of the tile, of which it is under line ky of the kernel.
DEVICE void add_line(const unit (&u)[COLUMNS], const bool (&inside)[COLUMNS],
                     const float (&w)[KERNEL][UNIT], float (&sum)[TILE_X][UNIT])
{
#pragma unroll
    for (int column = 0; column < COLUMNS; column++) {
        if (!inside[column])
            continue;
        float v[UNIT];
        unit_unpack(u[column], v);
#pragma unroll
        for (int x = 0; x < TILE_X; x++) {
            int kx = column - x * STRIDE;
            if (kx >= 0 && kx < KERNEL)
                unit_add(v, w[kx], sum[x]);
        }
    }
}

#if KERNEL <= 3

extern "C" __global__ void __launch_bounds__(256, 2)
    depthwise(const element *x, const element *weights, const element *bias, element *out,
              struct shape s, u32 beside, u32 columns)
{
    struct tile p = tile_of(s, beside, columns);
    if (!p.wanted)
        return;
    int top = p.y * STRIDE - s.pad, left = p.x * STRIDE - s.pad;
    float w[KERNEL][KERNEL][UNIT], sum[TILE_Y][TILE_X][UNIT];
    bool inside[COLUMNS];
    find_inside(s, left, inside);
#pragma unroll
    for (int tap = 0; tap < KERNEL * KERNEL; tap++)
        unit_unpack(unit_load(weights + tap * s.channels + p.c, true),
                    w[tap / KERNEL][tap % KERNEL]);
    sums_start(bias, p.c, sum);
    // The next line is on its way while one is added.
    unit u[2][COLUMNS];
    load_line(x, s, p, top, left, inside, u[0]);
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        if (line + 1 < LINES)
            load_line(x, s, p, top + line + 1, left, inside, u[(line + 1) % 2]);
        if (top + line >= 0 && top + line < s.height)
#pragma unroll
            for (int y = 0; y < TILE_Y; y++)
                if (line >= y * STRIDE && line < y * STRIDE + KERNEL)
                    add_line(u[line % 2], inside, w[line - y * STRIDE], sum[y]);
    }
    sums_store(out, s, p, sum);
}

#else

// One line of the kernel after the other; the lines of x are found in L1 from the second on.
extern "C" __global__ void __launch_bounds__(256, 2)
    depthwise(const element *x, const element *weights, const element *bias, element *out,
              struct shape s, u32 beside, u32 columns)
{
    struct tile p = tile_of(s, beside, columns);
    if (!p.wanted)
        return;
    int top = p.y * STRIDE - s.pad, left = p.x * STRIDE - s.pad;
    float w[KERNEL][UNIT], sum[TILE_Y][TILE_X][UNIT];
    bool inside[COLUMNS];
    find_inside(s, left, inside);
    sums_start(bias, p.c, sum);
#pragma unroll 1
    for (int ky = 0; ky < KERNEL; ky++) {
#pragma unroll
        for (int kx = 0; kx < KERNEL; kx++)
            unit_unpack(unit_load(weights + (ky * KERNEL + kx) * s.channels + p.c, true), w[kx]);
#pragma unroll
        for (int y = 0; y < TILE_Y; y++) {
            unit u[COLUMNS];
            s64 line = top + y * STRIDE + ky;
            load_line(x, s, p, line, left, inside, u);
            if (line >= 0 && line < s.height)
                add_line(u, inside, w, sum[y]);
        }
    }
    sums_store(out, s, p, sum);
}
#endif

#else // ---- any kernel --------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(256, 2)
    depthwise(const element *x, const element *weights, const element *bias, element *out,
              struct shape s, u32 beside, u32 columns)
{
    struct tile p = tile_of(s, beside, columns);
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
