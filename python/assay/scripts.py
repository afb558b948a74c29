"""Benchmark scripts of a kernel repository: `benchmarks/benchmark*.py`, as `kernels benchmark` runs them.

A script defines subclasses of `kernels.benchmark.Benchmark`. Each method `benchmark_<workload>` is a
workload, with `setup_<workload>` or `setup` before it and `verify_<workload>` for its reference.

The tensors that setup leaves in an instance become operands of assay's: the judge holds their values,
guards and poisons them, and puts others in their place. New values come from setup itself, called with
another seed, so that tensors that belong together stay together.
"""

import contextlib
import os
import random
import sys

from assay import frameworks, tensors
from assay.call import Call, Unsupported
from assay.reference import Reference

MOST_INPUTS = 16
_READY_MADE = ("small", "medium", "large")


class ScriptError(Exception):
    """Something in a script that cannot be measured; its words say what."""

    says_all = True


# ---- scripts ----


def load(path):
    """The workloads of a file."""
    root = repository_of(path)
    os.chdir(root)
    if not frameworks.has_torch():
        return _Script(path, [_Missing(*w) for w in _workloads_in_text(path)])
    module = _import(path)
    from kernels.benchmark import Benchmark

    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Benchmark)
               and c is not Benchmark and c.__module__ == module.__name__]
    works = [Workload(c, name, root) for c in dict.fromkeys(classes) for name in workloads_of(c)]
    if not classes:
        raise ScriptError("defines no subclass of kernels.benchmark.Benchmark")
    if not works:
        raise ScriptError("its benchmarks have no methods benchmark_<workload>: %s"
                          % ", ".join(c.__name__ for c in classes))
    return _Script(path, works)


def repository_of(path):
    """The folder that `benchmarks` is in; for a script elsewhere, its own."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.dirname(folder) if os.path.basename(folder) == "benchmarks" else folder


def workloads_of(cls):
    prefix = "benchmark_"
    names = [n for n in dir(cls) if n.startswith(prefix) and len(n) > len(prefix)]
    return [n[len(prefix):] for n in names if callable(getattr(cls, n))]


def use_standin():
    """assay's own modules of the names a script imports, where the package `kernels` has none."""
    import importlib.util

    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin")
    try:
        package = importlib.util.find_spec("kernels")
    except (ImportError, ValueError):
        package = None
    if package is None or not package.submodule_search_locations or not package.origin:
        sys.path.insert(0, here)
        return
    import kernels

    kernels.__path__.append(os.path.join(here, "kernels"))  # what an older one does not have


def _import(path):
    import importlib.util

    use_standin()
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _own_comparison():
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _own_comparison():
    """Scripts that are lenient with bfloat16 replace torch.allclose, by which `kernels benchmark`
    compares. assay does not, and what is replaced in a process costs its rows: it is put back."""
    import torch

    held = torch.allclose
    try:
        yield
    finally:
        torch.allclose = held


def _workloads_in_text(path):
    """The workloads as the text has them, for an interpreter that cannot import the script."""
    import ast

    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    for node in tree.body:
        bases = [ast.unparse(b).split(".")[-1] for b in getattr(node, "bases", ())]
        if not any(b.endswith("Benchmark") for b in bases):
            continue
        names = [f.name[len("benchmark_"):] for f in node.body
                 if isinstance(f, ast.FunctionDef) and f.name.startswith("benchmark_")]
        if "Benchmark" not in bases:
            names += [n for n in _READY_MADE if n not in names]
        for name in names:
            yield node.name, name


class _Script:
    """A file of benchmarks as the runner asks it."""

    KERNELS = ()

    def __init__(self, path, works):
        self.__file__ = path
        self.works = {w.title: w for w in works}

    @property
    def WORKLOADS(self):
        return [w.described() for w in self.works.values()]

    def use_device(self, device):
        for w in self.works.values():
            w.device = device

    def declare(self, title, threads, device):
        return self.works[title].declare()

    def fill(self, title, index, seed):
        return self.works[title].fill(index, seed)

    def verify(self, title, inputs):
        return self.works[title].expected(inputs)

    def can_run(self, kernel, problem):
        return None

    def note(self, kernel, problem):
        return self.works[kernel.removesuffix(":verify")].note()

    def setup(self, kernel, problem):
        work = self.works[kernel.removesuffix(":verify")]
        return work.reference_call(problem) if kernel.endswith(":verify") else work.call(problem)


class _Missing:
    """A workload of a script that this interpreter cannot import."""

    device = "cpu"

    def __init__(self, benchmark, name):
        self.benchmark, self.name = benchmark, name
        self.title = "%s.%s" % (benchmark, name)

    def described(self):
        return {"benchmark": self.benchmark, "name": self.name, "device": self.device,
                "verified": True, "on_device": False, "together": True}

    def declare(self):
        raise Unsupported(frameworks.NO_TORCH % sys.executable)

    def note(self):
        return None


# ---- one workload ----


@contextlib.contextmanager
def _seeds(seed, own):
    """torch, random and NumPy from this seed. Where it is not the class's own, a setup that seeds
    them by itself does not get its way: its values would always be the same."""
    import torch

    places = [(torch, "manual_seed"), (torch.random, "manual_seed"), (torch.cuda, "manual_seed"),
              (torch.cuda, "manual_seed_all"), (random, "seed")]
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        numpy.random.seed(seed & 0xffffffff)
        places.append((numpy.random, "seed"))
    held = [(module, name, getattr(module, name)) for module, name in places]
    try:
        for module, name, _ in () if own else held:
            setattr(module, name, lambda *a, **k: None)
        yield
    finally:
        for module, name, function in held:
            setattr(module, name, function)


def _is_without_cuda(error):
    """Does the exception come from a machine without a GPU?"""
    import torch

    words = str(error)
    return not torch.cuda.is_available() and any(w in words for w in ("CUDA", "NVIDIA", "cuda"))


class Workload:
    """One method benchmark_<name> of a class."""

    def __init__(self, cls, name, root):
        self.cls, self.name, self.root = cls, name, root
        self.benchmark = cls.__name__
        self.title = "%s.%s" % (cls.__name__, name)
        self.device = "cpu"
        self.run = getattr(cls, "benchmark_" + name)
        self.verify = getattr(cls, "verify_" + name, None)
        self.reference = Reference(self.verify) if self.verify else None
        self._setup = getattr(cls, "setup_" + name, None) or getattr(cls, "setup", None)
        self._template = None
        self._outputs = ()  # of a call, where setup makes none
        self._filled = []  # the last seeds and the values that setup gave for them
        self.in_place = ()

    def described(self):
        verified = self.verify is not None
        return {"benchmark": self.benchmark, "name": self.name, "device": self.device,
                "verified": verified, "on_device": verified, "together": True}

    # -- instances --

    def instance(self, seed=None):
        """A fresh one, set up."""
        from assay import repository

        own = seed is None
        if own:
            seed = self.cls.seed if getattr(self.cls, "seed", None) is not None else 0
        kernel = repository.kernel(self.root, self.device)
        with _seeds(seed, own):
            made = self.cls()
            made.kernel = kernel
            made.device = self.device
            try:
                if self._setup is not None:
                    self._setup(made)
            except Exception as error:
                if _is_without_cuda(error):
                    raise Unsupported("its setup needs CUDA: %s" % str(error).split("\n")[0]) from error
                raise
        return made

    @property
    def template(self):
        """An instance with the class's own seed, and what its tensors are."""
        if self._template is None:
            self._template = _Template(self.instance(), self.device)
        return self._template

    # -- what the judge asks of the author --

    def declare(self):
        template = self.template
        outs = template.outputs
        if not outs:
            outs = self._outputs_of_a_call()
        described = [self._described_output(o) for o in outs]
        self._learn(outs)
        return {
            "inputs": [(g.name, g.dtype, g.dims) for g in template.groups],
            "outputs": [("out" if i == 0 else "out%d" % (i + 1), *one)
                        for i, one in enumerate(described)],
            "fills": True,
            "relative": self.reference.relative if self.reference else 0,
            "absolute": self.reference.absolute if self.reference else 0,
        }

    def _learn(self, outs):
        """What the reference is, once."""
        if self.reference is None or self.reference.wide is not None:
            return
        answers = self._checked(tensors.as_tuple(self.verify(self._again())), outs)
        for answer, out in zip(answers, outs):
            self._as_output(answer, out)
        self.reference.learn(self._again, outs)

    def _again(self, memories=None):
        """The template, or one with other values, in memory of its own."""
        template = self.template
        return template.place(memories or [g.memory.clone() for g in template.groups])

    def _outputs_of_a_call(self):
        """What a call assigns to self.out; where it cannot be called here, what verify returns."""
        if self._outputs:
            return self._outputs
        made = self.instance()
        try:
            self.run(made)
            outs = tensors.outputs_of(made)
            why = "it leaves no tensor in self.out"
        except Exception as error:
            outs, why = (), "%s: %s" % (type(error).__name__, error)
        if not outs and self.verify is not None:
            outs = tensors.as_tuple(self.verify(self.instance()))
        if not outs:
            raise ScriptError("there is nothing to check: %s" % why)
        self._outputs = outs
        return outs

    def _described_output(self, out):
        tensors.check(out, "self.out", self.device)
        if out.dim() > 4:
            return tensors.dtype_name(out), (out.numel(),)
        return tensors.dtype_name(out), tuple(out.shape) or (1,)

    def fill(self, index, seed):
        for known, values in self._filled:
            if known == seed:
                return values[index]
        made = _Template(self.instance(seed), self.device)
        usual = self.template
        if made.shapes() != usual.shapes():
            raise ScriptError("setup makes other tensors with another seed: %s, not %s"
                              % (made.shapes(), usual.shapes()))
        values = [g.values() for g in made.groups]
        self._filled = [(seed, values)] + self._filled[:1]
        return values[index]

    def expected(self, inputs):
        """What verify returns where the instance's tensors have these values."""
        outs = self.template.outputs or self._outputs_of_a_call()
        self._learn(outs)
        answers = self.reference.answers(lambda: self._again([self._bring(t) for t in inputs]))
        return [self._as_output(a, o) for a, o in zip(self._checked(answers, outs), outs)]

    def _checked(self, answers, outs):
        if not answers:
            raise ScriptError("verify_%s returns no tensor" % self.name)
        if len(answers) != len(outs):
            raise ScriptError("verify_%s returns %d tensors, and self.out is %d"
                              % (self.name, len(answers), len(outs)))
        return answers

    def _as_output(self, answer, out):
        if tensors.plain(answer.shape) != tensors.plain(out.shape):
            raise ScriptError("verify_%s returns a tensor of shape %s, and self.out has %s"
                              % (self.name, list(answer.shape), list(out.shape)))
        if not tensors.is_as_precise(answer.dtype, out.dtype):
            raise ScriptError("verify_%s returns %s, and self.out is %s" % (
                self.name, str(answer.dtype)[6:], str(out.dtype)[6:]))
        return answer.detach().to(out.dtype).contiguous()

    def _bring(self, tensor):
        return tensor.to(self.device) if self.device != "cpu" else tensor

    # -- what is measured --

    def call(self, problem):
        """The workload itself."""
        template = self.template
        changed = self._called_once(template)
        self.in_place = [g.name for g in changed]
        n = len(template.groups)
        outs = template.outputs

        def prepare(*operands):
            made = template.place(operands[:n], private=changed)
            template.give_outputs(made, operands[n:])
            return (made,)

        def collect(made):
            got = tensors.outputs_of(made)
            if not got:
                raise ScriptError("benchmark_%s leaves no tensor in self.out" % self.name)
            result = [t.detach().contiguous() for t in got]
            if self.device == "cpu":  # a captured call comes again without Python and assigns nothing
                template.give_outputs(made, made.__dict__[tensors.OPERANDS][1])
            return [t.reshape(-1) if t.dim() > 4 else t for t in result]

        call = Call(self.run, takes_out=True, framework=frameworks.torch(), prepare=prepare)
        call.collect = collect
        if changed:
            call.again = lambda arguments, n: template.again(arguments[0], n, changed)
        if outs and any(t.requires_grad for t in outs):
            raise ScriptError("self.out requires a gradient")
        return call

    def _called_once(self, template):
        """One call beside all others, after which its setup and compiling are done: the groups of
        tensors that it changed."""
        made = template.place([g.memory.clone() for g in template.groups])
        before = [g.memory for g in template.groups]
        self.run(made)
        _wait(self.device)
        after = made.__dict__[tensors.OPERANDS][0]
        return [g for g, a, b in zip(template.groups, before, after) if not tensors.same(a, b)]

    def reference_call(self, problem):
        template = self.template
        n = len(template.groups)
        outs = problem.outputs
        verify = self.verify
        made = template.place([g.memory for g in template.groups])
        there = {tensors.storage_key(t) for _, t in tensors.walk(vars(made))}
        if any(tensors.storage_key(a) in there for a in tensors.as_tuple(verify(made))):
            raise Unsupported("verify_%s returns a tensor that is there already: there is nothing to time"
                              % self.name)

        def finish(result):
            answers = self._checked(tensors.as_tuple(result), outs)
            return [tensors.shaped(a.detach().to(tensors.dtype_of(o[0])), o[1]) for a, o in zip(answers, outs)]

        return Call(verify, framework=frameworks.torch(), finish=finish,
                    prepare=lambda *operands: (template.place(operands[:n]),))

    def note(self):
        parts = []
        if self.in_place:
            parts.append("in place: " + ", ".join(self.in_place))
        if self._template is not None and self._template.fixed:
            parts.append("not varied: " + ", ".join(self._template.fixed))
        if self.verify is None:
            parts.append("no verify_%s: not checked" % self.name)
        return "; ".join(parts)[:120] or None


def _wait(device):
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


# ---- an instance's tensors ----


class _Group:
    """The tensors that lie in one piece of memory, which is an operand of assay's."""

    def __init__(self, paths_and_tensors):
        self.tensors = [t for _, t in paths_and_tensors]
        names = [".".join(map(str, p)) for p, _ in paths_and_tensors if p[0] != "out"]
        self.name = "=".join(names)[:47]
        first = self.tensors[0]
        self.dtype = tensors.dtype_name(first)
        size = tensors.storage_bytes(first) // first.element_size()
        self.whole = (len(self.tensors) == 1 and first.is_contiguous() and first.storage_offset() == 0
                      and first.numel() == size and 1 <= first.dim() <= 4)
        self.dims = tuple(first.shape) if self.whole else (size,)
        self.memory = first.detach() if self.whole else first.detach().as_strided((size,), (1,), 0)

    def values(self):
        """On the host, in memory of their own."""
        values = self.memory.cpu()
        return values.clone() if values is self.memory else values

    def views(self, memory):
        """The tensors again, in this memory."""
        for t in self.tensors:
            made = memory if self.whole else memory.view(-1).as_strided(
                t.size(), t.stride(), t.storage_offset())
            yield t, made.requires_grad_() if t.requires_grad else made


class _Template:
    """An instance that was set up, from which others are made with other tensors."""

    def __init__(self, instance, device):
        self.instance = instance
        self.outputs = tensors.outputs_of(instance)
        found = list(tensors.walk({k: v for k, v in vars(instance).items() if k != "kernel"}))
        owned = {}
        for path, tensor in found:
            owned.setdefault(tensors.storage_key(tensor), []).append((path, tensor))
        self.groups, self.fixed = [], []
        self.shares_output = False
        self.fixed += [k for k, v in vars(instance).items() if tensors.is_module(v)]
        for members in owned.values():
            inputs = [m for m in members if m[0][0] != "out"]
            if not inputs:
                continue
            if len(inputs) < len(members):
                self.shares_output = True
            if all(tensors.can_be_operand(t, device) for _, t in members) and \
                    len({t.dtype for _, t in members}) == 1 and len(self.groups) < MOST_INPUTS:
                self.groups.append(_Group(members))
            else:
                self.fixed.append(".".join(map(str, inputs[0][0])))

    def shapes(self):
        return [(g.name, g.dtype, g.dims) for g in self.groups]

    def place(self, memories, private=()):
        """An instance whose tensors are in these memories; the `private` groups in copies."""
        mine = [m.clone() if g in private else m for g, m in zip(self.groups, memories)]
        table = {id(t): made for g, m in zip(self.groups, mine) for t, made in g.views(m)}
        made = self.instance.__class__.__new__(self.instance.__class__)
        made.__dict__.update({k: tensors.replaced(v, table) for k, v in vars(self.instance).items()})
        made.__dict__[tensors.OPERANDS] = [mine, (), list(memories), []]
        return made

    def give_outputs(self, made, memories):
        """Poisoned memory of assay's as self.out, unless it is an input's."""
        made.__dict__[tensors.OPERANDS][1] = memories
        if not self.outputs:
            made.out = None
            return
        if self.shares_output:
            return
        shaped = [m.view(o.shape) for m, o in zip(memories, self.outputs)]
        out = self.instance.out
        made.out = shaped[0] if not isinstance(out, (tuple, list)) else type(out)(shaped)

    def again(self, made, n, changed):
        """So many argument lists for calls that change their inputs, each with inputs as they were."""
        mine, outputs, originals, copies = made.__dict__[tensors.OPERANDS]
        while len(copies) < n:
            one = self.place(originals, private=changed)
            self.give_outputs(one, outputs)
            copies.append(one)
        for one in copies[:n]:
            for g, to, at in zip(self.groups, one.__dict__[tensors.OPERANDS][0], originals):
                if g in changed:
                    to.detach().copy_(at)
        return [(one,) for one in copies[:n]]
