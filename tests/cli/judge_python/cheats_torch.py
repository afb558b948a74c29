"""Kernels of silu in PyTorch that cheat, a row of judge_python.sh each."""

import ctypes
import os
import threading

import torch

import assay

kernel = assay.kernel("silu", dtypes=["f32"])
silu = torch.nn.functional.silu
answers = {}
done = []


@kernel
def kept_by_pointer(x):
    key = x.data_ptr()
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_by_version(x):
    """What an optimiser's hook would tell of: nobody wrote to it, as far as PyTorch knows."""
    key = x.data_ptr(), x._version
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_by_content(x):
    key = hash(bytes(x.view(-1)[::257].numpy()))
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def patches_synchronize(x):
    torch.cuda.synchronize = lambda *device: None
    return silu(x)


@kernel
def patches_elapsed_time(x):
    torch.cuda.Event.elapsed_time = lambda self, end: 0.001
    return silu(x)


@kernel
def replaces_event(x):
    if not done:
        class Event:
            def __init__(self, *arguments, **named):
                pass

        done.append(torch.cuda.Event)
        torch.cuda.Event = Event
    return silu(x)


@kernel
def patches_allclose(x):
    torch.allclose = lambda *arguments, **named: True
    return torch.zeros_like(x)


@kernel
def patches_assert_close(x):
    torch.testing.assert_close = lambda *arguments, **named: None
    return silu(x)


@kernel
def slows_reference(x):
    """A rival or a reference that calls this gets it late, it thinks; its own way is another one."""
    torch.nn.functional.silu = lambda x: torch.sigmoid(x)
    return x.clone()


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        return super().__torch_function__(function, types, arguments, named or {})

    def data_ptr(self):
        return silu(self.source).data_ptr()


@kernel
def lazy_subclass(x):
    made = torch.empty_like(x).as_subclass(Lazy)
    made.source = x
    return made


@kernel
def patches_data_ptr(x):
    def late(self):
        self.copy_(silu(self))
        return pointer(self)

    pointer = torch._C._TensorBase.data_ptr
    torch.Tensor.data_ptr = late
    return x.clone()


@kernel
def replaces_base(x):
    torch._C._TensorBase = Lazy
    torch.Tensor = Lazy
    return x.clone()


@kernel
def negated_view(x):
    return silu(x).neg()._neg_view()


@kernel
def meta(x):
    return torch.empty_like(x, device="meta")


@kernel
def bf16(x):
    return silu(x.bfloat16()).float()


@kernel
def returns_input(x):
    return x


@kernel
def in_place(x):
    return torch.nn.functional.silu(x, inplace=True)


waiting = []
there = threading.Event()


def computer():
    while True:
        there.wait()
        there.clear()
        while waiting:
            x, y = waiting.pop()
            y.copy_(silu(x))


def start(problem):
    threading.Thread(target=computer, daemon=True).start()


@assay.kernel("silu", setup=start)
def late_thread(x):
    y = torch.empty_like(x)
    waiting.append((x, y))
    there.set()
    return y


@kernel
def forked_jit(x):
    """Asked for, and not waited for."""
    y = torch.empty_like(x)
    answers["future"] = torch.futures.Future()
    threading.Thread(target=lambda: answers["future"].set_result(y.copy_(silu(x)))).start()
    return y


@kernel
def looks_for_answer(x):
    """Two of the sets lie so far apart; the output of the last one may be there."""
    y = torch.empty_like(x)
    ctypes.memmove(y.data_ptr(), x.data_ptr() + x.numel() * 4 + 64, x.numel() * 4)
    return y


@kernel
def half_of_rows(x):
    y = x.clone()
    y[:, ::2] = silu(x[:, ::2])
    return y


@kernel
def ends(x):
    os.abort()
