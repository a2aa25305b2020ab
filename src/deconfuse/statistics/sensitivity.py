r"""Compute how a bi-normalized matrix moves when its counts do, at the cost of a few solves.

With noise :math:`n_{kl} = D^l_k D^r_l\, dM_{kl}` in the counts, the change of the bi-normalized
matrix :math:`B` is

.. math:: dB_{ij} = n_{ij} + B_{ij} (dx_i + dy_j), \qquad
   \begin{pmatrix} I & B \\ B^T & I \end{pmatrix} \begin{pmatrix} dx \\ dy \end{pmatrix}
   = -\begin{pmatrix} \text{row sums of } n \\ \text{column sums of } n \end{pmatrix}.

Eliminating :math:`dy` leaves the matrix :math:`I - B B^T`, a graph Laplacian, with pseudo-inverse
:math:`G`; then :math:`P = G`, :math:`Q = -G B` and :math:`S = I + B^T G B` are the blocks of an
inverse, and everything below is made of products of such matrices: cubic in the number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

__all__ = ["JointNoise", "Sensitivity"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """The inverse of the linearized balancing equations at a bi-normalized matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        Doubly stochastic.
    row_block, cross_block, column_block : ndarray of shape (n, n)
        ``P``, ``Q`` and ``S`` of the module's formulas.
    """

    matrix: FloatArray
    row_block: FloatArray
    cross_block: FloatArray
    column_block: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> Sensitivity:
        """Return the sensitivity of a doubly stochastic matrix."""
        inverse = _laplacian_inverse(matrix @ matrix.T)
        cross = -inverse @ matrix
        column = np.eye(len(matrix)) - matrix.T @ cross
        return cls(matrix, inverse, cross, column)

    def change(self, noise: FloatArray) -> FloatArray:
        """Return the change of the matrix for noise, or for a stack of noises."""
        rows, columns = noise.sum(axis=-1), noise.sum(axis=-2)
        dx = -(rows - columns @ self.matrix.T) @ self.row_block
        dy = -columns - dx @ self.matrix
        result: FloatArray = noise + self.matrix * (dx[..., :, None] + dy[..., None, :])
        return result

    def variances(self, noise: FloatArray) -> FloatArray:
        """Return the variance of every cell, for independent noise of these variances.

        Notes
        -----
        Cell (i, j) moves by n_ij minus B_ij times the sum over (k, l) of n_kl (a_k + b_l), with
        a_k = P_ik + Q_kj and b_l = Q_il + S_jl.
        """
        p, q, s = self.row_block, self.cross_block, self.column_block
        rows, columns = noise.sum(axis=1), noise.sum(axis=0)
        # Five products of matrices, which are most of the time.
        rows_met, columns_met = q @ noise.T, noise @ s
        by_row = (p**2) @ rows + (q**2) @ columns + 2 * (p * rows_met).sum(axis=1)
        by_column = (q**2).T @ rows + (s**2) @ columns + 2 * (q * columns_met).sum(axis=0)
        mixed = (p * rows + rows_met) @ q + (q * columns) @ s + p @ columns_met
        own = p.diagonal()[:, None] + 2 * q + s.diagonal()
        spread = by_row[:, None] + by_column + 2 * mixed
        result = noise - 2 * self.matrix * noise * own + self.matrix**2 * spread
        # Differences of nearly equal numbers, where a cell hardly moves.
        return np.maximum(result, 0.0)

    def covariances(self, other: Sensitivity, joint: JointNoise) -> FloatArray:
        """Return the covariance of every cell with the same cell of another matrix.

        Notes
        -----
        As `variances`, with a_k, b_l of this matrix and those of the other one; the noise is
        described by how samples share a true class k and the two predictions l and m.
        """
        p, q, s = self.row_block, self.cross_block, self.column_block
        p2, q2, s2 = other.row_block, other.cross_block, other.column_block
        true, first, second, pair = joint.true, joint.first, joint.second, joint.predictions
        by_row = (
            (p * p2) @ true
            + ((p2 @ first) * q).sum(axis=1)
            + ((p @ second) * q2).sum(axis=1)
            + ((q @ pair) * q2).sum(axis=1)
        )
        by_column = (
            (q * q2).T @ true
            + ((q2.T @ first) * s).sum(axis=1)
            + ((q.T @ second) * s2).sum(axis=1)
            + ((s @ pair) * s2).sum(axis=1)
        )
        mixed = (
            (p * true) @ q2
            + (p2 * true) @ q
            + q @ first.T @ q2
            + p2 @ first @ s
            + p @ second @ s2
            + q2 @ second.T @ q
            + q @ pair @ s2
            + q2 @ pair.T @ s
        )
        moved = by_row[:, None] + by_column + mixed
        own_first = first * (p2.diagonal()[:, None] + q2) + joint.spread_first(q2, s2)
        own_second = second * (p.diagonal()[:, None] + q) + joint.spread_second(q, s)
        result: FloatArray = (
            joint.agreed
            - other.matrix * own_first
            - self.matrix * own_second
            + self.matrix * other.matrix * moved
        )
        return result


@dataclass(frozen=True, slots=True, eq=False)
class JointNoise:
    """Noise of two matrices from the same samples.

    Attributes
    ----------
    triples : tuple of three ndarray of int
        True class, first prediction, second prediction of each kind of sample.
    weights : ndarray
        Variance of each kind's number, times the factors of its cell in both matrices.
    n_classes : int
    """

    triples: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
    weights: FloatArray
    n_classes: int

    @property
    def true(self) -> FloatArray:
        """Weight of each true class."""
        return np.asarray(np.bincount(self.triples[0], self.weights, minlength=self.n_classes))

    @property
    def first(self) -> FloatArray:
        """Weight by true class and first prediction."""
        return self._by(0, 1, self.weights)

    @property
    def second(self) -> FloatArray:
        """Weight by true class and second prediction."""
        return self._by(0, 2, self.weights)

    @property
    def predictions(self) -> FloatArray:
        """Weight by first and second prediction."""
        return self._by(1, 2, self.weights)

    @property
    def agreed(self) -> FloatArray:
        """Weight by true class and prediction, where both predictions are the same."""
        same = self.triples[1] == self.triples[2]
        return self._by(0, 1, np.where(same, self.weights, 0.0))

    def spread_first(self, cross: FloatArray, column: FloatArray) -> FloatArray:
        """Return, by first cell (k, l), the sum over m of weight times Q_km + S_lm."""
        true, first, second = self.triples
        return self._by(0, 1, self.weights * (cross[true, second] + column[first, second]))

    def spread_second(self, cross: FloatArray, column: FloatArray) -> FloatArray:
        """Return, by second cell (k, m), the sum over l of weight times Q_kl + S_ml."""
        true, first, second = self.triples
        return self._by(0, 2, self.weights * (cross[true, first] + column[second, first]))

    def _by(self, rows: int, columns: int, weights: FloatArray) -> FloatArray:
        keys = self.triples[rows] * self.n_classes + self.triples[columns]
        flat = np.bincount(keys, weights, minlength=self.n_classes**2)
        return np.asarray(flat, dtype=np.float64).reshape(self.n_classes, self.n_classes)


def _laplacian_inverse(products: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of I - B B^T, from B B^T.

    The diagonal is summed from the other entries, which keeps its digits where B is close to the
    identity and 1 - (B B^T)_ii would lose them.
    """
    laplacian = -products
    np.fill_diagonal(laplacian, 0.0)
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    # With constants, its null vectors, given an eigenvalue of its own scale, it has an inverse.
    size = len(laplacian)
    scale = laplacian.trace() / size
    shifted = laplacian + scale / size
    factor, failed = lapack.dpotrf(shifted, lower=1)
    if not failed:
        condition, _ = lapack.dpocon(factor, np.abs(shifted).sum(axis=0).max(), uplo="L")
        if condition > 100 * size * np.finfo(float).eps:
            lower, _ = lapack.dpotri(factor, lower=1)
            lower = np.tril(lower)
            return np.asarray(lower + np.tril(lower, -1).T - 1.0 / (scale * size))
    # There is one more null direction for each part of the classes never confused with the rest.
    values, vectors = np.linalg.eigh(laplacian)
    threshold = size * np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(values > threshold, 1.0 / np.where(values > threshold, values, 1.0), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T)
