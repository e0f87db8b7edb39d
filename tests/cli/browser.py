# SPDX-License-Identifier: Apache-2.0
"""Controls a headless Chromium by the DevTools protocol over two pipes, without a port or driver.
Has the setup and checks that all tests of pages share."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

CHROMIUM = shutil.which("chromium")
LIMIT_SECONDS = 120  # then the browser is killed and the test fails


class Browser:
    """A browser with one page. `events` holds the events since the page was opened."""

    def __init__(self):
        self.events = []
        self.last_id = 0
        self.session = None
        # The browser's helper processes may still write to the profile during cleanup.
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.out, from_browser = os.pipe()
        # The protocol uses descriptors 3 and 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "browser", CHROMIUM, *self.options()],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.timer = threading.Timer(LIMIT_SECONDS, self.end)
        self.timer.daemon = True
        self.timer.start()
        self.unread = b""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send(
            "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=0, uploadThroughput=0)

    def options(self):
        # Chromium's sandbox refuses to start as root. The tests trust their own pages.
        return ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-background-networking", "--disable-extensions", "--no-first-run",
                "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}")

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        self.timer.cancel()
        self.end()
        self.process.wait()
        os.close(self.to)
        os.close(self.out)
        self.profile.cleanup()

    def send(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def read(self):
        while b"\0" not in self.unread:
            part = os.read(self.out, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def open(self, path):
        """Loads the file and waits until its scripts have run."""
        self.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Waits until the page is laid out and painted again."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => "
                      "requestAnimationFrame(() => done())))")

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"ArrowRight": 39, "Tab": 9, " ": 32}[key])

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """Returns the events of console, log, uncaught exceptions and dialogs."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded",
                 "Page.javascriptDialogOpening")
        return [event for event in self.events if event.get("method") in kinds]


class PageTest:
    """A mixin for test cases that open all their pages in one browser."""

    @classmethod
    def setUpClass(cls):
        if not CHROMIUM:
            raise unittest.SkipTest("needs chromium")
        try:
            cls.browser = Browser()
        except (OSError, RuntimeError) as error:
            raise unittest.SkipTest(f"chromium does not start here: {error}") from error
        cls.addClassCleanup(cls.browser.close)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual({url.split(":")[0] for url in self.browser.requests()}, {"file"})


def luminance(colour):
    """Returns WCAG 2.1's relative luminance of a colour, rgb(r, g, b) or #rrggbb."""
    if colour.startswith("#"):
        parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        parts = [float(part) for part in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (part / 255 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
