"""MLflow: a confusion matrix as numbers, figures and an interactive page in a run's artifacts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.integrations._figures import MAX_DRAWN_CLASSES, check_counts, draw
from deconfuse.statistics.separability import separability

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
        Folder of the artifacts, and prefix of the metric.
    step : int, optional
        For a matrix per epoch: goes to the metric, and a folder ``step-<step>`` keeps each one.
    epsilon : float, optional
        For the bi-normalized figure and the metric; see `deconfuse.normalize`. The page uses the
        default.
    page : bool
        Whether to log the interactive page too.
    run_id : str, optional
        By default the active run; without one, MLflow starts a run, as its own functions do.

    Notes
    -----
    Logs ``matrix.json`` (read it back with `load_confusion_matrix`), ``counts.csv``,
    ``counts.png``, ``bi.png`` and ``report.html``, and the metrics ``<name>.accuracy``,
    ``<name>.balanced_accuracy`` and ``<name>.separability``. The figures are left out for more
    than 200 classes, where they show nothing; the page shows any number. Files are written before
    anything is logged, so an error there leaves the run as it was.
    """
    mlflow = _mlflow()
    check_counts(cm)
    folder = _folder(name, step)
    scores = {
        f"{name}.accuracy": cm.accuracy,
        f"{name}.balanced_accuracy": cm.balanced_accuracy,
        f"{name}.separability": separability(cm, epsilon=epsilon),
    }
    with tempfile.TemporaryDirectory() as directory:
        _write(cm, Path(directory), epsilon, page)
        # The metric first: MLflow is stricter about names of metrics than about folders.
        mlflow.log_metrics(scores, step=step, run_id=run_id)
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


def _write(cm: ConfusionMatrix, folder: Path, epsilon: float | None, page: bool) -> None:
    cm.save(folder / "matrix.json")
    if not cm.is_sparse:
        cm.save(folder / "counts.csv")
    if cm.n_classes <= MAX_DRAWN_CLASSES:
        draw(cm).savefig(folder / "counts.png", dpi=120)
        draw(cm.normalize("bi", epsilon)).savefig(folder / "bi.png", dpi=120)
    if page:
        from deconfuse import report

        report(cm, folder / "report.html")


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise MissingExtraError.of("mlflow", extra="mlflow", feature="Logging to MLflow") from error
    return mlflow
