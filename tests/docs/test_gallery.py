"""The gallery's scripts make every picture and table that the guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import tables_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in DOCS.rglob("*.md") if "generated" not in path.parts]


def _shown(pattern: str) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    return set(re.findall(pattern, text))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_tables_in_a_page_are_those_that_commands_wrote(page: Path):
    for name, table in tables_of(page.read_text(encoding="utf-8")).items():
        assert table == (DOCS / "generated" / name).read_text(encoding="utf-8"), (
            f"run `python -m tests.docs.refresh {page.relative_to(ROOT)}`"
        )


@pytest.mark.parametrize(
    "page", [*PAGES, *ROOT.glob("*.md")], ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_page_is_plain_markdown_with_links_that_lead_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    assert "--8<--" not in text
    for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        assert re.match(r"https?:|mailto:", link) or (page.parent / link).exists(), link


def test_every_picture_and_table_that_is_kept_is_shown():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    picture = r"([\w.-]+\.(?:png|gif))"
    shown = _shown(f"images/{picture}") | set(re.findall(picture, readme + measured))
    assert {path.name for path in (DOCS / "images").iterdir()} - shown == set()
    tables = {name for path in PAGES for name in tables_of(path.read_text(encoding="utf-8"))}
    assert {path.name for path in (DOCS / "generated").iterdir()} - tables == set()


@pytest.mark.slow
def test_the_scripts_make_what_the_pages_show(tmp_path: Path):
    docs = tmp_path / "docs"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "run.py", str(docs)],
        cwd=DOCS / "gallery",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    scripts = {path.stem for path in (DOCS / "gallery").glob("*.py")} - {"run", "shared"}
    assert scripts == set(re.findall(r"^(\w+)\.py: [\d.]+ s$", run.stdout, re.MULTILINE))
    tables = sorted((docs / "generated").glob("*.md"))
    assert len(tables) > 5
    for table in tables:
        fresh, kept = (
            path.read_text(encoding="utf-8") for path in (table, DOCS / "generated" / table.name)
        )
        # Numbers may move in the last digit between machines; rows and words may not.
        assert _words(fresh) == _words(kept), table.name
    made = {path.name for path in (docs / "images").glob("*.png")}
    assert made <= {path.name for path in (DOCS / "images").glob("*.png")}
    assert {"idea.png", "epsilon.png", "consonants.png", "comparing.png"} <= made


def _words(table: str) -> list[str]:
    return re.sub(r"[\d.,]+", "0", table).split()
