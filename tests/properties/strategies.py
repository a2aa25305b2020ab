"""Hypothesis strategies for matrices, diagonals and label sequences."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

Array = NDArray[np.float64]


def exponents(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, width=32)


@st.composite
def positive_matrices(
    draw: st.DrawFn, *, square: bool = True, decades: float = 3.0, largest: int = 7
) -> Array:
    """Positive matrices whose entries span up to ``2 * decades`` decades."""
    n_rows = draw(st.integers(2, largest))
    n_columns = n_rows if square else draw(st.integers(2, largest))
    logs = draw(hnp.arrays(np.float64, (n_rows, n_columns), elements=exponents(-decades, decades)))
    return np.asarray(10.0**logs)


@st.composite
def diagonals(draw: st.DrawFn, size: int, *, decades: float = 4.0) -> Array:
    """Positive vectors, to multiply rows or columns with."""
    return np.asarray(
        10.0 ** draw(hnp.arrays(np.float64, size, elements=exponents(-decades, decades)))
    )


@st.composite
def count_matrices(draw: st.DrawFn, *, largest: int = 7) -> NDArray[np.int64]:
    """Counts with zeros, at least one of them positive."""
    size = draw(st.integers(2, largest))
    counts = draw(hnp.arrays(np.int64, (size, size), elements=st.integers(0, 50)))
    counts[0, 0] += 1
    return counts
