"""KoBench's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kohakubench.core import BenchmarkResult

HEADINGS = (
    "name", "mean_ms", "std_ms", "idle_vram", "peak_vram", "workspace", "MACs", "MACS", "FLOPs", "FLOPS",
)  # fmt: skip


def _memory(mb):
    if mb is None:
        return "n/a"
    return f"{mb / 1024:.2f} GB" if mb >= 1024 else f"{mb:.2f} MB"


def _count(value, unit=""):
    """'25.77 G', '1.20 T/s'."""
    if value is None:
        return "n/a"
    for prefix in ("", "k", "M", "G", "T", "P"):
        if value < 999.995 or prefix == "P":
            digits = 0 if not prefix and value == int(value) else 2
            return f"{value:.{digits}f} {prefix}{unit}".rstrip()
        value /= 1000


def _row(result, precision):
    return (
        str(result.name),
        f"{result.latency_ms:.{precision}f}",
        f"{result.latency_std_ms:.{precision}f}",
        _memory(result.idle_vram_mb),
        _memory(result.peak_vram_mb),
        _memory(result.workspace_vram_mb),
        _count(result.macs),
        _count(result.macs_rate, "/s"),
        _count(result.flops),
        _count(result.flops_rate, "/s"),
    )


def format_table(results: Iterable[BenchmarkResult], precision: int = 3) -> str:
    """The results as text: columns joined by ' | ', a divider of '-+-' below their names."""
    rows = [HEADINGS, *(_row(result, precision) for result in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def print_table(results: Iterable[BenchmarkResult], precision: int = 3) -> None:
    """Prints that text."""
    print(format_table(results, precision))
