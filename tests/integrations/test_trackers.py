"""MLflow with a real local file store, TensorBoard read back with its own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import deconfuse as dc
from deconfuse._text import escape_markdown
from tests.support import require

HOSTILE = "<img src=x onerror=alert(1)> | `fox`"


@pytest.fixture
def cm():
    counts = [[80, 12, 3], [9, 40, 1], [1, 2, 20]]
    return dc.ConfusionMatrix.from_counts(counts, labels=["cat", "dog", HOSTILE])


def _logged(mlflow, run):
    files = mlflow.artifacts.list_artifacts(
        run_id=run.info.run_id, artifact_path="confusion_matrix"
    )
    return {Path(file.path).name for file in files}


# MLflow warns about its own future, and leaves connections of its store for the garbage collector.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestMlflow:
    @pytest.fixture
    def mlflow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        require("mlflow")
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        import mlflow

        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
        yield mlflow
        mlflow.set_tracking_uri(before)

    def test_logs_numbers_findings_figure_and_page(self, mlflow, cm, tmp_path: Path):
        from deconfuse.integrations.mlflow import load_confusion_matrix, log_confusion_matrix

        with mlflow.start_run() as run:
            log_confusion_matrix(cm)
        assert _logged(mlflow, run) == {
            "matrix.json",
            "counts.csv",
            "bi.png",
            "findings.md",
            "report.html",
        }
        folder = Path(
            mlflow.artifacts.download_artifacts(
                run_id=run.info.run_id, artifact_path="confusion_matrix", dst_path=str(tmp_path)
            )
        )
        assert dc.ConfusionMatrix.load(folder / "counts.csv") == cm
        assert (folder / "bi.png").read_bytes().startswith(b"\x89PNG")
        page = (folder / "report.html").read_text()
        assert page.startswith("<!")
        assert "<img src=x" not in page
        logged = mlflow.get_run(run.info.run_id).data.metrics
        expected = dc.estimate_bi(cm).separability
        assert logged == pytest.approx(
            {
                "confusion_matrix.accuracy": cm.accuracy,
                "confusion_matrix.balanced_accuracy": cm.balanced_accuracy,
                "confusion_matrix.macro_f1": cm.macro_f1,
                "confusion_matrix.kappa": cm.kappa,
                "confusion_matrix.separability": expected.value,
                "confusion_matrix.separability_low": expected.low,
                "confusion_matrix.separability_high": expected.high,
            }
        )
        for finding in dc.diagnose(cm).findings:
            assert escape_markdown(finding.sentence) in (folder / "findings.md").read_text()
        assert load_confusion_matrix(run.info.run_id) == cm

    def test_keeps_a_matrix_per_step_and_compares_runs(self, mlflow, cm):
        from deconfuse.integrations.mlflow import load_confusion_matrix, log_confusion_matrix

        client = mlflow.MlflowClient()
        run_id = client.create_run(client.create_experiment("steps")).info.run_id
        better = dc.ConfusionMatrix.from_counts(np.diag([90, 50, 20]) + 1, labels=cm.labels)
        for step, matrix in enumerate((cm, better)):
            log_confusion_matrix(matrix, "val", step=step, page=False, run_id=run_id)
        history = client.get_metric_history(run_id, "val.separability")
        assert [entry.step for entry in history] == [0, 1]
        assert history[0].value < history[1].value
        assert load_confusion_matrix(run_id, "val", step=1) == better

    def test_many_classes_have_no_figures(self, mlflow):
        from deconfuse.integrations.mlflow import log_confusion_matrix

        labels = np.arange(2500)
        many = dc.ConfusionMatrix.from_predictions(labels, labels)
        with mlflow.start_run() as run:
            log_confusion_matrix(many, page=False)
        assert _logged(mlflow, run) == {"matrix.json", "findings.md"}

    @pytest.mark.parametrize("name", ["", "/etc", "a/../../b", "./a", "a//b", 5])
    def test_names_stay_inside_the_artifacts(self, mlflow, cm, name):
        from deconfuse.integrations.mlflow import load_confusion_matrix, log_confusion_matrix

        with pytest.raises(dc.InputError, match="relative path inside the artifacts"):
            log_confusion_matrix(cm, name)
        with pytest.raises(dc.InputError, match="relative path inside the artifacts"):
            load_confusion_matrix("0" * 32, name)

    def test_a_refused_name_leaves_nothing_behind(self, mlflow, cm):
        from deconfuse.integrations.mlflow import log_confusion_matrix

        with mlflow.start_run() as run:
            with pytest.raises(mlflow.MlflowException, match="Names may only contain"):
                log_confusion_matrix(cm, "what?", page=False)
            assert not mlflow.artifacts.list_artifacts(run_id=run.info.run_id)

    def test_takes_counts_alone(self, mlflow, cm):
        from deconfuse.integrations.mlflow import log_confusion_matrix

        with pytest.raises(dc.InputError, match="must be a ConfusionMatrix, got Normalized"):
            log_confusion_matrix(cm.normalize("bi"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_tensorboard_reads_back_what_was_written(cm, tmp_path: Path):
    require("torch", "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    from deconfuse.integrations.tensorboard import add_confusion_matrix

    with SummaryWriter(tmp_path) as writer:
        for step in (0, 5):
            add_confusion_matrix(writer, "val", cm, step=step)
    events = EventAccumulator(str(tmp_path), size_guidance={"images": 0, "tensors": 0}).Reload()
    scores = events.Scalars("val/separability")
    assert [score.step for score in scores] == [0, 5]
    expected = dc.estimate_bi(cm).separability
    for name in ("value", "low", "high"):
        tag = "val/separability" if name == "value" else f"val/separability_{name}"
        assert events.Scalars(tag)[0].value == pytest.approx(getattr(expected, name), rel=1e-6)
    assert events.Scalars("val/macro_f1")[0].value == pytest.approx(cm.macro_f1, rel=1e-6)
    assert set(events.Tags()["images"]) == {"val/bi"}
    image = events.Images("val/bi")[1]
    assert image.width > 300
    assert image.encoded_image_string.startswith(b"\x89PNG")
    text = events.Tensors("val/findings/text_summary")[0].tensor_proto.string_val[0].decode()
    for finding in dc.diagnose(cm).findings:
        assert escape_markdown(finding.sentence) in text
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert r"\|" in text
    assert events.Tensors("val/findings/text_summary")[1].step == 5


def test_tensorboard_needs_a_writer(cm):
    from deconfuse.integrations.tensorboard import add_confusion_matrix

    with pytest.raises(dc.InputError, match="object has no add_figure, add_scalar, add_text"):
        add_confusion_matrix(object(), "val", cm)


def test_tensorboard_takes_counts_alone(cm):
    from types import SimpleNamespace

    from deconfuse.integrations.tensorboard import add_confusion_matrix

    writer = SimpleNamespace(add_figure=None, add_scalar=None, add_text=None)
    with pytest.raises(dc.InputError, match="must be a ConfusionMatrix, got list"):
        add_confusion_matrix(writer, "val", [[1, 2], [3, 4]])


def test_a_missing_library_names_its_extra(cm, monkeypatch: pytest.MonkeyPatch):
    import sys

    from deconfuse.integrations.mlflow import log_confusion_matrix

    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(dc.MissingExtraError, match=r'pip install "deconfuse\[mlflow\]"'):
        log_confusion_matrix(cm)
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "deconfuse.integrations.torch", raising=False)
    with pytest.raises(dc.MissingExtraError, match=r'pip install "deconfuse\[torch\]"'):
        __import__("deconfuse.integrations.torch")
