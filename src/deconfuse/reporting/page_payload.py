"""Put the payload of a page together from the parts of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from deconfuse._version import __version__
from deconfuse.counts import dense
from deconfuse.geometry.compare import geometry_agreement
from deconfuse.geometry.embeddings import check_embeddings
from deconfuse.geometry.gcm import geometric_confusions
from deconfuse.geometry.projection import fit_projection
from deconfuse.reporting.document import KINDS
from deconfuse.reporting.matrix_payload import model_payload
from deconfuse.reporting.payload import (
    SCHEMA_VERSION,
    BucketPayload,
    ComparisonPayload,
    DirectoryPayload,
    EncodedArray,
    FindingPayload,
    GeometryPayload,
    GroupPayload,
    KindPayload,
    LimitsPayload,
    PointsPayload,
    ReportPayload,
    SamplesPayload,
    encode,
)
from deconfuse.reporting.samples import PageCells, Samples, sample_positions, samples_payload
from deconfuse.reporting.study import Shown, Study
from deconfuse.statistics.bias import WIDE_RATIO
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.comparison_text import changes, counted_cells
from deconfuse.statistics.reliability import FEW_LABELS, FEW_SAMPLES

if TYPE_CHECKING:
    from deconfuse._checks import Label
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.normalization import Normalized

__all__ = ["summarize"]

FloatArray = NDArray[np.float64]

_DIRECTORY_CLASSES = 200_000
# Off-diagonal cells of classes in the bucket that the page carries, and at most of one row.
_DIRECTORY_CELLS = 250_000
_CALLED = 24
# Four dense matrices of this many classes take two megabytes in the page.
_MATRIX_CLASSES = 300
_MAX_POINTS = 6_000
_COMPONENTS = 10
_SHARE = 65_535


def summarize(study: Study, title: str) -> ReportPayload:
    """Return everything that the page of a study shows."""
    first, shown = study.first, study.shown
    labels = tuple(str(first.labels[k]) for k in shown.kept)
    hidden = first.n_classes - shown.kept.size
    samples = {name: _samples(study, name) for name in study.samples}
    return ReportPayload(
        schema_version=SCHEMA_VERSION,
        generator=f"deconfuse {__version__}",
        title=title,
        headline=study.headline,
        labels=(*labels, f"other ({hidden:,} classes)") if shown.bucket else labels,
        outcomes=study.outcomes,
        limits=LimitsPayload(
            FEW_SAMPLES * sample_unit(first),
            FEW_LABELS * sample_unit(first),
            study.level,
            float(ndtri(0.5 + study.level / 2)),
            WIDE_RATIO,
        ),
        models=tuple(model_payload(study, name) for name in study.names),
        findings=_findings(study),
        similarity_order=_order(study),
        linkage=None if study.tree is None else encode(study.tree.linkage, "f8"),
        bucket=BucketPayload(hidden) if shown.bucket else None,
        directory=_directory(study),
        samples=samples.pop(study.names[0], None),
        geometry=(
            None
            if study.embeddings is None
            else _geometry(study.embeddings, study.samples[study.names[0]], first, shown)
        ),
        comparison=_comparison(study),
        kinds=tuple(KindPayload(kind.name, kind.title) for kind in KINDS),
        groups=_groups(study),
        other_samples=samples,
    )


def _samples(study: Study, name: str) -> SamplesPayload:
    closeness = _closeness(study.bi(name), study.shown)
    page = PageCells(study.shown, study.outcomes, closeness)
    return samples_payload(study.samples[name], study.matrices[name], page)


def _closeness(bi: Normalized, shown: Shown) -> FloatArray:
    """Return the bi-normalized cells of the shown classes, the bucket's as zeros."""
    kept = shown.kept
    part: Any = bi.source.counts[kept][:, kept]
    counts = dense(part)
    values = np.zeros((shown.n, shown.n))
    size = kept.size
    values[:size, :size] = bi.left[kept][:, None] * (counts + bi.epsilon) * bi.right[kept]
    return values


def _order(study: Study) -> EncodedArray | None:
    """Return the shown classes in the order of the tree; the bucket, if any, goes last."""
    if study.tree is None:
        return None
    bucket = [study.shown.kept.size] if study.shown.bucket else []
    return encode([*study.tree.order, *bucket], "u4")


def _comparison(study: Study) -> ComparisonPayload | None:
    found = study.comparison
    if found is None:
        return None
    cells = np.flatnonzero(counted_cells(found))
    low, high = found.overlap_interval
    own = [study.diagnosis(name).estimate.diagonal for name in study.names]
    is_part = bool((np.isnan(found.difference.diagonal()) & ~np.isnan(own).all(axis=0)).any())
    return ComparisonPayload(
        changes=tuple(changes(found)),
        cells=encode(cells, "u4"),
        p_values=encode(found.p_values.ravel()[cells], "f4"),
        difference=encode(found.difference, "f4") if is_part else None,
        level=round(1 - found.level, 12),
        overlap=found.overlap,
        overlap_interval=(float(low), float(high)),
    )


def _groups(study: Study) -> tuple[GroupPayload, ...]:
    place = study.shown.place(study.first.n_classes)
    return tuple(
        GroupPayload(name, tuple(dict.fromkeys(place[study.first.index_of(members)].tolist())))
        for name, members in (study.groups or {}).items()
        if members
    )


def _findings(study: Study) -> tuple[FindingPayload, ...]:
    """Return the findings with their classes as rows of the page.

    Each row once: thousands of classes may share that of the bucket, and the sentence counts them.
    """
    ranks = {
        (pair.first, pair.second): (pair.rank, pair.raw_rank)
        for pair in study.diagnosis().look_alikes
    }
    place = study.shown.place(study.first.n_classes).tolist()
    rows: dict[Label, int] = dict(zip(study.first.labels, place, strict=True))
    rows |= {name: study.shown.n + k for k, name in enumerate(study.outcomes)}
    return tuple(
        FindingPayload(
            kind=found.kind,
            severity=float(found.severity),
            sentence=found.sentence,
            advice=found.advice,
            cells=tuple(dict.fromkeys((rows[true], rows[pred]) for true, pred in found.cells)),
            classes=tuple(dict.fromkeys(rows[label] for label in found.classes)),
            ranks=ranks.get(found.classes),  # type: ignore[arg-type]
        )
        for found in study.findings
    )


def _directory(study: Study) -> DirectoryPayload | None:
    """Return the classes inside the bucket for the search, the largest where there are too many."""
    shown = study.shown
    if not shown.bucket:
        return None
    cm = study.first
    labels = np.asarray(cm.label_counts)
    hidden = np.setdiff1d(np.arange(cm.n_classes), shown.kept)
    total = hidden.size
    if total > _DIRECTORY_CLASSES:
        largest = np.argsort(-labels[hidden], kind="stable")[:_DIRECTORY_CLASSES]
        hidden = np.sort(hidden[largest])
    counts = sparse.csr_array(cm.counts)
    # Positions as the page counts them: the shown classes first, then those of this directory.
    position = np.full(cm.n_classes, -1, dtype=np.int64)
    position[shown.kept] = np.arange(shown.kept.size)
    position[hidden] = shown.kept.size + np.arange(hidden.size)
    bi = study.bi(study.names[0])
    factors = study.diagnosis(study.names[0]).estimate.factors
    offsets, called, sizes = _called(counts, np.concatenate([shown.kept, hidden]), position, shown)
    return DirectoryPayload(
        labels=tuple(str(cm.labels[k]) for k in hidden),
        total=int(total),
        label_counts=encode(labels[hidden], "f8"),
        prediction_counts=encode(np.asarray(cm.prediction_counts)[hidden], "f8"),
        right=encode(counts.diagonal()[hidden], "f8"),
        called_offsets=encode(offsets, "u4"),
        called_at=encode(called, "u4"),
        called_counts=encode(sizes, "f8"),
        scalings={
            name: {"left": encode(own.left[hidden], "f4"), "right": encode(own.right[hidden], "f4")}
            for name, own in (("bi", factors), ("bi-epsilon", bi))
        },
        estimate={
            name: encode(getattr(factors, name)[hidden], "f4")
            for name in ("rows", "columns", "unit", "hits")
        },
    )


def _called(
    counts: Any, listed: NDArray[np.int64], position: NDArray[np.int64], shown: Shown
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return what the samples of each listed class are most often called, other than right.

    Of two classes that are shown the page has the count already.
    """
    rows = sparse.coo_array(counts[listed])
    known = (rows.row < shown.kept.size) & (position[rows.col] < shown.kept.size)
    keep = (rows.data > 0) & (listed[rows.row] != rows.col) & (position[rows.col] >= 0) & ~known
    owner, other, size = rows.row[keep], rows.col[keep], rows.data[keep].astype(float)
    order = np.lexsort((other, -size, owner))
    owner, other, size = owner[order], other[order], size[order]
    starts = np.searchsorted(owner, np.arange(listed.size))
    rank = np.arange(owner.size) - starts[owner]
    most = _CALLED
    while most > 1 and np.count_nonzero(rank < most) > _DIRECTORY_CELLS:
        most -= 1
    top = rank < most
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[top], minlength=listed.size))])
    return offsets, position[other[top]], size[top]


def _geometry(
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
            overlaps = dense(gcm.matrix)
            # Volumes depend on the unit of the embeddings; shown is the share of them, with the
            # total that the normalization of the same name has.
            total = 1.0 if weighting == "all" else float(cm.n_classes)
            matrices[weighting] = encode(overlaps * (total / max(overlaps.sum(), 1e-300)), "f4")
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
