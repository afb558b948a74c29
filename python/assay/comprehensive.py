"""The comprehensive benchmark: operation by implementation by batch, sequence and dimension.

PyTorch is measured here, with assay's engine; other implementations by the program `assay`, where it
is found. What cannot be measured is said on stderr and has no rows."""

import json
import sys

MOST_ELEMENTS = 50_000_000
MB = 1 << 20
BATCH_SIZES = (16, 32, 64, 128)
SEQUENCE_LENGTHS = (256, 512, 1024, 2048)
TENSOR_DIMENSIONS = (8, 16, 32, 64, 128, 256, 512)
OPERATIONS = ("LayerNorm", "GELU", "Swish", "Loss")
IMPLEMENTATIONS = ("PyTorch", "CUDA", "Triton")
WARMUP, RUNS = 10, 100

#: What the program calls them.
OPS = {"LayerNorm": ("layernorm",), "GELU": ("gelu",), "Swish": ("silu",), "Loss": ("mse", "cross_entropy")}
FIELDS = (
    "operation", "implementation", "batch_size", "sequence_length", "tensor_dimension", "time_ms", "memory_mb",
    "inference_speed", "gpu_efficiency", "throughput_gbps",
)  # fmt: skip


def say(text):
    sys.stderr.write(f"assay: {text}\n")


# ---- PyTorch ------------------------------------------------------------------------------------------


def _torch_call(op, batch, seq, dim, device):
    """(function, arguments, least bytes) of one op."""
    import torch
    from torch.nn import functional as F

    x = torch.randn(batch, seq, dim, device=device)
    size = x.numel() * x.element_size()
    if op == "layernorm":
        gamma, beta = torch.ones(dim, device=device), torch.zeros(dim, device=device)
        return F.layer_norm, (x, (dim,), gamma, beta), 2 * size + 8 * dim
    if op == "mse":
        return F.mse_loss, (x, torch.randn_like(x)), 2 * size + 4
    if op == "cross_entropy":
        rows = x.view(-1, dim)
        targets = torch.randint(dim, (rows.shape[0],), device=device)
        return F.cross_entropy, (rows, targets), size + 8 * rows.shape[0] + 4
    return {"gelu": F.gelu, "silu": F.silu}[op], (x,), 2 * size


def _bytes_of(values):
    return sum(v.numel() * v.element_size() for v in values if hasattr(v, "element_size"))


def _torch_memory(fn, args, result, device):
    """The peak of a call in MB: the allocator's on a GPU; else what goes in and what the call took."""
    import torch

    if device == "cpu":
        return _bytes_of(args) / MB + (result.memory_mb or 0)
    torch.cuda.reset_peak_memory_stats()
    fn(*args)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / MB


def _torch_row(operation, op, shape, device):
    import torch

    from assay.api import bench

    with torch.inference_mode():
        fn, args, least = _torch_call(op, *shape, device)
        result = bench(fn, *args, name=f"{operation}/PyTorch", warmup=WARMUP, iters=RUNS, bytes=least, quiet=True)
        if not result.ok:
            say(f"{operation} in PyTorch, {_text(shape)}: {result.status}: {result.reason}")
            return []
        memory = _torch_memory(fn, args, result, device)
    time_ms = result.median * 1e3
    return [_row(operation, "PyTorch", shape, time_ms, memory, None, least / result.median / 1e9)]


def _row(operation, implementation, shape, time_ms, memory_mb, efficiency, gbps):
    values = (operation, implementation, *shape, time_ms, memory_mb, 1000 / time_ms, efficiency, gbps)
    return dict(zip(FIELDS, values))


def _torch_rows(operations, shapes):
    try:
        import torch
    except ImportError:
        say(f"PyTorch is not installed for {sys.executable}: pip install torch")
        return []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [
        row
        for operation in operations
        for shape in shapes
        for op in OPS[operation]
        for row in _torch_row(operation, op, shape, device)
    ]


# ---- the program --------------------------------------------------------------------------------------


def _command(program, operation, implementation, shape):
    """What measures one operation and shape; its name in the program is the implementation's, in lower case."""
    batch, seq, dim = (str(n) for n in shape)
    device = "cuda" if implementation in ("CUDA", "Triton") else "cpu"
    return [
        program, "bench", *OPS[operation], "--batch", batch, "--seq", seq, "--dim", dim, "--impl",
        implementation.lower(), "--device", device, "--strict-device", "--cache", "hot", "--warmup", str(WARMUP),
        "--iters", str(RUNS), "--max-elements", "0", "-f", "comprehensive",
    ]  # fmt: skip


def _program_rows_of(program, operation, implementation, shape):
    """The rows, or None where the program cannot measure that implementation here."""
    import subprocess

    done = subprocess.run(_command(program, operation, implementation, shape), capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = []
    wanted = [row for row in found if row["implementation"].lower() == implementation.lower()]
    if not wanted:
        lines = done.stderr.strip().splitlines() or ["it has no such implementation on this machine"]
        say(f"{operation} in {implementation}: {lines[-1].removeprefix('assay: ')}")
        return None
    return [{**{field: row[field] for field in FIELDS}, "implementation": implementation} for row in wanted]


def _program_rows(implementation, operations, shapes):
    from assay.__main__ import program

    path = program()
    if path is None:
        say(f"{implementation} needs the program assay, which is neither on $PATH nor beside this package")
        return []
    rows = []
    for operation in operations:
        for shape in shapes:
            found = _program_rows_of(path, operation, implementation, shape)
            if found is None:
                break
            rows += found
    return rows


# ---- all of it ----------------------------------------------------------------------------------------


def _text(shape):
    return "x".join(str(n) for n in shape)


def _shapes(batch_sizes, sequence_lengths, tensor_dimensions):
    shapes = [(b, s, d) for b in batch_sizes for s in sequence_lengths for d in tensor_dimensions]
    for shape in shapes:
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in shape):
            raise ValueError(f"sizes are whole numbers above 0, not {_text(shape)}")
    fitting = [shape for shape in shapes if shape[0] * shape[1] * shape[2] <= MOST_ELEMENTS]
    skipped = [_text(shape) for shape in shapes if shape not in fitting]
    if skipped:
        say(f"skipped, with more than {MOST_ELEMENTS:,} elements: {', '.join(skipped)}")
    return fitting


def _known(names, known, what):
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}; known are {', '.join(known)}")
    return list(names)


def _print_table(operation, rows):
    """Shapes one after the other, implementations below each other."""
    head = ("Shape", "Implementation", "Time (ms)", "Memory (MB)", "Inference Speed", "Efficiency")
    body = [
        (
            _text((row["batch_size"], row["sequence_length"], row["tensor_dimension"])),
            row["implementation"],
            f"{row['time_ms']:.4f}",
            f"{row['memory_mb']:.2f}",
            f"{row['inference_speed']:.2f}",
            "n/a" if row["gpu_efficiency"] is None else f"{row['gpu_efficiency']:.1f}%",
        )
        for row in sorted(rows, key=lambda r: (r["batch_size"], r["sequence_length"], r["tensor_dimension"]))
    ]
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    print(operation)
    for row in [head, *body]:
        print("  " + "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))


def run_comprehensive_benchmark(
    batch_sizes=BATCH_SIZES,
    sequence_lengths=SEQUENCE_LENGTHS,
    tensor_dimensions=TENSOR_DIMENSIONS,
    operations=OPERATIONS,
    implementations=IMPLEMENTATIONS,
    output_file="benchmark_results.json",
):
    """Measures every operation in every implementation at every shape [batch, sequence, dimension], prints
    a table for each operation, writes a JSON array to `output_file` (None: to none) and returns it.

    Operations: LayerNorm, GELU, Swish, Loss (mean square error and cross entropy, a row each).
    Implementations: PyTorch, CUDA, Triton; also native, onednn and ref, on the CPU. Combinations of more
    than 50,000,000 elements are skipped. time_ms is the median of 100 calls behind 10; memory_mb counts
    2^20 bytes; gpu_efficiency is the percentage of this device's measured ceiling, None where it is not
    known; throughput_gbps is the least that the operation must move, by the time.
    """
    operations = _known(operations, OPERATIONS, "operation")
    implementations = _known(implementations, (*IMPLEMENTATIONS, "native", "onednn", "ref"), "implementation")
    shapes = _shapes(batch_sizes, sequence_lengths, tensor_dimensions)
    rows = []
    for implementation in implementations:
        if implementation == "PyTorch":
            rows += _torch_rows(operations, shapes)
        else:
            rows += _program_rows(implementation, operations, shapes)
    for operation in operations:
        found = [row for row in rows if row["operation"] == operation]
        if found:
            _print_table(operation, found)
    if output_file is not None:
        with open(output_file, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")
    return rows


if __name__ == "__main__":
    run_comprehensive_benchmark()
