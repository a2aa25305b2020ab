"""The torchmetrics metrics: alone, in two real processes, and in a real Lightning fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
)

import deconfuse as dc
from tests.support import require

require("torch", "torchmetrics")

import torch  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402
from torchmetrics.classification import MulticlassConfusionMatrix  # noqa: E402
from torchmetrics.wrappers import MetricTracker  # noqa: E402

from deconfuse.integrations.torch import (  # noqa: E402
    NormalizedConfusionMatrix,
    Scores,
    Separability,
)

pairs = st.integers(2, 5).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), min_size=1),
    )
)


def _tensors(samples):
    target, preds = zip(*samples, strict=True)
    return torch.tensor(preds), torch.tensor(target)


@given(pairs, st.integers(1, 9))
@pytest.mark.parametrize("method", ["bi", "all", None])
def test_batches_equal_counting_once(method, sized, step):
    size, samples = sized
    preds, target = _tensors(samples)
    metric = NormalizedConfusionMatrix(size, method=method)
    for start in range(0, len(samples), step):
        metric.update(preds[start : start + step], target[start : start + step])
    cm = dc.ConfusionMatrix.from_predictions(target, preds, labels=range(size))
    expected = cm.counts if method is None else cm.normalize(method).matrix
    np.testing.assert_allclose(metric.compute().numpy(), expected, atol=1e-12)
    assert metric.to_confusion_matrix() == cm


@pytest.mark.parametrize(("ours", "theirs"), [("row", "true"), ("col", "pred"), ("all", "all")])
def test_agrees_with_torchmetrics_where_both_normalize(ours, theirs):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(500, 6, generator=generator)
    target = torch.randint(6, (500,), generator=generator)
    mine = NormalizedConfusionMatrix(6, method=ours)(scores, target)
    reference = MulticlassConfusionMatrix(6, normalize=theirs)(scores, target)
    np.testing.assert_allclose(mine.numpy(), reference.numpy(), atol=1e-6)


def test_scores_with_further_axes_and_an_ignored_target():
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(2, 3, 8, 8, generator=generator)
    target = torch.randint(3, (2, 8, 8), generator=generator)
    target[0, :2] = 255
    metric = NormalizedConfusionMatrix(3, method=None, ignore_index=255)
    reference = MulticlassConfusionMatrix(3, ignore_index=255)
    assert torch.equal(metric(scores, target), reference(scores, target))


def test_weights_are_counted_with_their_squares():
    metric = NormalizedConfusionMatrix(2, method=None, weighted=True)
    metric.update(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), torch.tensor([2.0, 0.5, 3.0]))
    metric.update(torch.tensor([0]), torch.tensor([0]))
    assert metric.compute().tolist() == [[3.0, 3.0], [0.0, 0.5]]
    assert metric.to_confusion_matrix() == dc.ConfusionMatrix.from_predictions(
        [0, 1, 0, 0], [0, 1, 1, 0], sample_weight=[2.0, 0.5, 3.0, 1.0]
    )


def test_separability_is_the_score():
    preds, target = torch.tensor([0, 1, 1, 2, 2]), torch.tensor([0, 1, 2, 2, 1])
    expected = dc.statistics.separability_score(target, preds)
    assert float(Separability(3)(preds, target)) == pytest.approx(expected)


def test_scores_are_those_of_scikit_learn_with_the_interval_of_the_separability():
    preds, target = torch.tensor([0, 1, 1, 2, 2]), torch.tensor([0, 1, 2, 2, 1])
    found = {name: float(value) for name, value in Scores(3)(preds, target).items()}
    estimate = dc.estimate_bi(dc.ConfusionMatrix.from_predictions(target, preds)).separability
    assert found == pytest.approx(
        {
            "accuracy": accuracy_score(target, preds),
            "balanced_accuracy": balanced_accuracy_score(target, preds),
            "macro_f1": f1_score(target, preds, average="macro"),
            "kappa": cohen_kappa_score(target, preds),
            "separability": estimate.value,
            "separability_low": estimate.low,
            "separability_high": estimate.high,
        }
    )


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
def test_nothing_counted_is_undefined():
    assert all(value.isnan() for value in Scores(3).compute().values())
    assert NormalizedConfusionMatrix(3).compute().isnan().all()
    assert Separability(3).compute().isnan()
    assert not NormalizedConfusionMatrix(3, method=None).compute().any()


def test_reset_clone_state_dict_and_pickle():
    import pickle

    metric = NormalizedConfusionMatrix(2, labels=["cat", "dog"])
    metric.persistent(True)
    metric.update(torch.tensor([0, 1]), torch.tensor([0, 1]))
    copy = pickle.loads(pickle.dumps(metric))
    restored = NormalizedConfusionMatrix(2, labels=["cat", "dog"])
    restored.persistent(True)
    restored.load_state_dict(metric.state_dict())
    assert copy.to_confusion_matrix() == metric.to_confusion_matrix()
    assert restored.to_confusion_matrix() == metric.to_confusion_matrix()
    assert metric.clone().to_confusion_matrix().labels == ("cat", "dog")
    metric.reset()
    assert not metric.counts.any()


def test_in_a_collection_the_metrics_share_counts():
    collection = MetricCollection(
        {"bi": NormalizedConfusionMatrix(3), "separability": Separability(3)}
    )
    collection.update(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]))
    collection.update(torch.tensor([0, 1, 2]), torch.tensor([0, 2, 2]))
    result = collection.compute()
    expected = dc.estimate_bi([[2, 0, 0], [0, 1, 1], [0, 1, 1]]).separability.value
    assert float(result["separability"]) == pytest.approx(expected)
    assert float(result["bi"].diagonal().mean()) == pytest.approx(
        float(np.mean(np.diag(dc.normalize([[2, 0, 0], [0, 1, 1], [0, 1, 1]], "bi").matrix)))
    )


def test_a_tracker_keeps_the_best_epoch():
    tracker = MetricTracker(Separability(2), maximize=True)
    for preds in ([0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]):
        tracker.increment()
        tracker.update(torch.tensor(preds), torch.tensor([0, 0, 1, 1]))
    assert tracker.best_metric(return_step=True)[1] == 1


def test_plots_like_torchmetrics():
    import matplotlib.pyplot as plt

    metric = NormalizedConfusionMatrix(2, labels=["cat", "dog"])
    metric.update(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]))
    _, axes = metric.plot()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["cat", "dog"]
    _, ax = plt.subplots()
    assert metric.plot(metric.compute(), ax=ax)[1] is ax
    score = Separability(2)
    score.update(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]))
    assert score.plot()[1].get_ylim()[1] >= 1.0
    plt.close("all")


def test_two_processes_merge_their_counts(tmp_path: Path):
    rng = np.random.default_rng(8)
    shards = [rng.integers(4, size=(2, n)).tolist() for n in (100, 61)]
    data = tmp_path / "shards.json"
    data.write_text(json.dumps(shards))
    worker = Path(__file__).with_name("gloo_worker.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    outputs = [tmp_path / f"result-{rank}.json" for rank in (0, 1)]
    processes = [
        subprocess.Popen(
            [sys.executable, worker, str(rank), tmp_path / "meet", data, output],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, output in enumerate(outputs)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    first, second = (json.loads(output.read_text()) for output in outputs)

    both = np.concatenate([np.array(shard) for shard in shards], axis=1)
    cm = dc.ConfusionMatrix.from_predictions(*both, labels=range(4))
    weights = np.repeat([0.5, 1.5], [100, 61])
    weighted = dc.ConfusionMatrix.from_predictions(*both, labels=range(4), sample_weight=weights)
    for result in (first, second):
        assert result["merged"] == cm.counts.tolist()
        np.testing.assert_allclose(result["matrix"], cm.normalize("bi").matrix, atol=1e-12)
        assert result["separability"] == pytest.approx(dc.statistics.separability_score(*both))
        np.testing.assert_allclose(result["weighted"], weighted.counts)
        np.testing.assert_allclose(result["variances"], weighted.variances)
        for kind in ("alone", "alone_matrix", "grouped", "grouped_matrix"):
            assert result[kind] == result["own"], kind
    own = [np.array(result["own"]) for result in (first, second)]
    assert own[0].sum() == 100
    assert (own[0] + own[1] == cm.counts).all()


@pytest.mark.filterwarnings("ignore")
def test_in_a_lightning_module(tmp_path: Path):
    require("lightning")
    from lightning import LightningModule, Trainer
    from sklearn.datasets import load_digits
    from torch.utils.data import DataLoader, TensorDataset

    pixels, digits = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits))
    train, test = torch.utils.data.random_split(
        data, [1500, 297], generator=torch.Generator().manual_seed(0)
    )

    class Linear(LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(64, 10)
            self.separability = Separability(10)
            self.matrix = NormalizedConfusionMatrix(10)
            self.seen = []

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, _):
            scores = self.layer(batch[0])
            self.separability(scores, batch[1])
            self.matrix.update(scores, batch[1])
            self.log("separability", self.separability, on_epoch=True)

        def on_validation_epoch_end(self):
            self.seen.append(self.matrix.to_confusion_matrix())
            self.matrix.reset()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.5)

    model = Linear()
    trainer = Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=tmp_path,
    )
    trainer.fit(model, DataLoader(train, 50), DataLoader(test, 50))
    assert [cm.total for cm in model.seen] == [297, 297, 297]
    logged = float(trainer.callback_metrics["separability"])
    assert logged == pytest.approx(dc.estimate_bi(model.seen[-1]).separability.value, abs=1e-6)
    assert logged > 0.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_classes": 0}, "from 1 to 16,384"),
        ({"num_classes": 20_000}, "from 1 to 16,384"),
        ({"num_classes": True}, "whole number from 1 to 16,384, got True"),
        ({"num_classes": 2.0}, "whole number from 1 to 16,384, got 2.0"),
        ({"num_classes": 2, "labels": ["cat"]}, "one name per class, got 1 names for 2"),
        ({"num_classes": 2, "method": "rows"}, "`method` must be"),
        ({"num_classes": 2, "epsilon": -1.0}, "`epsilon` must be a finite number"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(dc.InputError, match=message):
        NormalizedConfusionMatrix(**options)


def test_the_number_of_classes_may_come_from_numpy():
    metric = NormalizedConfusionMatrix(np.int64(3), method=None)
    assert type(metric.num_classes) is int
    assert metric(torch.tensor([0, 2]), torch.tensor([1, 2])).sum() == 2
    assert metric.to_confusion_matrix().labels == (0, 1, 2)


def test_options_of_torchmetrics_are_taken_and_others_refused():
    metric = Separability(3, dist_sync_on_step=True, compute_with_cache=False)
    assert metric.dist_sync_on_step
    assert not metric.compute_with_cache
    with pytest.raises(TypeError, match="Separability takes no argument 'normalise'"):
        Separability(3, normalise="bi")


def test_wrappers_of_torchmetrics_take_the_score():
    from torchmetrics.wrappers import BootStrapper, MinMaxMetric, Running

    preds, target = torch.tensor([0, 1, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 2, 1, 0])
    expected = dc.statistics.separability_score(target, preds)
    ranged = MinMaxMetric(Separability(3))
    ranged.update(preds, target)
    assert float(ranged.compute()["max"]) == pytest.approx(expected)
    window = Running(Separability(3), window=2)
    for part in (slice(0, 3), slice(0, 3), slice(3, 6)):
        window.update(preds[part], target[part])
    assert float(window.compute()) == pytest.approx(expected)
    draws = BootStrapper(Separability(3), num_bootstraps=4)
    draws.update(preds, target)
    assert set(draws.compute()) == {"mean", "std"}


@pytest.mark.parametrize(
    ("preds", "target", "weight", "message"),
    [
        ([0, 1], [0, 3], None, "`target` must be from 0 to 2, got 3"),
        ([0, -1], [0, 1], None, "`preds` must be from 0 to 2, got -1"),
        ([0, 1], [0], None, "the same samples, got shapes"),
        ([0, 1], [0.0, 1.0], None, "`target` must be whole numbers"),
        ([[0.5, 0.5]], [0], None, "one column per class"),
        ([[0.5, float("nan"), 0.1]], [0], None, "missing values, got NaN"),
        ([0, 1], [0, 1], [1.0, 1.0], "keeps weights"),
    ],
)
def test_bad_batches_are_refused(preds, target, weight, message):
    metric = NormalizedConfusionMatrix(3)
    extra = () if weight is None else (torch.tensor(weight),)
    with pytest.raises(dc.InputError, match=message):
        metric.update(torch.tensor(preds), torch.tensor(target), *extra)
    assert not metric.counts.any()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], "one weight per sample"),
        ([1.0, -1.0], "not negative"),
        ([1.0, float("inf")], "finite"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    metric = Separability(3, weighted=True)
    with pytest.raises(dc.InputError, match=message):
        metric.update(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor(weight))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 7)), min_size=1), st.booleans())
def test_outcomes_are_counted_as_by_from_predictions(samples, weighted):
    """Index 3 is the background, predictions outside go to `other`."""
    preds, target = _tensors(samples)
    metric = NormalizedConfusionMatrix(
        3, method=None, outcomes=["background"], other="invalid", weighted=weighted
    )
    metric.update(preds, target, torch.ones(len(samples)) * 2 if weighted else None)
    names = [0, 1, 2, "background", "invalid"]
    expected = dc.ConfusionMatrix.from_predictions(
        [names[k] for k in target.tolist()],
        [names[k] if 0 <= k <= 4 else "no class at all" for k in preds.tolist()],
        labels=range(3),
        outcomes=["background"],
        other="invalid",
        sample_weight=[2.0] * len(samples) if weighted else None,
    )
    assert metric.to_confusion_matrix() == expected
    np.testing.assert_array_equal(metric.compute().numpy(), expected.counts)


def test_scores_that_are_nan_are_missing_answers():
    scores = torch.tensor([[0.9, 0.1], [float("nan"), 1.0], [0.2, 0.8]])
    target = torch.tensor([0, 1, 1])
    with pytest.raises(dc.InputError, match="NaN among the scores") as caught:
        Separability(2).update(scores, target)
    assert "missing='no answer'" in str(caught.value)
    metric = Separability(2, labels=["cat", "dog"], missing="no answer")
    metric.update(scores, target)
    cm = metric.to_confusion_matrix()
    assert cm.outcome_counts.tolist() == [[0], [1]]
    assert metric.compute() == pytest.approx(Separability(2)(scores[[0, 2]], target[[0, 2]]))
    with pytest.raises(dc.InputError, match="`preds` must be from 0 to 2, got 9"):
        metric.update(torch.tensor([9]), torch.tensor([0]))
