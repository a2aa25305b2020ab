"""Answers that are no class on the page, in a real browser: apart from the square, with samples."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import deconfuse as dc
from tests.reporting.browser import Open, Reader

pytestmark = pytest.mark.browser

CLASSES = ["billing", "refund", "shipping", "technical"]


def answers(seed: int = 0, refused: float = 0.47) -> tuple[list[str], list[str | None]]:
    """Return labels and answers of a model that refuses one class and sometimes says nothing."""
    rng = np.random.default_rng(seed)
    true = rng.choice(CLASSES, 1_600).tolist()
    said: list[str | None] = []
    for label in true:
        if label == "technical" and rng.random() < refused:
            said.append("I cannot help with that.")
        elif rng.random() < 0.02:
            said.append(None)
        else:
            said.append(label if rng.random() < 0.85 else str(rng.choice(CLASSES)))
    return true, said


def counted(true: list[str], said: list[str | None]) -> dc.ConfusionMatrix:
    return dc.ConfusionMatrix.from_predictions(
        true, said, labels=CLASSES, other="refused", missing="no answer"
    )


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dc.ConfusionMatrix]:
    true, said = answers()
    samples = dc.Samples(
        true,
        said,
        texts=[f"ticket {k} on {label}" for k, label in enumerate(true)],
        scores=np.linspace(0, 1, len(true)),
        other="refused",
        missing="no answer",
    )
    path = tmp_path_factory.mktemp("chat") / "chat.html"
    cm = counted(true, said)
    return dc.report(cm, path, samples=samples), cm


def strip_cell(reader: Reader, strip: int, place: int) -> tuple[float, float]:
    """Return where a cell of a strip lies on the screen, with all classes in view."""
    box, layout = reader.main().bounding_box(), reader.layout()
    n = reader.ask("return root.host.explorer.frame.n;")
    along = (place + 0.5) * layout["side"] / n
    beside = strip - layout["answers"]
    if beside < 0:
        across = layout["side"] + 14 + (strip + 0.5) * layout["answerWidth"]
        return box["x"] + layout["x"] + across, box["y"] + layout["y"] + along
    down = layout["side"] + 14 + (beside + 0.5) * layout["backgroundHeight"]
    return box["x"] + layout["x"] + along, box["y"] + layout["y"] + down


def test_outcomes_stand_apart_with_their_share_and_their_samples(
    open_page: Open, chat: tuple[Path, dc.ConfusionMatrix]
) -> None:
    path, cm = chat
    reader = open_page(path)
    rates = dc.diagnose(cm).outcomes
    assert f"{cm.total:,} of {cm.n_samples:,} samples with classes" in reader.text("header")
    assert f"coverage {100 * rates.coverage:.3g}" in reader.text("header")
    reader.page.mouse.click(*strip_cell(reader, 0, 3))
    reader.settle()
    assert reader.inspected() == "true technical\nanswer refused"
    told = reader.text(".inspector")
    [refused] = [rate for rate in rates if (rate.label, rate.outcome) == ("technical", "refused")]
    assert f"{refused.count:g} of {refused.total:g} samples" in told
    for share in (refused.rate, refused.low, refused.high):
        assert f"{100 * share:.3g}\u202f%" in told
    texts = reader.page.locator(".samples.texts li bdi").all_inner_texts()
    assert len(texts) == 12
    assert all("technical" in text for text in texts)
    numbers = [int(text.split()[1]) for text in texts]
    assert numbers == sorted(numbers, reverse=True), "the most confident first"
    assert reader.hash() == "#row=3.0"
    again = open_page(path, "#row=3.0")
    assert again.inspected() == reader.inspected()


def test_the_finding_opens_its_cell_and_the_square_has_no_outcome(
    open_page: Open, chat: tuple[Path, dc.ConfusionMatrix]
) -> None:
    path, cm = chat
    reader = open_page(path)
    first = reader.page.locator(".findings button.finding").first
    assert first.inner_text().split("\n")[0] == "technical → refused"
    first.click()
    assert reader.inspected() == "true technical\nanswer refused"
    values = reader.ask("return [...root.host.explorer.pane('row', '0').values];")
    alone = dc.ConfusionMatrix.from_counts(cm.counts, labels=CLASSES).normalize("row")
    np.testing.assert_allclose(np.reshape(values, (4, 4)), alone.matrix, rtol=1e-9)


def test_outcomes_by_keyboard_and_for_a_screen_reader(
    open_page: Open, chat: tuple[Path, dc.ConfusionMatrix]
) -> None:
    reader = open_page(chat[0], "#cell=3.3")
    reader.press("ArrowRight")
    assert reader.inspected() == "true technical\nanswer refused"
    reader.press("ArrowRight")
    assert reader.inspected() == "true technical\nanswer no answer"
    reader.page.wait_for_function(
        "() => document.getElementById('deconfuse').shadowRoot"
        ".querySelector('canvas.matrix').getAttribute('aria-activedescendant')?.endsWith('strip-1')"
    )
    spoken = reader.ask("return root.querySelector('[aria-live]').textContent;")
    assert spoken.startswith("true technical, answer no answer, no class: ")
    heads = reader.ask(
        "return [...root.querySelectorAll('canvas [role=columnheader]')].map((e) => e.textContent);"
    )
    assert heads[-2:] == ["refused (no class)", "no answer (no class)"]


def test_exports_hold_outcomes(
    open_page: Open, chat: tuple[Path, dc.ConfusionMatrix], tmp_path: Path
) -> None:
    path, cm = chat
    reader = open_page(path, "#method=counts")
    exported = reader.export("CSV")
    (tmp_path / "counts.csv").write_bytes(exported)
    assert dc.ConfusionMatrix.from_file(tmp_path / "counts.csv") == cm
    head, *rows = csv.reader(io.StringIO(exported.decode()))
    assert head == ["true \\ predicted [str; 2 outcomes]", *CLASSES, *cm.outcomes]
    np.testing.assert_array_equal(
        np.array([row[5:] for row in rows[:4]], dtype=int), cm.outcome_counts
    )
    words = " ".join(ET.fromstring(reader.export("SVG").decode()).itertext())
    assert "refused" in words
    assert "answers that are no class" in words


def test_a_detector_has_a_row_below_and_a_column_beside(open_page: Open, tmp_path: Path) -> None:
    counts = [[80, 6, 14], [5, 70, 25], [12, 9, 0]]
    names = ["car", "bus", "background"]
    cm = dc.ConfusionMatrix.from_counts(counts, labels=names).treat_as_outcome("background")
    reader = open_page(dc.report(cm, tmp_path / "detector.html"), size=(390, 844))
    reader.page.mouse.click(*strip_cell(reader, 1, 0))
    assert reader.inspected() == "label background\npredicted car"
    assert "12 of 97 predictions" in reader.text(".inspector")
    reader.go("method=counts")
    (tmp_path / "counts.csv").write_bytes(reader.export("CSV"))
    assert dc.ConfusionMatrix.from_file(tmp_path / "counts.csv") == cm


def test_two_models_show_the_change_of_a_rate(open_page: Open, tmp_path: Path) -> None:
    models = {"old": counted(*answers()), "new": counted(*answers(refused=0.1))}
    reader = open_page(dc.report(models, tmp_path / "two.html"), "#row=3.0")
    assert "Difference of the shares: −" in reader.text(".inspector")
    one = {"old": counted(*answers()), "never": dc.ConfusionMatrix.from_counts(np.eye(4), CLASSES)}
    open_page(dc.report(one, tmp_path / "one.html"), "#row=3.0&model=1")


def test_samples_that_are_no_class_and_no_outcome_are_refused(tmp_path: Path) -> None:
    true, said = answers()
    cm = counted(true, said)
    with pytest.raises(dc.InputError, match=r"classes or outcomes of the matrix, got") as caught:
        dc.report(cm, tmp_path / "page.html", samples=dc.Samples(true, said, missing="no answer"))
    assert "`other` and `missing` of `Samples`" in str(caught.value)
