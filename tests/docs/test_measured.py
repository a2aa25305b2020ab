"""What the guide and RESULTS.md show of simulations is what was measured and kept."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from tests.support import require

ROOT = Path(__file__).parents[2]
PARTS = {
    "bias_findings": "bias-findings.md",
    "coverage": "coverage.md",
    "coverage_comparison": "coverage-comparison.md",
    "designs": "designs.md",
    "gate": "gate.md",
    "look_alikes": "look-alikes.md",
    "more_data": "more-data.md",
    "ranked_pairs": "ranked-pairs.md",
    "rebalance": "rebalance.md",
    "rebalancer_advice": "rebalancer-advice.md",
    "score_intervals": "score-intervals.md",
    "separability_limit": "separability-limit.md",
}


@pytest.mark.parametrize("part", PARTS)
def test_the_tables_are_made_of_what_was_measured(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch", "PIL")
    monkeypatch.syspath_prepend(str(ROOT))
    rows = json.loads((ROOT / "benchmarks" / "measured" / f"{part}.json").read_text())["rows"]
    table = import_module(f"benchmarks.{part}").table(rows)
    assert (ROOT / "docs" / "generated" / PARTS[part]).read_text(encoding="utf-8") == table + "\n"
    assert table in (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")


def test_the_tables_of_the_estimate_are_made_of_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    rows = json.loads((ROOT / "benchmarks" / "measured" / "estimate.json").read_text())["rows"]
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    for name, _, make in import_module("benchmarks.estimate_tables").TABLES:
        table = make(rows)
        kept = (ROOT / "docs" / "generated" / name).read_text(encoding="utf-8")
        assert kept == table + "\n", name
        assert table in results, name


def test_what_was_measured_keeps_what_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    covered = import_module("benchmarks.estimate_tables").covered

    def rows(part: str) -> list[dict]:
        return json.loads((ROOT / "benchmarks" / "measured" / f"{part}.json").read_text())["rows"]

    enough = [row["coverage"] for row in rows("coverage") if row["expected_from"] == 10.0]
    assert len(enough) == 32
    assert 0.93 <= min(enough) <= max(enough) <= 0.97
    even = [row for row in rows("look_alikes") if row["times"] == 1]
    assert sum(row["any"] * row["runs"] for row in even) / sum(row["runs"] for row in even) <= 0.06
    equal = [row for row in rows("coverage_comparison") if row["kind"] == "equal"]
    runs = sum(row["runs"] for row in equal)
    assert sum(row["rejected"] * row["runs"] for row in equal) / runs <= 0.08
    assert sum(row["any_cell"] * row["runs"] for row in equal) / runs <= 0.08
    gate = rows("gate")
    for kind in ("equal_failed", "mix_failed", "paired_equal_failed"):
        alarms = [(row["runs"], row[kind]) for row in gate if kind in row]
        assert sum(n * share for n, share in alarms) / sum(n for n, _ in alarms) <= 0.05
    found = [row for row in gate if row.get("pair", 0) >= 0.02 and row["n_classes"] <= 10]
    assert min(row["pair_failed"] for row in found) >= 0.8
    grid = [row for row in rows("estimate") if row["part"] == "grid"]
    assert sum(row["worse_by"] > 2 for row in grid) <= 0.02 * len(grid)
    # Diagonal and errors by expected count, and the diagonal by expected errors.
    for side in (0, 1, 2):
        counted = [(held, cells) for held, cells in covered(grid, "estimate_bi", side) if cells]
        assert min(held / cells for held, cells in counted) >= 0.93
        # Those from one expected sample, or error, on.
        assert max(held / cells for held, cells in counted[-4:]) <= 0.98
    for row in rows("estimate"):
        if row["part"] == "uneven":
            held, cells = covered([row], "estimate_bi", 2).sum(axis=0)
            assert held / cells >= 0.89
    assert sum(row["score_held"] for row in grid) / sum(row["sets"] for row in grid) >= 0.93
    assert sum(abs(row["score"][0]) for row in grid) / len(grid) < 0.01
    every = rows("coverage_comparison")
    assert sum(row["covered"] * row["runs"] for row in every) / sum(r["runs"] for r in every) > 0.95


def test_weights_that_were_measured_gain_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the offsets gain: regression 0.8 and more, networks with offsets of their own."""
    require("torch", "PIL")
    monkeypatch.syspath_prepend(str(ROOT))
    bench = import_module("benchmarks.rebalance")
    rows = json.loads((ROOT / "benchmarks" / "measured" / "rebalance.json").read_text())["rows"]

    def gain(model: str, remedy: str) -> float:
        some = [row for row in rows if row["model"] == model and remedy in row]
        return sum(row[remedy] - row["none"] for row in some) / len(some)

    for model in bench.MODELS:
        remedy = "both" if model == bench.NETWORK else "weights"
        least = 0.7 if model == bench.TREES else 0.8
        assert gain(model, remedy) >= least * gain(model, "rebalancer") > 0
        assert min(gain(model, "weights"), gain(model, "counts")) > 0


def test_what_offsets_cost_is_said_beside_their_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    require("torch", "PIL")
    monkeypatch.syspath_prepend(str(ROOT))
    bench = import_module("benchmarks.rebalance")
    rows = json.loads((ROOT / "benchmarks" / "measured" / "rebalance.json").read_text())["rows"]
    guide = (ROOT / "docs" / "guide" / "diagnose-and-repair.md").read_text(encoding="utf-8")
    far = {bench.MODELS[0], bench.NETWORK}
    fitted = [row for row in rows if row["model"] not in far]

    def told(some: list[dict], remedy: str) -> tuple[float, float]:
        gain = sum(row[remedy] - row["none"] for row in some)
        change = sum(row["plain"][remedy] - row["plain"]["none"] for row in some)
        return gain / len(some), change / len(some)

    gain, change = told(rows, "rebalancer")
    assert (
        f"gains {gain:.1f} points of balanced accuracy on average over all 20 settings, and plain"
        f" accuracy changes by {change:+.1f}."
    ) in guide
    first, network = (
        told([row for row in rows if row["model"] == model], "rebalancer")
        for model in (bench.MODELS[0], bench.NETWORK)
    )
    assert (
        f"{first[0]:.1f} and {first[1]:+.1f} points for regression at C = 0.0003,"
        f" {network[0]:.1f} and {network[1]:+.1f} for the network."
    ) in guide
    gain, change = told(fitted, "rebalancer")
    fell = sum(row["plain"]["rebalancer"] < row["plain"]["none"] for row in fitted)
    settings: dict[tuple, list[dict]] = {}
    for row in fitted:
        settings.setdefault((row["dataset"], row["alpha"], row["model"]), []).append(row)
    least = min((told(some, "rebalancer") for some in settings.values()), key=lambda both: both[1])
    assert (
        f"{gain:.1f} points of balanced accuracy gained, {-change:.1f} of plain accuracy lost** (at"
        f" most {-least[1]:.1f} in a setting, where {least[0]:.1f} were gained); plain accuracy"
        f" fell in {fell} of {len(fitted)} runs."
    ) in guide
    others = [told(fitted, name) for name in fitted[0]["plain"] if all(name in r for r in fitted)]
    others = [both for both in others if both[0] and both != (gain, change)]
    gains, losses = [both[0] for both in others], [-both[1] for both in others]
    prior = told(fitted, "prior")
    assert (
        f"the others gain {min(gains):.1f} to {max(gains):.1f} points and lose"
        f" {min(losses):.1f} to {max(losses):.1f} of plain accuracy, the prior {prior[0]:.1f} and"
        f" {-prior[1]:.1f}."
    ) in guide


def test_the_best_classifier_is_seldom_advised_to_be_repaired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    kept = ROOT / "benchmarks" / "measured" / "rebalancer_advice.json"
    rows = json.loads(kept.read_text())["rows"]
    guide = (ROOT / "docs" / "guide" / "diagnose-and-repair.md").read_text(encoding="utf-8")
    advised = [100 * row["best"]["advised"] for row in rows if row["skew"] >= 3]
    assert max(advised) <= 5.0
    nearly_even = max(100 * row["best"]["advised"] for row in rows if row["skew"] == 1.4)
    assert (
        f"at most {max(advised):.1f} % of the classifiers that are best, and for"
        f" {sum(advised) / len(advised):.1f} % on average"
    ) in guide
    assert f"for up to {nearly_even:.1f} %." in guide
    hidden = [row["0.5"] for row in rows if row["skew"] == 10]
    (few, more), (low, high) = (
        sorted(round(100 * both[what]) for both in hidden) for what in ("advised", "found")
    )
    assert f"in {few} to {more} % instead of {low} to {high} %" in guide
    told = [row[name] for row in rows for name in ("0.5, even", "1, even") if row["skew"] > 1]
    kept_in = min(both["advised"] / both["found"] for both in told)
    assert f"keeps the advice in {100 * kept_in:.0f} % of the cases or more." in guide
