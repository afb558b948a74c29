"""What this interpreter has for assay: lines of a name, a tab and what is known, for `assay info` and
`assay list implementations`. Frameworks are imported only where that is asked for: it takes seconds.
"""

import sys


def main(imports):
    print("python\t%s, Python %d.%d.%d" % ((sys.executable,) + sys.version_info[:3]))
    for name, about in (("torch", torch), ("torch-compile", torch_compile), ("triton", triton)):
        try:
            print("%s\t%s" % (name, about(imports)))
        except BaseException as error:
            print("%s\tcannot be imported: %s: %s" % (name, type(error).__name__,
                                                       " ".join(str(error).split())))


def torch(imports):
    from assay.contenders import torch_common as common

    reason = common.missing("torch")
    if reason:
        return "not found: " + reason
    about = common.version_file()
    words = ["PyTorch " + about.get("__version__", "of an unknown version"), built_for(about)]
    if imports:
        words.append(works())
    return ", ".join(words)


def built_for(about):
    for key, name in (("cuda", "CUDA"), ("hip", "HIP")):
        if about.get(key):
            return "built for %s %s" % (name, about[key])
    return "built without CUDA"


def works():
    import torch

    if not torch.cuda.is_available():
        return "finds no GPU"
    return "finds " + torch.cuda.get_device_name(0)


def torch_compile(imports):
    from assay.contenders import torch_common as common

    reason = common.missing("torch") or common.too_old((2, 1), "torch.compile")
    if reason:
        return "not found: " + reason if common.missing("torch") else reason
    return "with it" + ("" if not common.absent("triton", "") else ", on a CPU; on a GPU it takes Triton")


def triton(imports):
    from assay.contenders import triton_ops

    reason = triton_ops.missing("triton")
    if reason:
        return "not found: " + reason
    if imports:
        import triton

        return "Triton " + triton.__version__
    from importlib import metadata

    try:
        return "Triton " + metadata.version("triton")
    except metadata.PackageNotFoundError:
        return "Triton of an unknown version"
