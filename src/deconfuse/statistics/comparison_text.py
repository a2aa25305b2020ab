"""What a comparison says: sentences for people, plain values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse._text import (
    listed,
    percent_text,
    plain_value,
    plural,
    proportion,
    quoted,
    significant,
)
from deconfuse.statistics.findings import Finding
from deconfuse.statistics.metrics import effective_labels, has_errors

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.statistics.comparison import Comparison
    from deconfuse.statistics.outcomes import OutcomeChange
    from deconfuse.statistics.score_differences import ScoreDifference

__all__ = ["change_findings", "changes", "counted_cells", "headline", "summary", "to_dict"]

_ROWS = 10
# Classes named in the sentence about recalls, of those that fell and of those that rose.
_TOLD = 3
_SMALLEST_P = 0.001
# Cells that are told of on the page.
_MOST_CHANGES = 10
# From so many samples of a class without one error, more than a tenth of errors is unlikely: 3 / n.
_ENOUGH_WITHOUT_ERROR = 30


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return everything as JSON knows it; what is undefined is None."""
    values = {
        "headline": headline(comparison),
        "labels": comparison.labels,
        "accuracy": comparison.accuracy,
        "balanced_accuracy": comparison.balanced_accuracy,
        "accuracy_at_equal_shares": comparison.accuracy_at_equal_shares,
        "right_of_all": comparison.right_of_all,
        "recalls": comparison.recalls,
        "label_shares_p_value": comparison.label_shares_p_value,
        "bias_p_value": comparison.bias_p_value,
        "overlap": comparison.overlap,
        "overlap_interval": comparison.overlap_interval,
        "overlap_if_equal": comparison.overlap_if_equal,
        "p_value": comparison.p_value,
        "smallest_p_value": comparison.smallest_p_value,
        "can_tell": comparison.can_tell,
        "is_paired": comparison.is_paired,
        "level": comparison.level,
        "epsilon": comparison.first.epsilon,
        "difference": comparison.difference,
        "standard_errors": comparison.standard_errors,
        "outcomes": comparison.outcomes,
        "p_values": comparison.p_values,
        "raw_p_values": comparison.raw_p_values,
        "top": comparison.top(_ROWS),
        "deteriorations": comparison.deteriorations(),
    }
    return {name: plain_value(value) for name, value in values.items()}


def headline(comparison: Comparison, names: tuple[str, str] = ("the first", "the second")) -> str:
    """Return which of two is better, by how much, and whether it may be chance."""
    alpha = 1 - comparison.level
    scores = _named_scores(comparison)
    if comparison.is_same:
        told = [f"{name} {proportion(score.first, 3)}" for name, score in scores.items()]
        samples = plural(comparison.first.source.total, "sample", "samples")
        return f"Both predict the same for all {samples}: {', '.join(told)}."
    signs = {
        name: np.sign(score.difference)
        for name, score in scores.items()
        if score.p_value < alpha
        and (score is comparison.balanced_accuracy or not _depends_on_shares(comparison))
    }
    first, second = names
    second = second[:1].upper() + second[1:]
    if not signs:
        verdict = "Neither is shown to be better"
    elif len(set(signs.values())) == 2:
        words = [f"{_compared(sign)} in {name}" for name, sign in signs.items()]
        verdict = f"{second} is {' and '.join(words)} than {first}"
    else:
        (name, sign), *others = signs.items()
        where = "" if others else f" in {name}"
        verdict = f"{second} is {_compared(sign)} than {first}{where}"
    told = [f"{name} {_change(score)}" for name, score in scores.items()]
    return f"{verdict}: {'; '.join(told)}.{_as_counted(comparison)}"


def _named_scores(comparison: Comparison) -> dict[str, ScoreDifference]:
    """Return the scores that tell which of two is better, by what they are called."""
    equal = " at the same label shares" if comparison.has_other_labels else ""
    accuracy = comparison.accuracy_at_equal_shares if equal else comparison.accuracy
    whole = comparison.right_of_all
    named = "" if whole is None else " where a class was named"
    shared = _of_shared(comparison)
    scores = {} if whole is None else {f"right answers of all samples{equal}": whole}
    scores[f"accuracy{named}{equal}{shared if equal else ''}"] = accuracy
    if comparison.shared_classes:
        scores[f"balanced accuracy{named}{shared}"] = comparison.balanced_accuracy
    return scores


def _of_shared(comparison: Comparison) -> str:
    """Return of which classes a score is that leaves out those with labels on one side only."""
    if not comparison._scores.lacks_classes:
        return ""
    return f" of the {plural(len(comparison.shared_classes), 'class', 'classes')} that both have"


def _depends_on_shares(comparison: Comparison) -> bool:
    """Return whether one is better at the label shares of the first, the other at the second's."""
    at_first, at_second = comparison.accuracy_by_shares
    is_opposite = (at_first[1] - at_first[0]) * (at_second[1] - at_second[0]) < 0
    return comparison.has_other_labels and is_opposite


def _as_counted(comparison: Comparison) -> str:
    """Say what accuracy is at either label shares, and of all samples, where that differs."""
    if not comparison.has_other_labels:
        return ""
    told = [
        f"{proportion(one, 3)} → {proportion(other, 3)}"
        for one, other in comparison.accuracy_by_shares
    ]
    text = (
        f" The label shares differ: accuracy{_of_shared(comparison)} would be {told[0]} with those"
        f" of the first, {told[1]} with those of the second."
    )
    if comparison._scores.lacks_classes:
        first, second = comparison.accuracy.first, comparison.accuracy.second
        text += f" Of all samples, {proportion(first, 3)} → {proportion(second, 3)} are right."
    return text


def changes(comparison: Comparison) -> list[str]:
    """Return which recalls surely differ, and what changed underneath, with a test each."""
    if comparison.is_same:
        return []
    alpha = 1 - comparison.level
    pairing = "paired samples" if comparison.is_paired else "counted as independent samples"
    labels = [n.source.label_counts for n in (comparison.first, comparison.second)]
    if not comparison.is_paired and np.array_equal(labels[0], labels[1]):
        pairing += "; if both predicted the same ones, pair them for sharper tests"
    shares = (
        "the same samples"
        if comparison.is_paired
        else _test(comparison.label_shares_p_value, alpha)
    )
    return [
        _recalls(comparison, alpha),
        f"What changed underneath ({pairing}):",
        f"- label shares: {shares}.",
        "- prediction bias, which classes are predicted too often or too rarely:"
        f" {_test(comparison.bias_p_value, alpha)}.",
        f"- similarity, which classes are confused with label shares and prediction bias taken out:"
        f" {_similarity(comparison, alpha)}.",
        *(_outcome(change, alpha) for change in comparison.outcomes),
    ]


def summary(comparison: Comparison) -> list[str]:
    """Return which is better, what changed underneath, the Overlap, and how many cells differ."""
    if comparison.is_same:
        return [headline(comparison)]
    low, high = comparison.overlap_interval
    return [
        headline(comparison),
        *changes(comparison),
        f"The bi-normalized counts (bi + ε) overlap by {proportion(comparison.overlap, 3)}, where"
        " two equal classifiers with as many samples would show about"
        f" {proportion(comparison.overlap_if_equal, 3)}. Without sampling noise they overlap by"
        f" {proportion(low, 3)} to {proportion(high, 3)} ({comparison.level:.0%}), and equal ones"
        f" by 1.{_why_both(comparison, high)}",
        *_cells(comparison),
    ]


def _cells(comparison: Comparison) -> list[str]:
    """Return how many cells differ, and of which classes there are none."""
    told = []
    known = ~np.isnan(comparison.difference)
    if known.any() and (comparison.p_value < 1 - comparison.level or comparison.can_tell):
        alpha = 1 - comparison.level
        significant = int(((comparison.p_values < alpha) & known).sum())
        told.append(
            f"{significant:,} of {int(known.sum()):,} bi-normalized cells differ at {alpha:.2g},"
            " corrected for their number."
        )
    absent = [comparison.labels[k] for k in np.flatnonzero(~known.diagonal())]
    if absent:
        names = listed([quoted(label) for label in absent], _TOLD, "class", "classes")
        told.append(
            f"Bi-normalized cells leave out {names}, never a label or never predicted in at least"
            " one of the two."
        )
    return told


def _why_both(comparison: Comparison, high: float) -> str:
    """Say why an interval may hold 1 beside a test that says different."""
    if comparison.p_value >= 1 - comparison.level or high < 1:
        return ""
    return " That range is cautious; the test of similarity is sharper."


def _compared(sign: float) -> str:
    return "better" if sign > 0 else "worse"


def _change(score: ScoreDifference) -> str:
    # As many decimals as show that the two differ.
    differing = (n for n in range(3, 9) if round(score.first, n) != round(score.second, n))
    places = next(differing, 3)
    return (
        f"{proportion(score.first, places)} → {proportion(score.second, places)}, difference"
        f" {_points(score.difference)} ({_points(score.low)} to {_points(score.high)}),"
        f" {_p(score.p_value)}"
    )


def _points(difference: float) -> str:
    return proportion(difference, 3, signed=True)


def _p(p_value: float) -> str:
    return "p < 0.001" if p_value < _SMALLEST_P else f"p = {p_value:.2g}"


def _test(p_value: float, alpha: float) -> str:
    return f"{'different' if p_value < alpha else 'no difference shown'} ({_p(p_value)})"


def _recalls(comparison: Comparison, alpha: float) -> str:
    recalls = comparison.recalls
    differs = recalls.differs(comparison.level)
    where = " where a class was named" if comparison.right_of_all is not None else ""
    if not differs.any():
        return f"No class has a recall{where} that surely differs (at {alpha:.2g}, corrected)."
    order = [k for k in np.argsort(-np.abs(recalls.difference)) if differs[k]]
    known = int((~np.isnan(recalls.p_values)).sum())
    told = []
    for verb, sign in (("fell", -1), ("rose", 1)):
        found = [k for k in order if sign * recalls.difference[k] > 0]
        if found:
            named = [
                f"{quoted(comparison.labels[k])} {proportion(recalls.first[k], 3)} →"
                f" {proportion(recalls.second[k], 3)}"
                for k in found[:_TOLD]
            ]
            more = [f"and {len(found) - _TOLD:,} more"] if len(found) > _TOLD else []
            told.append(f"{verb} in {len(found):,} ({', '.join(named + more)})")
    return (
        f"Recall{where} surely {' and '.join(told)} of {plural(known, 'class', 'classes')} (at"
        f" {alpha:.2g}, corrected)."
    )


def _similarity(comparison: Comparison, alpha: float) -> str:
    if comparison.p_value < alpha or comparison.can_tell:
        return _test(comparison.p_value, alpha)
    if all(_is_surely_right(n.source) for n in (comparison.first, comparison.second)):
        return "neither of the two confuses any classes, so there is nothing to compare"
    if np.count_nonzero(~np.isnan(comparison.difference.diagonal())) < 2:
        return (
            "cannot be tested, because no two classes are labels and predictions in both. This says"
            " nothing about accuracy"
        )
    return (
        "cannot be tested, because with these label and prediction counts no difference could have"
        f" a p-value below {comparison.smallest_p_value:.2g}. This says nothing about accuracy"
    )


def _outcome(change: OutcomeChange, alpha: float) -> str:
    what = "answers that are" if change.side == "answer" else "predictions whose label is"
    verdict = "no difference shown"
    if change.p_value < alpha:
        verdict = "rose" if change.difference > 0 else "fell"
    points = [100 * value for value in (change.difference, change.low, change.high)]
    return (
        f"- {what} {quoted(change.outcome)}: {verdict}, {percent_text(change.first)} →"
        f" {percent_text(change.second)}, difference {points[0]:+.2g} points"
        f" ({points[1]:+.2g} to {points[2]:+.2g}), {_p(change.p_value)}."
    )


def _is_surely_right(cm: ConfusionMatrix) -> bool:
    """Return whether there are no errors, among samples enough that there could have been some."""
    samples = effective_labels(cm)[np.asarray(cm.label_counts) > 0]
    return not has_errors(cm) and bool((samples >= _ENOUGH_WITHOUT_ERROR).all())


def counted_cells(comparison: Comparison) -> NDArray[np.bool_]:
    """Return in which cells either matrix has a sample."""
    places = [n.source.counts.nonzero() for n in (comparison.first, comparison.second)]
    cells = np.zeros(comparison.difference.shape, dtype=bool)
    for rows, columns in places:
        cells[rows, columns] = True
    return cells


def change_findings(comparison: Comparison) -> tuple[Finding, ...]:
    """Return the largest significant differences, from the first matrix to the second."""
    is_sure = (comparison.p_values < 1 - comparison.level) & ~np.isnan(comparison.difference)
    cells = np.argwhere(is_sure & counted_cells(comparison))
    size = np.abs(comparison.difference)[tuple(cells.T)]
    largest = cells[np.argsort(-size, kind="stable")][:_MOST_CHANGES]
    values = [estimate.matrix for estimate in comparison.estimates]
    return tuple(_finding(comparison, values, i, j) for i, j in largest.tolist())


def _finding(comparison: Comparison, values: list[NDArray[np.float64]], i: int, j: int) -> Finding:
    true, pred = comparison.labels[i], comparison.labels[j]
    what = f"{quoted(true)} told apart" if i == j else f"{quoted(true)} taken for {quoted(pred)}"
    before, after = (significant(float(matrix[i, j]), 3) for matrix in values)
    counts = [float(n.source.counts[i, j]) for n in (comparison.first, comparison.second)]
    p_value = float(comparison.p_values[i, j])
    certainty = "below 10⁻¹⁵" if p_value < 1e-15 else significant(p_value)
    return Finding(
        kind="change",
        severity=min(abs(float(comparison.difference[i, j])), 1.0),
        sentence=(
            f"{what}: {before} → {after} ({counts[0]:,.6g} → {counts[1]:,.6g} samples;"
            f" corrected p {certainty})."
        ),
        advice="",
        classes=(true,) if i == j else (true, pred),
        cells=((true, pred),),
    )
