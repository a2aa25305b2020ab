"""Choose the classes that a page shows: all, or the most confused of too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.statistics.similarity import pair_table

if TYPE_CHECKING:
    from deconfuse.normalization import Normalized
    from deconfuse.statistics.estimate import BiEstimate

__all__ = ["MAX_SHOWN", "Shown", "choose_classes", "closeness_of"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Up to this many classes a page shows all of them.
MAX_SHOWN = 1_000
# Beyond, a matrix that can still be read and searched.
_KEPT = 400


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
