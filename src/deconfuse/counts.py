"""Counts of a square matrix and their sampling variances, dense or sparse, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, as_count_matrix
from deconfuse.errors import InputError

__all__ = ["Counts", "add_at", "dense", "nonzero_cells", "placed"]

# Up to here a dense matrix takes at most 32 MiB, and dense code is simpler and faster.
_ALWAYS_DENSE = 2048
_INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Counts:
    """Read-only cells of a square matrix, with the sampling variance of each.

    Attributes
    ----------
    cells : ndarray or csr_array
        int64 or float64. Sparse above 2,048 classes, unless half of the cells or more are used.
    variances : ndarray or csr_array
        Sums of squared sample weights; the same object as ``cells`` without weights.

    Examples
    --------
    >>> counts = Counts.of([[5, 1], [2, 4]])
    >>> counts.move(np.array([1, 0]), 2).cells
    array([[4, 2],
           [1, 5]])
    >>> (counts + counts).total
    24
    """

    cells: CountMatrix
    variances: CountMatrix

    @classmethod
    def of(cls, cells: Any, variances: Any = None) -> Counts:
        """Validate matrices given by a caller."""
        counts = cls.trusted(as_count_matrix(cells))
        return counts if variances is None or variances is cells else counts.weighted(variances)

    @classmethod
    def trusted(cls, cells: CountMatrix, variances: CountMatrix | None = None) -> Counts:
        """Wrap matrices that are known to be valid: dense or sparse by size, and read-only."""
        settled = _settled(cells)
        spread = settled if variances is None else _settled(variances)
        return cls(settled, settled if _same(spread, settled) else spread)

    def weighted(self, variances: Any) -> Counts:
        """Return the same cells with variances given by a caller."""
        spread = as_count_matrix(variances, name="variances")
        if spread.shape != self.cells.shape:
            raise InputError(
                f"`variances` must have the shape of `counts`, got {spread.shape} for"
                f" {self.cells.shape}."
            )
        return Counts.trusted(self.cells, spread)

    @property
    def n_classes(self) -> int:
        """Number of rows and of columns."""
        return int(self.cells.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the cells are a sparse array."""
        return sp.issparse(self.cells)

    @property
    def is_weighted(self) -> bool:
        """Whether variances differ from the cells."""
        return self.variances is not self.cells

    @cached_property
    def total(self) -> int | float:
        """Sum of all cells."""
        return self.cells.sum().item()

    def sums(self, axis: int) -> npt.NDArray[Any]:
        """Return the sums along an axis."""
        return self._sums[axis].copy()

    def variance_sums(self, axis: int) -> npt.NDArray[Any]:
        """Return the sums of variances along an axis."""
        return np.asarray(self.variances.sum(axis=axis)) if self.is_weighted else self.sums(axis)

    @cached_property
    def _sums(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Those of columns and of rows; added up once, since many ask for them."""
        return np.asarray(self.cells.sum(axis=0)), np.asarray(self.cells.sum(axis=1))

    def dense(self) -> npt.NDArray[Any]:
        """Return the cells as one array."""
        return dense(self.cells)

    @cached_property
    def entries(self) -> sp.coo_array:
        """The nonzero cells with their rows and columns; found once, since many ask for them."""
        return nonzero_cells(self.cells)

    @cached_property
    def n_entries(self) -> int:
        """How many cells are not zero."""
        cells = self.cells
        return int(np.count_nonzero(cells) if isinstance(cells, np.ndarray) else cells.nnz)

    @property
    def entry_variances(self) -> npt.NDArray[Any]:
        """The variances of these cells."""
        if not self.is_weighted:
            return self.entries.data
        return np.asarray(self.variances[self.entries.row, self.entries.col]).ravel()

    def take(self, order: npt.NDArray[Any]) -> Counts:
        """Return the matrix of some classes, in an order."""
        if len(order) == self.n_classes and (order == np.arange(len(order))).all():
            return self
        at = np.ix_(order, order)
        return self._map(
            lambda matrix: matrix[at] if isinstance(matrix, np.ndarray) else matrix[order][:, order]
        )

    def move(self, positions: npt.NDArray[Any], n_classes: int) -> Counts:
        """Return a matrix of ``n_classes`` in which class i is added to class ``positions[i]``."""
        if len(positions) == n_classes and (positions == np.arange(n_classes)).all():
            return self
        return self._map(lambda matrix: placed(matrix, positions, positions, n_classes))

    def transpose(self) -> Counts:
        """Return the matrix with rows and columns swapped."""
        return self._map(
            lambda matrix: matrix.T.copy() if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
        )

    def _map(self, change: Any) -> Counts:
        cells = change(self.cells)
        return Counts.trusted(cells, change(self.variances) if self.is_weighted else None)

    def __add__(self, other: Counts) -> Counts:
        total = self.total + other.total
        if isinstance(total, int) and total > _INT64_MAX:
            raise InputError(
                f"Merged counts must add up to at most 2**63 - 1, got {total:,}"
                " (integer overflow).",
                hint="count in floats: `ConfusionMatrix.from_counts(cm.counts * 1.0, cm.labels)`.",
            )
        if not np.isfinite(total):
            raise InputError("Merged counts must have a finite total, got infinity.")
        cells = _sum(self.cells, other.cells)
        if not self.is_weighted and not other.is_weighted:
            return Counts.trusted(cells)
        return Counts.trusted(cells, _sum(self.variances, other.variances))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return _same(self.cells, other.cells) and _same(self.variances, other.variances)

    def __hash__(self) -> int:
        # Cells, because sums depend on order and type; floats, since whole counts equal them.
        return hash(tuple(self.cells.diagonal().astype(np.float64).tolist()))


def _prefers_sparse(matrix: CountMatrix) -> bool:
    n_classes = matrix.shape[0]
    if n_classes <= _ALWAYS_DENSE:
        return False
    nonzeros = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz
    return bool(nonzeros < n_classes * n_classes // 2)


def _settled(matrix: CountMatrix) -> CountMatrix:
    """Return the matrix read-only, dense or sparse as its size asks for."""
    if isinstance(matrix, np.ndarray):
        if _prefers_sparse(matrix):
            return _settled(sp.csr_array(matrix))
        matrix.flags.writeable = False
        return matrix
    if not _prefers_sparse(matrix):
        return _settled(np.asarray(matrix.toarray()))
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def add_at(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], values: npt.NDArray[Any], n_classes: int
) -> CountMatrix:
    """Return the matrix with values added up at their cells, dense or sparse by its size."""
    pairs = sp.coo_array((values, (rows, columns)), shape=(n_classes, n_classes))
    if n_classes <= _ALWAYS_DENSE:
        return np.asarray(pairs.toarray())
    return _without_zeros(pairs.tocsr())


def placed(
    cells: Any, rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_classes: int
) -> CountMatrix:
    """Return a square with the cells of a table at some rows and columns.

    Cells that come to the same place are added up.
    """
    places = np.arange(n_classes)
    if np.array_equal(rows, places) and np.array_equal(columns, places):
        return cells if isinstance(cells, np.ndarray) else _without_zeros(sp.csr_array(cells))
    found = sp.coo_array(cells)
    return add_at(rows[found.row], columns[found.col], found.data, n_classes)


def nonzero_cells(matrix: CountMatrix) -> sp.coo_array:
    """Return the cells that are not zero, with their rows and columns."""
    if not isinstance(matrix, np.ndarray):
        return sp.coo_array(matrix)
    # SciPy looks for them by row and column, which takes four times as long.
    places = np.flatnonzero(matrix != 0)
    rows, columns = np.divmod(places, matrix.shape[1])
    return sp.coo_array((matrix.ravel()[places], (rows, columns)), shape=matrix.shape)


def dense(matrix: Any) -> npt.NDArray[Any]:
    """Return a matrix as an array, also one that is sparse."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _without_zeros(matrix: sp.csr_array) -> sp.csr_array:
    """Return a matrix without cells of weight zero: itself, or a copy.

    Sums and sums of squares share their indices, which `eliminate_zeros` changes in place.
    """
    if matrix.count_nonzero() == matrix.nnz:
        return matrix
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    return matrix


def _same(one: CountMatrix, other: CountMatrix) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        # The form follows from the numbers, so equal matrices have equal forms.
        return type(one) is type(other) and one.shape == other.shape and bool((one == other).all())
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.data, other.data)
    )


def _sum(one: CountMatrix, other: CountMatrix) -> CountMatrix:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one + other
    return sp.csr_array(one) + sp.csr_array(other)
