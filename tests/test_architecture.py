"""The rules of ARCHITECTURE.md, as small programs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import deconfuse

SOURCE = Path(deconfuse.__file__).parent

# A module imports at its top level only from rows above its own (or from its own package).
ROWS = [
    ["_version", "errors", "_files", "_memory", "_checks", "_text"],
    [
        "classes",
        "counts",
        "reading.words",
        "_strangers",
        "_sources",
        "_columns",
        "_tally",
        "reading.count_checks",
        "reading.matrices",
        "_csv_matrix",
        "confusion",
    ],
    ["storage", "examples"],
    ["scaling"],
    ["normalization", "agreement"],
    ["_scores", "statistics", "rebalance", "area"],
    ["reading"],
    ["geometry"],
    ["reporting"],
    ["integrations"],
    ["demo"],
    ["experiments"],
    ["cli"],
    ["__main__"],
]


def part_of(path: Path) -> str:
    return part_named(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def part_named(module: str) -> str:
    """Return the part of a module: itself where the rows name it, or else its package."""
    is_listed = any(module in row for row in ROWS)
    return module if is_listed else module.split(".")[0]


def row_of(part: str) -> int:
    return next(k for k, row in enumerate(ROWS) if part in row)


def top_level_imports(path: Path) -> set[str]:
    """Return the parts of deconfuse that a module imports when it is loaded."""
    parts = set()
    for node in ast.parse(path.read_text()).body:
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "deconfuse":
                names = [f"deconfuse.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        parts |= {
            part_named(name.removeprefix("deconfuse."))
            for name in names
            if name.startswith("deconfuse.")
        }
    return parts


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def test_every_module_has_a_row() -> None:
    known = {part for row in ROWS for part in row}
    assert {part_of(path) for path in modules()} - known == set()


def test_modules_import_only_from_rows_above() -> None:
    public = set(deconfuse.__all__)
    wrong = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for path in modules()
        for other in top_level_imports(path) - {part_of(path)} - public
        if row_of(other) > row_of(part_of(path))
    ]
    assert wrong == []


def test_experiments_use_public_names_only() -> None:
    allowed = {*deconfuse.__all__, "experiments", "errors", "_files", "_version"}
    wrong = [
        f"{path.name} imports {part}"
        for path in (SOURCE / "experiments").glob("*.py")
        for part in top_level_imports(path) - allowed
    ]
    assert wrong == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["torch", "matplotlib", "duckdb", "pandas", "polars", "sklearn", "scipy.optimize"]
    program = f"import sys, deconfuse; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_counting_and_normalizing_load_nothing_heavy() -> None:
    heavy = ["torch", "matplotlib", "duckdb", "pandas", "polars", "sklearn"]
    program = (
        "import sys, deconfuse as dc; "
        "dc.ConfusionMatrix.from_predictions([0, 1, 1], [0, 1, 0]).normalize('bi').matrix; "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
