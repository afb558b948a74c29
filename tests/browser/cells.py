"""What a page must show of a record: the figures of a row, read back and compared with it.

A cell is read as a person reads it, "2.31 ms", "1.31x slower [1.28 1.35]", and must be the record's
figure to the digits that it has. This knows nothing of the code that wrote it.
"""
import json
import math
import re

UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9,
         "GB/s": 1e9, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15,
         "GF/s": 1e9, "TF/s": 1e12, "PF/s": 1e15, "MB": 1e6}
FIGURE = re.compile(r"([<>]?)(\d*\.?\d+(?:e[+-]?\d+)?)\s*([^\s\[\]]*)")
NAN = float("nan")


def read_records(path):
    """The records of a file of JSON lines, after its head."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in list(file)[1:]]


def read(text):
    """(value, half of its last digit) of the first figure, in the unit's base; None without one."""
    found = FIGURE.search(text)
    if not found:
        return None
    digits, unit = found.group(2), found.group(3)
    scale = 0.01 if unit.startswith("%") else UNITS.get(unit, 1)
    mantissa, _, power = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = 0.5 * 10 ** (int(power or 0) - decimals)
    return float(digits) * scale, half * scale


def agrees(text, wanted):
    """Does the cell show this figure, or nothing where there is none?"""
    if wanted is None or math.isnan(wanted):
        return not FIGURE.search(text)
    if math.isinf(wanted):
        return text in ("exact", "") or ">" in text
    shown = read(text)
    if not shown:
        return False
    if text.lstrip("▸").startswith("<"):
        return wanted <= shown[0] + shown[1]
    return abs(shown[0] - wanted) <= shown[1] * 1.001 + abs(wanted) * 1e-6


def is_timed(record):
    return record["status"] == "ok" and bool(record.get("hot") or record.get("cold"))


def verdict(ratio):
    if ratio["significant"] and ratio["ratio"] != 1:
        return "faster" if ratio["ratio"] > 1 else "slower"
    return "same" if ratio["smallest_visible"] <= 0.1 else "unclear"


def agrees_ratio(text, ratio):
    if not ratio or not ratio.get("ratio"):
        return True  # the baseline's, or none
    kind = verdict(ratio)
    if kind in ("same", "unclear"):
        return text.startswith(kind)
    value = ratio["ratio"] if kind == "faster" else 1 / ratio["ratio"]
    if not agrees(text, value) or ("slower" in text) != (kind == "slower"):
        return False
    ends = re.search(r"\[([\d.]+) ([\d.]+)\]", text)
    if not ends:
        return True
    lo, hi = sorted(1 / e if kind == "slower" else e for e in ratio["ci"])
    low, high = map(float, ends.groups())
    return low <= lo * 1.000001 and hi <= high * 1.000001 and low > lo * 0.97 - 0.01 and high < hi * 1.03 + 0.01


def rate(record, m):
    compute = m["bound"] == "compute"
    if record["weight_bytes"]:
        if compute or not m["bound"]:
            return m["flops_per_s"]
        return record["weight_bytes"] * 1e9 / m["median_ns"]
    return m["flops_per_s"] if compute else m["bytes_per_s"]


def check_state(column, text, record, m):
    """A cell of a cache state; None where the column is not known."""
    if column in ("", "time"):
        return agrees(text, m["median_ns"]) and ("▸" in text) == m["fastest"]
    if column == "±":
        return agrees(text, m["median_ci_frac"])
    if column == "speedup":
        return agrees_ratio(text, None if record["is_baseline"] else m["ratio"])
    if column == "vs eager":
        return agrees_ratio(text, m["eager_ratio"])
    if column == "rate":
        return agrees(text, rate(record, m) or NAN)
    if column == "ceiling":
        return agrees(text, m["efficiency"] if m["ceiling_ns"] else NAN)
    return None


def check_cell(heading, text, record):
    """Is it the record's figure? None where the column is not known."""
    state, _, column = heading.partition(" ")
    if state in ("hot", "cold"):
        m = record.get(state)
        return check_state(column, text, record, m) if m else text == ""
    if heading == "run":
        return text == str(record["run"])
    if heading == "recipe":
        return text.rstrip(" *") == record["recipe"] and text.endswith("*") == record["pareto"]
    if heading == "weights MB":
        return agrees(text, record["weight_bytes"] / 1e6)
    if heading == "SQNR dB":
        level = record["accuracy_db"]
        return agrees(text, level) if isinstance(level, float) else text in ("exact", "")
    if heading == "quantise":
        return agrees(text, record["prepare_ns"])
    if heading == "act":
        return agrees(text, record["activation_share"])
    if heading == "check":
        return ("✓" in text) == bool(record.get("verification"))
    only = "hot" if record.get("hot") else "cold"
    return check_state(heading, text, record, record[only]) if record.get(only) else None
