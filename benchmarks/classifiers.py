"""Made-up classifiers with a known bi-normalized matrix: four families of likeness."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RECORDS = Path(__file__).parent.parent / "results" / "records"
FAMILIES = ("superclasses", "mutual", "one-way", "real")
_N_TWINS = 20


def error_rates(family: str, n_classes: int, accuracy: float, rng: np.random.Generator) -> Floats:
    """Return the rates of predictions of each true class, of this mean accuracy."""
    likeness = _LIKENESS[family](n_classes, rng)
    np.fill_diagonal(likeness, 0.0)
    favours = np.exp(0.5 * rng.normal(size=n_classes))
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        rates = (np.exp(middle) * likeness + np.eye(n_classes)) * favours
        rates /= rates.sum(axis=1, keepdims=True)
        if rates.diagonal().mean() > accuracy:
            low = middle
        else:
            high = middle
    return np.asarray(rates)


def class_shares(n_classes: int, skew: float, rng: np.random.Generator) -> Floats:
    """Return label shares, the largest ``skew`` times the smallest, in random order."""
    shares = rng.permutation(np.geomspace(1.0, skew, n_classes))
    return np.asarray(shares / shares.sum())


@cache
def balanced_matrices() -> dict[str, list[Floats]]:
    """Return the matrices of the paper's balanced runs, by dataset."""
    found: dict[str, list[Floats]] = {}
    for path in sorted(RECORDS.glob("*/*.json")):
        record = json.loads(path.read_text())
        if record["config"]["sampling"] == "balanced":
            matrix = np.array(record["matrix"], dtype=np.float64)
            found.setdefault(record["config"]["dataset"], []).append(matrix)
    return found


def _superclasses(n_classes: int, rng: np.random.Generator) -> Floats:
    """Classes of a tree of three levels, some harder than others, nearly symmetric."""
    codes = rng.integers(4, size=(n_classes, 3))
    apart = np.zeros((n_classes, n_classes))
    for depth in (1, 2, 3):
        apart += (codes[:, None, :depth] != codes[None, :, :depth]).any(axis=-1)
    mutual = rng.normal(size=(n_classes, n_classes))
    logs = 0.35 * (mutual + mutual.T) + 0.3 * rng.normal(size=(n_classes, n_classes))
    difficulty = 0.15 * rng.normal(size=n_classes)
    return np.asarray(np.exp(logs - 1.2 * apart + difficulty[:, None] + difficulty))


def _mutual(n_classes: int, rng: np.random.Generator) -> Floats:
    """A few mutual look-alikes take most of the errors; accuracy differs between classes."""
    alike = rng.gamma(0.3, size=(n_classes, n_classes))
    alike = _equal_rows(alike + alike.T)
    return np.asarray(alike * np.clip(rng.normal(1.0, 0.5, n_classes), 0.05, None)[:, None])


def _one_way(n_classes: int, rng: np.random.Generator) -> Floats:
    """No symmetry at all."""
    return _equal_rows(rng.gamma(0.5, size=(n_classes, n_classes)))


def _twins(n_classes: int, rng: np.random.Generator) -> Floats:
    """Twenty pairs of classes are twins; all others are confused alike, and rarely."""
    alike = np.full((n_classes, n_classes), 1.0 / n_classes)
    first, second = rng.permutation(n_classes)[: 2 * _N_TWINS].reshape(2, -1)
    alike[first, second] = alike[second, first] = 3.0
    return alike


def _real(n_classes: int, rng: np.random.Generator) -> Floats:
    """Balanced matrices of the paper's runs; for more than ten classes products of two of them."""
    matrices = [one for some in balanced_matrices().values() for one in some]
    counts = np.ones((1, 1))
    while len(counts) < n_classes:
        counts = np.kron(counts, matrices[rng.integers(len(matrices))] + 0.05)
    chosen = np.sort(rng.permutation(len(counts))[:n_classes])
    counts = counts[np.ix_(chosen, chosen)]
    hits = np.sqrt(counts.diagonal())
    return np.asarray(counts / hits[:, None] / hits)


def _equal_rows(likeness: Floats) -> Floats:
    np.fill_diagonal(likeness, 0.0)
    return np.asarray(likeness / likeness.sum(axis=1, keepdims=True))


_LIKENESS = {
    "superclasses": _superclasses,
    "mutual": _mutual,
    "one-way": _one_way,
    "real": _real,
    "twins": _twins,
}
