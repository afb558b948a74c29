// conv2d.cuh: conv2d as a product of windows and filters, for GPUs and shapes whose windows the copy
// engine does not gather (conv2d_wgmma.cu): where the elements of a window lie. Include types.cuh
// and kernel_math.cuh first.
//
// Row m of x is the window of pixel m of y; along k it has, for each tap (ky, kx) of the kernel,
// all channels, as a row of W [out][kernel][kernel][in] has them.
//
// Compile with -DELEMENT=…, -DVECTOR=1 where channels are a multiple of 16 bytes, else 0, and
// -DBIAS=… and -DRESIDUAL=…, 0 or 1.
#ifndef ASSAY_CONV2D_CUH
#define ASSAY_CONV2D_CUH

#define CHUNK VEC_ELEMENTS // elements of 16 bytes

// What stays the same in a launch; conv2d_cuda.c has the same struct.
struct conv2d_args {
    const element *x, *w, *bias, *residual;
    element *y;
    int height, width, in, out, kernel, stride, pad, out_height, out_width;
    int rows;  // pixels of y, of all images
    int depth; // elements of a window
};

// The window of one pixel of y: its first element's pixel, which may lie outside of the image, and
// where that is. The last window of all images begins before pixel 2^31.
struct window {
    int pixel, top, left;
};

DEVICE struct window window_of(const struct conv2d_args *a, int row)
{
    const int line = row / a->out_width, image = line / a->out_height;
    const int top = line % a->out_height * a->stride - a->pad;
    const int left = row % a->out_width * a->stride - a->pad;
    const int nowhere = -(1 << 30); // where there is no such pixel
    return {(image * a->height + top) * a->width + left, row < a->rows ? top : nowhere, left};
}

// A position along k: a channel at a tap of the kernel.
struct tap {
    int channel, kx, ky;
};

DEVICE struct tap tap_of(const struct conv2d_args *a, int k)
{
    const int tap = k / a->in;
    return {k % a->in, tap % a->kernel, tap / a->kernel};
}

DEVICE void tap_advance(const struct conv2d_args *a, struct tap *t, int k)
{
    t->channel += k;
    while (t->channel >= a->in) {
        t->channel -= a->in;
        if (++t->kx == a->kernel) {
            t->kx = 0;
            t->ky++;
        }
    }
}

// Is it inside of the image?
DEVICE bool tap_inside(const struct conv2d_args *a, const struct window *w, const struct tap *t)
{
    return t->ky < a->kernel && (u32)(w->top + t->ky) < (u32)a->height &&
           (u32)(w->left + t->kx) < (u32)a->width;
}

DEVICE const element *tap_in(const struct conv2d_args *a, const struct window *w,
                             const struct tap *t)
{
    return a->x + (s64)(w->pixel + t->ky * a->width + t->kx) * a->in + t->channel;
}

// Its position along k.
DEVICE int tap_k(const struct conv2d_args *a, const struct tap *t)
{
    return (t->ky * a->kernel + t->kx) * a->in + t->channel;
}

#if !VECTOR
// Elements one by one to CHUNK of them.
DEVICE uint4 chunk_of(const element *e)
{
#if ELEMENT == 32
    return make_uint4(__float_as_uint(e[0]), __float_as_uint(e[1]), __float_as_uint(e[2]),
                      __float_as_uint(e[3]));
#else
    return make_uint4(e[0] | (u32)e[1] << 16, e[2] | (u32)e[3] << 16, e[4] | (u32)e[5] << 16,
                      e[6] | (u32)e[7] << 16);
#endif
}

// CHUNK elements of a window from a tap on; zeros outside.
DEVICE uint4 window_chunk(const struct conv2d_args *a, const struct window *w, struct tap t)
{
    element e[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        e[i] = tap_inside(a, w, &t) ? __ldg(tap_in(a, w, &t)) : (element)0;
        tap_advance(a, &t, 1);
    }
    return chunk_of(e);
}

// CHUNK elements of a filter from k on; zeros behind the last.
DEVICE uint4 filter_chunk(const struct conv2d_args *a, int column, int k)
{
    const element *row = a->w + (s64)column * a->depth;
    element e[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        e[i] = column < a->out && k + i < a->depth ? __ldg(row + k + i) : (element)0;
    return chunk_of(e);
}
#endif

// The epilogue of one sum.
DEVICE float finished(const struct conv2d_args *a, int row, int column, float sum)
{
#if BIAS
    sum += element_get(__ldg(a->bias + column));
#endif
#if RESIDUAL
    sum += element_get(__ldg(a->residual + (s64)row * a->out + column));
#endif
    return sum;
}

// Two neighbours of y, from an even column on.
DEVICE void store_two(const struct conv2d_args *a, int row, int column, float low, float high)
{
    if (row >= a->rows || column >= a->out)
        return;
    element *to = a->y + (s64)row * a->out + column;
    low = finished(a, row, column, low);
    if (column + 1 == a->out) {
        *to = element_from(low);
        return;
    }
    high = finished(a, row, column + 1, high);
    if (a->out % 2 == 0) {
#if ELEMENT == 32
        *(float2 *)to = make_float2(low, high);
#else
        *(u32 *)to = mma_pair(low, high);
#endif
        return;
    }
    to[0] = element_from(low);
    to[1] = element_from(high);
}

#endif
