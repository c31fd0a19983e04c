"""Debian's Chromium, driven through its debugging pipe: no driver, no socket, nothing to install beside the browser."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}


def find_chromium() -> str:
    """Return the path of the browser. Raises: RuntimeError that says how to get it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise RuntimeError("these tests drive Chromium, and there is none here. Debian: apt-get install -y chromium")
    return found


class Chromium:
    """One browser with one page."""

    def __init__(self, *, width: int = 1280, height: int = 800) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="spanwise-chromium-", ignore_cleanup_errors=True)
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()

        def give() -> None:  # the browser reads descriptor 3 and writes 4
            os.dup2(to_browser, 60)
            os.dup2(to_us, 61)
            os.dup2(60, 3)
            os.dup2(61, 4)

        options = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars"]
        options += ["--no-first-run", "--disable-extensions", "--disable-dev-shm-usage", "--lang=en"]
        options += ["--disable-background-networking", f"--user-data-dir={self._folder.name}"]
        self._process = subprocess.Popen(
            [find_chromium(), *options, f"--window-size={width},{height}", "about:blank"],
            preexec_fn=give, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(to_us)
        self._in, self._out = os.fdopen(from_browser, "rb", 0), os.fdopen(from_us, "wb", 0)
        self._number, self._rest, self._session = 0, b"", ""
        self.requests: list[str] = []  # addresses that pages have asked for
        self.errors: list[str] = []  # of scripts
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")
        self.shape(width, height)

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._in.close()
        self._out.close()
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]["exceptionDetails"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._in.read(65536)
            assert more, "Chromium has ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def shape(self, width: int, height: int, *, is_phone: bool = False, scale: float = 1) -> None:
        """Give the page another size in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=is_phone
        )

    def dark(self, is_dark: bool) -> None:
        """Let the page believe that the person likes it dark, or light."""
        value = "dark" if is_dark else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def open(self, address: str) -> None:
        """Go to an address and wait until the page has listed the models."""
        self.send("Page.navigate", url=address)
        self.wait("document.querySelector('#tabs [aria-selected=true]') && document.getElementById('text').value")

    def js(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> Any:
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.js(f"Promise.resolve({expression}).then(v => (v instanceof Node ? true : v))")
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {expression}; {self.js('document.body.innerText')[:500]}")

    def click(self, selector: str) -> None:
        """Click into the middle of an element with the mouse."""
        x, y = self._middle(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, selector: str) -> None:
        """Point at an element."""
        x, y = self._middle(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _middle(self, selector: str) -> tuple[float, float]:
        return self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const b = e.getClientRects()[0];"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def key(self, name: str, *, modifiers: int = 0) -> None:
        """Press a key; modifiers: 2 is Ctrl."""
        code = KEYS.get(name, ord(name[0].upper()))
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, modifiers=modifiers, **more
            )

    def drop(self, selector: str, *files: Path) -> None:
        """Drop files onto an element."""
        x, y = self._middle(selector)
        data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.send("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
