"""A line on stderr that says how far a measurement is: on a terminal and in a notebook."""

import sys
from time import monotonic

WIDTH = 60


class Progress:
    def __init__(self, names, seconds, quiet):
        self.shown = not quiet and _is_watched()
        self.label = names[0] if len(names) == 1 else f"{len(names)} functions"
        self.seconds = seconds
        self.start = monotonic()

    def tick(self):
        """Called between samples."""
        spent = monotonic() - self.start
        self.put(f"measuring {self.label}: {spent:.1f} s of at most {self.seconds:g}")

    def put(self, text):
        if self.shown:
            sys.stderr.write("\r" + text[:WIDTH].ljust(WIDTH))
            sys.stderr.flush()

    def close(self):
        if self.shown:
            sys.stderr.write("\r" + " " * WIDTH + "\r")
            sys.stderr.flush()


def _is_watched():
    stream = sys.stderr
    return stream is not None and (stream.isatty() or "ipykernel" in sys.modules)
