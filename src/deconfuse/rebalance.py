"""Scores and labels of a validation set to one offset a class that takes prediction bias away.

Also the class weights for a loss that the same diagonals imply. Class similarity is left alone:
no offset can tell apart what the scores do not.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from deconfuse._checks import Label, is_finite_number, is_whole_number, show
from deconfuse._offset_search import OffsetSearch, temperature_of, trust_in_errors
from deconfuse._score_names import check_same_names, column_names, plain
from deconfuse._scores import (
    FloatArray,
    ScoreKind,
    as_codes,
    as_scores,
    as_weights,
    check_informative,
    kind_of_scores,
    log_scores,
    looks_like_probabilities,
    refuse_probabilities,
)
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseWarning, InputError

__all__ = ["Rebalancer", "ScoreKind", "class_weights"]


class Rebalancer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Learn one offset a class, added to log-scores, that takes prediction bias away.

    Fit it on a validation set: the scores of a trained classifier and the true classes. It then
    predicts in place of ``argmax(scores)``. The classifier itself is not touched.

    Parameters
    ----------
    kind : {"auto", "logits", "probabilities"}
        What the scores are. Probabilities are turned into logs. ``"auto"`` takes scores between 0
        and 1 whose rows sum to one for probabilities, all others for logits. What is predicted from
        must be of the same kind: probabilities are refused after logits, and logits after
        probabilities.
    classes : sequence, optional
        The class of each column. By default the names of the columns, where scores come as a
        frame whose columns are named by the classes; else the sorted classes of ``y``; where these
        are fewer than the columns and whole numbers, ``0, 1, 2, ...``.
    shrinkage : float
        How many imaginary errors speak for "no offset" in each class. Zero trusts the validation
        set fully; a class with few errors in it moves little.
    step : float
        Length of a step along the logs of the right diagonal, between 0 and 1.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when no offset changes by more than this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    offsets_ : ndarray of shape (n_classes,)
        Added to logits or to log-probabilities. Their mean over the classes seen is zero.
    class_weights_ : dict of class to float
        Weights for a loss that would have had the same effect in training, with mean one.
    temperature_ : float
        By how much the log-scores were divided to be on the scale of log-odds while fitting.
    n_iter_ : int
        Steps taken.
    converged_ : bool
        Whether the steps came to rest. If not, the offsets are the mean of the later steps: counts
        jump, so that the last steps may go to and fro between a few samples.
    objective_, baseline_objective_ : float
        Balanced accuracy on the validation set, with the offsets and without.
    n_features_in_ : int
        Number of columns of the scores.
    feature_names_in_ : ndarray of shape (n_classes,)
        Names of the columns, where the scores came as a frame with names.

    Notes
    -----
    A weighted loss with class weights :math:`w` moves the best log-scores by :math:`\log w`, so
    offsets and class weights say the same. With :math:`M` the confusion matrix of the shifted
    scores and :math:`D^l (M + \varepsilon) D^r` its bi-normalization, an over-predicted class has a
    small :math:`D^r_j`. Each step adds

    .. math:: \eta\,\frac{e_j \log D^r_j - k\, o_j}{e_j + k}

    to offset :math:`o_j`, where :math:`e_j` is the number of errors that involve class :math:`j`
    and :math:`k` the shrinkage. At rest :math:`\log D^r_j = (k / e_j)\, o_j`: without shrinkage the
    right diagonal is constant, which is to say that for equally frequent labels all classes are
    predicted equally often. The label distribution of the validation set does not matter: the left
    diagonal takes it out.

    Offsets that do not reach the balanced accuracy of no offset on the validation set are not
    taken: then the best step on the way is, which may be no offset at all.

    Examples
    --------
    >>> import numpy as np
    >>> from deconfuse import Rebalancer
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> logits = np.c_[-y, y] + rng.normal(size=(400, 2)) + [2.0, 0.0]  # class 0 over-predicted
    >>> rebalancer = Rebalancer().fit(logits, y)
    >>> bool(rebalancer.offsets_[0] < 0 < rebalancer.offsets_[1])
    True
    >>> rebalancer.objective_ > rebalancer.baseline_objective_
    True
    """

    classes_: NDArray[Any]
    offsets_: FloatArray

    def __init__(
        self,
        *,
        kind: ScoreKind = "auto",
        classes: Sequence[Any] | None = None,
        shrinkage: float = 2.0,
        step: float = 0.5,
        max_iter: int = 60,
        tol: float = 1e-3,
    ) -> None:
        self.kind = kind
        self.classes = classes
        self.shrinkage = shrinkage
        self.step = step
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Rebalancer:
        """Learn the offsets from the scores and true classes of a validation set.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes)
            Logits or probabilities, one column a class.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the samples.

        Returns
        -------
        Rebalancer
            Itself.

        Raises
        ------
        InputError
            When the scores have the wrong shape, are not finite, all equal or one-hot, when there
            are too few samples or classes, or when the names of columns do not fit the classes.

        Warns
        -----
        DeconfuseWarning
            When a class has no validation sample: it keeps the mean offset, zero.
        """
        self._check_parameters()
        table = as_scores(scores)
        names = column_names(scores)
        self.classes_, codes = as_codes(y, table.shape, self.classes, names)
        weights = as_weights(sample_weight, len(codes))
        check_informative(table, codes)
        self._remember_columns(table.shape[1], names)
        self.kind_ = kind_of_scores(table, self.kind)
        self._is_told_logits = self.kind == "logits"
        self._refuses_probabilities = self.kind_ == "logits" and not looks_like_probabilities(table)
        seen = np.bincount(codes, weights, minlength=table.shape[1]) > 0
        if not seen.all():
            absent = [self.classes_[index] for index in np.flatnonzero(~seen)]
            warnings.warn(
                f"No validation sample of {show(plain(absent))}: nothing says how these classes"
                " are biased, so their offset is the mean one, zero.",
                DeconfuseWarning,
                stacklevel=2,
            )
        logs = log_scores(table, self.kind_)
        self.temperature_ = temperature_of(logs, codes, weights)
        search = OffsetSearch(logs / self.temperature_, codes, weights, seen, self.shrinkage)
        steps = search.run(step=self.step, max_iter=self.max_iter, tol=self.tol)
        self.offsets_ = steps.offsets * self.temperature_
        self.n_iter_ = steps.n_iter
        self.converged_ = steps.converged
        self.objective_ = steps.objective
        self.baseline_objective_ = steps.baseline
        self.class_weights_ = dict(
            zip(plain(self.classes_), _mean_one(steps.offsets).tolist(), strict=True)
        )
        return self

    def decision_function(self, scores: ArrayLike) -> FloatArray:
        """Return the shifted log-scores, one column a class.

        For two classes, as scikit-learn has it: one value a sample, the second column minus the
        first.
        """
        shifted = self._shifted(scores)
        return shifted if shifted.shape[1] > 2 else shifted[:, 1] - shifted[:, 0]

    def predict(self, scores: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest shifted score, for every row of scores."""
        columns = self._shifted(scores).argmax(axis=1)
        return np.asarray(self.classes_[columns])

    def predict_log_proba(self, scores: ArrayLike) -> FloatArray:
        """Return the logs of `predict_proba`."""
        return np.asarray(log_softmax(self._shifted(scores), axis=1))

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return the softmax of the shifted scores: what a classifier without bias would say."""
        return np.asarray(softmax(self._shifted(scores), axis=1))

    def _shifted(self, scores: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        table = as_scores(scores)
        check_same_names(column_names(scores), self._names, type(self).__name__)
        if table.shape[1] != self.n_features_in_:
            # scikit-learn's own words, which its checks and its users look for.
            raise InputError(
                f"`scores` must have one column a class: X has {table.shape[1]} features, but"
                f" Rebalancer is expecting {self.n_features_in_} features as input."
            )
        if self._refuses_probabilities:
            refuse_probabilities(table, is_told=self._is_told_logits)
        shifted: FloatArray = log_scores(table, self.kind_) + self.offsets_
        return shifted

    def _remember_columns(self, n_columns: int, names: list[Any] | None) -> None:
        self.n_features_in_ = n_columns
        self._names = names
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_parameters(self) -> None:
        if self.kind not in get_args(ScoreKind):
            names = ", ".join(f'"{name}"' for name in get_args(ScoreKind))
            raise InputError(f"`kind` must be one of {names}, got {self.kind!r}.")
        _check_shrinkage(self.shrinkage)
        if not is_finite_number(self.step) or not 0 < self.step <= 1:
            raise InputError(f"`step` must be above 0 and at most 1, got {self.step!r}.")
        if not is_whole_number(self.max_iter) or self.max_iter < 1:
            raise InputError(
                f"`max_iter` must be at least 1, and a whole number, got {self.max_iter!r}."
            )
        if not is_finite_number(self.tol) or self.tol < 0:
            raise InputError(f"`tol` must be a number of zero or more, got {self.tol!r}.")


def class_weights(
    cm: ConfusionMatrix | Any, *, epsilon: float | None = None, shrinkage: float = 2.0
) -> dict[Label, float]:
    r"""Return the class weights for a loss that the right diagonal of a confusion matrix implies.

    Classes that are predicted too rarely for their similarity to others weigh more than one, those
    predicted too often less. Train again with these, as ``class_weight`` of scikit-learn or
    ``weight`` of a torch loss.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Of a validation set.
    epsilon : float, optional
        Added to every cell; by default one over the number of classes that have samples.
    shrinkage : float
        How many imaginary errors speak for equal weights in each class.

    Returns
    -------
    dict of class to float
        With mean one.

    Warns
    -----
    DeconfuseWarning
        When a class has no true sample: only the others are balanced, and it has a neutral weight.

    Notes
    -----
    One step of `Rebalancer` from a matrix alone: the weight of class :math:`j` is
    :math:`(D^r_j)^{e_j / (e_j + k)}`, up to a common factor, with :math:`e_j` its errors and
    :math:`k` the shrinkage. With the scores at hand, `Rebalancer` finds better ones.

    Examples
    --------
    >>> from deconfuse import ConfusionMatrix, class_weights
    >>> cm = ConfusionMatrix.from_counts([[90, 10], [40, 60]], labels=["common", "rare"])
    >>> {name: round(weight, 2) for name, weight in class_weights(cm).items()}
    {'common': 0.6, 'rare': 1.4}
    """
    _check_shrinkage(shrinkage)
    if not isinstance(cm, ConfusionMatrix):
        cm = ConfusionMatrix.from_counts(cm)
    seen = np.asarray(cm.label_counts) > 0
    if not seen.any():
        raise InputError(
            "Class weights need samples, but all counts are zero.",
            hint="count some predictions first.",
        )
    log_weights = np.zeros(cm.n_classes)
    if not seen.all():
        absent = [label for label, known in zip(cm.labels, seen, strict=True) if not known]
        warnings.warn(
            f"No sample of {show(absent)}: nothing says how these classes are biased, so they weigh"
            " as the middle one of the others.",
            DeconfuseWarning,
            stacklevel=2,
        )
    log_weights[seen] = _log_weights(_among(cm, seen), epsilon, shrinkage)
    return dict(zip(cm.labels, _mean_one(log_weights).tolist(), strict=True))


def _among(cm: ConfusionMatrix, seen: NDArray[np.bool_]) -> ConfusionMatrix:
    """Return the part of a matrix that only knows some classes."""
    if seen.all():
        return cm
    labels = tuple(label for label, known in zip(cm.labels, seen, strict=True) if known)
    return ConfusionMatrix(cm.counts[seen][:, seen], labels, cm.variances[seen][:, seen])


def _log_weights(cm: ConfusionMatrix, epsilon: float | None, shrinkage: float) -> FloatArray:
    """Return logs of weights; their mean is zero before shrinkage."""
    log_right = np.log(cm.normalize("bi", epsilon=epsilon).right)
    hits = cm.counts.diagonal()
    # What one effective sample weighs: a weighted matrix knows fewer samples than its total says.
    unit = cm.variances.sum() / max(cm.counts.sum(), np.finfo(float).tiny)
    errors = (cm.label_counts + cm.prediction_counts - 2.0 * hits) / max(unit, 1e-300)
    return np.asarray(trust_in_errors(errors, shrinkage) * (log_right - log_right.mean()))


def _check_shrinkage(shrinkage: float) -> None:
    if not is_finite_number(shrinkage) or shrinkage < 0:
        raise InputError(f"`shrinkage` must be a number of zero or more, got {shrinkage!r}.")


def _mean_one(log_weights: FloatArray) -> FloatArray:
    count = np.log(len(log_weights))
    return np.asarray(np.exp(log_weights - logsumexp(log_weights) + count))
