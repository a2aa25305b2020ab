"""Run the benchmarks, print the ratios, and write the table and the picture.

``python -m benchmarks``            all of them, to benchmarks/RESULTS.md and docs/images
``python -m benchmarks scaling``    some of them, to the terminal only
``python -m benchmarks --quick``    smaller cases, to the terminal only
"""

from __future__ import annotations

import argparse
import os
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PARTS = {
    "scaling": "Bi-normalization, to a residual of 1e-10",
    "counting": "Counting",
    "engines": "Counting where the predictions live",
    "geometry": "Geometric confusion matrices",
    "training": "Training the paper's networks",
    "imports": "Import time",
    "page": "The page of a thousand classes, against its budget",
}
PACKAGES = ["numpy", "scipy", "scikit-learn", "POT", "ipfn", "sinkhorn_knopp", "polars", "duckdb"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART")
    parser.add_argument("--quick", action="store_true", help="smaller cases")
    options = parser.parse_args()
    tables, results = [], {}
    for part in options.parts or PARTS:
        rows = import_module(f"benchmarks.{part}").run(quick=options.quick)
        results[part] = rows
        table = f"## {PARTS[part]}\n\n{_table(rows)}\n"
        print(table, flush=True)
        tables.append(table)
    if not options.parts and not options.quick:
        from benchmarks.figure import draw

        (ROOT / "benchmarks" / "RESULTS.md").write_text(_page(tables))
        draw(ROOT / "docs" / "images" / "benchmarks.png", results["counting"])


def _page(tables: list[str]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return (
        "# Benchmarks\n\n"
        "Written by `python -m benchmarks`. Times are the best of several runs in one process; the "
        "ratio is a peer's time over ours, so above 1 we are faster.\n\n"
        f"Machine: {machine}. Packages: {versions}.\n\n" + "\n".join(tables)
    )


def _table(rows: list[dict[str, Any]]) -> str:
    lines = ["| case | who | time | ratio | |", "|---|---|---:|---:|---|"]
    for row in rows:
        note = row.get("note", "")
        if "residual" in row and not note:
            note = f"residual {row['residual']:.0e}"
        lines.append(
            f"| {row['case']} | {row['peer']} | {_time(row['seconds'])} "
            f"| {row['ratio']:.3g} | {note} |"
        )
    return "\n".join(lines)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


if __name__ == "__main__":
    main()
