"""The paper's protocol for anybody's classifier: a training function in, records out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from deconfuse.errors import InputError
from deconfuse.experiments.config import ALPHAS, RunConfig
from deconfuse.experiments.crews import executor_crew
from deconfuse.experiments.datasets import Dataset
from deconfuse.experiments.measuring import measure
from deconfuse.experiments.records import Record, read_records
from deconfuse.experiments.runs import train_run
from deconfuse.experiments.sweep import Places, plan_runs, run_sweep
from deconfuse.experiments.tasks import TrainFunction

__all__ = ["run_protocol"]


def run_protocol(
    train: TrainFunction,
    dataset: Dataset,
    *,
    folder: str | os.PathLike[str] | None = None,
    alphas: Sequence[float] = ALPHAS,
    seeds: Iterable[int] = range(30),
    executor: Executor | None = None,
) -> list[Record]:
    """Run your own classifier through both of the paper's experiments.

    For each seed, one classifier is trained on balanced sets, and one for each level of
    heterogeneity on sets drawn for it; each is looked at on its own test set.

    Parameters
    ----------
    train : callable
        Takes a :class:`~deconfuse.experiments.tasks.Task` (training set, test set, random
        streams), returns an :class:`~deconfuse.experiments.tasks.Outcome` (scores and embeddings
        of the test set). Start from ``task.shared_rng("initialization")`` where the classifier
        has an initialization, so that all levels of a seed share it.
    dataset : Dataset
        Whole training and test sets. The inputs are handed on as they are.
    folder : path, optional
        Where records are kept. What is there is not run again, so a stopped study goes on. A run
        is known by the name of ``train``, not by its code: give a changed function a new name
        or a new folder. Without a folder nothing is kept.
    alphas : sequence of float
        Levels of heterogeneity: concentrations of the Dirichlet distribution.
    seeds : iterable of int
        One repetition each.
    executor : concurrent.futures.Executor, optional
        What runs them, e.g. a process pool (``train`` must then be importable there); by
        default they run here, one after the other.

    Returns
    -------
    list of Record
        Ordered by seed and level, each seed's balanced run first. See
        :func:`deconfuse.experiments.score_records` for what to ask of them, and
        :func:`deconfuse.experiments.write_results` for tables, figures and verdicts.

    Examples
    --------
    Scikit-learn's digits, with logistic regression on the pixels:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from deconfuse.experiments import Dataset, Outcome, run_protocol
    >>> digits = load_digits()
    >>> inputs, labels = digits.data / 16.0, digits.target.astype(np.int64)
    >>> data = Dataset(
    ...     "digits", inputs[:1000], labels[:1000], inputs[1000:], labels[1000:],
    ...     tuple("0123456789"),
    ... )
    >>> def logistic_regression(task):
    ...     model = LogisticRegression(max_iter=200).fit(task.train_inputs, task.train_labels)
    ...     scores = model.decision_function(task.test_inputs)
    ...     return Outcome(scores=scores, embeddings=task.test_inputs)
    >>> records = run_protocol(logistic_regression, data, alphas=[1.0], seeds=[0])
    >>> [record.config.title for record in records]
    ['digits, seed 0, balanced', 'digits, seed 0, alpha 1']
    >>> records[1].matrix.shape
    (10, 10)
    """
    name = getattr(train, "__name__", type(train).__name__)
    configs = [
        replace(config, model=name) for config in plan_runs([dataset.name], list(alphas), seeds)
    ]
    if not configs:
        raise InputError("There must be at least one level and one seed, got none.")
    job = _Job(train, dataset)
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) if folder is None else Path(folder)
        places = Places(records, data=records)
        if executor is not None:
            width = max(1, getattr(executor, "_max_workers", 1) or 1)
            run_sweep(configs, places, executor_crew(executor, width), run=job)
        else:
            with ThreadPoolExecutor(1) as alone:
                run_sweep(configs, places, executor_crew(alone, 1), run=job)
        return read_records(records, configs)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """One run of a user's function, as something that can be sent to a worker."""

    train: TrainFunction
    dataset: Dataset

    def __call__(self, config: RunConfig, data: Path, cache: Path | None) -> str:
        return measure(train_run(self.train, self.dataset, config, cache)).to_json()
