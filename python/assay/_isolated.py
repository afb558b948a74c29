"""The child of assay._isolate: reads a job from stdin, measures it, writes results to a descriptor."""

import os
import sys


def _load_main(path):
    """The parent's script, under a name that is not __main__: what it guards by that does not run."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("__assay_main__", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["__assay_main__"] = module
    sys.modules["__main__"].__dict__.update({"__file__": path})
    spec.loader.exec_module(module)
    return module


def _find(where, job):
    import importlib

    module, name = where
    found = job["loaded"] if module == "__main__" else importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _load(job):
    """The functions by name, the reference, the arguments."""
    import pickle

    wanted = [*job["functions"].values(), *([job["reference"]] if job["reference"] else [])]
    if any(module == "__main__" for module, _ in wanted):
        job["loaded"] = _load_main(job["main"])
        for name, value in vars(job["loaded"]).items():  # what is pickled may name a class of it
            vars(sys.modules["__main__"]).setdefault(name, value)
    functions = {name: _find(where, job) for name, where in job["functions"].items()}
    reference = _find(job["reference"], job) if job["reference"] else None
    return functions, reference, *pickle.loads(job["values"])


def main():
    import json
    import pickle

    from assay import api

    job = pickle.load(sys.stdin.buffer)
    try:
        functions, reference, args, kwargs = _load(job)
    except Exception as error:
        answer = api._said(error)
    else:
        how = {**job["how"], "quiet": True, "stream": api._stream_of(job["how"]["device"])}
        answer = [result.to_dict() for result in api._in_process(functions, args, kwargs, reference, how)]
    with os.fdopen(int(sys.argv[1]), "w") as out:
        json.dump(answer, out)


if __name__ == "__main__":
    main()
