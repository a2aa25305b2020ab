"""Fit one offset per class to the scores of a validation set, so that prediction bias goes away.

Class similarity is left alone: no offset can separate what the scores do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from deconfuse._checks import Label, is_finite_number, show
from deconfuse._scores import (
    FloatArray,
    ScoreKind,
    as_codes,
    as_scores,
    as_weights,
    check_informative,
    check_same_names,
    column_names,
    kind_of_scores,
    log_scores,
    looks_like_probabilities,
    plain,
    refuse_probabilities,
)
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseWarning, InputError, warn

__all__ = ["Rebalancer", "ScoreKind", "class_weights"]


class Rebalancer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Learn one offset per class, added to log-scores, that removes prediction bias.

    Fit it on a validation set: the scores of a trained classifier and the true classes. It then
    predicts in place of ``argmax(scores)``. The classifier itself is not changed.

    Parameters
    ----------
    kind : {"auto", "logits", "probabilities"}
        What the scores are. Probabilities are turned into logs. ``"auto"`` takes scores between 0
        and 1 whose rows sum to one for probabilities, all others for logits. What is predicted from
        must be of the same kind: probabilities are refused after logits, and logits after
        probabilities.
    classes : sequence, optional
        The class of each column. By default the names of the columns, where scores come as a
        frame; else the sorted classes of ``y``; where these are fewer than the columns and
        integers, ``0, 1, 2, ...``.
    shrinkage : float
        Strength of the ridge penalty that pulls offsets to zero, in samples. Zero trusts the
        validation set fully.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    offsets_ : ndarray of shape (n_classes,)
        Added to logits or to log-probabilities. Their mean over the classes seen is zero.
    class_weights_ : dict of class to float
        Weights for a loss that has a similar effect in training: ``exp(offsets_)``, scaled so that
        the mean over the validation samples is one.
    temperature_ : float
        By how much the log-scores are divided to be on the scale of log-odds.
    n_iter_ : int
        Steps of the optimizer.
    converged_ : bool
        Whether it converged.
    objective_, baseline_objective_ : float
        Balanced accuracy on the validation set, with the offsets and without.
    accuracy_, baseline_accuracy_ : float
        Accuracy on the validation set, with the offsets and without. Where classes are uneven, it
        usually falls, unless the classifier is far from fitted: predictions of frequent classes are
        given up for rare ones.
    n_features_in_ : int
        Number of columns of the scores.
    feature_names_in_ : ndarray of shape (n_classes,)
        Names of the columns, where the scores came as a frame with names.

    Notes
    -----
    The offsets :math:`o` and a common factor :math:`b` (one over the temperature) minimize the
    cross-entropy of :math:`b\,(s + o)` in which every class has the same weight, plus a ridge
    penalty on :math:`o` relative to the spread of the scores. This is bias-corrected temperature
    scaling under a balanced prior. So the label distribution of the validation set does not matter.

    A weighted loss with class weights :math:`w` moves the best log-scores by :math:`\log w`, so
    offsets and class weights say the same of a model that is trained to the end. A network that is
    stopped early has another bias in every run, which weights cannot foresee: fit a `Rebalancer`
    on the network that was trained again, too.

    Offsets that do not reach the balanced accuracy of no offset on the validation set are not
    used: they are then zero. For a calibrated classifier, subtracting the log of the training
    shares of the classes needs no validation set and is as good or better. Either has a price where
    the model is fitted: of three such models, on average, offsets raise balanced accuracy by 2.3
    points and lower plain accuracy, under the label shares of training, by 1.0. See
    ``python -m benchmarks rebalance`` for all of this.

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
        shrinkage: float = 3.0,
    ) -> None:
        self.kind = kind
        self.classes = classes
        self.shrinkage = shrinkage

    def fit(
        self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Rebalancer:
        """Learn the offsets from the scores and true classes of a validation set.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes)
            Logits or probabilities, one column per class.
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
            warn(
                f"No validation sample of {show(plain(absent))}: nothing says how these classes"
                " are biased, so their offset is zero.",
                DeconfuseWarning,
            )
        logs = log_scores(table, self.kind_)
        self.baseline_objective_, self.baseline_accuracy_ = _accuracies(logs, codes, weights)
        _warn_below_chance(self.baseline_objective_, int(seen.sum()), len(codes))
        self.offsets_, self.temperature_, self.n_iter_, self.converged_ = _fit_offsets(
            logs, codes, weights, self.shrinkage
        )
        self.objective_, self.accuracy_ = _accuracies(logs + self.offsets_, codes, weights)
        if self.objective_ < self.baseline_objective_:
            self.offsets_ = np.zeros(table.shape[1])
            self.objective_, self.accuracy_ = self.baseline_objective_, self.baseline_accuracy_
        # The mean over samples is one, so that the strength of a regularization stays what it was.
        shares = np.bincount(codes, weights, minlength=len(self.offsets_)) / weights.sum()
        class_weights = np.exp(self.offsets_) / (shares @ np.exp(self.offsets_))
        self.class_weights_ = dict(zip(plain(self.classes_), class_weights.tolist(), strict=True))
        return self

    def decision_function(self, scores: ArrayLike) -> FloatArray:
        """Return the shifted log-scores, one column per class.

        For two classes, as scikit-learn has it: one value per sample, the second column minus the
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
        check_same_names(column_names(scores), self._names)
        if table.shape[1] != self.n_features_in_:
            # scikit-learn's own words, which its checks and its users look for.
            raise InputError(
                f"`scores` must have one column per class: X has {table.shape[1]} features, but"
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
        if not is_finite_number(self.shrinkage) or self.shrinkage < 0:
            raise InputError(
                f"`shrinkage` must be a number of zero or more, got {self.shrinkage!r}."
            )


def _fit_offsets(
    logs: FloatArray, codes: NDArray[np.intp], weights: FloatArray, shrinkage: float
) -> tuple[FloatArray, float, int, bool]:
    """Minimize the balanced cross-entropy over a temperature and one offset per class.

    Returns the offsets, the temperature, the steps taken, and whether they converged.
    """
    n_classes = logs.shape[1]
    totals = np.bincount(codes, weights, minlength=n_classes)
    seen = totals > 0
    shares = weights / totals[codes] / seen.sum()
    n_effective = float(weights.sum() ** 2 / (weights**2).sum())
    # Relative to their spread, so that scores of any scale have the same offsets in these units.
    spread = float(np.ptp(logs, axis=1).mean())
    relative = logs / spread
    rows = np.arange(len(codes))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        factor = np.exp(parameters[0])
        shifted = relative + parameters[1:]
        log_probabilities = log_softmax(factor * shifted, axis=1)
        # A price on the factor keeps scores without errors from going to infinity.
        value = (
            -shares @ log_probabilities[rows, codes]
            + (shrinkage * (parameters[1:] ** 2).sum() + factor / 10) / n_effective
        )
        gradient = np.exp(log_probabilities) * shares[:, None]
        gradient[rows, codes] -= shares
        slope = factor * ((gradient * shifted).sum() + 0.1 / n_effective)
        slopes = factor * gradient.sum(axis=0) + 2 * shrinkage / n_effective * parameters[1:]
        return float(value), np.append(slope, np.where(seen, slopes, 0.0))

    start = np.append(1.0, np.zeros(n_classes))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1_000})
    offsets = found.x[1:] * spread
    offsets[seen] -= offsets[seen].mean()
    temperature = spread / float(np.exp(found.x[0]))
    return offsets, temperature, int(found.nit), bool(found.success)


def _accuracies(
    logs: FloatArray, codes: NDArray[np.intp], weights: FloatArray
) -> tuple[float, float]:
    """Return balanced accuracy and accuracy of the highest score."""
    is_right = logs.argmax(axis=1) == codes
    totals = np.bincount(codes, weights, minlength=logs.shape[1])
    hits = np.bincount(codes, weights * is_right, minlength=logs.shape[1])
    recalls = hits[totals > 0] / totals[totals > 0]
    return float(recalls.mean()), float(hits.sum() / totals.sum())


def _warn_below_chance(balanced_accuracy: float, n_classes: int, n_samples: int) -> None:
    """Warn where scores predict worse than guessing, as with columns in another order."""
    chance = 1 / n_classes
    if balanced_accuracy < chance - 3 * np.sqrt(chance * (1 - chance) / n_samples):
        warn(
            f"The scores predict worse than guessing: balanced accuracy {balanced_accuracy:.3f} for"
            f" {n_classes} classes. Are the columns in the order of the classes?",
            DeconfuseWarning,
        )


def class_weights(cm: ConfusionMatrix | Any, *, epsilon: float | None = None) -> dict[Label, float]:
    r"""Return cautious class weights for a loss, from a confusion matrix alone.

    Classes that are predicted too rarely for their similarity to others weigh more than one, those
    predicted too often less. Use them as ``class_weight`` of scikit-learn or ``weight`` of a torch
    loss. With scores at hand, `Rebalancer.class_weights_` are better: counts do not say how large
    a weight has to be to change a prediction, so these are only a third of the full step.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Of a validation set.
    epsilon : float, optional
        Added to every cell; see `normalize`.

    Returns
    -------
    dict of class to float
        With mean one.

    Raises
    ------
    InputError
        If a class has no samples or is never predicted: counts then say nothing of its weight.

    Notes
    -----
    The weight of class :math:`j` is :math:`(D^r_j)^{1/3}` up to a common factor, with
    :math:`D^r` the right diagonal of the bi-normalization.

    Examples
    --------
    >>> from deconfuse import ConfusionMatrix
    >>> from deconfuse.rebalance import class_weights
    >>> cm = ConfusionMatrix.from_counts([[90, 10], [40, 60]], labels=["common", "rare"])
    >>> {name: round(weight, 2) for name, weight in class_weights(cm).items()}
    {'common': 0.85, 'rare': 1.15}
    """
    if not isinstance(cm, ConfusionMatrix):
        cm = ConfusionMatrix.from_counts(cm)
    for counts, what in ((cm.label_counts, "samples"), (cm.prediction_counts, "predictions")):
        none = [label for label, n in zip(cm.labels, counts, strict=True) if n == 0]
        if none:
            raise InputError(
                f"Every class must have {what}, got none of {show(none)}.",
                hint="fit a `Rebalancer` on scores: counts say nothing of such a class.",
            )
    logs = np.log(cm.normalize("bi", epsilon=epsilon).right)
    weights = cm.n_classes * softmax(logs / 3)
    return dict(zip(cm.labels, weights.tolist(), strict=True))
