"""Summarize a diagnosis in a few sentences, which every view shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deconfuse._checks import Label
from deconfuse._text import count_text, plural, printable, proportion, quoted, tell_apart
from deconfuse.counts import dense
from deconfuse.statistics.bias import ClassBias
from deconfuse.statistics.findings import (
    EXPLAINED,
    Finding,
    biased,
    condition,
    sure_times,
    without_bias,
)
from deconfuse.statistics.metrics import effective_labels, guessing, has_errors

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.statistics.diagnosis import Diagnosis

__all__ = ["headline_of"]

_NAME_WIDTH = 32
_FEW = 10
# Standard deviations of a normal distribution that leave 5 % outside.
_SURELY = 1.96
# Statements that are told in full; of the others only the totals.
_IN_FULL = 2

# One statement: in full, and what is left of it after others.
_Statement = tuple[str, str]
# A class as sentences name it.
_Namer = Callable[[Label], str]


def headline_of(diagnosis: Diagnosis) -> str:
    """Return the size and the accuracy, what matters most, and true totals of the rest."""
    source, name = diagnosis.source, _namer(diagnosis.labels)
    sure, unsure = _one_sided(diagnosis.biases, name)
    told = sure
    if not has_errors(source):
        told += _plain(f"No errors in {_samples(source)}.")
    else:
        told += [*_guessing(source), *_similar(diagnosis.findings, name)]
        told += [*unsure, *_bias(diagnosis.biases, name), *_few_labels(source)]
    if not told and source.n_classes > 2:
        told = _plain(
            "No pair of classes is shown to be twice as similar as the median pair, and"
            f" {condition(diagnosis.biases)}, none is shown to be over- or under-predicted by a"
            " tenth."
        )
    told = told or _plain(
        "If both classes were equally frequent, none is shown to be over- or under-predicted by a"
        " tenth."
    )
    # More than two statements with names and numbers are more than a reader takes in.
    shown = [full for full, _ in told[:_IN_FULL]] + [short for _, short in told[_IN_FULL:]]
    return " ".join([_totals(diagnosis), *_lowest_recall(source, name), *shown])


def _plain(sentence: str) -> list[_Statement]:
    return [(sentence, sentence)] if sentence else []


def _totals(diagnosis: Diagnosis) -> str:
    cm = diagnosis.source
    samples = f"{_samples(cm)}, accuracy"
    if cm.outcomes:
        every = cm.total + cm.outcome_counts.sum()
        samples = (
            f"a class was named for {count_text(cm.total)} of {count_text(every)} samples"
            f" ({proportion(diagnosis.outcomes.coverage)}); among these accuracy"
        )
    return (
        f"{plural(cm.n_classes, 'class', 'classes')}, {samples} {proportion(cm.accuracy)},"
        f" balanced accuracy {proportion(cm.balanced_accuracy)}."
    )


def _lowest_recall(cm: ConfusionMatrix, name: _Namer) -> list[str]:
    """Say which class is recognized least, and what it is taken for; one sample never leads."""
    labels = np.asarray(cm.label_counts, dtype=np.float64)
    hits = np.asarray(cm.counts.diagonal(), dtype=np.float64)
    effective = effective_labels(cm).round(6)
    known = np.flatnonzero(effective >= _FEW)
    if not len(known) or not has_errors(cm):
        return []
    recall = (hits[known] / labels[known]).round(12)
    lowest = known[recall == recall.min()]
    worst = int(lowest[labels[lowest].argmax()])
    if hits[worst] in (0, labels[worst]):
        # Classes that are never recognized are told of by themselves.
        return []
    what = "effective labels" if cm.is_weighted else "labels"
    is_part = ((effective > 0) & (effective < _FEW)).any()
    few = f" of classes with {_FEW} {what} or more" if is_part else ""
    start = f"{'Among samples with a class, ' if cm.outcomes else ''}{name(cm.labels[worst])}"
    if len(lowest) > 1:
        told = f"have the lowest recall{few}: {proportion(recall.min())}."
        return [f"{start}{_others(len(lowest) - 1)} {told}"]
    errors = np.asarray(dense(cm.counts[[worst]]), dtype=np.float64).ravel()
    errors[worst] = 0
    most = int(errors.argmax())
    return [
        f"{start} has the lowest recall{few}: {count_text(hits[worst])} of"
        f" {plural(labels[worst], 'is', 'are')} right,"
        f" {plural(errors[most], 'is', 'are')} predicted as {name(cm.labels[most])}."
    ]


def _guessing(cm: ConfusionMatrix) -> list[_Statement]:
    """Say where a classifier is not shown to be better than guessing, or is surely worse."""
    chance, beyond = guessing(cm)
    by_chance = f"{proportion(chance)}, that of guessing each class as often"
    if beyond < -_SURELY:
        return _plain(
            f"The accuracy is below {by_chance}: check that labels and predictions use the same"
            " names in the same order."
        )
    told = f"The accuracy is not shown to be above {by_chance}."
    return _plain(told) if beyond <= _SURELY else []


def _few_labels(cm: ConfusionMatrix) -> list[_Statement]:
    labels = effective_labels(cm)
    few = int(((labels > 0) & (labels.round(6) < _FEW)).sum())
    what = "effective labels" if cm.is_weighted else "labels"
    told = f"{plural(few, 'class has', 'classes have')} fewer than {_FEW} {what}."
    return _plain(told) if few else []


def _samples(cm: ConfusionMatrix) -> str:
    if cm.is_weighted:
        return f"samples weighing {count_text(cm.total)}"
    return plural(cm.total, "sample", "samples")


def _one_sided(
    biases: Sequence[ClassBias], name: _Namer
) -> tuple[list[_Statement], list[_Statement]]:
    """Return what is said of classes on one side only: what is sure, and what may be chance."""
    sure: list[str] = []
    unsure: list[str] = []
    for what, group in without_bias(biases).items():
        if not group:
            continue
        most = max(group, key=lambda bias: bias.labels)
        # That a class of a few labels is not predicted may be chance: no first thing to say.
        told = unsure if what == "never predicted" and most.labels < _FEW else sure
        told.append(
            f"{name(most.label)}{_others(len(group) - 1)}"
            f" {'is' if len(group) == 1 else 'are'} {what}."
        )
    return _plain(" ".join(sure)), _plain(" ".join(unsure))


def _similar(findings: Sequence[Finding], name: _Namer) -> list[_Statement]:
    similar = [found for found in findings if found.kind == "look_alike"]
    if not similar:
        return []
    first, second = map(name, similar[0].classes)
    doubts = [EXPLAINED in found.sentence for found in similar]
    doubt = " (other errors may explain it)" if doubts[0] else ""
    more, doubted = len(similar) - 1, sum(doubts[1:])
    others = ""
    if more:
        others = (
            f", and so {'is' if more == 1 else 'are'} {plural(more, 'more pair', 'more pairs')}"
        )
    if doubted:
        others += (
            " (which other errors may explain)"
            if doubted == more
            else f" (for {doubted:,} of them other errors may explain it)"
        )
    number = plural(len(similar), "pair of classes is", "pairs of classes are")
    told = [(f"{first} and {second} are similar{doubt}{others}.", f"{number} similar.")]
    less = [found.classes for found in findings if found.kind == "not_alike"]
    if less:
        first, second = map(name, less[0])
        rest = f", and {plural(len(less) - 1, 'more pair', 'more pairs')}," if less[1:] else ""
        what = "often confused, but less similar."
        number = plural(len(less), "pair is", "pairs are")
        told.append((f"{first} and {second}{rest} are {what}", f"{number} {what}"))
    return told


def _bias(biases: Sequence[ClassBias], name: _Namer) -> list[_Statement]:
    groups = [group for group in biased(biases) if group]
    if not groups:
        return []
    start = f"{condition(biases).capitalize()},"
    parts = [_group(group, name, is_first=group is groups[0]) for group in groups]
    who = [
        name(group[0].label) if len(group) == 1 else f"{len(group):,} classes" for group in groups
    ]
    totals = f"{who[0]} would be {groups[0][0].verdict}-"
    totals += f" and {who[1]} under-" if who[1:] else ""
    return [(f"{start} {' and '.join(parts)}.", f"{start} {totals}predicted.")]


def _group(biases: Sequence[ClassBias], name: _Namer, *, is_first: bool) -> str:
    most, who = biases[0], name(biases[0].label)
    times = f"{sure_times(most)} times{' as often as it occurs' if is_first else ''}"
    what = f"{'would be ' if is_first else ''}{most.verdict}-predicted"
    if len(biases) == 1:
        return f"{who} {what} ({times})"
    return f"{len(biases):,} classes {what} (most {who}, {times})"


def _others(number: int) -> str:
    return f" and {plural(number, 'more class', 'more classes')}" if number else ""


def _namer(labels: Sequence[Label]) -> _Namer:
    """Return what quotes a class: long names as the parts in which they differ from others."""
    names = {printable(label) for label in labels}
    return lambda label: quoted(tell_apart([printable(label)], _NAME_WIDTH, names)[0])
