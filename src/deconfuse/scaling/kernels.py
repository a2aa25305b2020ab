"""The scaled matrix as an operator: the same few products, dense or sparse plus rank one.

Solvers hold one of these as their state. It starts as the problem's matrix, absorbs every factor it
is multiplied by, and remembers their product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.scaling.factors import Factors, FloatArray, scaled
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["DenseKernel", "Kernel", "SparseKernel", "dot", "parts_in_cache"]

_BLOCK = 256
# Several vectors of this length fit into the cache of a core.
_IN_CACHE = 8192
# Squares of two such factors and of an entry up to 1e100 make a number.
_LARGEST_FACTOR = 1e40
# The product of this many steps stays in range.
_STEPS_IN_RANGE = 3


class DenseKernel:
    """A dense matrix being scaled in place, which remembers all factors absorbed so far."""

    def __init__(self, problem: ScalingProblem) -> None:
        self._factors: tuple[Factors, Factors] | None = None
        self._latest: list[tuple[FloatArray, FloatArray]] = []
        assert isinstance(problem.matrix, np.ndarray)
        self.matrix: FloatArray = problem.matrix
        # The problem's array is never written to; the first product makes our own.
        self._owns_matrix = problem.spans_many_decades
        if self._owns_matrix:
            _, exponents = np.frexp(self.matrix)
            highest = np.where(self.matrix > 0, exponents, np.iinfo(np.int32).min // 4)
            row_shift = -highest.max(axis=1)
            column_shift = -(highest + row_shift[:, None]).max(axis=0)
            self._factors = left, right = _powers(row_shift), _powers(column_shift)
            self.matrix = scaled(self.matrix, left[:, None], right)

    def row_sums(self) -> FloatArray:
        return self.matrix.dot(np.ones(self.matrix.shape[1]))

    def times(self, vector: FloatArray) -> FloatArray:
        return self.matrix.dot(vector)

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        return vector.dot(self.matrix)

    def gram(self, middle: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return what multiplies a vector by ``P diag(middle) Pᵀ``."""
        return lambda vector: self.matrix.dot(vector.dot(self.matrix) * middle)

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return ``sum_j P_ij² vector_j`` for each row."""
        return np.einsum("ij,ij,j->i", self.matrix, self.matrix, vector)

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""
        if self._owns_matrix:
            self.matrix *= left[:, None]
        else:
            self.matrix = left[:, None] * self.matrix
            self._owns_matrix = True
        self.matrix *= right
        self.remember(left, right)

    def remember(self, left: FloatArray, right: FloatArray) -> None:
        """Add factors to those absorbed so far."""
        self._latest.append((left, right))
        if len(self._latest) == _STEPS_IN_RANGE:
            self._gather()

    def factors(self) -> tuple[Factors, Factors]:
        """Return the product of all factors absorbed so far, of which there are some."""
        if self._latest:
            self._gather()
        assert self._factors is not None
        return self._factors

    def _gather(self) -> None:
        # Plain products are fast, factors keep their range.
        left, right = self._latest[0]
        for row_step, column_step in self._latest[1:]:
            left, right = left * row_step, right * column_step
        self._latest.clear()
        if self._factors is None:
            self._factors = Factors.of(left), Factors.of(right)
        else:
            self._factors = self._factors[0].times(left), self._factors[1].times(right)


class SparseKernel:
    """Sparse counts plus ``epsilon_rows epsilon_columnsᵀ``, between two diagonals.

    Entries are multiplied by the diagonals only before these leave the range: that costs as much as
    several products.
    """

    def __init__(self, problem: ScalingProblem) -> None:
        n_rows, n_columns = problem.shape
        assert isinstance(problem.matrix, sparse.csr_array)
        # Never written to, it is the problem's.
        self.counts = problem.matrix
        self.epsilon_rows = np.broadcast_to(problem.epsilon, n_rows)
        self.epsilon_columns = np.broadcast_to(1.0, n_columns)
        self.has_epsilon = problem.epsilon > 0.0
        # None is a diagonal of ones.
        self.left: FloatArray | None = None
        self.right: FloatArray | None = None
        # Fresh memory for every product would cost a third of it.
        self._row_scratch, self._column_scratch = np.empty(n_rows), np.empty(n_columns)
        self._absorbed: tuple[Factors, Factors] | None = None
        self._squares: sparse.csr_array | None = None
        if problem.spans_many_decades:
            self._equilibrate(problem.epsilon)

    def row_sums(self) -> FloatArray:
        ones = np.ones(self.counts.shape[1]) if self.right is None else self.right
        return self._row_side(ones)

    def times(self, vector: FloatArray) -> FloatArray:
        return self._row_side(_times(vector, self.right, self._column_scratch))

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        return self._column_side(_times(vector, self.left, self._row_scratch), self.right)

    def gram(self, middle: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return what multiplies a vector by ``P diag(middle) Pᵀ``."""
        between = middle if self.right is None else self.right * self.right * middle

        def product(vector: FloatArray) -> FloatArray:
            inner = _times(vector, self.left, self._row_scratch)
            return self._row_side(self._column_side(inner, between))

        return product

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return about ``sum_j P_ij² vector_j`` for each row: epsilon changes little of it."""
        if self._squares is None:
            self._squares = self._with_entries(np.square(self.counts.data))
        product = self._squares @ (vector if self.right is None else self.right**2 * vector)
        return np.asarray(product if self.left is None else self.left**2 * product)

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""
        self.left = left if self.left is None else self.left * left
        self.right = right if self.right is None else self.right * right
        if not (_is_in_range(self.left) and _is_in_range(self.right)):
            self._absorb(self.left, self.right)

    remember = multiply

    def factors(self) -> tuple[Factors, Factors]:
        """Return the product of all factors so far, of which there are some."""
        if self.left is None or self.right is None:
            assert self._absorbed is not None
            return self._absorbed
        if self._absorbed is None:
            return Factors.of(self.left), Factors.of(self.right)
        return self._absorbed[0].times(self.left), self._absorbed[1].times(self.right)

    def _row_side(self, inner: FloatArray) -> FloatArray:
        """Return the row sums, scaled, of the entries times a vector."""
        product: FloatArray = self.counts @ inner
        total = dot(self.epsilon_columns, inner) if self.has_epsilon else 0.0
        return _finished(product, self.epsilon_rows, total, self.left)

    def _column_side(self, inner: FloatArray, factor: FloatArray | None) -> FloatArray:
        """Return the column sums, times a factor, of a vector times the entries."""
        product: FloatArray = self.counts.T @ inner
        total = dot(self.epsilon_rows, inner) if self.has_epsilon else 0.0
        return _finished(product, self.epsilon_columns, total, factor)

    def _with_entries(self, entries: FloatArray) -> sparse.csr_array:
        counts = self.counts
        return sparse.csr_array((entries, counts.indices, counts.indptr), shape=counts.shape)

    def _absorb(self, left: FloatArray, right: FloatArray) -> None:
        """Multiply the entries by the diagonals, which become ones."""
        self._absorbed = self.factors()
        data = self.counts.data * left[_rows_of_entries(self.counts)]
        data *= right[self.counts.indices]
        self.counts, self._squares = self._with_entries(data), None
        self.epsilon_rows = self.epsilon_rows * left
        self.epsilon_columns = self.epsilon_columns * right
        self.left = self.right = None

    def _equilibrate(self, epsilon: float) -> None:
        """Bring the largest entry of every row, then column, near one by powers of two."""
        _, exponents = np.frexp(self.counts.data)
        at_least = np.frexp(epsilon)[1] if epsilon else np.iinfo(np.int32).min // 4
        n_rows, n_columns = self.counts.shape
        entry_rows = _rows_of_entries(self.counts)
        row_shift = -_highest(exponents, entry_rows, n_rows, at_least)
        exponents = exponents + row_shift[entry_rows]
        at_least += row_shift.max()
        columns = self.counts.indices
        column_shift = -_highest(exponents, columns, n_columns, at_least)
        self._absorbed = left, right = _powers(row_shift), _powers(column_shift)
        self.counts = self._with_entries(scaled(self.counts.data, left[entry_rows], right[columns]))
        # One side may leave the range where the product does not: half of epsilon goes to each.
        root = np.full(1, epsilon**0.5)
        one = _powers(np.zeros(1, dtype=np.int32))
        middle = int(column_shift.mean()) if epsilon else 0
        self.epsilon_rows = scaled(root, left.shifted(middle), one)
        self.epsilon_columns = scaled(root, right.shifted(-middle), one)


Kernel = DenseKernel | SparseKernel


def _powers(exponent: NDArray[np.int32]) -> Factors:
    """Return powers of two."""
    return Factors(np.ones(exponent.shape), exponent)


def _highest(
    values: NDArray[np.int32], groups: NDArray[np.intp], size: int, at_least: int
) -> NDArray[np.int32]:
    """Return the largest value of each group, and ``at_least``."""
    highest = np.full(size, at_least, dtype=np.int32)
    np.maximum.at(highest, groups, values)
    return highest


def _rows_of_entries(matrix: sparse.csr_array) -> NDArray[np.intp]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _is_in_range(factors: FloatArray) -> bool:
    """Whether squares of factors and entries can be multiplied."""
    return bool(factors.min() > 1.0 / _LARGEST_FACTOR and factors.max() < _LARGEST_FACTOR)


def _times(vector: FloatArray, factor: FloatArray | None, memory: FloatArray) -> FloatArray:
    """Return the vector itself or its product with a factor, in the memory given."""
    return vector if factor is None else np.multiply(vector, factor, out=memory)


def _finished(
    product: FloatArray, epsilon: FloatArray, total: float, factor: FloatArray | None
) -> FloatArray:
    """Return ``(product + total * epsilon) * factor``, in the memory of the product."""
    for part in parts_in_cache(len(product)):
        piece = product[part]
        if total:
            piece += total * epsilon[part]
        if factor is not None:
            piece *= factor[part]
    return product


def parts_in_cache(size: int) -> list[slice]:
    """Cut a long vector so that several steps with a part of it read memory once."""
    return [slice(start, start + _IN_CACHE) for start in range(0, size, _IN_CACHE)]


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product, of long vectors by summation in blocks.

    A plain product of a million terms is off by 1e-13, the same for every row, and so would put the
    same error into every margin. It would also wake the threads of BLAS, which then wait for more
    work on the cores that others need.
    """
    if len(a) <= _IN_CACHE:
        return float(a.dot(b))
    whole = len(a) - len(a) % _BLOCK
    blocks = np.einsum("ij,ij->i", *(part[:whole].reshape(-1, _BLOCK) for part in (a, b)))
    return float(blocks.sum() + a[whole:] @ b[whole:])
