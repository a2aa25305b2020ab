"""Fit Luce's similarity-choice model: symmetric similarity and a response bias per class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, rel_entr, softmax

from deconfuse._checks import Label, freeze, show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import chosen_epsilon
from deconfuse.scaling import scale
from deconfuse.statistics.cells import (
    Cells,
    as_confusion,
    as_generator,
    cells_of,
    check_at_least_one,
    check_some_samples,
    whole_samples,
)
from deconfuse.statistics.quasi_symmetry import bradley_terry, symmetry_p_value

__all__ = ["SimilarityChoice", "similarity_choice"]

FloatArray = NDArray[np.float64]
ChoiceMethod = Literal["ml", "closed"]

_SEED = 0


@dataclass(frozen=True, eq=False)
class SimilarityChoice:
    """A fitted similarity-choice model.

    Attributes
    ----------
    labels : tuple
        Class names in matrix order.
    similarity : ndarray of shape (n_classes, n_classes)
        Symmetric, with ones on the diagonal. 0: never confused; 1: not told apart.
    bias : ndarray of shape (n_classes,)
        How readily each class is given as the answer; sums to one.
    fitted : ndarray of shape (n_classes, n_classes)
        Expected counts, epsilon included.
    method : {"ml", "closed"}
    epsilon : float
        What was added to every cell.
    g_squared, x_squared : float
        Likelihood-ratio and Pearson statistics of the counts against the model.
    dof : int
        Degrees of freedom: one a pair of classes that was ever confused, less the biases.
    n_confused_pairs : int
        How many pairs of classes were ever confused.
    """

    labels: tuple[Label, ...]
    similarity: FloatArray
    bias: FloatArray
    fitted: FloatArray
    method: ChoiceMethod
    epsilon: float
    g_squared: float
    x_squared: float
    dof: int
    n_confused_pairs: int
    _counts: Cells
    _seed: int

    def __post_init__(self) -> None:
        freeze(self)

    @cached_property
    def p_value(self) -> float:
        """Of symmetric similarity, whatever the biases; computed when it is asked for.

        Small: similarity is not symmetric in these data, so no bias alone explains why some pairs
        are confused more one way than the other. NaN when ``dof`` is 0; `why_no_test` then says
        why.
        """
        if self.dof <= 0:
            return float("nan")
        rng = np.random.default_rng(self._seed)
        return symmetry_p_value(whole_samples(self._counts, rng), rng)

    @cached_property
    def balanced(self) -> FloatArray:
        """What the model expects for equal labels and no bias: rows and columns sum to one.

        It is symmetric, and it is the bi-normalization of ``fitted``.
        """
        matrix = np.asarray(scale(self.similarity).matrix)
        # Symmetric in exact arithmetic; the solver stops within its tolerance of that.
        result: FloatArray = (matrix + matrix.T) / 2
        result.flags.writeable = False
        return result

    def pairs(self, k: int = 10) -> list[tuple[Label, Label, float]]:
        """Return the ``k`` most similar pairs of classes, most similar first."""
        check_at_least_one(k, "k")
        rows, columns = np.triu_indices(len(self.labels), 1)
        values = self.similarity[rows, columns]
        order = np.argsort(-values, kind="stable")[:k]
        return [
            (self.labels[rows[index]], self.labels[columns[index]], float(values[index]))
            for index in order
        ]

    @property
    def why_no_test(self) -> str | None:
        """Why there is no p-value, or None where there is one."""
        if self.dof > 0:
            return None
        if not self.n_confused_pairs:
            return "no classes were confused, so nothing can be uneven"
        return (
            "every pair that was confused has a bias of its own to explain it, so any counts fit:"
            " a test needs at least three classes that were confused in a circle"
        )

    def __repr__(self) -> str:
        fit = (
            f"X2 = {self.x_squared:.1f}, {self.dof} degrees of freedom, p = {self.p_value:.3g}"
            if self.why_no_test is None
            else f"no test of its fit, because {self.why_no_test}"
        )
        return f"<SimilarityChoice of {len(self.labels)} classes by {self.method}: {fit}>"


def similarity_choice(
    cm: ConfusionMatrix | Any,
    *,
    method: ChoiceMethod = "ml",
    epsilon: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> SimilarityChoice:
    r"""Fit Luce's similarity-choice (biased-choice) model.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Counts, true classes on rows, predicted classes on columns.
    method : {"ml", "closed"}
        Maximum likelihood, or Luce's closed-form estimates, which need no iteration and agree with
        it where the model holds exactly.
    epsilon : float, optional
        Added to every cell; by default ``1 / n_classes``. With 0 the estimates must exist.
    rng : numpy.random.Generator or int, optional
        Randomness of the p-value, or its seed. By default a fixed seed, so that equal input gives
        equal output.

    Returns
    -------
    SimilarityChoice

    Raises
    ------
    InputError
        With ``epsilon=0``, when zeros leave a similarity or bias without a finite estimate.

    Notes
    -----
    The model of Shepard and Luce [1]_ says that class :math:`i` is answered by :math:`j` with
    probability

    .. math:: p_{j \mid i} = \frac{\eta_{ij}\, b_j}{\sum_k \eta_{ik}\, b_k},
       \qquad \eta_{ij} = \eta_{ji},\ \eta_{ii} = 1.

    In closed form :math:`\eta_{ij}^2 = m_{ij} m_{ji} / (m_{ii} m_{jj})`: an odds ratio, so it is
    the same for the counts, each normalization, and any other scaling of rows and columns.
    As a log-linear model this is quasi-symmetry. Its likelihood splits: the diagonal and the sums
    :math:`m_{ij} + m_{ji}` are fitted exactly, and how each sum is divided is a Bradley-Terry model
    of :math:`n - 1` parameters [2]_, solved here by Newton's method.

    The p-value is exact, also for few samples: given the sums :math:`m_{ij} + m_{ji}` and how often
    each class was wrongly given, all tables that could have been seen have known probabilities,
    whatever the biases, and the one seen is ranked among draws of them by its deviance (see
    `deconfuse.statistics.quasi_symmetry`). It depends on neither ``method`` nor ``epsilon``. The
    smallest one is one over the number of draws: 0.001, with many pairs 0.005. Above 5,000 confused
    pairs it is approximate. Weighted counts enter as their effective numbers of samples.

    References
    ----------
    .. [1] Luce, "Detection and recognition", in Handbook of Mathematical Psychology, vol. 1, 1963.
    .. [2] Fienberg and Larntz, "Log linear representation for paired and multiple comparisons
       models", Biometrika 63, 1976.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts(
    ...     [[80, 16, 4], [10, 80, 10], [4, 16, 80]], labels=["a", "b", "c"]
    ... )
    >>> fit = dc.similarity_choice(cm, epsilon=0.0)
    >>> fit.similarity.round(3)
    array([[1.   , 0.158, 0.05 ],
           [0.158, 1.   , 0.158],
           [0.05 , 0.158, 1.   ]])
    >>> fit.bias.round(3)
    array([0.306, 0.387, 0.306])
    """
    if method not in get_args(ChoiceMethod):
        raise InputError(f'`method` must be "ml" or "closed", got {method!r}.')
    matrix = as_confusion(cm)
    if matrix.n_classes < 2:
        raise InputError("Similarity needs at least two classes, got one.")
    check_some_samples(matrix, "Similarity")
    added = chosen_epsilon(epsilon, matrix.n_classes)
    generator = as_generator(_SEED if rng is None else rng)
    cells, plain = (cells_of(matrix, e, what="A similarity-choice model") for e in (added, 0.0))
    _check_exists(cells.values, matrix.labels, method)
    if method == "ml":
        sums = cells.values + cells.values.T
        low, high = np.triu_indices(matrix.n_classes, 1)
        log_odds = bradley_terry(
            low, high, cells.values[low, high], sums[low, high], matrix.n_classes
        )
        fitted = sums * expit(log_odds[None, :] - log_odds[:, None])
        np.fill_diagonal(fitted, cells.values.diagonal())
        log_bias = 0.5 * (np.log(fitted.diagonal()) + log_odds)
        similarity = _similarity(fitted)
    else:
        similarity = _similarity(cells.values)
        log_bias = _closed_bias(cells.values)
        fitted = _expected(similarity, log_bias, cells.values.sum(axis=1))
    g_squared, x_squared, dof = _goodness_of_fit(cells, added, fitted)
    return SimilarityChoice(
        labels=matrix.labels,
        similarity=similarity,
        bias=softmax(log_bias),
        fitted=fitted,
        method=method,
        epsilon=added,
        g_squared=g_squared,
        x_squared=x_squared,
        dof=dof,
        n_confused_pairs=int(np.triu(plain.values + plain.values.T > 0, 1).sum()),
        _counts=plain,
        _seed=int(generator.integers(2**63)),
    )


def _similarity(values: FloatArray) -> FloatArray:
    logs = np.log(values)
    diagonal = logs.diagonal()
    half = 0.5 * (logs + logs.T - diagonal[:, None] - diagonal[None, :])
    np.fill_diagonal(half, 0.0)
    return np.asarray(np.exp(half))


def _closed_bias(values: FloatArray) -> FloatArray:
    """Return Luce's log-biases: for each class, the mean over all others of the pair's estimate.

    A pair says log(b_j / b_i) = log(m_ij m_jj / (m_ji m_ii)) / 2; the mean over i fits all pairs
    best in the sense of least squares.
    """
    logs = np.log(values)
    diagonal = logs.diagonal()
    pairwise = 0.5 * (logs - logs.T + diagonal[None, :] - diagonal[:, None])
    return np.asarray(pairwise.mean(axis=0))


def _expected(similarity: FloatArray, log_bias: FloatArray, totals: FloatArray) -> FloatArray:
    strengths = similarity * np.exp(log_bias - log_bias.max())
    return np.asarray(totals[:, None] * strengths / strengths.sum(axis=1, keepdims=True))


def _goodness_of_fit(cells: Cells, epsilon: float, fitted: FloatArray) -> tuple[float, float, int]:
    """Return G2, X2 and degrees of freedom, in effective samples."""
    rows, columns = np.triu_indices(len(fitted), 1)
    observed = (cells.values[rows, columns] - epsilon) / cells.unit
    reverse = (cells.values[columns, rows] - epsilon) / cells.unit
    total = observed + reverse
    seen = total > 0
    rows, columns, observed, total = rows[seen], columns[seen], observed[seen], total[seen]
    share = fitted[rows, columns] / (fitted[rows, columns] + fitted[columns, rows])
    expected, expected_reverse = total * share, total * (1 - share)
    parts = rel_entr(observed, expected) + rel_entr(total - observed, expected_reverse)
    g_squared = 2 * float(parts.sum())
    spread = total * share * (1 - share)
    x_squared = float(((observed - expected) ** 2 / spread).sum())
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=fitted.shape)
    n_parts = sparse.csgraph.connected_components(graph, directed=False, return_labels=False)
    dof = len(rows) - (len(fitted) - int(n_parts))
    return g_squared, x_squared, max(dof, 0)


def _check_exists(values: FloatArray, labels: tuple[Label, ...], method: ChoiceMethod) -> None:
    never = np.flatnonzero(values.diagonal() == 0)
    if never.size:
        raise InputError(
            f"Without epsilon every class must be right at least once, but"
            f" {show(labels[index] for index in never)} never is.",
            hint="leave `epsilon` at its default.",
        )
    if method == "closed":
        off = ~np.eye(len(values), dtype=bool)
        if (values[off] == 0).any():
            raise InputError(
                "Without epsilon the closed form needs every pair of classes to be confused both"
                f" ways, but {int((values[off] == 0).sum()):,} cells are zero.",
                hint='leave `epsilon` at its default, or use `method="ml"`.',
            )
        return
    graph = sparse.csr_array(values > 0)
    n_parts, part = sparse.csgraph.connected_components(graph, connection="strong")
    if n_parts > 1:
        alone = np.flatnonzero(part != np.bincount(part).argmax())
        raise InputError(
            "Without epsilon the classes must be linked by confusions both ways, but"
            f" {show(labels[index] for index in alone)} are not, so their bias has no estimate.",
            hint="leave `epsilon` at its default, or leave these classes out.",
        )
