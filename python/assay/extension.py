"""A repository's extension of PyTorch, compiled from build.toml and kept by what went into it.

`assay kernel` compiles in a process of its own, before anything is measured:

    python3 -c "…" PACKAGE REPOSITORY DEVICE

and the processes that run the kernel find it by the same key. Nothing of the repository is executed
here.
"""

import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time

from assay.call import Unsupported

COMPILED = (".cpp", ".cc", ".cxx", ".c", ".cu")
_HEADERS = (".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc")
_MOST_FILES = 5000

REGISTRATION = """#pragma once
#if __has_include(<Python.h>)
#include <Python.h>
#endif
#define ASSAY_NAME_OF(NAME) ASSAY_NAME_TEXT(NAME)
#define ASSAY_NAME_TEXT(NAME) #NAME
#define TORCH_LIBRARY_EXPAND(NAME, MODULE) TORCH_LIBRARY(NAME, MODULE)
#define TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)
#define STABLE_TORCH_LIBRARY_EXPAND(NAME, MODULE) STABLE_TORCH_LIBRARY(NAME, MODULE)
#define STABLE_TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) \\
    STABLE_TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)
#define ASSAY_INIT_OF(NAME) PyInit_##NAME
#define ASSAY_DEFINE_MODULE(NAME) \\
    PyMODINIT_FUNC ASSAY_INIT_OF(NAME)(void) \\
    { \\
        static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, ASSAY_NAME_OF(NAME), nullptr, 0, \\
                                                nullptr, nullptr, nullptr, nullptr, nullptr}; \\
        return PyModule_Create(&definition); \\
    }
#ifdef Py_PYTHON_H
#define REGISTER_EXTENSION(NAME) ASSAY_DEFINE_MODULE(NAME)
#else
#define REGISTER_EXTENSION(NAME)
#endif
"""

# Flags that choose how code is compiled and nothing else (src/repo/compile_flags.c has the table for C).
_ALLOWED = re.compile(
    r"-O[0-3sz]?|-Ofast|-g\d?|-std=(c|gnu)\+\+\w+|-[DU]\w+(=[\w.,+\"-]*)?|-W(?![alp],)[\w=+-]+|-w|-pthread"
    r"|-f(?!plugin|dump|profile|auto-profile|sanitize-)[\w=-]+|-m[\w.=-]+|--use_fast_math|-use_fast_math"
    r"|--expt-relaxed-constexpr|--expt-extended-lambda|--extended-lambda|-lineinfo|--maxrregcount=\d+"
    r"|-gencode=arch=compute_\w+,code=\[?[\w,]+\]?|--generate-code=arch=compute_\w+,code=\w+|--threads=\d+"
    r"|-ftz=\w+|-prec-div=\w+|-prec-sqrt=\w+|-fmad=\w+|--ptxas-options=-v|-diag-suppress=[\d,]+"
    r"|--diag-suppress=[\d,]+|-static-global-template-stub=\w+")


class CompileError(Exception):
    """The compiler's first error."""


# ---- what is compiled ----


def sections(config):
    """[kernel.NAME] of build.toml, each with its backend."""
    found = config.get("kernel", {})
    return {name: (s.get("backend") or s.get("language") or "cuda", s)
            for name, s in found.items() if isinstance(s, dict)}


def _chosen(config, kind):
    import torch

    backend = "rocm" if kind == "cuda" and getattr(torch.version, "hip", None) else kind
    all = sections(config)
    chosen = {n: s for n, (b, s) in all.items() if b.split("-")[0] == backend}
    if not chosen:
        raise Unsupported("build.toml has no kernel for %s, only for %s" % (
            kind, ", ".join(sorted({b for b, _ in all.values()}))))
    for name, section in chosen.items():
        others = [d for d in section.get("depends", ()) if d != "torch"]
        if others:
            raise Unsupported("kernel.%s of build.toml depends on %s, which assay does not fetch"
                              % (name, ", ".join(map(str, others))))
    return backend, chosen


def _inside(root, path):
    real = os.path.realpath(os.path.join(root, str(path)))
    if real != root and not real.startswith(root + os.sep):
        raise ValueError("build.toml: %s is not inside the repository" % path)
    if not os.path.exists(real):
        raise ValueError("build.toml: there is no %s" % path)
    return real


def _flags(words, key):
    for word in words:
        if not _ALLOWED.fullmatch(str(word)):
            raise ValueError("build.toml: %s: the flag %s is not one assay knows to be harmless" % (key, word))
    return [str(w) for w in words]


class _Part:
    """Files with the same flags."""

    def __init__(self, root, section, key):
        self.files = [f for f in (_inside(root, p) for p in section.get("src", ())) if f.endswith(COMPILED)]
        include = section.get("include", ())
        self.include = [_inside(root, p) for p in ([include] if isinstance(include, str) else include)]
        self.cxx = _flags(section.get("cxx-flags", ()), key + ".cxx-flags")
        self.cuda = _flags(section.get("cuda-flags", ()), key + ".cuda-flags")
        self.capabilities = [str(c) for c in section.get("cuda-capabilities", ())]


class _Job:
    """All that goes into one extension."""

    def __init__(self, root, config, name, kind):
        import torch

        self.root = root = os.path.realpath(root)
        self.backend, chosen = _chosen(config, kind)
        binding = config.get("torch", {})
        self.parts = [_Part(root, binding, "torch")]
        self.parts += [_Part(root, s, "kernel." + n) for n, s in chosen.items()]
        self.compiler = _program("CXX", "c++", "a C++ compiler: install g++, or name one in $CXX")
        self.nvcc = None
        if self.backend == "rocm":
            raise Unsupported("assay does not compile for ROCm")
        if self.backend == "cuda":
            self.nvcc, self.cuda_home = _toolkit()
            self.capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else (9, 0)
        self.options = self._options(binding, torch)
        self.key = self._key(torch)
        self.name = "_%s_%s" % (name, self.key[:12])

    def _options(self, binding, torch):
        from torch.utils import cpp_extension

        options = ["-std=c++%d" % _standard(cpp_extension), "-O3", "-D%s_KERNEL" % self.backend.upper(),
                   "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI]
        stable = binding.get("stable-abi") or binding.get("stable_abi")
        if stable:
            major, minor = ([int(n) for n in re.findall(r"\d+", str(stable))] + [10])[:2]
            options.append("-DTORCH_TARGET_VERSION=0x%02x%02x000000000000" % (major, minor))
        if self.backend == "cuda":
            options.append("-DUSE_CUDA")
        return options

    def _key(self, torch):
        """Of everything that decides what comes out."""
        known = hashlib.sha256()
        words = [torch.__version__, sys.version, self.backend, str(getattr(self, "capability", "")),
                 REGISTRATION, *self.options]
        for program in filter(None, (self.compiler, self.nvcc)):
            info = os.stat(program)
            words += [program, str(info.st_size), str(info.st_mtime_ns)]
        for part in self.parts:
            words += part.cxx + part.cuda + part.capabilities
            words += [os.path.relpath(f, self.root) for f in part.files + part.include]
        known.update("\0".join(words).encode())
        for path in _texts(self.root):
            known.update(os.path.relpath(path, self.root).encode() + b"\0")
            with open(path, "rb") as file:
                known.update(hashlib.sha256(file.read()).digest())
        return known.hexdigest()

    @property
    def folder(self):
        return os.path.join(cache(), self.key[:32])

    @property
    def library(self):
        return os.path.join(self.folder, self.name + ".so")


def _texts(root):
    """What a compiler may read of a repository."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(d for d in folders if not d.startswith(".") and d != "build")
        found += [os.path.join(folder, f) for f in sorted(files) if f.endswith(COMPILED + _HEADERS)]
        if len(found) > _MOST_FILES:
            raise ValueError("the repository has more than %d sources" % _MOST_FILES)
    return [f for f in found if os.path.isfile(f)]


def _standard(cpp_extension):
    """The C++ that this PyTorch's own builder compiles with, 17 at the least."""
    try:
        with open(cpp_extension.__file__, encoding="utf-8") as file:
            found = re.findall(r"-std=c\+\+(\d\d)", file.read())
    except OSError:
        found = ()
    return max([17] + [int(f) for f in found])


def _program(variable, usual, what):
    name = (os.environ.get(variable) or usual).split()[0]
    path = shutil.which(name)
    if not path:
        raise Unsupported("compiling build.toml needs %s" % what)
    return os.path.realpath(path)


def _toolkit():
    from torch.utils import cpp_extension

    home = cpp_extension.CUDA_HOME
    for path in (os.environ.get("NVCC"), home and os.path.join(home, "bin", "nvcc"), shutil.which("nvcc")):
        if path and os.access(path, os.X_OK):
            return os.path.realpath(path), home or os.path.dirname(os.path.dirname(os.path.realpath(path)))
    raise Unsupported("compiling build.toml needs the CUDA toolkit: there is no nvcc; set CUDA_HOME or $NVCC")


def cache():
    """assay's folder for extensions: beside the package, where the program wrote that."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.basename(package).startswith("python-"):
        return os.path.join(os.path.dirname(package), "extensions")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "assay", "extensions")


def compiled(root, config, name, kind):
    """The library and its namespace of ops, which was compiled before."""
    job = _Job(root, config, name, kind)
    if not os.path.exists(job.library):
        raise Unsupported("the extension of build.toml is not compiled: `assay kernel REPO --build` does that")
    return job.library, job.name


# ---- compiling ----


def _command(job, part, path, out):
    from torch.utils import cpp_extension

    on_gpu = job.backend == "cuda"
    try:
        folders = cpp_extension.include_paths("cuda" if on_gpu else "cpu")
    except Exception:
        folders = cpp_extension.include_paths(on_gpu)
    words = [*job.options, "-DTORCH_EXTENSION_NAME=" + job.name, "-I" + os.path.dirname(out), "-I" + job.root,
             "-I" + os.path.join(job.root, "torch-ext")]
    words += ["-I" + p for p in part.include]
    words += [w for f in folders if os.path.isdir(f) for w in ("-isystem", f)]
    words += ["-isystem", sysconfig.get_paths()["include"], "-c", path, "-o", out]
    if path.endswith(".cu"):
        return [job.nvcc, *cpp_extension.COMMON_NVCC_FLAGS, *_architectures(job, part), "--compiler-options",
                "-fPIC", *part.cuda, *words]
    return [job.compiler, "-fPIC", "-fopenmp", *part.cxx, *words]


def _architectures(job, part):
    major, minor = job.capability
    own = "%d.%da" % (major, minor)
    suffix = "a" if own in part.capabilities else ""
    return ["-gencode=arch=compute_%d%d%s,code=sm_%d%d%s" % (major, minor, suffix, major, minor, suffix)]


def _link(job, objects, out):
    from torch.utils import cpp_extension

    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(cpp_extension.__file__))), "lib")
    words = [job.compiler, "-shared", *objects, "-o", out, "-fopenmp", "-L" + lib, "-Wl,--no-as-needed", "-lc10",
             "-ltorch_cpu"]
    if job.backend == "cuda":
        words += ["-lc10_cuda", "-ltorch_cuda", "-L" + os.path.join(job.cuda_home, "lib64"), "-lcudart"]
    return words + ["-ltorch", "-Wl,-rpath," + lib]


def _run(command, root):
    try:
        done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace")
    except OSError as error:
        raise CompileError("%s: %s" % (command[0], error.strerror)) from None
    if done.returncode:
        raise CompileError(first_error(done.stdout, root) or
                           "%s ended with exit code %d" % (os.path.basename(command[0]), done.returncode))


def first_error(text, root):
    """The line that names the first error; without the source's own lines, which may be of any file."""
    for line in text.splitlines():
        if re.search(r"\b(fatal )?error\b|undefined reference|cannot find", line) and not line.startswith(" "):
            return line.replace(root + os.sep, "")[:300]
    return ""


def _remove_leftovers():
    """Of compilations that were killed a day ago or more."""
    for name in os.listdir(cache()):
        path = os.path.join(cache(), name)
        if name.startswith("new-") and time.time() - os.stat(path).st_mtime > 86400:
            shutil.rmtree(path, ignore_errors=True)


def build(root, config, name, kind):
    """Compiles what is not in the cache. True: there was something to compile."""
    job = _Job(root, config, name, kind)
    if os.path.exists(job.library):
        os.utime(job.folder)
        return False
    os.makedirs(cache(), exist_ok=True)
    _remove_leftovers()
    beside = tempfile.mkdtemp(prefix="new-", dir=cache())
    try:
        with open(os.path.join(beside, "registration.h"), "w", encoding="utf-8") as file:
            file.write(REGISTRATION)
        work = [(part, f) for part in job.parts for f in part.files]
        objects = [os.path.join(beside, "%d.o" % i) for i in range(len(work))]
        commands = [_command(job, part, f, out) for (part, f), out in zip(work, objects)]
        with concurrent.futures.ThreadPoolExecutor(max(1, min(8, (os.cpu_count() or 1)))) as pool:
            for done in [pool.submit(_run, c, job.root) for c in commands]:
                done.result()
        _run(_link(job, objects, os.path.join(beside, job.name + ".so")), job.root)
        for path in objects:
            os.unlink(path)
        try:
            os.rename(beside, job.folder)
        except OSError:
            if not os.path.exists(job.library):  # else another assay was faster
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return True


def main(arguments):
    """Compiles for the program; the exit code is 1 for the repository's mistakes, 3 for what is not here."""
    from assay import frameworks, repository

    root, kind = arguments
    print("torch", *frameworks.torch_version())
    try:
        if not frameworks.has_torch():
            raise Unsupported(frameworks.NO_TORCH % sys.executable)
        config = repository.configuration(root)
        name = repository.name_of(root, config)
        if not repository._prebuilt(root, name, kind)[0] and sections(config):
            repository.check_device(kind)
            print("compiled" if build(root, config, name, kind) else "kept")
    except Unsupported as why:
        print(why)
        return 3
    except (CompileError, ValueError, OSError) as error:
        print(error)
        return 1
    return 0
