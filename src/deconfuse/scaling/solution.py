"""What a scaling ended as: its status, its factors and how far the margins are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse.errors import NotScalableError
from deconfuse.scaling.factors import Factors, scaled_matrix
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["Scaling", "ScalingStatus"]


class ScalingStatus(Enum):
    """How a scaling ended; the value of each member is its explanation."""

    CONVERGED = "both margins meet their targets within the tolerance"
    LIMIT_ONLY = (
        "the zeros let the margins be met only in the limit: some positive cells must vanish"
    )
    INFEASIBLE = "the zeros make the margins impossible to meet"
    MAX_ITERATIONS = "the iterations ended before the margins met their targets"
    NOT_FINITE = "the factors left the range of floating-point numbers"


_HINTS = {
    ScalingStatus.LIMIT_ONLY: (
        "add a small positive `epsilon` to every cell, or pass `throw=False` to get the limit, "
        "with the cells that vanish in `vanishing`."
    ),
    ScalingStatus.INFEASIBLE: (
        "add a small positive `epsilon` to every cell, or leave out the rows and columns named."
    ),
    ScalingStatus.MAX_ITERATIONS: (
        "raise `max_iterations` if it was given, use the default solver `auto`, or raise"
        " `epsilon` or `tolerance`."
    ),
    ScalingStatus.NOT_FINITE: "rescale the matrix, or raise `epsilon`.",
}

_SEVERITY = list(ScalingStatus)


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""The two diagonals that scale a matrix to its margins, and the proof that they do.

    The scaled matrix is ``left[i] * (M[i, j] + epsilon) * right[j]``.

    Attributes
    ----------
    problem : ScalingProblem
        What was asked: matrix, epsilon, margins and tolerance.
    left_factors, right_factors : Factors
        The two diagonals, in range also where they span many decades; see ``left`` and ``right``
        for plain numbers. For a stack of matrices these have a leading axis.
    iterations : int
        For ``"ipf"`` and ``"ras"`` the half steps of the paper (two per sweep); otherwise sweeps
        and Newton steps together.
    solver : str
        The algorithm that ran. For ``solver="auto"`` this says what was picked.
    statuses : tuple of ScalingStatus
        One entry per matrix of the stack; one entry for a single matrix.
    residuals, errors : ndarray
        How far the margins are from their targets, as a sum and relative to the targets, likewise.
        The tolerance bounds ``errors``.
    vanishing : ndarray of shape (n_cells, 2)
        Row and column indices of positive cells that must go to zero (``LIMIT_ONLY``); for a stack
        of shape (n_cells, 3), with the matrix first.
    blocking_rows, blocking_columns : ndarray of int
        Rows whose targets together exceed what their only columns can hold (``INFEASIBLE``); for a
        stack those of its first such matrix.
    has_empty_lines : bool
        Whether the blocking rows and columns are those without any entry.

    Examples
    --------
    >>> import deconfuse as dc
    >>> s = dc.scale([[4.0, 1.0], [1.0, 1.0]])
    >>> s.matrix.round(4)
    array([[0.6667, 0.3333],
           [0.3333, 0.6667]])
    >>> s.status.name, bool(s.residual < 1e-10)
    ('CONVERGED', True)
    """

    problem: ScalingProblem
    left_factors: Factors
    right_factors: Factors
    iterations: int
    solver: str
    statuses: tuple[ScalingStatus, ...]
    residuals: NDArray[np.float64]
    errors: NDArray[np.float64]
    vanishing: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), dtype=np.intp))
    blocking_rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    blocking_columns: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    has_empty_lines: bool = False

    def __post_init__(self) -> None:
        blocking = self.blocking_rows, self.blocking_columns
        for array in (self.residuals, self.errors, self.vanishing, *blocking):
            array.flags.writeable = False

    @property
    def status(self) -> ScalingStatus:
        """The status; for a stack, the worst of its matrices."""
        return max(self.statuses, key=_SEVERITY.index)

    @property
    def converged(self) -> bool:
        """Whether every margin meets its target within the tolerance."""
        return self.status is ScalingStatus.CONVERGED

    @property
    def residual(self) -> float:
        """L1 distance of both margins to their targets, added; for a stack, the largest."""
        return float(self.residuals.max()) if self.residuals.size else 0.0

    @property
    def epsilon(self) -> float:
        """What was added to every cell."""
        return self.problem.epsilon

    @property
    def left(self) -> NDArray[np.float64]:
        """Row factors."""
        return self.left_factors.plain

    @property
    def right(self) -> NDArray[np.float64]:
        """Column factors."""
        return self.right_factors.plain

    @property
    def log_left(self) -> NDArray[np.float64]:
        """Logarithms of the row factors, finite also where the factors are not."""
        return self.left_factors.logs

    @property
    def log_right(self) -> NDArray[np.float64]:
        """Logarithms of the column factors."""
        return self.right_factors.logs

    @cached_property
    def matrix(self) -> NDArray[np.float64] | sparse.csr_array:
        """The scaled matrix: sparse where the problem is sparse and epsilon is zero.

        Raises
        ------
        InputError
            When a dense matrix of this size would not fit into memory.
        """
        problem = self.problem
        return scaled_matrix(
            problem.matrix, problem.rank_one, self.left_factors, self.right_factors, self.vanishing
        )

    def explain(self) -> str:
        """Return one or two sentences on how the scaling ended and which cells are to blame."""
        text = f"Status {self.status.name}: {self.status.value}."
        text += f" Residual {self.residual:.3g}, relative to the targets {self.errors.max():.3g},"
        text += f" tolerance {self.problem.tolerance:.3g},"
        text += f" {self.iterations} iterations of {self.solver}."
        if len(self.statuses) > 1:
            failed = [k for k, s in enumerate(self.statuses) if s is not ScalingStatus.CONVERGED]
            text += f" Matrices of the stack concerned: {_some(failed)}."
        if self.vanishing.size:
            cells = [str(tuple(cell)) for cell in self.vanishing.tolist()]
            text += f" Cells that must vanish: {_some(cells)}."
        text += self._explain_blocking()
        return text

    def raise_if_failed(self) -> None:
        """Raise `NotScalableError` with this result attached unless it converged."""
        if not self.converged:
            raise NotScalableError(self.explain(), solution=self, hint=_HINTS[self.status])

    def _explain_blocking(self) -> str:
        rows, columns = self.blocking_rows.tolist(), self.blocking_columns.tolist()
        text = ""
        if self.has_empty_lines:
            text += f" Empty rows: {_some(rows)}." if rows else ""
            text += f" Empty columns: {_some(columns)}." if columns else ""
        elif rows:
            text += (
                f" Rows {_some(rows)} have entries only in columns {_some(columns)},"
                " whose targets cannot hold theirs."
            )
        return text

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.problem.shape))
        return (
            f"Scaling({shape}, {self.status.name}, residual={self.residual:.2g}, "
            f"iterations={self.iterations}, solver={self.solver!r})"
        )


def _some(items: Sequence[object], most: int = 5) -> str:
    """Join up to five items, and say how many more there are."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
