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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas, lapack

try:
    # What a product of sparse and dense arrays calls, to add to memory that is there already.
    from scipy.sparse._sparsetools import csr_matvecs
except ImportError:
    csr_matvecs = None

from deconfuse.counts import dense

__all__ = ["Chosen", "FewCells", "JointNoise", "Sensitivity"]

FloatArray = NDArray[np.float64]

# Rows that are mirrored at once.
_BLOCK = 128
# From so many classes on, and up to such a share of all cells, products of cells are faster.
_MANY_CLASSES, _FEW = 256, 0.05


@dataclass(frozen=True, eq=False)
class Chosen:
    """All cells of a square matrix, or some.

    Attributes
    ----------
    n_classes : int
    places : tuple of two ndarray of int, optional
        Rows and columns of the cells. By default all.
    """

    n_classes: int
    places: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def of(self, matrix: FloatArray) -> FloatArray:
        """Return these cells; all are the matrix itself."""
        return matrix if self.places is None else matrix[self.places]

    def of_sparse(self, matrix: sparse.csr_array) -> FloatArray:
        """Return these cells of a sparse matrix."""
        return dense(matrix) if self.places is None else dense(matrix[self.places]).ravel()

    def outer(
        self,
        how: np.ufunc,
        rows: FloatArray,
        columns: FloatArray,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return a function of numbers of row and column; that of all cells in the memory given."""
        if self.places is None:
            return np.asarray(how.outer(rows, columns, out=out))
        i, j = self.places
        return np.asarray(how(rows[i], columns[j]))

    def set_diagonal(self, values: FloatArray, diagonal: FloatArray) -> None:
        """Set the values of those cells that are on the diagonal."""
        at, classes = self.diagonal
        values[at] = diagonal[classes]

    @cached_property
    def diagonal(self) -> tuple[Any, NDArray[np.intp]]:
        """Where cells of the diagonal are among these, and of which classes."""
        if self.places is None:
            every = np.arange(self.n_classes)
            return (every, every), every
        i, j = self.places
        at = np.flatnonzero(i == j)
        return at, i[at]


@dataclass(frozen=True, eq=False)
class FewCells:
    """A square matrix ``cells + outer(left, right)``: a product of vectors but for a few cells."""

    cells: sparse.csr_array
    left: FloatArray
    right: FloatArray

    @classmethod
    def if_faster(
        cls, cells: Any, left: FloatArray, right: FloatArray, rest: float = 1.0
    ) -> FewCells | None:
        """Return ``left[i] * right[j] * (cells[i, j] + rest)``, or None if it is faster dense."""
        n_classes = len(left)
        if n_classes < _MANY_CLASSES or cells.nnz > _FEW * n_classes**2:
            return None
        known = sparse.coo_array(cells)
        scaled = known.data * left[known.row] * right[known.col]
        places = (known.row, known.col)
        return cls(sparse.csr_array((scaled, places), shape=known.shape), rest * left, right)

    def transposed(self) -> FewCells:
        return FewCells(sparse.csr_array(self.cells.T), self.right, self.left)

    def with_diagonal(self, diagonal: FloatArray) -> FewCells:
        """Return the matrix with another diagonal, exact also where it is near the old one."""
        others = self.cells - sparse.diags_array(self.cells.diagonal())
        own = sparse.diags_array(diagonal - self.left * self.right)
        return FewCells(sparse.csr_array(others + own), self.left, self.right)

    def times(self, other: FloatArray, out: FloatArray) -> FloatArray:
        """Return the product with a dense matrix, in the memory given."""
        assert out.flags.c_contiguous, "else its parts would be copies, and stay empty"
        sums, cells, flat = np.einsum("k,kj->j", self.right, other), self.cells, other.ravel()
        for start in range(0, len(out), _BLOCK):
            rows = slice(start, start + _BLOCK)
            part = np.multiply.outer(self.left[rows], sums, out=out[rows])
            if csr_matvecs is None:
                part += cells[rows] @ other
            else:
                ends = cells.indptr[start : start + len(part) + 1]
                sizes, entries = (len(part), *other.shape), (cells.indices, cells.data)
                csr_matvecs(*sizes, ends, *entries, flat, part.ravel())
        return out


class _Crossed(NamedTuple):
    """``Q``, the diagonal of ``P + Q``, and by how much hits move with noise of their own.

    Where the matrix is close to the identity nearly all of the last two cancels, so they are
    computed apart, with all their digits.
    """

    block: FloatArray
    hit_sums: FloatArray
    hit_effects: FloatArray


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The inverse of the linearized balancing equations at a bi-normalized matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        Doubly stochastic.
    few : FewCells, optional
        The same matrix, where products with it are faster so.
    """

    matrix: FloatArray
    few: FewCells | None = None

    @cached_property
    def moves(self) -> FloatArray:
        """The matrix minus the identity, with all digits on the diagonal: from the other entries.

        So the sum of each column is zero.
        """
        return _without_column_sums(self.matrix.copy())

    @cached_property
    def _few_moves(self) -> FewCells | None:
        return self.few and self.few.with_diagonal(self.moves.diagonal())

    @cached_property
    def row_block(self) -> FloatArray:
        """``P`` of the module's formulas."""
        return _laplacian_inverse(self.matrix, self.few)

    @property
    def cross_block(self) -> FloatArray:
        """``Q`` of the module's formulas."""
        return self._crossed.block

    @cached_property
    def _crossed(self) -> _Crossed:
        """With D = B - I, Q is -P - P D, and a hit moves by -D_jj - B_jj (Dᵀ P D)_jj."""
        d = self.moves
        cross, turned = _fresh(2, len(d))
        if self._few_moves is None:
            _product(self.row_block, d, out=cross)
        else:
            # P is symmetric.
            cross[:] = self._few_moves.transposed().times(self.row_block, out=turned).T
        hit_sums = -cross.diagonal()
        hit_effects = -d.diagonal() - self.matrix.diagonal() * np.einsum("ij,ij->j", d, cross)
        cross += self.row_block
        return _Crossed(np.negative(cross, out=cross), hit_sums, hit_effects)

    @cached_property
    def column_block(self) -> FloatArray:
        """``S`` of the module's formulas."""
        return np.asarray(np.eye(len(self.matrix)) - self.matrix.T @ self.cross_block)

    def effects(self, cells: Chosen, out: FloatArray | None = None) -> FloatArray:
        """Return by how much cells move with noise of their own; of all in the memory given.

        That is 1 - B_ij (P_ii + 2 Q_ij + S_jj).
        """
        column_diagonal = 1.0 - np.einsum("ij,ij->j", self.matrix, self.cross_block)
        effects = cells.outer(np.add, self.row_block.diagonal(), column_diagonal, out=out)
        cross = cells.of(self.cross_block)
        effects += cross
        effects += cross
        effects *= cells.of(self.matrix)
        np.subtract(1.0, effects, out=effects)
        cells.set_diagonal(effects, self._crossed.hit_effects)
        return effects

    def change(self, noise: FloatArray) -> FloatArray:
        """Return the change of the matrix for noise, or for a stack of noises."""
        rows, columns = noise.sum(axis=-1), noise.sum(axis=-2)
        dx = -(rows - columns @ self.matrix.T) @ self.row_block
        dy = -columns - dx @ self.matrix
        result: FloatArray = noise + self.matrix * (dx[..., :, None] + dy[..., None, :])
        return result

    def variances(self, noise: FloatArray, cells: Chosen | None = None) -> FloatArray:
        """Return the variances of cells, by default of all, for noise of known variances.

        The noise of different cells is independent.

        The diagonal of ``noise`` is written to, and is at the end as it was.

        Notes
        -----
        Cell (i, j) moves by n_ij + B_ij (dx_i + dy_j), where dx = -P w and dy = -c - Qᵀ w for the
        column sums c of the noise and w, its row sums minus B c. So the covariance of dx and dy is
        C = P (F + A Q), with A that of w and F that of w and c. Since no row sum and no column sum
        of the matrix moves, dx = -r - B dy for the row sums r of the noise and dy = -c - Bᵀ dx,
        which gives the variances of dx and dy from C without another product of matrices.

        Hits nearly cancel in w where B is close to the identity. Let D be B, and E the noise, with
        minus the sums of the other entries of a column on the diagonal. Then F = E - D diag(c), and
        A = diag(E 1) + H + Hᵀ with H = -E - (E + F) Dᵀ / 2: hits do not come into it.
        """
        b, d = self.matrix, self.moves
        columns, own_noise = noise.sum(axis=0), noise.diagonal().copy()
        # Two or three products of matrices are most of the time. All else is done in the memory of
        # three matrices, since fresh memory for every term would take as long again.
        e = _without_column_sums(noise)
        on_diagonal = np.s_[:: len(b) + 1]
        one, other, turned = _fresh(3, len(b))
        np.multiply(d, columns / 2, out=one)
        one -= e
        # H + E, or its transpose: the sum of H and its transpose is the same. Before the inverse,
        # after which threads of BLAS wait for more work on a core.
        if self._few_moves is None:
            _product(one, d.T, out=other)
        else:
            turned[:] = one.T
            self._few_moves.times(turned, out=other)
        other -= e
        w_variances = np.add(other, other.T, out=one)
        e_sums = e.sum(axis=1)
        w_variances.reshape(-1)[on_diagonal] += e_sums
        p, (q, hit_sums, _) = self.row_block, self._crossed
        moved = _product(w_variances, q, out=other)
        met = np.multiply(d, columns, out=one)
        np.subtract(e, met, out=met)
        column_half = columns + np.einsum("ij,ij->j", q, met)
        moved += met
        shared = _product(p, moved, out=one)
        # Of hits, by_row + by_column + 2 shared is nearly zero: each half of it, with its digits.
        hits = shared.diagonal().copy()
        shared *= b
        shared.reshape(-1)[on_diagonal] = 0.0
        errors = d.sum(axis=1) - d.diagonal()
        row_half = p.diagonal() * (e_sums - e.diagonal()) + hit_sums * own_noise
        row_half += np.einsum("ij,ij->i", q, e) - q.diagonal() * e.diagonal()
        row_half += errors * hits - shared.sum(axis=1)
        row_half /= errors + b.diagonal()
        column_half -= shared.sum(axis=0) + d.diagonal() * hits
        np.fill_diagonal(noise, own_noise)
        if cells is None:
            cells = Chosen(len(b))
        matrix, found = cells.of(b), cells.of(shared)
        found *= 2
        by_both = cells.outer(np.add, row_half - hits, column_half - hits, out=other)
        by_both *= matrix
        found += by_both
        cells.set_diagonal(found, b.diagonal() * (row_half + column_half))
        found *= matrix
        own = self.effects(cells, out=turned)
        own *= 2
        own -= 1
        own *= cells.of(noise)
        found += own
        # Differences of nearly equal numbers, where a cell hardly moves.
        return np.maximum(found, 0.0, out=found)

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


def _fresh(number: int, n_classes: int) -> FloatArray:
    """Return memory for some matrices, which costs little more than for one.

    The first touch of its pages takes as long as the numbers, but for the large pages inside.
    """
    return np.empty((number, n_classes, n_classes))


def _product(a: FloatArray, b: FloatArray, out: FloatArray) -> FloatArray:
    """Return a product of matrices in the memory given, by SciPy's BLAS, which also factors them.

    NumPy has a BLAS of its own, and the threads of one wait for more work on the cores that the
    other needs: in turns, both take several times as long.
    """
    # BLAS keeps columns together, NumPy rows. So the transposed product is asked for, in place.
    if b.flags.c_contiguous:
        blas.dgemm(1.0, b.T, a.T, c=out.T, overwrite_c=1)
    else:
        blas.dgemm(1.0, b, a.T, c=out.T, overwrite_c=1, trans_a=1)
    return out


def _without_column_sums(matrix: FloatArray) -> FloatArray:
    """Give a matrix a diagonal that makes the sum of each column zero."""
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=0))
    return matrix


def _laplacian(matrix: FloatArray, few: FewCells | None) -> FloatArray:
    """Return I - B B^T.

    The diagonal is summed from the other entries, which keeps its digits where B is close to the
    identity and 1 - (B B^T)_ii would lose them.
    """
    if few is None:
        products = blas.dsyrk(-1.0, matrix.T, trans=1, lower=1)
        _mirror_lower_triangle(products)
    else:
        turned, products = _fresh(2, len(matrix))
        turned[:] = matrix.T
        few.times(turned, out=products)
        np.negative(products, out=products)
    return _without_column_sums(products.T)


def _laplacian_inverse(matrix: FloatArray, few: FewCells | None) -> FloatArray:
    """Return the pseudo-inverse of I - B B^T."""
    shifted = _laplacian(matrix, few)
    # With constants, its null vectors, given an eigenvalue of its own scale, it has an inverse.
    size = len(matrix)
    scale = shifted.trace() / size
    norm = 2.0 * shifted.diagonal().max() + scale
    shifted += scale / size
    factor, failed = lapack.dpotrf(shifted.T, lower=1, overwrite_a=1)
    if not failed:
        condition, _ = lapack.dpocon(factor, norm, uplo="L")
        if condition > 100 * size * np.finfo(float).eps:
            inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
            _mirror_lower_triangle(inverse)
            inverse -= 1.0 / (scale * size)
            return np.asarray(inverse.T)
    # There is one more null direction for each part of the classes never confused with the rest.
    values, vectors = np.linalg.eigh(_laplacian(matrix, few))
    threshold = size * np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(values > threshold, 1.0 / np.where(values > threshold, values, 1.0), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T)


def _mirror_lower_triangle(matrix: FloatArray) -> None:
    """Make a matrix symmetric whose upper triangle is zero, block by block in its own memory."""
    for start in range(0, len(matrix), _BLOCK):
        stop = start + _BLOCK
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
        block = matrix[start:stop, start:stop]
        block += np.tril(block, -1).T
