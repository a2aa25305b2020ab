"""Maps: accuracy from areas, similarity from bi-normalization, and Stehman's objection.

Two questions need two answers. How much of the map is right? That depends on how much of each
class there is: the area-weighted estimators answer it. Which classes does the mapping confuse? That
should not depend on how many points each class was given, nor on how much of it there is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shared import run, save, write_table

import deconfuse as dc

AREAS = {
    "deforestation": 200_000,
    "forest gain": 150_000,
    "stable forest": 3_200_000,
    "stable non-forest": 6_450_000,
}


def main(folder: Path) -> None:
    """Tabulate the published map, Congalton's matrix, and the study of sampling designs."""
    _published_map(folder)
    _congalton(folder)
    _designs(folder)


def _published_map(folder: Path) -> None:
    cm = dc.load_example("deforestation")
    estimate = dc.area.map_accuracy(cm, AREAS)
    users, producers = estimate.interval("users"), estimate.interval("producers")
    alike = np.diag(np.asarray(cm.normalize("bi").matrix))
    low, high = (np.diag(side) for side in cm.normalize("bi").confidence_interval())
    rows = []
    for k, name in enumerate(cm.labels):
        area = f"{estimate.areas[k]:,.0f} ± {1.96 * estimate.areas_error[k]:,.0f}"
        rows.append(
            [
                name,
                _with_interval(estimate.users[k], users[0][k], users[1][k]),
                _with_interval(estimate.producers[k], producers[0][k], producers[1][k]),
                f"{AREAS[name]:,} → {area}",
                _with_interval(alike[k], low[k], high[k]),
            ]
        )
    header = [
        "class",
        "user's accuracy",
        "producer's accuracy",
        "area: mapped → estimated, pixels",
        "bi-normalized diagonal",
    ]
    write_table(folder, "deforestation.md", header, rows)


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _congalton(folder: Path) -> None:
    import matplotlib.pyplot as plt

    cm = dc.load_example("land-cover")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for ax, matrix in zip(axes, (cm, cm.normalize("row"), cm.normalize("bi")), strict=True):
        dc.ConfusionMatrixDisplay(matrix).plot(ax=ax, colorbar=False)
        ax.set(xlabel="map", ylabel="reference")
    save(figure, folder, "land-cover.png")


def _designs(folder: Path) -> None:
    """Sample one simulated map by three designs: what each estimator says."""
    rng = np.random.default_rng(1997)
    # Share of each reference class (rows) within each map class (columns).
    within = np.array([[0.90, 0.06, 0.02], [0.08, 0.90, 0.18], [0.02, 0.04, 0.80]])
    areas = np.array([0.70, 0.25, 0.05])
    exact = float(np.diag(within) @ areas)
    exact_bi = float(np.mean(np.diag(dc.normalize(within * areas, "bi", epsilon=0.0).matrix)))
    designs = {
        "in proportion to area": (700, 250, 50),
        "equally many of each class": (333, 333, 334),
        "mostly the rare class": (100, 200, 700),
    }
    rows = [["the whole map, exactly", exact, exact, exact_bi]]
    for name, sizes in designs.items():
        estimates = []
        for _ in range(300):
            counts = np.column_stack(
                [rng.multinomial(n, within[:, j]) for j, n in enumerate(sizes)]
            )
            cm = dc.ConfusionMatrix.from_counts(counts)
            estimates.append(
                (
                    np.trace(counts) / counts.sum(),
                    dc.area.map_accuracy(cm, areas).overall,
                    np.mean(np.diag(np.asarray(cm.normalize("bi").matrix))),
                )
            )
        rows.append([name, *np.mean(estimates, axis=0)])
    rows += _uneven_within_classes(rng, within, areas)
    header = [
        "1,000 points drawn",
        "share of points right",
        "area-weighted accuracy",
        "mean bi-normalized diagonal",
    ]
    write_table(folder, "sampling-designs.md", header, rows)


def _uneven_within_classes(
    rng: np.random.Generator, within: np.ndarray, areas: np.ndarray
) -> list[list[object]]:
    """Draw four of five points in the half of each class that is easy to reach, and to map."""
    errors = within * (1 - np.eye(3))
    plain, weighted = [], []
    for _ in range(300):
        counts = np.zeros((2, 3, 3))
        for half, (share, factor) in enumerate(((0.8, 0.4), (0.2, 1.6))):
            rates = factor * errors + np.diag(1 - factor * errors.sum(axis=0))
            for j, n in enumerate(np.rint(1000 * share * areas).astype(int)):
                counts[half, :, j] = rng.multinomial(n, rates[:, j])
        # Each half is half of the class's area, so a point stands for 0.5 / share.
        for estimates, weights in ((plain, (1.0, 1.0)), (weighted, (0.5 / 0.8, 0.5 / 0.2))):
            cells = counts[0] * weights[0] + counts[1] * weights[1]
            bi = np.asarray(dc.normalize(cells, "bi").matrix)
            by_area = np.diag(cells / cells.sum(axis=0)) @ areas
            estimates.append((np.trace(cells) / cells.sum(), by_area, np.mean(np.diag(bi))))
    return [
        ["mostly where access is easy, in every class", *np.mean(plain, axis=0)],
        ["the same, each weighed by how likely it was drawn", *np.mean(weighted, axis=0)],
    ]


if __name__ == "__main__":
    run(main)
