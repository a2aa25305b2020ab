"""The scaled matrix as an operator: the same few products, dense or sparse plus rank one.

Solvers hold one of these as their state. It starts as the problem's matrix, absorbs every factor it
is multiplied by, and remembers their product.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import daxpy

from deconfuse.reading.tally import on_threads
from deconfuse.scaling.factors import Factors, FloatArray, scaled
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["DenseKernel", "Kernel", "SparseKernel", "make_kernel"]

_BLOCK = 256
# Fewer entries are not worth a thread.
_FEWEST_IN_HALVES = 1 << 19
# The product of this many steps stays in range.
_STEPS_IN_RANGE = 3


class _Absorbing:
    """Remembers the product of all factors absorbed so far."""

    def __init__(self) -> None:
        self._factors: tuple[Factors, Factors] | None = None
        self._latest: list[tuple[FloatArray, FloatArray]] = []

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


class DenseKernel(_Absorbing):
    """A dense matrix being scaled in place."""

    def __init__(self, problem: ScalingProblem) -> None:
        super().__init__()
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

    def times(self, vector: FloatArray) -> FloatArray:
        return self.matrix.dot(vector)

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        return vector.dot(self.matrix)

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


class _Rows(NamedTuple):
    """Neighbouring rows of sparse counts, which share their entries, and memory to work in.

    Fresh memory for every step would cost as much as the step.
    """

    rows: slice
    counts: sparse.csr_array
    entry_rows: NDArray[np.intp]
    scratch: FloatArray

    @classmethod
    def of(cls, counts: sparse.csr_array, start: int, stop: int) -> _Rows:
        """Return the rows from ``start`` to before ``stop``."""
        starts = counts.indptr[start : stop + 1]
        entries = slice(starts[0], starts[-1])
        part = sparse.csr_array(
            (counts.data[entries], counts.indices[entries], starts - starts[0]),
            shape=(stop - start, counts.shape[1]),
        )
        places = np.arange(stop - start, dtype=counts.indices.dtype)
        entry_rows = np.repeat(places, np.diff(starts))
        return cls(slice(start, stop), part, entry_rows, np.empty(part.nnz))


class SparseKernel(_Absorbing):
    """Sparse counts plus ``epsilon_rows epsilon_columnsᵀ``, both being scaled in place.

    Large ones are worked on in two halves of their rows, each on a thread. There are two whatever
    the number of threads, so that sums over rows have the same order.
    """

    def __init__(self, problem: ScalingProblem) -> None:
        super().__init__()
        n_rows, n_columns = problem.shape
        source = problem.matrix
        assert isinstance(source, sparse.csr_array)
        self.epsilon_rows = np.full(n_rows, problem.epsilon)
        self.epsilon_columns = np.ones(n_columns)
        self.counts = sparse.csr_array(
            (source.data.copy(), source.indices, source.indptr), shape=source.shape
        )
        self.has_epsilon = problem.epsilon > 0.0
        if problem.spans_many_decades:
            self._equilibrate(problem.epsilon)
        ends = [0, n_rows // 2, n_rows] if source.nnz >= _FEWEST_IN_HALVES else [0, n_rows]
        self.parts = [_Rows.of(self.counts, *pair) for pair in pairwise(ends)]

    def times(self, vector: FloatArray) -> FloatArray:
        product = np.empty(len(self.epsilon_rows))

        def fill(part: _Rows) -> None:
            product[part.rows] = part.counts @ vector

        self._on_parts(fill)
        if self.has_epsilon:
            daxpy(self.epsilon_rows, product, a=_exact_dot(self.epsilon_columns, vector))
        return product

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        product, *rest = self._on_parts(lambda part: part.counts.T @ vector[part.rows])
        for more in rest:
            product += more
        if self.has_epsilon:
            daxpy(self.epsilon_columns, product, a=_exact_dot(self.epsilon_rows, vector))
        return np.asarray(product)

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return about ``sum_j P_ij² vector_j`` for each row: epsilon changes little of it."""

        def product(part: _Rows) -> FloatArray:
            squared = np.square(part.counts.data, out=part.scratch)
            squares = (squared, part.counts.indices, part.counts.indptr)
            return np.asarray(sparse.csr_array(squares, shape=part.counts.shape) @ vector)

        return np.concatenate(self._on_parts(product))

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""

        def scale(part: _Rows) -> None:
            data = part.counts.data
            data *= left[part.rows].take(part.entry_rows, out=part.scratch, mode="clip")
            data *= right.take(part.counts.indices, out=part.scratch, mode="clip")

        self._on_parts(scale)
        self.epsilon_rows *= left
        self.epsilon_columns *= right
        self.remember(left, right)

    def _on_parts(self, act: Callable[[_Rows], Any]) -> list[Any]:
        return on_threads(act, self.parts, size=self.counts.nnz)

    def _equilibrate(self, epsilon: float) -> None:
        """Bring the largest entry of every row, then column, near one by powers of two."""
        _, exponents = np.frexp(self.counts.data)
        at_least = np.frexp(epsilon)[1] if epsilon else np.iinfo(np.int32).min // 4
        n_rows, n_columns = self.counts.shape
        entry_rows = np.repeat(np.arange(n_rows), np.diff(self.counts.indptr))
        row_shift = -_highest(exponents, entry_rows, n_rows, at_least)
        exponents = exponents + row_shift[entry_rows]
        at_least += row_shift.max()
        columns = self.counts.indices
        column_shift = -_highest(exponents, columns, n_columns, at_least)
        self._factors = left, right = _powers(row_shift), _powers(column_shift)
        self.counts.data = scaled(self.counts.data, left[entry_rows], right[columns])
        # One side may leave the range where the product does not: half of epsilon goes to each.
        root = np.full(1, epsilon**0.5)
        one = _powers(np.zeros(1, dtype=np.int32))
        middle = int(column_shift.mean()) if epsilon else 0
        self.epsilon_rows = scaled(root, left.shifted(middle), one)
        self.epsilon_columns = scaled(root, right.shifted(-middle), one)


Kernel = DenseKernel | SparseKernel


def make_kernel(problem: ScalingProblem) -> Kernel:
    """Return the operator for one problem."""
    return SparseKernel(problem) if problem.is_sparse else DenseKernel(problem)


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


def _exact_dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product by summation in blocks.

    A plain dot product of a million terms is off by 1e-13, the same for every row, and so puts the
    same error into every margin.
    """
    whole = len(a) - len(a) % _BLOCK
    blocks = np.einsum("ij,ij->i", *(part[:whole].reshape(-1, _BLOCK) for part in (a, b)))
    return float(blocks.sum() + a[whole:] @ b[whole:])
