"""A headless Chromium, driven over its own protocol.

Messages are JSON, each ended by a zero byte, on the browser's descriptors 3 and 4, so nothing but the
standard library is needed. Everything has a time-out, and the browser ends with the script: it goes
when the pipe is closed, and what is left of it is killed.

    with chromium.start() as browser:
        page = browser.page()
        page.open("file:///tmp/x.html")
        page.evaluate("document.title")
"""
import base64
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

FLAGS = [
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-domain-reliability",
    "--disable-extensions", "--disable-sync", "--disable-breakpad", "--disable-crash-reporter",
    "--disable-dev-shm-usage", "--metrics-recording-only", "--mute-audio", "--password-store=basic",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
]
KEYS = {  # key: (code, Windows' virtual key, text)
    "Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Escape": ("Escape", 27, ""),
    " ": ("Space", 32, " "), "/": ("Slash", 191, "/"), "Backspace": ("Backspace", 8, ""),
    "ArrowDown": ("ArrowDown", 40, ""), "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowRight": ("ArrowRight", 39, ""),
    "Home": ("Home", 36, ""), "End": ("End", 35, ""),
}
SHIFT = 8
PATIENCE_S = 20  # of one command; the cores are shared


class Failure(Exception):
    """The browser did not do what it was asked, or not in time."""


class ScriptError(Failure):
    """A script that a page was to evaluate threw something."""


def find():
    """The program; None where there is none. $ASSAY_CHROMIUM names another."""
    names = [os.environ.get("ASSAY_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def start_or_skip():
    """As start(); where there is no Chromium the test is skipped."""
    if not find():
        print("skipped: no Chromium")
        sys.exit(77)
    return start()


def start():
    return Browser(find())


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="assay-chromium-")
        self.next_id, self.buffer, self.pages, self.pid = 0, b"", {}, None
        try:
            self._spawn(program)
            self.command("Browser.getVersion")
        except BaseException:
            self.close()
            raise

    def _spawn(self, program):
        theirs_in, self.to = self._pipe()
        self.from_, theirs_out = self._pipe()
        log = os.path.join(self.profile, "log")
        # It reserves more addresses than tools/check lets tests have.
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        self.pid = os.posix_spawn(
            program, [program, *FLAGS, "--user-data-dir=" + self.profile, "about:blank"],
            dict(os.environ, HOME=self.profile), setpgroup=0,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                          (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT, 0o600),
                          (os.POSIX_SPAWN_DUP2, 1, 2), (os.POSIX_SPAWN_DUP2, theirs_in, 3),
                          (os.POSIX_SPAWN_DUP2, theirs_out, 4)])
        os.close(theirs_in)
        os.close(theirs_out)

    @staticmethod
    def _pipe():
        """High, so that 3 and 4 are nobody's; not inherited."""
        pair = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in pair]
        for end in pair:
            os.close(end)
        return high

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for name in ("to", "from_"):  # without its pipe the browser ends
            if hasattr(self, name):
                os.close(getattr(self, name))
                delattr(self, name)
        if self.pid:
            self._end(3)
            self.pid = None
        shutil.rmtree(self.profile, ignore_errors=True)

    def _end(self, patience_s):
        until = time.monotonic() + patience_s
        while not os.waitpid(self.pid, os.WNOHANG)[0]:
            if time.monotonic() > until:
                self._kill(self.pid)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.02)
        for pid in self._children():
            self._kill(pid)

    @staticmethod
    def _kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _children(self):
        """All of its processes name the profile."""
        mark = ("--user-data-dir=" + self.profile).encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if mark in file.read():
                        yield int(name)
            except OSError:
                pass

    # ---- messages ---------------------------------------------------------------------------

    def command(self, method, params=None, session=None, patience_s=PATIENCE_S):
        """Sends it and gives its result."""
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + patience_s
        while True:
            answer = self._receive(until, method)
            if answer.get("id") != message["id"]:
                continue
            if "error" in answer:
                raise Failure("%s: %s" % (method, answer["error"].get("message")))
            return answer["result"]

    def _receive(self, until, what):
        """The next message; events are handed to their page on the way."""
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_], [], [], left)[0]:
                raise Failure("%s: no answer in time" % what)
            more = os.read(self.from_, 1 << 20)
            if not more:
                raise Failure("%s: the browser has gone: %s" % (what, self._log()))
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line.decode())
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.heard(message["method"], message["params"])
        return message

    def _log(self):
        with open(os.path.join(self.profile, "log"), errors="replace") as file:
            return file.read()[-2000:]

    def page(self, width=1000, height=800):
        target = self.command("Target.createTarget", {"url": "about:blank"})["targetId"]
        answer = self.command("Target.attachToTarget", {"targetId": target, "flatten": True})
        return Page(self, target, answer["sessionId"], width, height)


class Page:
    def __init__(self, browser, target, session, width, height):
        self.browser, self.target, self.session = browser, target, session
        self.console, self.exceptions, self.requests, self.loads = [], [], [], 0
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(domain + ".enable")
        self.size(width, height)

    def command(self, method, patience_s=PATIENCE_S, **params):
        return self.browser.command(method, params, self.session, patience_s)

    def heard(self, method, params):
        """console, exceptions and requests are what a test looks at."""
        if method == "Runtime.consoleAPICalled":
            said = [str(a.get("value", a.get("description"))) for a in params["args"]]
            self.console.append("%s: %s" % (params["type"], " ".join(said)))
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.console.append("%s: %s" % (entry["level"], entry["text"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            what = details.get("exception", {}).get("description", details["text"])
            self.exceptions.append(what)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.exceptions.append("dialog: " + params["message"])
            self.command("Page.handleJavaScriptDialog", accept=True)
        elif method == "Page.loadEventFired":
            self.loads += 1

    def open(self, url, patience_s=PATIENCE_S):
        """Gives the seconds until it was loaded."""
        self.console, self.exceptions, self.requests = [], [], []
        loads, begin = self.loads, time.monotonic()
        error = self.command("Page.navigate", patience_s, url=url).get("errorText")
        if error:
            raise Failure("%s: %s" % (url, error))
        while self.loads == loads:
            self.browser._receive(begin + patience_s, url)
        return time.monotonic() - begin

    def open_file(self, path, **more):
        return self.open("file://" + os.path.abspath(path), **more)

    def close(self):
        self.browser.command("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)

    def evaluate(self, script, patience_s=PATIENCE_S):
        """The value of an expression, which may be a promise of it."""
        answer = self.command("Runtime.evaluate", patience_s, expression=script,
                              returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise ScriptError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def call(self, function, *arguments, **more):
        """function is the text of one: "(a, b) => a + b"."""
        return self.evaluate("(%s)(%s)" % (function, ",".join(map(json.dumps, arguments))), **more)

    def wait(self, script, patience_s=5, step_s=0.02):
        """Until an expression is true; gives its value."""
        until = time.monotonic() + patience_s
        while True:
            value = self.evaluate(script)
            if value:
                return value
            if time.monotonic() > until:
                raise Failure("waited in vain for " + script)
            time.sleep(step_s)

    # ---- hands ------------------------------------------------------------------------------

    def press(self, key, shift=False):
        code, number, text = KEYS.get(key, ("Key" + key.upper(), ord(key.upper()[0]), key))
        what = dict(key=key, code=code, windowsVirtualKeyCode=number, modifiers=shift * SHIFT)
        self.command("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown",
                     **(dict(what, text=text) if text else what))
        self.command("Input.dispatchKeyEvent", type="keyUp", **what)

    def type(self, text):
        for key in text:
            self.press(key)

    def point(self, target):
        """In the middle of what a selector finds, or a script that gives an element."""
        script = target if "(" in target else "document.querySelector(%s)" % json.dumps(target)
        box = self.evaluate("""(() => { const e = %s; if (!e) return null;
            e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
            const b = e.getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; })()""" % script)
        if not box:
            raise Failure("there is no " + target)
        return box

    def click(self, target):
        x, y = target if isinstance(target, (list, tuple)) else self.point(target)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                         button="none" if kind == "mouseMoved" else "left")

    def set(self, selector, key, value):
        """What a control holds, as if a person had chosen it."""
        self.call("""(selector, key, value) => {
            const element = document.querySelector(selector);
            element[key] = value;
            for (const kind of ["input", "change"])
                element.dispatchEvent(new Event(kind, { bubbles: true }));
        }""", selector, key, value)

    # ---- surroundings -----------------------------------------------------------------------

    def size(self, width, height):
        self.width, self.height = width, height
        self._window(height)

    def _window(self, height):
        self.command("Emulation.setDeviceMetricsOverride", width=self.width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def media(self, scheme="light", kind="screen"):
        self.command("Emulation.setEmulatedMedia", media=kind,
                     features=[{"name": "prefers-color-scheme", "value": scheme}])

    def scripts(self, on):
        """From the next page on. What a test evaluates is not meant by it."""
        self.command("Emulation.setScriptExecutionDisabled", value=not on)

    def screenshot(self, path, most=8000):
        """Of the whole page down to `most`: in a window as high as that, for what is not drawn
        before it can be seen. Twice, because what is drawn then may be higher."""
        for _ in range(2):
            height = self.evaluate("document.documentElement.scrollHeight")
            self._window(max(self.height, min(height, most)))
        answer = self.command("Page.captureScreenshot", format="png")
        self._window(self.height)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
