#include "runner/memory.h"

#include "base/alloc.h"

#include <math.h>

static bool on_host(const assay_device *device) { return assay_device_shares_memory(device); }

/* Counted where the device's memory is: a GPU's variants are not charged for the host's. */
static size_t held_now(const assay_device *device)
{
    return on_host(device) ? assay_alloc_held() : device->bytes_held;
}

static size_t peak_now(const assay_device *device)
{
    return on_host(device) ? assay_alloc_peak() : device->bytes_peak;
}

static void reset_peaks(assay_device *device)
{
    assay_alloc_reset_peak();
    device->bytes_peak = device->bytes_held;
    if (device->driver->system_reset)
        device->driver->system_reset(device);
}

static double used_now(assay_device *device)
{
    return device->driver->system_bytes ? device->driver->system_bytes(device) : (double)NAN;
}

struct assay_memory_mark assay_memory_begin(assay_device *device)
{
    reset_peaks(device);
    return (struct assay_memory_mark){
        .held = held_now(device),
        .on_device = device->bytes_held,
        .of_malloc = on_host(device) ? assay_alloc_malloc_held() : 0,
        .used = used_now(device),
    };
}

static double growth(size_t now, size_t before) { return (double)now - (double)before; }

/* What others than assay took of malloc. Less than a page is malloc's own bookkeeping. */
static double grown_elsewhere(const assay_device *device, const struct assay_memory_mark *mark)
{
    if (!on_host(device))
        return 0;
    double of_malloc = growth(assay_alloc_malloc_held(), mark->of_malloc);
    double ours =
        growth(held_now(device), mark->held) - growth(device->bytes_held, mark->on_device);
    return fabs(of_malloc - ours) < 4096 ? 0 : of_malloc - ours;
}

/* Of a process all that is resident, of a GPU what this variant's calls added. */
static void note_used(assay_device *device, const struct assay_memory_mark *mark,
                      struct assay_memory *memory)
{
    double now = used_now(device);
    memory->used = on_host(device) ? now : memory->used + now - mark->used;
    memory->used_peak = isnan(memory->used) ? memory->used : fmax(memory->used_peak, memory->used);
}

void assay_memory_end(assay_device *device, const struct assay_memory_mark *mark,
                      enum assay_memory_call call, struct assay_memory *memory)
{
    bool again = call == ASSAY_MEMORY_PREPARE && memory->prepared;
    double before = memory->counted + memory->elsewhere;
    double within = growth(peak_now(device), mark->held);
    memory->counted += growth(held_now(device), mark->held);
    /* What a library gives back of what it took for somebody else was never the variant's. */
    double elsewhere = fmax(memory->elsewhere + grown_elsewhere(device, mark), 0);
    double most = before + within + fmax(elsewhere - memory->elsewhere, 0);
    memory->elsewhere = elsewhere;
    if (!again) /* a second prepare may keep the first until it is done: no program does it twice */
        memory->peak = fmax(memory->peak, most);
    if (call == ASSAY_MEMORY_PREPARE && !again) {
        memory->weights = fmax(memory->counted + memory->elsewhere - before, 0);
        memory->prepared = true;
    }
    if (call == ASSAY_MEMORY_RUN) {
        memory->running = fmax(memory->running, most);
        memory->ran = true;
    }
    note_used(device, mark, memory);
}
