"""An outside judge: do the matrices of networks rank confusions as people do?

CIFAR-10H (Peterson, Battleday, Griffiths and Russakovsky 2019) has the answers of about fifty
people for each test image of CIFAR-10. Its licence forbids to ship it; it is read from a file that
the user has, and only correlations with it are kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from deconfuse._files import write_text
from deconfuse.errors import InputError
from deconfuse.experiments.analysis import Matrix, Sample, normalizations
from deconfuse.experiments.datasets import load_dataset
from deconfuse.experiments.records import Record
from deconfuse.experiments.text import mean_and_interval, section

__all__ = [
    "Comparison",
    "compare_with_people",
    "people_section",
    "people_verdict",
    "read_answers",
    "read_comparison",
    "write_comparison",
]

#: The dataset that people were shown.
_DATASET = "cifar10"

#: The sha256 of ``data/cifar10h-counts.npy`` in the public repository jcpeterson/cifar-10h.
_SHA256 = "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff"

#: What is compared with people's answers.
MATRICES = ("bi", "row", "col", "raw")

#: What is ranked: each error with its direction, or each pair of classes with both added up.
KINDS = ("directed", "pairs")

#: Spearman's correlation by matrix and kind (such as "bi, pairs"), level and seed.
Comparison = dict[str, dict[str, dict[int, float]]]


def read_answers(path: str | os.PathLike[str], labels: NDArray[np.int64]) -> Matrix:
    """Return people's confusion matrix: true classes on rows, what people said on columns.

    ``labels`` are the classes of the test images, in the order of the test batch.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"`--human` must be a file that can be read, got {path} ({error.strerror})."
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != _SHA256:
        raise InputError(
            f"{path} must be CIFAR-10H's cifar10h-counts.npy with the sha256 {_SHA256}, "
            f"got {digest}.",
            hint="get data/cifar10h-counts.npy from github.com/jcpeterson/cifar-10h.",
        )
    answers = np.load(io.BytesIO(content), allow_pickle=False)
    matrix = np.zeros((answers.shape[1], answers.shape[1]))
    np.add.at(matrix, labels, answers)
    return matrix


def compare_with_people(
    records: Sequence[Record], path: str | os.PathLike[str], data: str | os.PathLike[str]
) -> Comparison:
    """Correlate the confusions of each imbalanced CIFAR-10 run with those of people.

    Only cells off the diagonal count, each with its direction, and added up with its mirror image.
    """
    people = read_answers(path, load_dataset(_DATASET, data).test_labels)
    found: Comparison = {f"{name}, {kind}": {} for kind in KINDS for name in MATRICES}
    for record in records:
        config = record.config
        if config.dataset != _DATASET or config.sampling not in ("relative", "balanced"):
            continue
        level = "balanced" if config.alpha is None else f"{config.alpha:g}"
        matrices = normalizations(record.matrix, record.epsilon)
        matrices["raw"] = record.matrix.astype(np.float64)
        for name in MATRICES:
            matrix = matrices[name]
            both = {"directed": (people, matrix), "pairs": (people + people.T, matrix + matrix.T)}
            for kind, pair in both.items():
                found[f"{name}, {kind}"].setdefault(level, {})[config.seed] = _correlation(*pair)
    return found


def _correlation(one: Matrix, other: Matrix) -> float:
    # In symmetric matrices each pair is there twice, which changes no ranking.
    errors = ~np.eye(len(one), dtype=bool)
    return float(spearmanr(one[errors], other[errors]).statistic)


def lead(found: Comparison, kind: str, other: str, level: str) -> Sample:
    """Return bi's correlations minus another matrix's, seed by seed."""
    first, second = found[f"bi, {kind}"][level], found[f"{other}, {kind}"][level]
    return Sample(np.array([first[seed] - second[seed] for seed in sorted(first)]))


def write_comparison(path: Path, found: Comparison) -> None:
    """Write the correlations, rounded to six digits."""
    rounded = {
        name: {
            level: {seed: round(value, 6) for seed, value in sorted(by_seed.items())}
            for level, by_seed in levels.items()
        }
        for name, levels in found.items()
    }
    write_text(path, json.dumps({"sha256": _SHA256, "spearman": rounded}, indent=1) + "\n")


def read_comparison(path: Path) -> Comparison:
    """Read what :func:`write_comparison` wrote; nothing where there is nothing."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8"))["spearman"]
    return {
        name: {
            level: {int(seed): float(value) for seed, value in by_seed.items()}
            for level, by_seed in levels.items()
        }
        for name, levels in stored.items()
    }


def people_section(found: Comparison) -> str:
    """Return the section that compares networks with people; nothing where there is nothing."""
    if not found:
        return ""
    rows = []
    for kind in KINDS:
        there = found[f"bi, {kind}"]
        for level in [name for name in ("balanced",) if name in there] + _uneven(found):
            of_kind = {name: found[f"{name}, {kind}"][level] for name in MATRICES}
            means = [f"{np.mean(list(by_seed.values())):.3f}" for by_seed in of_kind.values()]
            gaps = [
                mean_and_interval(lead(found, kind, other, level), 1.0, "+.3f")
                for other in MATRICES[1:]
            ]
            name = level if level == "balanced" else f"α = {level}"
            rows.append([f"{name}, {kind}", str(len(there[level])), *means, *gaps])
    return section(
        "An outside judge: people",
        "CIFAR-10H has the answers of people for CIFAR-10's test images. Spearman's correlation of "
        "a network's errors with those of people, and differences paired by seed. *Directed*: the "
        "90 off-diagonal cells; *pairs*: the 45 pairs of classes, both directions added up. "
        f"Result: {people_verdict(found)}",
        ["", "n", *MATRICES, *(f"bi − {other}" for other in MATRICES[1:])],
        rows,
    )


def people_verdict(found: Comparison) -> str:
    """Say whether bi keeps the likeness that people see, level by level."""
    levels = _uneven(found)
    words = []
    for kind in KINDS:
        wins = {
            other: sum(lead(found, kind, other, level).interval()[0] > 0 for level in levels)
            for other in MATRICES[1:]
        }
        words.append("than " + ", ".join(f"{other} in {n}" for other, n in wins.items()))
    return (
        f"at {len(levels)} uneven levels bi ranks errors more as people do {words[0]} of them, and "
        f"pairs of classes {words[1]} (intervals above zero)."
    )


def _uneven(found: Comparison) -> list[str]:
    levels = [level for level in found["bi, directed"] if level != "balanced"]
    return sorted(levels, key=float, reverse=True)
