"""A browser without a window, driven over a pipe by the DevTools protocol. Only Python's own library."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
                   "--user-data-dir=" + self.profile.name, "about:blank"]
        line = 'exec "$@" 3<&%d 4>&%d' % (to_read, back_write)
        self.process = subprocess.Popen(["bash", "-c", line, "bash"] + command, pass_fds=(to_read, back_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.number, self.received, self.events, self.session = 0, b"", [], None
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.ask(domain + ".enable")

    def message(self, until):
        while b"\0" not in self.received:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.back, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.received += part
        one, self.received = self.received.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, seconds=120, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            said = self.message(until)
            if said.get("id") == self.number:
                if "error" in said:
                    raise RuntimeError(method + ": " + said["error"]["message"])
                return said["result"]
            self.events.append(said)

    def show(self, file, width=1100, height=900, scheme="light"):
        """Opens a file and returns what the browser complains about and what it asks for beside the file."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.ask("Page.navigate", url="file://" + os.path.abspath(file))
        until = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message(until))
        complaints = [e["params"]["entry"]["text"] for e in self.events if e.get("method") == "Log.entryAdded"]
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return complaints, asked

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self, file, whole=False):
        size = {}
        if whole:
            content = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            size = {"captureBeyondViewport": True,
                    "clip": {"x": 0, "y": 0, "width": content["width"], "height": min(content["height"], 12000),
                             "scale": 1}}
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png", **size)["data"])
        with open(file, "wb") as out:
            out.write(data)
        return data

    def nodes(self):
        return [n for n in self.ask("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]

    def close(self):
        try:
            self.ask("Browser.close", seconds=10)
        except (OSError, EOFError, TimeoutError, RuntimeError):
            self.process.kill()
        self.process.wait()
        self.profile.cleanup()
