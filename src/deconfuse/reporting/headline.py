"""The headline of a diagnosis, the same in every view of a study."""

from __future__ import annotations

from deconfuse._checks import Label
from deconfuse._text import printable, shorten, significant
from deconfuse.statistics.diagnosis import Diagnosis
from deconfuse.statistics.reliability import ClassReliability

__all__ = ["headline_of"]

_NAME_WIDTH = 40


def headline_of(diagnosis: Diagnosis) -> str:
    """Return what matters most, in up to three short sentences with names and numbers.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts(
    ...     [[9, 6, 1, 1], [5, 11, 1, 1], [1, 1, 940, 60], [1, 1, 50, 980]],
    ...     labels=["cat", "dog", "car", "bus"],
    ... )
    >>> headline_of(dc.diagnose(cm))
    '“cat” and “dog” look alike. “bus” is over-predicted 1.1×. “cat” rests on 17 samples.'
    """
    kinds = {found.kind: found for found in reversed(diagnosis.findings)}
    sentences = []
    if "look_alike" in kinds:
        first, second = (_quoted(label) for label in kinds["look_alike"].classes)
        sentences.append(f"{first} and {second} look alike.")
        sentences += _contrast(diagnosis, kinds["look_alike"].classes)
    sentences += _bias_sentences(diagnosis)[: 3 - len(sentences)]
    unseen = [bias.label for bias in diagnosis.biases if bias.verdict == "never seen"]
    thin = _doubted(diagnosis)
    if unseen and len(sentences) < 3:
        more = f" and {len(unseen) - 1:,} more" if len(unseen) > 1 else ""
        verb = "occurs" if len(unseen) == 1 else "occur"
        sentences.append(f"{_quoted(unseen[0])}{more} never {verb}.")
    elif thin and len(sentences) < 3:
        least = min(thin, key=lambda item: item.samples)
        noun = "sample" if least.samples == 1 else "samples"
        sentences.append(f"{_quoted(least.label)} rests on {least.samples:,.6g} {noun}.")
    if not sentences:
        return "No pair of classes stands out, and no class is much over- or under-predicted."
    return " ".join(sentences)


def _contrast(diagnosis: Diagnosis, alike: tuple[Label, ...]) -> list[str]:
    """Return the pair that counts put before the one most alike, where it is surely less alike."""
    pairs = {(p.first, p.second): p for p in (*diagnosis.uncertain_pairs, *diagnosis.look_alikes)}
    first = pairs[alike[0], alike[1]]
    for found in diagnosis.findings:
        pair = pairs.get((found.classes[0], found.classes[1])) if len(found.classes) == 2 else None
        if found.kind != "not_alike" or pair is None:
            continue
        if pair.high < first.low and pair.raw_rank < first.raw_rank:
            one, other = _quoted(pair.first), _quoted(pair.second)
            return [f"{one} and {other} are confused more often, but less alike."]
    return []


def _doubted(diagnosis: Diagnosis) -> list[ClassReliability]:
    """Return the classes that rest on little, as far as a finding says so too.

    A finding that names no class speaks of the rare ones together.
    """
    doubts = [found.classes for found in diagnosis.findings if found.kind == "careful"]
    named = {label for classes in doubts for label in classes}
    return [
        item
        for item in diagnosis.reliability
        if item.grade != "good" and item.samples > 0 and (item.label in named or () in doubts)
    ]


def _bias_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return the strongest over- and under-prediction of those that a finding tells."""
    sentences = []
    told = {found.classes[0] for found in diagnosis.findings if found.kind.endswith("predicted")}
    for verdict in ("over", "under"):
        biased = [b for b in diagnosis.biases if b.verdict == verdict and b.label in told]
        if not biased:
            continue
        most = max(biased, key=lambda bias: bias.ratio if verdict == "over" else -bias.ratio)
        if most.ratio == 0:
            sentences.append(f"{_quoted(most.label)} is never predicted.")
        elif verdict == "over":
            sentences.append(f"{_quoted(most.label)} is over-predicted {significant(most.ratio)}×.")
        else:
            under = significant(1 / most.ratio)
            sentences.append(f"{_quoted(most.label)} is under-predicted {under}×.")
    return sentences


def _quoted(label: Label) -> str:
    return f"“{shorten(printable(label), _NAME_WIDTH)}”"
