"""assay: is a kernel right, how fast is it, and how does it compare?"""


def __getattr__(name):
    if name == "kernel":
        from assay.plugin import kernel

        return kernel
    raise AttributeError("module 'assay' has no attribute %r" % name)
