/* graph_time.cu: how long silu_and_mul [128, 1024] f16 of examples/kernels/activation takes in a
 * CUDA graph of many launches: the figure that assay's own is compared with (tools/perf-device).
 * Built by nvcc; prints nanoseconds a launch, the least of several replays. */
#include <cstdio>
#include <cuda_runtime.h>

#define __CUDACC_RTC__ /* the GPU's part of the file alone */
#include "../../examples/kernels/activation/benchmarks/benchmark_activation.cu"

static bool failed(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return false;
    fprintf(stderr, "graph_time: %s: %s\n", what, cudaGetErrorString(status));
    return true;
}

int main()
{
    enum { ROWS = 128, D = 512, COUNT = ROWS * D, LAUNCHES = 1000, REPLAYS = 50, THREADS = 128 };
    uint4 *x, *out;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t begin, end;
    float least = 1e30f;
    if (failed(cudaMalloc(&x, COUNT * 4), "memory") || failed(cudaMalloc(&out, COUNT * 2), "memory") ||
        failed(cudaMemset(x, 0x31, COUNT * 4), "fill") || failed(cudaStreamCreate(&stream), "stream") ||
        failed(cudaEventCreate(&begin), "event") || failed(cudaEventCreate(&end), "event") ||
        failed(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture"))
        return 1;
    for (int i = 0; i < LAUNCHES; i++)
        silu_and_mul<<<COUNT / 8 / THREADS, THREADS, 0, stream>>>(out, x, COUNT, D);
    if (failed(cudaStreamEndCapture(stream, &graph), "capture") ||
        failed(cudaGraphInstantiate(&ready, graph, 0), "graph"))
        return 1;
    for (int i = 0; i < REPLAYS; i++) {
        float ms = 0;
        cudaEventRecord(begin, stream);
        cudaGraphLaunch(ready, stream);
        cudaEventRecord(end, stream);
        if (failed(cudaEventSynchronize(end), "replay") ||
            failed(cudaEventElapsedTime(&ms, begin, end), "clock"))
            return 1;
        least = ms < least ? ms : least;
    }
    printf("%.1f\n", (double)least * 1e6 / LAUNCHES);
    return 0;
}
