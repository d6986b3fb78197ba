"""A headless browser at the other end of two pipes.

Chromium speaks its DevTools protocol there: JSON with a NUL behind it, so that
Python's own library is all that is needed to drive it.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser",
         "google-chrome")


def find():
    """The browser's path, or None."""
    named = os.environ.get("CFX_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, path, patience=60):
        self.patience = patience
        self.home = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Where a browser may not make its sandbox, as in most containers, the
        # only page that it is shown is one of ours.
        command = [path, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--remote-debugging-pipe", "--user-data-dir=" + self.home]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh",
             *command], pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.count, self.session = b"", 0, None
        self.problems, self.loaded = [], False
        target = self.ask("Target.createTarget", url="about:blank")
        self.session = self.ask("Target.attachToTarget", flatten=True,
                                targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def read(self, until):
        """The next message."""
        while b"\0" not in self.rest:
            wait = until - time.monotonic()
            if wait <= 0 or not select.select([self.back], [], [], wait)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise EOFError("the browser has gone")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def notice(self, message):
        """Keep what a page should not do."""
        method, what = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(what["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled":
            self.problems.append("console: " + json.dumps(what["args"])[:600])
        elif method == "Log.entryAdded":
            self.problems.append("log: " + what["entry"]["text"][:600])
        elif method == "Network.requestWillBeSent":
            url = what["request"]["url"]
            if not url.startswith(("file:", "data:")):
                self.problems.append("request: " + url)

    def ask(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.patience
        while True:
            answer = self.read(until)
            if answer.get("id") != self.count:
                self.notice(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, path, width=1200, height=900):
        self.resize(width, height)
        self.loaded = False
        self.problems.clear()
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        until = time.monotonic() + self.patience
        while not self.loaded:
            self.notice(self.read(until))

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media="", **features):
        self.ask("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-" + k.replace("_", "-"), "value": v}
            for k, v in features.items()])

    def run(self, script):
        """The value of an expression, which may be a promise."""
        answer = self.ask("Runtime.evaluate", expression=script,
                          awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(script + ": " +
                               json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def settle(self):
        """Wait until the page has been drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => "
                 "requestAnimationFrame(() => done(1))))")

    def pointer(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.pointer("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.pointer("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.pointer(kind, x, y, button="left", clickCount=1)
        self.settle()

    def place(self, selector):
        """The middle of an element, which is brought into view."""
        return self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))")

    def click_on(self, selector):
        self.click(*self.place(selector))

    def press(self, key, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     **more)
        self.settle()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.settle()

    def picture(self, path, whole=True):
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole,
                        **({"clip": self.whole()} if whole else {}))
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def whole(self):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"],
                "height": min(size["height"], 12000), "scale": 1}

    def pdf(self, path):
        made = self.ask("Page.printToPDF", preferCSSPageSize=True,
                        printBackground=True)
        with open(path, "wb") as f:
            f.write(base64.b64decode(made["data"]))

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except (OSError, RuntimeError, EOFError, TimeoutError):
            self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.home, ignore_errors=True)
