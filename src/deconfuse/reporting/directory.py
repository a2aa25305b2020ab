"""List the classes that a page pools, so that any can be searched and shown with its nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.reporting.payload import DirectoryPayload, encode
from deconfuse.reporting.shown_classes import Shown

if TYPE_CHECKING:
    from deconfuse.reporting.study import Study

__all__ = ["directory_payload"]

FloatArray = NDArray[np.float64]

_DIRECTORY_CLASSES = 200_000
# Off-diagonal cells of classes in the bucket that the page carries, and at most of one row.
_DIRECTORY_CELLS = 250_000
_CALLED = 24


def directory_payload(study: Study) -> DirectoryPayload | None:
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
            for name in ("rows", "columns", "unit")
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
