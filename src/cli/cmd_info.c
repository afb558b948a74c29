/* assay info: this machine, and what it can do. */
#include "cli/command.h"
#include "base/version.h"
#include "cli/python_about.h"
#include "config/options.h"
#include "device/cpu/cpu_info.h"
#include "device/cuda/cuda_info.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

struct info_config {
    const char *device, *python;
    int64_t threads;
    bool calibrate, imports, help;
};

static const struct assay_option option_rows[] = {
    {"calibrate", 0, ASSAY_OPTION_FLAG, offsetof(struct info_config, calibrate), NULL,
     "measure the ceilings anew and remember them", 0, 0},
    {"device", 0, ASSAY_OPTION_TEXT, offsetof(struct info_config, device), "DEVICE",
     "the device whose ceilings are shown (default cpu)", 0, 0},
    {"threads", 't', ASSAY_OPTION_INT, offsetof(struct info_config, threads), "N",
     "ceilings for N threads (default: all cores)", 1, 4096},
    {"python", 0, ASSAY_OPTION_TEXT, offsetof(struct info_config, python), "PATH",
     "the interpreter to look at (default: $ASSAY_PYTHON, the active virtual environment's, "
     "python3)",
     0, 0},
    {"import", 0, ASSAY_OPTION_FLAG, offsetof(struct info_config, imports), NULL,
     "import PyTorch and Triton to see whether they work, which takes seconds", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, offsetof(struct info_config, help), NULL, "this text", 0, 0},
    {0},
};

static const struct assay_option_table table = {.options = option_rows, .words_offset = -1};

static void print_machine(void)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    struct utsname os;
    char isa[256], memory[32], available[32];
    uname(&os);
    assay_cpu_isa_text(cpu->isa, isa, sizeof isa);
    assay_text_bytes((double)cpu->memory_bytes, memory, sizeof memory);
    assay_text_bytes((double)assay_cpu_memory_available(), available, sizeof available);
    printf("assay        %s\n", ASSAY_VERSION);
    printf("system       %s %s %s\n", os.sysname, os.release, os.machine);
    printf("cpu          %s (%s family %d model %d)%s\n", cpu->model, cpu->vendor, cpu->family,
           cpu->model_number, cpu->hypervisor ? ", in a virtual machine" : "");
    printf("cores        %d for this process\n", cpu->cores);
    printf("instructions %s\n", isa[0] ? isa : "portable only");
    if (cpu->isa & ASSAY_CPU_AMX_TILE)
        printf("amx          the kernel granted this process the use of tiles\n");
    if (cpu->amx_refused)
        printf("amx          the CPU has it, but the kernel refused this process the use of "
               "tiles\n");
    if (cpu->amx_leaf_hidden)
        printf("             the hypervisor hides CPUID leaf 0x1D: libraries may fail to set up "
               "AMX\n");
    printf("caches       L1 %zu KiB and L2 %zu KiB a core, last level %zu KiB\n",
           cpu->l1d_bytes / 1024, cpu->l2_bytes / 1024, cpu->llc_bytes / 1024);
    if (cpu->llcs_hidden)
        printf("             the hypervisor does not tell which cores share one: cold figures "
               "allow for one each\n");
    else if (cpu->llcs > 1)
        printf("             there are %d last levels: cold figures allow for all that the threads "
               "may use\n",
               cpu->llcs);
    printf("memory       %s, %s available\n", memory, available);
}

/* "256 KiB", "1 GiB": they are powers of two. */
static void print_point(const struct assay_ceilings *c, const struct assay_ceiling_point *point)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    size_t size = point->bytes >> 10;
    int unit = 0;
    for (; size >= 1024 && unit < 2; unit++)
        size >>= 10;
    printf("  %5zu %s  %-8s ", size, units[unit],
           assay_ceiling_level(c, (double)point->bytes, false));
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++)
        printf(" %8.1f", point->rates[kind] * 1e-9);
    printf("\n");
}

static void print_ceilings(const struct assay_ceilings *c)
{
    char when[32];
    time_t at = (time_t)c->measured_at;
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    printf("clock        %.2f GHz\n", c->clock_hz * 1e-9);
    printf("\nceilings with %d thread%s, measured %s\n", c->threads, c->threads == 1 ? "" : "s",
           when);
    printf("  %-20s", "GB/s at working set");
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++)
        printf(" %8s", assay_probe_name((enum assay_probe_kind)kind));
    printf("\n");
    for (int32_t i = 0; i < c->n_points; i++)
        print_point(c, &c->points[i]);
    printf("  multiply-add");
    for (int math = 0; math < ASSAY_CEILING_MATHS; math++)
        printf("%s %s %.0f", math ? "," : "", assay_ceiling_math_name(math), c->flops[math] * 1e-9);
    printf(" GFLOP/s\n");
    printf("floor        %.0f ns for an empty sample, %.0f ns for one reading of the clock\n",
           c->floor_ns, c->timer_ns);
}

static int print_cuda(void)
{
    struct assay_text text = {0};
    assay_cuda_info(&text);
    return assay_print_text(&text);
}

/* The interpreter, and what it has: a line each. */
static int print_python(const struct info_config *config)
{
    struct assay_text lines = {0};
    struct assay_error err = {0};
    enum assay_status status = assay_python_about(config->python, config->imports, &lines, &err);
    for (const char *at = lines.data; status == ASSAY_OK && at && *at;) {
        int name = (int)strcspn(at, "\t\n"), length = (int)strcspn(at, "\n");
        int text = name < length ? name + 1 : length;
        struct assay_text shown = {0};
        assay_text_format(&shown, "%-12.*s %.*s", name, at, length - text, at + text);
        assay_put(stdout, shown.data ? shown.data : "");
        puts("");
        assay_text_fini(&shown);
        at += length + (at[length] == '\n');
    }
    assay_text_fini(&lines);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
}

/* Of one device with `threads` threads: measured now, or as stored. */
static int show_ceilings(const struct info_config *config, int32_t threads)
{
    struct assay_error err = {0};
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_device_info info;
    struct assay_ceilings ceilings;
    enum assay_status status = ASSAY_OK;
    if (assay_device_parse(config->device, &driver, &index, &err) != ASSAY_OK ||
        assay_device_open(driver, index, threads, &device, &err) != ASSAY_OK)
        return assay_complain(&err);
    driver->describe(device, &info);
    if (config->calibrate) {
        fprintf(stderr, "measuring %s ...\n", info.name);
        status = driver->calibrate(device, &ceilings, &err);
        if (status == ASSAY_OK)
            status = assay_ceilings_save(&ceilings, &err);
    } else {
        status = assay_ceilings_load(info.name, device->threads, &ceilings, &err);
    }
    int code = ASSAY_EXIT_FINE;
    if (status == ASSAY_OK)
        print_ceilings(&ceilings);
    else if (config->calibrate || assay_failed(status))
        code = assay_complain(&err);
    else
        printf("\nceilings     not measured yet for %d thread%s: assay info%s%s --calibrate\n",
               device->threads, device->threads == 1 ? "" : "s",
               assay_device_is_host(config->device) ? "" : " --device ",
               assay_device_is_host(config->device) ? "" : config->device);
    assay_device_close(device);
    return code;
}

/* Calibrating a CPU without a number of threads: with all of them, and with one. */
static int show_all_ceilings(const struct info_config *config)
{
    bool both = config->calibrate && config->threads == 0 && assay_device_is_host(config->device) &&
                assay_cpu_info()->cores > 1;
    int code = show_ceilings(config, (int32_t)config->threads);
    return both && code == ASSAY_EXIT_FINE ? show_ceilings(config, 1) : code;
}

static void help(struct assay_text *out)
{
    assay_text_add(out,
                   "assay info [OPTIONS]\n\n"
                   "This machine: instruction sets, caches, clock, and its measured ceilings and "
                   "floor.\n\n");
    assay_options_help(&table, out);
}

static int run_info(int argc, char **argv)
{
    struct info_config config = {.device = "cpu"};
    struct assay_error err = {0};
    if (assay_options_parse(&table, argc - 1, argv + 1, &config, &err) != ASSAY_OK)
        return assay_complain(&err);
    if (config.help)
        return assay_print_help(assay_command_find("info"));
    print_machine();
    int code = print_cuda();
    if (code == ASSAY_EXIT_FINE)
        code = print_python(&config);
    (void)fflush(stdout);
    return code == ASSAY_EXIT_FINE ? show_all_ceilings(&config) : code;
}

const struct assay_command assay_command_info = {.name = "info",
                                                 .summary = "this machine, and what it can do",
                                                 .options = &table,
                                                 .run = run_info,
                                                 .help = help};
