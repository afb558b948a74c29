// emulated_kernel.cc: a kernel of a CUDA text that runs on the host, for tests/device/emulate.sh.
//
// fake_cuda.c compiles this once for each kernel, with the text's own options and
//   -DEMULATED_TEXT="NAME.cu" -DEMULATED_KERNEL=FUNCTION
// and calls emulated_pack and emulated_run. Blocks run one after the other. The threads of a block
// are contexts that take turns, and stop at barriers and shuffles: forwards in one launch and
// backwards in the next, so that what lacks a barrier is wrong in one of them. Functions of the
// texts that are inline assembly are left out of them (emulate.sh), and stand here.
//
// Not here: clusters, copies by the copy engine, products of warpgroups.
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static // blocks run one after the other
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

struct uint4 {
    u32 x, y, z, w;
};
struct uint3 {
    u32 x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static uint3 threadIdx, blockIdx, blockDim, gridDim;

static uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }

// ---- threads ------------------------------------------------------------------------------------

enum { MOST_THREADS = 1024, STACK_BYTES = 64 * 1024, SLOT_BYTES = 16 };
enum state { READY, AT_WARP, AT_BLOCK, DONE };

// A thread's context is made once, and it begins anew in every block. It is entered by the calls of
// <ucontext.h>, which ask the system, and from then on by long jumps, which do not.
struct thread {
    jmp_buf stopped;
    enum state state;
    alignas(16) unsigned char slot[SLOT_BYTES]; // what it shows the others of its warp
    alignas(16) unsigned char stack[STACK_BYTES];
};
static thread *threads;
static u32 made; // so many have been entered
static jmp_buf scheduler;
static u32 running;

[[noreturn]] static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", EMULATED_TEXT, what);
    abort();
}

static void wait_at(enum state where)
{
    threads[running].state = where;
    if (_setjmp(threads[running].stopped) == 0)
        _longjmp(scheduler, 1);
}

static void __syncthreads() { wait_at(AT_BLOCK); }

static bool __syncthreads_or(bool mine)
{
    static bool any;
    any = any || mine;
    __syncthreads();
    bool result = any;
    __syncthreads();
    any = false;
    __syncthreads();
    return result;
}

static void __syncwarp() { wait_at(AT_WARP); }

template <class T> static T __shfl_xor_sync(u32 mask, T v, int with)
{
    static_assert(sizeof(T) <= SLOT_BYTES, "a shuffle of so many bytes");
    u32 other = running ^ (u32)with;
    if (mask != ~0u || other >= blockDim.x)
        give_up("a shuffle with lanes that are not there");
    memcpy(threads[running].slot, &v, sizeof v);
    __syncwarp();
    memcpy(&v, threads[other].slot, sizeof v);
    __syncwarp();
    return v;
}

static bool __any_sync(u32 mask, bool mine)
{
    u32 v = mine;
    for (int with = 16; with > 0; with /= 2)
        v |= __shfl_xor_sync(mask, v, with);
    return v != 0;
}

static bool all_at(u32 first, u32 end, enum state where)
{
    for (u32 i = first; i < end; i++)
        if (threads[i].state != where)
            return false;
    return true;
}

static void release(u32 first, u32 end)
{
    for (u32 i = first; i < end; i++)
        threads[i].state = READY;
}

// Barriers that all have reached open: a warp's for its lanes, the block's for all threads. Threads
// that have ended count for neither: assay's kernels end together.
static bool open_barriers()
{
    bool any = false;
    for (u32 first = 0; first < blockDim.x; first += 32) {
        u32 end = first + 32 < blockDim.x ? first + 32 : blockDim.x;
        if (all_at(first, end, AT_WARP)) {
            release(first, end);
            any = true;
        }
    }
    if (all_at(0, blockDim.x, AT_BLOCK)) {
        release(0, blockDim.x);
        any = true;
    }
    return any;
}

// Dynamic shared memory: emulate.sh has texts take it from here.
enum { SHARED_BYTES = 228 * 1024 };
alignas(1024) static unsigned char dynamic_shared[SHARED_BYTES];

static void (*body)();

static void begin()
{
    for (;;) {
        body();
        wait_at(DONE);
    }
}

static void enter(thread *t)
{
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = t->stack;
    context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&context, begin, 0);
    setcontext(&context);
}

// This thread goes on to its next stop.
static void resume(u32 index)
{
    running = index;
    threadIdx = {index, 0, 0};
    if (_setjmp(scheduler) != 0)
        return;
    if (index < made)
        _longjmp(threads[index].stopped, 1);
    made++;
    enter(&threads[index]);
}

// Every thread that can goes on.
static bool run_threads(bool backwards)
{
    bool any = false;
    for (u32 i = 0; i < blockDim.x; i++) {
        u32 index = backwards ? blockDim.x - 1 - i : i;
        if (threads[index].state != READY)
            continue;
        resume(index);
        any = true;
    }
    return any;
}

static void run_block(bool backwards)
{
    // Threads are made in order, so new ones go to their first stop in that order.
    for (u32 i = 0; i < blockDim.x; i++)
        threads[i].state = READY;
    for (u32 i = made; i < blockDim.x; i++)
        resume(i);
    while (run_threads(backwards) || open_barriers())
        ;
    if (!all_at(0, blockDim.x, DONE))
        give_up("threads wait for others that do not come");
}

// ---- what device code calls ---------------------------------------------------------------------

template <class To, class From> static To bits_of(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

static float __uint_as_float(u32 bits) { return bits_of<float>(bits); }
static float __int_as_float(int bits) { return bits_of<float>(bits); }
static u32 __float_as_uint(float value) { return bits_of<u32>(value); }
static float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static void __threadfence() {}
template <class T> static T __ldcg(const T *from) { return *from; }
template <class T> static T __ldcs(const T *from) { return *from; }

template <class T, class U> static T atomicAdd(T *to, U value)
{
    static_assert(!std::is_floating_point<T>::value, "sums of floats depend on the order");
    T old = *to;
    *to += (T)value;
    return old;
}

template <class T, class U> static T atomicXor(T *to, U value)
{
    T old = *to;
    *to ^= (T)value;
    return old;
}

template <class T, class U> static T atomicExch(T *to, U value)
{
    T old = *to;
    *to = (T)value;
    return old;
}

// ---- types.cuh ----------------------------------------------------------------------------------

static u16 bf16_from_float(float value)
{
    u32 bits = __float_as_uint(value);
    if (std::isnan(value))
        return 0x7fff;
    return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static u32 bf16x2_from_floats(float low, float high)
{
    return bf16_from_float(low) | (u32)bf16_from_float(high) << 16;
}

static float float_from_f16(u16 bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? ldexpf((float)fraction, -24)
                                  : ldexpf((float)(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static u16 f16_from_float(float value)
{
    u16 sign = std::signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    int exponent = 0;
    if (std::isnan(value))
        return 0x7fff;
    if (size >= 65520)
        return sign | 0x7c00;
    frexpf(size, &exponent);
    if (exponent < -13 || size == 0) // nearbyint rounds ties to even
        return sign | (u16)nearbyintf(ldexpf(size, 24));
    int units = (int)nearbyintf(ldexpf(size, 11 - exponent));
    return sign | (u16)(((exponent + 14) << 10) + units - 1024);
}

static u32 f16x2_from_floats(float low, float high)
{
    return f16_from_float(low) | (u32)f16_from_float(high) << 16;
}

// ---- kernel_math.cuh ----------------------------------------------------------------------------

static void check_aligned(const void *p)
{
    if ((uintptr_t)p % 16 != 0)
        give_up("16 bytes at an address that is not a multiple of 16");
}

static uint4 load_once(const void *from, bool wanted, u32 fill)
{
    uint4 v = {fill, fill, fill, fill};
    if (wanted) {
        check_aligned(from);
        memcpy(&v, from, sizeof v);
    }
    return v;
}

static uint4 load_kept(const void *from, bool wanted) { return load_once(from, wanted, 0); }

static void store_once(void *to, uint4 v, bool wanted)
{
    if (!wanted)
        return;
    check_aligned(to);
    memcpy(to, &v, sizeof v);
}

static float to_zero(float x) { return fabsf(x) < 0x1p-126f ? 0.0f * x : x; }
static float fast_exp2(float x) { return to_zero(exp2f(to_zero(x))); }
static float fast_reciprocal(float x) { return to_zero(1.0f / to_zero(x)); }
static float max_nan(float a, float b) { return a != a || b != b ? NAN : fmaxf(a, b); }
static float min_nan(float a, float b) { return a != a || b != b ? NAN : fminf(a, b); }

#if ELEMENT == 16 || ELEMENT == 17
static u16 half_max(u16 a, u16 b)
{
#if ELEMENT == 16
    return float_from_f16(a) > float_from_f16(b) || b > (b & 0x8000) + 0x7c00 ? a : b;
#else
    float x = bits_of<float>((u32)a << 16), y = bits_of<float>((u32)b << 16);
    return x > y || y != y ? a : b;
#endif
}
static u32 pair_max(u32 a, u32 b)
{
    return half_max((u16)a, (u16)b) | (u32)half_max((u16)(a >> 16), (u16)(b >> 16)) << 16;
}
#endif

// ---- mma.cuh ------------------------------------------------------------------------------------

static int min(int a, int b) { return a < b ? a : b; }

static u32 shared_address(const void *p)
{
    return (u32)((const unsigned char *)p - dynamic_shared);
}

#if ELEMENT == 16 || ELEMENT == 17
// A word of each lane of this warp.
struct words {
    u32 of[32];
};

static words show(u32 mine)
{
    words all;
    u32 first = running / 32 * 32;
    memcpy(threads[running].slot, &mine, sizeof mine);
    __syncwarp();
    for (u32 lane = 0; lane < 32; lane++)
        memcpy(&all.of[lane], threads[first + lane].slot, sizeof(u32));
    __syncwarp();
    return all;
}

static float half_of(u32 pair, u32 which)
{
    u16 bits = (u16)(pair >> 16 * which);
    return ELEMENT == 16 ? float_from_f16(bits) : bits_of<float>((u32)bits << 16);
}

// As mma.cuh describes it; sums are f32, one product after the other.
static void mma(float *c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
    words a[4] = {show(a0), show(a1), show(a2), show(a3)}, b[2] = {show(b0), show(b1)};
    u32 lane = running % 32, g = lane / 4, t = lane % 4;
    for (u32 i = 0; i < 4; i++) {
        u32 row = i / 2, column = 2 * t + i % 2;
        for (u32 k = 0; k < 16; k++) {
            float x = half_of(a[k / 8 * 2 + row].of[g * 4 + k % 8 / 2], k % 2);
            float y = half_of(b[k / 8].of[column * 4 + k % 8 / 2], k % 2);
            c[i] += x * y;
        }
    }
}

static const u16 *row_of_matrix(const words &rows, u32 matrix, u32 row)
{
    u32 from = rows.of[matrix * 8 + row];
    if (from % 16 != 0 || from + 16 > SHARED_BYTES)
        give_up("a row of a matrix that does not lie in shared memory");
    return (const u16 *)(dynamic_shared + from);
}

static void load_matrices(u32 *out, u32 from)
{
    words rows = show(from);
    u32 lane = running % 32;
    for (u32 i = 0; i < 4; i++)
        memcpy(&out[i], row_of_matrix(rows, i, lane / 4) + lane % 4 * 2, sizeof(u32));
}

static void load_transposed(u32 *out, u32 from)
{
    words rows = show(from);
    u32 g = running % 32 / 4, t = running % 4;
    for (u32 i = 0; i < 4; i++)
        out[i] = row_of_matrix(rows, i, 2 * t)[g] | (u32)row_of_matrix(rows, i, 2 * t + 1)[g] << 16;
}

static u32 transpose(u32 pair)
{
    words all = show(pair);
    u32 g = running % 32 / 4, t = running % 4;
    u32 low = all.of[2 * t * 4 + g / 2] >> g % 2 * 16,
        high = all.of[(2 * t + 1) * 4 + g / 2] >> g % 2 * 16;
    return (low & 0xffff) | high << 16;
}
#endif

// Done at once, which the real one may also do.
static void copy_16(void *to, const void *from, bool wanted)
{
    uint4 v = load_once(from, wanted, 0);
    check_aligned(to);
    memcpy(to, &v, sizeof v);
}
static void copies_commit() {}
template <int N> static void copies_wait() {}

// Of groupnorm.cu and norm_backward.cu: hints for the compiler.
template <class T> static void forget_places(T *) {}
template <class T> static void forget(T *) {}

// ---- the kernel ---------------------------------------------------------------------------------

#include EMULATED_TEXT

template <class... A> struct call {
    static_assert(sizeof(std::tuple<A...>) <= 512, "fake_cuda.c: PACKED_BYTES");
    static inline std::tuple<A...> *arguments;
    static inline void (*kernel)(A...);

    template <size_t... I>
    static std::tuple<A...> take(void **parameters, std::index_sequence<I...>)
    {
        return std::tuple<A...>(*(A *)parameters[I]...);
    }
    static void pack(void (*)(A...), void **parameters, void *to)
    {
        new (to) std::tuple<A...>(take(parameters, std::index_sequence_for<A...>()));
    }
    static void once() { std::apply(kernel, *arguments); }
    static void prepare(void *packed)
    {
        arguments = (std::tuple<A...> *)packed;
        kernel = EMULATED_KERNEL;
        body = once;
    }
};

template <class... A> static call<A...> call_of(void (*)(A...)) { return {}; }
typedef decltype(call_of(EMULATED_KERNEL)) the_call;

extern "C" void emulated_pack(void **parameters, void *to);
extern "C" void emulated_pack(void **parameters, void *to)
{
    the_call::pack(EMULATED_KERNEL, parameters, to);
}

extern "C" void emulated_run(void *packed, const unsigned *grid, unsigned block, unsigned shared);
extern "C" void emulated_run(void *packed, const unsigned *grid, unsigned block, unsigned shared)
{
    static bool backwards;
    if (shared > SHARED_BYTES || block > MOST_THREADS)
        give_up("a launch that is not emulated");
    if (!threads)
        threads = new thread[MOST_THREADS];
    the_call::prepare(packed);
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block, 1, 1};
    for (u32 z = 0; z < grid[2]; z++)
        for (u32 y = 0; y < grid[1]; y++)
            for (u32 x = 0; x < grid[0]; x++) {
                blockIdx = {backwards ? grid[0] - 1 - x : x, y, z};
                run_block(backwards);
            }
    backwards = !backwards;
}
