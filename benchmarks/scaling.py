"""Bi-normalization against the peers, to one residual per class: where sweeps crawl or win."""

from __future__ import annotations

import contextlib
import io
import resource
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from benchmarks.simulate import dense_classifier, sparse_classifier
from benchmarks.timing import best_time

Array = NDArray[np.float64]
# Largest residual, as a share of the total of the margins: for us and for every peer.
TOLERANCE = 1e-10

# (classes, accuracy, epsilon, samples): easy to hard, from 10 to 2,000 classes.
CASES = [
    (10, 0.60, 1e-3, 10_000),
    (10, 0.90, 1e-3, 10_000),
    (10, 0.99, 1e-3, 10_000),
    (10, 0.999, 1e-3, 10_000),
    (10, 0.60, 1.0, 1_000),
    (100, 0.60, 1e-2, 50_000),
    (100, 0.97, 1e-2, 50_000),
    (100, 0.97, 1e-9, 50_000),
    (300, 0.60, 1.0, 50_000),
    (500, 0.90, 1e-3, 100_000),
    (1000, 0.60, 1e-1, 200_000),
    (1000, 0.99, 1e-3, 200_000),
    (2000, 0.60, 1.0, 200_000),
    (2000, 0.95, 1e-3, 200_000),
]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row a case and peer: seconds, residual reached, ratio to ``auto``."""
    rows: list[dict[str, Any]] = []
    rng = np.random.default_rng(20_260)
    for n_classes, accuracy, epsilon, n_samples in CASES[:6] if quick else CASES:
        counts = dense_classifier(n_classes, accuracy, n_samples, rng)
        case = f"{n_classes} classes, accuracy {accuracy}, epsilon {epsilon:g}"
        rows += list(_compare(case, counts, epsilon))
    rows += _batch(rng)
    if not quick:
        rows.append(_million(rng))
    return rows


def accuracy_curve() -> list[dict[str, Any]]:
    """Return time and residual against the accuracy of a 10-class classifier."""
    rows = []
    for accuracy in (0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999):
        counts = dense_classifier(10, accuracy, 10_000, np.random.default_rng(1))
        rows += [row | {"x": accuracy} for row in _compare("accuracy", counts, 1e-3)]
    return rows


def size_curve() -> list[dict[str, Any]]:
    """Return time against the number of classes, at accuracy 0.95 and the default epsilon."""
    rows = []
    for n_classes in (10, 30, 100, 300, 1000, 2000):
        counts = dense_classifier(n_classes, 0.95, 100 * n_classes, np.random.default_rng(2))
        rows += [row | {"x": n_classes} for row in _compare("classes", counts, 1 / n_classes)]
    return rows


def _compare(case: str, counts: Array, epsilon: float) -> Iterator[dict[str, Any]]:
    ours, scaling = best_time(lambda: dc.scale(counts, epsilon=epsilon, tolerance=TOLERANCE))
    yield _row(case, f"auto ({scaling.solver})", ours, scaling.errors.max(), ours)
    # A peer that needs more than this is stopped, and its time is a lower bound.
    budget = 20_000 if counts.shape[0] <= 100 else 3_000
    for name, solve in _peers(counts + epsilon, counts, epsilon, budget).items():
        seconds, matrix = best_time(solve, at_least=0.1)
        yield _row(case, name, seconds, _residual(matrix), ours)


def _peers(
    positive: Array, counts: Array, epsilon: float, budget: int
) -> dict[str, Callable[[], Array]]:
    import ipfn.ipfn
    import ot
    from sinkhorn_knopp.sinkhorn_knopp import SinkhornKnopp

    size = counts.shape[0]
    ones = np.ones(size)

    def own(solver: Any) -> Callable[[], Array]:
        return lambda: (
            dc.scale(
                counts, epsilon=epsilon, solver=solver, max_iterations=2 * budget, throw=False
            ).matrix
        )

    def pot() -> Array:
        # POT stops on the L2 norm of one margin, which bounds the L1 norm by sqrt(size); the total
        # of a margin is the number of classes.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ot.sinkhorn(
                ones, ones, -np.log(positive), 1.0, numItermax=budget, stopThr=TOLERANCE * size**0.5
            )

    def knopp() -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(SinkhornKnopp(max_iter=budget, epsilon=TOLERANCE).fit(positive))

    def ipfn_package() -> Array:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = ipfn.ipfn.ipfn(
                positive.copy(), [ones, ones], [[0], [1]],
                convergence_rate=TOLERANCE, max_iteration=min(budget, 2_000),
                rate_tolerance=0,
            )  # fmt: skip
            return np.asarray(fit.iteration())

    peers = {"ras": own("ras"), "POT sinkhorn": pot}
    if size <= 100:
        peers |= {"ipf": own("ipf"), "sinkhorn_knopp": knopp, "ipfn": ipfn_package}
    return peers


def _batch(rng: np.random.Generator) -> list[dict[str, Any]]:
    stack = np.stack([dense_classifier(10, 0.9, 10_000, rng) for _ in range(1000)])
    case = "1,000 matrices of 10 classes"
    together, scaling = best_time(lambda: dc.scale(stack, epsilon=0.1))
    apart, _ = best_time(lambda: [dc.scale(counts, epsilon=0.1) for counts in stack])
    return [
        _row(case, "as a stack", together, scaling.errors.max(), together),
        _row(case, "one by one", apart, scaling.errors.max(), together),
    ]


def _million(rng: np.random.Generator) -> dict[str, Any]:
    counts = sparse_classifier(1_000_000, 0.6, 20_000_000, rng)
    ones = np.ones(counts.shape[1])
    product, _ = best_time(lambda: counts @ ones)
    seconds, scaling = best_time(lambda: dc.scale(counts, epsilon=1e-6), most=3, at_least=60.0)
    case = f"1,000,000 classes, {counts.nnz:,} non-zeros, epsilon 1e-6"
    row = _row(case, "one sparse product", product, scaling.errors.max(), seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row["note"] = f"auto: {seconds:.2f} s, {seconds / product:.0f} products, peak {peak:.1f} GiB"
    return row


def _residual(matrix: Array) -> float:
    return float(np.abs(matrix.sum(axis=0) - 1).mean() + np.abs(matrix.sum(axis=1) - 1).mean())


def _row(case: str, peer: str, seconds: float, residual: float, ours: float) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case, "peer": peer, "seconds": seconds, "residual": residual}
    row["ratio"] = seconds / ours
    if residual > 2 * TOLERANCE:
        row["note"] = "not converged, so a lower bound"
    return row
