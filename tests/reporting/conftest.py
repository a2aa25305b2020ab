"""What the tests of the page share: a browser, and pages that are closed and checked at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reporting.browser import Open, Reader, chromium
from tests.support import require


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require("playwright", programs=("chromium",))
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    readers: list[Reader] = []

    def opened(path: Path, fragment: str = "", **screen: Any) -> Reader:
        readers.append(Reader(browser, path, fragment, **screen))
        return readers[-1]

    yield opened
    for reader in readers:
        reader.close()
