"""What the browser's tests share: failures, which are told all at once."""
import sys

MOST = 60


class Failures:
    def __init__(self):
        self.list = []

    def add(self, where, what):
        self.list.append("%s: %s" % (where, what))

    def check(self, right, where, what):
        if not right:
            self.add(where, what)
        return right

    def same(self, got, wanted, where):
        return self.check(got == wanted, where, "is %r, not %r" % (got, wanted))

    def end(self):
        for line in self.list[:MOST]:
            print("FAIL " + line)
        if len(self.list) > MOST:
            print("FAIL … and %d more" % (len(self.list) - MOST))
        sys.exit(1 if self.list else 0)
