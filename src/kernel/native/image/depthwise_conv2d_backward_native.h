/* depthwise_conv2d_backward_native.h: what the native kernels of depthwise_conv2d_backward share.
 *
 * dX with stride 1 is a depthwise convolution of dY with the turned filters, padded by kernel - 1 -
 * pad: the shares of depthwise_conv2d compute it. With a longer stride every pixel of x sums over
 * the taps that meet a pixel of dY. dW is summed in f32, line by line of dY, by each thread for its
 * own lines; the threads' sums are added up in order, so that the same number of threads always
 * gives the same bits. dbias is summed with it, as a tap whose x is 1.
 *
 * A thread goes over both a few lines at a time, so that dY comes from memory once. */
#ifndef ASSAY_KERNEL_NATIVE_DEPTHWISE_CONV2D_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_DEPTHWISE_CONV2D_BACKWARD_NATIVE_H

#include "kernel/native/native.h"
#include "op/conv.h"

/* One call. */
struct depthwise_backward {
    struct assay_conv conv;
    enum native_kind kind;
    const void *dy, *x, *w;
    const void *turned;    /* W, the last tap first */
    void *dx, *dw, *dbias; /* dbias is NULL where there is none */
    int64_t padded;        /* channels in whole blocks: from one tap's sums to the next */
    bool stream;           /* dX by streaming stores */
};

struct depthwise_backward_body {
    int64_t block; /* channels at a time */
    /* Lines [begin, end) of all images of x. */
    void (*data)(const struct depthwise_backward *d, int64_t begin, int64_t end);
    /* Adds lines [begin, end) of all images of dY to sums [taps, and 1 for dbias][padded]. */
    void (*weights)(const struct depthwise_backward *d, int64_t begin, int64_t end, float *sums);
    /* dW and dbias of channels [begin, end), whole blocks but at the end, from the sums of
     * `threads` threads that lie `apart` floats from each other. */
    void (*finish)(const struct depthwise_backward *d, const float *sums, int64_t threads,
                   int64_t apart, int64_t begin, int64_t end);
};

enum assay_status depthwise_backward_setup(const struct assay_problem *problem,
                                           const struct depthwise_backward_body *body, void **state,
                                           struct assay_error *err);
enum assay_status depthwise_backward_run(void *state, const struct assay_work *work);
void depthwise_backward_teardown(void *state);

#endif
