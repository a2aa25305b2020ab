"""A study computes each thing once, and every view of it says the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import deconfuse as dc
from deconfuse import normalization
from deconfuse.reporting import study as studies
from deconfuse.reporting.page_payload import summarize
from deconfuse.statistics import estimate
from tests.reporting.studies import CLOTHES, matrix, predictions


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often matrices are scaled, estimated, diagnosed and compared."""
    counter: Counter[str] = Counter()

    def counted(module: object, name: str) -> None:
        function = getattr(module, name)

        def wrapped(*args: object, **options: object) -> object:
            counter[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(module, name, wrapped)

    counted(normalization, "solve")
    counted(studies, "diagnose")
    counted(studies, "compare_normalized")
    counted(estimate, "shrink")
    return counter


def test_one_matrix_is_scaled_three_times_and_diagnosed_once(
    calls: Counter[str], tmp_path: Path
) -> None:
    true, pred = predictions(10, 2_000)
    samples = dc.Samples(true, pred)
    study = dc.Study(dc.ConfusionMatrix.from_predictions(true, pred), samples=samples)
    for ending in ("html", "md", "json", "tex"):
        dc.report(study, tmp_path / f"page.{ending}")
    assert str(study)
    assert study._repr_html_()
    assert study.to_dict()
    # With epsilon, a tenth of it and ten times it: what a diagnosis needs.
    assert calls == {"solve": 3, "shrink": 1, "diagnose": 1}


def test_two_matrices_are_compared_once(calls: Counter[str], tmp_path: Path) -> None:
    study = dc.Study({"old": matrix(5, 900, seed=0), "new": matrix(5, 900, seed=1)})
    dc.report(study, tmp_path / "page.html")
    dc.report(study, tmp_path / "page.md")
    assert str(study)
    assert study.to_dict()
    # Each is diagnosed as one matrix is; comparing them scales and estimates nothing again.
    assert calls == {"solve": 6, "shrink": 2, "diagnose": 2, "compare_normalized": 1}


def test_what_a_study_compares_is_what_compare_compares() -> None:
    # The last class is never predicted in the second, so their estimates are of fewer classes.
    old, new = np.full((4, 4), 3), np.full((4, 4), 2)
    np.fill_diagonal(old, 30)
    np.fill_diagonal(new, 40)
    new[:, 3] = 0
    for second in (new, new.T, old + 1):
        found, alone = dc.Study({"old": old, "new": second}).comparison, dc.compare(old, second)
        assert found is not None
        assert found.to_dict() == alone.to_dict()
        for one, other in zip(found.estimates, alone.estimates, strict=True):
            assert one.separability == other.separability


def test_a_diagnosis_is_not_made_again(calls: Counter[str]) -> None:
    found = dc.diagnose(matrix(4, 500), epsilon=0.7, level=0.9)
    study = studies.Study.of(found)
    payload = summarize(study, "t")
    assert study.diagnosis() is found
    assert calls["diagnose"] == 0
    assert (payload.limits.level, payload.models[0].scalings["bi-epsilon"].epsilon) == (0.9, 0.7)


def test_every_view_has_the_same_headline_and_findings_in_one_order(tmp_path: Path) -> None:
    for matrices in (
        matrix(10, 8_000, names=CLOTHES),
        {"old": matrix(6, 2_000, seed=0), "new": matrix(6, 2_000, seed=3)},
    ):
        study = dc.Study(matrices)
        page = json.loads(dc.report(study, tmp_path / "p.json").read_text(encoding="utf-8"))
        assert page["headline"] == study.headline == study.to_dict()["headline"]
        assert [found["sentence"] for found in page["findings"]] == [
            found.sentence for found in study.findings
        ]
        markdown = dc.report(study, tmp_path / "p.md").read_text(encoding="utf-8")
        text = str(study)
        assert text.startswith(study.headline)
        titles = [kind["title"] for kind in page["kinds"]]
        for told in (text, markdown.replace("\\", "")):
            places = [told.index(title) for title in titles if title in told]
            assert len(places) > 1
            assert places == sorted(places)


def test_many_matrices_have_one_page(tmp_path: Path) -> None:
    epochs = {f"epoch {k}": matrix(6, 500, seed=k) for k in range(5)}
    page = json.loads(dc.report(epochs, tmp_path / "epochs.json").read_text(encoding="utf-8"))
    assert [model["name"] for model in page["models"]] == list(epochs)
    assert page["comparison"] is None
    assert "Of “epoch 4”" in page["headline"]
    for model, cm in zip(page["models"], epochs.values(), strict=True):
        assert model["scores"] == {
            "accuracy": cm.accuracy,
            "balanced_accuracy": cm.balanced_accuracy,
            "macro_f1": cm.macro_f1,
            "kappa": cm.kappa,
            "coverage": 1.0,
        }


def test_bare_counts_have_a_page(tmp_path: Path) -> None:
    page = json.loads(dc.report([[9, 1], [2, 8]], tmp_path / "a.json").read_text(encoding="utf-8"))
    assert page["labels"] == ["0", "1"]


def test_a_class_may_equal_the_sum_of_the_others(tmp_path: Path) -> None:
    counts = np.array([[5, 1, 2], [1, 6, 3], [2, 1, 7]])
    counts = np.vstack([counts, counts.sum(axis=0)])
    counts = np.column_stack([counts, counts.sum(axis=1)])
    cm = dc.ConfusionMatrix.from_counts(counts, labels=["a", "b", "c", "d"])
    assert dc.report(cm, tmp_path / "a.html").exists()


def test_samples_of_every_matrix_are_carried() -> None:
    true, pred = predictions(4, 300)
    other = np.roll(pred, 1)
    matrices = {
        "a": dc.ConfusionMatrix.from_predictions(true, pred, labels=range(4)),
        "b": dc.ConfusionMatrix.from_predictions(true, other, labels=range(4)),
    }
    both = {"a": dc.Samples(true, pred), "b": dc.Samples(true, other)}
    payload = summarize(dc.Study(matrices, samples=both), "t")
    assert payload.samples is not None
    assert list(payload.other_samples) == ["b"]
    assert payload.other_samples["b"] != payload.samples


def test_groups_name_rows_of_the_page() -> None:
    cm = matrix(5, 500, names=list("abcde"))
    payload = summarize(dc.Study(cm, groups={"vowel": ["e", "a"], "rest": ["b"]}), "t")
    assert [(group.name, group.classes) for group in payload.groups] == [
        ("vowel", (4, 0)),
        ("rest", (1,)),
    ]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"groups": {"x": ["z"]}}, "`groups` must hold classes of the matrix, got 'z'"),
        ({"groups": {"x": ["a"], "y": ["a"]}}, "each class at most once, got 'a' more than once"),
        ({"samples": {"other": dc.Samples(["a"], ["a"])}}, "must have names of matrices"),
        ({"embeddings": np.ones((3, 2))}, "`embeddings` need `samples`"),
        ({"paired": ([], [], [])}, "`paired` belongs to two matrices, got 1"),
    ],
)
def test_what_does_not_belong_to_the_matrix_is_refused(
    parts: dict[str, object], words: str
) -> None:
    with pytest.raises(dc.InputError, match=words):
        dc.Study(matrix(3, 100, names=list("abc")), **parts)  # type: ignore[arg-type]


def test_a_study_has_its_own_parts(tmp_path: Path) -> None:
    study = dc.Study([[9, 1], [2, 8]])
    with pytest.raises(dc.InputError, match="A `Study` has its own parts, got `groups` too"):
        dc.report(study, tmp_path / "a.html", groups={})
