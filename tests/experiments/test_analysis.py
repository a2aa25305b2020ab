"""From records to numbers, verdicts and text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from making import make_record

import deconfuse as dc
from deconfuse import InputError
from deconfuse.experiments.analysis import (
    METHODS,
    Question,
    Sample,
    Scores,
    normalizations,
    off_diagonal_overlap,
    score_records,
    slope,
    to_rows,
)
from deconfuse.experiments.claims import Claim, Evidence, Support, bi_is_best, paper_claims
from deconfuse.experiments.config import ALPHAS, RunConfig
from deconfuse.experiments.extensions import geometry_rows, other_estimates, past_the_paper
from deconfuse.experiments.records import (
    WEIGHTINGS,
    Record,
    record_path,
    write_record,
)
from deconfuse.experiments.reproduction import write_results
from deconfuse.experiments.sweep import plan_runs


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [make_record(config) for config in plan_runs(["mnist", "mine"], ALPHAS, range(4))]


def test_scores_are_what_the_paper_defines(records: list[Record]) -> None:
    scores = score_records(records)
    record = next(r for r in records if r.config == RunConfig("mnist", 2, 0.3))
    model_1 = next(r for r in records if r.config == RunConfig("mnist", 2, 0.3).balanced)
    bi = dc.normalize(record.matrix, "bi", epsilon=0.25).matrix
    for target, metric, expected in (
        ("balanced", "overlap", dc.overlap(model_1.matrix, bi)),
        ("balanced", "kl", dc.kl_divergence(model_1.matrix + 0.25, bi)),
        ("gcm row", "overlap", dc.overlap(record.gcms["row"], bi)),
        (
            "bi(balanced)",
            "off-diagonal overlap",
            off_diagonal_overlap(dc.normalize(model_1.matrix, "bi", epsilon=0.25).matrix, bi),
        ),
    ):
        question = Question("mnist", 0.3, target, "bi", metric)
        assert scores.values[question][2] == pytest.approx(expected)
    assert scores.datasets() == ["mnist", "mine"]
    assert scores.alphas("mnist") == list(ALPHAS)


def test_a_run_without_its_balanced_model_has_experiment_2_only(records: list[Record]) -> None:
    alone = [r for r in records if not r.config.is_balanced]
    found = {q.target for q in score_records(alone).questions()}
    gcms = {f"gcm {name}" for name in METHODS}
    assert found == gcms | {f"shuffled {name}" for name in gcms}


@pytest.mark.parametrize("change", [{"model": "forest"}, {"n_components": 3}])
def test_two_runs_of_one_seed_are_refused(records: list[Record], change: dict[str, Any]) -> None:
    other = replace(records[1], config=replace(records[1].config, **change))
    assert len(score_records([*records, records[1]]).questions()) > 0
    (name,) = change
    with pytest.raises(InputError, match=f"got two of mnist, seed 0, alpha 10: {name} ") as error:
        score_records([*records, other])
    assert "a folder of their own" in str(error.value)


def test_off_diagonal_overlap() -> None:
    a, b = (
        np.array([[8.0, 1, 1], [2, 9, 0], [0, 0, 7]]),
        np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]]),
    )
    assert off_diagonal_overlap(a, b) == pytest.approx(0.25 + 0.5)
    assert np.isnan(off_diagonal_overlap(np.eye(3), b))


def test_intervals_are_students() -> None:
    sample = Sample(np.random.default_rng(0).normal(size=5))
    expected = scipy.stats.ttest_1samp(sample.values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(sample.interval(), expected)
    assert np.isnan(Sample(np.array([1.0])).interval()).all()


def test_slope_is_least_squares_over_equal_steps() -> None:
    questions = {Question("d", a, "t", "m", "overlap"): {0: 0.0} for a in ALPHAS}
    scores = Scores(questions)
    heights = {
        alpha: {0: 0.1 * k, 1: 1 - 0.3 * k, 7: 5.0, 8: 2.0 * k} for k, alpha in enumerate(ALPHAS)
    }
    # A missing level leaves a gap and does not make a step of two; too few leave the seed out.
    del heights[3.0][0], heights[0.1][8]
    for alpha in ALPHAS[1:4]:
        del heights[alpha][7]
    found = slope(scores, "d", lambda alpha: heights[alpha])
    assert found is not None
    np.testing.assert_allclose(found.values, [0.1, -0.3, 2.0])
    ends = Scores({Question("d", a, "t", "m", "overlap"): {0: 0.0} for a in (10.0, 0.1)})
    found = slope(ends, "d", lambda alpha: {0: 0.0 if alpha == 10.0 else 1.0})
    assert found is not None
    np.testing.assert_allclose(found.values, [0.25])


def test_levels_of_a_users_own_are_steps_in_their_order() -> None:
    questions = {Question("d", a, "t", "m", "overlap"): {0: 1 / a} for a in (5.0, 2.0, 0.01)}
    found = slope(Scores(questions), "d", lambda alpha: {0: {5.0: 0, 2.0: 1, 0.01: 2}[alpha]})
    assert found is not None
    np.testing.assert_allclose(found.values, [1.0])
    (claim, *_) = [c for c in paper_claims(Scores(questions)) if "widens" in c.title]
    assert "α (5, 2, 0.01)" in claim.measured


def test_a_number_that_is_not_defined_is_no_score(records: list[Record]) -> None:
    """A balanced model without errors has no errors to overlap."""
    first = [record for record in records if record.config.dataset == "mine"]
    flawless = np.diag(first[0].matrix.sum(axis=1))
    changed = [replace(first[0], matrix=flawless), *first[1:]]
    question = Question("mine", 0.1, "balanced", "bi", "off-diagonal overlap")
    before, after = (score_records(r).sample(question) for r in (first, changed))
    assert before is not None
    assert after is not None
    assert (before.n, after.n) == (4, 3)
    assert np.isfinite(after.mean)


@pytest.mark.parametrize(
    ("values", "sign", "support"),
    [
        ([0.1, 0.2, 0.15], 1, Support.YES),
        ([0.1, 0.2, 0.15], -1, Support.NO),
        ([0.1, -0.1, 0.05, -0.07], 1, Support.UNCLEAR),
        ([0.002, 0.003, 0.0025], 1, Support.ZERO),
        ([-0.001, 0.001, 0.0], -1, Support.ZERO),
        ([0.5, 0.6], 1, Support.FEW),
    ],
)
def test_support(values: list[float], sign: int, support: Support) -> None:
    assert Evidence("a", "b", Sample(np.array(values)), sign).support is support


def claim(*supports: str) -> Claim:
    values = {"y": [1.0, 1.1, 1.2], "n": [-1.0, -1.1, -1.2], "u": [1.0, -1.0, 0.1], "f": [1.0]}
    values["z"] = [0.001, 0.002, 0.001]
    evidence = [
        Evidence("MNIST", f"c{k}", Sample(np.array(values[s])), 1) for k, s in enumerate(supports)
    ]
    return Claim("1", "t", "s", "m", tuple(evidence))


@pytest.mark.parametrize(
    ("supports", "verdict"),
    [
        ("yyf", "holds (2 of 2 cells)"),
        ("yyun", "holds in part (2 of 4 cells; 1 unclear, 1 the opposite)"),
        ("ynn", "does not hold (1 of 3 cells; 2 the opposite)"),
        ("uz", "does not hold (0 of 2 cells; 1 near zero, 1 unclear)"),
        ("ff", "not decided (fewer than 3 seeds)"),
        ("", "not decided (fewer than 3 seeds)"),
    ],
)
def test_verdict(supports: str, verdict: str) -> None:
    assert claim(*supports).verdict == verdict


def planted(better: str) -> Scores:
    """Return scores in which one method is ahead of all others by two points everywhere."""
    rng = np.random.default_rng(0)
    values = {}
    for alpha in ALPHAS:
        for method in METHODS:
            lead = 0.02 if method == better else 0.0
            for metric, sign in (("overlap", 1), ("kl", -1)):
                question = Question("mnist", alpha, "balanced", method, metric)
                values[question] = {s: 0.5 + sign * lead + 0.001 * rng.normal() for s in range(10)}
    return Scores(values)


def test_a_planted_winner_is_found_and_another_is_not() -> None:
    for metric in ("overlap", "kl"):
        for better, expected in (("bi", "holds"), ("row", "does not hold")):
            found = bi_is_best(planted(better), ("balanced", metric), ("1", "t"))
            assert found.verdict.startswith(expected)
    noted = bi_is_best(planted("row"), ("balanced", "overlap"), ("1", "t")).evidence
    assert {item.note for item in noted} == {"row"}


def test_controls_tell_fewer_samples_from_uneven_classes() -> None:
    """Uneven runs that lose exactly what their controls lose support nothing but size."""
    uneven, control = {}, {}
    for step, alpha in enumerate(ALPHAS):
        for method in METHODS:
            question = Question("mnist", alpha, "balanced", method, "overlap")
            lost = 0.01 if method == "bi" else 0.03
            uneven[question] = {s: 0.9 - lost * step + 0.0001 * s for s in range(5)}
            control[question] = {s: 0.9 - 0.01 * step + 0.0002 * s for s in range(5)}
    found = {c.number: c for c in paper_claims(Scores(uneven), Scores(control))}
    assert found["3"].verdict == "holds (4 of 4 cells)"
    supports = {item.column: item.support for item in found["3b"].evidence}
    assert supports.pop("bi") is Support.ZERO
    assert set(supports.values()) == {Support.YES}
    assert "the controls alone: MNIST bi -1.0, row -1.0, col -1.0, all -1.0." in found["3b"].beside
    assert "3b" not in {c.number for c in paper_claims(Scores(uneven))}


def test_a_lead_that_shuffled_embeddings_have_too_is_none() -> None:
    rng = np.random.default_rng(0)
    values = {}
    for kind in ("", "shuffled "):
        for own in METHODS:
            for method in METHODS:
                question = Question("mnist", 1.0, f"{kind}gcm {own}", method, "overlap")
                lead = 0.1 if own == method else 0.0
                if kind == "" and own == method == "row":
                    lead = 0.2
                values[question] = {s: 0.5 + lead + 0.0002 * rng.normal() for s in range(10)}
    found = {c.number: c for c in paper_claims(Scores(values))}
    assert found["5"].verdict == "holds (4 of 4 cells)"
    supports = {item.row: item.support for item in found["5b"].evidence}
    assert supports.pop("MNIST, GCM row") is Support.YES
    assert set(supports.values()) == {Support.ZERO}
    assert found["5b"].beside == "By shuffled embeddings alone, claim 5 holds (4 of 4 cells)."


def test_growth_is_told_beside_that_of_shuffled_embeddings_and_of_all_points() -> None:
    values = {}
    for kind, step in (("", 0.01), ("shuffled ", 0.03), ("equal-points ", 0.005)):
        for place, alpha in enumerate(ALPHAS):
            for method in METHODS:
                question = Question("mnist", alpha, f"{kind}gcm {method}", method, "overlap")
                values[question] = {seed: 0.5 + step * place + 0.001 * seed for seed in range(5)}
    found = {c.number: c for c in paper_claims(Scores(values))}
    assert found["6"].verdict == "holds (3 of 3 cells)"
    assert found["6"].beside == (
        "With shuffled embeddings: MNIST GCM row +3.0, GCM col +3.0, GCM all +3.0."
    )
    assert found["6b"].beside == (
        "With all points and the same seeds: MNIST GCM row +1.0, GCM col +1.0, GCM all +1.0."
    )


def test_both_readings_of_weaker_for_bi() -> None:
    values = {}
    for own in METHODS:
        for method in METHODS:
            question = Question("mnist", 1.0, f"gcm {own}", method, "overlap")
            level = 0.9 if own == method else (0.8 if own == "bi" else 0.6)
            values[question] = {seed: level + 0.001 * seed for seed in range(5)}
    averaged = {
        question._replace(target=f"averaged {question.target}"): {s: by_seed[s] for s in range(3)}
        for question, by_seed in values.items()
    }
    claims = paper_claims(Scores({**values, **averaged}))
    found = {claim.number: claim.verdict for claim in claims}
    for number in ("7", "7c"):
        assert found[number] == "does not hold (0 of 1 cells; 1 near zero)"
    for number in ("7b", "7d"):
        assert found[number] == "holds (1 of 1 cells)"
    assert (
        claims[-1].beside == "With the paper's one grid and the same seeds it " + found["7d"] + "."
    )


def test_rows_have_every_question(records: list[Record]) -> None:
    scores = score_records(records)
    rows = to_rows(scores)
    assert len(rows) == len(scores.questions())
    row = next(r for r in rows if (r[0], r[2], r[3]) == ("mine", "gcm bi", "bi"))
    sample = scores.sample(Question(*row[:5]))  # type: ignore[arg-type]
    assert sample is not None
    assert row[5:] == [sample.mean, *sample.interval(), 4]


def test_fewer_components_are_compared_like_ten(records: list[Record]) -> None:
    record = records[1]
    estimates = normalizations(record.matrix, 0.25)
    for place, weighting in enumerate(WEIGHTINGS):
        ten = dc.overlap(record.gcms[weighting], estimates["bi"])
        coarse = record.coarser[2].overlaps[place, WEIGHTINGS.index("bi")]
        assert 0 < coarse <= 1
        assert coarse != ten
    assert record.coarser[2].n_cells < record.coarser[5].n_cells <= record.n_cells
    rows = {tuple(row[:3]): row for row in geometry_rows(records)}
    network, shuffled = rows["mine", 10, "network"], rows["mine", 10, "shuffled"]
    assert float(str(network[4])) > float(str(shuffled[4]))


def test_shuffled_embeddings_show_what_the_grid_alone_gives(records: list[Record]) -> None:
    record = records[1]
    own = WEIGHTINGS.index("row")
    estimates = normalizations(record.matrix, 0.25)
    real = dc.overlap(record.gcms["row"], estimates["row"])
    assert record.shuffled[10].overlaps[own, own] < real
    assert sorted(record.shuffled) == [2, 3, 5, 10]
    # Records that lack it are told apart from those that have it.
    before = [replace(r, shuffled={}) for r in records]
    assert not any(q.target.startswith("shuffled") for q in score_records(before).questions())


def test_other_estimates_are_doubly_balanced_or_balanced_by_row(records: list[Record]) -> None:
    estimates = other_estimates(records[1])
    for name in ("similarity-choice", "bi(rebalanced)"):
        for axis in (0, 1):
            np.testing.assert_allclose(estimates[name].sum(axis=axis), 1, atol=1e-8)
    np.testing.assert_allclose(estimates["rebalanced"].sum(axis=1), 1)
    np.testing.assert_allclose(estimates["similarity-choice"], estimates["similarity-choice"].T)


def test_results_are_written_from_records_alone_and_equal_each_time(
    records: list[Record], tmp_path: Path
) -> None:
    for record in records:
        write_record(tmp_path / "records", record)
    first = write_results(tmp_path / "one", tmp_path / "records")
    again = write_results(tmp_path / "two", tmp_path / "records")
    assert {path.name for path in first} >= {"REPRODUCTION.md", "scores.csv", "overlap.png"}
    for one, two in zip(first, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name
    text = (tmp_path / "one" / "REPRODUCTION.md").read_text()
    for title in (c.title for c in paper_claims(score_records(records))):
        assert title in text
    assert "|MNIST|4|4|20|0|0|" in text
    # What is said of the paper's runs is not said of a study of anybody's own.
    assert "What the paper leaves open" not in text
    for name in (path.name for path in first if path.suffix == ".png"):
        assert f"figures/{name}" in text


def test_notes_on_the_paper_take_their_facts_from_the_records(
    records: list[Record], tmp_path: Path
) -> None:
    mine = [record for record in records if record.config.dataset == "mnist"]
    controls = plan_runs(["mnist"], [1.0], range(2), "equal-size")
    mine += [make_record(config) for config in controls if not config.is_balanced]
    for record in mine:
        write_record(tmp_path / "records", replace(record, seconds=90.0))
    write_results(tmp_path, tmp_path / "records")
    text = (tmp_path / "REPRODUCTION.md").read_text()
    n_seeds = len({record.config.seed for record in mine})
    assert f"|seeds|30|{n_seeds}|" in text
    assert "|1.5|" in text.split("minutes per run")[1].split("\n\n")[0]
    assert "Controls of equal size exist for MNIST at α = 1." in text
    for place in ("{seeds}", "{controls}", "{shown}"):
        assert place not in text


def test_the_other_reading_is_compared_on_the_same_seeds(records: list[Record]) -> None:
    mnist = [record for record in records if record.config.dataset == "mnist"]
    other = [make_record(c) for c in plan_runs(["mnist"], [1.0, 0.1], range(3), "budget")]
    new = [record for record in other if not record.config.is_balanced]
    scores = score_records(mnist, extra=other_estimates)
    parts = past_the_paper([*mnist, *new], scores, [], geometry_rows(mnist))
    text = next(part for part in parts if "other reading" in part)
    assert "on the same seeds (3 of MNIST)" in text
    assert " of 3 with 2, 3, 5 components (" in text
    # The main results know nothing of it.
    assert score_records([*mnist, *new]).values == score_records(mnist).values


def test_experiment_2_alone_has_its_curves(records: list[Record], tmp_path: Path) -> None:
    balanced, *mine = [r for r in records if (r.config.dataset, r.config.seed) == ("mnist", 0)]
    for record in (balanced, *mine):
        write_record(tmp_path / "records", record)
    write_results(tmp_path, tmp_path / "records")
    assert (tmp_path / "figures" / "kl.png").exists()
    record_path(tmp_path / "records", balanced.config).unlink()
    names = {path.name for path in write_results(tmp_path, tmp_path / "records")}
    assert {"overlap.png", "overlap-other-targets.png"} <= names
    # What was drawn of other records is not shown as if it were of these.
    assert not (tmp_path / "figures" / "kl.png").exists()
    assert "kl.png" not in (tmp_path / "REPRODUCTION.md").read_text()
    assert not names & {"kl.png", "off-diagonal.png", "other-methods.png"}


def test_no_records_no_results(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    with pytest.raises(
        InputError, match=r"There must be records of runs in .*, but there are none"
    ):
        write_results(tmp_path, tmp_path / "records")
