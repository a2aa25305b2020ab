"""Which classes a page shows: all, or the most confused ones where there are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.reporting.payload import DirectoryPayload, encode
from deconfuse.statistics.similarity import half_width, pair_table

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.normalization import Normalized

__all__ = ["MAX_SHOWN", "Shown", "choose_classes", "closeness_of", "directory_payload"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Up to this many classes a page shows all of them.
MAX_SHOWN = 1_000
# Beyond, a matrix that can still be read and searched.
_KEPT = 400
_LEVEL = 0.95
_DIRECTORY_CLASSES = 200_000
_CALLED = 3


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


def choose_classes(bi: Normalized) -> Shown:
    """Return all classes of a small matrix, or the ones most alike to others of a large one."""
    n = bi.n_classes
    if n <= MAX_SHOWN:
        return Shown(np.arange(n), bucket=False)
    first, second, scores = _pair_scores(bi)
    kept: dict[int, None] = {}
    for pair in np.argsort(-scores, kind="stable"):
        kept.setdefault(int(first[pair]))
        kept.setdefault(int(second[pair]))
        if len(kept) >= _KEPT:
            break
    # A matrix without confusion has no pairs: its largest classes are as good as any.
    for k in np.argsort(-np.asarray(bi.source.label_counts), kind="stable"):
        if len(kept) >= _KEPT:
            break
        kept.setdefault(int(k))
    return Shown(np.sort(np.fromiter(kept, dtype=np.int64)[:_KEPT]), bucket=True)


def _pair_scores(bi: Normalized) -> tuple[Any, Any, FloatArray]:
    """Return the pairs of classes that were confused, and how alike they are at the least.

    The low end of the interval ranks them: one sample of each of two rare classes proves little.
    """
    table = pair_table(bi.source, bi.epsilon)
    scores = table.log_similarity - half_width(table.log_error, _LEVEL)
    return table.rows, table.columns, scores


def closeness_of(bi: Normalized, shown: Shown) -> FloatArray:
    """Return the bi-normalized cells of the shown classes, the bucket's as zeros."""
    kept = shown.kept
    part: Any = bi.source.counts[kept][:, kept]
    counts = part.toarray() if sparse.issparse(part) else part
    values = np.zeros((shown.n, shown.n))
    size = kept.size
    values[:size, :size] = bi.left[kept][:, None] * (counts + bi.epsilon) * bi.right[kept]
    return values


def directory_payload(cm: ConfusionMatrix, shown: Shown) -> DirectoryPayload | None:
    """Return the classes inside the bucket for the search, the largest where there are too many."""
    if not shown.bucket:
        return None
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
    offsets, called, sizes = _called(counts, hidden, position)
    return DirectoryPayload(
        labels=tuple(str(cm.labels[k]) for k in hidden),
        total=int(total),
        label_counts=encode(labels[hidden], "f8"),
        prediction_counts=encode(np.asarray(cm.prediction_counts)[hidden], "f8"),
        right=encode(counts.diagonal()[hidden], "f8"),
        called_offsets=encode(offsets, "u4"),
        called_at=encode(called, "u4"),
        called_counts=encode(sizes, "f8"),
    )


def _called(
    counts: Any, hidden: NDArray[np.int64], position: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return for each hidden class what its samples are most often called, other than right."""
    rows = sparse.coo_array(counts[hidden])
    keep = (rows.data > 0) & (hidden[rows.row] != rows.col) & (position[rows.col] >= 0)
    owner, other, size = rows.row[keep], rows.col[keep], rows.data[keep].astype(float)
    order = np.lexsort((other, -size, owner))
    owner, other, size = owner[order], other[order], size[order]
    starts = np.searchsorted(owner, np.arange(hidden.size))
    rank = np.arange(owner.size) - starts[owner]
    top = rank < _CALLED
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[top], minlength=hidden.size))])
    return offsets, position[other[top]], size[top]
