"""The site: built strictly, complete, and without anything from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import deconfuse as dc
from tests.reporting.browser import chromium
from tests.support import require

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    described = set(re.findall(r"^::: deconfuse\.(?:\w+\.)?(\w+)$", pages, re.MULTILINE))
    modules = {"area", "errors", "geometry", "rebalance", "statistics"}
    for package in (dc, dc.geometry, dc.statistics):
        assert set(package.__all__) - {"__version__"} - modules - described == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("mkdocs", "material", "mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


class _Loads(HTMLParser):
    """Collects what a browser fetches for a page: scripts, styles, pictures, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "embed"):
            self.fetched.append(values.get("src") or "")
        if tag == "link" and values.get("rel") != "canonical":
            self.fetched.append(values.get("href") or "")


def test_pages_fetch_nothing_from_elsewhere(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        parser = _Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.fetched
        outside = [link for link in parser.fetched if re.match(r"(https?:)?//", link)]
        assert not outside, (page, outside)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text(encoding="utf-8"))


def test_pictures_of_pages_are_there(site: Path):
    for page in site.rglob("*.html"):
        for source in re.findall(r'<img[^>]* src="([^"]+)"', page.read_text(encoding="utf-8")):
            if not source.startswith("data:"):
                assert (page.parent / source).resolve().exists(), (page, source)


def test_formulas_are_plain_html(site: Path):
    for page in (site / "api").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert ":math:" not in text, page
        assert ".. math::" not in text, page
        for formula in re.findall(r'class="formula[^"]*">(.*?)</(?:span|div)>', text):
            assert "\\" not in formula, (page, formula)
    assert "Σ<sub>ij</sub> min" in (site / "api" / "normalizing.html").read_text(encoding="utf-8")


def test_defaults_are_those_of_the_signature(site: Path):
    text = html.unescape((site / "api" / "normalizing.html").read_text(encoding="utf-8"))
    # Of `normalize`, whose default is not its first choice.
    entry = text[text.index("<code>method</code>") :]
    assert "'bi'" in entry.split("default:")[1][:60]


def test_notebooks_and_commands_became_pages(site: Path):
    notebook = (site / "notebooks" / "first-steps.html").read_text(encoding="utf-8")
    assert "first-steps-0.png" in notebook
    commands = (site / "api" / "command-line.html").read_text(encoding="utf-8")
    for command in ("demo", "report", "normalize", "diagnose", "compare", "reproduce"):
        assert f"deconfuse {command}" in commands


def _anchors(page: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def test_links_between_pages_lead_somewhere(site: Path):
    anchors = {page.resolve(): _anchors(page) for page in site.rglob("*.html")}
    followed = 0
    for page in anchors:
        # The page for what is not found speaks in addresses of a server.
        if page.name == "404.html":
            continue
        for link in re.findall(r'<a [^>]*href="([^"]+)"', page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            address, _, anchor = html.unescape(link).partition("#")
            target = (page.parent / address).resolve() if address else page
            assert target in anchors or target.exists(), (page, link)
            if anchor and target in anchors and not anchor.startswith("__"):
                assert anchor in anchors[target], (page, link)
            followed += 1
    assert followed > 1000


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "guide/idea.html"])
def test_the_search_works_from_disk(site: Path, name: str):
    require("playwright", programs=("chromium",))
    complaints: list[str] = []
    outside: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: outside.append(request.url))
        page.goto((site / name).as_uri())
        page.click(".md-search__input")
        page.keyboard.type("Stehman")
        page.wait_for_selector(".md-search-result__item a")
        page.click(".md-search-result__item a")
        page.wait_for_url("**/guide/reading.html*")
    assert not complaints
    assert not [url for url in outside if not url.startswith(("file:", "data:"))]
