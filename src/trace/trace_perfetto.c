/* trace_perfetto.c: Perfetto's own form: a Trace of TracePackets with track events, written by
 * hand. Of protobuf it takes varints, doubles and length-delimited messages; numbers of fields are
 * those of perfetto/trace/trace_packet.proto and the protos of track_event. Nothing is interned:
 * names are repeated, so that any part of the file can be read alone. */
#include "trace/trace_put.h"

#include <string.h>

enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDERING = 11,
    TRACK_ORDER = 12,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    COUNTER_UNIT_NAME = 6,

    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER = 44, /* as a double */
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME = 10,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, COUNTER = 4 };
enum { SEQUENCE = 1, STATE_CLEARED = 1, ORDER_EXPLICIT = 3 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

/* A message on its way: messages come into others with their length in front. One that does not
 * fit, by the number of its annotations, loses those that come last. */
struct message {
    size_t used;
    bool full;
    unsigned char bytes[8192];
};

static void clear(struct message *m)
{
    m->used = 0;
    m->full = false;
}

static void add_byte(struct message *m, unsigned byte)
{
    if (m->used < sizeof m->bytes)
        m->bytes[m->used++] = (unsigned char)byte;
    else
        m->full = true;
}

static void add_varint(struct message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        add_byte(m, (unsigned)(value & 0x7f) | 0x80);
    add_byte(m, (unsigned)value);
}

static void add_number(struct message *m, int field, uint64_t value)
{
    add_varint(m, (uint64_t)field << 3 | VARINT);
    add_varint(m, value);
}

static void add_double(struct message *m, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_varint(m, (uint64_t)field << 3 | FIXED64);
    for (int i = 0; i < 8; i++, bits >>= 8)
        add_byte(m, (unsigned)(bits & 0xff));
}

static void add_bytes(struct message *m, int field, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    add_varint(m, (uint64_t)field << 3 | BYTES);
    add_varint(m, length);
    if (m->used + length > sizeof m->bytes) {
        m->full = true;
        return;
    }
    memcpy(m->bytes + m->used, from, length);
    m->used += length;
}

static void add_text(struct message *m, int field, const char *text)
{
    char clean[ASSAY_TRACE_NAME];
    size_t length = assay_trace_clean(text, clean, sizeof clean);
    add_bytes(m, field, clean, length);
}

/* What overflowed is left out as a whole, so that the rest stays readable. */
static void add_message(struct message *m, int field, const struct message *inner)
{
    size_t before = m->used;
    if (inner->full || m->used + inner->used + 16 > sizeof m->bytes)
        return;
    add_bytes(m, field, inner->bytes, inner->used);
    if (m->full) {
        m->used = before;
        m->full = false;
    }
}

static void put_packet(assay_trace_writer *w, const struct message *packet)
{
    struct message head;
    clear(&head);
    add_varint(&head, TRACE_PACKET << 3 | BYTES);
    add_varint(&head, packet->used);
    assay_trace_put(w, head.bytes, head.used);
    assay_trace_put(w, packet->bytes, packet->used);
}

/* Which field each packet has beside its sequence. */
static void begin_packet(assay_trace_writer *w, struct message *packet)
{
    clear(packet);
    add_number(packet, PACKET_SEQUENCE, SEQUENCE);
    if (!w->started)
        add_number(packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    w->started = true;
}

/* Never 0, which is the trace's own. */
static uint64_t uuid_of(struct assay_trace_track track)
{
    return ((uint64_t)(uint32_t)track.process << 32 | (uint32_t)track.track) + 1;
}

static uint64_t process_uuid(int32_t process)
{
    return uuid_of((struct assay_trace_track){process, 0});
}

static void begin(assay_trace_writer *w) { (void)w; }

static void put_descriptor(assay_trace_writer *w, const struct message *descriptor)
{
    struct message packet;
    begin_packet(w, &packet);
    add_message(&packet, PACKET_TRACK_DESCRIPTOR, descriptor);
    put_packet(w, &packet);
}

static void process(assay_trace_writer *w, int32_t number, const char *name)
{
    struct message descriptor, inner;
    clear(&inner);
    clear(&descriptor);
    add_number(&inner, PROCESS_PID, (uint64_t)number);
    add_text(&inner, PROCESS_NAME, name);
    add_number(&descriptor, TRACK_UUID, process_uuid(number));
    add_message(&descriptor, TRACK_PROCESS, &inner);
    add_number(&descriptor, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
    put_descriptor(w, &descriptor);
}

static void begin_track(struct message *m, struct assay_trace_track t, const char *name)
{
    clear(m);
    add_number(m, TRACK_UUID, uuid_of(t));
    add_text(m, TRACK_NAME, name);
    add_number(m, TRACK_PARENT, process_uuid(t.process));
}

static void track(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                  int32_t order)
{
    struct message descriptor;
    begin_track(&descriptor, t, name);
    add_number(&descriptor, TRACK_ORDER, (uint64_t)order);
    put_descriptor(w, &descriptor);
}

static void counter_track(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                          const char *unit)
{
    struct message descriptor, counter;
    clear(&counter);
    begin_track(&descriptor, t, name);
    add_text(&counter, COUNTER_UNIT_NAME, unit);
    add_message(&descriptor, TRACK_COUNTER, &counter);
    add_number(&descriptor, TRACK_ORDER, (uint64_t)t.track);
    put_descriptor(w, &descriptor);
}

static void put_event(assay_trace_writer *w, int64_t at_ns, const struct message *event)
{
    struct message packet;
    begin_packet(w, &packet);
    add_number(&packet, PACKET_TIMESTAMP, at_ns < 0 ? 0 : (uint64_t)at_ns);
    add_message(&packet, PACKET_TRACK_EVENT, event);
    put_packet(w, &packet);
}

static void begin_event(struct message *event, int type, struct assay_trace_track t)
{
    clear(event);
    add_number(event, EVENT_TYPE, (uint64_t)type);
    add_number(event, EVENT_TRACK, uuid_of(t));
}

static void add_annotation(struct message *event, const struct assay_trace_arg *arg)
{
    struct message one;
    clear(&one);
    add_text(&one, ANNOTATION_NAME, arg->key);
    if (arg->text)
        add_text(&one, ANNOTATION_TEXT, arg->text);
    else
        add_double(&one, ANNOTATION_DOUBLE, arg->number);
    add_message(event, EVENT_ANNOTATION, &one);
}

static void slice(assay_trace_writer *w, const struct assay_trace_slice *s)
{
    struct message event;
    begin_event(&event, SLICE_BEGIN, s->track);
    add_text(&event, EVENT_CATEGORY, s->category);
    add_text(&event, EVENT_NAME, s->name);
    for (int32_t i = 0; i < s->n_args; i++)
        add_annotation(&event, &s->args[i]);
    put_event(w, s->start_ns, &event);
    begin_event(&event, SLICE_END, s->track);
    put_event(w, s->start_ns + s->duration_ns, &event);
}

static void counter(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                    int64_t at_ns, double value)
{
    struct message event;
    (void)name; /* its track has it */
    begin_event(&event, COUNTER, t);
    add_double(&event, EVENT_COUNTER, value);
    put_event(w, at_ns, &event);
}

/* Packets say nothing of the trace as a whole. */
static void end(assay_trace_writer *w, const struct assay_trace_arg *about, int32_t n)
{
    (void)w;
    (void)about;
    (void)n;
}

const struct assay_trace_writing assay_trace_perfetto = {begin, process, track, counter_track,
                                                         slice, counter, end};
