// wgmma.cuh: what kernels for Hopper's warpgroup products share: the copy engine and the barriers
// that tell when its boxes are there, where matrices lie in shared memory, products and when they
// are done. Include types.cuh first.
#ifndef ASSAY_WGMMA_CUH
#define ASSAY_WGMMA_CUH

enum { GROUP_THREADS = 128, GROUP_ROWS = 64 }; // of a warpgroup; rows of one product

// ---- barriers -----------------------------------------------------------------------------------

DEVICE void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

// For the thread that initialised barriers, before others may use them.
DEVICE void barriers_ready(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Waits for the end of the phase of this parity; of a new barrier, parity 1 counts as ended.
DEVICE void barrier_wait(u32 barrier, u32 parity)
{
    u32 done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

DEVICE void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

// One arrival for this warp.
DEVICE void barrier_release(u32 barrier, u32 lane)
{
    if (lane == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Walks around a ring of stages; the parity changes each time around.
struct ring {
    u32 stage, parity;
};

DEVICE void ring_next(struct ring *ring, u32 stages)
{
    if (++ring->stage == stages) {
        ring->stage = 0;
        ring->parity ^= 1;
    }
}

// ---- the copy engine ----------------------------------------------------------------------------

// Made by the driver (tensor_map.h); the copy engine reads it where the parameters lie.
struct __align__(64) tensor_map {
    u64 opaque[16];
};

// Prefetches a map, by the thread that will load boxes.
DEVICE void map_prefetch(const struct tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The box of `map` at these coordinates to `to`. What is outside of the tensor arrives as zeros, and
// counts as bytes too. Its end is told to the barrier `full`.
DEVICE void load_box(u32 to, const struct tensor_map *map, int x, int y, u32 full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(full)
                 : "memory");
}

DEVICE void load_box(u32 to, const struct tensor_map *map, int x, int y, int z, u32 full)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(full)
                 : "memory");
}

DEVICE void load_box(u32 to, const struct tensor_map *map, int x, int y, int z, int w, u32 full)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(full)
                 : "memory");
}

// ---- products -----------------------------------------------------------------------------------

// Where a matrix lies in shared memory, for wgmma. Rows are 128 bytes, 8 rows are one swizzle atom
// of 1024 bytes, aligned to 1024 (so "base offset", bits 49 to 51, is 0):
//   bits  0..13  address / 16
//   bits 16..29  leading dimension offset / 16: not used where rows go along k and are one atom
//                wide; where they go across k, from 128 bytes of them to the next 128
//   bits 32..45  stride dimension offset / 16: 1024 bytes from 8 rows to the next 8
//   bits 62..63  1: 128-byte swizzle
// The 16-byte unit at address a is found at a ^ (a / 128 % 8 * 16): the hardware applies this to
// the sum of start and offset, as the copy engine does, so the next 32 bytes of k are 32 bytes on.
DEVICE u64 matrix_across(u32 address, u32 next_columns)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(next_columns >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

DEVICE u64 matrix_at(u32 address) { return matrix_across(address, 16); }

// The offset, in a descriptor, of a matrix that lies some bytes further.
DEVICE constexpr u64 matrix_further(u32 bytes) { return bytes >> 4; }

DEVICE void multiply_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void multiply_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING> DEVICE void multiply_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Registers that products read or write: sums are read only after this, and operands are complete
// before it. Without it the compiler could move either past a wait or a begin.
template <int N> DEVICE void registers_settle(float *d)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

template <int N> DEVICE void registers_settle(int *d)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+r"(d[i])::"memory");
}

template <int N> DEVICE void registers_settle(u32 *d)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+r"(d[i])::"memory");
}

// The text of an instruction with N columns, 64, 96, 128, 160, 192 or 256, whose sums are the first
// N / 2 operands:
//   WGMMA_REGISTERS(N)          those operands
//   WGMMA_SUMS(N, kind, d)      and what they are: kind "+f" or "+r", d an array
//   WGMMA_INPUT(N, i)           operand i behind them, up to 5
#define WGMMA_TEN(t)                                                                               \
    "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define WGMMA_THIRTY "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," WGMMA_TEN(1) WGMMA_TEN(2)
#define WGMMA_SIXTY WGMMA_THIRTY WGMMA_TEN(3) WGMMA_TEN(4) WGMMA_TEN(5)
#define WGMMA_NINETY WGMMA_SIXTY WGMMA_TEN(6) WGMMA_TEN(7) WGMMA_TEN(8)
#define WGMMA_REGISTERS_64 WGMMA_THIRTY "%30,%31"
#define WGMMA_REGISTERS_96                                                                         \
    WGMMA_THIRTY WGMMA_TEN(3) "%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_REGISTERS_128 WGMMA_SIXTY "%60,%61,%62,%63"
#define WGMMA_REGISTERS_160                                                                        \
    WGMMA_SIXTY WGMMA_TEN(6) "%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_REGISTERS_192 WGMMA_NINETY "%90,%91,%92,%93,%94,%95"
#define WGMMA_REGISTERS_256                                                                        \
    WGMMA_NINETY WGMMA_TEN(9) WGMMA_TEN(10) WGMMA_TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127"

#define WGMMA_1(k, d, i) k(d[i])
#define WGMMA_8(k, d, i)                                                                           \
    WGMMA_1(k, d, i), WGMMA_1(k, d, i + 1), WGMMA_1(k, d, i + 2), WGMMA_1(k, d, i + 3),            \
        WGMMA_1(k, d, i + 4), WGMMA_1(k, d, i + 5), WGMMA_1(k, d, i + 6), WGMMA_1(k, d, i + 7)
#define WGMMA_32(k, d, i)                                                                          \
    WGMMA_8(k, d, i), WGMMA_8(k, d, i + 8), WGMMA_8(k, d, i + 16), WGMMA_8(k, d, i + 24)
#define WGMMA_SUMS_64(k, d) WGMMA_32(k, d, 0)
#define WGMMA_SUMS_96(k, d) WGMMA_32(k, d, 0), WGMMA_8(k, d, 32), WGMMA_8(k, d, 40)
#define WGMMA_SUMS_128(k, d) WGMMA_32(k, d, 0), WGMMA_32(k, d, 32)
#define WGMMA_SUMS_160(k, d) WGMMA_SUMS_128(k, d), WGMMA_8(k, d, 64), WGMMA_8(k, d, 72)
#define WGMMA_SUMS_192(k, d) WGMMA_SUMS_128(k, d), WGMMA_32(k, d, 64)
#define WGMMA_SUMS_256(k, d) WGMMA_SUMS_192(k, d), WGMMA_32(k, d, 96)

#define WGMMA_INPUTS_64 "%32", "%33", "%34", "%35", "%36", "%37"
#define WGMMA_INPUTS_96 "%48", "%49", "%50", "%51", "%52", "%53"
#define WGMMA_INPUTS_128 "%64", "%65", "%66", "%67", "%68", "%69"
#define WGMMA_INPUTS_160 "%80", "%81", "%82", "%83", "%84", "%85"
#define WGMMA_INPUTS_192 "%96", "%97", "%98", "%99", "%100", "%101"
#define WGMMA_INPUTS_256 "%128", "%129", "%130", "%131", "%132", "%133"
#define WGMMA_PICK_0(a, b, c, d, e, f) a
#define WGMMA_PICK_1(a, b, c, d, e, f) b
#define WGMMA_PICK_2(a, b, c, d, e, f) c
#define WGMMA_PICK_3(a, b, c, d, e, f) d
#define WGMMA_PICK_4(a, b, c, d, e, f) e
#define WGMMA_PICK_5(a, b, c, d, e, f) f
#define WGMMA_CALL(macro, ...) macro(__VA_ARGS__)
#define WGMMA_JOIN_(a, b) a##b
#define WGMMA_JOIN(a, b) WGMMA_JOIN_(a, b)
#define WGMMA_TEXT_(x) #x
#define WGMMA_TEXT(x) WGMMA_TEXT_(x)
#define WGMMA_REGISTERS(n) WGMMA_JOIN(WGMMA_REGISTERS_, n)
#define WGMMA_SUMS(n, kind, d) WGMMA_JOIN(WGMMA_SUMS_, n)(kind, d)
#define WGMMA_INPUT(n, i) WGMMA_CALL(WGMMA_PICK_##i, WGMMA_JOIN(WGMMA_INPUTS_, n))

// ---- outputs ------------------------------------------------------------------------------------

// Four threads side by side hold four words each; thread t gets word t of all four.
DEVICE void quad_transpose(u32 *word, u32 lane)
{
    bool odd = lane & 1, upper = lane & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        u32 got = __shfl_xor_sync(~0u, odd ? word[i] : word[i + 1], 1);
        word[i] = odd ? got : word[i];
        word[i + 1] = odd ? word[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 got = __shfl_xor_sync(~0u, upper ? word[i] : word[i + 2], 2);
        word[i] = upper ? got : word[i];
        word[i + 2] = upper ? word[i + 2] : got;
    }
}

#endif
