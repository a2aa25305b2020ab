"""Do two matrices differ in label shares, and in how readily each class is predicted?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc

from deconfuse.statistics.cells import gamma_tail
from deconfuse.statistics.conditional import Triples

__all__ = ["bias_test", "label_share_test", "paired_bias_test"]

FloatArray = NDArray[np.float64]


def label_share_test(first: FloatArray, second: FloatArray) -> float:
    r"""Return the p-value of equal label shares, for the samples of each class in both matrices.

    Notes
    -----
    Pearson's :math:`X^2`, compared with the gamma law that has its exact mean and variance under
    random allocation (Dawson, "A simplified expression for the variance of the
    :math:`\chi^2`-function on a contingency table", *Biometrika* 41, 1954). So it holds for rare
    classes too.

    Examples
    --------
    >>> label_share_test(np.array([50.0, 50]), np.array([30.0, 70])) < 0.01
    True
    """
    table = np.stack([first, second])
    table = table[:, table.sum(axis=0) > 0]
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    if table.shape[1] < 2 or n <= 3:
        return 1.0
    expected = np.outer(rows, columns) / n
    seen = float(((table - expected) ** 2 / expected).sum())
    mean = n / (n - 1) * (len(columns) - 1)
    parts = []
    for margin in (rows, columns):
        size = len(margin)
        width = (size - 1) * (n - size) / (n - 1)
        unevenness = ((n / margin).sum() - size**2) / (n - 2)
        parts.append((width, unevenness))
    (one, uneven), (other, rough) = parts
    variance = 2 * n / (n - 3) * (one - uneven) * (other - rough)
    variance += n**2 / (n - 1) * uneven * rough
    if variance <= 0:
        return 1.0
    return gamma_tail(seen, mean, variance)


def bias_test(first: FloatArray, second: FloatArray) -> float:
    """Return the p-value of the same predictions given the label, summed over the labels.

    The generalized test of Cochran, Mantel and Haenszel, for counts of independent samples: those
    of each true class are a stratum, so label shares may differ at will.
    """
    both = first + second
    mine, total = first.sum(axis=1), both.sum(axis=1)
    share = np.divide(mine, total, out=np.zeros_like(total), where=total > 0)
    away = (first - share[:, None] * both).sum(axis=0)
    # Hypergeometric covariances within a stratum.
    factor = np.divide(share * (1 - share), total - 1, out=np.zeros_like(total), where=total > 1)
    covariance = np.diag((factor * total) @ both) - (both * factor[:, None]).T @ both
    return _quadratic_test(away, covariance)


def paired_bias_test(triples: Triples, n_classes: int) -> float:
    """Return the p-value of equal prediction shares of two models on the same samples.

    The test of Stuart and Maxwell, on how often one model says one class and the other another.
    """
    keys = triples.first * n_classes + triples.second
    crossed = np.bincount(keys, triples.counts, minlength=n_classes**2)
    table = crossed.reshape(n_classes, n_classes).astype(np.float64)
    np.fill_diagonal(table, 0.0)
    away = table.sum(axis=1) - table.sum(axis=0)
    covariance = np.diag(table.sum(axis=1) + table.sum(axis=0)) - (table + table.T)
    return _quadratic_test(away, covariance)


def _quadratic_test(away: FloatArray, covariance: FloatArray) -> float:
    """Return the p-value of deviations that sum to zero in every connected group of classes."""
    used = np.diag(covariance) > 1e-9 * max(float(np.diag(covariance).max(initial=0.0)), 1e-300)
    if not used.any():
        return 1.0
    away, covariance = away[used], covariance[np.ix_(used, used)]
    n_groups, group = connected_components(csr_array(np.abs(covariance) > 0), directed=False)
    freedom = len(away) - n_groups
    if freedom < 1:
        return 1.0
    # One class of each group says nothing new; what is left can be inverted.
    kept = np.ones(len(away), dtype=bool)
    kept[np.unique(group, return_index=True)[1]] = False
    solved = np.linalg.solve(covariance[np.ix_(kept, kept)], away[kept])
    return float(chdtrc(freedom, max(float(away[kept] @ solved), 0.0)))
