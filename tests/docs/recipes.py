"""Run the guide's recipes: the page inside other applications, used in a browser.

``python tests/docs/recipes.py`` needs Streamlit, Gradio, playwright and Chromium, so the tests do
not run it; ``.ci/release-check`` does, with the wheel. The raw block for Quarto is opened as HTML.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, sync_playwright

import deconfuse as dc

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "page.md"
QUIET = {
    "STREAMLIT_SERVER_HEADLESS": "true",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "GRADIO_ANALYTICS_ENABLED": "False",
}


def recipe(name: str) -> str:
    """Return the block of the guide with this title."""
    found = re.search(
        rf'^(`{{3,}})\w+ title="{re.escape(name)}"\n(.*?)^\1$',
        GUIDE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None, f"the guide has no recipe {name}"
    return found[2]


@contextmanager
def served(command: list[str], folder: Path, port: int) -> Iterator[str]:
    """Run an application until its page was used; yield its address."""
    ports = {"STREAMLIT_SERVER_PORT": str(port), "GRADIO_SERVER_PORT": str(port)}
    environment = {**os.environ, **QUIET, **ports}
    with subprocess.Popen([sys.executable, *command], cwd=folder, env=environment) as running:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def use(tab: Any, address: str) -> None:
    """Open an application once it answers, and use the page in its frame."""
    for _ in range(120):
        try:
            tab.goto(address)
            break
        except Error as error:
            if "ERR_CONNECTION_REFUSED" not in str(error):
                raise
            tab.wait_for_timeout(500)
    frame = tab.frame_locator("iframe")
    frame.locator("canvas.matrix").first.wait_for(timeout=60_000)
    frame.locator("button.finding").first.click()
    frame.locator("[data-method=row]").click()
    assert "each row sums to 1" in frame.locator(".caption").first.inner_text()


def main() -> None:
    """Run each recipe, and use the page inside it."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        dc.report(dc.load_example("consonants"), folder / "report.html")
        commands = {
            "streamlit_app.py": ["-m", "streamlit", "run", "streamlit_app.py"],
            "gradio_app.py": ["gradio_app.py"],
        }
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(reduced_motion="reduce")
        for name, command in commands.items():
            (folder / name).write_text(recipe(name), encoding="utf-8")
            with served(command, folder, free_port()) as address:
                use(tab, address)
            print(f"{name}: the page works in its frame")
        raw = re.search(r"```\{=html\}\n(.*?)```", recipe("document.qmd"), re.DOTALL)
        assert raw is not None
        (folder / "document.html").write_text(raw[1], encoding="utf-8")
        use(tab, (folder / "document.html").as_uri())
        print("document.qmd: the page works in its frame")
        browser.close()


if __name__ == "__main__":
    main()
