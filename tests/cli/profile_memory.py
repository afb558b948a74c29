"""Reads a snapshot as anybody would, with pickle.load, and holds it to itself: what was allocated and not freed is
what the segments hold, a segment's blocks fill it, and no two of them overlap. Where PyTorch is installed, its own
viewer reads it too. Prints what holds the most, one owner on each line."""

import pickle
import pickletools
import sys
from collections import Counter


def frames(entry):
    assert all(set(f) == {"filename", "line", "name"} for f in entry["frames"]), entry
    return entry["frames"][0]["name"]


def replay(trace):
    """What is held at the end, and the most that was, by owner."""
    live, now, most, last_us = {}, 0, (0, {}), 0
    for e in trace:
        assert e["time_us"] >= last_us, "back in time"
        last_us = e["time_us"]
        assert e["action"] in ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free"), e
        if e["action"] == "alloc":
            assert e["addr"] not in live and e["size"] > 0, e
            live[e["addr"]] = (e["size"], frames(e))
            now += e["size"]
            if now > most[0]:
                most = (now, dict(live))
        elif e["action"] == "free_completed":
            assert live.pop(e["addr"])[0] == e["size"], e
            now -= e["size"]
    return live, most


def check_segments(segments):
    active = {}
    for s in segments:
        at = s["address"]
        for b in s["blocks"]:
            assert b["address"] == at, "a gap in a segment"
            at += b["size"]
            if b["state"] == "active_allocated":
                active[b["address"]] = (b["size"], frames(b))
            else:
                assert b["state"] == "inactive", b
        assert at == s["address"] + s["total_size"], "blocks do not fill their segment"
        assert s["active_size"] == sum(b["size"] for b in s["blocks"] if b["state"] == "active_allocated")
    spans = sorted((s["address"], s["address"] + s["total_size"]) for s in segments)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), "segments overlap"
    return active


def check_instructions(path):
    """What the viewer in the browser reads: its unpickler knows few instructions, has numbers as doubles, and appends
    with as many arguments as there are values."""
    known = {"PROTO", "MARK", "EMPTY_DICT", "SETITEMS", "EMPTY_LIST", "APPENDS", "BINUNICODE", "BININT", "LONG1", "STOP"}
    depths = []
    with open(path, "rb") as file:
        for instruction, argument, _ in pickletools.genops(file):
            name = instruction.name
            assert name in known, name
            assert not isinstance(argument, int) or abs(argument) < 2**53, argument
            if name == "MARK":
                depths.append(0)
            elif name in ("APPENDS", "SETITEMS"):
                assert depths.pop() <= 1000
            elif depths:
                depths[-1] += 1


def by_torch(segments):
    try:
        import torch.cuda._memory_viz as viz
    except ImportError:
        return
    try:
        text = viz.memory(segments, format_flamegraph=lambda lines: lines)
    except TypeError:  # newer ones take the whole snapshot
        text = viz.memory({"segments": segments}, format_flamegraph=lambda lines: lines)
    assert "active_allocated" in text
    print("torch:", len(text.splitlines()), "lines")


check_instructions(sys.argv[1])
with open(sys.argv[1], "rb") as file:
    snapshot = pickle.load(file)
assert set(snapshot) == {"segments", "device_traces", "allocator_settings"}, snapshot.keys()
live, (peak, holders) = replay(snapshot["device_traces"][-1])
assert check_segments(snapshot["segments"]) == live, "segments and traces tell of other memory"
print("peak", peak)
owners = Counter()
for size, owner in holders.values():
    owners[owner] += size
for owner, size in owners.most_common():
    print(owner, size)
by_torch(snapshot["segments"])
