"""Compute one matrix's part of the payload: counts, diagonals, intervals, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._text import plain_value
from deconfuse.normalization import Normalized
from deconfuse.reporting.payload import (
    AttributionPayload,
    BucketValuesPayload,
    ClassesPayload,
    EncodedArray,
    EstimatePayload,
    IntervalPayload,
    ModelPayload,
    OutcomePayload,
    ScalingPayload,
    encode,
)
from deconfuse.reporting.study import Shown
from deconfuse.statistics.findings import condition
from deconfuse.statistics.luce import WIDE_SHAPE, WIDE_SHARE
from deconfuse.statistics.metrics import plain_scores
from deconfuse.statistics.uncertainty import score_interval

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reporting.study import MethodName, Study
    from deconfuse.statistics.diagnosis import Diagnosis
    from deconfuse.statistics.estimate import BiEstimate

__all__ = ["model_payload"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A page of a thousand classes and fifty thousand samples stays under five megabytes with this many
# cells that carry their intervals; the largest counts go first.
_INTERVAL_CELLS = 60_000
# Up to here also the empty cells carry theirs: they say how large a value may still be.
_ALL_INTERVALS = 100


def model_payload(study: Study, name: str) -> ModelPayload:
    """Return the payload of one matrix, restricted to the classes shown."""
    cm, shown, normalized = study.matrices[name], study.shown, study.normalized[name]
    cells, counts = _pooled_counts(cm, shown)
    whole = np.issubdtype(cm.counts.dtype, np.integer) and counts.max(initial=0) < 2**32
    found = study.diagnosis(name)
    return ModelPayload(
        name=name,
        total=_number(cm.total),
        n_samples=_number(cm.n_samples),
        weighted=cm.is_weighted,
        cells=encode(cells, "u4"),
        counts=encode(counts, "u4" if whole else "f8"),
        scalings=_scalings(normalized, found.estimate, shown),
        estimate=_estimate(found.estimate, shown),
        intervals=_intervals(study, name, cells, counts),
        attribution=_attribution(found, shown),
        classes=_classes(found, shown),
        bucket_values=(
            _all_bucket_values(normalized, found.estimate, shown) if shown.bucket else None
        ),
        headline=found.headline,
        scores=plain_value({**plain_scores(cm), "coverage": found.outcomes.coverage}),
        outcomes=_outcomes(found, shown, study.outcomes),
    )


def _number(value: Any) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _pooled_counts(cm: ConfusionMatrix, shown: Shown) -> tuple[IntArray, NDArray[Any]]:
    """Return the nonzero cells of the shown matrix, ascending, and their counts."""
    entries = cm._square.entries
    place = shown.place(cm.n_classes)
    keys = place[entries.row] * shown.n + place[entries.col]
    cells, inverse = np.unique(keys, return_inverse=True)
    counts = np.zeros(cells.size, dtype=entries.data.dtype)
    np.add.at(counts, inverse, entries.data)
    keep = counts > 0
    return cells[keep].astype(np.int64), counts[keep]


def _scalings(
    normalized: dict[MethodName, Normalized], estimate: BiEstimate, shown: Shown
) -> dict[str, ScalingPayload]:
    """Return the four normalizations; ``bi`` is the estimate, beside its definition."""
    scalings: dict[str, ScalingPayload] = {m: _scaling(n, shown) for m, n in normalized.items()}
    scalings["bi-epsilon"] = scalings["bi"]
    factors = estimate.factors
    scalings["bi"] = ScalingPayload(
        epsilon=0.0,
        left=encode(_of_shown(factors.left, shown), "f8"),
        right=encode(_of_shown(factors.right, shown), "f8"),
        status="converged",
        residual=None,
    )
    return scalings


def _estimate(estimate: BiEstimate, shown: Shown) -> EstimatePayload:
    factors, model = estimate.factors, estimate.shrunk
    rows, columns, unit, hits = (
        encode(_of_shown(values, shown), "f8")
        for values in (factors.rows, factors.columns, factors.unit, factors.hits)
    )
    return EstimatePayload(
        rows=rows,
        columns=columns,
        unit=unit,
        hits=hits,
        shape=model.spread.shape,
        concentration=model.concentration,
        wide=WIDE_SHAPE,
        wide_share=WIDE_SHARE,
        similar_share=model.spread.similar_share,
        similar_times=model.spread.similar_times,
        background=model.background,
        least=model.least,
    )


def _scaling(n: Normalized, shown: Shown) -> ScalingPayload:
    status, residual = "converged", None
    if n.scaling is not None:
        status = n.scaling.status.name.lower().replace("_", " ")
        residual = float(n.scaling.residual) if np.isfinite(n.scaling.residual) else None
    return ScalingPayload(
        epsilon=float(n.epsilon),
        # The bucket has no diagonal entry of its own: its cells come ready-made.
        left=encode(_of_shown(n.left, shown, 0.0), "f8"),
        right=encode(_of_shown(n.right, shown, 0.0), "f8"),
        status=status,
        residual=residual,
    )


def _all_bucket_values(
    normalized: dict[MethodName, Normalized], estimate: BiEstimate, shown: Shown
) -> dict[str, BucketValuesPayload]:
    values: dict[str, BucketValuesPayload] = {
        method: _bucket_values(n, shown) for method, n in normalized.items()
    }
    values["bi-epsilon"] = values["bi"]
    inside = np.ones(len(estimate.labels), dtype=bool)
    inside[shown.kept] = False
    into, source, within = estimate.pooled(inside)
    values["bi"] = BucketValuesPayload(
        row=encode(np.append(source[shown.kept], within), "f8"),
        col=encode(np.append(into[shown.kept], within), "f8"),
    )
    return values


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
    study: Study, name: str, cells: IntArray, counts: NDArray[Any]
) -> dict[str, IntervalPayload | EncodedArray] | None:
    """Return the intervals of all cells of a small matrix, of the largest counts of a large one."""
    normalized, shown = study.normalized[name], study.shown
    if shown.bucket:
        # The delta method needs dense matrices of all classes.
        return None
    chosen = cells
    if shown.n <= _ALL_INTERVALS:
        chosen = np.arange(shown.n**2)
    elif cells.size > _INTERVAL_CELLS:
        chosen = np.sort(cells[np.argsort(-counts, kind="stable")[:_INTERVAL_CELLS]])
    i, j = np.divmod(chosen, shown.n)
    table: dict[str, IntervalPayload | EncodedArray] = {"cells": encode(chosen, "u4")}
    for method, n in normalized.items():
        if method == "bi":
            # The definition has none: it is exact for these counts.
            low, high = study.diagnosis(name).estimate.intervals_at(i, j)
        else:
            low, high = _share_interval(n, i, j, study.level)
        table[method] = IntervalPayload(encode(low, "f4"), encode(high, "f4"))
    return table


def _share_interval(
    n: Normalized, i: IntArray, j: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of `Normalized.confidence_interval` at some cells of rows, columns or all."""
    cm = n.source
    if cm.is_weighted:
        low, high = n.confidence_interval(level)
        return low[i, j], high[i, j]
    # Of unweighted counts each needs its own count and sum only, not a dense matrix.
    sums = {"row": cm.label_counts[i], "col": cm.prediction_counts[j], "all": cm.total}
    total = np.broadcast_to(np.asarray(sums[n.method], dtype=np.float64), i.shape)
    counts = np.asarray(cm.counts[i, j], dtype=np.float64).ravel()
    with np.errstate(invalid="ignore"):
        share = counts / total
        return score_interval(share, share * (1 - share) / total, total, level)


def _attribution(found: Diagnosis, shown: Shown) -> AttributionPayload:
    """Return the parts of the counts that labels and predictions explain."""
    parts = found.attribution
    return AttributionPayload(
        base=float(np.exp(parts.base)),
        label=encode(_of_shown(np.exp(parts.label), shown), "f8"),
        prediction=encode(_of_shown(np.exp(parts.prediction), shown), "f8"),
    )


def _of_shown(values: Any, shown: Shown, bucket: Any = np.nan) -> NDArray[Any]:
    """Return the values of the shown classes, and one for the bucket, which pools several."""
    return np.append(np.asarray(values)[shown.kept], [bucket] * int(shown.bucket))


def _classes(found: Diagnosis, shown: Shown) -> ClassesPayload:
    """Return bias and reliability of the shown classes; of the bucket nothing is known."""
    pad, blank = [np.nan] * int(shown.bucket), ("",) * int(shown.bucket)
    biases = [found.biases[k] for k in shown.kept]
    known = found.reliability.at(shown.kept)
    return ClassesPayload(
        bias=encode([*(bias.ratio for bias in biases), *pad], "f4"),
        bias_low=encode([*(bias.low for bias in biases), *pad], "f4"),
        bias_high=encode([*(bias.high for bias in biases), *pad], "f4"),
        verdicts=(*(bias.verdict for bias in biases), *blank),
        grades=(*(item.grade for item in known), *blank),
        reasons=(*(", ".join(item.reasons) for item in known), *blank),
        condition=condition(found.biases),
    )


def _outcomes(found: Diagnosis, shown: Shown, names: tuple[str, ...]) -> tuple[OutcomePayload, ...]:
    """Return the rates of outcomes for the shown classes; the bucket has a count alone."""
    n_classes, pad = found.source.n_classes, np.full(int(shown.bucket), np.nan)
    place = shown.place(n_classes)
    parts = []
    for k, (outcome, side) in enumerate(found.outcomes.p_values):
        # Rates come outcome by outcome, each with all classes.
        rates = found.outcomes[k * n_classes : (k + 1) * n_classes]
        counts = np.bincount(place, [rate.count for rate in rates], minlength=shown.n)
        ends = {
            name: encode(np.append([getattr(rates[at], name) for at in shown.kept], pad), "f8")
            for name in ("low", "high", "others")
        }
        parts.append(OutcomePayload(names.index(outcome), side, encode(counts, "f8"), **ends))
    return tuple(parts)
