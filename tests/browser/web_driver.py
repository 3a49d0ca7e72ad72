"""Chromium without a window, by the WebDriver protocol: JSON over HTTP to chromedriver."""

import base64
import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# The page then shows answers as fast as they come.
_OPTIONS += ["--force-prefers-reduced-motion", "--hide-scrollbars"]


class Browser:
    """One page; use as a context manager."""

    def __enter__(self) -> "Browser":
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True
        )
        for line in self._driver.stdout:
            port = re.search(r"started successfully on port (\d+)", line)
            if port:
                self._session = f"http://127.0.0.1:{port[1]}/session"
                break
        chrome = {"goog:chromeOptions": {"args": _OPTIONS}}
        timeouts = {"timeouts": {"script": 300_000, "pageLoad": 300_000}}
        capabilities = {"alwaysMatch": {**chrome, **timeouts}}
        self._session += "/" + self._ask("POST", "", {"capabilities": capabilities})["sessionId"]
        return self

    def __exit__(self, *error: Any) -> None:
        self._ask("DELETE", "")
        self._driver.terminate()
        self._driver.wait()
        self._driver.stdout.close()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._session + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=320) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"])

    def open(self, url: str) -> None:
        """Goes to a page."""
        self._ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of the body of an asynchronous function in the page."""
        body = (
            "const done = arguments[arguments.length - 1];"
            f"(async (...given) => {{ {script} }})(...arguments).then(done, (e) => done('' + e));"
        )
        return self._ask("POST", "/execute/async", {"script": body, "args": list(arguments)})

    def press(self, keys: str) -> None:
        """Presses keys, one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        body = {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        self._ask("POST", "/actions", body)

    def look(self, width: int, height: int, dark: bool) -> None:
        """Sets the size of the page and which colours are preferred."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._devtools("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    def photograph(self, path: Path, part: str = "body") -> None:
        """Saves a part of the page as a PNG, named by a selector."""
        box = "const {x, y, width, height} = document.querySelector(arguments[0]).getBoundingClientRect();"
        clip = self.run(f"{box} return {{x, y, width, height, scale: 1}}", part)
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        data = self._devtools("Page.captureScreenshot", options)["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))

    def _devtools(self, command: str, parameters: Any) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})
