"""The separability score and its scorer, inside scikit-learn's own machinery."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import deconfuse as dc
from deconfuse.integrations.sklearn import make_separability_scorer
from deconfuse.statistics.estimate import estimate_quietly, separability_score


def predictions(counts):
    """Return labels and predictions that are counted like this."""
    cells = np.argwhere(np.asarray(counts) >= 0)
    return np.repeat(cells, np.ravel(counts), axis=0).T


@given(arrays(np.int64, (4, 4), elements=st.integers(0, 30)).filter(lambda m: m.sum() > 0))
def test_is_the_mean_diagonal_of_the_estimate(counts):
    estimate = estimate_quietly(dc.ConfusionMatrix.from_counts(counts), 0.95)
    score = separability_score(*predictions(counts), labels=range(4))
    # A class that is taken for other classes and never predicted counts as 0.
    labelled = np.arange(4)
    while (empty := counts[np.ix_(labelled, labelled)].sum(axis=1) == 0).any():
        labelled = labelled[~empty]
    n_classes = len(labelled) or 4
    assert score == pytest.approx(np.nansum(estimate.diagonal) / n_classes, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_with_many_samples_class_shares_and_prediction_bias_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    rates = rng.random((4, 4)) + 2 * np.eye(4)
    factors = np.exp(rng.normal(size=(2, 4)))
    counts = [np.rint(1e7 * m) for m in (rates, factors[0][:, None] * rates * factors[1])]
    one, other = (dc.estimate_bi(m).separability for m in counts)
    assert one.value == pytest.approx(other.value, abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_is_one_over_the_classes_where_predictions_say_nothing(n_classes):
    shares = np.arange(1, n_classes + 1)
    score = dc.estimate_bi(np.outer(shares, shares[::-1]) * 100).separability
    assert score.value == pytest.approx(1 / n_classes, abs=0.02)


@pytest.mark.parametrize("samples", [5, 10, 500])
def test_the_size_of_the_test_set_does_not_move_it(samples):
    rng = np.random.default_rng(samples)
    rates = np.full((10, 10), 0.1 / 9) + (0.9 - 0.1 / 9) * np.eye(10)
    draws = [rng.multinomial(samples, rates) for _ in range(40)]
    scores = [dc.estimate_bi(counts).separability.value for counts in draws]
    assert np.mean(scores) == pytest.approx(0.9, abs=0.015)


def test_many_classes_need_no_matrix():
    labels = np.arange(30_000)
    assert separability_score(labels, labels) == pytest.approx(1.0, abs=1e-3)


def test_scores_a_pipeline_in_cross_validation():
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.01))
    scoring = {"separability": make_separability_scorer(), "accuracy": "accuracy"}
    result = cross_validate(model, X, y, scoring=scoring, cv=3, return_indices=True)
    for fold, test in enumerate(result["indices"]["test"]):
        train = result["indices"]["train"][fold]
        predicted = clone(model).fit(X[train], y[train]).predict(X[test])
        expected = separability_score(y[test], predicted)
        assert result["test_separability"][fold] == pytest.approx(expected)
    assert (result["test_separability"] > 0.8).all()


def test_weights_reach_the_scorer_of_a_pipeline_with_names_as_labels():
    import sklearn

    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {digit}" for digit in y])
    weights = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            DecisionTreeClassifier(max_depth=6, random_state=0).set_fit_request(sample_weight=True),
        )
        scorer = make_separability_scorer().set_score_request(sample_weight=True)
        result = cross_validate(
            model, X, names, scoring=scorer, cv=3, params={"sample_weight": weights},
            return_estimator=True, return_indices=True,
        )  # fmt: skip
        for fold, test in enumerate(result["indices"]["test"]):
            predicted = result["estimator"][fold].predict(X[test])
            expected = separability_score(names[test], predicted, sample_weight=weights[test])
            assert result["test_score"][fold] == pytest.approx(expected)
            assert expected != separability_score(names[test], predicted)


def test_selects_models_in_a_grid_search():
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [2, 10]},
        scoring=make_separability_scorer(labels=range(10)),
        cv=3,
    ).fit(X[:600], y[:600])
    assert search.best_params_ == {"max_depth": 10}


class _Fixed(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def test_the_scorer_counts_classes_that_a_fold_lacks_when_they_are_named():
    X, y = np.array([[0], [1]]), np.array([0, 1])
    model = _Fixed().fit(X, y)
    named = make_separability_scorer(labels=[0, 1, 2])
    assert named(model, X, y) == separability_score(y, y, labels=[0, 1, 2])


def test_weights_enter():
    y_true, y_pred = [0, 0, 1, 1], [0, 1, 1, 0]
    weighted = separability_score(y_true, y_pred, sample_weight=[3, 1, 3, 1])
    assert weighted > separability_score(y_true, y_pred) + 0.1
