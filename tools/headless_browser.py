"""A headless Chromium that tests and scripts look at pages with, by the WebDriver protocol and nothing else.

    with Browser.open() as browser:
        browser.go(Path("report.html"))
        browser.screenshot(Path("report.png"))

It needs Chromium and ChromeDriver (Debian: chromium, chromium-driver). Only loopback is used.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without a sandbox, as in containers; without anything that asks a server.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
_PATIENCE = 300.0


def why_not() -> str:
    """Why no page can be looked at here; nothing if it can."""
    if not any(map(shutil.which, BROWSERS)):
        return f"there is no {', '.join(BROWSERS)}"
    return "" if shutil.which("chromedriver") else "there is no chromedriver"


class BrowserError(Exception):
    """The browser refused, or the page failed."""


class Browser:
    """One window of a browser; ``Browser.open`` makes it and ends its processes whatever happens."""

    def __init__(self, address: str) -> None:
        self._address = address

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Browser]:
        chrome = next(filter(None, map(shutil.which, BROWSERS)))
        with (
            tempfile.TemporaryDirectory(prefix="fedward-browser-", ignore_cleanup_errors=True) as profile,
            _driver(profile) as address,
        ):
            options = {"binary": chrome, "args": [*FLAGS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            started = _call("POST", f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
            browser = cls(f"{address}/session/{started['sessionId']}")
            try:
                yield browser
            finally:
                browser._send("DELETE", "")

    def go(self, page: Path) -> None:
        """Opens a file."""
        self._send("POST", "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body in JavaScript returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def size(self, width: int, height: int) -> None:
        """Makes the page that large, not the window around it."""
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def media(self, *, dark: bool = False, paper: bool = False) -> None:
        """Light or dark, on a screen or on paper."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", {"media": "print" * paper, "features": [scheme]})

    def press(self, element: str, keys: str) -> None:
        """Types into the first element of a CSS selector."""
        found = self._send("POST", "/element", {"using": "css selector", "value": element})
        self._send("POST", f"/element/{next(iter(found.values()))}/value", {"text": keys})

    def click(self, element: str) -> None:
        """Clicks on the first element of a CSS selector."""
        found = self._send("POST", "/element", {"using": "css selector", "value": element})
        self._send("POST", f"/element/{next(iter(found.values()))}/click", {})

    def errors(self) -> list[str]:
        """What the console has said since it was last asked, apart from mere information."""
        entries = self._send("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, out: Path | None = None, *, whole: bool = False) -> bytes:
        """What is seen, or the whole page, as PNG."""
        found = self._devtools(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole} | self._clip(whole)
        )
        content = base64.b64decode(found["data"])
        if out is not None:
            out.write_bytes(content)
        return content

    def pdf(self) -> bytes:
        """The page on paper."""
        # The driver's own command gives a busy machine ten seconds, and no more.
        return base64.b64decode(self._devtools("Page.printToPDF", {})["data"])

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        wide, high = self.run("const e = document.documentElement; return [e.clientWidth, e.scrollHeight]")
        return {"clip": {"x": 0, "y": 0, "width": wide, "height": high, "scale": 1}}

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _send(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        return _call(method, self._address + path, content)


@contextlib.contextmanager
def _driver(folder: str) -> Iterator[str]:
    """ChromeDriver at a port that was free, and its address; whatever it keeps goes into the folder."""
    driver = shutil.which("chromedriver")
    assert driver is not None, why_not()
    process = subprocess.Popen(
        [driver, "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder},
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                yield f"http://127.0.0.1:{found[1]}"
                return
        raise BrowserError("chromedriver did not start")
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _call(method: str, address: str, content: dict[str, Any] | None) -> Any:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(
        address, body, {"Content-Type": "application/json; charset=utf-8"}, method=method
    )
    # A proxy of the environment is not for loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_PATIENCE) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise BrowserError(json.load(error)["value"].get("message", "")) from error
