"""Compare two matrices: the paper's Overlap, the L1 distance it equals, and KL divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import as_numbers, from_torch, summed
from deconfuse.classes import Classes
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.count_tables import is_frame

__all__ = ["kl_divergence", "l1_distance", "overlap"]


def overlap(a: Any, b: Any) -> float:
    r"""Return the mass that two matrices share, from 0 to 1.

    Parameters
    ----------
    a, b : array-like, sparse array, DataFrame, ConfusionMatrix or Normalized
        Non-negative, of equal shape. Each is divided by its own total first. Where both have class
        names, these must be the same; they are matched by name.

    Returns
    -------
    float

    Notes
    -----
    :math:`\sum_{ij} \min(\mathrm{all}(A)_{ij}, \mathrm{all}(B)_{ij})`, which is
    :math:`1 - \frac{1}{2}\lVert \mathrm{all}(A) - \mathrm{all}(B) \rVert_1`.

    Examples
    --------
    >>> import deconfuse as dc
    >>> dc.overlap([[1, 0], [0, 1]], [[2, 0], [2, 0]])
    0.5
    """
    p, q = _as_shares(a, b, names=("a", "b"))
    shared = np.minimum(p, q) if isinstance(p, np.ndarray) else p.minimum(q)
    # Rounding in the two totals can carry the sum a hair past one.
    return min(1.0, float(shared.sum()))


def l1_distance(a: Any, b: Any) -> float:
    """Return the L1 distance of the all-normalized matrices, ``2 - 2 * overlap``.

    Examples
    --------
    >>> import deconfuse as dc
    >>> dc.l1_distance([[1, 0], [0, 1]], [[2, 0], [2, 0]])
    1.0
    """
    p, q = _as_shares(a, b, names=("a", "b"))
    return float(abs(p - q).sum())


def kl_divergence(p: Any, q: Any) -> float:
    r"""Return the Kullback-Leibler divergence of the all-normalized matrices, in nats.

    Infinite where ``q`` is zero and ``p`` is not.

    Notes
    -----
    :math:`\sum_{ij} P_{ij} \log (P_{ij} / Q_{ij})` with :math:`0 \log 0 = 0`.

    Examples
    --------
    >>> import deconfuse as dc
    >>> round(dc.kl_divergence([[1, 1], [1, 1]], [[2, 1], [1, 2]]), 4)
    0.0589
    """
    left, right = _as_shares(p, q, names=("p", "q"))
    if sparse.issparse(left):
        entries = sparse.coo_array(left)
        x, y = entries.data, np.asarray(right[entries.row, entries.col]).ravel()
    else:
        x, y = left.ravel(), right.ravel()
    keep = x > 0
    with np.errstate(divide="ignore"):
        terms = x[keep] * (np.log(x[keep]) - np.log(y[keep]))
    # The divergence of two distributions is never negative; rounding can say otherwise.
    return max(0.0, float(terms.sum()))


def _as_shares(a: Any, b: Any, *, names: tuple[str, str]) -> tuple[Any, Any]:
    """Return both matrices divided by their totals, dense or both sparse, classes aligned."""
    # A data frame has class names on its axes, as a confusion matrix does.
    a, b = (ConfusionMatrix._from_bare(m) if _has_names(m) else m for m in (a, b))
    first, second = _values(a, names[0]), _values(b, names[1])
    if first.shape != second.shape:
        raise InputError(
            f"Both matrices must have the same shape, got {first.shape} and {second.shape}.",
            hint="count both with the same `labels`.",
        )
    classes, given = _classes(a), _classes(b)
    if classes is not None and given is not None and classes != given:
        order = classes.align(given, names=[f"`{name}`" for name in names])
        second = second[order][:, order]
    if sparse.issparse(first) != sparse.issparse(second):
        first, second = sparse.csr_array(first), sparse.csr_array(second)
    return _share(first), _share(second)


def _classes(matrix: Any) -> Classes | None:
    """Return the classes of a result over classes, None of numbers alone."""
    named = getattr(matrix, "source", matrix)
    if isinstance(named, ConfusionMatrix):
        return named.classes
    return Classes.of(named.labels) if hasattr(named, "labels") else None


def _has_names(matrix: Any) -> bool:
    """Return whether a matrix is a frame over classes; one of another shape has numbers alone."""
    return is_frame(matrix) and len(matrix) in (len(matrix.columns), len(matrix.columns) - 1)


def _share(matrix: Any) -> Any:
    # The total of the largest numbers overflows, that of their shares of the largest does not.
    matrix = matrix / matrix.max()
    return matrix / matrix.sum()


def _values(matrix: Any, name: str) -> NDArray[np.float64] | sparse.csr_array:
    for attribute in ("counts", "matrix"):
        if hasattr(matrix, attribute):
            matrix = getattr(matrix, attribute)
            break
    if not sparse.issparse(matrix):
        matrix = as_numbers(from_torch(matrix), name=name)
    elif matrix.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must be numbers, got {matrix.dtype}.")
    if matrix.ndim != 2:
        raise InputError(f"Each matrix must have two axes, got shape {matrix.shape}.")
    if sparse.issparse(matrix):
        values = summed(matrix, np.float64)
        entries = values.data
    else:
        values = entries = matrix.astype(np.float64)
    if entries.size and not np.isfinite(entries).all():
        raise InputError(
            f"Each matrix must hold finite numbers, but `{name}` has NaN or infinite cells.",
            hint="cells of an empty row or column are undefined; leave that class out of both.",
        )
    if entries.size and entries.min() < 0:
        raise InputError(f"Each matrix must not be negative, but `{name}` is in places.")
    if not entries.any():
        raise InputError(f"Each matrix must have a positive cell, but `{name}` has none.")
    return values
