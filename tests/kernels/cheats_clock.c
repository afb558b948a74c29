/* cheats_clock.c: gelu kernels that bend the clock of the process they run in, or the harness's
 * own code and data in it. Where the judge is another process none of it reaches him. x86-64 where
 * instructions are concerned. */
#include "cheat.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* ---- a clock that runs at a tenth of its speed ---- */

static int64_t real_ns(clockid_t clock)
{
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int slow_clock(clockid_t clock, struct timespec *time)
{
    static int64_t began;
    int64_t now = real_ns(clock);
    if (!began)
        began = real_ns(CLOCK_MONOTONIC);
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)
        now = began + (now - began) / 10;
    *time = (struct timespec){.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000};
    return 0;
}

/* Writes into code or read-only data. */
static bool overwrite(void *at, const void *bytes, size_t n)
{
    uintptr_t first = (uintptr_t)at / PAGE * PAGE, last = ((uintptr_t)at + n - 1) / PAGE * PAGE;
    if (mprotect((void *)first, last - first + PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(at, bytes, n);
    return true;
}

/* mov rax, TARGET; jmp rax */
static bool redirect(void *code, uintptr_t target)
{
#if defined(__x86_64__)
    unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    memcpy(jump + 2, &target, sizeof target);
    return overwrite(code, jump, sizeof jump);
#else
    (void)code, (void)target;
    return false;
#endif
}

static uintptr_t address_of_slow_clock(void)
{
    int (*function)(clockid_t, struct timespec *) = slow_clock;
    return (uintptr_t)function;
}

static void *found(const char *name) { return dlsym(RTLD_DEFAULT, name); }

/* The first call bends, all compute. */
#define BENDS(ident, bend)                                                                         \
    static void ident(struct call *c)                                                              \
    {                                                                                              \
        if (c->own->calls == 1)                                                                    \
            (void)(bend);                                                                          \
        compute(c);                                                                                \
    }                                                                                              \
    CHEAT(gelu, ident)

/* The C library's function begins with a jump. */
BENDS(clock_code, redirect(found("clock_gettime"), address_of_slow_clock()))

/* The program's table of imported functions. */
static int patch_imports(struct dl_phdr_info *info, size_t size, void *done)
{
    (void)size;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) * tables[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)d->d_un.d_ptr;
        switch (d->d_tag) {
        case DT_SYMTAB:
            symbols = at;
            break;
        case DT_STRTAB:
            names = at;
            break;
        case DT_JMPREL:
            tables[0] = at;
            break;
        case DT_PLTRELSZ:
            bytes[0] = d->d_un.d_val;
            break;
        case DT_RELA:
            tables[1] = at;
            break;
        case DT_RELASZ:
            bytes[1] = d->d_un.d_val;
            break;
        default:
            break;
        }
    }
    uintptr_t slow = address_of_slow_clock();
    for (int t = 0; t < 2 && symbols && names; t++)
        for (size_t i = 0; i < bytes[t] / sizeof *tables[t]; i++) {
            const ElfW(Rela) *r = &tables[t][i];
            if (strcmp(names + symbols[r->r_info >> 32].st_name, "clock_gettime") == 0)
                overwrite((void *)(info->dlpi_addr + r->r_offset), &slow, sizeof slow);
        }
    *(bool *)done = true;
    return 1; /* the first is the program */
}

static bool bend_imports(void)
{
    bool done = false;
    dl_iterate_phdr(patch_imports, &done);
    return done;
}
BENDS(clock_imports, bend_imports())

/* The page of code that the operating system maps for it: where it is, the C library keeps in its
 * read-only data. */
static uintptr_t find_in_vdso(const char *name)
{
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base)
        return 0;
    const ElfW(Ehdr) *head = (const void *)base;
    const ElfW(Phdr) *parts = (const void *)(base + head->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    for (int i = 0; i < head->e_phnum; i++)
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(base + parts[i].p_offset);
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            symbols = (const void *)(base + d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB)
            names = (const char *)(base + d->d_un.d_ptr);
    }
    for (int i = 1; i < 64 && symbols && names && (const char *)(symbols + i) < names; i++)
        if (strcmp(names + symbols[i].st_name, name) == 0)
            return base + symbols[i].st_value;
    return 0;
}

static bool bend_vdso(void)
{
    uintptr_t clock = find_in_vdso("__vdso_clock_gettime"), slow = address_of_slow_clock();
    uintptr_t *kept = found("_rtld_global_ro");
    for (int i = 0; i < 128 && clock && kept; i++)
        if (kept[i] == clock)
            return overwrite(&kept[i], &slow, sizeof slow);
    return false;
}
BENDS(clock_vdso, bend_vdso())

/* Reading the CPU's counter faults, and the handler gives a tenth of it. */
#if defined(__x86_64__)
static void give_slow_count(int number, siginfo_t *info, void *context)
{
    static uint64_t began;
    ucontext_t *c = context;
    const unsigned char *code = (const unsigned char *)c->uc_mcontext.gregs[REG_RIP];
    bool plain = code[0] == 0x0f && code[1] == 0x31;
    bool with_core = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
    (void)info;
    if (!plain && !with_core) {
        signal(number, SIG_DFL);
        return;
    }
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    uint64_t now = __builtin_ia32_rdtsc();
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (!began)
        began = now;
    now = began + (now - began) / 10;
    c->uc_mcontext.gregs[REG_RAX] = (greg_t)(now & 0xffffffff);
    c->uc_mcontext.gregs[REG_RDX] = (greg_t)(now >> 32);
    if (with_core)
        c->uc_mcontext.gregs[REG_RCX] = 0;
    c->uc_mcontext.gregs[REG_RIP] += plain ? 2 : 3;
}

static bool bend_counter(void)
{
    struct sigaction action = {.sa_sigaction = give_slow_count, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSEGV, &action, NULL) == 0 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
}
#else
static bool bend_counter(void) { return false; }
#endif
BENDS(clock_counter, bend_counter())

/* ---- the harness's data ---- */

/* Fewer calls than it was asked for, and so it says. */
static enum assay_status run_writes_work(void *state, const struct assay_work *work)
{
    struct cheat *own = state;
    struct assay_work *mine = (struct assay_work *)(uintptr_t)work;
    if (own->calls > 4 && work->iters > 1)
        mine->iters = 1;
    own->calls++;
    const struct assay_args *args = assay_work_args(work, 0);
    for (int64_t i = 0; i < work->iters; i++, args = assay_work_args(work, i))
        gelu(args->in[0], args->out[0], own->count);
    return ASSAY_OK;
}
KERNEL(gelu, writes_work, cheat_setup, run_writes_work, cheat_teardown, )

/* A smaller problem than was posed: fewer rows are compared. */
static enum assay_status setup_shrinks(const struct assay_problem *problem, void **state,
                                       struct assay_error *err)
{
    struct assay_problem *mine = (struct assay_problem *)(uintptr_t)problem;
    for (int32_t i = 0; i + 1 < mine->outputs[0].rank; i++)
        mine->inputs[0].dims[i] = mine->outputs[0].dims[i] = 1;
    for (int32_t i = 0; i + 1 < mine->n_axes; i++)
        mine->axes[i] = 1;
    return cheat_setup(problem, state, err);
}
static void shrinks_problem(struct call *c) { compute(c); }
CHEAT_SETUP(gelu, shrinks_problem, setup_shrinks)

/* Its own memory instead of the output: the old answer stays where it is looked for. */
static void swaps_pointers(struct call *c)
{
    struct assay_args *args = (struct assay_args *)(uintptr_t)assay_work_args(c->work, c->index);
    float **outs = (float **)(uintptr_t)args->out;
    if (c->own->calls <= 4) {
        compute(c);
        keep(c->own, 0, c->out);
    } else {
        outs[0] = (float *)(uintptr_t)find(c->own, 0);
    }
}
CHEAT(gelu, swaps_pointers)

/* Never computes more than three elements: searches the memory of its process for an answer that
 * begins with them, a rival's or the reference in double, and copies it. Unless there is one, it
 * computes once and leaves the output alone from then on. */
static const void *search(const struct call *c, bool *is_double)
{
    char line[256];
    const float want[3] = {gelu_of(c->in[0]), gelu_of(c->in[1]), gelu_of(c->in[2])};
    FILE *maps = fopen("/proc/self/maps", "re");
    const void *at = NULL;
    while (maps && !at && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        char rights[8];
        if (sscanf(line, "%zx-%zx %7s", &start, &end, rights) != 3 || rights[0] != 'r' ||
            rights[1] != 'w' || end - start < (size_t)c->n * 4 || strstr(line, "[stack"))
            continue;
        for (uintptr_t p = start; p + (size_t)c->n * 8 <= end && !at; p += 64) {
            const float *f = (const float *)p;
            const double *d = (const double *)p;
            if (f != c->out && f[0] == want[0] && f[1] == want[1] && f[2] == want[2])
                at = f;
            else if ((float)d[0] == want[0] && (float)d[1] == want[1] && (float)d[2] == want[2])
                *is_double = true, at = d;
        }
    }
    if (maps)
        fclose(maps);
    return at;
}

static void steals_answers(struct call *c)
{
    bool is_double = false;
    const void *there = c->n > 2 && c->own->calls % 16 == 2 ? search(c, &is_double) : NULL;
    if (there && is_double)
        for (int64_t i = 0; i < c->n; i++)
            c->out[i] = (float)((const double *)there)[i];
    else if (there)
        give(c, there);
    else if (c->own->calls < 4)
        compute(c);
}
CHEAT(gelu, steals_answers)

/* Exports a clock, for whoever looks for one by name. */
ASSAY_API int clock_gettime(clockid_t clock, struct timespec *time)
{
    return slow_clock(clock, time);
}
static void clock_exported(struct call *c) { compute(c); }
CHEAT(gelu, clock_exported)

ASSAY_KERNELS(&kernel_clock_code, &kernel_clock_imports, &kernel_clock_vdso, &kernel_clock_counter,
              &kernel_clock_exported, &kernel_writes_work, &kernel_shrinks_problem,
              &kernel_swaps_pointers, &kernel_steals_answers)
