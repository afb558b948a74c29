"""What a kernel is once it is set up."""


class Unsupported(NotImplementedError):
    """Raised by `setup` with the reason why this problem cannot be measured here."""

    says_all = True  # its words are for a person: no name before them, no place behind


class Call:
    """What is timed, and what belongs to it.

    fn(*arguments) is the timed call. Its arguments are the inputs as tensors of `framework`
    (PyTorch's, where there is none), with the outputs behind them where `takes_out`.
    prepare(*tensors) gives other arguments, once for each set of operands: views of them, and
    constant inputs in a layout of the kernel's own. finish(result) gives the result in the op's
    shape, untimed. Where results are not returned, collect(*arguments) gives them after a call.
    again(arguments, n), of calls that change their inputs, gives arguments for n calls, each with
    the inputs as they were.
    """

    collect = again = None

    def __init__(self, fn, takes_out=False, framework=None, prepare=None, finish=None,
                 teardown=None):
        self.fn = fn
        self.takes_out = takes_out
        self.framework = framework
        self.prepare = prepare
        self.finish = finish
        self.teardown = teardown

    @property
    def wrap(self):
        return self.framework.wrap

    @property
    def look(self):
        return self.framework.look
