/* fuzz_wire.c: the input is what comes out of a worker's pipe. A line that is taken for a message
 * has the number that comes next, and is the same when it is framed again. What is taken for an
 * event is read to its last member. */
#include "base/frame.h"
#include "bench/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const char *line, size_t length, int64_t expected)
{
    int64_t seq = -1;
    const char *what;
    struct assay_frame frame = {0};
    struct assay_text again = {0};
    if (!assay_frame_check(line, length, &seq, &what) || seq != expected)
        abort();
    const char *end = line + length;
    while (end > line && (end[0] != ',' || memcmp(end, ",\"seq\":", 7) != 0))
        end--;
    assay_frame_add(&frame, line, (size_t)(end - line));
    assay_frame_end(&frame, seq, &again);
    if (again.length != length - (size_t)(end - line) + 1 ||
        memcmp(again.data, end, again.length - 1) != 0)
        abort();
    assay_text_fini(&again);
}

/* What reads as a profile is written, and read again. */
static void check_profile(const struct assay_event *event)
{
    struct assay_profile profile, again;
    if (assay_event_profile(event, &profile, NULL) != ASSAY_OK)
        return;
    assay_profile_sort(&profile);
    assay_json *json = assay_profile_to_json(&profile);
    if (assay_profile_from_json(json, &again, NULL) != ASSAY_OK ||
        again.n_spans != profile.n_spans || again.activities.n != profile.activities.n ||
        again.n_facts != profile.n_facts)
        abort();
    assay_json_free(json);
    assay_profile_fini(&again);
    assay_profile_fini(&profile);
}

static void check_event(const assay_json *message)
{
    static struct assay_event_name names[4];
    static struct assay_record record;
    struct assay_event event;
    char why[400] = "";
    if (!assay_event_read(message, &event, why, sizeof why)) {
        if (!why[0])
            abort();
        return;
    }
    if (event.kind >= ASSAY_EVENT_COUNT || !event.text || assay_event_names(&event, names, 4) > 4)
        abort();
    assay_event_record(&event, &record, NULL);
    if (event.kind == ASSAY_EVENT_PROFILE)
        check_profile(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_wire wire = {0};
    const char *line;
    size_t length;
    assay_text_append(&wire.pending, (const char *)data, size);
    while ((line = assay_wire_line(&wire, &length))) {
        char why[400] = "";
        assay_json *json;
        int64_t expected = wire.next;
        enum assay_wire_kind kind = assay_wire_read(&wire, line, length, &json, why, sizeof why);
        if (kind == ASSAY_WIRE_MESSAGE) {
            check_message(line, length, expected);
            check_event(json);
        } else if (json || !why[0] || wire.next != expected) {
            abort();
        }
        assay_json_free(json);
    }
    assay_text_fini(&wire.pending);
    return 0;
}
