"""Choose the classes that a page shows: all, or the most confused of too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.reporting.payload import DirectoryPayload, encode
from deconfuse.statistics.similarity import pair_table

if TYPE_CHECKING:
    from deconfuse.normalization import Normalized
    from deconfuse.statistics.estimate import BiEstimate

__all__ = ["MAX_SHOWN", "Shown", "choose_classes", "closeness_of", "directory_payload"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Up to this many classes a page shows all of them.
MAX_SHOWN = 1_000
# Beyond, a matrix that can still be read and searched.
_KEPT = 400
_DIRECTORY_CLASSES = 200_000
# Off-diagonal cells of classes in the bucket that the page carries, and at most of one row.
_DIRECTORY_CELLS = 250_000
_CALLED = 24


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


def choose_classes(estimate: BiEstimate) -> Shown:
    """Return all classes of a small matrix, or the ones most alike to others of a large one."""
    n = len(estimate.labels)
    if n <= MAX_SHOWN:
        return Shown(np.arange(n), bucket=False)
    table = pair_table(estimate)
    kept: dict[int, None] = {}
    for pair in (*table.certain, *table.uncertain):
        kept.setdefault(int(table.rows[pair]))
        kept.setdefault(int(table.columns[pair]))
        if len(kept) >= _KEPT:
            break
    # A matrix without confusion has no pairs: its largest classes are as good as any.
    for k in np.argsort(-np.asarray(estimate.source.label_counts), kind="stable"):
        if len(kept) >= _KEPT:
            break
        kept.setdefault(int(k))
    return Shown(np.sort(np.fromiter(kept, dtype=np.int64)[:_KEPT]), bucket=True)


def closeness_of(bi: Normalized, shown: Shown) -> FloatArray:
    """Return the bi-normalized cells of the shown classes, the bucket's as zeros."""
    kept = shown.kept
    part: Any = bi.source.counts[kept][:, kept]
    counts = part.toarray() if sparse.issparse(part) else part
    values = np.zeros((shown.n, shown.n))
    size = kept.size
    values[:size, :size] = bi.left[kept][:, None] * (counts + bi.epsilon) * bi.right[kept]
    return values


def directory_payload(bi: Normalized, shown: Shown) -> DirectoryPayload | None:
    """Return the classes inside the bucket for the search, the largest where there are too many."""
    if not shown.bucket:
        return None
    cm = bi.source
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
        left=encode(bi.left[hidden], "f8"),
        right_factors=encode(bi.right[hidden], "f8"),
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
