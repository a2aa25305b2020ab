"""What a diagnosis found, in sentences that can be checked against the counts, with advice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from deconfuse._checks import Label
from deconfuse._text import (
    count_text,
    interval_parts,
    interval_text,
    listed,
    plural,
    quoted,
    significant,
)
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.attribution import Attribution, CellAttribution
from deconfuse.statistics.bias import ClassBias
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.reliability import Reliability
from deconfuse.statistics.similarity import LookAlike, PairTable, standing_out

__all__ = [
    "EXPLAINED",
    "Finding",
    "FindingKind",
    "biased",
    "condition",
    "find",
    "sure_times",
    "without_bias",
]

FindingKind = Literal[
    "look_alike", "not_alike", "over_predicted", "under_predicted", "careful", "change", "outcome"
]

_HIDDEN = ", which label shares hide"
# Names in one sentence: more would hide what is said of them.
_NAMES = 3
# Ranks by counts that are looked at.
_RANKS = 5
# A class with this many times an even share of the labels is a frequent one.
_FREQUENT = 1.5
# A pair stands out when it is surely this many times as similar as a typical one.
_STANDS_OUT = 2.0
# Pairs this similar, at the least, are hardly told apart.
_HARDLY_TOLD_APART = 0.5
# Not shown is not the same as not there: with few classes the test has little room.
EXPLAINED = " Other errors of the two classes may explain it."
# Fewer confusions than this are not worth a word, and fewer than this not many.
_WORTH_A_WORD, _MANY = 3, 10
# Shares of labels that differ less than this many times are nearly even.
_UNEVEN = 1.2
# Where ratios and label shares correlate more than this, they may be those of the classifier with
# the highest plain accuracy.
_TOGETHER = 0.3
_FAVOURS_FREQUENT = (
    " here, as by a classifier with the highest plain accuracy under uneven classes. Such a"
    " classifier needs no repair where classes are as uneven in use. If errors in rare classes"
    " matter as much, calibrated probabilities can be divided by the training shares of their"
    " classes; that is for balanced accuracy, and usually costs plain accuracy."
)
_TRY_REBALANCER = (
    "If the classifier gives scores, try a `Rebalancer` on validation data, and keep it only if"
    " balanced accuracy rises on other data; plain accuracy may fall."
)
_AS_OUTCOME = (
    "count it as an outcome (`outcomes=`, `--outcomes` in a terminal, or"
    " `cm.treat_as_outcome(name)`)"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    kind : {"look_alike", "not_alike", "over_predicted", "under_predicted", "careful", ...}
        What it is about; ``"careful"`` is what cannot be trusted, ``"change"`` a difference of two
        matrices, ``"outcome"`` an answer that is no class.
    severity : float
        From 0 to 1; comparable within a kind.
    sentence : str
        What is the matter.
    advice : str
        What to do about it.
    classes : tuple
        The classes it speaks of.
    cells : tuple of (true, predicted)
        The cells it speaks of; an outcome stands where a class was not named.
    """

    kind: FindingKind
    severity: float
    sentence: str
    advice: str
    classes: tuple[Label, ...]
    cells: tuple[tuple[Label, Label], ...] = ()


def find(
    pairs: PairTable,
    typical: float,
    biases: Sequence[ClassBias],
    attribution: Attribution,
    reliability: Reliability,
    level: float,
) -> tuple[Finding, ...]:
    """Return all findings: what is similar, what is biased, what only seems similar, what to doubt.

    Pairs, attribution and reliability are those of the classes that are labels and predictions
    both; there is a bias for every class. ``typical`` is the similarity of the median pair.
    """
    similar = _standing_out(pairs, typical, attribution.source, level)
    by_label = {bias.label: bias for bias in biases}
    not_alike: list[Finding] = []
    if reliability.normalized.n_classes > 2:
        # The only pair of two classes is neither more nor less similar than others.
        not_alike = _not_alikes(
            pairs, [pair for pair, _ in similar], typical, attribution, by_label
        )
    alike = [_look_alike(pair, own, typical, by_label) for pair, own in similar]
    if len(pairs.labels) < len(biases):
        told = (
            f" Ranks are among the {len(pairs.labels):,} classes that are labels and predictions."
        )
        alike, not_alike = _saying(alike, told), _saying(not_alike, told)
    found = [
        *alike,
        *_biases(biases),
        *not_alike,
        *_without_bias(biases),
        *_unsure_pairs(pairs, typical, by_label),
        *_doubts(reliability),
    ]
    if attribution.source.outcomes:
        found = _saying(found, " Counted are the samples for which a class was named.")
    return (*found, *_same_spelling([bias.label for bias in biases]))


def _saying(findings: Sequence[Finding], more: str) -> list[Finding]:
    return [replace(finding, sentence=finding.sentence + more) for finding in findings]


def _standing_out(
    pairs: PairTable, typical: float, source: ConfusionMatrix, level: float
) -> list[tuple[LookAlike, bool]]:
    """Return the pairs that stand out, and whether also from the errors of their own classes.

    An interval is about one pair. Of many pairs some are confused twice or thrice by chance. So the
    confusions must also be more than would be seen in any of all pairs if all were equally similar.
    """
    certain = pairs.certain
    places = np.column_stack([pairs.rows[certain], pairs.columns[certain]])
    uneven, beyond_own = standing_out(source, places, level)
    chosen = uneven & (pairs.low[certain] > _STANDS_OUT * typical)
    return list(zip(pairs.at(certain[chosen]), beyond_own[chosen].tolist(), strict=True))


def _look_alike(
    pair: LookAlike,
    beyond_own_errors: bool,
    typical: float,
    biases: Mapping[Label, ClassBias],
) -> Finding:
    first, second = quoted(pair.first), quoted(pair.second)
    sizes = biases[pair.first].labels, biases[pair.second].labels
    above = ", above 1: more often confused than recognized" if pair.low > 1 else ""
    raw_rank = " and" if pair.raw_rank == pair.rank else f", {pair.raw_rank}"
    advice = "Look at their samples side by side, and correct labels that are wrong."
    if pair.low > _HARDLY_TOLD_APART:
        advice += " If the difference does not matter to you, merge the two (`merge_classes`)."
    return Finding(
        kind="look_alike",
        severity=min(pair.low, 1.0),
        sentence=(
            f"{first} and {second} are similar: {count_text(pair.count)} of"
            f" {count_text(sizes[0])} {first} are predicted as {second} and"
            f" {count_text(pair.reverse_count)} of {count_text(sizes[1])} {second} as {first};"
            f" estimated similarity {interval_text(pair.similarity, pair.low, pair.high)}{above},"
            f" {_typical(typical)}; rank {pair.rank} by similarity (its lower end){raw_rank} by"
            f" count.{'' if beyond_own_errors else EXPLAINED}"
        ),
        advice=advice,
        classes=(pair.first, pair.second),
        cells=((pair.first, pair.second), (pair.second, pair.first)),
    )


def _typical(typical: float) -> str:
    return f"where the median pair has {significant(typical)}"


def biased(biases: Sequence[ClassBias]) -> tuple[list[ClassBias], list[ClassBias]]:
    """Return the classes that are over- and under-predicted, what is surely largest first."""
    over = sorted((b for b in biases if b.verdict == "over"), key=lambda b: -b.low)
    under = sorted((b for b in biases if b.verdict == "under"), key=lambda b: b.high)
    return over, under


def condition(biases: Sequence[ClassBias]) -> str:
    """Return what is supposed of the label shares where a bias is told.

    Examples
    --------
    >>> condition([])
    'if all classes were equally frequent'
    """
    known = sum(math.isfinite(b.ratio) for b in biases)
    if known == len(biases):
        return "if all classes were equally frequent"
    return f"if the {known:,} classes compared here were equally frequent and the others left out"


def _biases(biases: Sequence[ClassBias]) -> list[Finding]:
    over, under = biased(biases)
    known = [b for b in biases if math.isfinite(b.ratio)]
    advice = _TRY_REBALANCER
    if _favours_frequent(known):
        advice = (
            "The more frequent class is over-predicted"
            if len(known) == 2
            else "The more frequent a class is, the more it tends to be over-predicted"
        ) + _FAVOURS_FREQUENT
    supposed = condition(biases)
    return [_bias(bias, supposed, advice) for bias in (*over, *under)]


def _favours_frequent(known: Sequence[ClassBias]) -> bool:
    """Return whether frequent classes tend to be over-predicted, as a good classifier has it.

    A correlation that is not clear is enough, so that a good one is seldom advised to be repaired
    (``python -m benchmarks rebalancer_advice``).
    """
    labels = [b.labels for b in known]
    if not labels or max(labels) < _UNEVEN * min(labels):
        return False
    # Undefined, and so no reason, where all are equal.
    shares, ratios = np.log(labels), np.log([b.ratio for b in known])
    spread = np.sqrt(shares.var() * ratios.var())
    together = np.mean((shares - shares.mean()) * (ratios - ratios.mean()))
    return bool(spread and together > _TOGETHER * spread)


def _bias(bias: ClassBias, supposed: str, advice: str) -> Finding:
    over = bias.verdict == "over"
    # Counts alone may seem to say the opposite, because of how frequent the other classes are.
    is_plain = bias.predictions > bias.labels if over else bias.predictions < bias.labels
    name = quoted(bias.label)
    return Finding(
        kind="over_predicted" if over else "under_predicted",
        severity=1 - (1 / bias.ratio if over else bias.ratio),
        sentence=(
            f"{name} is {bias.verdict}-predicted{'' if is_plain else _HIDDEN}:"
            f" {plural(bias.predictions, 'prediction', 'predictions')} for"
            f" {plural(bias.labels, 'label', 'labels')},"
            f" {'and' if is_plain else 'but'} {supposed}, it would be predicted {_times(bias)}."
        ),
        advice=advice,
        classes=(bias.label,),
    )


def _times(bias: ClassBias) -> str:
    interval = interval_text(bias.ratio, bias.low, bias.high)
    if bias.is_wide:
        return f"{sure_times(bias)} times as often as it occurs: {interval}"
    return f"{interval} times as often as it occurs"


def sure_times(bias: ClassBias) -> str:
    """Return a ratio in short, or the end of its interval that is sure where that is wide."""
    told, low, high = interval_parts(bias.ratio, bias.low, bias.high)
    if not bias.is_wide:
        return told
    return f"at least {low}" if bias.verdict == "over" else f"at most {high}"


def _not_alikes(
    pairs: PairTable,
    similar: Sequence[LookAlike],
    typical: float,
    attribution: Attribution,
    biases: Mapping[Label, ClassBias],
) -> list[Finding]:
    """Return pairs with more errors than the average pair that are surely less similar than others.

    Surely: the whole interval of such a pair lies below that of a similar pair which was confused
    less often, or below what would make it stand out. So this can be said of a pair that has too
    few samples to be ranked, too.
    """
    found = []
    every = math.comb(len(pairs.labels), 2)
    even = float(pairs.counts.sum() + pairs.reverse_counts.sum()) / max(every, 1)
    for pair in pairs.most_confused(_RANKS):
        # With few classes the first ranks have pairs that are hardly ever confused.
        if pair.count + pair.reverse_count <= even:
            continue
        # Of equal counts the one that the bias explains, so that the order of classes is no matter.
        larger = max(
            attribution.cell(pair.first, pair.second),
            attribution.cell(pair.second, pair.first),
            key=lambda cell: (cell.count, cell.prediction),
        )
        against = _less_similar_than(pair, larger, similar, typical)
        if against is None:
            continue
        why = _why(larger, biases[larger.true], biases[larger.pred], len(biases))
        found.append(
            Finding(
                kind="not_alike",
                severity=min(larger.count / attribution.source.total, 1.0),
                sentence=(
                    f"{quoted(pair.first)} and {quoted(pair.second)} are often confused (rank"
                    f" {pair.raw_rank} by count: {_confusions(pair)}) but {against}{why}."
                ),
                advice="Do not relabel or merge these two for their count"
                f"{'; look at the similar pairs first' if similar else ''}.",
                classes=(pair.first, pair.second),
                cells=((larger.true, larger.pred),),
            )
        )
    return found


def _less_similar_than(
    pair: LookAlike,
    larger: CellAttribution,
    similar: Sequence[LookAlike],
    typical: float,
) -> str | None:
    """Say what a pair is surely less similar than, or None where that cannot be said."""
    if pair in similar or pair.count + pair.reverse_count < _MANY:
        return None
    own = interval_text(pair.similarity, pair.low, pair.high)
    for other in similar:
        # Half as similar at most: a difference may be certain and still too small to act on.
        if (
            other.raw_rank > pair.raw_rank
            and pair.high < other.low
            and _STANDS_OUT * pair.similarity < other.similarity
        ):
            return (
                f"less similar than {quoted(other.first)} and {quoted(other.second)} (rank"
                f" {other.raw_rank}: {_confusions(other)}): estimated similarity {own} against"
                f" {interval_text(other.similarity, other.low, other.high)}"
            )
    # An even matrix has a first rank too; here the classes must explain half of the counts.
    excess = larger.label + larger.prediction
    if pair.high < _STANDS_OUT * typical and excess > math.log(_STANDS_OUT):
        return f"not unusually similar: estimated similarity {own}, {_typical(typical)}"
    return None


def _confusions(pair: LookAlike) -> str:
    return f"{count_text(pair.count)} and {count_text(pair.reverse_count)} confusions"


def _why(larger: CellAttribution, true: ClassBias, pred: ClassBias, n_classes: int) -> str:
    """Return why a cell is large though its classes are not similar, as far as that is known."""
    reasons = []
    if pred.verdict == "over":
        reasons.append((larger.prediction, f"{quoted(pred.label)} is over-predicted"))
    if true.label_share * n_classes > _FREQUENT:
        reasons.append((larger.label, f"{quoted(true.label)} is a frequent class"))
    elif true.verdict == "under":
        reasons.append((larger.label, f"{quoted(true.label)} is under-predicted"))
    # What explains more of the count comes first.
    told = [reason for _, reason in sorted(reasons, key=lambda reason: -reason[0])]
    return f"; {' and '.join(told)}" if told else ""


def without_bias(biases: Sequence[ClassBias]) -> dict[str, list[ClassBias]]:
    """Return the classes whose bias cannot be known, by what is said of them."""
    unseen = [b for b in biases if b.verdict == "never seen"]
    return {
        "never answered with a class": [b for b in biases if b.verdict == "never answered"],
        "never a label": [b for b in unseen if b.predictions > 0],
        "neither a label nor predicted": [b for b in unseen if b.predictions == 0],
        "never predicted": [b for b in biases if b.verdict == "never predicted"],
        "never recognized": [b for b in biases if b.verdict == "never right"],
    }


def _without_bias(biases: Sequence[ClassBias]) -> list[Finding]:
    groups = without_bias(biases)
    times = plural(sum(b.predictions for b in groups["never a label"]), "time", "times")
    sizes = {what: sum(bias.labels for bias in group) for what, group in groups.items()}
    table = (
        (
            "never a label",
            f", but predicted {times}",
            f"If this is no class (a refusal, an answer that cannot be read), {_AS_OUTCOME}."
            " Otherwise add samples of it.",
        ),
        (
            "never predicted",
            f", with {plural(sizes['never predicted'], 'label', 'labels')}",
            f"Check that {_verb(groups['never predicted'], 'it was', 'they were')} in the training"
            f" data. If one is no class (background, nothing there), {_AS_OUTCOME}.",
        ),
        ("neither a label nor predicted", "", "Leave it out of `labels=`, or add samples of it."),
        (
            "never recognized",
            f": none of {plural(sizes['never recognized'], 'label', 'labels')}",
            f"If this is no class (background, a refusal), {_AS_OUTCOME}.",
        ),
    )
    found = []
    for what, more, advice in table:
        names = tuple(bias.label for bias in groups[what])
        if names:
            sentence = f"{_quoted(names)} {_verb(names, 'is', 'are')} {what}{more}."
            found.append(_careful(sentence, advice, names, len(biases)))
    return found


def _same_spelling(labels: Sequence[Label]) -> list[Finding]:
    """Return names that differ only in case or in spaces around them."""
    groups: dict[str, list[Label]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(label.strip().casefold(), []).append(label)
    return [
        _careful(
            f"{_quoted(group)} differ only in case or outer spaces.",
            "If they are one class, count again with `normalize_text=True` (`--normalize-text` in a"
            " terminal), or join them with `merge_classes`.",
            tuple(group),
            len(labels),
        )
        for group in groups.values()
        if len(group) > 1
    ]


def _unsure_pairs(
    pairs: PairTable,
    typical: float,
    biases: Mapping[Label, ClassBias],
) -> list[Finding]:
    """Return the pairs that may be more similar than the surest one, or not, as one finding."""
    chosen = pairs.uncertain
    surest = pairs.similarity[pairs.certain[:1]]
    bar = float(surest[0]) if len(surest) else _STANDS_OUT * typical
    together = pairs.counts + pairs.reverse_counts
    chosen = chosen[(pairs.high[chosen] > bar) & (together[chosen] >= _WORTH_A_WORD)]
    # Of a class that is never recognized, more samples would not tell.
    known = [
        "never right" not in (biases[pair.first].verdict, biases[pair.second].verdict)
        for pair in pairs.at(chosen)
    ]
    chosen = chosen[np.array(known, dtype=bool)]
    if not len(chosen):
        return []
    chosen = chosen[np.argsort(-together[chosen], kind="stable")]
    shown = pairs.at(chosen[:_NAMES])
    told = [
        f"{quoted(p.first)} and {quoted(p.second)} ({count_text(p.count)} of"
        f" {count_text(biases[p.first].labels)} and {count_text(p.reverse_count)} of"
        f" {count_text(biases[p.second].labels)} confused)"
        for p in shown
    ]
    told += [""] * (len(chosen) - len(told))
    return [
        Finding(
            kind="careful",
            severity=min(shown[0].similarity, 1.0),
            sentence=(
                "How similar confused pairs are is uncertain:"
                f" {listed(told, _NAMES, 'pair', 'pairs')}."
            ),
            advice="Whether the two are similar, or one is only over-predicted, takes more samples"
            " of the rarer class to tell.",
            classes=tuple(dict.fromkeys(label for p in shown for label in (p.first, p.second))),
            cells=tuple(cell for p in shown for cell in ((p.first, p.second), (p.second, p.first))),
        )
    ]


def _doubts(reliability: Reliability) -> list[Finding]:
    """Return what rests on few samples."""
    source = reliability.normalized.source
    sizes = np.minimum(*reliability.effective_sizes).round(6).tolist()
    few = [label for label, size in zip(source.labels, sizes, strict=True) if size < _MANY]
    found = []
    if few:
        found.append(
            _careful(
                f"In the bi-normalized matrix {_quoted(few)} {_verb(few, 'rests', 'rest')} on fewer"
                f" than {_MANY} effective samples, as labels or as predictions.",
                "What is said of them is rough. Collect more samples of those with few labels; of"
                " those with few predictions, more test samples tell little.",
                tuple(few),
                len(reliability),
            )
        )
    # Weights are in units of their own; samples of equal weight would be so many.
    n = reliability.total / sample_unit(source)
    if reliability.effective_samples < 0.1 * n:
        samples = f"{significant(n, 3)} effective" if source.is_weighted else count_text(n)
        found.append(
            _careful(
                "Labels or predictions are so uneven that the bi-normalized matrix of"
                f" {samples} samples rests on only"
                f" {significant(reliability.effective_samples)} effective samples.",
                "Take its small differences for chance.",
                (),
                len(reliability),
            )
        )
    return found


def _careful(sentence: str, advice: str, classes: tuple[Label, ...], n_classes: int) -> Finding:
    severity = len(classes) / n_classes if classes else 1.0
    return Finding("careful", severity, sentence, advice, classes)


def _quoted(labels: Sequence[Label]) -> str:
    return listed([quoted(label) for label in labels], _NAMES, "class", "classes")


def _verb(items: Sequence[object], one: str, many: str) -> str:
    return one if len(items) == 1 else many
