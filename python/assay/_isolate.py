"""Measures functions in a Python of their own, which may crash, hang or end.

The child (`python -m assay._isolated`) imports the functions by name; the arguments are pickled to
it, and the results come back as JSON on a pipe of its own."""

import os
import sys

GRACE_S = 5.0
#: Set in the environment of a child.
IN_CHILD = "ASSAY_ISOLATED"


def measure(functions, args, kwargs, reference, timeout, how):
    """A Result for each; in this process, with a note, where a function has no name to import."""
    from assay import api

    if IN_CHILD in os.environ:
        raise RuntimeError(
            "a script that measures with isolate=True is imported by the process that it starts; put what it "
            "does below: if __name__ == '__main__':"
        )
    try:
        return _run_all(_job(functions, args, kwargs, reference, how), list(functions), timeout)
    except ValueError as why:
        results = api._in_process(functions, args, kwargs, reference, how)
        for result in results:
            result.notes.append(f"not isolated: {why}")
        return results


def _job(functions, args, kwargs, reference, how):
    import pickle

    names = {name: importable(fn) for name, fn in functions.items()}
    referee = importable(reference) if reference is not None else None
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        values = pickle.dumps((args, kwargs))
    except Exception as error:
        raise ValueError(f"its arguments cannot be pickled: {error}") from error
    return {"functions": names, "reference": referee, "how": how, "main": main, "values": values}


def importable(fn):
    """(module, qualified name), which lead to the function; ValueError: they do not."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not module or not name or "<" in name:
        raise ValueError(f"{name or fn!r} cannot be imported by name")
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not fn:
        raise ValueError(f"{module}.{name} is something else")
    if module == "__main__" and not getattr(sys.modules["__main__"], "__file__", None):
        raise ValueError(f"{name} was typed in, and is in no file")
    return module, name


def _run_all(job, names, timeout):
    """All together; where that ends badly, each alone, and those that are well once more."""
    results, ended = _run(job, timeout)
    if results is not None:
        return results
    if len(names) == 1:
        return [_ended(names[0], ended, job)]
    bad = {}
    for name in names:
        quick = {**job["how"], "settings": (1, 1, 0.0, job["how"]["settings"][3])}
        alone, why = _run({**job, "functions": {name: job["functions"][name]}, "how": quick}, timeout)
        if alone is None:
            bad[name] = _ended(name, why, job)
    well = [name for name in names if name not in bad]
    if bad and well:
        rest = {name: job["functions"][name] for name in well}
        measured = {r.name: r for r in _run_all({**job, "functions": rest}, well, timeout)}
        return [bad.get(name) or measured[name] for name in names]
    return [bad.get(name) or _ended(name, ended, job) for name in names]


def _ended(name, ended, job):
    from assay.api import Result

    status, reason = ended
    return Result(
        name=name, status=status, reason=reason, isolated=True, device=job["how"]["device"],
        cache="cold" if job["how"]["cold"] else "hot",
        verdict="", samples=0, calls=0, warmup=0,
    )  # fmt: skip


def _run(job, timeout):
    """(results, None), or (None, (status, reason)) where the child did not answer. ValueError: the
    functions cannot be imported in it."""
    import pickle
    import subprocess

    ours, theirs = os.pipe()
    path = [os.getcwd() if not p else p for p in sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), IN_CHILD: "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "assay._isolated", str(theirs)],
        stdin=subprocess.PIPE, pass_fds=(theirs,), env=environment,
    )  # fmt: skip
    os.close(theirs)
    try:
        try:
            child.stdin.write(pickle.dumps(job))
            child.stdin.close()
        except BrokenPipeError:
            pass
        text = _hear(ours, timeout + job["how"]["settings"][3])
        if text is None:
            return None, ("timeout", f"it did not end within {timeout:g} s")
        return _read(text, child)
    finally:
        os.close(ours)
        if child.poll() is None:
            child.kill()
        child.wait()


def _hear(pipe, seconds):
    """All that is written until the pipe is closed; None: it was not, in this time."""
    import select
    from time import monotonic

    end, pieces = monotonic() + seconds, []
    while True:
        left = end - monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return None
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _read(text, child):
    import json
    import subprocess

    try:
        code = child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        return None, ("timeout", "its process did not end")
    if text:
        from assay.api import Result

        found = json.loads(text)
        if isinstance(found, str):
            raise ValueError(f"it cannot be imported there: {found}")
        return [Result(**{**values, "isolated": True}) for values in map(_tuples, found)], None
    return None, ("crashed", _how(code))


def _tuples(values):
    for name in ("interval", "speedup_interval"):
        values[name] = tuple(values[name]) if values[name] else None
    return values


def _how(code):
    if code >= 0:
        return f"its process ended with exit code {code}"
    import signal

    try:
        return f"{signal.Signals(-code).name} ended its process"
    except ValueError:
        return f"signal {-code} ended its process"
