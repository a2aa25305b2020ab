"""Word the cells in which two bi-normalized matrices surely differ, as findings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label
from deconfuse._text import printable, shorten, significant
from deconfuse.reporting.tables import dense
from deconfuse.statistics.comparison import Comparison
from deconfuse.statistics.findings import Finding

__all__ = ["change_findings", "counted_cells", "quoted"]

_NAME_WIDTH = 40
_MOST = 10


def counted_cells(comparison: Comparison) -> NDArray[np.bool_]:
    """Return in which cells either matrix has a sample."""
    first, second = (dense(n.source.counts) > 0 for n in (comparison.first, comparison.second))
    return np.asarray(first | second)


def change_findings(comparison: Comparison) -> tuple[Finding, ...]:
    """Return the largest significant differences, from the first matrix to the second."""
    is_sure = (comparison.p_values < 1 - comparison.level) & ~np.isnan(comparison.difference)
    cells = np.argwhere(is_sure & counted_cells(comparison))
    size = np.abs(comparison.difference)[tuple(cells.T)]
    largest = cells[np.argsort(-size, kind="stable")][:_MOST]
    values = [estimate.matrix for estimate in comparison.estimates]
    return tuple(_finding(comparison, values, i, j) for i, j in largest.tolist())


def _finding(comparison: Comparison, values: list[NDArray[np.float64]], i: int, j: int) -> Finding:
    true, pred = comparison.labels[i], comparison.labels[j]
    what = f"{quoted(true)} told apart" if i == j else f"{quoted(true)} taken for {quoted(pred)}"
    before, after = (significant(float(matrix[i, j]), 3) for matrix in values)
    counts = [float(n.source.counts[i, j]) for n in (comparison.first, comparison.second)]
    p_value = float(comparison.p_values[i, j])
    certainty = "below 10⁻¹⁵" if p_value < 1e-15 else significant(p_value)
    return Finding(
        kind="change",
        severity=min(abs(float(comparison.difference[i, j])), 1.0),
        sentence=(
            f"{what}: {before} → {after} ({counts[0]:,.6g} → {counts[1]:,.6g} samples;"
            f" corrected p {certainty})."
        ),
        advice="",
        classes=(true,) if i == j else (true, pred),
        cells=((true, pred),),
    )


def quoted(label: Label) -> str:
    """Return a name in quotes, without its middle where it is long."""
    return f"“{shorten(printable(label), _NAME_WIDTH)}”"
