"""From records to numbers: how close each normalization comes to each target, over seeds.

Everything here is computed from records alone. A *score* is one number of one run; scores of the
same question over seeds make a :class:`Sample`, with Student's t interval of its mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import deconfuse as dc
from deconfuse.errors import InputError
from deconfuse.experiments.config import ALPHAS, Sampling
from deconfuse.experiments.records import WEIGHTINGS, Record

__all__ = [
    "METHODS",
    "METRICS",
    "Collected",
    "Matrix",
    "Question",
    "Sample",
    "Scores",
    "complete_seeds",
    "datasets_of",
    "difference",
    "grid_answers",
    "levels_of",
    "normalizations",
    "off_diagonal_overlap",
    "score_records",
    "slope",
    "to_rows",
]

Method = Literal["bi", "row", "col", "all"]

#: The four normalizations, in the order of the paper's legends.
METHODS: tuple[Method, ...] = ("bi", "row", "col", "all")

Matrix = NDArray[np.float64]


class Question(NamedTuple):
    """What a score answers: at one dataset and level, how does a method compare to a target?"""

    dataset: str
    alpha: float
    target: str
    method: str
    metric: str


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One number per seed, and what they say about the mean."""

    values: NDArray[np.float64]

    @classmethod
    def of(cls, by_seed: Mapping[int, float]) -> Sample:
        """Return the sample of numbers by seed."""
        return cls(np.array(list(by_seed.values())))

    @property
    def n(self) -> int:
        """How many seeds."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Student's t interval of the mean; NaN for fewer than two seeds.

        Examples
        --------
        >>> low, high = Sample(np.array([1.0, 2.0, 3.0])).interval()
        >>> round(low, 3), round(high, 3)
        (-0.484, 4.484)
        """
        if self.n < 2:
            return (np.nan, np.nan)
        error = self.values.std(ddof=1) / np.sqrt(self.n)
        half = float(student.ppf((1 + level) / 2, self.n - 1) * error)
        return self.mean - half, self.mean + half


Key = TypeVar("Key", bound=Hashable)


class Collected(defaultdict[Key, dict[int, list[float]]]):
    """Numbers by what they measure and by seed."""

    def __init__(self) -> None:
        super().__init__(dict)

    def add(self, key: Key, seed: int, number: float) -> None:
        """Add a number; a seed may have several."""
        self[key].setdefault(seed, []).append(number)

    def samples(self) -> dict[Key, Sample]:
        """Return the mean of each seed, in the order of seeds."""
        return {
            key: Sample(np.array([np.nanmean(numbers) for _, numbers in sorted(by_seed.items())]))
            for key, by_seed in self.items()
        }


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """Return one number minus another, by seed, where there are both."""
    return {seed: one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())}


class Scores:
    """All scores of a set of records, by question and seed.

    Parameters
    ----------
    values : mapping of Question to mapping of int to float
        The score of each seed.
    """

    def __init__(self, values: Mapping[Question, Mapping[int, float]]) -> None:
        self.values = values

    def questions(self) -> list[Question]:
        """Return every question there is a score for."""
        return list(self.values)

    def datasets(self) -> list[str]:
        """Return the datasets, in the paper's order where they are the paper's."""
        return list(dict.fromkeys(question.dataset for question in self.values))

    def alphas(self, dataset: str) -> list[float]:
        """Return the levels of a dataset, from least to most heterogeneous."""
        return sorted({q.alpha for q in self.values if q.dataset == dataset}, reverse=True)

    def by_seed(self, question: Question) -> Mapping[int, float]:
        """Return the score of each seed, none where there is no run."""
        return self.values.get(question, {})

    def sample(self, question: Question) -> Sample | None:
        """Return the scores of a question, or None when there are none."""
        return Sample.of(found) if (found := self.by_seed(question)) else None

    def joined(self, other: Scores) -> Scores:
        """Return these scores and those of other questions."""
        return Scores({**self.values, **other.values})


def off_diagonal_overlap(a: Matrix, b: Matrix) -> float:
    """Return the Overlap of two matrices with their diagonals taken out.

    NaN when a matrix has nothing off its diagonal.
    """
    keep = ~np.eye(len(a), dtype=bool)
    first, second = np.where(keep, a, 0.0), np.where(keep, b, 0.0)
    if not (first.any() and second.any()):
        return float("nan")
    return dc.overlap(first, second)


#: How two matrices are compared: name to function of (target, estimate).
METRICS: Mapping[str, Callable[[Matrix, Matrix], float]] = {
    "overlap": dc.overlap,
    "off-diagonal overlap": off_diagonal_overlap,
    "kl": dc.kl_divergence,
}


def score_records(
    records: Iterable[Record],
    *,
    sampling: Sampling = "relative",
    extra: Callable[[Record], Mapping[str, Matrix]] | None = None,
) -> Scores:
    """Compare every normalization of every record with every target.

    Parameters
    ----------
    records : iterable of Record
        Balanced and imbalanced runs together; a run whose balanced model is not among them has
        no scores for the targets of Experiment 1.
    sampling : {"relative", "budget", "equal-size"}
        Which imbalanced runs.
    extra : callable, optional
        More estimates of a record, by name, to put beside the four normalizations.

    Returns
    -------
    Scores
        Targets are ``"balanced"`` (M1 as counted), ``"bi(balanced)"`` (M1 without its own
        prediction bias), ``"gcm row"``, ``"gcm col"``, ``"gcm all"``, ``"gcm bi"``, and
        ``"shuffled gcm row"`` and so on: the same after the embeddings were shuffled.

    Raises
    ------
    InputError
        If two runs are of the same dataset, level and seed, as those of two models are.

    Notes
    -----
    All normalizations have the epsilon of the record, one over the number of classes. Experiment 2
    has the Overlap only, as in the paper. In the divergence the target is ``all(M1 + epsilon)``, so
    that no cell makes it infinite. A number that is not defined, as the Overlap of errors where
    there are none, is no score: such a seed is missing from the answer.

    Examples
    --------
    >>> from deconfuse.experiments import Question, read_records, score_records
    >>> scores = score_records(read_records("results/records"))  # doctest: +SKIP
    >>> bi = Question("mnist", 0.1, "balanced", "bi", "overlap")
    >>> scores.sample(bi).interval()  # doctest: +SKIP
    (0.8547..., 0.8835...)
    """
    every = list(records)
    _refuse_rivals(every)
    balanced = {r.config.key: r for r in every if r.config.is_balanced}
    values: dict[Question, dict[int, float]] = {}
    for record in every:
        config = record.config
        if config.alpha is None or config.sampling != sampling:
            continue
        estimates = normalizations(record.matrix, record.epsilon)
        if extra is not None:
            estimates |= extra(record)
        targets = {f"gcm {name}": gcm for name, gcm in record.gcms.items()}
        model_1 = balanced.get(config.balanced.key)
        answers = list(_compare(targets, estimates, ("overlap",)))
        if (grid := record.shuffled.get(config.n_components)) is not None:
            answers += grid_answers("shuffled", grid.overlaps)
        if model_1 is not None:
            truth = {
                "balanced": model_1.matrix.astype(np.float64),
                "bi(balanced)": normalizations(model_1.matrix, record.epsilon)["bi"],
            }
            answers += _compare(truth, estimates, tuple(METRICS), record.epsilon)
        for target, method, metric, score in answers:
            if not np.isnan(score):
                question = Question(config.dataset, config.alpha, target, method, metric)
                values.setdefault(question, {})[config.seed] = score
    return Scores(values)


def grid_answers(kind: str, overlaps: Matrix) -> Iterable[tuple[str, str, str, float]]:
    """Yield (target, method, metric, score) of a table of Overlaps of GCMs and normalizations."""
    for gcm, row in zip(WEIGHTINGS, overlaps.tolist(), strict=True):
        for method, score in zip(WEIGHTINGS, row, strict=True):
            yield f"{kind} gcm {gcm}", method, "overlap", score


def _refuse_rivals(records: Iterable[Record]) -> None:
    """Raise if two runs would give a score of the same seed, of which one would be lost."""
    seen: dict[tuple[object, ...], Record] = {}
    for record in records:
        config = record.config
        place = (config.dataset, config.alpha, config.sampling, config.seed)
        other = seen.setdefault(place, record).config
        if other.key == config.key:
            continue
        differing = [
            f"{name} {before} and {now}"
            for name, now in asdict(config).items()
            if (before := getattr(other, name)) != getattr(config, name)
        ]
        raise InputError(
            f"There must be one run of each dataset, level and seed, got two of {config.title}:"
            f" {', '.join(differing)}.",
            hint="keep the runs of each model and setting in a folder of their own.",
        )


def normalizations(counts: NDArray[np.int64], epsilon: float) -> dict[str, Matrix]:
    """Return the four normalizations of one matrix, all with the same epsilon."""
    return dict(_normalizations(counts.tobytes(), len(counts), epsilon))


@lru_cache(maxsize=8192)
def _normalizations(content: bytes, n_classes: int, epsilon: float) -> dict[str, Matrix]:
    # Every section of the report asks for those of every record.
    counts = np.frombuffer(content, dtype=np.int64).reshape(n_classes, n_classes)
    return {name: dc.normalize(counts, name, epsilon=epsilon).matrix for name in METHODS}


def _compare(
    targets: Mapping[str, Matrix],
    estimates: Mapping[str, Matrix],
    metrics: Sequence[str],
    epsilon: float = 0.0,
) -> Iterable[tuple[str, str, str, float]]:
    for target, truth in targets.items():
        for method, estimate in estimates.items():
            for metric in metrics:
                reference = truth
                if metric == "kl" and target == "balanced":
                    reference = truth + epsilon
                yield target, method, metric, METRICS[metric](reference, estimate)


def slope(
    scores: Scores, dataset: str, value: Callable[[float], Mapping[int, float]]
) -> Sample | None:
    """Return how much a number grows per step of heterogeneity, one slope per seed.

    ``value`` gives, for a level, the number of each seed. Levels count as equally spaced, from
    very low to extreme: the paper's five, of which some may be missing, or else those there are. A
    seed needs two levels at least, and half of those of the dataset.
    """
    alphas = scores.alphas(dataset)
    places = {alpha: place for place, alpha in enumerate(levels_of(scores))}
    by_seed: dict[int, dict[int, float]] = {}
    for alpha in alphas:
        for seed, height in value(alpha).items():
            by_seed.setdefault(seed, {})[places[alpha]] = height
    enough = max(2, (len(alphas) + 1) // 2)
    slopes = [
        np.polynomial.Polynomial.fit(list(line), list(line.values()), 1, domain=[]).coef[1]
        for _, line in sorted(by_seed.items())
        if len(line) >= enough
    ]
    return Sample(np.array(slopes)) if slopes else None


def datasets_of(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records of each dataset, in their order."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.config.dataset, []).append(record)
    return found


def complete_seeds(records: Iterable[Record], dataset: str) -> list[int]:
    """Return the seeds of a dataset that have a run of every level that any seed has."""
    levels: dict[int, set[float | None]] = {}
    for record in records:
        config = record.config
        if config.dataset == dataset and config.sampling == "relative":
            levels.setdefault(config.seed, set()).add(config.alpha)
    every = set().union(*levels.values())
    return sorted(seed for seed, there in levels.items() if there == every)


def levels_of(scores: Scores) -> list[float]:
    """Return the steps of heterogeneity that slopes count: the paper's, or those of the study."""
    there = {question.alpha for question in scores.questions()}
    return sorted(there if there - set(ALPHAS) else ALPHAS, reverse=True)


def to_rows(scores: Scores) -> list[list[object]]:
    """Return every question with its mean, interval and number of seeds."""
    order = {alpha: place for place, alpha in enumerate(ALPHAS)}
    rows: list[list[object]] = []
    for question in sorted(
        scores.questions(), key=lambda q: (q.dataset, q.target, q.metric, order.get(q.alpha, 99))
    ):
        sample = scores.sample(question)
        if sample is not None:
            rows.append([*question, sample.mean, *sample.interval(), sample.n])
    return rows
