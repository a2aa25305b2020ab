"""One confusion matrix -> its part of the payload: counts, diagonals, intervals, classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.errors import UndefinedCellsWarning
from deconfuse.normalization import Normalized, normalize
from deconfuse.reporting.payload import (
    AttributionPayload,
    BucketValuesPayload,
    ClassesPayload,
    EncodedArray,
    IntervalPayload,
    ModelPayload,
    ScalingPayload,
    encode,
)
from deconfuse.statistics.attribution import attribute
from deconfuse.statistics.bias import class_biases
from deconfuse.statistics.reliability import assess

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = ["MAX_SHOWN", "METHODS", "Shown", "model_payload", "normalize_all"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MethodName = Literal["row", "col", "all", "bi"]
METHODS: tuple[MethodName, ...] = ("row", "col", "all", "bi")
#: Up to this many classes a page shows all of them.
MAX_SHOWN = 1_000

# A page of a thousand classes and fifty thousand samples stays under five megabytes with this many
# cells that carry their intervals; the largest counts go first.
_INTERVAL_CELLS = 60_000
# Up to here also the empty cells carry theirs: they say how large a value may still be.
_ALL_INTERVALS = 100
# A page with a bucket carries none: the delta method needs dense matrices of all classes.
_INTERVAL_CLASSES = MAX_SHOWN


@dataclass(frozen=True, slots=True)
class Shown:
    """The classes of a page: ``kept`` in their order, all others pooled when ``bucket``."""

    kept: IntArray
    bucket: bool

    @property
    def n(self) -> int:
        """Rows of the page's matrix."""
        return int(self.kept.size) + int(self.bucket)

    def place(self, n_classes: int) -> IntArray:
        """Return the page's row of every class."""
        place = np.full(n_classes, self.kept.size, dtype=np.int64)
        place[self.kept] = np.arange(self.kept.size)
        return place


def normalize_all(
    cm: ConfusionMatrix, *, epsilon: float | None = None
) -> dict[MethodName, Normalized]:
    """Return the four normalizations; undefined cells are drawn as such, so nobody is warned.

    ``epsilon`` is that of bi-normalization; the others need none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedCellsWarning)
        return {
            method: normalize(cm, method, epsilon=epsilon if method == "bi" else None, throw=False)
            for method in METHODS
            if method != "all" or cm.total > 0
        }


def model_payload(
    cm: ConfusionMatrix,
    name: str,
    shown: Shown,
    *,
    normalized: dict[MethodName, Normalized],
    level: float,
) -> ModelPayload:
    """Return the payload of one matrix, restricted to the classes shown."""
    cells, counts = _pooled_counts(cm, shown)
    whole = np.issubdtype(cm.counts.dtype, np.integer) and counts.max(initial=0) < 2**32
    return ModelPayload(
        name=name,
        total=_number(cm.total),
        weighted=cm.is_weighted,
        cells=encode(cells, "u4"),
        counts=encode(counts, "u4" if whole else "f8"),
        scalings={method: _scaling(n, shown) for method, n in normalized.items()},
        intervals=_intervals(normalized, shown, cells, counts, level),
        attribution=_attribution(normalized["bi"], shown),
        classes=_classes(normalized["bi"], shown, level),
        bucket_values=(
            {method: _bucket_values(n, shown) for method, n in normalized.items()}
            if shown.bucket
            else None
        ),
    )


def _number(value: Any) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _pooled_counts(cm: ConfusionMatrix, shown: Shown) -> tuple[IntArray, NDArray[Any]]:
    """Return the nonzero cells of the shown matrix, ascending, and their counts."""
    entries = sparse.coo_array(cm.counts)
    place = shown.place(cm.n_classes)
    keys = place[entries.row] * shown.n + place[entries.col]
    cells, inverse = np.unique(keys, return_inverse=True)
    counts = np.zeros(cells.size, dtype=entries.data.dtype)
    np.add.at(counts, inverse, entries.data)
    keep = counts > 0
    return cells[keep].astype(np.int64), counts[keep]


def _scaling(n: Normalized, shown: Shown) -> ScalingPayload:
    # The bucket has no diagonal entry of its own: its cells come ready-made.
    pad = np.zeros(int(shown.bucket))
    status, residual = "converged", None
    if n.scaling is not None:
        status = n.scaling.status.name.lower().replace("_", " ")
        residual = float(n.scaling.residual) if np.isfinite(n.scaling.residual) else None
    return ScalingPayload(
        epsilon=float(n.epsilon),
        left=encode(np.concatenate([n.left[shown.kept], pad]), "f8"),
        right=encode(np.concatenate([n.right[shown.kept], pad]), "f8"),
        status=status,
        residual=residual,
    )


def _bucket_values(n: Normalized, shown: Shown) -> BucketValuesPayload:
    """Return the pooled cells of one normalization.

    Rows and columns of the shown classes keep their sums. The bucket's own line is that of the
    merged classes; for bi, where merging would change all other cells, it holds what the shown
    classes exchange with those inside, and on the diagonal the mean over the classes inside.
    """
    out = np.ones(n.n_classes)
    out[shown.kept] = 0.0
    left, right = np.nan_to_num(n.left), np.nan_to_num(n.right)
    counts = sparse.csr_array(n.source.counts)
    into = left * (counts @ (right * out) + n.epsilon * (right * out).sum())
    source = (counts.T @ (left * out) + n.epsilon * (left * out).sum()) * right
    corner = float(into @ out)
    if n.method == "row":
        merged = counts.T @ out / max(float(out @ n.source.label_counts), 1e-300)
        source, corner = merged, float(merged @ out)
    elif n.method == "col":
        merged = counts @ out / max(float(out @ n.source.prediction_counts), 1e-300)
        into, corner = merged, float(merged @ out)
    elif n.method == "bi":
        corner /= out.sum()
    return BucketValuesPayload(
        row=encode(np.append(source[shown.kept], corner), "f8"),
        col=encode(np.append(into[shown.kept], corner), "f8"),
    )


def _intervals(
    normalized: dict[MethodName, Normalized],
    shown: Shown,
    cells: IntArray,
    counts: NDArray[Any],
    level: float,
) -> dict[str, IntervalPayload | EncodedArray] | None:
    """Return the intervals of all cells of a small matrix, of the largest counts of a large one."""
    if normalized["bi"].n_classes > _INTERVAL_CLASSES:
        return None
    size = shown.kept.size
    if size <= _ALL_INTERVALS:
        chosen = np.arange(size * size)
        rows, columns = np.divmod(chosen, size)
    else:
        chosen = cells
        if cells.size > _INTERVAL_CELLS:
            chosen = np.sort(cells[np.argsort(-counts, kind="stable")[:_INTERVAL_CELLS]])
        rows, columns = np.divmod(chosen, shown.n)
    i, j = shown.kept[rows], shown.kept[columns]
    table: dict[str, IntervalPayload | EncodedArray] = {"cells": encode(chosen, "u4")}
    for method, n in normalized.items():
        low, high = n.confidence_interval(level)
        table[method] = IntervalPayload(encode(low[i, j], "f4"), encode(high[i, j], "f4"))
    return table


def _attribution(n: Normalized, shown: Shown) -> AttributionPayload | None:
    """Return the parts of ``count + epsilon`` that labels and predictions explain."""
    if n.scaling is None or not n.scaling.converged:
        return None
    parts = attribute(n)
    # The bucket pools classes with parts of their own, so it has none.
    pad = np.full(int(shown.bucket), np.nan)
    return AttributionPayload(
        base=float(np.exp(parts.uniform)),
        label=encode(np.concatenate([np.exp(parts.label[shown.kept]), pad]), "f8"),
        prediction=encode(np.concatenate([np.exp(parts.prediction[shown.kept]), pad]), "f8"),
    )


def _classes(bi: Normalized, shown: Shown, level: float) -> ClassesPayload:
    """Return bias and reliability of the shown classes; of the bucket nothing is said."""
    biases = class_biases(bi.source, level)
    graded = assess(bi).classes
    pad = [np.nan] * int(shown.bucket)
    blank = ("",) * int(shown.bucket)
    kept = [int(k) for k in shown.kept]
    return ClassesPayload(
        bias=encode([*(biases[k].ratio for k in kept), *pad], "f4"),
        bias_low=encode([*(biases[k].low for k in kept), *pad], "f4"),
        bias_high=encode([*(biases[k].high for k in kept), *pad], "f4"),
        verdicts=(*(biases[k].verdict for k in kept), *blank),
        grades=(*(graded[k].grade for k in kept), *blank),
        reasons=(*(", ".join(graded[k].reasons) for k in kept), *blank),
    )
