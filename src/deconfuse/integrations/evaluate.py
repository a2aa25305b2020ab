"""A Hugging Face ``evaluate``-style module: predictions and references in, plain dictionaries out.

It needs nothing of Hugging Face. An object of `Deconfuse` has the methods of an evaluation module
(``add``, ``add_batch``, ``compute``, ``name``), so that ``evaluate.combine`` takes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from deconfuse.classes import ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import MethodName
from deconfuse.reading.sequences import count_sequences
from deconfuse.statistics.estimate import estimate_quietly
from deconfuse.statistics.metrics import plain_scores

__all__ = ["Deconfuse", "compute"]

# None is a prediction: one that is missing.
_NOT_GIVEN: Any = object()


def compute(
    *,
    predictions: Any,
    references: Any,
    labels: Iterable[Any] | None = None,
    sample_weight: Any = None,
    outcomes: Iterable[str] | None = None,
    other: str | None = None,
    missing: str | None = None,
    method: MethodName = "bi",
    epsilon: float | None = None,
) -> dict[str, Any]:
    """Return accuracy, separability and a normalized matrix as a dictionary of plain values.

    Parameters
    ----------
    predictions, references : sequence of shape (n_samples,)
        Predicted and true classes, named as ``evaluate`` names them.
    labels : sequence, optional
        The classes in the order wanted; by default those that occur, sorted.
    sample_weight : sequence of shape (n_samples,), optional
        Finite, non-negative weights.
    outcomes, other, missing
        Answers that are no class, as in `ConfusionMatrix.from_predictions`.
    method : {"bi", "row", "col", "all"}
        Which normalization ``matrix`` has.
    epsilon : float, optional
        Added to every cell before normalizing; see `deconfuse.normalize`.

    Returns
    -------
    dict
        ``accuracy``, ``balanced_accuracy``, ``macro_f1`` and ``kappa``, as scikit-learn's;
        ``separability`` (mean diagonal of the estimated bi-normalized matrix, not an accuracy) and
        its ``separability_interval`` of 95 %; ``n_samples`` (with weights: their sum; with
        outcomes: all of them), ``labels``, ``counts`` and ``matrix`` (lists of rows, true classes
        on rows), ``method`` and ``epsilon``; with outcomes also ``outcomes``, ``outcome_counts``
        and ``background_counts``. Everything goes through ``json.dumps``, except dates as class
        names. Undefined cells, of a class without samples, are None.

    Examples
    --------
    >>> from deconfuse.integrations.evaluate import compute
    >>> result = compute(predictions=[0, 1, 1, 1], references=[0, 1, 1, 0], method="row")
    >>> result["matrix"]
    [[0.5, 0.5], [0.0, 1.0]]
    >>> result["accuracy"], result["balanced_accuracy"]
    (0.75, 0.75)
    """
    cm = ConfusionMatrix.from_predictions(
        references,
        predictions,
        labels=labels,
        sample_weight=sample_weight,
        outcomes=outcomes,
        other=other,
        missing=missing,
    )
    return _describe(cm, method, epsilon)


class Deconfuse:
    """An evaluation module that counts batches and computes at the end.

    Parameters
    ----------
    labels : sequence, optional
        The classes in the order wanted; by default those that occur, sorted.
    outcomes, other, missing
        Answers that are no class, as in `ConfusionMatrix.from_predictions`.
    method : {"bi", "row", "col", "all"}
    epsilon : float, optional

    Raises
    ------
    InputError
        If one of these cannot be used; before anything is counted.

    Examples
    --------
    >>> from deconfuse.integrations.evaluate import Deconfuse
    >>> module = Deconfuse(method="row")
    >>> module.add_batch(predictions=["cat", "cat"], references=["cat", "dog"])
    >>> module.add_batch(predictions=["dog"], references=["dog"])
    >>> module.compute()["counts"]
    [[1, 0], [1, 1]]
    """

    name = "deconfuse"

    def __init__(
        self,
        *,
        labels: Iterable[Any] | None = None,
        outcomes: Iterable[str] | None = None,
        other: str | None = None,
        missing: str | None = None,
        method: MethodName = "bi",
        epsilon: float | None = None,
    ) -> None:
        # One sample is enough to say what is wrong, before hours of batches.
        _describe(ConfusionMatrix.from_counts([[1]]), method, epsilon)
        self.options = ClassOptions.of(labels, outcomes, other, missing)
        self.method = method
        self.epsilon = epsilon
        self._counted: ConfusionMatrix | None = None

    def add(
        self,
        *,
        prediction: Any = _NOT_GIVEN,
        reference: Any = _NOT_GIVEN,
        predictions: Any = _NOT_GIVEN,
        references: Any = _NOT_GIVEN,
    ) -> None:
        """Count one sample.

        ``evaluate`` names one sample ``prediction`` and ``reference``; its ``combine`` hands it on
        as ``predictions`` and ``references``, which mean the same here.
        """
        self.add_batch(
            predictions=[_one_of("prediction", prediction, predictions)],
            references=[_one_of("reference", reference, references)],
        )

    def add_batch(self, *, predictions: Any, references: Any) -> None:
        """Count a batch; counts are kept, not samples."""
        self._counted = self._with(predictions, references)

    def _with(self, predictions: Any, references: Any) -> ConfusionMatrix:
        batch = count_sequences(references, predictions, None, self.options)
        return batch if self._counted is None else self._counted + batch

    def compute(self, *, predictions: Any = None, references: Any = None) -> dict[str, Any]:
        """Return the dictionary of `compute` for all batches so far, and forget them.

        Samples given here are added first. When it fails, the batches stay, without these.
        """
        if (predictions is None) != (references is None):
            raise InputError(
                "`predictions` and `references` must be given together, got one of them."
            )
        counted = self._counted if predictions is None else self._with(predictions, references)
        if counted is None:
            raise InputError(
                "There must be something to compute from, got no predictions.",
                hint="call `add_batch` first, or give `predictions` and `references`.",
            )
        result = _describe(counted, self.method, self.epsilon)
        self._counted = None
        return result

    def _feature_names(self) -> list[str]:
        # What `evaluate.combine` asks a module for, to know what to hand it.
        return ["predictions", "references"]


def _one_of(name: str, one: Any, alias: Any) -> Any:
    """Return what was given under either of two names."""
    is_alias = one is _NOT_GIVEN
    if is_alias == (alias is _NOT_GIVEN):
        raise InputError(
            f"`{name}` must be given once, got {'none' if is_alias else f'also `{name}s`'}.",
            hint="one sample is add(prediction=..., reference=...); many go to `add_batch`.",
        )
    return alias if is_alias else one


def _describe(cm: ConfusionMatrix, method: MethodName, epsilon: float | None) -> dict[str, Any]:
    if cm.is_sparse:
        raise InputError(
            f"A matrix must be small to be written as lists of rows, got {cm.n_classes:,} classes.",
            hint="use `deconfuse.ConfusionMatrix` itself, which keeps such counts sparse.",
        )
    normalized = cm.normalize(method, epsilon)
    beside = {
        "outcomes": list(cm.outcomes),
        "outcome_counts": cm.outcome_counts.tolist(),
        "background_counts": cm.background_counts.tolist(),
    }
    score = estimate_quietly(cm, 0.95).separability
    return {
        **plain_scores(cm),
        "separability": score.value,
        "separability_interval": [score.low, score.high],
        "n_samples": cm.n_samples,
        "labels": list(cm.labels),
        "counts": cm.counts.tolist(),
        "matrix": [
            [None if math.isnan(v) else v for v in row] for row in normalized.matrix.tolist()
        ],
        "method": normalized.method,
        "epsilon": normalized.epsilon,
        **(beside if cm.outcomes else {}),
    }
