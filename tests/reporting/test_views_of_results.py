"""What a matrix, a normalized matrix and a diagnosis offer beside their numbers."""

from __future__ import annotations

import deconfuse as dc

CM = dc.ConfusionMatrix.from_counts([[40, 9], [1, 30]], ["cat", "dog"])


def test_print_shows_the_matrix_and_repr_one_line() -> None:
    assert str(CM).splitlines()[2:] == ["cat                40    9", "dog                 1   30"]
    assert "\n" not in repr(CM)
    assert ".82" in str(CM.normalize("row"))


def test_plot_draws_counts_or_a_normalization_under_given_names() -> None:
    counts = CM.plot(display_labels=["a cat", "a dog"])
    assert counts.confusion_matrix.tolist() == CM.counts.tolist()
    assert [name.get_text() for name in counts.ax_.get_xticklabels()] == ["a cat", "a dog"]
    drawn = CM.plot("row").confusion_matrix
    assert drawn.tolist() == CM.normalize("row").plot().confusion_matrix.tolist()


def test_markdown_and_latex_hold_every_cell() -> None:
    n = CM.normalize("row")
    for text in (n.to_markdown(), n.to_latex()):
        assert all(value in text for value in ("cat", "dog", "0.816", "0.184", "0.032", "0.968"))


def test_findings_as_a_frame() -> None:
    diagnosis = dc.diagnose(CM)
    frame = diagnosis.to_pandas()
    assert frame["sentence"].tolist() == [finding.sentence for finding in diagnosis.findings]
    assert frame["classes"].tolist() == [finding.classes for finding in diagnosis.findings]
