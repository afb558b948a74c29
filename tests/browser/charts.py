"""Every chart of many books, measured in Chromium: no text lies on another, leaves the drawing, or is
hard to read; all is well-formed, named, and made of numbers.

usage: charts.py [WORD]   only what has it in its name, "heat.sweep"; $ASSAY_MAKE_CHARTS makes them
"""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

import chromium
import report

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 3  # findings of a kind that are told of each chart
NUMBERS = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "width", "height", "d", "points",
           "transform", "viewBox", "font-size", "stroke-width", "stroke-dasharray"}
NOT_FINITE = re.compile(r"nan|inf", re.IGNORECASE)
PAINT = re.compile(r'\b(fill|stroke)="(?!none|url)[^"]*"')


def make(folder):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith((".svg", ".html", ".png")):
            os.remove(os.path.join(folder, name))
    subprocess.run([os.environ["ASSAY_MAKE_CHARTS"], folder], check=True, timeout=60)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
        return file.read()


def check_file(name, text, failures):
    """An SVG file, as text."""
    try:
        root = xml.fromstring(text)
    except xml.ParseError as error:
        failures.add(name, "is not well-formed: %s" % error)
        return
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in NUMBERS and NOT_FINITE.search(value):
                failures.add(name, "%s has %s=%r" % (element.tag.split("}")[1], key, value))
            if key.startswith("on") or "script" in element.tag:
                failures.add(name, "has a script: %s %s" % (element.tag, key))


def geometry(text):
    """What is the same in light and dark."""
    return PAINT.sub("", text)


def check_files(folder, wanted, failures):
    names = sorted(n for n in os.listdir(folder) if n.endswith(".light.svg") and wanted in n)
    for name in names:
        light, dark = read(folder, name), read(folder, name.replace(".light.", ".dark."))
        check_file(name, light, failures)
        if geometry(light) != geometry(dark):
            failures.add(name, "differs from the dark one by more than colours")
    return len(names)


def load_measure(page):
    with open(os.path.join(HERE, "measure.js"), encoding="utf-8") as script:
        page.evaluate(script.read())


def check_measure(page, failures):
    """Does it find what is wrong, and nothing else?"""
    page.open_file(os.path.join(HERE, "wrong.html"))
    load_measure(page)
    found = [f for what in ("boxes", "colours") for f in page.call("measure", what, MOST)["found"]]
    wrong = page.evaluate("[...document.querySelectorAll('figure')].map(f => [f.dataset.name, f.dataset.wrong])")
    for name, kinds in wrong:
        failures.same(sorted({f[1] for f in found if f[0] == name}), sorted(filter(None, kinds.split(","))),
                      "measure.js in wrong.html, " + name)


def check_drawn(page, failures):
    """Has each chart of the registry been drawn at all?"""
    names = page.evaluate("[...document.querySelectorAll('meta[name=chart]')].map(m => m.content)")
    drawn = page.evaluate("[...document.querySelectorAll('figure')].map(f => f.dataset.name.split('.')[0])")
    for name in set(names) - set(drawn):
        failures.add(name, "fits none of the books")
    return len(names)


def measure(page, folder, wanted, failures):
    page.open_file(os.path.join(folder, "charts.html"))
    charts = check_drawn(page, failures)
    page.call("""word => [...document.querySelectorAll('figure')].filter(f => !f.dataset.name.includes(word))
        .forEach(f => f.remove())""", wanted)
    load_measure(page)
    found, texts = [], 0
    for what, scheme in (("boxes", "light"), ("colours", "light"), ("colours", "dark")):
        page.media(scheme)
        answer = page.call("measure", what, MOST, patience_s=40)
        found += [finding + ([scheme] if what == "colours" else []) for finding in answer["found"]]
        texts = answer["texts"]
    for name, what, *more in found:
        failures.add(name, what + ": " + "  ".join(map(str, more)))
    return charts, texts


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    folder = os.path.join(os.environ["ASSAY_BROWSER_OUT"], "charts")
    failures = report.Failures()
    with chromium.start_or_skip() as browser:
        begin = time.monotonic()
        make(folder)
        files = check_files(folder, wanted, failures)
        page = browser.page(width=900)
        check_measure(page, failures)
        charts, texts = measure(page, folder, wanted, failures)
        if page.console or page.exceptions:
            failures.add("charts.html", "is not silent: %s" % (page.console + page.exceptions)[:5])
        print("%d charts, %d drawings, %d texts, %.1f s" %
              (charts, files, texts, time.monotonic() - begin))
    failures.end()


if __name__ == "__main__":
    main()
