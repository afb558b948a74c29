"""What the contenders made of PyTorch share: versions, settings, compiling, the first call.

Calls run in inference mode, but for models in training. `setup` enters it for its thread and
leaves it for those alone, so that no call pays for entering: tensors must be made on that thread,
after `setup`.
"""

import re
import sys
import time

from assay._found import absent, too_old, version, version_file  # noqa: F401: also for others

from . import Call, Unsupported

TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "s32": "int32",
    "s8": "int8", "u8": "uint8", "u4": "uint8", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}
SHORT = ("f16", "bf16")
IMPLEMENTATIONS = (("torch", ""), ("torch-compile", "_compile"))
DEVICES = (("cpu", ""), ("cuda", "_cuda"))
COMPILE = "torch-compile"

# What PyTorch says of what it cannot do, in errors of no class of their own.
REFUSALS = re.compile(
    "not implemented|not supported|only support|unsupported|No available kernel|no kernel found"
    "|Could not run|C\\+\\+ compiler|working triton|should be divisible|must be divisible"
    "|needs to be (greater|a multiple)|execution plan", re.IGNORECASE)

_guards = []  # inference mode, once entered
_notes = {}


def rows(name, op, dtypes, devices=DEVICES, implementations=IMPLEMENTATIONS, preference=1):
    """One kernel for each implementation and device: "gelu_torch_compile_cuda"."""
    return [dict(name=name + "_torch" + compiled + suffix, op=op, implementation=implementation,
                 device=device, dtypes=list(dtypes), preference=preference, note=True)
            for implementation, compiled in implementations for device, suffix in devices]


# ---- before PyTorch is imported ----

def missing(implementation):
    """Why the implementation cannot be used here at all, or None."""
    return absent("torch", "PyTorch")


def cannot(kernel):
    """Why no problem at all can be measured by this kernel (a row of KERNELS), or None."""
    reason = missing(kernel["implementation"])
    if reason:
        return reason
    if kernel["implementation"] == COMPILE:
        reason = too_old((2, 1), "torch.compile")
    if not reason and kernel["device"] == "cuda":
        about = version_file()
        if about and not about.get("cuda"):
            reason = "PyTorch %s is built without CUDA" % about.get("__version__")
        elif kernel["implementation"] == COMPILE:
            reason = absent("triton", "torch.compile on a GPU takes Triton, which")
    return reason


# ---- with it ----

def dtype(torch, name):
    """torch.bfloat16 for "bf16"."""
    found = getattr(torch, TYPES[name], None)
    if found is None:
        raise Unsupported("PyTorch %s has no %s" % (torch.__version__, TYPES[name]))
    return found


def leave():
    """Inference mode, which an earlier kernel entered."""
    while _guards:
        _guards.pop().__exit__(None, None, None)


def enter(torch, device, threads, trains=False):
    """Threads, inference mode, and sums in full precision: assay holds all kernels to it."""
    if trains:
        leave()
    elif not torch.is_inference_mode_enabled():
        _guards.append(torch.inference_mode())
        _guards[-1].__enter__()
    if device == "cpu":
        torch.set_num_threads(threads)
        return
    if not torch.cuda.is_available():
        raise Unsupported("PyTorch %s finds no GPU that it can use" % torch.__version__)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are newer names
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def examples(torch, problem):
    """Zeros of the inputs' types and shapes."""
    def zeros(name, dims):
        dims = list(dims)
        if name == "u4":
            dims[-1] = (dims[-1] + 1) // 2
        return torch.zeros(dims, dtype=dtype(torch, name), device=problem.device)
    return tuple(zeros(name, dims) for name, dims in problem.inputs)


def fresh(fn):
    """`fn` behind a code object of its own: that is where torch.compile keeps what it compiled, at
    most eight versions, looked through at every call."""
    def call(*arguments):
        return fn(*arguments)
    call.__code__ = call.__code__.replace(co_name="compiled")
    return call


def contiguous(call):
    """The same, with the result in the op's own layout as part of the call."""
    fn, finish = call.fn, call.finish

    def lay_out(result):
        if type(result) is tuple:
            return tuple(t.contiguous() for t in result)
        return result.contiguous()
    if finish is None:
        return Call(lambda *arguments: lay_out(fn(*arguments)), prepare=call.prepare)
    return Call(lambda *arguments: lay_out(finish(fn(*arguments))), prepare=call.prepare)


def mode_of(problem):
    """torch.compile's mode. Graphs are the harness's to capture."""
    return "max-autotune-no-cudagraphs" if problem.autotune else None


def first_call(torch, kernel, problem, call, trains):
    """Compiles, and calls once: what cannot run says so here. Gives the call and the result. In
    training what is compiled is so already."""
    inputs = examples(torch, problem)
    arguments = call.prepare(*inputs) if call.prepare else inputs
    compiles = kernel["implementation"] == COMPILE and not trains
    fn = call.fn
    if compiles:
        fn = torch.compile(fresh(fn), dynamic=False, fullgraph=True, mode=mode_of(problem))
    result = fn(*arguments)
    return Call(fn, prepare=call.prepare, finish=call.finish), result


def lies_right(call, result):
    """Is the finished result the very memory of the result, as it lies in the op's operand?"""
    finished = call.finish(result) if call.finish else result
    pairs = zip(*(t if type(t) is tuple else (t,) for t in (finished, result)))
    return all(t.is_contiguous() and t.data_ptr() == r.data_ptr() for t, r in pairs)


def tried(torch, kernel, problem, plain, trains):
    """first_call; with a copy as part of the call where the framework's layout is another one."""
    call, result = first_call(torch, kernel, problem, plain, trains)
    if not lies_right(call, result):
        call, result = first_call(torch, kernel, problem, contiguous(plain), trains)
    if problem.device == "cuda":
        del result
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    return call


def reason_of(error):
    """The line of an error that says something cannot be done, or None."""
    lines = str(error).strip().split("\n")
    for line in lines:
        if REFUSALS.search(line):
            return line.strip()
    return (lines[0] or "not implemented") if isinstance(error, NotImplementedError) else None


def written(text, names):
    """A lambda made of text, so that a call does nothing but what the text says."""
    return eval(compile(text, __file__, "eval"), names)


def key(kernel, problem):
    """What a note is kept under."""
    return (kernel, problem.dtype, tuple(problem.axes), tuple(problem.params), problem.recipe)


def ready(kernel, problem, make, trains=False):
    """The Call of a kernel (a row of KERNELS) for a problem; make(torch, problem, kernel) is it
    before it is compiled or tried."""
    import torch
    enter(torch, problem.device, problem.threads, trains)
    try:
        plain = make(torch, problem, kernel)
        start = time.perf_counter()
        call = tried(torch, kernel, problem, plain, trains)
        seconds = time.perf_counter() - start
    except Unsupported:
        raise
    except Exception as error:
        reason = reason_of(error)
        if not reason:
            raise
        raise Unsupported("PyTorch %s: %s" % (torch.__version__, reason)) from error
    if kernel["implementation"] == COMPILE:
        tuned = ", max-autotune" if problem.autotune else ""
        remark(kernel["name"], problem, "compiled in %.1f s%s" % (seconds, tuned))
    return call


def remark(kernel, problem, text):
    """Adds to a kernel's note."""
    notes = _notes.setdefault(key(kernel, problem), [])
    if text not in notes:
        notes.append(text)


def note(kernel, problem):
    """One line of what a reader of the figures should know; None before PyTorch is imported."""
    torch = sys.modules.get("torch")
    if not torch:
        return None
    words = ["PyTorch " + torch.__version__]
    if problem is None:
        return words[0]
    if problem.device == "cpu":
        words.append("%d thread%s" % (problem.threads, "s"[:problem.threads != 1]))
    elif torch.version.cuda:
        words.append("CUDA " + torch.version.cuda)
    return ", ".join(words + _notes.get(key(kernel, problem), []))
