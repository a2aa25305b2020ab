"""A record says what was measured, is complete or absent, and is never mistaken for another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import make_arrays, make_record

from deconfuse import InputError
from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.records import (
    WEIGHTINGS,
    Record,
    read_record,
    read_records,
    record_path,
    write_record,
)
from deconfuse.experiments.runs import arrays_path, measure, read_arrays, write_arrays

CONFIG = RunConfig("mnist", 0, 0.3)
RECORD = make_record(CONFIG).to_json()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def test_round_trip(tmp_path: Path) -> None:
    record = make_record(CONFIG)
    path = write_record(tmp_path, record)
    assert path == record_path(tmp_path, CONFIG)
    again = read_record(path)
    assert again.config == CONFIG
    assert np.array_equal(again.matrix, record.matrix)
    for name, gcm in record.gcms.items():
        np.testing.assert_allclose(again.gcms[name], gcm, rtol=1e-6)
    assert again.to_json() == path.read_text()
    values = json.loads(path.read_text())
    assert values["epochs"] == record.epochs
    assert values["accuracy"] == pytest.approx(np.trace(record.matrix) / record.matrix.sum())
    recalls = np.diag(record.matrix) / record.matrix.sum(axis=1)
    assert values["balanced_accuracy"] == pytest.approx(recalls.mean())
    assert values["test_sizes"] == record.matrix.sum(axis=1).tolist()


def test_measuring_counts_and_overlaps_the_same_points() -> None:
    import deconfuse as dc

    arrays = make_arrays(CONFIG)
    record = measure(arrays)
    cm = dc.ConfusionMatrix.from_predictions(arrays.labels, arrays.predictions, labels=range(4))
    assert np.array_equal(record.matrix, cm.counts)
    gcm = dc.geometric_confusion(
        arrays.embeddings, arrays.labels, arrays.predictions, weighting="bi", epsilon=0.25
    )
    np.testing.assert_allclose(record.gcms["bi"] * record.cell_volume, gcm.matrix)
    assert record.n_cells == gcm.n_cells
    assert record.epsilon == 0.25


def test_a_class_never_predicted_is_measured_all_the_same() -> None:
    arrays = make_arrays(CONFIG)
    arrays.scores[:, 2] = -100.0
    record = measure(arrays)
    assert record.matrix[:, 2].sum() == 0
    assert all(np.isfinite(gcm).all() for gcm in record.gcms.values())


def test_rebalancing_uses_each_half_on_the_other() -> None:
    arrays = make_arrays(CONFIG, n=2000)
    # A bias put on the scores is found and taken out again.
    arrays.scores[:, 0] += 2.0
    record = measure(arrays)
    assert record.rebalanced is not None
    assert record.rebalanced.sum(axis=1).tolist() == record.matrix.sum(axis=1).tolist()
    recalls = np.diag(record.rebalanced) / record.rebalanced.sum(axis=1)
    assert recalls.mean() > record.balanced_accuracy + 0.05


def test_scores_that_tell_nothing_apart_are_not_rebalanced(tmp_path: Path) -> None:
    arrays = make_arrays(CONFIG)
    arrays.scores[:] = 0.0
    record = measure(arrays)
    assert record.rebalanced is None
    assert read_record(write_record(tmp_path, record)).rebalanced is None


def break_record(path: Path, **changes: object) -> None:
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "must be a record of version 1 .* got versions 2 and 1"),
        ({"config": None}, "version 1 of the protocol, got versions 1 and None"),
        ({"config": {"protocol": 0}}, "version 1 of the protocol, got versions 1 and 0"),
        ({"matrix": [[9] * 4] * 4}, "must agree with itself, but test_sizes is .* give \\[36, 36"),
        ({"matrix": [["a"]]}, "a field is missing or wrong .*invalid literal"),
        ({"matrix": [[]]}, "must be a complete record"),
        ({"rebalanced": [[9] * 4] * 4}, "not all of rebalanced are"),
        ({"gcms": {}}, r"a field is missing or wrong \(KeyError: 'row'"),
        ({"gcms": dict.fromkeys(WEIGHTINGS, [[0.0] * 4] * 4)}, "not all of gcms are"),
        ({"gcms": dict.fromkeys(WEIGHTINGS, [[-5.0] * 4] * 4)}, "not all of gcms are"),
        ({"more": 7}, "must agree with itself, but more is 7 .* give None"),
        ({"history": [float("nan")] * 2}, "a field is missing or wrong .*JSON compliant"),
        ({"train_sizes": [1, 2]}, "not all of train_sizes are"),
        ({"train_sizes": [1, 2, 3, -4]}, "not all of train_sizes are"),
        ({"classes": list("abca")}, "not all of classes are"),
        ({"epsilon": -1}, "not all of epsilon and seconds are"),
        ({"n_cells": 0}, "not all of cell_volume and n_cells are"),
        (
            {"coarser": {"2": {"n_cells": 3, "overlaps": [[9] * 4] * 4}}},
            "not all of coarser and shuffled are",
        ),
        (
            {"config": RunConfig("mnist", 1, 0.3).to_json()},
            "must hold the run that it is named after, got the run",
        ),
    ],
)
def test_records_that_cannot_be_used(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = write_record(tmp_path, make_record(CONFIG))
    break_record(path, **changes)
    with pytest.raises(InputError, match=message):
        read_record(path)


def test_one_changed_count_is_noticed(tmp_path: Path) -> None:
    path = write_record(tmp_path, make_record(CONFIG))
    matrix = json.loads(path.read_text())["matrix"]
    # Within a row, so that only the accuracies change.
    matrix[0][0] -= 1
    matrix[0][1] += 1
    break_record(path, matrix=matrix)
    with pytest.raises(InputError, match="must agree with itself, but accuracy is"):
        read_record(path)


@given(data=st.data())
def test_a_field_that_is_missing_or_something_else_is_never_read(data: st.DataObject) -> None:
    """Whatever stands in the place of a field, the record is refused or says the same."""
    values = json.loads(RECORD)
    key = data.draw(st.sampled_from(sorted(values)))
    if data.draw(st.booleans()):
        del values[key]
    else:
        values[key] = data.draw(JSON)
    try:
        read = Record.from_json(json.dumps(values), "it")
    except InputError:
        return
    assert json.loads(read.to_json()) == values


def test_published_records_are_valid_and_keep_their_names_and_bytes() -> None:
    paths = sorted((Path(__file__).parents[2] / "results" / "records").glob("*/*.json"))
    if not paths:
        pytest.skip("the published records are not in this copy")
    for path in paths:
        # Reading compares the name with the hash of the configuration.
        record = read_record(path)
        assert record.to_json() == path.read_text(encoding="utf-8")
        assert record.config.model == "cnn"


def test_a_record_that_is_a_folder_or_too_deep_is_named(tmp_path: Path) -> None:
    path = record_path(tmp_path, CONFIG)
    path.mkdir(parents=True)
    with pytest.raises(InputError, match=r"json must be a record that can be read, but it cannot"):
        read_records(tmp_path)
    with pytest.raises(InputError, match="x must be a record in JSON, but it cannot be read"):
        Record.from_json("[" * 100_000, "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (RECORD[:100].encode(), "must be a record in JSON, but it cannot be read"),
        (b"\xff\xfe" + RECORD.encode(), "must be a record that can be read, but it cannot"),
        (b"[1, 2]", "must be a record of version 1 and"),
    ],
)
def test_half_a_record_and_what_is_none_are_named(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = write_record(tmp_path, make_record(CONFIG))
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_record(path)


def test_a_copy_in_another_folder_is_not_counted_twice(tmp_path: Path) -> None:
    path = write_record(tmp_path, make_record(CONFIG))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="must not be counted twice"):
        read_records(tmp_path)


def test_records_by_relative_paths_and_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_record(tmp_path, make_record(CONFIG))
    assert [record.config for record in read_records(str(tmp_path))] == [CONFIG]
    monkeypatch.chdir(path.parent)
    assert read_record(path.name).config == CONFIG


def test_a_folder_of_records_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a folder of records at .*nowhere"):
        read_records(tmp_path / "nowhere")


def test_read_records_in_order(tmp_path: Path) -> None:
    configs = [RunConfig("mnist", seed, alpha) for seed in (1, 0) for alpha in (0.1, 10.0)]
    configs += [configs[0].balanced]
    for config in configs:
        write_record(tmp_path, make_record(config))
    titles = [record.config.title for record in read_records(tmp_path)]
    assert titles == [
        "mnist, seed 0, alpha 10",
        "mnist, seed 0, alpha 0.1",
        "mnist, seed 1, balanced",
        "mnist, seed 1, alpha 10",
        "mnist, seed 1, alpha 0.1",
    ]
    assert len(read_records(tmp_path, [configs[0], RunConfig("stl10", 0, 1.0)])) == 1


def test_arrays_round_trip(tmp_path: Path) -> None:
    arrays = make_arrays(CONFIG)
    assert write_arrays(tmp_path, arrays) == arrays_path(tmp_path, CONFIG)
    again = read_arrays(tmp_path, CONFIG)
    assert again is not None
    assert measure(again).to_json() == measure(arrays).to_json()


@pytest.mark.parametrize("damage", ["absent", "unequal", "another run"])
def test_arrays_that_cannot_be_used_are_made_again(damage: str, tmp_path: Path) -> None:
    if damage == "unequal":
        arrays = make_arrays(CONFIG)
        write_arrays(tmp_path, replace(arrays, scores=arrays.scores[1:]))
    elif damage == "another run":
        path = write_arrays(tmp_path, make_arrays(RunConfig("mnist", 1, 0.3)))
        path.rename(arrays_path(tmp_path, CONFIG))
    assert read_arrays(tmp_path, CONFIG) is None


def test_arrays_with_any_byte_changed_are_read_or_made_again(tmp_path: Path) -> None:
    path = write_arrays(tmp_path, make_arrays(CONFIG, n=40))
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=300):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        arrays = read_arrays(tmp_path, CONFIG)
        assert arrays is None or arrays.config == CONFIG
