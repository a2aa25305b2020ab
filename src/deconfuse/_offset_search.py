"""Log-scores and true classes to the offsets at which predictions have no bias left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from deconfuse._scores import FloatArray
from deconfuse.scaling import scale

__all__ = ["OffsetSearch", "Steps", "temperature_of", "trust_in_errors"]


@dataclass(frozen=True, slots=True)
class Steps:
    """Where the search ended."""

    offsets: FloatArray
    objective: float
    baseline: float
    n_iter: int
    converged: bool


class OffsetSearch:
    """Repeat: count with the offsets so far, bi-normalize, step along the logs of ``right``."""

    def __init__(
        self,
        logs: FloatArray,
        codes: NDArray[np.intp],
        weights: FloatArray,
        seen: NDArray[np.bool_],
        shrinkage: float,
    ) -> None:
        self.logs = logs
        self.codes = codes
        self.weights = weights
        self.seen = seen
        self.shrinkage = shrinkage
        self.n_classes = logs.shape[1]
        # What one effective sample weighs: the total over Kish's effective sample size.
        self.unit = float((weights**2).sum() / weights.sum())

    def counts(self, offsets: FloatArray) -> FloatArray:
        predicted = (self.logs + offsets).argmax(axis=1)
        flat = np.bincount(
            self.codes * self.n_classes + predicted, self.weights, minlength=self.n_classes**2
        )
        return np.asarray(flat, dtype=np.float64).reshape(self.n_classes, self.n_classes)

    def balanced_accuracy(self, counts: FloatArray) -> float:
        recalls = counts.diagonal()[self.seen] / counts.sum(axis=1)[self.seen]
        return float(recalls.mean())

    def direction(self, counts: FloatArray, offsets: FloatArray) -> FloatArray:
        # Classes without samples say nothing of bias, so only the others are balanced.
        inner = counts[np.ix_(self.seen, self.seen)]
        log_right = scale(inner, epsilon=self.unit / len(inner)).log_right
        errors = (inner.sum(axis=0) + inner.sum(axis=1) - 2 * inner.diagonal()) / self.unit
        trust = trust_in_errors(errors, self.shrinkage)
        gain = log_right - log_right.mean()
        result = np.zeros(self.n_classes)
        result[self.seen] = trust * gain - (1 - trust) * offsets[self.seen]
        return result

    def run(self, *, step: float, max_iter: int, tol: float) -> Steps:
        offsets = np.zeros(self.n_classes)
        counts = self.counts(offsets)
        baseline = self.balanced_accuracy(counts)
        best, best_objective = offsets, baseline
        path: list[FloatArray] = []
        moved = np.inf
        lengths = np.full(self.n_classes, step)
        last = np.zeros(self.n_classes)
        while len(path) < max_iter and moved > tol:
            direction = self.direction(counts, offsets)
            # Counts jump, so fixed steps would go to and fro for ever: a class that turns back has
            # gone too far and takes shorter steps from then on.
            factors = np.where(direction * last < 0, 0.5, 1.02)
            lengths = np.minimum(factors * lengths, step)
            last = direction
            change = lengths * direction
            offsets = offsets + change
            offsets[self.seen] -= offsets[self.seen].mean()
            moved = float(np.abs(change).max())
            path.append(offsets)
            counts = self.counts(offsets)
            objective = self.balanced_accuracy(counts)
            if objective > best_objective:
                best, best_objective = offsets, objective
        converged = moved <= tol
        # The point of rest, not the best step, is the answer: the best of many steps on a small
        # validation set is mostly luck.
        final = offsets if converged else np.mean(path[len(path) // 2 :], axis=0)
        objective = self.balanced_accuracy(self.counts(final))
        if objective < baseline:
            final, objective = best, best_objective
        return Steps(final, objective, baseline, len(path), converged)


def temperature_of(logs: FloatArray, codes: NDArray[np.intp], weights: FloatArray) -> float:
    """Return the divisor that puts scores on the scale of log-odds, by maximum likelihood.

    A step along log(right) is right for log-odds. Scores of another scale, as margins of a support
    vector machine or an over-confident network, would be moved too far or hardly at all.
    """
    spread = float(np.ptp(logs, axis=1).mean())
    shares = weights / weights.sum()

    def loss(log_inverse: float) -> float:
        scaled = log_softmax(logs * (np.exp(log_inverse) / spread), axis=1)
        likelihood = float(shares @ scaled[np.arange(len(codes)), codes])
        # A price on large inverses keeps scores without errors from going to infinity.
        return float(np.exp(log_inverse)) / (10 * len(codes)) - likelihood

    best = minimize_scalar(loss, bounds=(-7.0, 7.0), method="bounded", options={"xatol": 1e-3})
    return float(spread / np.exp(best.x))


def trust_in_errors(errors: FloatArray, shrinkage: float) -> FloatArray:
    """Return the share of trust in each class: errors against errors and imaginary ones."""
    total = errors + shrinkage
    return np.divide(errors, total, out=np.zeros_like(total, dtype=float), where=total > 0)
