// gate.cu: holds a stream until the host lets it through, so that launches behind it are enqueued
// before any of them runs, and their time is the GPU's alone.

static __device__ unsigned long long now_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

// One thread. gate[0] counts the tickets let through, in host memory. Gives up after `most_ns`, so
// that a host that waits for the GPU does not wait for ever, and says so in gate[1].
extern "C" __global__ void gate(volatile unsigned *gate, unsigned ticket, unsigned long long most_ns)
{
    unsigned long long start = now_ns();
    while ((int)(gate[0] - ticket) < 0)
        if (now_ns() - start > most_ns) {
            gate[1] = ticket;
            break;
        }
}

// Nothing: what a launch costs at the least.
extern "C" __global__ void nothing() {}

// Spins for `ns` of the GPU's own clock. For tests of the timer.
extern "C" __global__ void spin(unsigned long long ns)
{
    unsigned long long start = now_ns();
    while (now_ns() - start < ns)
        ;
}

// The same, and says when it began and when it ended.
extern "C" __global__ void spin_noted(unsigned long long ns, unsigned long long *times)
{
    unsigned long long start = now_ns(), end;
    do
        end = now_ns();
    while (end - start < ns);
    times[0] = start;
    times[1] = end;
}
