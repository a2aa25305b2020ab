"""What the paper says beside its two experiments, measured from the records alone, and in words.

Functions without an underscore take the records of one dataset and return samples over seeds;
nothing is trained here. The split of a test set in two is seeded by the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.analysis import (
    METHODS,
    Collected,
    Key,
    Matrix,
    Sample,
    datasets_of,
    normalizations,
    off_diagonal_overlap,
)
from deconfuse.experiments.config import random_state
from deconfuse.experiments.data_files import dataset_title
from deconfuse.experiments.records import Record
from deconfuse.experiments.text import markdown_table, mean_and_interval, mean_range, section

__all__ = [
    "convergence_rates",
    "invariance",
    "noise_ceiling",
    "other_findings",
    "persistence",
    "reliability",
    "stripes",
    "summary_lines",
]

#: The fall of a number from the mildest to the most uneven level, in the place of a level.
_FALL = -1.0


def persistence(records: Sequence[Record], *, off_diagonal: bool = False) -> dict[str, Sample]:
    """Return how alike runs of one seed with different draws of labels are, by normalization.

    Similarity should persist and bias vary, so the normalization that shows similarity alone gives
    the most alike matrices. One number per seed: the mean over its pairs of levels.
    """
    compare = off_diagonal_overlap if off_diagonal else dc.overlap
    found = Collected[str]()
    for seed, runs in _by_seed(records):
        estimates = [normalizations(run.matrix, run.epsilon) for run in runs]
        for one, other in combinations(estimates, 2):
            for method in METHODS:
                found.add(method, seed, compare(one[method], other[method]))
    return found.samples()


def noise_ceiling(records: Sequence[Record]) -> dict[str, Sample]:
    """Return how close bi comes to M1 when nothing but the seed differs, and how close M2 does.

    ``"balanced"`` is bi of the balanced models of all other seeds; a level such as ``"0.1"`` is bi
    of the imbalanced run of the same seed minus that. ``"other seed"`` is bi of the mildest level,
    against M1 of its own seed minus against those of the others: what a shared initialization does.
    """
    truths = {r.config.seed: r for r in records if r.config.is_balanced}
    levels = dict(_by_seed(records))
    found = Collected[str]()
    for seed, truth in truths.items():
        rivals = [other for place, other in truths.items() if place != seed]
        if not rivals:
            continue
        ceiling = float(np.mean([dc.overlap(truth.matrix, _bi(rival)) for rival in rivals]))
        found.add("balanced", seed, ceiling)
        runs = levels.get(seed, [])
        for run in runs:
            own = dc.overlap(truth.matrix, _bi(run))
            found.add(f"{run.config.alpha:g}", seed, own - ceiling)
        for run in runs[:1]:
            theirs = np.mean([dc.overlap(rival.matrix, _bi(run)) for rival in rivals])
            found.add("other seed", seed, dc.overlap(truth.matrix, _bi(run)) - float(theirs))
    return found.samples()


def stripes(records: Sequence[Record], up_to: float = 0.3) -> dict[tuple[str, str], Sample]:
    """Return how uneven rows and columns of the errors are, by matrix and direction.

    The errors of a matrix are scaled to sum to 1; what is measured is half the L1 distance of their
    row sums (``"horizontal"`` stripes) or column sums (``"vertical"``) from even ones. Keys are
    (matrix, direction), matrices are M1 and the normalizations of runs up to this level.
    """
    found = Collected[tuple[str, str]]()
    for record in records:
        config = record.config
        if config.is_balanced:
            matrices = {"M1": record.matrix.astype(np.float64)}
        elif config.sampling == "relative" and config.alpha is not None and config.alpha <= up_to:
            matrices = normalizations(record.matrix, record.epsilon)
        else:
            continue
        for name, matrix in matrices.items():
            errors = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
            errors /= errors.sum()
            for axis, direction in ((1, "horizontal"), (0, "vertical")):
                uneven = 0.5 * float(np.abs(errors.sum(axis=axis) - 1 / len(matrix)).sum())
                found.add((name, direction), config.seed, uneven)
    return found.samples()


def reliability(records: Sequence[Record]) -> dict[tuple[str, float], Sample]:
    """Return what the paper says makes normalization less reliable, by measure and level.

    Measures: ``"test"`` and ``"predicted"``, how many classes count (the exponential of the entropy
    of their shares), and ``"row"``, ``"col"``, ``"bi"``, the effective share of the samples. The
    level -1 has the fall from the mildest to the most uneven level, seed by seed.
    """
    found = Collected[tuple[str, float]]()
    n_levels = max((len(runs) for _, runs in _by_seed(records)), default=0)
    for seed, runs in _by_seed(records):
        lines = [_reliability_numbers(run) for run in runs]
        for run, numbers in zip(runs, lines, strict=True):
            for name, number in numbers.items():
                found.add((name, run.config.alpha or 0.0), seed, number)
        if 1 < len(lines) == n_levels:
            for name, number in lines[0].items():
                found.add((name, _FALL), seed, number - lines[-1][name])
    return found.samples()


def _reliability_numbers(run: Record) -> dict[str, float]:
    numbers = {
        "test": _effective_classes(run.matrix.sum(axis=1)),
        "predicted": _effective_classes(run.matrix.sum(axis=0)),
    }
    for method in ("row", "col", "bi"):
        normalized = dc.normalize(run.matrix, method, epsilon=run.epsilon)
        numbers[method] = normalized.effective_samples / float(run.matrix.sum())
    return numbers


def convergence_rates(records: Sequence[Record]) -> Sample | None:
    r"""Return the rate of IPF over :math:`\sigma_2^2` of the bi-normalized matrix, by seed.

    The residual of Algorithm 1 should fall by the square of the second singular value in each
    sweep. The rate is that of two sweeps, late enough for the residual to be about 1e-8; one run
    per seed is looked at, the most uneven one.
    """
    found = Collected[str]()
    for seed, runs in _by_seed(records):
        positive = runs[-1].matrix + runs[-1].epsilon
        expected = float(np.linalg.svd(_bi(runs[-1]), compute_uv=False)[1] ** 2)
        sweeps = int(np.ceil(np.log(1e-8) / np.log(expected)))
        before, after = (_residual(positive, n) for n in (2 * sweeps, 2 * sweeps + 4))
        found.add("rate", seed, float(np.sqrt(after / before)) / expected)
    return found.samples().get("rate")


def _residual(matrix: NDArray[np.floating], n_steps: int) -> float:
    result = dc.scale(matrix, solver="ipf", tolerance=1e-300, max_iterations=n_steps, throw=False)
    return float(result.residual)


def invariance(records: Sequence[Record]) -> dict[str, Sample]:
    """Return how alike one model is on two test sets of different label distributions.

    The test set of each balanced model is split in two, class by class, at random shares from 0.1
    to 0.9; ``"noise"`` splits every class in halves, so that nothing but chance differs.
    """
    found = Collected[str]()
    for record in records:
        if not record.config.is_balanced:
            continue
        rng = random_state(record.config, "two test sets")
        shares = rng.uniform(0.1, 0.9, size=len(record.classes))
        halves = _split(record.matrix, np.full(len(shares), 0.5), rng)
        sets = _split(record.matrix, shares, rng)
        one, other = (normalizations(part, record.epsilon) for part in sets)
        found.add("noise", record.config.seed, dc.overlap(*halves))
        for method in METHODS:
            found.add(method, record.config.seed, dc.overlap(one[method], other[method]))
    return found.samples()


def _split(
    counts: NDArray[np.int64], shares: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Deal the samples of each true class out to two test sets, without replacement."""
    first = np.array(
        [
            rng.multivariate_hypergeometric(row, round(share * row.sum()))
            for row, share in zip(counts, shares, strict=True)
        ]
    )
    return first, counts - first


def _by_seed(records: Sequence[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Yield the imbalanced runs of each seed, from the mildest level on."""
    runs = [record for record in records if record.config.sampling == "relative"]
    for seed in sorted({run.config.seed for run in runs}):
        mine = [run for run in runs if run.config.seed == seed]
        yield seed, sorted(mine, key=lambda run: -(run.config.alpha or 0.0))


def _bi(record: Record) -> Matrix:
    return normalizations(record.matrix, record.epsilon)["bi"]


def _effective_classes(sizes: NDArray[np.int64]) -> float:
    shares = sizes[sizes > 0] / sizes.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def other_findings(records: Sequence[Record]) -> list[str]:
    """Return the sections on what the paper says and its experiments do not measure."""
    parts = [write(records) for write in (_persistence, _ceiling, _stripes, _reliability, _algebra)]
    return [part for part in parts if part]


def summary_lines(records: Sequence[Record]) -> list[str]:
    """Say in a line each whether similarity persists, and how far bi is from the noise of seeds."""
    lines = []
    by_dataset = datasets_of(records).values()
    kept = [found for mine in by_dataset if (found := persistence(mine))]
    if kept:
        bi = [found["bi"] for found in kept]
        rest = [max((f[m] for m in METHODS if m != "bi"), key=lambda s: s.mean) for f in kept]
        wins = sum(
            Sample(own.values - other.values).interval()[0] > 0
            for own, other in zip(bi, rest, strict=True)
        )
        lines.append(
            "8. Similarity persists, bias varies: between different label draws bi changes least "
            f"in {wins} of {len(kept)} datasets (interval of its lead above zero); Overlap "
            f"{mean_range(bi)} % against {mean_range(rest)} % for the best other."
        )
    ceilings = [noise_ceiling(mine) for mine in by_dataset]
    alphas = sorted({r.config.alpha for r in records if r.config.alpha is not None})
    ends = [[f[f"{a:g}"] for f in ceilings if f"{a:g}" in f] for a in (alphas[-1], alphas[0])]
    if all(ends):
        lines.append(
            "9. Overlap of bi(M2) with M1 minus that of a balanced model of another seed, which is "
            f"the noise of the seed: {mean_range(ends[0], '+.1f')} points at α = {alphas[-1]:g}, "
            f"{mean_range(ends[1], '+.1f')} at α = {alphas[0]:g}."
        )
    return lines


def _persistence(records: Sequence[Record]) -> str:
    rows = []
    for dataset, mine in datasets_of(records).items():
        for name, off in (("whole", False), ("off-diagonal", True)):
            if found := persistence(mine, off_diagonal=off):
                rows.append([f"{dataset_title(dataset)}, {name}", *_cells(found, METHODS)])
    return section(
        "Similarity persists, bias varies",
        "Two runs of one seed with different draws of labels: Overlap (%) of their normalized "
        "matrices, mean over pairs of levels. What persists is similarity, so the normalization "
        "that shows it best has the highest number. No balanced model is involved.",
        ["", *METHODS],
        rows,
    )


def _ceiling(records: Sequence[Record]) -> str:
    rows = []
    alphas = sorted({r.config.alpha for r in records if r.config.alpha is not None}, reverse=True)
    columns = [*(f"{alpha:g}" for alpha in alphas), "other seed"]
    for dataset, mine in datasets_of(records).items():
        found = noise_ceiling(mine)
        if "balanced" in found:
            cells = [mean_and_interval(found["balanced"]), *_cells(found, columns, "+.1f")]
            rows.append([dataset_title(dataset), *cells])
    return section(
        "The noise of the seed",
        "How close to M1 comes bi of a *balanced* model of another seed (%)? bi(M2) cannot be "
        "expected to come closer. Then bi(M2) minus this ceiling, in points. Last, what a shared "
        "initialization does: bi(M2) of the mildest level against M1 of its own seed, minus "
        "against those of other seeds.",
        ["", "ceiling", *(f"α = {alpha:g}" for alpha in alphas), "shared start"],
        rows,
    )


def _stripes(records: Sequence[Record]) -> str:
    rows = []
    names = ("M1", *METHODS)
    for dataset, mine in datasets_of(records).items():
        found = stripes(mine)
        for direction in ("horizontal", "vertical"):
            cells = _cells(found, [(name, direction) for name in names])
            if set(cells) != {"–"}:
                rows.append([f"{dataset_title(dataset)}, {direction}", *cells])
    return section(
        "Stripes",
        "The paper sees stripes in its Figure 4. Measured: half the L1 distance of the row sums "
        "(horizontal) or column sums (vertical) of the errors from even ones, in points, for "
        "α ≤ 0.3. bi has the same in both directions by construction.",
        ["", *names],
        rows,
    )


def _reliability(records: Sequence[Record]) -> str:
    rows, falls = [], []
    for dataset, mine in datasets_of(records).items():
        found = reliability(mine)
        falls += [sample for (_, alpha), sample in found.items() if alpha == _FALL]
        alphas = sorted({alpha for _, alpha in found} - {_FALL}, reverse=True)
        for alpha in (alphas[0], alphas[-1]) if len(alphas) > 1 else alphas:
            cells = [mean_and_interval(found[name, alpha], 1.0) for name in ("test", "predicted")]
            cells += _cells(found, [(name, alpha) for name in ("row", "col", "bi")])
            rows.append([f"{dataset_title(dataset)}, α = {alpha:g}", *cells])
    certain = sum(sample.interval()[0] > 0 for sample in falls)
    return section(
        "Reliability falls with heterogeneity",
        "How many classes count among labels and among predictions (the exponential of the "
        "entropy of their shares), and the effective sample size of each normalization's weights "
        f"as a share of the samples (%). Seed by seed, {certain} of {len(falls)} of these numbers "
        "fall between the two levels (intervals above zero).",
        ["", "labels", "predictions", "row", "col", "bi"],
        rows,
    )


def _algebra(records: Sequence[Record]) -> str:
    by_dataset = datasets_of(records)
    rates = {name: convergence_rates(mine) for name, mine in by_dataset.items()}
    gap = max((_diagonal_gap(record) for record in records), default=0.0)
    lines = [
        "- **Row, col and bi agree on diagonal matrices**: on the diagonals of all records they "
        f"differ by {gap:.0e} at most.",
        "- **One model, two test sets**: the test set of M1 split in two with different label "
        "distributions, Overlap (%) of the two normalized matrices. *noise*: two even halves.",
    ]
    if any(rates.values()):
        cells = "; ".join(
            f"{dataset_title(name)} {mean_and_interval(rate, 1.0, '.4f')}"
            for name, rate in rates.items()
            if rate is not None
        )
        lines.insert(
            0,
            "- **IPF converges linearly**: its residual falls by σ₂² of bi(M) per sweep. Rate seen "
            f"over σ₂²: {cells}.",
        )
    names = ("noise", *METHODS)
    rows = [
        [dataset_title(name), *_cells(found, names)]
        for name, mine in by_dataset.items()
        if (found := invariance(mine))
    ]
    table = markdown_table(["", *names], rows) if rows else ""
    return "\n\n".join(["### Algebra, seen in the records", "\n".join(lines), table]).rstrip()


def _diagonal_gap(record: Record) -> float:
    diagonal = np.diag(np.maximum(np.diag(record.matrix), 1))
    row, col, bi = (dc.normalize(diagonal, m, epsilon=0.0).matrix for m in ("row", "col", "bi"))
    return float(max(np.abs(row - col).max(), np.abs(row - bi).max()))


def _cells(found: Mapping[Key, Sample], keys: Sequence[Key], style: str = ".1f") -> list[str]:
    return [mean_and_interval(found.get(key), style=style) for key in keys]
