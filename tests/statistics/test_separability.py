"""The separability score and its scorer, inside scikit-learn's own machinery."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import deconfuse as dc
from deconfuse.integrations.sklearn import make_separability_scorer
from deconfuse.statistics.separability import separability, separability_score

matrices = st.integers(2, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(1, 200), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


@given(matrices)
def test_is_the_mean_diagonal_of_the_bi_normalized_matrix(counts):
    cm = dc.ConfusionMatrix.from_counts(counts)
    assert separability(cm) == pytest.approx(np.mean(np.diag(cm.normalize("bi").matrix)), abs=1e-9)


@given(matrices, st.integers(0, 2**32 - 1))
def test_class_shares_and_prediction_bias_do_not_matter(counts, seed):
    factors = np.exp(np.random.default_rng(seed).normal(size=(2, len(counts))))
    other = factors[0][:, None] * np.array(counts, dtype=float) * factors[1]
    before = separability(dc.ConfusionMatrix.from_counts(counts), epsilon=0.0)
    after = separability(dc.ConfusionMatrix.from_counts(other), epsilon=0.0)
    assert after == pytest.approx(before, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_is_one_over_the_classes_where_predictions_say_nothing(n_classes):
    shares = np.arange(1, n_classes + 1)
    counts = np.outer(shares, shares[::-1]) * 10
    assert separability(dc.ConfusionMatrix.from_counts(counts), epsilon=0.0) == pytest.approx(
        1 / n_classes
    )


def test_a_normalized_matrix_is_used_as_it_is():
    cm = dc.ConfusionMatrix.from_counts([[9, 1], [2, 8]])
    assert separability(cm.normalize("bi", 3.0)) == separability(cm, epsilon=3.0)
    assert separability(cm.normalize("row"), epsilon=3.0) == separability(cm, epsilon=3.0)


def test_many_classes_need_no_matrix():
    labels = np.arange(30_000)
    assert separability_score(labels, labels, epsilon=1e-9) == pytest.approx(1.0, abs=1e-3)


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
    assert make_separability_scorer(epsilon=1e-6)(model, X, y) == pytest.approx(1, abs=1e-3)
    named = make_separability_scorer(labels=[0, 1, 2], epsilon=1e-6)
    expected = separability(
        dc.ConfusionMatrix.from_counts([[1, 0, 0], [0, 1, 0], [0, 0, 0]]), epsilon=1e-6
    )
    assert named(model, X, y) == pytest.approx(expected)


def test_weights_enter():
    y_true, y_pred = [0, 0, 1, 1], [0, 1, 1, 0]
    weighted = separability_score(y_true, y_pred, sample_weight=[3, 1, 3, 1], epsilon=0.0)
    assert weighted == pytest.approx(0.75)


def test_the_score_and_its_error_are_public():
    assert dc.statistics.separability_score([0, 1], [0, 1]) == separability_score([0, 1], [0, 1])
    with pytest.raises(dc.InputError, match="same samples"):
        dc.statistics.separability_score([0, 1], [0])
