/* device_table.c: the list of devices, opening them, and counting their memory. */
#include "device/device.h"

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define ASSAY_DEVICE(n) extern const struct assay_device_driver assay_device_##n;
#include "device/device_list.h"
#undef ASSAY_DEVICE

static const struct assay_device_driver *const device_table[] = {
#define ASSAY_DEVICE(n) &assay_device_##n,
#include "device/device_list.h"
#undef ASSAY_DEVICE
};

int64_t assay_device_count(void) { return (int64_t)(sizeof device_table / sizeof device_table[0]); }

const struct assay_device_driver *assay_device_at(int64_t index) { return device_table[index]; }

bool assay_device_is_host(const char *name)
{
    size_t length = strcspn(name, ":");
    for (int64_t i = 0; i < assay_device_count(); i++)
        if (strlen(device_table[i]->name) == length &&
            strncmp(device_table[i]->name, name, length) == 0)
            return !device_table[i]->upload;
    return false;
}

/* Devices that other tools' users write and that this build has no driver for. */
static const char *const absent_devices[] = {"opencl", "xpu", "mps"};

enum { ABSENT = sizeof absent_devices / sizeof absent_devices[0] };

static enum assay_status not_here(const char *name, const char *base, struct assay_error *err)
{
    const char *candidates[16];
    int64_t n = 0;
    for (int64_t i = 0; i < assay_device_count() && n < 8; i++)
        candidates[n++] = device_table[i]->name;
    for (int i = 0; i < ABSENT; i++) {
        if (assay_text_same(base, absent_devices[i]))
            return assay_error_set(err, ASSAY_UNSUPPORTED, name,
                                   "this version of assay has no %s devices", absent_devices[i]);
        candidates[n++] = absent_devices[i];
    }
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown device \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_DEVICE, base, candidates, n,
                                              "there are cpu and cuda", rest, sizeof rest));
}

static enum assay_status check_number(const struct assay_device_driver *driver, int32_t index,
                                      struct assay_error *err)
{
    int32_t count = driver->count ? driver->count() : 1;
    if (index < count)
        return ASSAY_OK;
    if (count == 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "there is no device \"%s:%d\"; there is one: write \"%s\"",
                               driver->name, index, driver->name);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "there is no device \"%s:%d\"; there are %d: %s:0 to %s:%d",
                           driver->name, index, count, driver->name, driver->name, count - 1);
}

enum assay_status assay_device_parse(const char *name, const struct assay_device_driver **driver,
                                     int32_t *index, struct assay_error *err)
{
    char base[32];
    size_t length = strcspn(name, ":");
    int64_t number = 0;
    snprintf(base, sizeof base, "%.*s", (int)(length < 31 ? length : 31), name);
    if (name[length] == ':' &&
        (assay_text_int64(name + length + 1, &number) != ASSAY_OK || number < 0 || number > 4095))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "device \"%s\" has no valid number; write it like \"%s:0\"", name,
                               base);
    for (int64_t i = 0; i < assay_device_count(); i++)
        if (assay_text_same(base, device_table[i]->name)) {
            *driver = device_table[i];
            *index = (int32_t)number;
            enum assay_status status = device_table[i]->probe(err);
            return status == ASSAY_OK ? check_number(*driver, *index, err) : status;
        }
    return not_here(name, base, err);
}

enum assay_status assay_device_open(const struct assay_device_driver *driver, int32_t index,
                                    int32_t threads, assay_device **out, struct assay_error *err)
{
    return driver->open(index, threads, out, err);
}

void assay_device_close(assay_device *device)
{
    if (device)
        device->driver->close(device);
}

bool assay_device_shares_memory(const assay_device *device) { return !device->driver->upload; }

enum assay_status assay_device_alloc(assay_device *device, size_t bytes, void **out,
                                     struct assay_error *err)
{
    enum assay_status status = device->driver->alloc(device, bytes, out, err);
    if (status != ASSAY_OK)
        return status;
    device->bytes_held += bytes;
    if (device->bytes_held > device->bytes_peak)
        device->bytes_peak = device->bytes_held;
    if (assay_device_shares_memory(device))
        assay_alloc_add(bytes);
    assay_alloc_tell_took(*out, bytes, true);
    return ASSAY_OK;
}

void assay_device_free(assay_device *device, void *ptr, size_t bytes)
{
    if (!ptr)
        return;
    assay_alloc_tell_gave(ptr);
    device->driver->free(device, ptr, bytes);
    device->bytes_held -= bytes;
    if (assay_device_shares_memory(device))
        assay_alloc_subtract(bytes);
}
