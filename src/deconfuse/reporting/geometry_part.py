"""Compute the geometric part of the payload: matrices, agreement, a scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse.geometry.compare import geometry_agreement
from deconfuse.geometry.embeddings import check_embeddings
from deconfuse.geometry.gcm import geometric_confusions
from deconfuse.geometry.projection import fit_projection
from deconfuse.reporting.payload import EncodedArray, GeometryPayload, PointsPayload, encode
from deconfuse.reporting.samples import Samples, sample_positions

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reporting.shown_classes import Shown

__all__ = ["geometry_payload"]

# Four dense matrices of this many classes take two megabytes in the page.
_MATRIX_CLASSES = 300
_MAX_POINTS = 6_000
_COMPONENTS = 10
_SHARE = 65_535


def geometry_payload(
    embeddings: Any, samples: Samples, cm: ConfusionMatrix, shown: Shown
) -> GeometryPayload:
    """Return what the page shows of the embeddings of the samples."""
    points = check_embeddings(embeddings, len(samples.y_true))
    true, pred = sample_positions(samples, cm)
    if cm.outcomes:
        # A sample without a class on both sides is not part of any geometry of classes.
        inside = (true < cm.n_classes) & (pred < cm.n_classes)
        points, true, pred = points[inside], true[inside], pred[inside]
    names = np.array(cm.labels, dtype=object)
    matrices: dict[str, EncodedArray] = {}
    agreement: dict[str, dict[str, float]] = {}
    if not shown.bucket and cm.n_classes <= _MATRIX_CLASSES:
        found = geometric_confusions(
            points,
            names[true],
            names[pred],
            labels=cm.labels,
            # Narrow embeddings need no warning here: the page shows what there is.
            n_components=min(_COMPONENTS, points.shape[1]),
        )
        for weighting, gcm in found.items():
            dense = gcm.matrix if isinstance(gcm.matrix, np.ndarray) else gcm.matrix.toarray()
            # Volumes depend on the unit of the embeddings; shown is the share of them, with the
            # total that the normalization of the same name has.
            total = 1.0 if weighting == "all" else float(cm.n_classes)
            matrices[weighting] = encode(dense * (total / max(dense.sum(), 1e-300)), "f4")
        table = geometry_agreement(found)
        agreement = {
            weighting: dict(zip(table.normalizations, map(float, row), strict=True))
            for weighting, row in zip(table.weightings, table.overlap, strict=True)
        }
    return GeometryPayload(
        matrices=matrices,
        agreement=agreement,
        points=_points(points, *(shown.place(cm.n_classes)[side] for side in (true, pred))),
    )


def _points(
    points: NDArray[Any], true: NDArray[np.int64], pred: NDArray[np.int64]
) -> PointsPayload:
    """Return the first two principal components of an even choice of the samples."""
    coordinates = fit_projection(points, 2).apply(points)
    if coordinates.shape[1] < 2:
        # Points on one line, or all in one place.
        flat = np.zeros((len(coordinates), 2 - coordinates.shape[1]))
        coordinates = np.hstack([coordinates, flat])
    chosen = _choose(true != pred)
    return PointsPayload(
        x=_coordinate(coordinates[chosen, 0]),
        y=_coordinate(coordinates[chosen, 1]),
        true=encode(true[chosen], "u2"),
        pred=encode(pred[chosen], "u2"),
        total=len(true),
    )


def _choose(wrong: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return at most `_MAX_POINTS` rows, evenly spaced, errors up to half of them."""
    size = wrong.size
    if size <= _MAX_POINTS:
        return np.arange(size)
    errors, right = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    n_errors = max(min(errors.size, _MAX_POINTS // 2), _MAX_POINTS - right.size)
    parts = [_even(errors, n_errors), _even(right, _MAX_POINTS - n_errors)]
    return np.sort(np.concatenate(parts))


def _even(rows: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    if wanted >= rows.size:
        return rows
    return rows[np.linspace(0, rows.size - 1, wanted).round().astype(np.int64)]


def _coordinate(values: NDArray[np.float64]) -> EncodedArray:
    # The ends follow the bulk: one far point must not squeeze the others into a corner.
    low, high = np.quantile(values, [0.001, 0.999])
    reach = high - low if high > low else 1.0
    return encode(np.round(np.clip((values - low) / reach, 0.0, 1.0) * _SHARE), "u2")
