"""Ops and models of assay in PyTorch and Triton. Importing it imports neither."""


class Unsupported(Exception):
    """Raised by `setup` with the reason why this problem cannot be measured here."""


class Call:
    """What is timed, and what belongs to it.

    fn(*arguments) is the timed call. prepare(*inputs) gives its arguments, once for each set of
    operands: views of them, and constant inputs in a layout of the framework's own. Without it the
    arguments are the inputs. finish(result) gives the result's view in the op's shape, untimed.
    """

    def __init__(self, fn, takes_out=False, wrap=None, prepare=None, finish=None, teardown=None):
        self.fn = fn
        self.takes_out = takes_out
        self.wrap = wrap
        self.prepare = prepare
        self.finish = finish
        self.teardown = teardown
