"""Kernels of relu for NumPy that go wrong in every way; python_bad.sh says what becomes of each."""

import os, sys, time
import numpy
import assay

relu = dict(op="relu", framework="numpy")

@assay.kernel(**relu)
def never_ends(x):
    while True:
        pass

@assay.kernel(**relu)
def right(x):
    return numpy.maximum(x, 0)

@assay.kernel(**relu)
def empty(x):
    return x[:0]

@assay.kernel(**relu)
def wrong_type(x):
    return numpy.maximum(x, 0).astype("float64")

@assay.kernel(**relu)
def every_second(x):
    return numpy.repeat(numpy.maximum(x, 0), 2, axis=-1)[..., ::2]

@assay.kernel(**relu)
def interrupts(x):
    raise KeyboardInterrupt

@assay.kernel(**relu)
def deep(x):
    return deep(x)

@assay.kernel(**relu)
def long_words(x):
    raise ValueError("first line\n" + "x" * 5000)

@assay.kernel(**relu)
def closes(x):
    os.close(3)
    return numpy.maximum(x, 0)

@assay.kernel(**relu)
def of_objects(x):
    return numpy.array([object()] * x.size).reshape(x.shape)

def bad_can_run(problem):
    raise RuntimeError("cannot say")

@assay.kernel(can_run=bad_can_run, **relu)
def asked(x):
    return numpy.maximum(x, 0)

def hangs(problem):
    while True:
        pass

@assay.kernel(setup=hangs, **relu)
def set_up_for_ever(x):
    return numpy.maximum(x, 0)

def leaves(problem):
    sys.exit("I leave")

@assay.kernel(setup=leaves, **relu)
def leaves_in_setup(x):
    return numpy.maximum(x, 0)

def ends(problem):
    os._exit(0)

@assay.kernel(setup=ends, **relu)
def ends_in_setup(x):
    return numpy.maximum(x, 0)

@assay.kernel(can_run=ends, **relu)
def ends_when_asked(x):
    return numpy.maximum(x, 0)
