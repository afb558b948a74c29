"""What test_isolation.py has measured in other processes."""

import ctypes
import os
import time


def fine(x):
    return sum(x)


def also_fine(x):
    return float(sum(list(x)))


def wrong(x):
    return 0.0


def raises(x):
    raise LookupError("no such thing")


def crashes(x):
    ctypes.string_at(0)


def aborts(x):
    os.abort()


def ends(x):
    os._exit(7)


def hangs(x):
    time.sleep(60)


def prints(x):
    print("to stdout")
    return sum(x)


class Holder:
    @staticmethod
    def inside(x):
        return sum(x)
