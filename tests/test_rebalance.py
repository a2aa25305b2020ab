"""Rebalancer: bias goes, validation never gets worse, scikit-learn's manners, bad input."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from deconfuse import ConfusionMatrix, Rebalancer
from deconfuse.errors import DeconfuseWarning, InputError
from deconfuse.rebalance import class_weights
from tests.support import require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEATURES = "its data have features of any number, not one score a class"
_NOT_APPLICABLE = {
    "check_estimators_overwrite_params": _FEATURES,
    "check_estimators_fit_returns_self": _FEATURES,
    "check_readonly_memmap_input": _FEATURES,
    "check_estimators_nan_inf": _FEATURES,
    "check_classifiers_classes": _FEATURES,
    "check_classifiers_train": _FEATURES,
    "check_sample_weight_equivalence_on_dense_data": "weights are importances, not repetitions",
    "check_dtype_object": "InputError (a ValueError) is raised, not TypeError",
    "check_array_api_input": "numpy only",
}


@pytest.mark.skipif(
    "on_fail" not in inspect.signature(check_estimator).parameters,
    reason="scikit-learn before 1.6 cannot list the checks that fail",
)
def test_scikit_learn_checks_pass_where_they_apply() -> None:
    with warnings.catch_warnings():
        # The checks fit on random labels, where a class may be missing.
        warnings.simplefilter("ignore")
        results = check_estimator(Rebalancer(), on_fail=None, on_skip=None)
    other = {result["check_name"] for result in results if result["status"] != "passed"}
    assert other == set(_NOT_APPLICABLE)
    assert len(results) > 50


def _biased(
    rng: np.random.Generator, n_samples: int, bias: Floats, prevalence: Floats | None = None
) -> tuple[Floats, Ints]:
    """Logits that know the class with noise, plus the same bias for every sample."""
    n_classes = len(bias)
    y = rng.choice(n_classes, n_samples, p=prevalence)
    logits = 2.0 * np.eye(n_classes)[y] + rng.normal(size=(n_samples, n_classes))
    return logits + bias, y


def _balanced(y: Ints, predicted: Ints) -> float:
    return float(balanced_accuracy_score(y, predicted))


def test_planted_bias_is_found_whatever_the_labels() -> None:
    rng = np.random.default_rng(0)
    bias = np.array([1.0, 0.0, -1.0, 0.5, -0.5])
    prevalence = np.array([0.05, 0.5, 0.15, 0.2, 0.1])
    rebalancer = Rebalancer(shrinkage=0.0).fit(*_biased(rng, 40_000, bias, prevalence))
    np.testing.assert_allclose(rebalancer.offsets_, -bias, atol=0.08)


def test_held_out_balanced_accuracy_rises_on_real_data() -> None:
    x, y = load_digits(return_X_y=True)
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x_rest, x_test, y_rest, y_test = train_test_split(x, y, test_size=0.3, random_state=seed)
        x_train, x_val, y_train, y_val = train_test_split(
            x_rest, y_rest, test_size=0.5, random_state=seed
        )
        rare = rng.random(len(y_train)) < np.where(y_train < 5, 1.0, 0.1)
        model = LogisticRegression(C=1e-4, max_iter=500).fit(x_train[rare], y_train[rare])
        rebalancer = Rebalancer().fit(model.predict_proba(x_val), y_val)
        shifted = rebalancer.predict(model.predict_proba(x_test))
        gains.append(_balanced(y_test, shifted) - _balanced(y_test, model.predict(x_test)))
    assert min(gains) > 0
    assert np.mean(gains) > 0.05


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_samples=st.integers(12, 120), strength=st.floats(0, 4))
def test_validation_objective_is_never_worse(seed: int, n_samples: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    bias = strength * rng.normal(size=4)
    scores, y = _biased(rng, n_samples, bias)
    y[:4] = range(4)
    rebalancer = Rebalancer().fit(scores, y)
    without = _balanced(y, scores.argmax(axis=1))
    with_offsets = _balanced(y, rebalancer.predict(scores))
    assert with_offsets >= without - 1e-12
    assert rebalancer.objective_ == pytest.approx(with_offsets)
    assert rebalancer.baseline_objective_ == pytest.approx(without)


@settings(max_examples=15, deadline=None)
@given(factor=st.floats(0.01, 100), seed=st.integers(0, 1000))
def test_offsets_scale_with_the_scores(factor: float, seed: int) -> None:
    scores, y = _biased(np.random.default_rng(seed), 200, np.array([1.0, 0.0, -1.0]))
    plain = Rebalancer(kind="logits").fit(scores, y)
    scaled = Rebalancer(kind="logits").fit(factor * scores, y)
    np.testing.assert_allclose(
        scaled.offsets_, factor * plain.offsets_, rtol=0.02, atol=0.02 * factor
    )


def test_relabelling_permutes_the_offsets() -> None:
    scores, y = _biased(np.random.default_rng(3), 500, np.array([1.0, 0.0, -1.0]))
    order = np.array([2, 0, 1])
    plain = Rebalancer().fit(scores, y)
    permuted = Rebalancer().fit(scores[:, order], np.argsort(order)[y])
    np.testing.assert_allclose(permuted.offsets_, plain.offsets_[order], atol=1e-9)


def test_probabilities_and_their_logs_give_the_same() -> None:
    scores, y = _biased(np.random.default_rng(1), 400, np.array([1.0, 0.0, -1.0]))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    one = Rebalancer().fit(probabilities, y)
    other = Rebalancer().fit(np.log(probabilities), y)
    assert (one.kind_, other.kind_) == ("probabilities", "logits")
    np.testing.assert_allclose(one.offsets_, other.offsets_, atol=1e-6)
    np.testing.assert_allclose(
        one.predict_proba(probabilities).sum(axis=1), np.ones(400), atol=1e-12
    )


def test_shrinkage_holds_offsets_back_where_samples_are_few() -> None:
    scores, y = _biased(np.random.default_rng(5), 15, np.array([0.5, 0.0, -0.5]))
    sizes = [
        np.abs(Rebalancer(shrinkage=shrinkage).fit(scores, y).offsets_).max()
        for shrinkage in (0.0, 2.0, 1000.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 0.05


def test_shrinkage_helps_held_out_data_when_there_is_no_bias() -> None:
    losses = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, y = _biased(rng, 40, np.zeros(5))
        test_scores, test_y = _biased(rng, 4000, np.zeros(5))
        held_out = [
            _balanced(
                test_y,
                Rebalancer(classes=range(5), shrinkage=s).fit(scores, y).predict(test_scores),
            )
            for s in (0.0, 10.0)
        ]
        losses.append(held_out[1] - held_out[0])
    assert np.mean(losses) > 0


def test_absent_class_is_said_and_keeps_the_mean_offset() -> None:
    scores, y = _biased(np.random.default_rng(2), 300, np.array([1.0, 0.0, -1.0, 0.0]))
    seen = y != 3
    with pytest.warns(DeconfuseWarning, match="No validation sample of 3"):
        rebalancer = Rebalancer().fit(scores[seen], y[seen])
    assert rebalancer.classes_.tolist() == [0, 1, 2, 3]
    assert rebalancer.offsets_[3] == 0.0
    assert rebalancer.offsets_[:3].mean() == pytest.approx(0.0, abs=1e-12)


def test_class_names_of_any_type_come_back() -> None:
    scores, codes = _biased(np.random.default_rng(4), 100, np.array([1.0, 0.0, -1.0]))
    names = np.array(["no", "perhaps", "yes"])
    rebalancer = Rebalancer().fit(scores, names[codes])
    assert set(rebalancer.predict(scores)) <= set(names)
    assert list(rebalancer.class_weights_) == names.tolist()
    reordered = Rebalancer(classes=["yes", "no", "perhaps"]).fit(scores[:, [2, 0, 1]], names[codes])
    np.testing.assert_array_equal(
        reordered.predict(scores[:, [2, 0, 1]]), rebalancer.predict(scores)
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", [str, int, float])
def test_columns_named_by_classes_say_which_is_which(library: str, kind: type) -> None:
    require(library)
    scores, codes = _biased(np.random.default_rng(4), 300, np.array([1.0, 0.0, -1.0]))
    # Numbers are text in the names of columns, as a file has them.
    texts = ["c", "a", "b"] if kind is str else ["12", "3", "7"]
    names = np.array([kind(text) for text in texts])
    frame = _frame(library, {text: scores[:, k] for k, text in enumerate(texts)})
    rebalancer = Rebalancer().fit(frame, names[codes])
    expected = Rebalancer(classes=names.tolist()).fit(scores, names[codes])
    assert rebalancer.classes_.tolist() == names.tolist()
    assert rebalancer.feature_names_in_.tolist() == texts
    np.testing.assert_allclose(rebalancer.offsets_, expected.offsets_, rtol=1e-9)
    np.testing.assert_array_equal(rebalancer.predict(frame), expected.predict(scores))
    assert (rebalancer.predict(frame) == names[codes]).mean() > 0.7


def _frame(library: str, columns: dict[str, Floats]):
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(columns)
    if library == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    import pandas as pd

    return pd.DataFrame(columns)


def test_numbers_that_pandas_gives_to_columns_say_nothing() -> None:
    require("pandas")
    import pandas as pd

    scores, codes = _biased(np.random.default_rng(4), 100, np.array([1.0, 0.0, -1.0]))
    names = np.array(["no", "perhaps", "yes"])
    plain = Rebalancer().fit(scores, names[codes])
    for columns in ([0, 1, 2], [7, 8, 9]):
        rebalancer = Rebalancer().fit(pd.DataFrame(scores, columns=columns), names[codes])
        np.testing.assert_allclose(rebalancer.offsets_, plain.offsets_, rtol=1e-9)
    assert not hasattr(rebalancer, "feature_names_in_")
    numbered = pd.DataFrame(scores[:, [2, 0, 1]])
    chosen = Rebalancer(classes=[2, 0, 1]).fit(numbered, codes)
    np.testing.assert_allclose(chosen.offsets_, plain.offsets_[[2, 0, 1]], rtol=1e-3)


def test_a_named_column_without_samples_is_a_class() -> None:
    require("pandas")
    import pandas as pd

    scores, codes = _biased(np.random.default_rng(2), 300, np.array([1.0, 0.0, -1.0, 0.0]))
    kept = codes != 1
    for names in (["d", "often unseen", "b", "a"], [4, 1, 3, 2]):
        frame = pd.DataFrame(scores[kept], columns=names)
        with pytest.warns(DeconfuseWarning, match=f"No validation sample of {names[1]!r}"):
            rebalancer = Rebalancer().fit(frame, np.array(names)[codes[kept]])
        assert rebalancer.classes_.tolist() == names
        assert rebalancer.offsets_[1] == 0.0


def test_weights_that_double_a_class_change_nothing_but_certainty() -> None:
    scores, y = _biased(np.random.default_rng(6), 3000, np.array([1.0, 0.0, -1.0]))
    weights = np.where(y == 0, 3.0, 1.0)
    plain = Rebalancer(shrinkage=0.0).fit(scores, y)
    weighted = Rebalancer(shrinkage=0.0).fit(scores, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.offsets_, plain.offsets_, atol=0.05)


def test_clone_pipeline_and_search() -> None:
    scores, y = _biased(np.random.default_rng(7), 300, np.array([1.0, 0.0, -1.0]))
    rebalancer = Rebalancer(shrinkage=3.0)
    assert clone(rebalancer).get_params() == rebalancer.get_params()
    pipeline = make_pipeline(FunctionTransformer(np.tanh), Rebalancer()).fit(scores, y)
    assert pipeline.predict(scores).shape == y.shape
    search = GridSearchCV(Rebalancer(), {"shrinkage": [0.0, 2.0]}, cv=3).fit(scores, y)
    assert search.best_params_["shrinkage"] in (0.0, 2.0)


def test_decision_function_of_two_classes_is_one_column() -> None:
    scores, y = _biased(np.random.default_rng(8), 100, np.array([1.0, -1.0]))
    rebalancer = Rebalancer().fit(scores, y)
    decision = rebalancer.decision_function(scores)
    assert decision.shape == (100,)
    np.testing.assert_array_equal(rebalancer.predict(scores), (decision > 0).astype(int))
    np.testing.assert_allclose(
        np.exp(rebalancer.predict_log_proba(scores)), rebalancer.predict_proba(scores)
    )


def test_class_weights_raise_what_is_predicted_too_rarely() -> None:
    counts = np.array([[900, 50, 50], [300, 600, 100], [30, 10, 60]])
    cm = ConfusionMatrix.from_counts(counts, labels=["a", "b", "c"])
    weights = class_weights(cm)
    expected = np.cbrt(cm.normalize("bi").right)
    np.testing.assert_allclose(list(weights.values()), expected / expected.mean())
    assert weights["a"] < 1 < weights["c"]
    # Labels counted more often say nothing new of the predictions.
    more = ConfusionMatrix.from_counts(counts * np.array([[1], [1], [10]]), labels=["a", "b", "c"])
    again, plain = (class_weights(matrix, epsilon=0.0) for matrix in (more, cm))
    np.testing.assert_allclose(list(again.values()), list(plain.values()), rtol=1e-6)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[5, 1], [0, 0]], "must have samples, got none of 1"),
        ([[5, 0], [3, 0]], "must have predictions, got none of 1"),
    ],
)
def test_class_weights_need_every_class_in_both_margins(counts, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        class_weights(counts)
    assert "Rebalancer" in str(caught.value)


def _uneven_digits(seed: int) -> tuple[Any, Any, list[NDArray[np.intp]]]:
    """Return digits, and what to train with, to validate and to test by; five classes are rare."""
    rng = np.random.default_rng(seed)
    inputs, labels = load_digits(return_X_y=True)
    train, validation, test = np.split(rng.permutation(len(labels)), [800, 1300])
    rare = [
        part[(labels[part] < 5) | (rng.random(len(part)) < 0.2)] for part in (train, validation)
    ]
    return inputs, labels, [*rare, test]


MODELS = {
    **{
        f"regression {strength}": lambda weight, strength=strength: LogisticRegression(
            C=strength, max_iter=3000, class_weight=weight
        )
        for strength in (0.0003, 0.003, 0.03)
    },
    "trees": lambda weight: HistGradientBoostingClassifier(
        max_iter=20, early_stopping=False, class_weight=weight
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_with_the_class_weights_gains_what_the_offsets_gain(name: str) -> None:
    gains = []
    for seed in range(4):
        inputs, labels, (train, validation, test) = _uneven_digits(seed)
        plain = MODELS[name](None).fit(inputs[train], labels[train])
        rebalancer = Rebalancer().fit(plain.predict_proba(inputs[validation]), labels[validation])
        weighted = MODELS[name](rebalancer.class_weights_).fit(inputs[train], labels[train])
        base, offset, again = (
            balanced_accuracy_score(labels[test], predicted)
            for predicted in (
                plain.predict(inputs[test]),
                rebalancer.predict(plain.predict_proba(inputs[test])),
                weighted.predict(inputs[test]),
            )
        )
        gains.append((offset - base, again - base))
    by_offsets, by_weights = np.mean(gains, axis=0)
    assert by_offsets > 0
    assert by_weights > 0.8 * by_offsets - 0.01


@pytest.mark.slow
def test_a_network_trained_with_the_class_weights_needs_offsets_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each run of a network that is stopped early has a bias of its own on top."""
    require("torch", "PIL")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    bench = import_module("benchmarks.rebalance")
    gains = []
    for seed in range(3):
        *_, parts = _uneven_digits(seed)
        train, validation, test = (bench.digits().some(part) for part in parts)
        fitter = bench.NetworkFitter(train, validation, seed)
        plain = fitter.fit(None)
        rebalancer = Rebalancer(kind="logits").fit(plain(validation), validation.labels)
        again = fitter.fit(rebalancer.class_weights_)
        second = Rebalancer(kind="logits").fit(again(validation), validation.labels)
        base, *others = (
            balanced_accuracy_score(test.labels, scores.argmax(axis=1))
            for scores in (
                plain(test),
                plain(test) + rebalancer.offsets_,
                again(test),
                again(test) + second.offsets_,
            )
        )
        gains.append(np.array(others) - base)
    by_offsets, by_weights, by_both = np.mean(gains, axis=0)
    assert by_weights > -0.02
    assert by_both > 0.8 * by_offsets


SCORES, LABELS = _biased(np.random.default_rng(9), 30, np.zeros(3))
LABELS[:3] = range(3)
SHARES = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        (SCORES[:, :2], LABELS, "one column per class, got n_features = 2 and 3 classes"),
        (np.where(SCORES > 2.5, np.nan, SCORES), LABELS, "`scores` must be finite"),
        (np.ones((30, 3)), LABELS, "must differ between the classes"),
        (np.eye(3)[LABELS], LABELS, "got one-hot rows: one 1 and else 0"),
        (5 * np.eye(3, dtype=int)[LABELS[::-1]] - 2, LABELS, "got one-hot rows: one 3 and else -2"),
        (SCORES[:2], LABELS[:2] * 0 + [0, 2], "more samples than classes, got n_samples = 2"),
        (SCORES, LABELS * 0, "at least two classes"),
        (SCORES[:, 0], LABELS, "`scores` must be a 2D array"),
        (SCORES[:20], LABELS, "must describe the same samples"),
        (SCORES, LABELS + 0.5, "must be classes, got fractions"),
        (SCORES, np.where(LABELS == 1, np.nan, LABELS), "no missing values"),
        (np.c_[SCORES, SCORES], LABELS + 4, "got n_features = 6 and 3 classes"),
        (SCORES, [["a", "b"]] * 30, "must describe the same samples"),
        (SCORES * 1j, LABELS, "must be real"),
        ([["x", "y", "z"]] * 30, LABELS, "must be a table of numbers"),
        (np.empty((0, 3)), [], "must have samples and columns"),
        (SCORES, [None, *LABELS[1:].tolist()], "no missing values"),
        (SCORES, ["a", *LABELS[1:].tolist()], "one type"),
    ],
)
def test_bad_scores_and_labels(scores, y, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rebalancer().fit(scores, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "odds"}, '`kind` must be one of "auto"'),
        ({"shrinkage": -1.0}, "`shrinkage` must be a number of zero or more"),
        ({"shrinkage": "a"}, "`shrinkage` must be a number of zero or more, got 'a'"),
        ({"kind": "probabilities"}, "Probabilities must lie between 0 and 1"),
        ({"classes": [0, 1]}, "got 3 columns for 2 classes"),
        ({"classes": [0, 1, 7]}, "must be classes of the columns, got 2"),
    ],
)
def test_bad_parameters(parameters, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rebalancer(**parameters).fit(SCORES, LABELS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "one value per sample"),
        (-np.ones(30), "finite, not negative"),
        (np.zeros(30), "not all zero"),
        (["a"] * 30, "`sample_weight` must be numbers"),
    ],
)
def test_bad_weights(weights, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rebalancer().fit(SCORES, LABELS, sample_weight=weights)


@pytest.mark.parametrize(
    ("columns", "classes", "message"),
    [
        (["a", "b", "d"], None, "must be the classes, got 'a', 'b', 'd' for the classes 'a', 'b'"),
        (["a", "b", "b"], None, "must be the classes, got 'a', 'b', 'b'"),
        (["p_c", "p_a", "p_b"], None, "must be the classes, got 'p_c', 'p_a', 'p_b'"),
        (["c", "a", "b"], ["a", "b", "c"], "`classes` must be in the order of the columns"),
    ],
)
def test_names_of_columns_that_do_not_fit(columns, classes, message: str) -> None:
    require("pandas")
    import pandas as pd

    frame, y = pd.DataFrame(SCORES, columns=columns), np.array(["a", "b", "c"])[LABELS]
    with pytest.raises(InputError, match=message):
        Rebalancer(classes=classes).fit(frame, y)


def test_scores_worse_than_guessing_are_warned_of() -> None:
    scores, y = _biased(np.random.default_rng(4), 600, np.zeros(3))
    with pytest.warns(DeconfuseWarning, match="worse than guessing"):
        Rebalancer().fit(scores[:, [1, 2, 0]], y)


def test_columns_when_predicting_must_be_those_of_fit() -> None:
    require("pandas")
    import pandas as pd

    frame, y = pd.DataFrame(SCORES, columns=list("abc")), np.array(list("abc"))[LABELS]
    rebalancer = Rebalancer().fit(frame, y)
    for other in (frame[["b", "c", "a"]], frame.rename(columns={"a": "x"}), frame[["a", "b"]]):
        with pytest.raises(InputError, match="The feature names should match those") as caught:
            rebalancer.predict(other)
        assert "in the same order: 'a', 'b', 'c', got" in str(caught.value)
        assert "Hint: bring the columns in that order" in str(caught.value)
    with pytest.warns(
        DeconfuseWarning, match="X does not have valid feature names, but Rebalancer"
    ):
        assert rebalancer.predict(SCORES).tolist() == rebalancer.predict(frame).tolist()
    rebalancer.fit(SCORES, y)
    assert not hasattr(rebalancer, "feature_names_in_")
    with pytest.warns(
        DeconfuseWarning, match="X has feature names, but Rebalancer was fitted with"
    ):
        rebalancer.predict_proba(frame)


@pytest.mark.parametrize("kind", ["auto", "probabilities"])
def test_scores_of_another_kind_when_predicting(kind) -> None:
    rebalancer = Rebalancer(kind=kind).fit(SHARES, LABELS)
    assert rebalancer.kind_ == "probabilities"
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(InputError, match=r"must lie between 0 and 1, got -.* to -") as caught:
            getattr(rebalancer, method)(np.log(SHARES))
        assert "`fit` was given probabilities" in str(caught.value)


@pytest.mark.parametrize("kind", ["auto", "logits"])
def test_probabilities_after_logits_are_refused(kind) -> None:
    rebalancer = Rebalancer(kind=kind).fit(SCORES, LABELS)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        for scores in (SHARES, SHARES.astype(np.float32), SHARES.round(3)):
            with pytest.raises(InputError, match="must be logits as in `fit`, got prob") as caught:
                getattr(rebalancer, method)(scores)
            assert caught.value.hint == "give logits here too, or fit on probabilities."
    assert len(rebalancer.predict(np.log(SHARES))) == len(SHARES)


def test_few_rows_are_refused_only_if_they_are_surely_probabilities() -> None:
    rebalancer = Rebalancer().fit(SCORES, LABELS)
    for scores in (SHARES[:1], SHARES[:10].astype(np.float32)):
        with pytest.raises(InputError, match='If these are logits, fit with `kind="logits"`'):
            rebalancer.predict(scores)
    told = Rebalancer(kind="logits").fit(SCORES, LABELS)
    assert len(told.predict(SHARES[:10])) == 10
    with pytest.raises(InputError, match="got probabilities"):
        told.predict(SHARES[:11])
    # Logits by accident: a sum near one, and whole numbers.
    for logits in ([[0.3, 0.3, 0.401]], [[1, 0, 0], [0, 0, 1]]):
        expected = np.asarray(logits) + rebalancer.offsets_
        assert rebalancer.predict(logits).tolist() == expected.argmax(axis=1).tolist()


def test_scores_called_logits_that_sum_to_one_stay_logits() -> None:
    rebalancer = Rebalancer(kind="logits").fit(SHARES, LABELS)
    np.testing.assert_array_equal(
        rebalancer.decision_function(SHARES), SHARES + rebalancer.offsets_
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_tensors_of_any_float_that_ask_for_gradients(dtype: str) -> None:
    require("torch")
    import torch

    scores = torch.tensor(SCORES).to(getattr(torch, dtype)).requires_grad_()
    plain = scores.detach().double().numpy()
    weights = torch.ones(len(LABELS), dtype=getattr(torch, dtype), requires_grad=True)
    labels = torch.tensor(np.asarray(LABELS))
    rebalancer = Rebalancer().fit(scores, labels, sample_weight=weights)
    expected = Rebalancer().fit(plain, LABELS)
    np.testing.assert_array_equal(rebalancer.offsets_, expected.offsets_)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(rebalancer, method)(scores), getattr(expected, method)(plain)
        )
    floats = labels.to(getattr(torch, dtype)).requires_grad_()
    assert Rebalancer().fit(scores, floats).offsets_.tolist() == expected.offsets_.tolist()


def test_bad_scores_when_predicting() -> None:
    rebalancer = Rebalancer().fit(SCORES, LABELS)
    with pytest.raises(InputError, match="2 features, but Rebalancer is expecting 3"):
        rebalancer.predict(SCORES[:, :2])


def test_class_weights_take_bare_counts() -> None:
    counts = [[90, 10], [40, 60]]
    assert class_weights(counts) == class_weights(ConfusionMatrix.from_counts(counts))


def test_columns_that_pandas_numbered_are_taken_by_position() -> None:
    require("pandas")
    import pandas as pd

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    scores = rng.random((200, 3))
    scores[np.arange(200), y] += 1.0
    table = pd.DataFrame(np.column_stack([y, scores]))
    model = Rebalancer().fit(table.iloc[:, 1:], y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(table.iloc[:, 1:]) == y).mean() > 0.7
    assert Rebalancer().fit(table.iloc[:, 1:], y + 1).classes_.tolist() == [1, 2, 3]
