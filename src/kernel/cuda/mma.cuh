// mma.cuh: matrix instructions of one warp, and what brings tiles to them. Include types.cuh first,
// with ELEMENT defined.
//
// Lane l is (g, t) = (l / 4, l % 4). Of a product of 16 x 16 by 16 x 8 it holds
//     a0 … a3  row g, g + 8, g, g + 8; columns 2t, 2t + 1, those of a2 and a3 8 further
//     b0, b1   column g; rows 2t, 2t + 1, those of b1 8 further
//     c0 … c3  row g, g, g + 8, g + 8; columns 2t, 2t + 1, 2t, 2t + 1
#ifndef ASSAY_MMA_CUH
#define ASSAY_MMA_CUH

DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

#if ELEMENT != 32
// c += a b
DEVICE void mma(float *c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
#if ELEMENT == 17
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
#endif
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Two elements for one register of an operand, `low` in the column or row that comes first.
DEVICE u32 mma_pair(float low, float high)
{
#if ELEMENT == 17
    return bf16x2_from_floats(low, high);
#else
    return f16x2_from_floats(low, high);
#endif
}
#endif

// Four matrices of 8 rows of 16 bytes in shared memory: lane l gives the address of row l % 8 of
// matrix l / 8, and gets of each row g, columns 2t and 2t + 1.
DEVICE void load_matrices(u32 *out, u32 from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(from)
                 : "memory");
}

// The same transposed: of each column g, rows 2t and 2t + 1.
DEVICE void load_transposed(u32 *out, u32 from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(from)
                 : "memory");
}

// A matrix of 8 x 8 in registers, transposed: from row g, columns 2t and 2t + 1 to column g, rows
// 2t and 2t + 1.
DEVICE u32 transpose(u32 pair)
{
    u32 out;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(pair));
    return out;
}

// Starts a copy of 16 bytes to shared memory; zeros, and no access, where not `wanted`.
DEVICE void copy_16(void *to, const void *from, bool wanted)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(wanted ? 16 : 0)
                 : "memory");
}

// Copies are waited for in groups: this ends one,
DEVICE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// and this waits for all of this thread but the latest N groups.
template <int N> DEVICE void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#endif
