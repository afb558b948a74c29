#include "device/cpu/cpu_info.h"

#include "base/folder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const struct {
    uint32_t bit;
    const char *name;
} isa_names[] = {
    {ASSAY_CPU_SSE42, "sse4.2"},
    {ASSAY_CPU_AVX2, "avx2"},
    {ASSAY_CPU_AVX512, "avx512"},
    {ASSAY_CPU_AVX512_VNNI, "avx512_vnni"},
    {ASSAY_CPU_AVX512_BF16, "avx512_bf16"},
    {ASSAY_CPU_AVX512_FP16, "avx512_fp16"},
    {ASSAY_CPU_AVX512_VBMI, "avx512_vbmi"},
    {ASSAY_CPU_AMX_TILE, "amx_tile"},
    {ASSAY_CPU_AMX_BF16, "amx_bf16"},
    {ASSAY_CPU_AMX_INT8, "amx_int8"},
};

void assay_cpu_isa_text(uint32_t isa, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof isa_names / sizeof isa_names[0] && used < size; i++)
        if (isa & isa_names[i].bit)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
                                     isa_names[i].name);
}

/* A file that does not exist, or that we may not read, tells something. One that cannot be opened
 * for lack of descriptors or memory does not: the caches would be guessed. */
static bool is_answer(int problem)
{
    return problem != EMFILE && problem != ENFILE && problem != ENOMEM && problem != EIO;
}

/* The first line of a file under the source's root, without its newline; false if it is not there.
 * `problem` may be NULL. */
static bool read_line(const struct assay_cpu_source *source, const char *path, char *buf,
                      size_t size, int *problem)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", source->root, path);
    int wrong = assay_folder_peek(full, buf, size);
    if (problem && wrong && !is_answer(wrong))
        *problem = wrong;
    buf[strcspn(buf, "\n")] = '\0';
    return !wrong && buf[0];
}

static bool bit(uint32_t word, int index) { return (word >> index) & 1u; }

static void detect_isa(const struct assay_cpu_source *source, uint32_t max_leaf,
                       struct assay_cpu_info *out)
{
    struct assay_cpuid_regs one = {0}, seven = {0}, seven_1 = {0}, leaf_1d = {0};
    source->cpuid(source->user, 1, 0, &one);
    if (max_leaf >= 7) {
        source->cpuid(source->user, 7, 0, &seven);
        if (seven.eax >= 1)
            source->cpuid(source->user, 7, 1, &seven_1);
    }
    out->hypervisor = bit(one.ecx, 31);
    if (bit(one.ecx, 20))
        out->isa |= ASSAY_CPU_SSE42;
    bool osxsave = bit(one.ecx, 27);
    uint64_t xcr0 = osxsave ? source->xgetbv0(source->user) : 0;
    bool os_avx = (xcr0 & 0x6) == 0x6, os_avx512 = (xcr0 & 0xe6) == 0xe6;
    bool os_amx = (xcr0 & 0x60000) == 0x60000;
    bool avx2 = os_avx && bit(one.ecx, 28) && bit(seven.ebx, 5);
    if (avx2 && bit(one.ecx, 12) && bit(one.ecx, 29)) /* FMA, F16C */
        out->isa |= ASSAY_CPU_AVX2;
    bool avx512 = os_avx512 && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 28) &&
                  bit(seven.ebx, 30) && bit(seven.ebx, 31);
    if (avx512) {
        out->isa |= ASSAY_CPU_AVX512;
        out->isa |= bit(seven.ecx, 11) ? ASSAY_CPU_AVX512_VNNI : 0u;
        out->isa |= bit(seven_1.eax, 5) ? ASSAY_CPU_AVX512_BF16 : 0u;
        out->isa |= bit(seven.edx, 23) ? ASSAY_CPU_AVX512_FP16 : 0u;
        out->isa |= bit(seven.ecx, 1) ? ASSAY_CPU_AVX512_VBMI : 0u;
    }
    if (os_amx && bit(seven.edx, 24)) {
        out->isa |= ASSAY_CPU_AMX_TILE;
        out->isa |= bit(seven.edx, 22) ? ASSAY_CPU_AMX_BF16 : 0u;
        out->isa |= bit(seven.edx, 25) ? ASSAY_CPU_AMX_INT8 : 0u;
        if (max_leaf >= 0x1d)
            source->cpuid(source->user, 0x1d, 0, &leaf_1d);
        out->amx_leaf_hidden = leaf_1d.eax == 0;
    }
}

static void detect_names(const struct assay_cpu_source *source, struct assay_cpu_info *out)
{
    struct assay_cpuid_regs r;
    source->cpuid(source->user, 0, 0, &r);
    memcpy(out->vendor, &r.ebx, 4);
    memcpy(out->vendor + 4, &r.edx, 4);
    memcpy(out->vendor + 8, &r.ecx, 4);
    source->cpuid(source->user, 1, 0, &r);
    int32_t family = (r.eax >> 8) & 0xf, model = (r.eax >> 4) & 0xf;
    if (family == 6 || family == 15)
        model += (int32_t)((r.eax >> 16) & 0xf) << 4;
    out->family = family == 15 ? family + (int32_t)((r.eax >> 20) & 0xff) : family;
    out->model_number = model;
    out->stepping = r.eax & 0xf;
    source->cpuid(source->user, 0x80000000u, 0, &r);
    if (r.eax >= 0x80000004u) {
        char brand[49] = {0};
        for (uint32_t i = 0; i < 3; i++) {
            source->cpuid(source->user, 0x80000002u + i, 0, &r);
            memcpy(brand + 16 * i, &r, 16);
        }
        snprintf(out->model, sizeof out->model, "%s", brand + strspn(brand, " "));
    }
}

/* Measured on one CPU of each vendor, Zen 4 and Emerald Rapids. AMD's executes as many vdpbf16ps a
 * cycle as FMAs, each with twice the operations; Intel's a quarter as many. */
static void detect_habits(struct assay_cpu_info *out)
{
    bool amd = strcmp(out->vendor, "AuthenticAMD") == 0;
    out->fast_bf16_dot = amd && (out->isa & ASSAY_CPU_AVX512_BF16);
    out->reads_ahead = amd;
    out->llcs_hidden = amd && out->hypervisor;
}

/* AMD's CPUs have a last level for every 8 cores or so, and a hypervisor that moves a guest's about
 * may have them share one now and not later: two of Zen 4 read 64 MB at 44 or at 120 GB/s. */
static void doubt_llcs(struct assay_cpu_info *out)
{
    enum { MOST_LLCS = 16 }; /* of a socket */
    if (out->llcs_hidden && out->llcs < MOST_LLCS)
        out->llcs = MOST_LLCS;
}

/* Last-level caches, of which `index` is one CPU's. A list of CPUs that share one begins with the
 * first: "0-7", or "0-7,64-71" where each core is two CPUs. */
static int32_t count_llcs(const struct assay_cpu_source *source, int index, int *problem)
{
    int32_t n = 0;
    for (long cpu = 0;;) {
        char path[128], list[256], *end;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/shared_cpu_list",
                 cpu, index);
        if (!read_line(source, path, list, sizeof list, problem) || strtol(list, &end, 10) != cpu)
            return n > 0 ? n : 1;
        n++;
        long last = *end == '-' ? strtol(end + 1, NULL, 10) : cpu;
        cpu = (last > cpu ? last : cpu) + 1;
    }
}

static void detect_caches(const struct assay_cpu_source *source, struct assay_cpu_info *out)
{
    for (int i = 0; i < 8; i++) {
        char path[128], level[16], type[32], size[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_line(source, path, level, sizeof level, &out->problem))
            break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_line(source, path, type, sizeof type, &out->problem) ||
            strcmp(type, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_line(source, path, size, sizeof size, &out->problem))
            continue;
        char *unit = NULL;
        size_t bytes = (size_t)strtoull(size, &unit, 10);
        bytes *= *unit == 'K' ? 1024u : *unit == 'M' ? 1024u * 1024u : 1u;
        if (strcmp(level, "1") == 0)
            out->l1d_bytes = bytes;
        else if (strcmp(level, "2") == 0)
            out->l2_bytes = bytes;
        if (bytes > out->llc_bytes) {
            out->llc_bytes = bytes;
            out->llcs = count_llcs(source, i, &out->problem);
        }
    }
    /* Defaults where the caches are unknown: a large last level, so that "cold" stays cold. */
    if (!out->l1d_bytes)
        out->l1d_bytes = 32 * 1024;
    if (!out->l2_bytes)
        out->l2_bytes = 1024 * 1024;
    if (!out->llc_bytes)
        out->llc_bytes = 64u * 1024 * 1024;
}

static size_t meminfo(const struct assay_cpu_source *source, const char *key)
{
    char path[512], text[4096];
    snprintf(path, sizeof path, "%s/proc/meminfo", source->root);
    size_t length = strlen(key);
    if (assay_folder_peek(path, text, sizeof text) != 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            return (size_t)strtoull(line + length + 1, NULL, 10) * 1024;
    }
    return 0;
}

void assay_cpu_detect(const struct assay_cpu_source *source, struct assay_cpu_info *out)
{
    *out = (struct assay_cpu_info){.cores = 1, .llcs = 1};
    if (source->cpuid) {
        struct assay_cpuid_regs r;
        source->cpuid(source->user, 0, 0, &r);
        detect_names(source, out);
        detect_isa(source, r.eax, out);
        detect_habits(out);
    }
    detect_caches(source, out);
    doubt_llcs(out);
    out->memory_bytes = meminfo(source, "MemTotal");
}

#if defined(__x86_64__)
static void real_cpuid(void *user, uint32_t leaf, uint32_t subleaf, struct assay_cpuid_regs *out)
{
    (void)user;
    __cpuid_count(leaf, subleaf, out->eax, out->ebx, out->ecx, out->edx);
}

static uint64_t real_xgetbv0(void *user)
{
    (void)user;
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return ((uint64_t)hi << 32) | lo;
}
static const struct assay_cpu_source this_machine = {NULL, real_cpuid, real_xgetbv0, ""};
#else
static const struct assay_cpu_source this_machine = {NULL, NULL, NULL, ""};
#endif

/* Written once under detect_once, read-only ever after. */
static struct assay_cpu_info this_cpu;
static pthread_once_t detect_once = PTHREAD_ONCE_INIT;

/* Tiles are 8 KiB more of state to save for each thread, so a process must ask for them, once. */
static void ask_for_tiles(struct assay_cpu_info *cpu)
{
#if defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    const uint32_t amx = ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16 | ASSAY_CPU_AMX_INT8;
    if (!(cpu->isa & amx))
        return;
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return;
    cpu->amx_refused = true;
    cpu->isa &= ~amx;
#else
    (void)cpu;
#endif
}

static void detect_this_machine(void)
{
    assay_cpu_detect(&this_machine, &this_cpu);
    ask_for_tiles(&this_cpu);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        this_cpu.cores = CPU_COUNT(&allowed);
}

const struct assay_cpu_info *assay_cpu_info(void)
{
    pthread_once(&detect_once, detect_this_machine);
    return &this_cpu;
}

size_t assay_cpu_llc_bytes(int32_t threads)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    return cpu->llc_bytes * (size_t)(threads < cpu->llcs ? threads : cpu->llcs);
}

bool assay_cpu_has(uint32_t isa) { return (assay_cpu_info()->isa & isa) == isa; }

enum assay_status assay_cpu_need(uint32_t isa, struct assay_error *why)
{
    uint32_t missing = isa & ~assay_cpu_info()->isa;
    if (!missing)
        return ASSAY_OK;
    char names[128];
    assay_cpu_isa_text(missing, names, sizeof names);
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "needs %s, which this CPU lacks", names);
}

static size_t cgroup_room(void)
{
    char limit[64], used[64];
    if (!read_line(&this_machine, "/sys/fs/cgroup/memory.max", limit, sizeof limit, NULL) ||
        !read_line(&this_machine, "/sys/fs/cgroup/memory.current", used, sizeof used, NULL) ||
        strcmp(limit, "max") == 0)
        return SIZE_MAX;
    size_t most = (size_t)strtoull(limit, NULL, 10), now = (size_t)strtoull(used, NULL, 10);
    return most > now ? most - now : 0;
}

size_t assay_cpu_memory_available(void)
{
    size_t available = meminfo(&this_machine, "MemAvailable"), room = cgroup_room();
    struct sysinfo all;
    if (available == 0 && sysinfo(&all) == 0) /* no /proc, or no descriptor to read it by */
        available = (size_t)(all.freeram + all.bufferram) * all.mem_unit;
    return available < room ? available : room;
}
