"""MLflow: a confusion matrix as numbers, findings, a figure and a page in a run's artifacts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

# What a page needs for its tree, here for the reason that `_figures` gives.
import scipy.cluster.hierarchy  # noqa: F401

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.integrations._figures import MAX_DRAWN_CLASSES, draw
from deconfuse.integrations._logged import scores_of, study_of
from deconfuse.reporting.page import report
from deconfuse.reporting.study import Study

__all__ = ["load_confusion_matrix", "log_confusion_matrix"]


def log_confusion_matrix(
    cm: ConfusionMatrix,
    name: str = "confusion_matrix",
    *,
    step: int | None = None,
    epsilon: float | None = None,
    page: bool = True,
    run_id: str | None = None,
) -> None:
    """Log a confusion matrix to an MLflow run.

    Parameters
    ----------
    cm : ConfusionMatrix
        The counts.
    name : str
        Folder of the artifacts, and prefix of the metrics.
    step : int, optional
        For a matrix per epoch: goes to the metrics, and a folder ``step-<step>`` keeps each one.
    epsilon : float, optional
        Of bi-normalization; see `deconfuse.normalize`.
    page : bool
        Whether to log the interactive page too.
    run_id : str, optional
        By default the active run; without one, MLflow starts a run, as its own functions do.

    Notes
    -----
    Logs ``matrix.json`` (read it back with `load_confusion_matrix`), ``counts.csv``, ``bi.png``,
    ``findings.md`` (what `deconfuse.diagnose` says) and ``report.html``, and the metrics
    ``<name>.accuracy``, ``<name>.balanced_accuracy``, ``<name>.macro_f1``, ``<name>.kappa`` and,
    with the ends of its interval, ``<name>.separability``, ``<name>.separability_low`` and
    ``<name>.separability_high`` (see `deconfuse.estimate_bi`). The figure shows the definition,
    ``cm.normalize("bi")``; it is left out for more than 200 classes, where it shows nothing; the
    page shows any number. Files are written before anything is logged, so an error there leaves the
    run as it was.
    """
    mlflow = _mlflow()
    study = study_of(cm, epsilon)
    folder = _folder(name, step)
    metrics = {
        f"{name}.{score}": value
        for score, value in scores_of(study.first, study.diagnosis().separability).items()
    }
    with tempfile.TemporaryDirectory() as directory:
        _write(study, Path(directory), page)
        # The metrics first: MLflow is stricter about names of metrics than about folders.
        mlflow.log_metrics(metrics, step=step, run_id=run_id)
        mlflow.log_artifacts(directory, artifact_path=folder, run_id=run_id)


def load_confusion_matrix(
    run_id: str, name: str = "confusion_matrix", *, step: int | None = None
) -> ConfusionMatrix:
    """Read the counts that `log_confusion_matrix` put into a run, for instance to compare two runs.

    Parameters
    ----------
    run_id : str
    name : str
    step : int, optional
        As they were logged.

    Returns
    -------
    ConfusionMatrix
    """
    mlflow = _mlflow()
    folder = _folder(name, step)
    with tempfile.TemporaryDirectory() as directory:
        path = mlflow.artifacts.download_artifacts(
            run_id=run_id, artifact_path=f"{folder}/matrix.json", dst_path=directory
        )
        return ConfusionMatrix.load(path)


def _folder(name: str, step: int | None) -> str:
    if not isinstance(name, str) or {"", ".", ".."} & set(name.split("/")):
        raise InputError(f"`name` must be a relative path inside the artifacts, got {name!r}.")
    return name if step is None else f"{name}/step-{step}"


def _write(study: Study, folder: Path, page: bool) -> None:
    cm = study.first
    cm.save(folder / "matrix.json")
    if not cm.is_sparse:
        cm.save(folder / "counts.csv")
    if cm.n_classes <= MAX_DRAWN_CLASSES:
        draw(study.bi()).savefig(folder / "bi.png")
    report(study, folder / "findings.md")
    if page:
        report(study, folder / "report.html")


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise MissingExtraError.of("mlflow", extra="mlflow", feature="Logging to MLflow") from error
    return mlflow
