"""A real browser for the tests: Chromium, by Playwright, that must stay silent and offline."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]

# The explorer lives in a shadow root; Playwright's CSS selectors look inside.
ROOT = "document.getElementById('deconfuse').shadowRoot"


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium, as the system has it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        yield browser
        browser.close()


class Reader:
    """One open page with what it said and asked for."""

    def __init__(self, browser: Any, path: Path, fragment: str = "", **options: Any) -> None:
        size = options.pop("size", (1440, 900))
        options.setdefault("reduced_motion", "reduce")
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, accept_downloads=True, **options
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", self._dismissed)
        self.address = path.as_uri()
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("canvas.matrix")

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _dismissed(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def close(self) -> None:
        """Check that nothing went wrong unseen, then close."""
        outside = [
            url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))
        ]
        self.context.close()
        assert self.complaints == []
        assert outside == []
        assert self.dialogs == []

    def ask(self, script: str) -> Any:
        """Run a script that sees the explorer's root as ``root``."""
        return self.page.evaluate(f"() => {{ const root = {ROOT}; {script} }}")

    def text(self, selector: str) -> str:
        """Return the visible text of an element."""
        return str(self.page.inner_text(selector))

    def caption(self) -> str:
        """Return what the main matrix says of itself."""
        return self.text("figure.pane:first-of-type .caption")

    def choose(self, control: str, value: str) -> None:
        """Choose an option of one of the menus."""
        self.page.select_option(f"[data-control={control}]", value)

    def method(self, name: str) -> None:
        """Press one of the normalization buttons."""
        self.page.click(f"[data-method={name}]")

    def press(self, *keys: str) -> None:
        """Press keys while the matrix has the focus."""
        self.page.focus("figure canvas.matrix >> nth=0")
        for key in keys:
            self.page.keyboard.press(key)

    def export(self, name: str) -> bytes:
        """Return a file of the export menu."""
        with self.page.expect_download() as download:
            self.click_export(name)
        return Path(download.value.path()).read_bytes()

    def click_export(self, name: str) -> None:
        """Choose from the export menu."""
        self.ask("root.querySelector('.exports').open = true;")
        self.page.click(f"[data-export={name}]")

    def hash(self) -> str:
        """Return the fragment of the address, after it has settled."""
        self.settle()
        # The address is written a moment after the last change.
        self.page.wait_for_function(
            "() => { const { hash } = document.getElementById('deconfuse').explorer;"
            " return hash === null || location.hash.replace(/^#/, '') === hash; }"
        )
        return str(self.page.evaluate("location.hash"))

    def go(self, fragment: str) -> None:
        """Change the fragment of the address, and wait until the page has followed."""
        self.page.evaluate(
            # A page that is there already tells of no change.
            "(fragment) => new Promise((done) => {"
            " if (location.hash.replace(/^#/, '') === fragment) { done(); return; }"
            " addEventListener('hashchange', done, { once: true }); location.hash = fragment; })",
            fragment,
        )
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def main(self) -> Any:
        """Return the canvas of the main matrix."""
        return self.page.locator("figure.pane:first-of-type canvas.matrix")

    def inspected(self) -> str:
        """Return what the inspector is about."""
        return self.text(".inspector h2 >> nth=0")

    def picture(self) -> str:
        """Return the pixels of the main canvas, to see whether they changed."""
        return str(self.ask("return root.querySelector('figure canvas.matrix').toDataURL();"))

    def cell(self, row: float, col: float, n: int) -> tuple[float, float]:
        """Return where the cell of two display positions lies on the screen, with all in view."""
        box = self.main().bounding_box()
        layout = self.layout()
        size = layout["side"] / n
        return (
            box["x"] + layout["x"] + (col + 0.5) * size,
            box["y"] + layout["y"] + (row + 0.5) * size,
        )

    def layout(self) -> dict[str, float]:
        """Return where the parts of the main canvas lie."""
        return dict(
            self.page.evaluate(
                "() => document.getElementById('deconfuse').explorer.views[0].scene.layout"
            )
        )


#: What opens a page and returns who reads it.
Open = Callable[..., Reader]
