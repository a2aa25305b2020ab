"""Balanced and plain accuracy on held-out data: Rebalancer and its weights against usual remedies.

Digits come with scikit-learn; Fashion-MNIST is read from the folder that DECONFUSE_DATA names.
Train and validation sets are made imbalanced as in the paper (Dirichlet shares, at least a fifth of
each class kept); the held-out set is not. Plain accuracy is what it would be if the held-out set
had the label shares of the training set: recalls are weighted by them. Some remedies add an offset
to the log-scores of a trained model, others train it again with class weights: with the same
settings and, for the paper's network, the same number of epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import sem, t
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score
from torch.nn import functional

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, Rebalancer
from deconfuse.experiments.config import TrainingConfig
from deconfuse.experiments.datasets import load_dataset
from deconfuse.experiments.tasks import dirichlet_sizes, keep_samples
from deconfuse.experiments.training import build_network, deterministic, evaluate, make_optimizer
from deconfuse.rebalance import class_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = dict[Any, float] | None

ALPHAS = (1.0, 0.1)
N_CLASSES = 10
NETWORK, TREES = "the paper's network, stopped at 60 %", "gradient-boosted trees"
MODELS = (
    *(f"logistic regression, C = {strength}" for strength in (0.0003, 0.003, 0.03)),
    NETWORK,
    TREES,
)
# More than the paper's ten, because digits are few.
MOST_EPOCHS = 200
OFFSETS = {
    "prior": "prior correction: minus log training shares",
    "adjusted": "logit adjustment: the same times a factor, tuned",
    "bcts": "bias-corrected temperature scaling",
    "thresholds": "per-class thresholds, tuned",
    "rebalancer": "**`Rebalancer`**",
}
WEIGHTS = {
    "balanced": 'trained again, scikit-learn\'s "balanced"',
    "weights": "trained again, `Rebalancer.class_weights_`",
    "both": "the same, then `Rebalancer` again",
    "counts": "trained again, `class_weights(cm)`",
}


class Part(NamedTuple):
    """Samples as features, as images for the network, and their classes."""

    features: Floats
    images: NDArray[np.float32]
    labels: Ints

    def some(self, chosen: NDArray[np.intp]) -> Part:
        return Part(self.features[chosen], self.images[chosen], self.labels[chosen])


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per dataset, alpha, seed and model, with the score of every remedy."""
    rows = []
    for dataset in ("digits", "Fashion-MNIST"):
        for alpha in ALPHAS:
            for seed in range(2 if quick else 10):
                rng = np.random.default_rng([seed, round(100 * alpha)])
                train, validation, test = _split(dataset, rng)
                sets = [_imbalanced(train, alpha, rng), _imbalanced(validation, alpha, rng), test]
                for model in MODELS:
                    about = {"dataset": dataset, "alpha": alpha, "seed": seed, "model": model}
                    rows.append({**about, **_scores(model, sets, seed)})
                    print(rows[-1], flush=True)
    return rows


def _split(dataset: str, rng: np.random.Generator) -> Iterator[Part]:
    samples = digits() if dataset == "digits" else _fashion()
    sizes = (700, 1250, 1797) if dataset == "digits" else (6000, 11_000, 16_000)
    order = rng.permutation(len(samples.labels))
    return (samples.some(chosen) for chosen in np.split(order[: sizes[-1]], sizes[:-1]))


@cache
def digits() -> Part:
    x, y = load_digits(return_X_y=True)
    # Each pixel three times as large, in a frame, is the size that the network takes.
    images = np.kron(x.reshape(-1, 8, 8), np.ones((3, 3))) / 16
    return Part(x, _standardized(np.pad(images, ((0, 0), (2, 2), (2, 2)))[..., None]), y)


@cache
def _fashion() -> Part:
    data = load_dataset("fashion-mnist")
    images = data.train_inputs / 255.0
    flat = images.reshape(len(images), -1)
    features = PCA(50, random_state=0).fit(flat[:10_000]).transform(flat)
    return Part(features, _standardized(images), data.train_labels)


def _standardized(images: Floats) -> NDArray[np.float32]:
    return ((images - images.mean()) / images.std()).astype(np.float32)


def _imbalanced(part: Part, alpha: float, rng: np.random.Generator) -> Part:
    counts = np.bincount(part.labels, minlength=N_CLASSES)
    return part.some(
        keep_samples(part.labels, dirichlet_sizes(counts, alpha, rng, "relative"), rng)
    )


def _scores(model: str, sets: list[Part], seed: int) -> dict[str, Any]:
    """Return the held-out balanced accuracy of each remedy, and the plain ones, in percent."""
    train, validation, test = sets
    fit = _fitter(model, train, validation, seed)
    plain = fit(None)
    seen, new = plain(validation), plain(test)
    rebalancer = Rebalancer(kind="logits", classes=range(N_CLASSES)).fit(seen, validation.labels)
    shares = np.bincount(train.labels, minlength=N_CLASSES) / len(train.labels)
    prior = -np.log(shares)
    cm = ConfusionMatrix.from_predictions(
        validation.labels, seen.argmax(axis=1), labels=range(N_CLASSES)
    )
    again = fit(rebalancer.class_weights_)
    second = Rebalancer(kind="logits", classes=range(N_CLASSES)).fit(
        again(validation), validation.labels
    )
    tables = {
        "none": new,
        "prior": new + prior,
        "adjusted": new + _best_factor(seen, validation.labels, prior) * prior,
        "bcts": _calibrated(seen, validation.labels, new),
        "thresholds": new + _tuned(seen, validation.labels),
        "rebalancer": new + rebalancer.offsets_,
        "balanced": fit(dict(enumerate(np.exp(prior) / N_CLASSES)))(test),
        "weights": again(test),
        "both": again(test) + second.offsets_,
    }
    # Counts say nothing of a class that was never predicted.
    if np.all(cm.prediction_counts):
        tables["counts"] = fit(class_weights(cm))(test)
    balanced = {name: _balanced(scores, test.labels) for name, scores in tables.items()}
    plain_of = {name: _plain(scores, test.labels, shares) for name, scores in tables.items()}
    return {**balanced, "plain": plain_of}


def _balanced(scores: Floats, labels: Ints) -> float:
    return 100 * float(balanced_accuracy_score(labels, scores.argmax(axis=1)))


def _plain(scores: Floats, labels: Ints, shares: Floats) -> float:
    """Return the accuracy on samples whose classes have these shares."""
    recalls = recall_score(labels, scores.argmax(axis=1), labels=range(N_CLASSES), average=None)
    return 100 * float(shares @ recalls)


def _fitter(
    model: str, train: Part, validation: Part, seed: int
) -> Callable[[Weights], Callable[[Part], Floats]]:
    """Return what trains a model with class weights and returns what gives its log-scores."""
    if model == NETWORK:
        return NetworkFitter(train, validation, seed).fit
    if model == TREES:
        make: Callable[..., Any] = partial(
            HistGradientBoostingClassifier, max_iter=30, early_stopping=False, random_state=seed
        )
    else:
        make = partial(LogisticRegression, C=float(model.split("=")[1]), max_iter=3000)

    def fit(weights: Weights) -> Callable[[Part], Floats]:
        fitted = make(class_weight=weights).fit(train.features, train.labels)
        return lambda part: np.log(np.maximum(fitted.predict_proba(part.features), 1e-12))

    return fit


class NetworkFitter:
    """Train the paper's small network until 60 %, and then again for as many epochs."""

    def __init__(self, train: Part, validation: Part, seed: int) -> None:
        self.train, self.validation, self.seed = train, validation, seed
        self.n_epochs = 0

    def fit(self, weights: Weights) -> Callable[[Part], Floats]:
        inputs, labels = torch.from_numpy(self.train.images), torch.from_numpy(self.train.labels)
        weight = torch.ones(N_CLASSES)
        if weights is not None:
            weight = torch.tensor([weights[k] for k in range(N_CLASSES)], dtype=torch.float32)
        order = np.random.default_rng(self.seed)
        with deterministic():
            generator = torch.Generator().manual_seed(self.seed)
            network = build_network("small", N_CLASSES, self.seed, generator)
            optimizer = make_optimizer(network, TrainingConfig())

            def predict(part: Part) -> Floats:
                scores, _ = evaluate(network, torch.from_numpy(part.images))
                return log_softmax(scores.astype(np.float64), axis=1)

            n_epochs = 0
            while n_epochs < (self.n_epochs or MOST_EPOCHS):
                n_epochs += 1
                network.train()
                for batch in torch.split(torch.from_numpy(order.permutation(len(labels))), 32):
                    logits = network(inputs[batch].permute(0, 3, 1, 2))
                    loss = functional.cross_entropy(logits, labels[batch], weight)
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                is_first = not self.n_epochs
                if is_first and _balanced(predict(self.validation), self.validation.labels) >= 60:
                    break
            self.n_epochs = n_epochs
        return predict


def _best_factor(log_scores: Floats, labels: Ints, prior: Floats) -> float:
    """Return the factor of the prior with the best balanced accuracy on the validation set."""
    factors = np.linspace(0, 3, 31)
    # The smallest of equal ones, as the first is.
    return float(factors[np.argmax([_balanced(log_scores + f * prior, labels) for f in factors])])


def _calibrated(log_scores: Floats, labels: Ints, new: Floats) -> Floats:
    """Return log-scores with a temperature and biases that fit the validation set, at even shares.

    Alexandari, Kundaje and Shrikumar, "Maximum likelihood with bias-corrected calibration is
    hard-to-beat at label shift adaptation", ICML 2020.
    """
    rows = np.arange(len(labels))
    shares = np.bincount(labels, minlength=N_CLASSES) / len(labels)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        logs = log_softmax(parameters[0] * log_scores + parameters[1:], axis=1)
        slope = np.exp(logs)
        slope[rows, labels] -= 1
        gradient = np.append((slope * log_scores).sum(), slope.sum(axis=0)) / len(labels)
        return float(-logs[rows, labels].mean()), gradient

    found = minimize(loss, np.append(1.0, np.zeros(N_CLASSES)), jac=True, method="L-BFGS-B").x
    return np.asarray(found[0] * new + found[1:] - np.log(shares))


def _tuned(log_scores: Floats, labels: Ints) -> Floats:
    """Return offsets that raise balanced accuracy on the validation set, one class at a time."""
    weights = 1 / np.bincount(labels, minlength=N_CLASSES)[labels]
    grid = np.linspace(-3, 3, 61)
    offsets = np.zeros(N_CLASSES)
    best = -np.inf
    while True:
        start = best
        for k in range(N_CLASSES):
            others = log_scores + offsets
            others[:, k] = -np.inf
            # Right are samples of the class above all others, and right ones of others above it.
            over = log_scores[:, [k]] + grid > others.max(axis=1)[:, None]
            is_right = np.where((labels == k)[:, None], over, ~over)
            is_right &= ((labels == k) | (others.argmax(axis=1) == labels))[:, None]
            reached = weights @ is_right
            if reached.max() > best + 1e-12:
                best, offsets[k] = reached.max(), grid[reached.argmax()]
        if best <= start:
            return offsets


def table(rows: list[dict[str, Any]]) -> str:
    """Return mean gains over seeds with 95 % intervals (Student's t), one row per remedy.

    Beside each gain in balanced accuracy stands the mean change of plain accuracy.
    """
    parts = []
    for dataset, alpha in dict.fromkeys((row["dataset"], row["alpha"]) for row in rows):
        some = [row for row in rows if (row["dataset"], row["alpha"]) == (dataset, alpha)]
        of = {model: [row for row in some if row["model"] == model] for model in MODELS}
        lines = [["no change", *(_average(of[model]) for model in MODELS)]]
        for name, title in (OFFSETS | WEIGHTS).items():
            lines.append([title, *(_gain(of[model], name) for model in MODELS)])
        parts.append(markdown([f"{dataset}, alpha {alpha:g}", *MODELS], lines))
    return "\n\n".join(parts)


def _average(rows: list[dict[str, Any]]) -> str:
    balanced, plain = (np.mean([row["none"] for row in some]) for some in (rows, _plain_of(rows)))
    return f"{balanced:.1f}; plain {plain:.1f}"


def _plain_of(rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    return [row["plain"] for row in rows]


def _gains(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row[name] - row["none"] for row in rows if name in row]


def _gain(rows: list[dict[str, Any]], name: str) -> str:
    """Return the mean gain of a remedy with its interval, and in how many seeds it could be had.

    With it the mean change of plain accuracy.
    """
    gains = _gains(rows, name)
    if len(gains) < 2:
        return "–"
    half = t.ppf(0.975, len(gains) - 1) * sem(gains)
    mean = float(np.mean(gains))
    seeds = "" if len(gains) == len(rows) else f", {len(gains)} of {len(rows)} seeds"
    plain = np.mean(_gains(_plain_of(rows), name))
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f}{seeds}); plain {plain:+.1f}"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the gains of every seed, one panel per dataset and model."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    shape = (len(datasets), len(MODELS))
    figure, axes = plt.subplots(
        *shape, figsize=(2.8 * shape[1], 3.0 * shape[0]), squeeze=False, sharex=True
    )
    shown = {"prior": "prior", "bcts": "BCTS", "rebalancer": "Rebalancer", "weights": "its weights"}
    colors = ("#7a7a7a", "#1d63c9", "#d9730d", "#8b5a2b")
    for axis, (dataset, model) in zip(axes.flat, product(datasets, MODELS), strict=True):
        some = [row for row in rows if (row["dataset"], row["model"]) == (dataset, model)]
        for place, (name, color) in enumerate(zip(shown, colors, strict=True)):
            gains = _gains(some, name)
            spread = np.random.default_rng(0).uniform(-0.2, 0.2, len(gains))
            axis.plot(place + spread, gains, "o", ms=3, alpha=0.5, color=color)
            axis.plot([place - 0.3, place + 0.3], [np.mean(gains)] * 2, color=color, lw=2)
        axis.axhline(0, color="black", lw=0.8)
        axis.set_xticks(range(len(shown)), shown.values(), rotation=30, ha="right")
        axis.set_title(f"{dataset}, n = {len(some)}\n{model.replace(', ', chr(10), 1)}", fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("gain in balanced\naccuracy, points")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
