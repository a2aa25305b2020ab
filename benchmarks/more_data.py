"""More training data for the look-alike pair, against more for the pair that raw counts name.

Fashion-MNIST is read from the folder that DECONFUSE_DATA names. The paper's small network is
trained for ten epochs on about 4,500 images with uneven classes (Dirichlet shares, at least a
fifth of each class kept). A pair of classes is chosen from its confusion matrix on uneven
validation data; 1,000 images of this pair are added, and a network with the same initial weights
is trained on all of them. What that gains is measured on 5,000 other images, 500 per class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, diagnose
from deconfuse.experiments.config import TrainingConfig
from deconfuse.experiments.datasets import Dataset, load_dataset
from deconfuse.experiments.tasks import dirichlet_sizes, keep_samples
from deconfuse.experiments.training import (
    build_network,
    deterministic,
    evaluate,
    make_optimizer,
    train_epoch,
)

Ints = NDArray[np.int64]
Pair = tuple[int, int]

N_CLASSES, ADDED, EPOCHS = 10, 1000, 10
ALPHAS = (1.0, 0.1)
CHOICES = {
    "bi": "the look-alike pair",
    "raw": "the pair with the largest count",
    "even": "all classes evenly",
}


class Sets(NamedTuple):
    """Positions of images: to train with, to add from, to choose a pair by, to measure on."""

    train: Ints
    pool: Ints
    validation: Ints
    test: Ints


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per level of imbalance and seed."""
    data = load_dataset("fashion-mnist")
    rows = []
    for alpha in ALPHAS:
        for seed in range(2 if quick else 30):
            rows.append(_one(data, alpha, seed))
            print(f"alpha {alpha:g}, seed {seed}: {rows[-1]}", flush=True)
    return rows


def _one(data: Dataset, alpha: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, round(100 * alpha)])
    sets = _draw(data, alpha, rng)
    predictions = _predictions(data, sets.train, seed)
    cm = ConfusionMatrix.from_predictions(
        data.test_labels[sets.validation], predictions[sets.validation], labels=range(N_CLASSES)
    )
    pairs = {"bi": _look_alikes(cm), "raw": _most_counted(cm)}
    before = _balanced_accuracy(data, predictions, sets.test)
    row: dict[str, Any] = {"alpha": alpha, "seed": seed, "before": before}
    gains: dict[Pair | None, float] = {}
    for choice in CHOICES:
        pair = pairs.get(choice)
        if pair not in gains:
            more = np.concatenate([sets.train, _added(data, sets.pool, pair)])
            after = _balanced_accuracy(data, _predictions(data, more, seed), sets.test)
            gains[pair] = after - before
        row[choice] = gains[pair]
        row[f"{choice}_pair"] = None if pair is None else [data.classes[k] for k in pair]
    return row


def _draw(data: Dataset, alpha: float, rng: np.random.Generator) -> Sets:
    labels = data.train_labels
    chosen = keep_samples(labels, np.full(N_CLASSES, 2000), rng)
    some = rng.permutation(chosen)
    start, pool = some[: len(some) // 2], some[len(some) // 2 :]
    halves = np.split(rng.permutation(len(data.test_labels)), 2)
    train, validation = (
        part[_uneven(of[part], alpha, rng)]
        for part, of in ((start, labels), (halves[0], data.test_labels))
    )
    return Sets(train, pool, validation, halves[1])


def _uneven(labels: Ints, alpha: float, rng: np.random.Generator) -> Ints:
    sizes = dirichlet_sizes(np.bincount(labels, minlength=N_CLASSES), alpha, rng, "relative")
    return keep_samples(labels, sizes, rng)


def _look_alikes(cm: ConfusionMatrix) -> Pair:
    """Return the pair that `diagnose` ranks first."""
    found = diagnose(cm)
    first = (found.look_alikes or found.uncertain_pairs)[0]
    low, high = sorted(int(k) for k in cm.index_of([first.first, first.second]))
    return low, high


def _most_counted(cm: ConfusionMatrix) -> Pair:
    both = np.triu(cm.dense() + cm.dense().T, 1)
    low, high = np.unravel_index(int(both.argmax()), both.shape)
    return int(low), int(high)


def _added(data: Dataset, pool: Ints, pair: Pair | None) -> Ints:
    """Return `ADDED` images of the pool: half of each class of a pair, or all classes alike."""
    classes = range(N_CLASSES) if pair is None else pair
    each = ADDED // len(classes)
    labels = data.train_labels[pool]
    return np.concatenate([pool[labels == label][:each] for label in classes])


def _predictions(data: Dataset, train: Ints, seed: int) -> Ints:
    """Return the predictions for the whole test set of a network trained on some images."""
    training = TrainingConfig()
    inputs, labels = (
        torch.from_numpy(_standardized(data.train_inputs[train])),
        torch.from_numpy(data.train_labels[train]),
    )
    with deterministic():
        network = build_network("small", N_CLASSES, seed, torch.Generator().manual_seed(seed))
        optimizer = make_optimizer(network, training)
        order = np.random.default_rng(seed)
        for _ in range(EPOCHS):
            permutation = torch.from_numpy(order.permutation(len(train)))
            batches = torch.split(permutation, training.batch_size)
            train_epoch(network, optimizer, inputs, labels, batches)
        scores, _ = evaluate(network, torch.from_numpy(_standardized(data.test_inputs)))
    return scores.argmax(axis=1)


def _standardized(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return images with mean 0 and deviation 1 over Fashion-MNIST's training set."""
    return (images.astype(np.float32) / 255 - 0.2860) / 0.3530


def _balanced_accuracy(data: Dataset, predictions: Ints, chosen: Ints) -> float:
    """Return the mean recall of some test images, in percent."""
    cm = ConfusionMatrix.from_predictions(data.test_labels[chosen], predictions[chosen])
    return 100 * cm.balanced_accuracy


def table(rows: list[dict[str, Any]]) -> str:
    """Return mean gains over seeds with 95 % intervals (Student's t), as Markdown."""
    head = ["alpha", "seeds", "before", *(f"1,000 more of {name}" for name in CHOICES.values())]
    head += ["seeds with two pairs", "look-alikes minus counts, in these"]
    lines = []
    for alpha in dict.fromkeys(row["alpha"] for row in rows):
        some = [row for row in rows if row["alpha"] == alpha]
        differ = [row["bi"] - row["raw"] for row in some if row["bi_pair"] != row["raw_pair"]]
        cells = [f"{alpha:g}", f"{len(some)}", f"{np.mean([row['before'] for row in some]):.1f}"]
        cells += [_mean([row[choice] for row in some]) for choice in CHOICES]
        lines.append([*cells, f"{len(differ)}", _mean(differ)])
    return markdown(head, lines)


def _mean(values: list[float]) -> str:
    if len(values) < 2:
        return "–"
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    mean = float(np.mean(values))
    return f"{mean:+.2f} ({mean - half:+.2f} to {mean + half:+.2f})"
