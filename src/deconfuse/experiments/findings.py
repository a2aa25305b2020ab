"""What the paper says beside its two experiments, measured from the records alone.

Every function takes records and returns samples over seeds; nothing is trained or drawn here,
except for the split of a test set in two, which is seeded by the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.analysis import (
    METHODS,
    Matrix,
    Sample,
    normalizations,
    off_diagonal_overlap,
)
from deconfuse.experiments.config import random_state
from deconfuse.experiments.records import Record

__all__ = [
    "convergence_rates",
    "invariance",
    "noise_ceiling",
    "persistence",
    "reliability",
    "stripes",
]

Values = dict[int, list[float]]


def persistence(records: Sequence[Record], *, off_diagonal: bool = False) -> dict[str, Sample]:
    """Return how alike runs of one seed with different draws of labels are, by normalization.

    Similarity should persist and bias vary, so the normalization that shows similarity alone gives
    the most alike matrices. One number per seed: the mean over its pairs of levels.
    """
    compare = off_diagonal_overlap if off_diagonal else dc.overlap
    found: dict[str, Values] = {method: {} for method in METHODS}
    for seed, runs in _by_seed(records):
        estimates = [normalizations(run.matrix, run.epsilon) for run in runs]
        for one, other in combinations(estimates, 2):
            for method in METHODS:
                found[method].setdefault(seed, []).append(compare(one[method], other[method]))
    return {method: _means(values) for method, values in found.items() if values}


def noise_ceiling(records: Sequence[Record]) -> dict[str, Sample]:
    """Return how close bi comes to M1 when nothing but the seed differs, and how close M2 does.

    ``"balanced"`` is bi of the balanced models of all other seeds; a level such as ``"0.1"`` is bi
    of the imbalanced run of the same seed minus that. ``"other seed"`` is bi of the mildest level,
    against M1 of its own seed minus against those of the others: what a shared initialization does.
    """
    truths = {r.config.seed: r for r in records if r.config.is_balanced}
    found: dict[str, Values] = {}
    for seed, truth in truths.items():
        rivals = [other for place, other in truths.items() if place != seed]
        if not rivals:
            continue
        ceiling = float(np.mean([dc.overlap(truth.matrix, _bi(rival)) for rival in rivals]))
        found.setdefault("balanced", {})[seed] = [ceiling]
        for run in _levels(records, seed):
            own = dc.overlap(truth.matrix, _bi(run))
            found.setdefault(f"{run.config.alpha:g}", {})[seed] = [own - ceiling]
        mildest = next(iter(_levels(records, seed)), None)
        if mildest is not None:
            theirs = np.mean([dc.overlap(rival.matrix, _bi(mildest)) for rival in rivals])
            gap = dc.overlap(truth.matrix, _bi(mildest)) - float(theirs)
            found.setdefault("other seed", {})[seed] = [gap]
    return {name: _means(values) for name, values in found.items()}


def stripes(records: Sequence[Record], up_to: float = 0.3) -> dict[tuple[str, str], Sample]:
    """Return how uneven rows and columns of the errors are, by matrix and direction.

    The errors of a matrix are scaled to sum to 1; what is measured is half the L1 distance of their
    row sums (``"horizontal"`` stripes) or column sums (``"vertical"``) from even ones. Keys are
    (matrix, direction), matrices are M1 and the normalizations of runs up to this level.
    """
    found: dict[tuple[str, str], Values] = {}
    for record in records:
        config = record.config
        if config.is_balanced:
            matrices = {"M1": record.matrix.astype(np.float64)}
        elif config.sampling == "relative" and config.alpha is not None and config.alpha <= up_to:
            matrices = normalizations(record.matrix, record.epsilon)
        else:
            continue
        for name, matrix in matrices.items():
            errors = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
            errors /= errors.sum()
            for axis, direction in ((1, "horizontal"), (0, "vertical")):
                uneven = 0.5 * float(np.abs(errors.sum(axis=axis) - 1 / len(matrix)).sum())
                found.setdefault((name, direction), {}).setdefault(config.seed, []).append(uneven)
    return {key: _means(values) for key, values in found.items()}


def reliability(records: Sequence[Record]) -> dict[tuple[str, float], Sample]:
    """Return what the paper says makes normalization less reliable, by measure and level.

    Measures: ``"test"`` and ``"predicted"``, how many classes count (the exponential of the entropy
    of their shares), and ``"row"``, ``"col"``, ``"bi"``, the effective share of the samples.
    """
    found: dict[tuple[str, float], Values] = {}
    for _, runs in _by_seed(records):
        for run in runs:
            alpha, seed = run.config.alpha or 0.0, run.config.seed
            numbers = {
                "test": _effective_classes(run.matrix.sum(axis=1)),
                "predicted": _effective_classes(run.matrix.sum(axis=0)),
            }
            for method in ("row", "col", "bi"):
                normalized = dc.normalize(run.matrix, method, epsilon=run.epsilon)
                numbers[method] = normalized.effective_samples / run.matrix.sum()
            for name, number in numbers.items():
                found.setdefault((name, alpha), {})[seed] = [number]
    return {key: _means(values) for key, values in found.items()}


def convergence_rates(records: Sequence[Record]) -> Sample | None:
    r"""Return the rate of IPF over :math:`\sigma_2^2` of the bi-normalized matrix, by seed.

    The residual of Algorithm 1 should fall by the square of the second singular value in each
    sweep. The rate is that of two sweeps, late enough for the residual to be about 1e-8; one run
    per seed is looked at, the most uneven one.
    """
    found: Values = {}
    for seed, runs in _by_seed(records):
        for run in runs[-1:]:
            positive = run.matrix + run.epsilon
            bi = dc.normalize(run.matrix, "bi", epsilon=run.epsilon).matrix
            expected = float(np.linalg.svd(bi, compute_uv=False)[1] ** 2)
            sweeps = int(np.ceil(np.log(1e-8) / np.log(expected)))
            before, after = (_residual(positive, n) for n in (2 * sweeps, 2 * sweeps + 4))
            found.setdefault(seed, []).append(float(np.sqrt(after / before)) / expected)
    return _means(found) if found else None


def _residual(matrix: NDArray[np.floating], n_steps: int) -> float:
    result = dc.scale(matrix, solver="ipf", tolerance=1e-300, max_iterations=n_steps, throw=False)
    return float(result.residual)


def invariance(records: Sequence[Record]) -> dict[str, Sample]:
    """Return how alike one model is on two test sets of different label distributions.

    The test set of each balanced model is split in two, class by class, at random shares from 0.1
    to 0.9; ``"noise"`` splits every class in halves, so that nothing but chance differs.
    """
    found: dict[str, Values] = {}
    for record in records:
        if not record.config.is_balanced:
            continue
        rng = random_state(record.config, "two test sets")
        shares = rng.uniform(0.1, 0.9, size=len(record.classes))
        halves = _split(record.matrix, np.full(len(shares), 0.5), rng)
        sets = _split(record.matrix, shares, rng)
        parts = [normalizations(part, record.epsilon) for part in sets]
        numbers: dict[str, float] = {
            method: dc.overlap(parts[0][method], parts[1][method]) for method in METHODS
        }
        numbers["noise"] = dc.overlap(*halves)
        for name, number in numbers.items():
            found.setdefault(name, {})[record.config.seed] = [number]
    return {name: _means(values) for name, values in found.items()}


def _split(
    counts: NDArray[np.int64], shares: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Deal the samples of each true class out to two test sets, without replacement."""
    first = np.array(
        [
            rng.multivariate_hypergeometric(row, round(share * row.sum()))
            for row, share in zip(counts, shares, strict=True)
        ]
    )
    return first, counts - first


def _by_seed(records: Sequence[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Yield the imbalanced runs of each seed, from the mildest level on."""
    for seed in sorted({record.config.seed for record in records}):
        if runs := _levels(records, seed):
            yield seed, runs


def _levels(records: Sequence[Record], seed: int) -> list[Record]:
    runs = [r for r in records if r.config.sampling == "relative" and r.config.seed == seed]
    return sorted(runs, key=lambda record: -(record.config.alpha or 0.0))


def _bi(record: Record) -> Matrix:
    return normalizations(record.matrix, record.epsilon)["bi"]


def _effective_classes(sizes: NDArray[np.int64]) -> float:
    shares = sizes[sizes > 0] / sizes.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _means(values: Values) -> Sample:
    return Sample(np.array([np.nanmean(numbers) for _, numbers in sorted(values.items())]))
