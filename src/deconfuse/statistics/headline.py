"""Summarize a diagnosis in a few sentences, which every view shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deconfuse._text import count_text, plural, proportion, quoted
from deconfuse.statistics.bias import ClassBias
from deconfuse.statistics.findings import Finding, sure_times

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.statistics.diagnosis import Diagnosis

__all__ = ["headline_of"]

_NAME_WIDTH = 40
_FEW = 10


def headline_of(diagnosis: Diagnosis) -> str:
    """Return the size and the accuracy, then what matters most, with true totals."""
    source = diagnosis.source
    sentences = [_totals(source), *_answered(diagnosis), *_one_sided(diagnosis.biases)]
    if source.counts.diagonal().sum() == source.total:
        return " ".join([*sentences, f"No errors in {_samples(source)}."])
    news = [*_similar(diagnosis.findings), *_bias(diagnosis.biases)]
    few = sum(0 < bias.labels < _FEW for bias in diagnosis.biases)
    if few:
        news.append(f"{plural(few, 'class has', 'classes have')} fewer than {_FEW} labels.")
    if not news and len(sentences) == 1:
        news = ["No pair of classes stands out, and no class is much over- or under-predicted."]
    return " ".join([*sentences, *news])


def _totals(cm: ConfusionMatrix) -> str:
    return (
        f"{plural(cm.n_classes, 'class', 'classes')}, {_samples(cm)}, accuracy"
        f" {proportion(cm.accuracy)}, balanced accuracy {proportion(cm.balanced_accuracy)}."
    )


def _answered(diagnosis: Diagnosis) -> list[str]:
    """Return the share of the samples of a class for which a class was named."""
    if not diagnosis.source.outcomes:
        return []
    return [f"A class was named for {proportion(diagnosis.outcomes.coverage)} of the samples."]


def _samples(cm: ConfusionMatrix) -> str:
    if cm.is_weighted:
        return f"samples weighing {count_text(cm.total)}"
    return f"{count_text(cm.total)} {'sample' if cm.total == 1 else 'samples'}"


def _one_sided(biases: Sequence[ClassBias]) -> list[str]:
    groups = {
        "never a label": [b for b in biases if b.verdict == "never seen"],
        "never predicted": [b for b in biases if b.verdict == "never predicted"],
    }
    return [
        f"{_quoted(group[0].label)}{_others(len(group) - 1)}"
        f" {'is' if len(group) == 1 else 'are'} {what}."
        for what, group in groups.items()
        if group
    ]


def _similar(findings: Sequence[Finding]) -> list[str]:
    similar = [found.classes for found in findings if found.kind == "look_alike"]
    if not similar:
        return []
    first, second = (_quoted(label) for label in similar[0])
    more = len(similar) - 1
    others = (
        f", and so {'is' if more == 1 else 'are'} {plural(more, 'more pair', 'more pairs')}"
        if more
        else ""
    )
    sentences = [f"{first} and {second} are similar{others}."]
    less = [found.classes for found in findings if found.kind == "not_alike"]
    if less:
        first, second = (_quoted(label) for label in less[0])
        sentences.append(f"{first} and {second} are often confused, but less similar.")
    return sentences


def _bias(biases: Sequence[ClassBias]) -> list[str]:
    over = sorted((b for b in biases if b.verdict == "over"), key=lambda b: -b.low)
    under = sorted((b for b in biases if b.verdict == "under"), key=lambda b: b.high)
    groups = [group for group in (over, under) if group]
    if not groups:
        return []
    parts = [_group(group, is_first=group is groups[0]) for group in groups]
    return [f"If all classes were equally frequent, {' and '.join(parts)}."]


def _group(biases: Sequence[ClassBias], *, is_first: bool) -> str:
    most, name = biases[0], _quoted(biases[0].label)
    times = f"{sure_times(most)} times{' as often as it occurs' if is_first else ''}"
    what = f"{'would be ' if is_first else ''}{most.verdict}-predicted"
    if len(biases) == 1:
        return f"{name} {what} ({times})"
    return f"{len(biases):,} {what} (most {name}, {times})"


def _others(number: int) -> str:
    return f" and {plural(number, 'more class', 'more classes')}" if number else ""


def _quoted(label: object) -> str:
    return quoted(label, _NAME_WIDTH)
