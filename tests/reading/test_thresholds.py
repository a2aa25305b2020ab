"""One column of scores and a threshold, and rows chosen by a column: the same at every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deconfuse import ConfusionMatrix, InputError
from tests.engines import Constructor
from tests.reading.files import FORMATS, write

TABLE = {
    "label": ["spam", "ham", "spam", "ham", "spam"],
    "p": [0.9, 0.5, 0.49, 0.1, 0.5],
    "split": ["test", "test", "train", "test", "train"],
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_files(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, f"s.{suffix}", TABLE)
    cm = ConfusionMatrix.from_file(path, scores={"p": "spam"}, threshold=0.5)
    assert cm.labels == ("ham", "spam")
    # From the threshold on: two samples have exactly this score.
    assert cm.counts.tolist() == [[1, 1], [1, 2]]
    part = ConfusionMatrix.from_file(
        path, scores={"p": "spam"}, threshold=0.5, where={"split": "test"}
    )
    assert part.counts.tolist() == [[1, 1], [0, 1]]
    with pytest.raises(InputError, match="at least one sample, got none"):
        ConfusionMatrix.from_file(
            path, scores={"p": "spam"}, threshold=0.5, where={"split": "none"}
        )
    with pytest.raises(InputError, match="`where` must be a column, got 'spilt'"):
        ConfusionMatrix.from_file(
            path, scores={"p": "spam"}, threshold=0.5, where={"spilt": "test"}
        )


def test_frames(constructor: Constructor) -> None:
    frame = constructor(TABLE)
    cm = ConfusionMatrix.from_frame(frame, scores={"p": "spam"}, threshold=0.5)
    assert cm.counts.tolist() == [[1, 1], [1, 2]]


@pytest.mark.parametrize("labels", [[0, 1, 1], [False, True, True], [1, 1, 1], [True, True, True]])
def test_zero_and_one_need_no_name(labels: list[Any]) -> None:
    frame = pd.DataFrame({"label": labels, "p": [0.1, 0.9, 0.2]})
    cm = ConfusionMatrix.from_frame(frame, scores="p", threshold=0.5)
    kind = type(labels[0])
    assert cm.labels == (kind(0), kind(1))
    assert cm.total == 3
    assert cm == ConfusionMatrix.from_frame(frame, scores={"p": kind(1)}, threshold=0.5)


def test_missing_scores_and_outcomes() -> None:
    frame = pd.DataFrame({"label": ["spam", "ham", "nothing"], "p": [0.9, 0.1, 0.7]})
    cm = ConfusionMatrix.from_frame(
        frame, scores={"p": "spam"}, threshold=0.5, outcomes=["nothing"]
    )
    assert cm.background_counts.tolist() == [[0, 1]]
    frame.loc[0, "p"] = float("nan")
    with pytest.raises(InputError, match="missing or NaN scores in 1 of 3 rows"):
        ConfusionMatrix.from_frame(frame, scores={"p": "spam"}, threshold=0.5, outcomes=["nothing"])


@pytest.mark.parametrize(
    ("scores", "threshold", "message"),
    [
        ("p", 0.5, "`threshold` needs the class that 'p' is the score of"),
        (None, 0.5, "`threshold` needs one column of scores of one class, got no `scores`"),
        (["p", "q"], 0.5, "needs one column of scores of one class, got 'p', 'q'"),
        ({"p": ["ham", "spam"]}, 0.5, "needs one column of scores of one class, got 'p'"),
        ({"p": "spam"}, float("nan"), "`threshold` must be a finite number, got nan"),
        ({"p": "eggs"}, 0.5, "`threshold` is for two classes, got 'eggs', "),
        ({"p": "spam"}, None, "must have a column for each class, got 'p' alone"),
        (["p"], None, "must have a column for each class, got 'p' alone"),
    ],
)
def test_what_is_not_clear_is_refused(scores: Any, threshold: Any, message: str) -> None:
    frame = pd.DataFrame(TABLE | {"q": [0.1] * 5})
    with pytest.raises(InputError, match=message):
        ConfusionMatrix.from_frame(frame, scores=scores, threshold=threshold)
