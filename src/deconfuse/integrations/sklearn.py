"""scikit-learn: the separability score as a scorer for cross-validation and search.

Everything else of deconfuse that takes ``y_true`` and ``y_pred`` takes a pipeline's output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from deconfuse.statistics.estimate import separability_score

__all__ = ["make_separability_scorer", "separability_score"]


def make_separability_scorer(*, labels: Iterable[Any] | None = None) -> Callable[..., float]:
    """Return `separability_score` as a scorer for ``cross_validate``, ``GridSearchCV`` and others.

    Parameters
    ----------
    labels : sequence, optional
        The classes to count in every fold. Give them when a fold may lack a class: a fold's score
        otherwise covers only the classes that occur in it.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, larger is better; ``sample_weight`` by metadata routing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from deconfuse.integrations.sklearn import make_separability_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scoring = {"separability": make_separability_scorer(), "accuracy": "accuracy"}
    >>> scores = cross_validate(LogisticRegression(max_iter=1000), X, y, scoring=scoring)
    >>> scores["test_separability"].shape
    (5,)
    """
    from sklearn.metrics import make_scorer

    options = {} if labels is None else {"labels": list(labels)}
    scorer: Callable[..., float] = make_scorer(separability_score, **options)
    return scorer
