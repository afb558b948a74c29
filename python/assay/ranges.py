"""Ranges: names for parts of what is measured, drawn in the trace of a profile."""

import threading

from assay import _assay

_here = threading.local()


def sessions():
    """The handles of the sessions that record on this thread; a list that measuring fills."""
    if not hasattr(_here, "sessions"):
        _here.sessions = []
    return _here.sessions


class range:
    """Names what is done in a `with` block, in the trace of `bench(..., profile=FILE)`:

        def block(x):
            with assay.range("attention"):
                x = attention(x)
            with assay.range("mlp"):
                return mlp(x)

    Ranges may lie within each other, up to 16 deep. While a function is timed, and where nothing is
    recorded, a range costs a microsecond at the most and leaves no trace.
    """

    __slots__ = ("name", "_session")

    def __init__(self, name):
        self.name = name
        self._session = None

    def __enter__(self):
        recording = getattr(_here, "sessions", None)
        self._session = recording[-1] if recording else None
        if self._session is not None:
            _assay.push(self._session, self.name)
        return self

    def __exit__(self, *_):
        if self._session is not None:
            _assay.pop(self._session)
        return False
