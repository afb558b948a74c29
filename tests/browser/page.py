"""The page of a run, as people use it: shown figures against the records, sorting, filtering, rows that
open, the keyboard, without scripts, on paper, for those who see or hear it differently, and with names
that try to run.

Leaves pictures of it in $ASSAY_BROWSER_OUT/page, for looking at.
"""
import base64
import os
import re
import subprocess
import time
import xml.etree.ElementTree as xml

import cells
import chromium
import report

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTHS = (360, 800, 1400)
MOST = 5  # findings of a kind

READ_TABLES = """() => [...document.querySelectorAll("#groups table")].flatMap(table => {
    const heads = [...table.tHead.rows[0].cells].map(c => c.textContent.trim());
    return [...table.tBodies[0].rows].filter(r => /^r\\d+$/.test(r.id)).map(r =>
        ({ row: +r.id.slice(1), heads, texts: [...r.cells].map(c => c.textContent.trim()),
           spans: [...r.cells].map(c => c.colSpan) }));
})"""
SEEN_ROWS = """[...document.querySelectorAll("#groups tbody tr[id]")]
    .filter(r => /^r\\d+$/.test(r.id) && r.checkVisibility()).map(r => +r.id.slice(1))"""

COLUMN = """name => [...document.querySelectorAll("#groups table")].map(table => {
    const at = [...table.tHead.rows[0].cells].findIndex(c => c.textContent.trim() === name);
    return at < 0 ? [] : [...table.tBodies[0].rows].filter(r => /^r\\d+$/.test(r.id)).map(r =>
        [+r.id.slice(1), r.cells[at] && r.cells[at].colSpan === 1 ? r.cells[at].textContent.trim() : ""]);
})"""
# Of the marks of a chart the one in the middle, which others may partly hide.
MARK = """(marks => marks[marks.length >> 1].querySelector("rect, circle, path, line, polygon"))(
    document.querySelectorAll(".chart[data-chart=%s] [data-row]"))"""
ROW_AT = "(x, y) => +(document.elementFromPoint(x, y).closest('[data-row]') || {dataset: {}}).dataset.row"
SEEN = "what => [...document.querySelectorAll(what)].filter(e => e.checkVisibility()).length"
PAPER = "getComputedStyle(document.documentElement).backgroundColor"
FOCUS = """(() => { const e = document.activeElement, at = wanted.indexOf(e);
    return [at, at >= 0 && look(e) !== calm[at], placeOf(e)]; })()"""
NAMED = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "img", "image", "table",
         "region", "slider", "spinbutton", "columnheader", "rowheader", "search", "form"}
WRONG = ["no language", "no title", "not one main part", "an id twice", "a heading leaves a level out",
         "aria-describedby names an id that is not there", "a table without a name", "a th without scope",
         "scrolls, but not with the keyboard", "the page is wider than the window", "an order of its own",
         "hidden, but focusable", "contrast", "text is cut off"]
PICTURED = ("usual",)  # at all widths; the others at one
KINDS = ("usual", "bad", "one", "empty", "failed", "models", "recipes", "hostile")


class Case:
    """Made-up runs, their records and the page of them."""

    def __init__(self, folder, kind, runs=None):
        self.kind = kind
        self.path = os.path.join(folder, kind + ".html")
        sources = [self._make(folder, run) for run in runs or (kind,)]
        made = subprocess.run([os.environ["ASSAY"], "report", *sources, "-q", "-o", self.path], timeout=60)
        if made.returncode not in (0, 1):
            raise SystemExit("assay report %s: exit status %d" % (" ".join(sources), made.returncode))
        self.records = [dict(record, run=number) for number, source in enumerate(sources, 1)
                        for record in cells.read_records(source)]

    @staticmethod
    def _make(folder, kind):
        path = os.path.join(folder, kind + ".jsonl")
        with open(path, "wb") as file:
            subprocess.run([os.environ["ASSAY_MAKE_RUN"], kind], stdout=file, check=True, timeout=60)
        return path


class Test:
    def __init__(self, page, folder, failures):
        self.page, self.folder, self.failures = page, folder, failures
        self.case = self.part = None

    def check(self, right, what):
        return self.failures.check(right, "%s, %s" % (self.case.kind, self.part), what)

    def same(self, got, wanted, what):
        return self.check(got == wanted, "%s: %r, not %r" % (what, got, wanted))

    def open(self, case):
        self.case = case
        self.page.open_file(case.path)
        self.page.evaluate("window.strange_ran = () => { window.ran = true; }")

    def silent(self):
        """No message, no exception, no request but for the page itself, and nothing that ran."""
        page = self.page
        self.same(page.console, [], "the console")
        self.same(page.exceptions, [], "exceptions")
        own = "file://" + self.case.path
        self.same([u for u in page.requests if u.split("#")[0] != own and not u.startswith("data:")], [],
                  "requests")
        self.check(not page.evaluate("!!window.ran"), "a name from outside has run")

    def picture(self, name):
        self.page.screenshot(os.path.join(self.folder, "%s.%s.png" % (self.case.kind, name)))

    # ---- figures --------------------------------------------------------------------------------

    def shown(self):
        self.part = "figures"
        rows = self.page.call(READ_TABLES)
        self.same(sorted(r["row"] for r in rows), list(range(1, len(self.case.records) + 1)), "rows")
        checked = 0
        for row in rows:
            record = self.case.records[row["row"] - 1]
            if cells.is_timed(record):
                self.same(len(row["texts"]), len(row["heads"]), "cells of row %d" % row["row"])
                checked += self._figures(row, record)
            else:
                reason = " ".join(row["texts"])
                self.check(record["status"].replace("_", " ") in reason or "not timed" in reason,
                           "row %d says %r, it is %s" % (row["row"], reason, record["status"]))
        return checked

    def _figures(self, row, record):
        checked = 0
        for heading, text in list(zip(row["heads"], row["texts"]))[1:]:
            right = cells.check_cell(heading, text, record)
            if self.check(right is not None, "column %r is not known to the test" % heading):
                self.check(right, "row %d shows %r as %r" % (row["row"], text, heading))
                checked += 1
        return checked

    # ---- hands ----------------------------------------------------------------------------------

    def seen(self):
        """The numbers of the rows that can be seen."""
        return self.page.evaluate(SEEN_ROWS)

    def sort(self):
        """By each column, with the list and with a click: numbers grow within each table."""
        self.part = "sorting"
        page, before = self.page, self.seen()
        for name in page.evaluate("[...document.querySelector('#sort').options].map(o => o.value).filter(v => v)"):
            page.set("#sort", "value", name)
            self._check_order(name, False)
            page.click("#direction")
            self._check_order(name, True)
            page.click("#direction")
        page.set("#sort", "value", "")
        self.same(self.seen(), before, "the order of the run")
        head = "document.querySelectorAll('#groups thead th button')[1]"
        for direction in ("ascending", "descending"):
            page.click(head)
            said = page.evaluate(head + ".closest('th').ariaSort")
            self.same(said, direction, "aria-sort after a click on a head")
        self._check_order(page.evaluate(head + ".textContent"), True)
        page.set("#sort", "value", "")

    def _check_order(self, name, descending):
        for table in self.page.call(COLUMN, name):
            records = [self.case.records[row - 1] for row, _ in table]
            figures = [sort_key(text, record, name) for (_, text), record in zip(table, records)]
            known = [f for f in figures if f is not None]
            if all(isinstance(f, float) for f in known):
                self.same(known, sorted(known, reverse=descending), "%s %s" % (name, "down" if descending else "up"))
            self.check(None not in figures[:len(known)], "%s: what has no figure is not last" % name)

    def filter(self):
        """By words, kinds of rows, and cache states; the page says how many rows that leaves."""
        self.part = "filtering"
        page, records = self.page, self.case.records
        every = self.seen()
        page.click("#filter")
        page.type("native f16 ")
        wanted = [i + 1 for i, r in enumerate(records) if r["implementation"] == "native" and r["dtype"] == "f16"]
        self.same(self.seen(), wanted, "rows of native in f16")
        self.check(str(len(wanted)) in page.evaluate("document.querySelector('#count').textContent"), "the count")
        page.type("nothing has this")
        self.same(self.seen(), [], "rows of what nothing has")
        page.press("Escape")
        self.same(self.seen(), every, "all rows again after Escape")
        for value, kind in (("f", "faster"), ("s", "slower"), ("e", "same"), ("u", "unclear")):
            self._leave_out(value, [i + 1 for i, r in enumerate(records) if kinds(r) != {kind}])
        self._leave_out("y", [i + 1 for i, r in enumerate(records) if r["status"] == "ok"])
        for state in ("hot", "cold"):
            page.click("input[name=state][value=%s]" % state)
            heads = page.evaluate("[...document.querySelector('#groups table').tHead.rows[0].cells]"
                                  ".filter(c => c.checkVisibility()).map(c => c.textContent)")
            self.check(heads and not any(h.startswith(state) for h in heads),
                       "columns of %s are left: %s" % (state, heads))
            page.click("input[name=state][value=%s]" % state)

    def _leave_out(self, value, wanted):
        self.page.click("input[name=kind][value=%s]" % value)
        self.same(self.seen(), wanted, "rows without those of kind " + value)
        self.page.click("input[name=kind][value=%s]" % value)

    def details(self):
        """A click on a row shows what the record holds; so does a click on a mark of a chart."""
        self.part = "details"
        page = self.page
        for row in (1, len(self.case.records) // 2, len(self.case.records)):
            record = self.case.records[row - 1]
            page.click("#r%d th button" % row)
            text = page.evaluate("(document.querySelector('#d%d') || {}).innerText" % row)
            if self.check(text, "row %d does not open" % row):
                reason = () if record["status"] == "ok" else ("reason",)
                for key in ("kernel", "note", "printed", "recipe", "isolation", *reason):
                    self.check(plain(record[key]) in plain(text), "row %d does not tell its %s" % (row, key))
            said = page.evaluate("document.querySelector('#r%d th button').ariaExpanded" % row)
            self.same(said, "true", "aria-expanded")
            self._check_samples(row, record)
            page.click("#r%d th button" % row)
            self.check(not page.evaluate("!!document.querySelector('#d%d')" % row), "row %d does not close" % row)

    def _check_samples(self, row, record):
        drawn = self.page.evaluate("document.querySelectorAll('#d%d circle').length" % row)
        states = [record[s] for s in ("hot", "cold") if record.get(s)]
        samples = sum(len(m["samples"]["ns"]) for m in states if m.get("samples"))
        self.check(drawn == samples, "row %d draws %d of %d samples" % (row, drawn, samples))

    def marks(self):
        """Each chart with marks of rows opens the row of the mark that is clicked."""
        self.part = "marks"
        page = self.page
        for name in page.evaluate("[...document.querySelectorAll('.chart:has([data-row])')].map(f => f.dataset.chart)"):
            place = page.point(MARK % name)
            row = page.call(ROW_AT, *place)
            self.check(row, "no mark of %s is where it is drawn" % name)
            page.click(place)
            opened = page.evaluate("[...document.querySelectorAll('tr.detail')].map(d => +d.id.slice(1))")
            if self.same(opened, [row], "rows opened by a mark of %s" % name):
                self.same(page.evaluate("document.activeElement.closest('tr').id"), "r%d" % row, "the focus")
                page.press("Escape")
            page.evaluate("document.querySelectorAll('tr.opened .open').forEach(b => b.click())")

    def keyboard(self):
        """Tab goes through all controls in the order of the document, and each can be seen to have the
        focus; / filters, Enter and Space open, Escape closes."""
        self.part = "keyboard"
        page = self.page
        page.open_file(self.case.path)  # where Tab begins is forgotten
        page.evaluate(script("audit.js"))
        wanted = page.evaluate("window.wanted = focusable(); window.calm = wanted.map(look); wanted.length")
        order = []
        for _ in range(min(wanted, 60)):
            page.press("Tab")
            at, visible, place = page.evaluate(FOCUS)
            order.append(at)
            self.check(visible, "nothing shows that %s has the focus" % place)
        self.same(order, list(range(len(order))), "what Tab goes to, by the order of the document")
        page.evaluate("document.activeElement.blur()")
        page.press("/")
        self.same(page.evaluate("document.activeElement.id"), "filter", "what / goes to")
        self.same(page.evaluate("document.activeElement.value"), "", "what / wrote")
        for key in ("Enter", " "):
            page.evaluate("document.querySelector('#r2 th button').focus()")
            page.press(key)
            self.check(page.evaluate("!!document.querySelector('#d2')"), "%r does not open a row" % key)
            page.press("Escape")
            self.check(page.evaluate("!document.querySelector('#d2')"), "Escape does not close a row")
            self.check(page.evaluate("document.activeElement === document.querySelector('#r2 th button')"),
                       "the focus is lost after Escape")

    def save(self):
        """A chart is saved as a file that needs nothing of the page."""
        self.part = "saving"
        page, name = self.page, self.page.evaluate("document.querySelector('.chart').dataset.chart")
        path = os.path.join(self.folder, name + ".svg")
        if os.path.exists(path):
            os.remove(path)
        page.browser.command("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": self.folder})
        page.click(".chart .save")
        until = time.monotonic() + 5
        while not os.path.exists(path) and time.monotonic() < until:
            time.sleep(0.02)
        if self.check(os.path.exists(path), "nothing is saved"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.check("var(" not in text and "tabindex" not in text, "the file needs the page")
            self.check(xml.fromstring(text).tag.endswith("svg"), "the file is no SVG")

    def theme(self):
        """The button turns light to dark and back."""
        self.part = "theme"
        seen = [self.page.evaluate(PAPER)]
        for _ in range(2):
            self.page.click("#theme")
            seen.append(self.page.evaluate(PAPER))
        self.check(seen[0] == seen[2] != seen[1], "the papers are %s" % seen)

    # ---- surroundings ---------------------------------------------------------------------------

    def audit(self):
        """For all widths, light and dark: audit.js, names of controls, and a picture."""
        page = self.page
        for width in WIDTHS if self.case.kind in PICTURED else WIDTHS[1:2]:
            page.size(width, 900)
            for scheme in ("light", "dark"):
                self.part = "%d pixels, %s" % (width, scheme)
                page.media(scheme)
                for what, where in page.call("audit", MOST):
                    self.check(False, "%s: %s" % (what, where))
                if scheme == "light" or self.case.kind in PICTURED:
                    self.picture("%d.%s" % (width, scheme))
        self.part = "names"
        page.size(1400, 900)
        page.media()
        for node in page.command("Accessibility.getFullAXTree")["nodes"]:
            role, name = (node.get(k, {}).get("value", "") for k in ("role", "name"))
            if not node.get("ignored") and role in NAMED:
                self.check(name.strip(), "a %s has no name" % role)

    def charts(self):
        """The page's own style does not put texts of charts on each other."""
        self.part = "charts"
        self.page.evaluate(script("measure.js"))
        self.page.call("""rows => document.querySelectorAll('.chart').forEach(figure =>
            Object.assign(figure.dataset, { name: figure.dataset.chart, rows }))""", len(self.case.records))
        for what in ("boxes", "colours"):
            for finding in self.page.call("measure", what, MOST)["found"]:
                self.check(False, " ".join(map(str, finding)))

    def without_scripts(self):
        """All rows and charts, the details behind a summary, and no control that does nothing."""
        self.part = "without scripts"
        page = self.page
        page.scripts(False)
        page.open_file(self.case.path)
        self.same(len(self.seen()), len(self.case.records), "rows that can be seen")
        self.check(page.evaluate("document.querySelectorAll('.chart svg').length > 0"), "there are no charts")
        self.same(page.call(SEEN, "button, input, select"), 0, "controls that do nothing")
        told = page.evaluate("document.querySelector('#groups').textContent")
        self.check(all(plain(r["kernel"]) in plain(told) for r in self.case.records),
                   "not all kernels are told in the details")
        page.click("details.more summary")
        self.check(page.evaluate("document.querySelector('details.more').open"), "details do not open")
        if self.case.kind in PICTURED:
            self.picture("1400.without_scripts")
        page.scripts(True)

    def print(self):
        """Every row, dark on white, and nothing to click."""
        self.part = "print"
        page = self.page
        page.media("dark", "print")
        page.size(760, 1000)
        self.same(len(self.seen()), len(self.case.records), "rows")
        self.same(page.call(SEEN, "button:not(.by, .open), input, select"), 0, "controls")
        self.same(page.evaluate(PAPER), "rgb(255, 255, 255)", "the paper")
        for what, where in page.call("audit", MOST):
            self.check("contrast" not in what, "%s: %s" % (what, where))
        if self.case.kind in PICTURED:
            self._print_file()
        page.media()
        page.size(1400, 900)

    def _print_file(self):
        pages = self.page.command("Page.printToPDF", landscape=True)["data"]
        with open(os.path.join(self.folder, self.case.kind + ".pdf"), "wb") as file:
            file.write(base64.b64decode(pages))


def script(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def plain(text):
    """Without blanks and what pages spell out, which differ."""
    return re.sub(r"\\(x[0-9a-f]{2}|[nt])|[^\x21-\x5b\x5d-\x7e]|\\", "", text)


def kinds(record):
    """What a row counts as, of the figures that it has."""
    if record["status"] != "ok":
        return {"failed"}
    if record["is_baseline"]:
        return {"baseline"}
    return {cells.verdict(record[s]["ratio"]) for s in ("hot", "cold") if record.get(s) and record[s]["ratio"]}


def sort_key(text, record, name):
    """As a person compares it: a time by its length, a speedup by its ratio; None: no figure."""
    if not text:
        return None
    if name.endswith("speedup"):
        figure = cells.read(text)
        if not figure or text.startswith(("same", "unclear", "baseline")):
            return 1.0
        return 1 / figure[0] if "slower" in text else figure[0]
    figure = cells.read(text) if name not in ("variant", "recipe", "check") else None
    return float(figure[0]) if figure else text


def check_audit(page, failures):
    """Does it find what is wrong in a page that is?"""
    page.open_file(os.path.join(HERE, "wrong_page.html"))
    page.evaluate(script("audit.js"))
    found = {what.split(":")[0] for what, _ in page.call("audit", 100)}
    found = {re.sub(r"contrast [\d.]+", "contrast", what) for what in found}
    failures.same(sorted(found), sorted(WRONG), "audit.js in wrong_page.html")


def main():
    folder = os.path.join(os.environ["ASSAY_BROWSER_OUT"], "page")
    os.makedirs(folder, exist_ok=True)
    failures = report.Failures()
    begin = time.monotonic()
    with chromium.start_or_skip() as browser:
        page = browser.page(width=1400)
        check_audit(page, failures)
        test = Test(page, folder, failures)
        cases = [Case(folder, kind) for kind in KINDS] + [Case(folder, "two_runs", ("usual", "bad"))]
        figures = sum(look_at(test, case) for case in cases)
        print("%d pages, %d figures, %.1f s" % (len(cases), figures, time.monotonic() - begin))
    failures.end()


def look_at(test, case):
    test.open(case)
    figures = test.shown()
    if case.kind in ("usual", "bad", "recipes", "two_runs"):
        test.sort()
    if case.kind in ("usual", "bad"):
        test.filter()
    if case.kind in ("usual", "bad", "hostile"):
        test.details()
        test.marks()
    if case.kind == "usual":
        test.save()
        test.theme()
    test.page.evaluate(script("audit.js"))
    if case.kind in ("usual", "hostile"):
        test.keyboard()
    test.audit()
    test.charts()
    if case.records:
        test.print()
    test.silent()
    if case.records:
        test.without_scripts()
    return figures


if __name__ == "__main__":
    main()
