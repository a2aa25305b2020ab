"""The rules of ARCHITECTURE.md, as small programs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import deconfuse

SOURCE = Path(deconfuse.__file__).parent

# A module imports, when it is loaded, only from rows above its own or from its own package.
ROWS = [
    ["_version", "errors", "_files", "_memory", "_checks", "_text", "_shown"],
    ["classes", "counts"],
    ["reading", "confusion", "examples"],
    ["scaling"],
    ["normalization", "agreement"],
    ["_scores", "statistics", "rebalance", "area"],
    ["geometry"],
    ["reporting"],
    ["integrations"],
    ["demo", "experiments", "cli", "__main__"],
]
# In the row of the matrix, what it is made with comes before it and what makes it after it.
BEFORE_THE_MATRIX = {"reading.words", "reading.tally", "reading.count_tables"}

# Methods of an early type that need a later row import it when they are called.
LATE = {
    ("_shown", "reporting.display"),
    ("area", "reporting.table"),
    ("confusion", "normalization"),
    ("confusion", "reporting.plots"),
    ("confusion", "statistics.metrics"),
    ("normalization", "reporting.plots"),
    ("normalization", "reporting.tables"),
    ("normalization", "statistics.uncertainty"),
    ("statistics.comparison", "reporting.document"),
    ("statistics.diagnosis", "reporting.document"),
}


def modules() -> dict[str, Path]:
    """Return every module by its name inside the package."""
    paths = (path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
    names = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in paths}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


def row_of(module: str) -> int:
    return next(k for k, row in enumerate(ROWS) if module.split(".", maxsplit=1)[0] in row)


def imports(path: Path, *, is_late: bool) -> set[str]:
    """Return the modules of deconfuse that a module imports, when it is loaded or in functions."""
    tree = ast.parse(path.read_text())
    at_load = set(map(id, tree.body))
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in only_types or (id(node) in at_load) == is_late:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "deconfuse":
                names = [f"deconfuse.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.removeprefix("deconfuse.") for name in names if name[:10] == "deconfuse."}
    return found - set(deconfuse.__all__)


def test_every_module_has_a_row() -> None:
    known = {part for row in ROWS for part in row}
    assert {name.split(".")[0] for name in modules()} - known == set()


def test_no_two_modules_have_one_name() -> None:
    names = [name.split(".")[-1] for name in modules()]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_modules_import_only_from_rows_above() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in modules().items()
        for other in imports(path, is_late=False)
        if row_of(other) > row_of(name)
    ]
    assert wrong == []


def test_what_a_matrix_is_made_with_does_not_import_it() -> None:
    for name in BEFORE_THE_MATRIX:
        assert "confusion" not in imports(modules()[name], is_late=False)
    made_with = imports(modules()["confusion"], is_late=False)
    assert {name for name in made_with if name.startswith("reading.")} <= BEFORE_THE_MATRIX


def test_imports_in_functions_that_go_to_a_later_row_are_listed() -> None:
    found = {
        (name, other)
        for name, path in modules().items()
        for other in imports(path, is_late=True)
        if row_of(other) > row_of(name)
    }
    assert found == LATE


def test_experiments_use_public_names_only() -> None:
    allowed = {*deconfuse.__all__, "experiments", "errors", "_files"}
    wrong = [
        f"{path.name} imports {part}"
        for path in (SOURCE / "experiments").glob("*.py")
        for part in {name.split(".")[0] for name in imports(path, is_late=False)} - allowed
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
