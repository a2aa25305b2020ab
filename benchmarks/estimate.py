"""Is `estimate_bi` closer to the truth than counts plus epsilon, and do its intervals cover it?

A classifier is drawn, or taken from a large real matrix. Its exact bi-normalized matrix is the
truth. Test sets are sampled from it, and `estimate_bi` is compared with `normalize` at several
values of epsilon. The paper's question is asked of its own records: which of both, from the
imbalanced test set, is closer to the balanced matrix?
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.classifiers import (
    FAMILIES,
    RECORDS,
    balanced_matrices,
    class_shares,
    error_rates,
)
from deconfuse import ConfusionMatrix, estimate_bi, load_example, normalize, overlap
from deconfuse.errors import UndefinedCellsWarning
from deconfuse.statistics.estimate import BiEstimate, estimate_quietly

Floats = NDArray[np.float64]
Row = dict[str, Any]

# Classes, and how many classifiers and test sets are drawn per setting; and how many more for the
# bias of the separability alone.
SIZES = {10: 24, 30: 10, 100: 4}
SCORE_SETS = {10: 60, 30: 24, 100: 10}
SAMPLES = (5, 20, 100, 500)
ACCURACIES = (0.6, 0.9, 0.99)
SKEWS = (1, 100)
# By what 1 / n_classes is multiplied.
EPSILONS = {"epsilon 1/C": 1.0, "epsilon 0.3/C": 0.3, "epsilon 0.2/C": 0.2}
ESTIMATE, PAPER = "estimate_bi", "epsilon 1/C"
METHODS = (ESTIMATE, *EPSILONS)
# Expected count, or expected errors of a class, from ... to.
BINS = ((0.0, 0.1), (0.1, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 5.0), (5.0, 10.0), (10.0, math.inf))
REAL_SETS = 40
MANY_CLASSES, MANY_SETS = 1_000, 2
# Where all pairs are equally similar: classes, samples per class, accuracy.
EVEN_SIZES = ((10, 100, 0.9), (20, 50, 0.9), (50, 100, 0.8))
# Of the label shares, by Zipf's law.
EXPONENTS = (0.0, 1.5)
EVEN_SETS = 60
# Classes, samples of each, and by how much classes differ in difficulty (standard deviation of the
# log): pairs are as similar as the product of the difficulties of both says.
UNEVEN_SIZES = ((10, 100, 0.25), (10, 100, 0.5), (30, 20, 0.5), (30, 100, 0.25), (30, 100, 0.5))
UNEVEN_SETS = 100


def run(quick: bool) -> list[Row]:
    """Return one row per setting of the grid, per real matrix, and per dataset and alpha."""
    rows = []
    for n_classes, sets in SIZES.items():
        n_sets = max(2, sets // 10) if quick else sets
        settings = product(SAMPLES, FAMILIES, ACCURACIES, SKEWS)
        rows += [_setting(n_classes, setting, n_sets) for setting in settings]
        print(f"{n_classes} classes", flush=True)
    settings = product((20, 100), (*FAMILIES, "twins"), (0.9,), (1,))
    rows += [_setting(MANY_CLASSES, given, MANY_SETS) | {"part": "many"} for given in settings]
    rows += [_real(*given, 10 if quick else REAL_SETS) for given in _real_settings()]
    evenly = product(EVEN_SIZES, EXPONENTS)
    rows += [_even(*size, exponent, 6 if quick else EVEN_SETS) for size, exponent in evenly]
    rows += [_uneven(*size, 6 if quick else UNEVEN_SETS) for size in UNEVEN_SIZES]
    return [*rows, *_paper_rows()]


def _setting(n_classes: int, setting: tuple[int, str, float, int], n_sets: int) -> Row:
    samples, family, accuracy, skew = setting
    seed = [n_classes, samples, (*FAMILIES, "twins").index(family), round(1000 * accuracy), skew]
    rng = np.random.default_rng(seed)

    def draw() -> Floats:
        rates = error_rates(family, n_classes, accuracy, rng)
        return samples * n_classes * class_shares(n_classes, skew, rng)[:, None] * rates

    names = {"samples": samples, "family": family, "accuracy": accuracy, "skew": skew}
    row = {"part": "grid", "n_classes": n_classes, **names, **_measure(draw, n_sets, rng)}
    if n_classes in SIZES:
        row["score"] = _score_bias(draw, SCORE_SETS[n_classes] * n_sets // SIZES[n_classes], rng)
    return row


def _real_settings() -> Iterable[tuple[str, list[Floats], int]]:
    """Yield large real matrices, and how many samples per class to take from them."""
    examples = {"consonants": "consonants", "two-digit numbers": "two-digit-numbers"}
    matrices: dict[str, list[Floats]] = dict(balanced_matrices())
    for name, example in examples.items():
        counts: Any = load_example(example).counts  # type: ignore[arg-type]
        matrices[name] = [np.asarray(counts, dtype=np.float64)]
    yield from ((name, some, n) for name, some in matrices.items() for n in (20, 100))


def _real(name: str, matrices: list[Floats], samples: int, n_sets: int) -> Row:
    rng = np.random.default_rng([samples, *name.encode()])

    def draw() -> Floats:
        # A cell that was never seen gets a hundredth of a sample, so that the truth exists.
        shares = matrices[rng.integers(len(matrices))] + 0.01
        return np.asarray(samples * len(shares) * shares / shares.sum())

    n_classes = len(matrices[0])
    size = {"n_classes": n_classes, "samples": samples}
    sets = n_sets if n_classes <= 10 else max(2, n_sets // 5)
    return {"part": "real", "name": name, **size, **_measure(draw, sets, rng)}


def _even(n_classes: int, samples: int, accuracy: float, exponent: float, n_sets: int) -> Row:
    rng = np.random.default_rng([n_classes, samples, round(10 * exponent)])
    rates = np.full((n_classes, n_classes), (1 - accuracy) / (n_classes - 1))
    np.fill_diagonal(rates, accuracy)
    shares = np.arange(1, n_classes + 1) ** -exponent
    expected = samples * n_classes * (shares / shares.sum())[:, None] * rates
    size = {"n_classes": n_classes, "samples": samples, "accuracy": accuracy}
    found = _measure(lambda: expected, n_sets, rng)
    return {"part": "even", **size, "exponent": exponent, **found}


def _uneven(n_classes: int, samples: int, spread: float, n_sets: int) -> Row:
    rng = np.random.default_rng([n_classes, samples, round(100 * spread)])

    def draw() -> Floats:
        difficulty = np.exp(spread * rng.normal(size=n_classes))
        rates = np.outer(difficulty, difficulty)
        np.fill_diagonal(rates, 0)
        rates *= 0.1 / 0.9 / rates.sum(axis=1).mean()
        np.fill_diagonal(rates, 1)
        return np.asarray(samples * rates / rates.sum(axis=1, keepdims=True))

    size = {"n_classes": n_classes, "samples": samples, "spread": spread}
    return {"part": "uneven", **size, **_measure(draw, n_sets, rng)}


def _measure(draw: Callable[[], Floats], n_sets: int, rng: np.random.Generator) -> Row:
    """Return errors, biases and coverage over test sets of drawn expected counts."""
    errors: dict[str, list[list[float]]] = {method: [] for method in METHODS}
    covered = {method: np.zeros((3, len(BINS), 2)) for method in METHODS}
    hardest_held = {method: [0, 0] for method in METHODS}
    score_held = 0
    for _ in range(n_sets):
        expected = draw()
        counts = rng.poisson(expected)
        estimate, known, truth = estimate_and_truth(counts, expected)
        answers = {ESTIMATE: (estimate.matrix[known], estimate.low[known], estimate.high[known])}
        for method, times in EPSILONS.items():
            normalized = normalize(counts[known], "bi", epsilon=times / len(truth))
            answers[method] = (np.asarray(normalized.matrix), *normalized.confidence_interval())
        for method, (matrix, low, high) in answers.items():
            errors[method].append(_errors(matrix, truth))
            held = (low <= truth) & (truth <= high)
            covered[method] += _tally(held, expected[known])
            for which, values in enumerate((matrix, truth)):
                hardest_held[method][which] += int(held.diagonal()[values.diagonal().argmin()])
        score = estimate.separability
        # A label that is never predicted counts as 0, in the score and here.
        share = score.value / estimate.diagonal[known[1]].mean()
        score_held += score.low <= share * truth.diagonal().mean() <= score.high
    squares = [np.array(errors[method])[:, 0] for method in (ESTIMATE, PAPER)]
    gaps = squares[0] - squares[1]
    return {
        "sets": n_sets,
        # Mean squared error, Overlap of errors, bias of the separability.
        "errors": {
            method: np.mean(some, axis=0).round(9).tolist() for method, some in errors.items()
        },
        # Of the squared error against the paper's recipe, in standard errors.
        "worse_by": round(float(gaps.mean() / (gaps.std(ddof=1) / np.sqrt(n_sets))), 3),
        # Diagonal and others by expected count, diagonal by expected errors of the class:
        # intervals that held / intervals.
        "covered": {
            method: [" ".join(f"{held:.0f}/{cells:.0f}" for cells, held in side) for side in tally]
            for method, tally in covered.items()
        },
        # Sets in which the interval of the class held that seems the hardest, and that is it.
        "hardest_held": hardest_held,
        "score_held": int(score_held),
    }


def estimate_and_truth(
    counts: NDArray[np.int64], expected: Floats
) -> tuple[BiEstimate, Any, Floats]:
    """Return the estimate, the classes that have one, and the truth of those."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedCellsWarning)
        estimate = estimate_bi(counts)
    known = np.ix_(*2 * [np.flatnonzero(~np.isnan(estimate.diagonal))])
    return estimate, known, np.asarray(normalize(expected[known], "bi", epsilon=0.0).matrix)


def _score_bias(draw: Callable[[], Floats], n_sets: int, rng: np.random.Generator) -> list[float]:
    """Return the bias of the separability and its standard error."""
    gaps, chance = [], []
    for _ in range(n_sets):
        expected = draw()
        counts = rng.poisson(expected)
        estimate, known, truth = estimate_and_truth(counts, expected)
        gaps.append(estimate.diagonal[known[1]].mean() - truth.diagonal().mean())
        chance.append(luck(counts, expected))
    return bias_without_luck(gaps, chance)


def luck(counts: NDArray[np.int64], expected: Floats) -> list[float]:
    """Return by how much hits exceed what is expected of as many samples: by class, and of all."""
    samples = counts.sum(axis=1)
    excess = counts.diagonal() - samples * expected.diagonal() / expected.sum(axis=1)
    seen = samples > 0
    return [float((excess[seen] / samples[seen]).mean()), float(excess.sum() / samples.sum())]


def bias_without_luck(gaps: list[float], chance: list[list[float]]) -> list[float]:
    """Return the mean of gaps and its standard error.

    Most of their noise is luck. That is zero on average, so it is regressed out.
    """
    n_sets = len(gaps)
    known = np.column_stack([np.ones(n_sets), chance])
    bias = np.linalg.lstsq(known, np.array(gaps))[0]
    rest = np.array(gaps) - known @ bias
    error = np.sqrt(np.square(rest).sum() / max(n_sets - 3, 1) / n_sets)
    return [round(float(bias[0]), 5), round(float(error), 5)]


def _errors(matrix: Floats, truth: Floats) -> list[float]:
    """Return the mean squared error, the Overlap of the errors alone, the error of the mean hit."""
    square = float(np.square(matrix - truth).mean())
    gap = float(matrix.diagonal().mean() - truth.diagonal().mean())
    return [square, _error_overlap(matrix, truth), gap]


def _error_overlap(one: Floats, other: Floats) -> float:
    away = 1.0 - np.eye(len(one))
    return float(overlap(one * away, other * away))


def _tally(held: NDArray[np.bool_], expected: Floats) -> Floats:
    """Return intervals and those that held, as "covered" has them."""
    hits, others = held.diagonal(), ~np.eye(len(held), dtype=bool)
    errors = (expected + expected.T).sum(axis=1, where=others)
    sides = ((hits, expected.diagonal()), (held[others], expected[others]), (hits, errors))
    tally = np.zeros((3, len(BINS), 2))
    for (side, (kept, sizes)), (bin_, (low, high)) in product(enumerate(sides), enumerate(BINS)):
        chosen = (sizes >= low) & (sizes < high)
        tally[side, bin_] = chosen.sum(), kept[chosen].sum()
    return tally


def _paper_rows() -> list[Row]:
    """Return, per dataset and alpha, how close both come to M1 from M2, one number per seed."""
    records = [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*/*.json"))]
    balanced = {
        (one["config"]["dataset"], one["config"]["seed"]): np.array(one["matrix"], dtype=float)
        for one in records
        if one["config"]["sampling"] == "balanced"
    }
    found: dict[tuple[str, float], Row] = {}
    for record in records:
        config = record["config"]
        target = balanced.get((config["dataset"], config["seed"]))
        if config["sampling"] != "relative" or target is None:
            continue
        counts = np.array(record["matrix"], dtype=float)
        matrices = (
            # A class that was never predicted has no estimate, and shares nothing with the target.
            np.nan_to_num(estimate_quietly(ConfusionMatrix.from_counts(counts), 0.95).matrix),
            np.asarray(normalize(counts, "bi", epsilon=0.1).matrix),
        )
        key = (config["dataset"], config["alpha"])
        row = found.setdefault(
            key, {"part": "paper", "name": key[0], "alpha": key[1], "closer": []}
        )
        even = np.asarray(normalize(target, "bi", epsilon=0.1).matrix)
        row["closer"].append(
            [
                [round(close(matrix, goal), 6) for goal in (target, even)]
                for matrix in matrices
                for close in (overlap, _error_overlap)
            ]
        )
    return [found[key] for key in sorted(found)]


def table(rows: list[Row]) -> str:
    """Return all tables."""
    from benchmarks.estimate_tables import TABLES

    return "\n\n".join(f"{title}\n\n{make(rows)}" for _, title, make in TABLES)


def publish(rows: list[Row]) -> None:
    """Write the tables and the picture that the guide includes."""
    from benchmarks.estimate_tables import publish as write

    write(rows)
