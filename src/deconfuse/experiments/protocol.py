"""Run the paper's protocol with any classifier: it takes a training function and gives records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from deconfuse.errors import InputError
from deconfuse.experiments.config import ALPHAS, DATASETS, PAPER_MODEL, RunConfig
from deconfuse.experiments.datasets import Dataset
from deconfuse.experiments.records import Record, read_record, read_records, record_path
from deconfuse.experiments.runs import measure, train_run
from deconfuse.experiments.sweep import Crew, Places, SweepError, plan_runs, run_sweep
from deconfuse.experiments.tasks import PARTS, TrainFunction, set_sizes

__all__ = ["run_protocol"]

#: How many runs an executor is given at a time: more than most have workers for.
_IN_FLIGHT = 64


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
        Whole training and test sets. The inputs are handed on as they are, unless the dataset's
        ``transform`` says otherwise, as that of :func:`load_dataset` does.
    folder : path, optional
        Where records are kept. What is there is not run again, so a stopped study goes on. A run
        is known by the names of ``train`` and of the dataset, not by code and data: give a changed
        function or dataset a new folder. Without a folder nothing is kept.
    alphas : sequence of float
        Levels of heterogeneity: concentrations of the Dirichlet distribution.
    seeds : iterable of int
        One repetition each.
    executor : concurrent.futures.Executor, optional
        What runs them, e.g. a process pool (``train`` must then be importable there) or Dask's
        ``client.get_executor()``; by default they run here, one after the other.

    Returns
    -------
    list of Record
        Ordered by seed and level, each seed's balanced run first. See
        :func:`deconfuse.experiments.score_records` for what to ask of them, and
        :func:`deconfuse.experiments.write_results` for tables, figures and verdicts.

    Raises
    ------
    InputError
        If an argument cannot be used, ``train`` returns something other than an ``Outcome``, or a
        record in the folder is of another dataset of the same name.
    SweepError
        If ``train`` fails, or the executor breaks; records written before that stay.

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
    name = _model_name(train, is_kept=folder is not None)
    if name == PAPER_MODEL and dataset.name in DATASETS:
        raise InputError(
            f"`train` must have another name than {name!r}, which the records of {dataset.name} "
            "keep for the paper's network.",
            hint="rename the function, or the dataset.",
        )
    configs = [replace(config, model=name) for config in plan_runs([dataset.name], alphas, seeds)]
    if not configs:
        raise InputError("There must be at least one level and one seed, got none.")
    job = partial(_run, train, dataset)
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) if folder is None else Path(folder)
        places = Places(records, data=records)
        _refuse_other_data(records, dataset, configs)
        with ThreadPoolExecutor(1) if executor is None else nullcontext(executor) as chosen:
            try:
                crew = Crew(chosen, _IN_FLIGHT)
                run_sweep(configs, places, lambda: nullcontext(crew), run=job)
            except SweepError as error:
                if folder is not None:
                    raise
                hint = "give a `folder` to keep finished runs and go on from them."
                raise SweepError(error.message, hint=hint) from error
        return read_records(records, configs)


def _model_name(train: object, *, is_kept: bool) -> str:
    """Return the name that records know a training function by."""
    if isinstance(train, partial):
        given = [("", value) for value in train.args] + sorted(train.keywords.items())
        for _, value in given:
            if not isinstance(value, str | int | float | None):
                raise InputError(
                    f"`train` must have a name of its own, but in a partial function only text "
                    f"and numbers have one, got {type(value).__name__}.",
                    hint="write a function with `def` that calls it.",
                )
        values = ", ".join(f"{key}={value!r}" if key else repr(value) for key, value in given)
        return f"{_model_name(train.func, is_kept=is_kept)}({values})"
    name = str(getattr(train, "__name__", type(train).__name__))
    if name == "<lambda>" and is_kept:
        raise InputError(
            "`train` must have a name of its own for its records to be kept by, got a lambda.",
            hint="write a function with `def`, or leave `folder` out.",
        )
    return name


def _refuse_other_data(folder: Path, dataset: Dataset, configs: Iterable[RunConfig]) -> None:
    """Raise if a class would be left empty, or an existing record is of other data."""
    for config in configs:
        train_sizes, test_sizes = (set_sizes(dataset, config, part) for part in PARTS)
        path = record_path(folder, config)
        if not path.exists():
            continue
        record = read_record(path)
        for what, found, expected in (
            ("classes", record.classes, dataset.classes),
            ("training sizes", record.train_sizes, train_sizes),
            ("test sizes", record.test_sizes, test_sizes),
        ):
            if found != expected:
                raise InputError(
                    f"{path} must be of the dataset {dataset.name!r} that was given, but its "
                    f"{what} are {found!s:.100} instead of {expected!s:.100}.",
                    hint="another dataset of this name was here before: use a new folder.",
                )


def _run(
    train: TrainFunction, dataset: Dataset, config: RunConfig, data: Path, cache: Path | None
) -> str:
    """Do one run of a user's function; ``data`` is where the paper's networks find theirs."""
    return measure(train_run(train, dataset, config, cache)).to_json()
