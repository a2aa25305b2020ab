r"""How a bi-normalized matrix moves when its counts do, without a matrix of all cells by all cells.

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

__all__ = ["Sensitivity"]

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
        by_row = (p**2) @ rows + (q**2) @ columns + 2 * ((p @ noise) * q).sum(axis=1)
        by_column = (q**2).T @ rows + (s**2) @ columns + 2 * ((q.T @ noise) * s).sum(axis=1)
        mixed = (p * rows) @ q + (q * columns) @ s + p @ noise @ s + q @ noise.T @ q
        own = p.diagonal()[:, None] + 2 * q + s.diagonal()
        spread = by_row[:, None] + by_column + 2 * mixed
        result = noise - 2 * self.matrix * noise * own + self.matrix**2 * spread
        # Differences of nearly equal numbers, where a cell hardly moves.
        return np.maximum(result, 0.0)


def _laplacian_inverse(products: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of I - B B^T, from B B^T.

    The diagonal is summed from the other entries, which keeps its digits where B is close to the
    identity and 1 - (B B^T)_ii would lose them.
    """
    laplacian = -products
    np.fill_diagonal(laplacian, 0.0)
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    values, vectors = np.linalg.eigh(laplacian)
    # One null direction for each part of the classes that is never confused with the rest.
    threshold = len(values) * np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(values > threshold, 1.0 / np.where(values > threshold, values, 1.0), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T)
