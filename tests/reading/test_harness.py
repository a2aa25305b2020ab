"""Sample files of lm-evaluation-harness, shaped as its ``--log_samples`` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deconfuse import ConfusionMatrix, InputError
from deconfuse.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:Read `label` from column 'target'")


def sample(doc_id: int, target: str, answers: list[Any], **more: Any) -> dict[str, Any]:
    """Return one line of ``samples_<task>_<date>.jsonl``: everything inside lists is text there."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"Question {doc_id}?", "choices": ["x", "y"], "answer": target},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Question {doc_id}?", "arg_1": {"until": ["\n"]}}},
        "resps": [answers],
        "filtered_resps": answers,
        "metrics": ["exact_match"],
        "doc_hash": "5f",
        "prompt_hash": "6a",
        "target_hash": "7b",
        "exact_match": float(answers == [target]),
    } | more


def write(folder: Path, samples: list[dict[str, Any]], name: str = "samples_task.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in samples))
    return path


def generated(filter: str, answers: str) -> list[dict[str, Any]]:
    spelled = {"-": "[invalid]"}
    return [
        sample(k, "ABAB"[k % 4], [spelled.get(answer, answer)], filter=filter)
        for k, answer in enumerate(answers)
    ]


def test_the_extracted_answer_is_the_prediction_and_invalid_an_outcome(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_file(write(tmp_path, generated("strict-match", "ABBA--AB")))
    assert cm.labels == ("A", "B")
    assert cm.counts.tolist() == [[2, 1], [1, 2]]
    assert cm.outcomes == ("[invalid]",)
    assert cm.outcome_counts.tolist() == [[1], [1]]


def test_without_an_invalid_answer_there_is_no_outcome(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_file(write(tmp_path, generated("none", "ABBA")))
    assert cm.outcomes == ()
    named = ConfusionMatrix.from_file(
        write(tmp_path, generated("none", "AB-A")), labels=["A", "B", "[invalid]"]
    )
    assert named.outcomes == ()
    assert named.total == 4


def test_other_answers_go_where_the_caller_says(tmp_path: Path) -> None:
    path = write(tmp_path, generated("none", "AB-C"))
    cm = ConfusionMatrix.from_file(path, labels=["A", "B"], other="no choice")
    assert cm.outcomes == ("no choice", "[invalid]")
    assert cm.outcome_counts.tolist() == [[0, 1], [1, 0]]


def test_of_several_filters_one_must_be_chosen(tmp_path: Path) -> None:
    both = generated("strict-match", "AB--") + generated("flexible-extract", "ABAA")
    path = write(tmp_path, both)
    with pytest.raises(InputError, match="2 filters: 'flexible-extract', 'strict-match'") as error:
        ConfusionMatrix.from_file(path)
    assert "where={'filter': 'flexible-extract'}" in str(error.value)
    strict, flexible = (
        ConfusionMatrix.from_file(path, where={"filter": name})
        for name in ("strict-match", "flexible-extract")
    )
    assert (strict.total, strict.n_samples, flexible.total) == (2, 4, 4)
    # Older versions do not say which line is of which filter.
    unnamed = [{k: v for k, v in one.items() if k != "filter"} for one in both]
    with pytest.raises(InputError, match="got 4 `doc_id` again, and no key `filter`"):
        ConfusionMatrix.from_file(write(tmp_path, unnamed))


def test_of_choices_the_likeliest_is_predicted(tmp_path: Path) -> None:
    lines = [
        sample(0, "1", [["-3.5", "False"], ["-1.25", "True"], ["-9.0", "False"]], filter="none"),
        sample(1, "1", [["-0.5", "True"], ["-1.25", "False"], ["-9.0", "False"]], filter="none"),
        # As numpy does, and so the metric `acc`: the first of the highest.
        sample(2, "2", [["-3.0", "False"], ["-1.0", "False"], ["-1.0", "False"]], filter="none"),
    ]
    cm = ConfusionMatrix.from_file(write(tmp_path, lines), labels=["0", "1", "2"])
    assert cm.counts.tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 0]]
    # The first versions wrote numbers as numbers.
    for line in lines:
        line["target"] = int(line["target"])
        line["filtered_resps"] = [[float(score), False] for score, _ in line["filtered_resps"]]
    old = ConfusionMatrix.from_file(write(tmp_path, lines), labels=[0, 1, 2])
    assert old.counts.tolist() == cm.counts.tolist()
    lines[0]["target"] = "Paris"
    with pytest.raises(InputError, match="position of the right one, got target Paris"):
        ConfusionMatrix.from_file(write(tmp_path, lines))


@pytest.mark.parametrize("answers", [["A", "B"], [], [["A"]], [["x", "y"], ["z", "w"]]])
def test_other_shapes_are_refused(tmp_path: Path, answers: list[Any]) -> None:
    path = write(tmp_path, [sample(0, "1", ["A"]), sample(1, "1", answers)])
    with pytest.raises(InputError, match=r"one answer, or a log-likelihood|Choices must have"):
        ConfusionMatrix.from_file(path)


def test_a_prediction_of_the_file_wins(tmp_path: Path) -> None:
    lines = [sample(0, "A", ["A"], prediction="B"), sample(1, "B", ["A"], prediction="B")]
    assert ConfusionMatrix.from_file(write(tmp_path, lines)).counts.tolist() == [[0, 1], [0, 1]]


def test_two_files_paired_by_document_keep_their_invalid_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        str(write(tmp_path, generated("none", answers * 20)[:40], name))
        for name, answers in (("one.jsonl", "AB-A"), ("two.jsonl", "ABAA"))
    ]
    with pytest.raises(SystemExit) as ended:
        main(["compare", *files, "--id", "doc_id", "--label", "target", "--json"])
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert found["labels"] == ["A", "B"]
    assert [change["outcome"] for change in found["outcomes"]] == ["[invalid]"]
    assert found["right_of_all"]["second"] == 0.75 > found["right_of_all"]["first"] == 0.5


def test_real_sample_files_of_the_harness_are_read_as_they_are() -> None:
    data = Path(__file__).parents[2] / "docs" / "data"
    for name, n_invalid, exact_match in (("plain", 118, 278), ("prefixed", 13, 320)):
        cm = ConfusionMatrix.from_file(data / f"samples_continents_{name}.jsonl.gz")
        assert cm.n_samples == 564
        assert cm.outcome_counts.sum() == n_invalid
        assert cm.counts.diagonal().sum() == exact_match
