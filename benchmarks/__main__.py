"""Run the benchmarks, print the ratios, and write the table and the picture.

``python -m benchmarks``            all of them
``python -m benchmarks scaling``    some of them; the others keep what was measured before
``python -m benchmarks --quick``    smaller cases, to the terminal only

What was measured is kept in benchmarks/measured, one file a part; RESULTS.md is made of it, and so
are the tables and pictures of the guide, in docs/generated and docs/images.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deconfuse._files import write_text

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "benchmarks" / "measured"
PARTS = {
    "scaling": "Bi-normalization, to a residual of 1e-10",
    "counting": "Counting",
    "engines": "Counting where the predictions live",
    "geometry": "Geometric confusion matrices",
    "training": "Training the paper's networks",
    "growth": "How time and memory grow",
    "then_and_now": "The same calls of an older commit and now",
    "imports": "Import time",
    "tracking": "Logging one matrix to a tracker, against its budget",
    "page": "The page of a thousand classes, against its budget",
    "coverage": "Coverage of 95 % intervals by the expected count of a cell, in percent",
    "designs": "Coverage of 95 % intervals for stratified and weighted test sets, in percent",
    "coverage_comparison": "Comparisons of two matrices: false alarms, power, coverage",
    "score_intervals": "Balanced accuracy: false alarms and coverage, in percent",
    "comparing": "How long a comparison takes",
    "gate": "Comparisons that fail `--fail-if-worse`, in percent",
    "estimate": "estimate_bi against the truth: error, coverage, bias",
    "separability_limit": "Bias of the separability, ours and of a regression that knows the truth",
    "bias_findings": "Classes that are called over- or under-predicted: false alarms, and found",
    "look_alikes": "Pairs that are called alike: false alarms, and pairs found",
    "ranked_pairs": "Similarity intervals of the pairs that lead the list",
    "more_data": "More data for the look-alike pair: gain in balanced accuracy, in points",
    "rebalancer_advice": "Where a Rebalancer is advised, of test sets with a bias, in percent",
    "rebalance": "Rebalancer on held-out data: gains in balanced, and change of plain accuracy",
}
# What these measure is not set against peers: they bring their own tables.
OWN_TABLES = {
    "bias_findings",
    "comparing",
    "coverage",
    "coverage_comparison",
    "designs",
    "estimate",
    "gate",
    "growth",
    "look_alikes",
    "more_data",
    "ranked_pairs",
    "rebalance",
    "rebalancer_advice",
    "score_intervals",
    "separability_limit",
}
PACKAGES = ["numpy", "scipy", "scikit-learn", "POT", "ipfn", "sinkhorn_knopp", "polars", "duckdb"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART")
    parser.add_argument("--quick", action="store_true", help="smaller cases, nothing written")
    options = parser.parse_args()
    # Before anything is measured: a package that is missing must not cost the result.
    machine = _machine()
    for part in options.parts or PARTS:
        load = os.getloadavg()[0]
        module = import_module(f"benchmarks.{part}")
        rows = module.run(quick=options.quick)
        print(f"## {PARTS[part]}\n\n{_table(part, rows)}\n", flush=True)
        if options.quick:
            continue
        MEASURED.mkdir(exist_ok=True)
        measured = {"machine": machine, "load": round(load, 1), "rows": rows}
        (MEASURED / f"{part}.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False))
        (ROOT / "benchmarks" / "RESULTS.md").write_text(_page())
        _publish(part, rows)
        if part == "scaling":
            from benchmarks.figure import measure_curves

            curves = json.dumps(measure_curves(), indent=1)
            (MEASURED / "curves.json").write_text(curves)
    if not options.quick:
        _draw()


def _publish(part: str, rows: list[dict[str, Any]]) -> None:
    """Write the tables and the picture of a part that the guide includes."""
    module = import_module(f"benchmarks.{part}")
    if hasattr(module, "publish"):
        module.publish(rows)
    elif part in OWN_TABLES:
        name = "comparing-speed" if part == "comparing" else part.replace("_", "-")
        write_text(ROOT / "docs" / "generated" / f"{name}.md", _table(part, rows) + "\n")
    if hasattr(module, "draw"):
        module.draw(rows, ROOT / "docs" / "images" / f"{part}.png")


def _draw() -> None:
    from benchmarks.figure import draw

    curves, counting = MEASURED / "curves.json", MEASURED / "counting.json"
    if curves.exists() and counting.exists():
        rows = json.loads(counting.read_text())["rows"]
        draw(ROOT / "docs" / "images" / "benchmarks.png", json.loads(curves.read_text()), rows)


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.python_version()}; {versions}"


def _page() -> str:
    page = (
        "# Benchmarks\n\n"
        "Written by `python -m benchmarks`. Times are the best of several runs in one process; the "
        "ratio is a peer's time over ours, so above 1 we are faster; parts with other tables "
        "measure growth, error rates or gains. The load is the number of other processes that "
        "wanted the same cores when a part began.\n"
    )
    for part, title in PARTS.items():
        file = MEASURED / f"{part}.json"
        if not file.exists():
            page += f"\n## {title}\n\nNot measured yet: `python -m benchmarks {part}`.\n"
            continue
        measured = json.loads(file.read_text())
        page += (
            f"\n## {title}\n\n{_table(part, measured['rows'])}\n\n"
            f"Machine: {measured['machine']}; load {measured['load']:g}.\n"
        )
    return page


def _table(part: str, rows: list[dict[str, Any]]) -> str:
    """Return a part's own table, or that of times and ratios."""
    if part in OWN_TABLES:
        return str(import_module(f"benchmarks.{part}").table(rows))
    lines = ["| case | who | time | ratio | |", "|---|---|---:|---:|---|"]
    for row in rows:
        note = row.get("note", "")
        if "residual" in row and not note:
            note = f"residual {row['residual']:.0e}"
        lines.append(
            f"| {row['case']} | {row['peer']} | {_time(row['seconds'])} "
            f"| {'–' if math.isinf(row['ratio']) else format(row['ratio'], '.3g')} | {note} |"
        )
    return "\n".join(lines)


def _time(seconds: float) -> str:
    if math.isinf(seconds):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


if __name__ == "__main__":
    main()
