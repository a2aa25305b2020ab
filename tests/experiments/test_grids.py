"""What kept arrays say of the grid, and people of the networks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from making import make_arrays, make_record

import deconfuse as dc
from deconfuse import InputError
from deconfuse.experiments import human
from deconfuse.experiments.analysis import Question, complete_seeds
from deconfuse.experiments.claims import paper_claims
from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.grids import (
    N_SHIFTS,
    grid_summary,
    measure_grids,
    read_grids,
    score_grids,
    write_grids,
)
from deconfuse.experiments.records import WEIGHTINGS
from deconfuse.experiments.runs import write_arrays

CONFIGS = [RunConfig("mine", seed, alpha) for seed in range(3) for alpha in (10.0, 0.1)]


def test_grids_are_measured_kept_and_scored(tmp_path: Path) -> None:
    records = [make_record(config) for config in CONFIGS]
    for k, config in enumerate(CONFIGS[:-1]):
        # Levels differ in size, and the last seed lacks one.
        write_arrays(tmp_path / "cache", make_arrays(config, n=400 - 100 * (k % 2)))
    grids = measure_grids(records, tmp_path / "cache")
    assert [grid.config for grid in grids] == CONFIGS[:4]
    # What is known is not measured again, with or without arrays.
    assert measure_grids(records, tmp_path / "nothing", grids) == grids
    write_grids(tmp_path / "grids", grids)
    again = read_grids(tmp_path / "grids")
    assert [grid.to_json() for grid in again] == [grid.to_json() for grid in grids]
    first, arrays = again[0], make_arrays(CONFIGS[0])
    gcms = dc.geometric_confusions(
        arrays.embeddings, arrays.labels, arrays.predictions, epsilon=0.25, n_shifts=N_SHIFTS
    )
    expected = dc.overlap(gcms["row"].matrix, gcms["bi"].normalized)
    place = WEIGHTINGS.index("row"), WEIGHTINGS.index("bi")
    assert first.overlaps["averaged"][place] == pytest.approx(expected, abs=1e-6)
    assert (first.agreement, again[1].agreement < 1) == (1.0, True)
    summary = grid_summary(again)
    assert 0 < summary["averaged"].mean < summary["one"].mean
    assert 0 < summary["pure"].mean < 1
    scores = score_grids(again)
    question = Question("mine", 10.0, "averaged gcm row", "bi", "overlap")
    assert scores.values[question][0] == pytest.approx(expected, abs=1e-6)
    assert {"6b", "7c", "7d"} <= {claim.number for claim in paper_claims(scores)}


def test_a_smallest_level_keeps_all_its_points(tmp_path: Path) -> None:
    for config in CONFIGS[:2]:
        write_arrays(tmp_path, make_arrays(config))
    (one, _) = measure_grids([make_record(config) for config in CONFIGS[:2]], tmp_path)
    arrays = make_arrays(CONFIGS[0])
    gcms = dc.geometric_confusions(
        arrays.embeddings, arrays.labels, arrays.predictions, epsilon=0.25
    )
    own = dc.overlap(gcms["row"].matrix, gcms["row"].normalized)
    assert one.overlaps["equal-points"][0, 0] == pytest.approx(own, abs=1e-6)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    assert read_grids(tmp_path) == []
    (tmp_path / "mnist.jsonl").write_text('{"config":{}}\n')
    with pytest.raises(InputError, match="must be measurements of grids"):
        read_grids(tmp_path)


def test_people_are_compared_by_rank(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers as a network does agrees with it fully."""
    from deconfuse.experiments.datasets import load_dataset

    labels = load_dataset("cifar10", data).test_labels
    records = [make_record(RunConfig("cifar10", 0, alpha)) for alpha in (10.0, 0.1)]
    rates = np.zeros((10, 10))
    rates[:4, :4] = dc.normalize(records[0].matrix, "bi", epsilon=0.25).matrix
    answers = rates[labels]
    path = tmp_path / "answers.npy"
    np.save(path, answers)
    with pytest.raises(InputError, match="must be CIFAR-10H's"):
        human.read_answers(path, labels)
    with pytest.raises(InputError, match="`--human` must be a file"):
        human.read_answers(tmp_path / "nothing.npy", labels)
    monkeypatch.setattr(human, "_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    people = human.read_answers(path, labels)
    sizes = np.bincount(labels, minlength=10)
    np.testing.assert_allclose(people, rates * sizes[:, None])
    monkeypatch.setattr(human, "read_answers", lambda *_: rates[:4, :4])
    found = human.compare_with_people(records, path, data)
    for kind in ("directed", "pairs"):
        assert found[f"bi, {kind}"]["10"][0] == pytest.approx(1.0)
    assert found["row, directed"]["10"][0] < 1.0
    human.write_comparison(tmp_path / "human.json", found)
    again = human.read_comparison(tmp_path / "human.json")
    raw = found["raw, directed"]["0.1"][0]
    assert again["raw, directed"]["0.1"][0] == pytest.approx(raw, abs=1e-6)
    assert human.lead(again, "pairs", "raw", "0.1").n == 1
    assert "|α = 0.1, pairs|1|" in human.people_section(again)
    assert (
        "at 2 uneven levels bi ranks errors more as people do than row in 0, col"
        in human.people_verdict(again)
    )
    assert human.read_comparison(tmp_path / "absent.json") == {}


def test_a_seed_counts_once_all_its_levels_are_there(tmp_path: Path) -> None:
    records = [make_record(config) for config in CONFIGS[:-1]]
    for config in CONFIGS[:-1]:
        write_arrays(tmp_path, make_arrays(config))
    assert complete_seeds(records, "mine") == [0, 1]
    assert complete_seeds(records, "another") == []
    assert {grid.config.seed for grid in measure_grids(records, tmp_path)} == {0, 1}
