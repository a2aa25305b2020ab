"""Tables and the picture of `benchmarks.estimate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.estimate import BINS, ESTIMATE, METHODS, PAPER
from benchmarks.tables import markdown
from deconfuse._files import write_text

Floats = NDArray[np.float64]
Row = dict[str, Any]

# Of a table's columns about the separability.
SCORE_HEAD = ["bias of separability, ε = 1/C", "`estimate_bi`", "its interval holds"]
ROOT = Path(__file__).parent.parent
FACTORS = {
    "n_classes": "{} classes",
    "samples": "{} samples per class",
    "family": "likeness: {}",
    "accuracy": "accuracy {}",
    "skew": "largest class {} times the smallest",
}


def error_table(rows: list[Row]) -> str:
    """Return errors of `estimate_bi` against the paper's recipe, by each factor of the grid."""
    head = [
        "", "settings", "error (RMSE) against ε = 1/C", "worst setting", "settings worse",
        "Overlap of errors, ε = 1/C", "`estimate_bi`", "bias of separability, ε = 1/C",
        "`estimate_bi`", "largest bias of a setting", "settings above 0.01 beyond noise",
    ]  # fmt: skip
    return markdown(head, [[name, *_error_cells(some)] for name, some in _by_factor(rows)])


def _by_factor(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    grid = _part(rows, "grid")
    groups = [("**all**", grid)]
    for factor, words in FACTORS.items():
        groups += [
            (words.format(value), [row for row in grid if row[factor] == value])
            for value in dict.fromkeys(row[factor] for row in grid)
        ]
    return groups


def _error_cells(rows: list[Row]) -> list[str]:
    ratios = [_ratio(row) for row in rows]
    overlaps = [np.mean([_mean(row, method, 1) for row in rows]) for method in (PAPER, ESTIMATE)]
    paper = np.mean([abs(_mean(row, PAPER, 2)) for row in rows])
    bias, noise = np.abs(np.array([row["score"] for row in rows])).T
    return [
        str(len(rows)),
        f"**{np.exp(np.mean(np.log(ratios))):.2f}**",
        f"{max(ratios):.2f}",
        str(sum(row["worse_by"] > 2 for row in rows)),
        *(f"{value:.3f}" for value in overlaps),
        f"{paper:.4f}",
        f"{bias.mean():.4f}",
        f"{bias.max():.3f}",
        str(int((bias > 0.01 + 2 * noise).sum())),
    ]


def coverage_table(rows: list[Row]) -> str:
    """Return the coverage of the truth by expected count, in percent."""
    shown = ("**all**", "accuracy", "samples")
    groups = [(name, some) for name, some in _by_factor(rows) if any(x in name for x in shown)]
    head = ["", "cells", "method", *(_bin_name(bin_) for bin_ in BINS), "all"]
    lines = [
        [name, cells, _title(method), *_coverages(some, method, side)]
        for name, some in groups
        for side, cells in enumerate(("diagonal", "errors"))
        for method in (ESTIMATE, PAPER, "epsilon 0.3/C")
    ]
    return markdown(head, lines)


def diagonal_table(rows: list[Row]) -> str:
    """Return the coverage of the diagonal by expected errors, and of the class that looks worst."""
    head = ["", "method", *(_bin_name(bin_) for bin_ in BINS), "all", "class that seems hardest",
            "class that is hardest"]  # fmt: skip
    lines = []
    for name, some in _by_factor(rows):
        sets = sum(row["sets"] for row in some)
        for method in (ESTIMATE, PAPER, "epsilon 0.3/C") if name == "**all**" else (ESTIMATE,):
            hardest = np.sum([row["hardest_held"][method] for row in some], axis=0)
            lines.append(
                [name, _title(method), *_coverages(some, method, 2),
                 *(f"{100 * held / sets:.1f}" for held in hardest)]
            )  # fmt: skip
    return markdown(head, lines)


def score_table(rows: list[Row]) -> str:
    """Return bias and coverage of the separability by samples per class."""
    grid = _part(rows, "grid")
    head = ["samples per class", "skew", "bias, ε = 1/C", "bias, `estimate_bi`", "largest bias of a"
            " setting", "coverage of its interval, %"]  # fmt: skip
    lines = []
    for samples in dict.fromkeys(row["samples"] for row in grid):
        for skew in dict.fromkeys(row["skew"] for row in grid):
            some = [row for row in grid if row["samples"] == samples and row["skew"] == skew]
            own = [row["score"][0] for row in some]
            biases = np.mean([_mean(row, PAPER, 2) for row in some]), np.mean(own)
            largest = np.abs(own).max()
            held = sum(row["score_held"] for row in some) / sum(row["sets"] for row in some)
            lines.append(
                [samples, skew, *(f"{bias:+.4f}" for bias in biases), f"{largest:.3f}",
                 f"{100 * held:.1f}"]
            )  # fmt: skip
    return markdown(head, lines)


def epsilon_table(rows: list[Row]) -> str:
    """Return what each epsilon does to error, bias and coverage."""
    grid = _part(rows, "grid")
    head = ["", "error (RMSE) against ε = 1/C", "Overlap of errors", "bias of separability",
            *(f"diagonal covered, accuracy {a}, %" for a in (0.6, 0.9, 0.99)),
            "errors covered, 1 sample and more, %"]  # fmt: skip
    lines = []
    for method in METHODS:
        ratios = [math.sqrt(_mean(row, method, 0) / _mean(row, PAPER, 0)) for row in grid]
        diagonal = [
            _share([row for row in grid if row["accuracy"] == a], method, 0, 0)
            for a in (0.6, 0.9, 0.99)
        ]
        lines.append(
            [
                _title(method),
                f"{np.exp(np.mean(np.log(ratios))):.2f}",
                f"{np.mean([_mean(row, method, 1) for row in grid]):.3f}",
                f"{np.mean([abs(_bias(row, method)) for row in grid]):.4f}",
                *(f"{100 * value:.1f}" for value in diagonal),
                f"{100 * _share(grid, method, 1, 3):.1f}",
            ]
        )
    return markdown(head, lines)


def real_table(rows: list[Row]) -> str:
    """Return errors and coverage on samples of large real matrices."""
    return _table_of("matrix", [(row["name"], row) for row in _part(rows, "real")])


def many_table(rows: list[Row]) -> str:
    """Return errors and coverage with many classes."""
    return _table_of("likeness", [(row["family"], row) for row in _part(rows, "many")])


def _table_of(what: str, named: list[tuple[str, Row]]) -> str:
    head = [what, "classes", "samples per class", "error (RMSE), ε = 1/C", "`estimate_bi`",
            "ratio", "Overlap of errors, ε = 1/C", "`estimate_bi`", "diagonal covered, %",
            "errors covered, %", *SCORE_HEAD]  # fmt: skip
    lines = []
    for name, row in named:
        rmse = [math.sqrt(_mean(row, method, 0)) for method in (PAPER, ESTIMATE)]
        lines.append(
            [
                name, row["n_classes"], row["samples"],
                *(f"{value:.4f}" for value in rmse), f"**{rmse[1] / rmse[0]:.2f}**",
                *(f"{_mean(row, method, 1):.3f}" for method in (PAPER, ESTIMATE)),
                *(f"{100 * _share([row], ESTIMATE, side, 0):.1f}" for side in (0, 1)),
                *_score(row),
            ]
        )  # fmt: skip
    return markdown(head, lines)


def even_table(rows: list[Row]) -> str:
    """Return the separability where all pairs are equally similar."""
    head = ["classes", "samples per class", "accuracy", "label shares", *SCORE_HEAD]
    lines = []
    for row in _part(rows, "even"):
        shares = f"Zipf, exponent {row['exponent']:g}" if row["exponent"] else "even"
        lines.append([row["n_classes"], row["samples"], row["accuracy"], shares, *_score(row)])
    return markdown(head, lines)


def uneven_table(rows: list[Row]) -> str:
    """Return how often the diagonal is covered where classes differ in difficulty."""
    head = ["classes", "samples per class", "spread of difficulty", "diagonal covered, %",
            "class that is hardest", "ε = 0.3/C", "class that is hardest"]  # fmt: skip
    lines = []
    for row in _part(rows, "uneven"):
        cells = []
        for method in (ESTIMATE, "epsilon 0.3/C"):
            held = row["hardest_held"][method][1]
            cells += [f"{100 * _share([row], method, 2, 0):.1f}", f"{100 * held / row['sets']:.0f}"]
        lines.append([row["n_classes"], row["samples"], row["spread"], *cells])
    return markdown(head, lines)


def _score(row: Row) -> list[str]:
    """Return the bias of the separability with both, and how often the estimate's interval held."""
    biases = [f"{_mean(row, method, 2):+.3f}" for method in (PAPER, ESTIMATE)]
    return [*biases, f"{row['score_held']} of {row['sets']}"]


def paper_table(rows: list[Row]) -> str:
    """Return how close bi and the estimate of M2 are to M1, in percent."""
    head = ["dataset", "α", "runs", "Overlap with M1, bi", "`estimate_bi`", "errors alone, bi",
            "`estimate_bi`", "errors of bi(M1), bi", "`estimate_bi`",
            "runs closer, errors"]  # fmt: skip
    lines = []
    for row in _part(rows, "paper"):
        # Seeds, (estimate overlap, estimate errors, bi overlap, bi errors), (M1, bi(M1)).
        close = 100 * np.array(row["closer"])
        mean = close.mean(axis=0)
        closer = int((close[:, 1, 0] > close[:, 3, 0]).sum())
        shown = ((2, 0), (0, 0), (3, 0), (1, 0), (3, 1), (1, 1))
        lines.append(
            [row["name"], f"{row['alpha']:g}", len(close),
             *(f"{mean[place]:.1f}" for place in shown),
             closer]
        )  # fmt: skip
    return markdown(head, lines)


TABLES: list[tuple[str, str, Callable[[list[Row]], str]]] = [
    ("estimate-error.md", "Error against the paper's recipe", error_table),
    ("estimate-coverage.md", "Coverage of the truth by expected count, in percent", coverage_table),
    ("estimate-diagonal.md", "Coverage of the diagonal by expected errors", diagonal_table),
    ("estimate-separability.md", "Separability", score_table),
    ("estimate-epsilon.md", "What each epsilon gives", epsilon_table),
    ("estimate-many.md", "Many classes", many_table),
    ("estimate-real.md", "Samples of large real matrices", real_table),
    ("estimate-even.md", "Separability where all pairs are equally similar", even_table),
    ("estimate-uneven.md", "The diagonal where classes differ in difficulty", uneven_table),
    ("estimate-paper.md", "From M2 to M1, the paper's runs", paper_table),
]


def publish(rows: list[Row]) -> None:
    """Write the tables and the picture that the guide includes."""
    for name, _, make in TABLES:
        write_text(ROOT / "docs" / "generated" / name, make(rows) + "\n")
    draw(rows, ROOT / "docs" / "images" / "estimate.png")


def draw(rows: list[Row], path: Path) -> None:
    """Draw error ratios of all settings, and coverage of the diagonal by accuracy."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    grid = _part(rows, "grid")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    samples = list(dict.fromkeys(row["samples"] for row in grid))
    accuracies = list(dict.fromkeys(row["accuracy"] for row in grid))
    colours = ["#1b6ca8", "#d1731d", "#3b7d4f"]
    for k, (accuracy, colour) in enumerate(zip(accuracies, colours, strict=True)):
        for x, n in enumerate(samples):
            ratios = [_ratio(r) for r in grid if (r["samples"], r["accuracy"]) == (n, accuracy)]
            places = x + 0.22 * (k - 1) + np.linspace(-0.08, 0.08, len(ratios))
            label = f"accuracy {accuracy}" if x == 0 else None
            left.plot(places, sorted(ratios), ".", ms=4, color=colour, label=label)
    left.axhline(1.0, color="0.5", lw=1)
    left.set_xticks(range(len(samples)), [str(n) for n in samples])
    left.set_xlabel("samples per class")
    left.set_ylabel("error, estimate_bi / bi with ε = 1/C")
    left.set_ylim(0, 1.35)
    left.legend(loc="upper left")
    right.axhspan(93, 97, color="#d9730d", alpha=0.15)
    styles = {ESTIMATE: "o-", PAPER: "s--", "epsilon 0.3/C": "^:"}
    for method, style in styles.items():
        for accuracy, colour in zip(accuracies, colours, strict=True):
            values = [
                100 * _share([r for r in grid if (r["samples"], r["accuracy"]) == (n, accuracy)],
                             method, 0, 0)
                for n in samples
            ]  # fmt: skip
            name = "estimate_bi" if method == ESTIMATE else method.replace("epsilon", "bi, ε =")
            label = name if accuracy == accuracies[0] else None
            right.plot(range(len(samples)), values, style, ms=4, color=colour, label=label)
    right.set_xticks(range(len(samples)), [str(n) for n in samples])
    right.set_xlabel("samples per class")
    right.set_ylabel("diagonal cells covered, %")
    right.legend(loc="lower right")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _part(rows: list[Row], part: str) -> list[Row]:
    return [row for row in rows if row["part"] == part]


def _mean(row: Row, method: str, which: int) -> float:
    return float(row["errors"][method][which])


def _bias(row: Row, method: str) -> float:
    return float(row["score"][0]) if method == ESTIMATE else _mean(row, method, 2)


def _ratio(row: Row) -> float:
    return math.sqrt(_mean(row, ESTIMATE, 0) / _mean(row, PAPER, 0))


def covered(rows: list[Row], method: str, side: int) -> Floats:
    """Return intervals that held and all intervals, by expected count."""
    tallies = [[pair.split("/") for pair in row["covered"][method][side].split()] for row in rows]
    return np.asarray(np.array(tallies, dtype=float).sum(axis=0))


def _coverages(rows: list[Row], method: str, side: int) -> list[str]:
    tally = covered(rows, method, side)
    return [_percent(held, cells) for held, cells in (*tally, tally.sum(axis=0))]


def _share(rows: list[Row], method: str, side: int, first_bin: int) -> float:
    held, cells = covered(rows, method, side)[first_bin:].sum(axis=0)
    return float(held / cells)


def _title(method: str) -> str:
    return "`estimate_bi`" if method == ESTIMATE else method.replace("epsilon", "ε =")


def _percent(held: float, cells: float) -> str:
    # Fewer intervals than this say little.
    return f"{100 * held / cells:.1f}" if cells >= 100 else "–"


def _bin_name(bin_: tuple[float, float]) -> str:
    low, high = bin_
    return f"≥ {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"
