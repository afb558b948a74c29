/* test_cpu_info.c: detection on recorded machines. CPUID answers are tables here; /sys and /proc
 * are folders under tests/fixtures. */
#include "device/cpu/cpu_info.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#ifndef ASSAY_SOURCE_DIR
#define ASSAY_SOURCE_DIR "."
#endif
#define FIXTURE(machine) ASSAY_SOURCE_DIR "/tests/fixtures/" machine

struct leaf {
    uint32_t leaf, subleaf;
    struct assay_cpuid_regs regs;
};

struct machine {
    const char *root, *brand; /* brand: leaves 0x80000002 to 0x80000004 */
    uint64_t xcr0;
    struct leaf leaves[8];
    bool asked_xcr0; /* set by the fake; asking without OSXSAVE would fault on a real machine */
};

/* "Genu" "ineI" "ntel" in ebx, edx, ecx. */
#define GENUINE_INTEL 0x756e6547, 0x6c65746e, 0x49656e69
#define AUTHENTIC_AMD 0x68747541, 0x444d4163, 0x69746e65

/* Recorded: leaf 7 edx has AMX tile, bf16 and int8; XCR0 has the tile bits 17 and 18; leaf 0x1D,
 * which should describe the tiles, lies beyond the last leaf, 0x1C. */
static const struct machine emerald_rapids_vm = {
    .root = FIXTURE("emerald_rapids_vm"),
    .brand = "Intel(R) Xeon(R) Processor",
    .xcr0 = 0x600e7,
    .leaves = {{0, 0, {0x1c, GENUINE_INTEL}},
               {1, 0, {0x000c06f2, 0x01020800, 0xfffa3203, 0x1f8bfbff}},
               {7, 0, {0x00000002, 0xf1bf2ffb, 0x1a415f46, 0x23c14010}},
               {7, 1, {0x00001c30, 0, 0, 0}}},
};

static const struct machine haswell = {
    .root = FIXTURE("haswell"),
    .brand = "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz",
    .xcr0 = 0x7,
    .leaves = {{0, 0, {0xd, GENUINE_INTEL}},
               {1, 0, {0x000306c3, 0x00100800, 0x7ffafbbf, 0xbfebfbff}},
               {7, 0, {0, 0x000027ab, 0, 0}}},
};

static const struct machine zen4 = {
    .root = FIXTURE("zen4"),
    .brand = "AMD Ryzen 9 7950X 16-Core Processor            ",
    .xcr0 = 0x2e7,
    .leaves = {{0, 0, {0x10, AUTHENTIC_AMD}},
               {1, 0, {0x00a60f12, 0x00200800, 0x7ef8320b, 0x178bfbff}},
               {7, 0, {1, 0xf1bf97a9, 0x00405fce, 0x10000010}},
               {7, 1, {0x00000020, 0, 0, 0}}},
};

/* Recorded: two cores, of which it is said that they share one last-level cache. */
static const struct machine genoa_vm = {
    .root = FIXTURE("genoa_vm"),
    .brand = "AMD EPYC",
    .xcr0 = 0xe7,
    .leaves = {{0, 0, {0x1c, AUTHENTIC_AMD}},
               {1, 0, {0x00a10f11, 0x01020800, 0xfffa3203, 0x178bfbff}},
               {7, 0, {0x00000001, 0xf1bf07ab, 0x00405fc6, 0x00000010}},
               {7, 1, {0x00000020, 0, 0, 0}}},
};

/* Before AVX: no OSXSAVE, no leaf 7, and a name pushed to the right with blanks. */
static const struct machine nehalem = {
    .root = FIXTURE("nehalem"),
    .brand = "      Intel(R) Core(TM) i7 CPU 920  @ 2.67GHz",
    .xcr0 = 0xdead,
    .leaves = {{0, 0, {0xb, GENUINE_INTEL}},
               {1, 0, {0x000106a5, 0x00100800, 0x0098e3bd, 0xbfebfbff}}},
};

/* The CPU has AVX-512; the operating system saves only the registers up to AVX. */
static const struct machine skylake_x_old_os = {
    .root = FIXTURE("skylake_x"),
    .brand = "Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz",
    .xcr0 = 0x7,
    .leaves = {{0, 0, {0x16, GENUINE_INTEL}},
               {1, 0, {0x00050654, 0x00200800, 0x7ffefbbf, 0xbfebfbff}},
               {7, 0, {0, 0xd39ffffb, 0, 0}}},
};

static void fake_cpuid(void *user, uint32_t leaf, uint32_t subleaf, struct assay_cpuid_regs *out)
{
    const struct machine *machine = user;
    *out = (struct assay_cpuid_regs){0};
    if (leaf == 0x80000000u && machine->brand)
        out->eax = 0x80000008u;
    if (leaf >= 0x80000002u && leaf <= 0x80000004u && machine->brand) {
        char brand[48] = {0};
        memcpy(brand, machine->brand, strlen(machine->brand));
        memcpy(out, brand + 16 * (leaf - 0x80000002u), 16);
    }
    const struct leaf *known = machine->leaves;
    for (size_t i = 0; i < sizeof machine->leaves / sizeof machine->leaves[0]; i++, known++)
        if (known->leaf == leaf && known->subleaf == subleaf &&
            (leaf || i == 0)) /* unused: zeros */
            *out = known->regs;
}

static uint64_t fake_xgetbv0(void *user)
{
    struct machine *machine = user;
    machine->asked_xcr0 = true;
    return machine->xcr0;
}

static struct assay_cpu_info detect(struct machine machine)
{
    struct assay_cpu_info info;
    struct assay_cpu_source source = {&machine, fake_cpuid, fake_xgetbv0, machine.root};
    assay_cpu_detect(&source, &info);
    bool osxsave = machine.leaves[1].regs.ecx >> 27 & 1;
    assert_int_equal(machine.asked_xcr0, osxsave);
    return info;
}

static void assert_isa(const struct assay_cpu_info *info, const char *want)
{
    char names[128];
    assay_cpu_isa_text(info->isa, names, sizeof names);
    assert_string_equal(names, want);
}

static void emerald_rapids_vm_has_everything_and_hides_a_leaf(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(emerald_rapids_vm);
    assert_string_equal(info.vendor, "GenuineIntel");
    assert_string_equal(info.model, "Intel(R) Xeon(R) Processor");
    assert_int_equal(info.family, 6);
    assert_int_equal(info.model_number, 0xcf);
    assert_int_equal(info.stepping, 2);
    assert_isa(
        &info,
        "sse4.2 avx2 avx512 avx512_vnni avx512_bf16 avx512_fp16 avx512_vbmi amx_tile amx_bf16 "
        "amx_int8");
    assert_true(info.hypervisor);
    assert_true(info.amx_leaf_hidden);
    assert_int_equal(info.l1d_bytes, 48 * 1024);
    assert_int_equal(info.l2_bytes, 2048 * 1024);
    assert_int_equal(info.llc_bytes, 260 * 1024 * 1024);
    assert_int_equal(info.llcs, 1);
    assert_false(info.llcs_hidden || info.fast_bf16_dot || info.reads_ahead);
    assert_int_equal(info.memory_bytes, UINT64_C(24682416) * 1024);
}

/* The same CPU on bare metal: leaf 0x1D is there and its eax is the highest palette, 1. A leaf of
 * zeros is as good as none. */
static void a_visible_amx_leaf_is_not_hidden(void **state)
{
    (void)state;
    struct machine bare = emerald_rapids_vm;
    bare.leaves[0].regs.eax = 0x20;
    struct assay_cpu_info info = detect(bare);
    assert_true(info.amx_leaf_hidden);
    bare.leaves[4] = (struct leaf){0x1d, 0, {1, 0, 0, 0}};
    info = detect(bare);
    assert_true(info.isa & ASSAY_CPU_AMX_TILE);
    assert_false(info.amx_leaf_hidden);
}

/* A kernel without AMX support leaves bits 17 and 18 of XCR0 clear; both are needed. */
static void amx_needs_the_operating_system(void **state)
{
    (void)state;
    static const uint64_t xcr0[] = {0xe7, 0x200e7, 0x400e7};
    for (int i = 0; i < 3; i++) {
        struct machine old_os = emerald_rapids_vm;
        old_os.xcr0 = xcr0[i];
        struct assay_cpu_info info = detect(old_os);
        assert_isa(&info, "sse4.2 avx2 avx512 avx512_vnni avx512_bf16 avx512_fp16 avx512_vbmi");
        assert_false(info.amx_leaf_hidden);
    }
}

static void haswell_has_avx2_and_no_more(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(haswell);
    assert_string_equal(info.model, "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz");
    assert_int_equal(info.family, 6);
    assert_int_equal(info.model_number, 0x3c);
    assert_int_equal(info.stepping, 3);
    assert_isa(&info, "sse4.2 avx2");
    assert_false(info.hypervisor);
    assert_int_equal(info.l1d_bytes, 32 * 1024);
    assert_int_equal(info.l2_bytes, 256 * 1024);
    assert_int_equal(info.llc_bytes, 8192 * 1024);
    assert_int_equal(info.memory_bytes, UINT64_C(16302048) * 1024);
}

/* Every AVX2 kernel uses FMA (bit 12) and F16C (bit 29) too. */
static void avx2_counts_only_with_fma_and_f16c(void **state)
{
    (void)state;
    static const int bits[] = {12, 29};
    for (int i = 0; i < 2; i++) {
        struct machine without = haswell;
        without.leaves[1].regs.ecx &= ~(1u << bits[i]);
        struct assay_cpu_info info = detect(without);
        assert_isa(&info, "sse4.2");
    }
}

/* Each of F 16, DQ 17, CD 28, BW 30 and VL 31 is needed. */
static void avx512_counts_only_when_whole(void **state)
{
    (void)state;
    static const int bits[] = {16, 17, 28, 30, 31};
    for (int i = 0; i < 5; i++) {
        struct machine without = zen4;
        without.leaves[2].regs.ebx &= ~(1u << bits[i]);
        struct assay_cpu_info info = detect(without);
        assert_isa(&info, "sse4.2 avx2");
    }
}

static void zen4_has_avx512_and_bf16_but_no_amx(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(zen4);
    assert_string_equal(info.vendor, "AuthenticAMD");
    assert_int_equal(info.family, 0x19); /* 15 and the extended 10 */
    assert_int_equal(info.model_number, 0x61);
    assert_int_equal(info.stepping, 2);
    assert_isa(&info, "sse4.2 avx2 avx512 avx512_vnni avx512_bf16 avx512_vbmi");
    assert_false(info.amx_leaf_hidden);
    assert_int_equal(info.l2_bytes, 1024 * 1024);
    assert_int_equal(info.llc_bytes, 32768 * 1024);
    assert_int_equal(info.llcs, 2); /* of cores 0 to 7, and of 8 to 15 */
    assert_false(info.llcs_hidden);
    assert_true(info.fast_bf16_dot && info.reads_ahead);
}

/* Its cores may run anywhere on the host. */
static void a_guest_is_not_believed_how_many_last_levels_there_are(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(genoa_vm);
    assert_isa(&info, "sse4.2 avx2 avx512 avx512_vnni avx512_bf16 avx512_vbmi");
    assert_true(info.hypervisor && info.llcs_hidden);
    assert_int_equal(info.llc_bytes, 32768 * 1024);
    assert_int_equal(info.llcs, 16);
}

/* Subleaf 1 of leaf 7 is only there when subleaf 0 says so. */
static void bf16_is_read_only_from_a_subleaf_that_exists(void **state)
{
    (void)state;
    struct machine without = zen4;
    without.leaves[2].regs.eax = 0;
    struct assay_cpu_info info = detect(without);
    assert_isa(&info, "sse4.2 avx2 avx512 avx512_vnni avx512_vbmi");
}

static void nehalem_has_sse_only(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(nehalem);
    assert_string_equal(info.model, "Intel(R) Core(TM) i7 CPU 920  @ 2.67GHz");
    assert_int_equal(info.model_number, 0x1a);
    assert_isa(&info, "sse4.2");
    assert_int_equal(info.l2_bytes, 256 * 1024);
    assert_int_equal(info.memory_bytes, UINT64_C(6116748) * 1024);
}

static void avx512_needs_the_operating_system(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect(skylake_x_old_os);
    assert_isa(&info, "sse4.2 avx2");
    assert_int_equal(info.llc_bytes, 14080 * 1024);
    struct machine new_os = skylake_x_old_os, no_avx = skylake_x_old_os;
    new_os.xcr0 = 0xe7;
    info = detect(new_os);
    assert_isa(&info, "sse4.2 avx2 avx512");
    no_avx.xcr0 = 0x3;
    info = detect(no_avx);
    assert_isa(&info, "sse4.2");
}

/* No CPUID (another architecture), no files: numbers that are safe to work with. */
static void a_machine_that_tells_nothing_gets_safe_numbers(void **state)
{
    (void)state;
    struct assay_cpu_source source = {NULL, NULL, NULL, FIXTURE("no_such_machine")};
    struct assay_cpu_info info;
    memset(&info, 0xff, sizeof info);
    assay_cpu_detect(&source, &info);
    assert_string_equal(info.vendor, "");
    assert_string_equal(info.model, "");
    assert_isa(&info, "");
    assert_int_equal(info.cores, 1);
    assert_int_equal(info.l1d_bytes, 32 * 1024);
    assert_int_equal(info.l2_bytes, 1024 * 1024);
    assert_int_equal(info.llc_bytes, 64 * 1024 * 1024);
    assert_int_equal(info.memory_bytes, 0);
}

static void a_cpuid_of_zeros_is_no_instruction_set(void **state)
{
    (void)state;
    struct assay_cpu_info info = detect((struct machine){.root = FIXTURE("no_such_machine")});
    assert_string_equal(info.vendor, "");
    assert_string_equal(info.model, "");
    assert_isa(&info, "");
    assert_false(info.hypervisor);
}

static void names_fit_any_buffer(void **state)
{
    (void)state;
    char small[8], tiny[1];
    assay_cpu_isa_text(ASSAY_CPU_SSE42 | ASSAY_CPU_AVX2, small, sizeof small);
    assert_string_equal(small, "sse4.2 ");
    assay_cpu_isa_text(ASSAY_CPU_SSE42, tiny, sizeof tiny);
    assert_string_equal(tiny, "");
}

/* This machine, whatever it is: the answers must agree with each other. */
static void this_machine_is_consistent(void **state)
{
    (void)state;
    const struct assay_cpu_info *info = assay_cpu_info();
    assert_ptr_equal(info, assay_cpu_info());
    assert_true(info->cores >= 1);
    assert_true(info->l1d_bytes <= info->llc_bytes);
    assert_true(info->llcs >= 1);
    assert_int_equal(assay_cpu_llc_bytes(1), info->llc_bytes);
    assert_true(assay_cpu_llc_bytes(64) <= info->llc_bytes * (size_t)info->llcs);
    assert_true(assay_cpu_has(0));
    assert_true(assay_cpu_has(info->isa));
    if (info->memory_bytes)
        assert_true(assay_cpu_memory_available() <= info->memory_bytes);
}

static void a_need_that_is_not_met_names_what_is_missing(void **state)
{
    (void)state;
    uint32_t all = 2 * ASSAY_CPU_AMX_INT8 - 1, missing = all & ~assay_cpu_info()->isa;
    struct assay_error why = {0};
    assert_int_equal(assay_cpu_need(assay_cpu_info()->isa, &why), ASSAY_OK);
    assert_string_equal(why.message, "");
    assert_int_equal(assay_cpu_need(1u << 31, NULL), ASSAY_UNSUPPORTED); /* no CPU has it yet */
    if (!missing)
        return;
    char names[128], want[192];
    assay_cpu_isa_text(missing, names, sizeof names);
    snprintf(want, sizeof want, "needs %s, which this CPU lacks", names);
    assert_int_equal(assay_cpu_need(all, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emerald_rapids_vm_has_everything_and_hides_a_leaf),
        cmocka_unit_test(a_visible_amx_leaf_is_not_hidden),
        cmocka_unit_test(amx_needs_the_operating_system),
        cmocka_unit_test(haswell_has_avx2_and_no_more),
        cmocka_unit_test(avx2_counts_only_with_fma_and_f16c),
        cmocka_unit_test(avx512_counts_only_when_whole),
        cmocka_unit_test(zen4_has_avx512_and_bf16_but_no_amx),
        cmocka_unit_test(a_guest_is_not_believed_how_many_last_levels_there_are),
        cmocka_unit_test(bf16_is_read_only_from_a_subleaf_that_exists),
        cmocka_unit_test(nehalem_has_sse_only),
        cmocka_unit_test(avx512_needs_the_operating_system),
        cmocka_unit_test(a_machine_that_tells_nothing_gets_safe_numbers),
        cmocka_unit_test(a_cpuid_of_zeros_is_no_instruction_set),
        cmocka_unit_test(names_fit_any_buffer),
        cmocka_unit_test(this_machine_is_consistent),
        cmocka_unit_test(a_need_that_is_not_met_names_what_is_missing),
    };
    return cmocka_run_group_tests_name("cpu_info", tests, NULL, NULL);
}
