"""The page of --profile-memory, in light and dark and at three widths: what audit.js and measure.js find, and
whether it asks for anything.

Leaves pictures of it in $ASSAY_BROWSER_OUT/memory, for looking at.
"""
import os
import subprocess

import chromium
import report

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 5  # findings of a kind
BLOCK = ("preset", "transformer", "--set", "batch=1", "--set", "seq_len=16", "--set", "embed_dim=64", "--set",
         "num_heads=4", "--device", "cpu", "--threads", "1", "--iters", "2", "--warmup", "1", "--no-ceiling", "-q")
PAGES = {
    "training": BLOCK + ("--pass", "step,backward", "--compile"),
    "inference": BLOCK,
    "op": ("bench", "relu", "--shape", "2x3x5", "--impl", "native,ref", "--cache", "hot", "--iters", "2",
           "--warmup", "1", "--threads", "1", "--no-ceiling", "-q"),
}


def make(folder, kind):
    path = os.path.join(folder, kind + ".html")
    command = [os.environ["ASSAY"], *PAGES[kind], "--profile-memory=" + path]
    environment = dict(os.environ, XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder)
    made = subprocess.run(command, timeout=100, env=environment, capture_output=True, text=True)
    if made.returncode not in (0, 1):
        raise SystemExit("%s: exit status %d\n%s" % (" ".join(command), made.returncode, made.stderr))
    return path


def script(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def audit(page, kind, folder, failures):
    for width in (360, 800, 1400):
        page.size(width, 900)
        for scheme in ("light", "dark"):
            page.media(scheme)
            for what, where in page.call("audit", MOST):
                failures.add(kind, "%d pixels, %s: %s: %s" % (width, scheme, what, where))
    page.media()
    page.screenshot(os.path.join(folder, kind + ".png"))


def measure(page, kind, failures):
    for what, scheme in (("boxes", "light"), ("colours", "light"), ("colours", "dark")):
        page.media(scheme)
        answer = page.call("measure", what, MOST, patience_s=40)
        failures.check(answer["texts"] > 5, kind, "has only %d texts" % answer["texts"])
        for name, found, *more in answer["found"]:
            failures.add(kind, "%s, %s: %s" % (name, scheme, [found, *map(str, more)]))


def main():
    folder = os.path.join(os.environ["ASSAY_BROWSER_OUT"], "memory")
    os.makedirs(folder, exist_ok=True)
    failures = report.Failures()
    with chromium.start_or_skip() as browser:
        page = browser.page(width=1400)
        for kind in PAGES:
            page.open_file(make(folder, kind))
            page.evaluate(script("audit.js"))
            audit(page, kind, folder, failures)
            page.evaluate(script("measure.js"))
            measure(page, kind, failures)
            tips = page.evaluate("document.querySelectorAll('svg g > title').length")
            failures.check(tips > 5, kind, "has only %d tips" % tips)
            loaded = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
            failures.same(loaded, [], kind + ": what it loads")
        failures.check(not page.console and not page.exceptions, "pages",
                       "are not silent: %s" % (page.console + page.exceptions)[:5])
    failures.end()


if __name__ == "__main__":
    main()
