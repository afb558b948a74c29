"""The command kobench: measures a preset and prints its table."""

from __future__ import annotations

import sys

from kohakubench.presets import PRESETS


class Options(dict):
    """What a preset's function is given: device and dtype, as keys and as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class PresetError(Exception):
    """A preset that is not there, or has no cases."""


def _load_file(path):
    import importlib.util

    spec = importlib.util.spec_from_file_location("kobench_preset", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kobench_preset"] = module
    spec.loader.exec_module(module)
    return module


def _load(name):
    import os

    if name.endswith(".py"):
        if not os.path.isfile(name):
            raise PresetError(f"there is no file {name}")
        return _load_file(name)
    import importlib

    try:
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise
        raise PresetError(_unknown(name)) from None
    finally:
        sys.path.remove(os.getcwd())


def _unknown(name):
    from difflib import get_close_matches

    near = get_close_matches(name, PRESETS, 1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'unknown preset "{name}": it is not one of {", ".join(PRESETS)}, a .py file or a module{hint}'


def _cases_of(module, options):
    """What the module has, in the order of KoBench: a function, the class Preset, the list CASES."""
    for name in ("build_cases", "make_cases", "get_cases"):
        function = getattr(module, name, None)
        if callable(function):
            return function(options)
    preset = getattr(module, "Preset", None)
    if preset is not None and hasattr(preset, "build"):
        return (preset() if isinstance(preset, type) else preset).build(options)
    cases = getattr(module, "CASES", None)
    if cases is None:
        raise PresetError(
            f"{module.__name__} has none of build_cases, make_cases, get_cases, Preset.build and CASES"
        )
    return cases


def load_cases(name, device, dtype):
    """The cases of a built-in preset, a .py file or a module."""
    if name in PRESETS:
        from kohakubench.presets import build

        return list(build(name, device=device, dtype=dtype))
    from kohakubench.core import BenchmarkCase

    found = _cases_of(_load(name), Options(device=device, dtype=dtype))
    cases = [found] if isinstance(found, BenchmarkCase) or callable(found) else list(found)
    if not cases:
        raise PresetError(f"{name} has no cases")
    return cases


def _parser():
    import argparse

    parser = argparse.ArgumentParser(prog="kobench", description="Measures the cases of a preset.")
    parser.add_argument(
        "--preset", default="attn", help=f"{', '.join(PRESETS)}; a .py file or a module of your own (default: attn)"
    )
    parser.add_argument("--list", action="store_true", help="show the presets, and end")
    parser.add_argument("--device", help="cpu, cuda, cuda:N (default: cuda where there is one, else cpu)")
    parser.add_argument("--dtype", help="float16 (default on CUDA), float32 (default elsewhere), bfloat16")
    parser.add_argument("--warmup", type=int, default=8, help="calls before the timed ones (default: 8)")
    parser.add_argument("--iters", type=int, default=32, help="timed calls (default: 32)")
    return parser


def _show_presets():
    width = max(map(len, PRESETS))
    for name, (_, summary, _) in PRESETS.items():
        print(f"{name.ljust(width)}  {summary}")


def _run(options):
    from kohakubench.core import KoBench
    from kohakubench.report import print_table

    bench = KoBench(device=options.device, dtype=options.dtype, warmup=options.warmup, iters=options.iters)
    print_table(bench.benchmark_many(load_cases(options.preset, bench.device, bench.dtype)))


def main(argv: list[str] | None = None) -> int:
    """Exit status: 0; 1 where a case failed; 2 where the command line or the preset makes no sense."""
    options = _parser().parse_args(argv)
    if options.list:
        _show_presets()
        return 0
    try:
        _run(options)
    except (PresetError, ValueError, TypeError) as error:
        sys.stderr.write(f"kobench: {error}\n")
        return 2
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        sys.stderr.write(f"kobench: PyTorch is not installed for {sys.executable}: pip install torch\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
