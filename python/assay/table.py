"""Results as text and as HTML: the columns of assay's own tables."""

HEADINGS = ("name", "median", "±", "fastest", "spread", "speedup")


def duration(seconds):
    """'2.31 ms', '45.2 ns'; '-' for None."""
    if seconds is None:
        return "-"
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return _digits(seconds / size) + " " + unit
    return _digits(seconds) + " s"


def rate(per_second, unit):
    """'43.6 GB/s'."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= size:
            return f"{_digits(per_second / size)} {prefix}{unit}"
    return f"{_digits(per_second)} {unit}"


def _digits(value):
    """Three that count."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _share(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def cells(result, extra):
    """One row, as texts."""
    if result.median is None:
        return [result.name, result.status, "", "", "", *[""] * len(extra), ""]
    low, high = result.interval
    times = result.to_dict()
    row = [
        result.name,
        duration(result.median),
        _share((high - low) / 2, result.median),
        duration(times["min"]),
        _share(times["q3"] - times["q1"], result.median),
    ]
    row += [rate(getattr(result, name) or 0, unit) for name, unit in extra]
    return [*row, result.verdict]


def _extra(results):
    """The rates that are known of any of them."""
    known = (("bytes_per_s", "B/s"), ("flops_per_s", "FLOP/s"))
    return [(name, unit) for name, unit in known if any(getattr(r, name) for r in results)]


def rows(results):
    """Headings and rows; a column in which nothing stands is left out."""
    extra = _extra(results)
    names = {"bytes_per_s": "memory", "flops_per_s": "arithmetic"}
    head = [*HEADINGS[:5], *[names[name] for name, _ in extra], HEADINGS[5]]
    body = [cells(r, extra) for r in results]
    if len(results) > 1 and results[0].status == "ok":
        body[0][-1] = body[0][-1] or "baseline"
    if not any(row[-1] for row in body):
        head, body = head[:-1], [row[:-1] for row in body]
    return head, body


def remarks(results):
    """What stands under the table, a line each."""
    lines = []
    for r in results:
        if r.reason:
            lines.append(f"{r.name}: {r.status}: {r.reason}" if r.status != "ok" else f"{r.name}: {r.reason}")
        lines += [f"{r.name}: {note}" for note in r.notes]
    return lines


def text(results):
    head, body = rows(results)
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    left = {0, len(head) - 1} if head[-1] == "speedup" else {0}
    lines = []
    for row in [head, *body]:
        line = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(line).rstrip())
    return "\n".join(lines + ["  " + line for line in remarks(results)])


def html(results):
    from html import escape

    head, body = rows(results)
    lines = ["<table><thead><tr>"]
    lines += [f"<th>{escape(cell)}</th>" for cell in head]
    lines.append("</tr></thead><tbody>")
    for row in body:
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    lines.append("</tbody></table>")
    lines += [f"<p><small>{escape(line)}</small></p>" for line in remarks(results)]
    return "".join(lines)
