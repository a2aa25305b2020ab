"""The evaluate-style module: plain dictionaries, also inside the real library."""

from __future__ import annotations

import inspect
import json
import math

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.integrations.evaluate import Deconfuse, compute
from tests.support import require

PREDICTIONS = ["cat", "dog", "dog", "cat", "fox"]
REFERENCES = ["cat", "dog", "cat", "cat", "dog"]


def test_returns_plain_values():
    result = compute(predictions=PREDICTIONS, references=REFERENCES, labels=["fox", "cat", "dog"])
    again = json.loads(json.dumps(result))
    assert again == result
    cm = dc.ConfusionMatrix.from_predictions(REFERENCES, PREDICTIONS, labels=["fox", "cat", "dog"])
    assert result["labels"] == ["fox", "cat", "dog"]
    assert result["counts"] == cm.counts.tolist()
    np.testing.assert_allclose(result["matrix"], cm.normalize("bi").matrix)
    assert result["n_samples"] == 5
    assert result["separability"] == pytest.approx(
        dc.statistics.separability_score(REFERENCES, PREDICTIONS, labels=["fox", "cat", "dog"])
    )


def test_undefined_cells_are_none():
    with pytest.warns(dc.errors.UndefinedCellsWarning, match="'fox'"):
        result = compute(predictions=PREDICTIONS, references=REFERENCES, method="row")
    assert result["matrix"][2] == [None, None, None]
    assert not any(math.isnan(value) for row in result["matrix"][:2] for value in row)


def test_batches_equal_one_call():
    module = Deconfuse(epsilon=0.5)
    for prediction, reference in zip(PREDICTIONS[:2], REFERENCES[:2], strict=True):
        module.add(predictions=prediction, references=reference)
    module.add_batch(predictions=PREDICTIONS[2:4], references=REFERENCES[2:4])
    result = module.compute(predictions=PREDICTIONS[4:], references=REFERENCES[4:])
    assert result == compute(predictions=PREDICTIONS, references=REFERENCES, epsilon=0.5)
    with pytest.raises(dc.InputError, match="something to compute from"):
        module.compute()


def test_one_sample_goes_by_the_names_of_the_library():
    module = Deconfuse()
    module.add(prediction=0, reference=1)
    module.add(predictions=1, references=1)
    module.add(prediction=0, references=0)
    assert module.compute()["counts"] == [[1, 0], [1, 1]]
    with pytest.raises(dc.InputError, match="`reference` must be given once, got none"):
        module.add(prediction=0)
    with pytest.raises(dc.InputError, match="`prediction` must be given once, got also `predicti"):
        module.add(prediction=0, predictions=0, reference=1)


@pytest.mark.filterwarnings("ignore")
def test_names_of_arguments_are_those_of_the_library():
    require("evaluate")
    import evaluate

    for method in ("add", "add_batch", "compute"):
        theirs = inspect.signature(getattr(evaluate.EvaluationModule, method)).parameters.values()
        named = {p.name for p in theirs if p.kind is p.KEYWORD_ONLY}
        assert len(named) == 2
        assert named <= set(inspect.signature(getattr(Deconfuse, method)).parameters)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rows"}, '`method` must be "row", "col"'),
        ({"epsilon": -1.0}, "`epsilon` must be a finite number of at least 0, got -1.0"),
        ({"labels": ["cat", "cat"]}, "`labels` must be distinct, got 'cat' more than once"),
        ({"labels": "cat"}, "`labels` must be a sequence of class names, got 'cat'"),
    ],
)
def test_options_are_checked_before_anything_is_counted(options, message):
    with pytest.raises(dc.InputError, match=message):
        Deconfuse(**options)


def test_batches_stay_when_nothing_can_be_computed():
    module = Deconfuse(epsilon=0.0)
    module.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    for given in ({}, {"predictions": ["cat"], "references": ["dog"]}):
        with pytest.raises(dc.NotScalableError):
            module.compute(**given)
    with pytest.raises(dc.InputError, match="no missing values"):
        module.compute(predictions=["cat"], references=[None])
    module.epsilon = 0.5
    expected = compute(predictions=PREDICTIONS, references=REFERENCES, epsilon=0.5)
    assert module.compute() == expected


def test_weights_enter():
    result = compute(predictions=[0, 1], references=[0, 0], sample_weight=[0.25, 2.0])
    assert result["counts"] == [[0.25, 2.0], [0.0, 0.0]]


@pytest.mark.filterwarnings("ignore")
def test_combines_with_modules_of_the_library(tmp_path):
    require("evaluate", "datasets")
    import datasets
    import evaluate

    class Agreement(evaluate.Metric):
        def _info(self):
            features = datasets.Features(
                {"predictions": datasets.Value("int32"), "references": datasets.Value("int32")}
            )
            return evaluate.MetricInfo(
                description="share of equal values",
                citation="",
                inputs_description="",
                features=features,
            )

        def _compute(self, predictions, references):
            return {"agreement": float(np.mean(np.equal(predictions, references)))}

    both = evaluate.combine([Agreement(cache_dir=str(tmp_path)), Deconfuse()])
    both.add_batch(predictions=[0, 1, 1], references=[0, 1, 0])
    both.add(prediction=0, reference=0)
    result = both.compute()
    assert result["agreement"] == 0.75
    assert result["counts"] == [[2, 1], [0, 1]]
    single = evaluate.combine({"ours": Deconfuse()}, force_prefix=True)
    assert "ours_separability" in single.compute(predictions=[0, 1], references=[0, 1])


def test_one_without_the_other_is_refused():
    with pytest.raises(dc.InputError, match="given together"):
        Deconfuse().compute(predictions=[0])


def test_very_many_classes_are_refused():
    with pytest.raises(dc.InputError, match="3,000 classes"):
        compute(predictions=range(3000), references=range(3000))


def test_answers_that_are_no_class():
    answers = ["cat", "I cannot tell", None, "dog"]
    options = {"labels": ["cat", "dog"], "other": "invalid", "missing": "no answer"}
    result = compute(predictions=answers, references=["cat", "cat", "dog", "dog"], **options)
    assert (result["counts"], result["n_samples"]) == ([[1, 0], [0, 1]], 4)
    assert (result["outcomes"], result["outcome_counts"]) == (
        ["invalid", "no answer"],
        [[1, 0], [0, 1]],
    )
    module = Deconfuse(**options)
    module.add_batch(predictions=answers[:2], references=["cat", "cat"])
    assert module.compute(predictions=answers[2:], references=["dog", "dog"]) == result
    with pytest.raises(dc.InputError, match="`other` takes the predictions outside `labels`"):
        Deconfuse(other="invalid")
