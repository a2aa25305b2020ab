"""Positive factors that keep all their digits over any range, and matrices scaled by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._memory import refuse_if_too_large

__all__ = ["Factors", "FloatArray", "Matrix", "balanced", "drop_cells", "scaled", "scaled_matrix"]

FloatArray = NDArray[np.float64]
Matrix: TypeAlias = FloatArray | sparse.csr_array

# The product of two factors with exponents up to this stays a normal number.
_NARROW = 500
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, eq=False)
class Factors:
    """Positive numbers, each ``fraction * 2**exponent``.

    Plain numbers would overflow where factors spread over hundreds of decades, and logarithms lose
    as many digits as they have before the point.

    Examples
    --------
    >>> huge = Factors.of(np.array([1e300, 1.0])).times(np.array([1e300, 3.0]))
    >>> huge.plain
    array([inf,  3.])
    >>> (huge.logs / np.log(10)).round(6)
    array([6.00000e+02, 4.77121e-01])
    """

    fraction: FloatArray
    exponent: NDArray[np.int32]

    @classmethod
    def of(cls, values: FloatArray) -> Factors:
        """Return plain numbers as factors."""
        return cls(*np.frexp(values))

    @classmethod
    def stack(cls, parts: Sequence[Factors]) -> Factors:
        """Return the factors of several matrices as those of a stack."""
        return cls(
            np.stack([part.fraction for part in parts]), np.stack([part.exponent for part in parts])
        )

    def times(self, values: FloatArray) -> Factors:
        """Return these factors multiplied by plain numbers."""
        fraction, exponent = np.frexp(self.fraction * values)
        exponent += self.exponent
        return Factors(fraction, exponent)

    def shifted(self, exponent: Any) -> Factors:
        """Return these factors multiplied by powers of two."""
        return Factors(self.fraction, self.exponent + exponent)

    def __getitem__(self, index: Any) -> Factors:
        return Factors(self.fraction[index], self.exponent[index])

    @cached_property
    def plain(self) -> FloatArray:
        """The factors as numbers, infinite or zero where they leave the range."""
        if self.is_narrow:
            values: FloatArray = np.ldexp(self.fraction, self.exponent)
        else:
            with np.errstate(over="ignore", under="ignore"):
                values = np.ldexp(self.fraction, self.exponent)
        values.flags.writeable = False
        return values

    @cached_property
    def logs(self) -> FloatArray:
        """Natural logarithms of the factors."""
        values: FloatArray = np.log(self.fraction) + _LOG_2 * self.exponent
        values.flags.writeable = False
        return values

    @cached_property
    def is_narrow(self) -> bool:
        """Whether products of two plain factors stay in range."""
        return bool(np.abs(self.exponent).max(initial=0) <= _NARROW)

    def total(self) -> Factors:
        """Return the sum of the factors."""
        highest = self.exponent.max()
        return Factors.of(np.ldexp(self.fraction, self.exponent - highest).sum()).shifted(highest)


def scaled(entries: FloatArray, left: Factors, right: Factors) -> FloatArray:
    """Return ``left * entries * right``, broadcast, without leaving the range on the way.

    Examples
    --------
    >>> far = Factors.of(np.array([1e300])).times(np.array([1e300]))
    >>> near = Factors.of(np.array([1e-300])).times(np.array([1e-290]))
    >>> scaled(np.array([2.0]), far, near).round(-8)
    array([2.e+10])
    """
    if left.is_narrow and right.is_narrow:
        product: FloatArray = left.plain * right.plain
        product *= entries
        return product
    fraction, exponent = np.frexp(entries)
    fraction = fraction * left.fraction * right.fraction
    return np.asarray(np.ldexp(fraction, exponent + left.exponent + right.exponent))


def scaled_matrix(
    matrix: Matrix, epsilon: float, left: Factors, right: Factors, vanishing: NDArray[np.intp]
) -> Matrix:
    """Return ``left (matrix + epsilon) right``, read-only, with zeros at the vanishing cells.

    A sparse matrix stays sparse where epsilon is 0 and no factor is NaN.

    Raises
    ------
    InputError
        When the result would be dense and not fit into memory.
    """
    rows, columns = left[..., None], right[..., None, :]
    if isinstance(matrix, np.ndarray):
        dense = scaled(matrix + epsilon if epsilon else matrix, rows, columns)
    elif epsilon or np.isnan(left.fraction).any() or np.isnan(right.fraction).any():
        refuse_if_too_large(matrix.shape, "The scaled matrix")
        dense = scaled(matrix.toarray() + epsilon, rows, columns)
    else:
        entries = matrix.tocoo()
        values = scaled(entries.data, left[entries.row], right[entries.col])
        result = sparse.csr_array((values, (entries.row, entries.col)), shape=matrix.shape)
        result.sort_indices()
        result = drop_cells(result, vanishing) if vanishing.size else result
        for part in (result.data, result.indices, result.indptr):
            part.flags.writeable = False
        return result
    dense[tuple(vanishing.T)] = 0.0
    dense.flags.writeable = False
    return dense


def drop_cells(matrix: sparse.csr_array, cells: NDArray[np.intp]) -> sparse.csr_array:
    """Return a sparse matrix without the given (row, column) cells."""
    gone = sparse.csr_array((np.ones(len(cells)), tuple(cells.T)), shape=matrix.shape)
    kept = sparse.csr_array(matrix - matrix.multiply(gone))
    kept.eliminate_zeros()
    return kept


def balanced(left: Factors, right: Factors) -> tuple[Factors, Factors]:
    """Share the free constant evenly between the two sides: the mean logarithms become equal."""
    shift = 0.5 * (_mean_log(left) - _mean_log(right))
    if np.abs(shift).max() < _NARROW:
        return left.times(np.exp(-shift)), right.times(np.exp(shift))
    whole = np.rint(shift / _LOG_2).astype(np.int32)
    rest = np.exp(shift - whole * _LOG_2)
    return left.times(1.0 / rest).shifted(-whole), right.times(rest).shifted(whole)


def _mean_log(factors: Factors) -> FloatArray:
    logs = factors.logs
    return np.asarray(np.add.reduce(logs, axis=-1, keepdims=True) / logs.shape[-1])
