"""A page that is watched while a run goes on: rows appear in it without another load."""
import os
import signal
import subprocess
import tempfile
import time

import chromium
import report

ROWS = "document.querySelectorAll('tr[id^=r]').length"


class Program:
    """One of assay's commands in a folder of data of its own; ended with the test."""

    def __init__(self, data, *words):
        environment = dict(os.environ, XDG_DATA_HOME=data)
        self.process = subprocess.Popen([os.environ["ASSAY"], *words], env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def watch(page, address, data, failures):
    page.open(address)
    page.evaluate("window.since = 'the beginning'")
    failures.same(page.evaluate(ROWS), 0, "rows before the run")
    with Program(data, "bench", "relu", "gelu", "silu", "softmax", "--shape", "4x64x64", "--cache", "hot",
                 "--budget", "300ms", "-f", "jsonl") as bench:
        early = page.wait(ROWS, patience_s=20)
        running = bench.poll() is None
        printed, _ = bench.communicate(timeout=40)
        rows = len(printed.splitlines()) - 1
    failures.check(running and early < rows, "rows", "first came when the run was over")
    page.wait("%s >= %d" % (ROWS, rows), patience_s=10)
    failures.same(page.evaluate(ROWS), rows, "rows after the run")
    failures.same(page.evaluate("window.since"), "the beginning", "the page's own state")
    failures.check(all(url.startswith(address) for url in page.requests), "requests", repr(page.requests))
    failures.same(page.console + page.exceptions, [], "the console")
    return early, rows


def main():
    failures = report.Failures()
    with chromium.start_or_skip() as browser, tempfile.TemporaryDirectory() as data:
        begin = time.monotonic()
        with Program(data, "report", "--serve") as server:
            address = server.stdout.readline().strip()
            page = browser.page()
            early, rows = watch(page, address, data, failures)
            server.send_signal(signal.SIGINT)
            failures.same(server.wait(timeout=5), 0, "the server's exit status")
        print("%d rows while the run went on, %d in all, %.1f s" % (early, rows, time.monotonic() - begin))
    failures.end()


if __name__ == "__main__":
    main()
