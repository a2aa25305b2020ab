"""The scaled matrix as an operator: the same few products, dense or sparse plus rank one.

Solvers hold one of these as their state. It starts as the problem's matrix, absorbs every factor it
is multiplied by, and remembers their product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.scaling.factors import Factors, FloatArray, scaled
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["DenseKernel", "Kernel", "SparseKernel", "make_kernel"]

_BLOCK = 256
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


class SparseKernel(_Absorbing):
    """Sparse counts plus ``epsilon_rows epsilon_columnsᵀ``, both being scaled in place."""

    def __init__(self, problem: ScalingProblem) -> None:
        super().__init__()
        n_rows, n_columns = problem.shape
        source = problem.matrix
        assert isinstance(source, sparse.csr_array)
        self.entry_rows = np.repeat(
            np.arange(n_rows, dtype=source.indices.dtype), np.diff(source.indptr)
        )
        self.epsilon_rows = np.full(n_rows, problem.epsilon)
        self.epsilon_columns = np.ones(n_columns)
        self.counts = sparse.csr_array(
            (source.data.copy(), source.indices, source.indptr), shape=source.shape
        )
        self.has_epsilon = problem.epsilon > 0.0
        # Fresh memory for every step would cost as much as the step.
        self.row_scratch, self.column_scratch = np.empty(n_rows), np.empty(n_columns)
        self.entry_scratch = np.empty(source.nnz)
        if problem.spans_many_decades:
            self._equilibrate(problem.epsilon)

    def times(self, vector: FloatArray) -> FloatArray:
        product: FloatArray = self.counts @ vector
        if self.has_epsilon:
            total = _exact_dot(self.epsilon_columns, vector)
            product += np.multiply(self.epsilon_rows, total, out=self.row_scratch)
        return product

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        product: FloatArray = self.counts.T @ vector
        if self.has_epsilon:
            total = _exact_dot(self.epsilon_rows, vector)
            product += np.multiply(self.epsilon_columns, total, out=self.column_scratch)
        return product

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return about ``sum_j P_ij² vector_j`` for each row: epsilon changes little of it."""
        squared = np.square(self.counts.data, out=self.entry_scratch)
        squares = sparse.csr_array(
            (squared, self.counts.indices, self.counts.indptr), shape=self.counts.shape
        )
        return np.asarray(squares @ vector)

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""
        self.counts.data *= left.take(self.entry_rows, out=self.entry_scratch, mode="clip")
        self.counts.data *= right.take(self.counts.indices, out=self.entry_scratch, mode="clip")
        self.epsilon_rows *= left
        self.epsilon_columns *= right
        self.remember(left, right)

    def _equilibrate(self, epsilon: float) -> None:
        """Bring the largest entry of every row, then column, near one by powers of two."""
        _, exponents = np.frexp(self.counts.data)
        at_least = np.frexp(epsilon)[1] if epsilon else np.iinfo(np.int32).min // 4
        n_rows, n_columns = self.counts.shape
        row_shift = -_highest(exponents, self.entry_rows, n_rows, at_least)
        exponents = exponents + row_shift[self.entry_rows]
        at_least += row_shift.max()
        columns = self.counts.indices
        column_shift = -_highest(exponents, columns, n_columns, at_least)
        self._factors = left, right = _powers(row_shift), _powers(column_shift)
        self.counts.data = scaled(self.counts.data, left[self.entry_rows], right[columns])
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
