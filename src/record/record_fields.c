#include "record/record_fields.h"

#include "record/record.h"

/* The tables are easier to read without prefixes. */
#define TEXT ASSAY_FIELD_TEXT
#define INT32 ASSAY_FIELD_INT32
#define INT64 ASSAY_FIELD_INT64
#define SEED ASSAY_FIELD_SEED
#define REAL ASSAY_FIELD_REAL
#define LEVEL ASSAY_FIELD_LEVEL
#define FLAG ASSAY_FIELD_FLAG
#define DTYPE ASSAY_FIELD_DTYPE
#define OUTCOME ASSAY_FIELD_OUTCOME
#define RANGE ASSAY_FIELD_RANGE
#define PART ASSAY_FIELD_PART
#define AXES ASSAY_FIELD_AXES
#define NAMES ASSAY_FIELD_NAMES
#define SAMPLES ASSAY_FIELD_SAMPLES
#define ESSENTIAL ASSAY_FIELD_ESSENTIAL
#define OPTIONAL ASSAY_FIELD_OPTIONAL
#define SPARE ASSAY_FIELD_SPARE
#define ALWAYS ASSAY_FIELD_ALWAYS

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)0)->member)
/* Of members one behind the other. */
#define SPAN(type, first, last)                                                                    \
    offsetof(type, first), offsetof(type, last) + sizeof(((type *)0)->last) - offsetof(type, first)
#define MEMBER(type, member) PLACE(type, member), NULL, ALWAYS

/* clang-format off */
#define T struct assay_ratio
static const struct assay_field ratio_fields[] = {
    {"ratio",            REAL,  ESSENTIAL, MEMBER(T, ratio)},
    {"ci",               RANGE, ESSENTIAL, MEMBER(T, ci)},
    {"ci_frac",          REAL,  ESSENTIAL, MEMBER(T, ci_frac)},
    {"significant",      FLAG,  ESSENTIAL, MEMBER(T, significant)},
    {"smallest_visible", REAL,  ESSENTIAL, MEMBER(T, smallest_visible)},
    {"rounds",           INT64, ESSENTIAL, MEMBER(T, n)},
    {0},
};
#undef T

#define T struct assay_measurement
static const struct assay_field counts_fields[] = {
    {"calls",            INT64, ESSENTIAL, MEMBER(T, counts.calls)},
    {"cycles",           REAL,  ESSENTIAL, MEMBER(T, counts.cycles)},
    {"instructions",     REAL,  ESSENTIAL, MEMBER(T, counts.instructions)},
    {"branch_misses",    REAL,  ESSENTIAL, MEMBER(T, counts.branch_misses)},
    {"cache_references", REAL,  ESSENTIAL, MEMBER(T, counts.cache_references)},
    {"cache_misses",     REAL,  ESSENTIAL, MEMBER(T, counts.cache_misses)},
    {"memory_bytes",     REAL,  ESSENTIAL, MEMBER(T, counts.memory_bytes)},
    {"memory_frac",      REAL,  ESSENTIAL, MEMBER(T, memory_frac)},
    {"task_clock_ns",    REAL,  ESSENTIAL, MEMBER(T, counts.task_clock_ns)},
    {"page_faults",      REAL,  ESSENTIAL, MEMBER(T, counts.page_faults)},
    {"context_switches", REAL,  ESSENTIAL, MEMBER(T, counts.context_switches)},
    {"l2_bytes",         REAL,  ESSENTIAL, MEMBER(T, counts.l2_bytes)},
    {"occupancy_frac",   REAL,  ESSENTIAL, MEMBER(T, counts.occupancy_frac)},
    {"tensor_frac",      REAL,  ESSENTIAL, MEMBER(T, counts.tensor_frac)},
    {"counted_frac",     REAL,  ESSENTIAL, MEMBER(T, counts.counted_frac)},
    {"missing",          TEXT,  ESSENTIAL, MEMBER(T, counts.missing)},
    {0},
};

static const struct assay_field measurement_fields[] = {
    {"n",                INT64, ESSENTIAL, MEMBER(T, time.n)},
    {"calls_per_sample", INT64, ESSENTIAL, MEMBER(T, iters)},
    {"median_ns",        REAL,  ESSENTIAL, MEMBER(T, time.median)},
    {"median_ci_ns",     RANGE, ESSENTIAL, MEMBER(T, time.median_ci)},
    {"median_ci_frac",   REAL,  ESSENTIAL, MEMBER(T, time.median_ci_frac)},
    {"precise",          FLAG,  ESSENTIAL, MEMBER(T, precise)},
    {"mean_ns",          REAL,  ESSENTIAL, MEMBER(T, time.mean)},
    {"std_ns",           REAL,  ESSENTIAL, MEMBER(T, time.std)},
    {"min_ns",           REAL,  ESSENTIAL, MEMBER(T, time.min)},
    {"max_ns",           REAL,  ESSENTIAL, MEMBER(T, time.max)},
    {"q1_ns",            REAL,  ESSENTIAL, MEMBER(T, time.q1)},
    {"q3_ns",            REAL,  ESSENTIAL, MEMBER(T, time.q3)},
    {"iqr_ns",           REAL,  ESSENTIAL, MEMBER(T, time.iqr)},
    {"p5_ns",            REAL,  ESSENTIAL, MEMBER(T, time.p5)},
    {"p95_ns",           REAL,  ESSENTIAL, MEMBER(T, time.p95)},
    {"p99_ns",           REAL,  ESSENTIAL, MEMBER(T, time.p99)},
    {"outliers",         INT64, ESSENTIAL, MEMBER(T, time.outliers)},
    {"ratio",            PART,  ESSENTIAL, PLACE(T, ratio), ratio_fields, offsetof(T, has_ratio)},
    {"eager_ratio",      PART,  OPTIONAL,  PLACE(T, eager_ratio), ratio_fields,
     offsetof(T, has_eager_ratio)},
    {"fastest",          FLAG,  ESSENTIAL, MEMBER(T, fastest)},
    {"bytes_per_s",      REAL,  ESSENTIAL, MEMBER(T, bytes_per_s)},
    {"flops_per_s",      REAL,  ESSENTIAL, MEMBER(T, flops_per_s)},
    {"ceiling_ns",       REAL,  ESSENTIAL, MEMBER(T, ceiling_ns)},
    {"bound",            TEXT,  ESSENTIAL, MEMBER(T, bound)},
    {"efficiency",       REAL,  ESSENTIAL, MEMBER(T, efficiency)},
    {"context_switches", INT64, ESSENTIAL, MEMBER(T, context_switches)},
    {"clock_changes",    INT64, ESSENTIAL, MEMBER(T, clock_changes)},
    {"near_floor",       INT64, ESSENTIAL, MEMBER(T, near_floor)},
    {"clock_hz",         REAL,  ESSENTIAL, MEMBER(T, clock_hz)},
    {"slow_unit",        INT64, OPTIONAL,  MEMBER(T, slow_unit)},
    {"fast_unit_ns",     REAL,  OPTIONAL,  MEMBER(T, fast_unit_ns)},
    {"throttled",        INT64, OPTIONAL,  MEMBER(T, throttled)},
    {"host_ns",          REAL,  OPTIONAL,  MEMBER(T, host_ns)},
    {"efficiency_ci",    RANGE, OPTIONAL,  MEMBER(T, efficiency_ci)},
    {"ceiling_rounds",   INT64, OPTIONAL,  MEMBER(T, ceiling_rounds)},
    {"machine_frac",     REAL,  OPTIONAL,  MEMBER(T, machine_frac)},
    {"disturbed",        INT64, OPTIONAL,  MEMBER(T, disturbed)},
    {"waited",           INT64, OPTIONAL,  MEMBER(T, waited)},
    {"stolen",           INT64, OPTIONAL,  MEMBER(T, stolen)},
    {"samples",          SAMPLES, SPARE,   MEMBER(T, samples)},
    {"counters",         PART,  SPARE,     0, sizeof(T), counts_fields, offsetof(T, has_counts)},
    {0},
};
#undef T

#define T struct assay_verification
static const struct assay_field verification_fields[] = {
    {"done",               FLAG,  ESSENTIAL, MEMBER(T, done)},
    {"times",              INT32, ESSENTIAL, MEMBER(T, times)},
    {"compared",           INT64, ESSENTIAL, MEMBER(T, compared)},
    {"of",                 INT64, ESSENTIAL, MEMBER(T, of)},
    {"mismatches",         INT64, ESSENTIAL, MEMBER(T, mismatches)},
    {"max_abs",            REAL,  ESSENTIAL, MEMBER(T, max_abs)},
    {"max_rel",            REAL,  ESSENTIAL, MEMBER(T, max_rel)},
    {"rms",                REAL,  ESSENTIAL, MEMBER(T, rms)},
    {"sqnr_db",            REAL,  ESSENTIAL, MEMBER(T, sqnr_db)},
    {"tolerance_relative", REAL,  ESSENTIAL, MEMBER(T, tolerance_relative)},
    {"tolerance_absolute", REAL,  ESSENTIAL, MEMBER(T, tolerance_absolute)},
    {"exact",              FLAG,  OPTIONAL,  MEMBER(T, exact)},
    {"author_reference",   FLAG,  OPTIONAL,  MEMBER(T, author_reference)},
    {"author_tolerance",   FLAG,  OPTIONAL,  MEMBER(T, author_tolerance)},
    {0},
};
#undef T

#define T struct assay_graph_audit
static const struct assay_field graph_fields[] = {
    {"calls",   INT64, ESSENTIAL, MEMBER(T, calls)},
    {"kernels", INT64, ESSENTIAL, MEMBER(T, kernels)},
    {"copies",  INT64, ESSENTIAL, MEMBER(T, copies)},
    {"memsets", INT64, ESSENTIAL, MEMBER(T, memsets)},
    {"others",  INT64, ESSENTIAL, MEMBER(T, others)},
    {"names",   NAMES, ESSENTIAL, SPAN(T, n_names, names), NULL, ALWAYS},
    {0},
};
#undef T

#define T struct assay_record
const struct assay_field assay_record_fields[] = {
    {"group",           INT64,   ESSENTIAL, MEMBER(T, group)},
    {"variant",         INT64,   ESSENTIAL, MEMBER(T, variant)},
    {"op",              TEXT,    ESSENTIAL, MEMBER(T, op)},
    {"title",           TEXT,    OPTIONAL,  MEMBER(T, title)},
    {"implementation",  TEXT,    ESSENTIAL, MEMBER(T, implementation)},
    {"kernel",          TEXT,    ESSENTIAL, MEMBER(T, kernel)},
    {"device",          TEXT,    ESSENTIAL, MEMBER(T, device)},
    {"dtype",           DTYPE,   ESSENTIAL, MEMBER(T, dtype)},
    {"axes",            AXES,    ESSENTIAL, SPAN(T, n_axes, axes), NULL, ALWAYS},
    {"mode",             TEXT,    OPTIONAL,  MEMBER(T, mode)},
    {"label",            TEXT,    OPTIONAL,  MEMBER(T, label)},
    {"entry",            TEXT,    OPTIONAL,  MEMBER(T, entry)},
    {"compile",          TEXT,    OPTIONAL,  MEMBER(T, compile)},
    {"profilers",        TEXT,    SPARE,     MEMBER(T, profilers)},
    {"profile",          TEXT,    SPARE,     MEMBER(T, files.trace)},
    {"memory_profile",   TEXT,    SPARE,     MEMBER(T, files.snapshot)},
    {"memory_visualization", TEXT, SPARE,    MEMBER(T, files.memory_page)},
    {"memory_stats",     TEXT,    SPARE,     MEMBER(T, files.memory_stats)},
    {"pass",             TEXT,    SPARE,     MEMBER(T, pass)},
    {"recipe",           TEXT,    OPTIONAL,  MEMBER(T, recipe)},
    {"note",             TEXT,    OPTIONAL,  MEMBER(T, note)},
    {"isolation",        TEXT,    OPTIONAL,  MEMBER(T, confined)},
    {"printed",          TEXT,    OPTIONAL,  MEMBER(T, printed)},
    {"not_asked",        FLAG,    OPTIONAL,  MEMBER(T, not_asked)},
    {"threads",         INT32,   ESSENTIAL, MEMBER(T, threads)},
    {"seed",            SEED,    ESSENTIAL, MEMBER(T, seed)},
    {"status",          OUTCOME, ESSENTIAL, MEMBER(T, outcome)},
    {"reason",          TEXT,    OPTIONAL,  MEMBER(T, reason)},
    {"interrupted",     FLAG,    OPTIONAL,  MEMBER(T, interrupted)},
    {"is_baseline",     FLAG,    ESSENTIAL, MEMBER(T, is_baseline)},
    {"baseline",        TEXT,    ESSENTIAL, MEMBER(T, baseline)},
    {"bytes_read",      REAL,    ESSENTIAL, MEMBER(T, bytes_read)},
    {"bytes_written",   REAL,    ESSENTIAL, MEMBER(T, bytes_written)},
    {"flops",           REAL,    ESSENTIAL, MEMBER(T, flops)},
    {"macs",             REAL,    OPTIONAL,  MEMBER(T, macs)},
    {"counted_flops",    REAL,    OPTIONAL,  MEMBER(T, counted_flops)},
    {"memory_bytes",    REAL,    ESSENTIAL, MEMBER(T, memory_bytes)},
    {"idle_bytes",        REAL,  OPTIONAL,  MEMBER(T, idle_bytes)},
    {"peak_bytes",        REAL,  OPTIONAL,  MEMBER(T, peak_bytes)},
    {"workspace_bytes",   REAL,  OPTIONAL,  MEMBER(T, workspace_bytes)},
    {"system_peak_bytes", REAL,  OPTIONAL,  MEMBER(T, system_peak_bytes)},
    {"setup_ns",        REAL,    ESSENTIAL, MEMBER(T, setup_ns)},
    {"weight_bytes",     REAL,    OPTIONAL,  MEMBER(T, weight_bytes)},
    {"prepare_ns",       REAL,    OPTIONAL,  MEMBER(T, prepare_ns)},
    {"energy_j",         REAL,    OPTIONAL,  MEMBER(T, energy_j)},
    {"accuracy_db",      LEVEL,   OPTIONAL,  MEMBER(T, accuracy_db)},
    {"accuracy_1_db",    LEVEL,   SPARE,     MEMBER(T, more_accuracy_db[0])},
    {"accuracy_2_db",    LEVEL,   SPARE,     MEMBER(T, more_accuracy_db[1])},
    {"saved_bytes",      REAL,    SPARE,     MEMBER(T, saved_bytes)},
    {"planned_bytes",    REAL,    SPARE,     MEMBER(T, planned_bytes)},
    {"activation_share", REAL,    OPTIONAL,  MEMBER(T, activation_share)},
    {"pareto",           FLAG,    OPTIONAL,  MEMBER(T, pareto)},
    {"floor_ns",        REAL,    ESSENTIAL, MEMBER(T, floor_ns)},
    {"caller",          TEXT,    SPARE,     MEMBER(T, caller)},
    {"timed",           TEXT,    SPARE,     MEMBER(T, timed.way)},
    {"timed_why",       TEXT,    SPARE,     MEMBER(T, timed.why)},
    {"graph",           PART,    SPARE,     PLACE(T, timed.graph), graph_fields,
     offsetof(T, timed.has_graph)},
    {"hot",             PART,    ESSENTIAL, PLACE(T, states[ASSAY_CACHE_HOT]),
     measurement_fields, offsetof(T, states[ASSAY_CACHE_HOT].measured)},
    {"cold",            PART,    ESSENTIAL, PLACE(T, states[ASSAY_CACHE_COLD]),
     measurement_fields, offsetof(T, states[ASSAY_CACHE_COLD].measured)},
    {"verification",    PART,    ESSENTIAL, PLACE(T, verification), verification_fields, ALWAYS},
    {0},
};
#undef T

#define T struct assay_run_info
const struct assay_field assay_run_info_fields[] = {
    {"id",               TEXT,  OPTIONAL, MEMBER(T, id)},
    {"version",          TEXT,  OPTIONAL, MEMBER(T, version)},
    {"command",          TEXT,  OPTIONAL, MEMBER(T, command)},
    {"started",          TEXT,  OPTIONAL, MEMBER(T, started)},
    {"host_os",          TEXT,  OPTIONAL, MEMBER(T, host_os)},
    {"device",           TEXT,  OPTIONAL, MEMBER(T, device)},
    {"device_name",      TEXT,  OPTIONAL, MEMBER(T, device_name)},
    {"isa",              TEXT,  OPTIONAL, MEMBER(T, isa)},
    {"threads",          INT32, OPTIONAL, MEMBER(T, threads)},
    {"hot",              FLAG,  OPTIONAL, MEMBER(T, hot)},
    {"cold",             FLAG,  OPTIONAL, MEMBER(T, cold)},
    {"precision",        REAL,  OPTIONAL, MEMBER(T, precision)},
    {"warmup",           INT64, OPTIONAL, MEMBER(T, warmup)},
    {"rounds",           INT64, OPTIONAL, MEMBER(T, rounds)},
    {"copy_bytes_per_s", REAL,  OPTIONAL, MEMBER(T, copy_bytes_per_s)},
    {"groups",           INT64, OPTIONAL, MEMBER(T, groups)},
    {"cpu_name",         TEXT,  OPTIONAL, MEMBER(T, cpu_name)},
    {"gpu_name",         TEXT,  OPTIONAL, MEMBER(T, gpu_name)},
    {"gpu_count",        INT32, OPTIONAL, MEMBER(T, gpu_count)},
    {"gpu_memory_bytes", REAL,  OPTIONAL, MEMBER(T, gpu_memory_bytes)},
    {"commit",           TEXT,  OPTIONAL, MEMBER(T, commit)},
    {"project",          TEXT,  OPTIONAL, MEMBER(T, project)},
    {"project_branch",   TEXT,  OPTIONAL, MEMBER(T, project_branch)},
    {"project_sha",      TEXT,  OPTIONAL, MEMBER(T, project_sha)},
    {"output_dir",       TEXT,  OPTIONAL, MEMBER(T, output_dir)},
    {"benchmark_mode",   TEXT,  SPARE,    MEMBER(T, benchmark_mode)},
    {"use_fast_accum",   FLAG,  SPARE,    MEMBER(T, use_fast_accum)},
    {"repository",       TEXT,  OPTIONAL, MEMBER(T, repository)},
    {"kernel_commit",    TEXT,  OPTIONAL, MEMBER(T, kernel_commit)},
    {"benchmark_path",   TEXT,  OPTIONAL, MEMBER(T, benchmark_path)},
    {"benchmark_sha",    TEXT,  OPTIONAL, MEMBER(T, benchmark_sha)},
    {"gpu_cores",        INT32, OPTIONAL, MEMBER(T, gpu_cores)},
    {"implementations",  TEXT,  OPTIONAL, MEMBER(T, implementations)},
    {"pytorch",          TEXT,  OPTIONAL, MEMBER(T, pytorch)},
    {"pytorch_cuda",     TEXT,  OPTIONAL, MEMBER(T, pytorch_cuda)},
    {0},
};
#undef T
/* clang-format on */
