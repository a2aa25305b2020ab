"""Balanced accuracy on held-out data: Rebalancer against no change and two usual remedies.

``python -m benchmarks rebalance``           30 seeds, to benchmarks/measured, docs/generated and
                                             docs/images
``python -m benchmarks rebalance --quick``   3 seeds, to the terminal only

Digits come with scikit-learn; Fashion-MNIST is read from the folder that DECONFUSE_DATA names.
Train and validation sets are made imbalanced as in the paper (Dirichlet shares, at least a fifth of
each class kept); the held-out set is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neural_network import MLPClassifier

from deconfuse import Rebalancer
from deconfuse._files import write_text
from deconfuse.experiments.datasets import load_dataset
from deconfuse.experiments.tasks import dirichlet_sizes, keep_samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sets = list[tuple[Floats, Ints]]

ROOT = Path(__file__).parent.parent
ALPHAS = (1.0, 0.1)
N_CLASSES = 10
MODELS = {"logistic regression": "converged", "small network": "stopped at 60 %, as the paper's"}
REMEDIES = {
    "none": "no change",
    "prior": "minus log training prior",
    "thresholds": "thresholds tuned directly",
    "rebalancer": "Rebalancer",
    "weights": "trained again with its class weights",
}


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row a dataset, model, alpha, seed and remedy."""
    rows = []
    seeds = range(3 if quick else 30)
    for dataset, split in (("digits", _digits), ("Fashion-MNIST", _fashion)):
        for alpha in ALPHAS:
            for seed in seeds:
                rng = np.random.default_rng([seed, round(100 * alpha)])
                train, validation, test = split(rng)
                train, validation = (_imbalanced(part, alpha, rng) for part in (train, validation))
                for model in MODELS:
                    for remedy, score in _scores(model, [train, validation, test], seed).items():
                        rows.append(
                            {
                                "dataset": dataset,
                                "alpha": alpha,
                                "seed": seed,
                                "model": model,
                                "remedy": remedy,
                                "balanced_accuracy": score,
                            }
                        )
            print(f"{dataset}, alpha {alpha}: {len(seeds)} seeds", flush=True)
    return rows


def _digits(rng: np.random.Generator) -> Sets:
    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    parts = np.split(order, [700, 1250])
    return [(x[part] / 16, y[part]) for part in parts]


def _fashion(rng: np.random.Generator) -> Sets:
    x_train, y_train, x_test, y_test = _fashion_features()
    train = rng.permutation(len(y_train))[:6000]
    halves = np.split(rng.permutation(len(y_test)), 2)
    return [(x_train[train], y_train[train]), *((x_test[half], y_test[half]) for half in halves)]


@cache
def _fashion_features() -> tuple[Floats, Ints, Floats, Ints]:
    data = load_dataset("fashion-mnist")
    train, test = (
        images.reshape(len(images), -1) / 255.0 for images in (data.train_inputs, data.test_inputs)
    )
    pca = PCA(50, random_state=0).fit(train[:10_000])
    return pca.transform(train), data.train_labels, pca.transform(test), data.test_labels


def _imbalanced(
    part: tuple[Floats, Ints], alpha: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    x, y = part
    sizes = dirichlet_sizes(np.bincount(y, minlength=N_CLASSES), alpha, rng, "relative")
    kept = keep_samples(y, sizes, rng)
    return x[kept], y[kept]


def _scores(model: str, sets: Sets, seed: int) -> dict[str, float]:
    """Return the held-out balanced accuracy of each remedy, in percent."""
    (_, y_train), (x_val, y_val), (x_test, y_test) = sets
    fitted = _fitted(model, sets, seed)
    validation, test = (np.log(np.maximum(fitted.predict_proba(x), 1e-12)) for x in (x_val, x_test))
    rebalancer = Rebalancer(kind="logits", classes=range(N_CLASSES)).fit(validation, y_val)
    prior = np.bincount(y_train, minlength=N_CLASSES) / len(y_train)
    offsets = {
        "none": np.zeros(N_CLASSES),
        "prior": -np.log(prior),
        "thresholds": _tuned(validation, y_val),
        "rebalancer": rebalancer.offsets_,
    }
    scores = {
        name: 100 * float(balanced_accuracy_score(y_test, (test + offset).argmax(axis=1)))
        for name, offset in offsets.items()
    }
    if model == "logistic regression":
        weights = rebalancer.class_weights_
        again = LogisticRegression(max_iter=300, class_weight=weights).fit(*sets[0])
        scores["weights"] = 100 * float(balanced_accuracy_score(y_test, again.predict(x_test)))
    return scores


def _fitted(model: str, sets: Sets, seed: int) -> Any:
    (x_train, y_train), (x_val, y_val), _ = sets
    if model == "logistic regression":
        return LogisticRegression(max_iter=300).fit(x_train, y_train)
    network = MLPClassifier(
        (64,), solver="sgd", learning_rate_init=1e-2, batch_size=32, random_state=seed
    )
    rng = np.random.default_rng(seed)
    for _ in range(10):
        order = rng.permutation(len(y_train))
        network.partial_fit(x_train[order], y_train[order], classes=np.arange(N_CLASSES))
        if balanced_accuracy_score(y_val, network.predict(x_val)) >= 0.6:
            break
    return network


def _tuned(log_scores: Floats, y: Ints) -> Floats:
    """Return offsets that raise balanced accuracy on the validation set, one class at a time."""
    weights = 1 / np.bincount(y, minlength=N_CLASSES)[y]
    grid = np.linspace(-3, 3, 61)
    offsets = np.zeros(N_CLASSES)

    def score(candidate: Floats) -> float:
        return float(weights @ ((log_scores + candidate).argmax(axis=1) == y))

    best = score(offsets)
    improved = True
    while improved:
        improved = False
        for label in range(N_CLASSES):
            for value in grid:
                candidate = offsets.copy()
                candidate[label] = value
                if (reached := score(candidate)) > best + 1e-12:
                    best, offsets, improved = reached, candidate, True
    return offsets


def table(rows: list[dict[str, Any]]) -> str:
    """Return means over seeds and the gains over no change with 95 % intervals, as Markdown."""
    head = [
        "| data | model | alpha | "
        + " | ".join(REMEDIES.values())
        + " | Rebalancer better than none |",
        "|---|---|---|" + "---|" * (len(REMEDIES) + 1),
    ]
    lines = []
    for dataset, model, alpha in dict.fromkeys(
        (r["dataset"], r["model"], r["alpha"]) for r in rows
    ):
        scores = {
            name: np.array(
                [
                    r["balanced_accuracy"]
                    for r in rows
                    if (r["dataset"], r["model"], r["alpha"], r["remedy"])
                    == (dataset, model, alpha, name)
                ]
            )
            for name in REMEDIES
        }
        cells = [f"{scores['none'].mean():.1f}"]
        for name in list(REMEDIES)[1:]:
            if not len(scores[name]):
                cells.append("")
                continue
            gains = scores[name] - scores["none"]
            low, high = _bootstrap_interval(gains)
            cells.append(f"{gains.mean():+.1f} ({low:+.1f} to {high:+.1f})")
        wins = int((scores["rebalancer"] > scores["none"]).sum())
        lines.append(
            f"| {dataset} | {model} | {alpha:g} | {' | '.join(cells)} | {wins} of"
            f" {len(scores['none'])} seeds |"
        )
    return "\n".join([*head, *lines])


def _bootstrap_interval(values: Floats) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    means = rng.choice(values, (4000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the gains of every seed, one panel a dataset and model."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    panels = list(dict.fromkeys((r["dataset"], r["model"]) for r in rows))
    figure, axes = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.6), squeeze=False)
    colors = {"prior": "#7a7a7a", "thresholds": "#1d63c9", "rebalancer": "#d9730d"}
    for axis, (dataset, model) in zip(axes[0], panels, strict=True):
        chosen = [r for r in rows if (r["dataset"], r["model"]) == (dataset, model)]
        key: Callable[[dict[str, Any]], tuple[float, int]] = lambda r: (r["alpha"], r["seed"])  # noqa: E731
        base = {key(r): r["balanced_accuracy"] for r in chosen if r["remedy"] == "none"}
        for place, (name, color) in enumerate(colors.items()):
            gains = [r["balanced_accuracy"] - base[key(r)] for r in chosen if r["remedy"] == name]
            spread = np.random.default_rng(0).uniform(-0.2, 0.2, len(gains))
            axis.plot(place + spread, gains, "o", ms=3, alpha=0.5, color=color)
            axis.plot([place - 0.3, place + 0.3], [np.mean(gains)] * 2, color=color, lw=2)
        axis.axhline(0, color="black", lw=0.8)
        axis.set_xticks(range(3), ["prior", "thresholds", "Rebalancer"])
        axis.set_title(f"{dataset}\n{model}, n = {len(base)}", fontsize=10)
    axes[0][0].set_ylabel("gain in balanced accuracy, points")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def publish(rows: list[dict[str, Any]]) -> None:
    """Write the table and the picture that the guide includes."""
    write_text(ROOT / "docs" / "generated" / "rebalance.md", table(rows) + "\n")
    draw(rows, ROOT / "docs" / "images" / "rebalance.png")
