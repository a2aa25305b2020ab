"""What a diagnosis found, in plain sentences: what is the matter, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deconfuse._checks import Label
from deconfuse._text import printable, shorten, significant
from deconfuse.normalization import Normalized
from deconfuse.statistics.attribution import Attribution, CellAttribution
from deconfuse.statistics.bias import ClassBias
from deconfuse.statistics.reliability import Reliability
from deconfuse.statistics.similarity import LookAlike, PairRanking
from deconfuse.statistics.standing_out import surely_uneven

__all__ = ["Finding", "FindingKind", "find"]

FindingKind = Literal[
    "look_alike", "not_alike", "over_predicted", "under_predicted", "careful", "change"
]

_MOST = 5
# Pairs whose confusions are held against chance, the surest first.
_LOOKED_AT = 50
# A class predicted this many times too often, or too rarely, is worth a sentence.
_SLIGHT_BIAS = 1.1
_MANY_TIMES = 100
# A class with this many times an even share of the labels is a frequent one.
_FREQUENT = 1.5
_NAME_WIDTH = 60
# A pair stands out when it is surely this many times as similar as the middle pair.
_STANDS_OUT = 2.0
# Fewer confusions than this are not worth a sentence, nor more uncertain pairs.
_WORTH_A_WORD = 3
# A class is named when epsilon invents or moves more than this share of it.
_EPSILON_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    kind : {"look_alike", "not_alike", "over_predicted", "under_predicted", "careful", "change"}
        What it is about; ``"careful"`` is what cannot be trusted, ``"change"`` a difference of two
        matrices.
    severity : float
        From 0 to 1; comparable within a kind.
    sentence : str
        What is the matter.
    advice : str
        What to do about it.
    classes : tuple
        The classes it speaks of.
    cells : tuple of (true, predicted)
        The cells it speaks of.
    """

    kind: FindingKind
    severity: float
    sentence: str
    advice: str
    classes: tuple[Label, ...]
    cells: tuple[tuple[Label, Label], ...] = ()


def find(
    pairs: PairRanking,
    typical_similarity: float,
    biases: Sequence[ClassBias],
    attribution: Attribution,
    reliability: Reliability,
    *,
    level: float,
) -> tuple[Finding, ...]:
    """Return all findings: what is alike, what is biased, what only looks alike, what to doubt."""
    standing_out = _standing_out(pairs, typical_similarity, attribution.normalized, level)
    return (
        *_look_alikes(standing_out, typical_similarity),
        *_biases(biases),
        *_not_alikes(
            pairs.most_confused(_MOST),
            standing_out,
            typical_similarity,
            attribution=attribution,
            biases={bias.label: bias for bias in biases},
        ),
        *_unsure_pairs(pairs.most_alike(1), pairs.uncertain(_MOST), typical_similarity),
        *_doubts(reliability, biases),
    )


def _standing_out(
    pairs: PairRanking, typical: float, normalized: Normalized, level: float
) -> list[LookAlike]:
    """Return the pairs worth a sentence: surely alike, and not the luckiest of many by chance.

    An interval is about one pair. Of many pairs some are confused twice or thrice by chance, and
    the intervals of these lie far above the middle one. So the confusions must also be more than
    would be seen, in any of all pairs, were all equally alike.
    """
    candidates = pairs.most_alike(_LOOKED_AT)
    uneven = surely_uneven(normalized, pairs.places(_LOOKED_AT), level)
    return [
        pair
        for pair, sure in zip(candidates, uneven, strict=True)
        if sure and pair.low > _STANDS_OUT * typical
    ][:_MOST]


def _look_alikes(pairs: Sequence[LookAlike], typical: float) -> list[Finding]:
    return [
        Finding(
            kind="look_alike",
            severity=min(pair.low, 1.0),
            sentence=(
                f"{_name(pair.first)} and {_name(pair.second)} look alike: similarity"
                f" {_interval(pair.similarity, pair.low, pair.high)} from"
                f" {pair.count:,.6g} and {pair.reverse_count:,.6g} confusions"
                f"{_times(pair.similarity / typical)}; rank {pair.rank}{_raw_rank(pair)}."
            ),
            advice=(
                "See their samples side by side: correct labels that are wrong, add or augment"
                " examples that show the difference, or merge the two."
            ),
            classes=(pair.first, pair.second),
            cells=((pair.first, pair.second), (pair.second, pair.first)),
        )
        for pair in pairs
    ]


def _raw_rank(pair: LookAlike) -> str:
    if pair.raw_rank == pair.rank:
        return " by similarity and by raw counts"
    return f" by similarity, {pair.raw_rank} by raw counts"


def _biases(biases: Sequence[ClassBias]) -> list[Finding]:
    # With enough samples a bias of one per cent is certain, and still nothing to act on.
    told = [b for b in biases if not 1 / _SLIGHT_BIAS < b.ratio < _SLIGHT_BIAS]
    over = sorted((b for b in told if b.verdict == "over"), key=lambda b: -b.ratio)
    under = sorted((b for b in told if b.verdict == "under"), key=lambda b: b.ratio)
    return [_bias(bias) for bias in (*over[:_MOST], *under[:_MOST])]


def _bias(bias: ClassBias) -> Finding:
    over = bias.verdict == "over"
    if bias.ratio == 0:
        sentence = (
            f"{_name(bias.label)} is never predicted, though {bias.labels:,.6g} samples are of this"
            " class."
        )
    else:
        sentence = (
            f"{_name(bias.label)} is {'over' if over else 'under'}-predicted:"
            f" {_interval(bias.ratio, bias.low, bias.high)} times as often as it occurs, were all"
            " classes equally frequent."
        )
    return Finding(
        kind="over_predicted" if over else "under_predicted",
        severity=1 - (1 / bias.ratio if over else bias.ratio),
        sentence=sentence,
        advice=(
            "Fit a Rebalancer on validation scores, or train again with this class weighing"
            f" {'less' if over else 'more'} (`class_weights`)."
        ),
        classes=(bias.label,),
    )


def _not_alikes(
    confused: Sequence[LookAlike],
    alike: Sequence[LookAlike],
    typical: float,
    *,
    attribution: Attribution,
    biases: Mapping[Label, ClassBias],
) -> list[Finding]:
    """Return pairs that raw counts put first and that are surely less alike than others.

    Surely: the whole interval of such a pair lies below that of a look-alike which was confused
    less often, or below what would make it stand out. So this can be said of a pair that has too
    few samples to be ranked, too.
    """
    found = []
    for pair in confused:
        larger = max(
            attribution.cell(pair.first, pair.second),
            attribution.cell(pair.second, pair.first),
            key=lambda cell: cell.count,
        )
        against = _less_alike_than(pair, larger, alike, typical)
        if against is None:
            continue
        why, advice = _why(biases[larger.true], biases[larger.pred], len(biases))
        found.append(
            Finding(
                kind="not_alike",
                severity=min(larger.count / max(attribution.normalized.source.total, 1), 1.0),
                sentence=(
                    f"{_name(pair.first)} and {_name(pair.second)} are often confused (rank"
                    f" {pair.raw_rank} by raw counts) but less alike than {against}{why}."
                ),
                advice=advice,
                classes=(pair.first, pair.second),
                cells=((larger.true, larger.pred),),
            )
        )
    return found


def _less_alike_than(
    pair: LookAlike, larger: CellAttribution, alike: Sequence[LookAlike], typical: float
) -> str | None:
    """Say what a pair is surely less alike than, or None where that cannot be said."""
    if pair.low > _STANDS_OUT * typical:
        return None
    own = _interval(pair.similarity, pair.low, pair.high)
    for other in alike:
        # Half as alike at least: a difference may be certain and still too small to act on.
        if (
            other.raw_rank > pair.raw_rank
            and pair.high < other.low
            and _STANDS_OUT * pair.similarity < other.similarity
        ):
            return (
                f"{_name(other.first)} and {_name(other.second)} (rank {other.raw_rank}):"
                f" similarity {own} against"
                f" {_interval(other.similarity, other.low, other.high)}"
            )
    # Counts of an even matrix have a first rank too; here shares must explain half of them.
    excess = larger.label + larger.prediction
    if pair.high < _STANDS_OUT * typical and excess > math.log(_STANDS_OUT):
        return f"would stand out: similarity {own}, that of the middle pair {significant(typical)}"
    return None


def _why(true: ClassBias, pred: ClassBias, n_classes: int) -> tuple[str, str]:
    """Return why a cell is large though its classes are not alike, and what to do about that."""
    balance = (
        "Do not relabel or merge these; balance the predictions first (`Rebalancer`,"
        " `class_weights`)."
    )
    if pred.verdict == "over" and pred.ratio >= _SLIGHT_BIAS:
        return f"; {_name(pred.label)} is predicted too readily", balance
    if true.label_share * n_classes > _FREQUENT:
        return (
            f"; {_name(true.label)} is a frequent class",
            "Nothing to repair in these two: the count is high because the class is frequent.",
        )
    if true.verdict == "under" and true.ratio <= 1 / _SLIGHT_BIAS:
        return f"; {_name(true.label)} is predicted too rarely", balance
    return "", "Do not relabel or merge these; look at the pairs that are alike first."


def _unsure_pairs(
    certain: Sequence[LookAlike], uncertain: Sequence[LookAlike], typical: float
) -> list[Finding]:
    bar = max((pair.similarity for pair in certain), default=_STANDS_OUT * typical)
    open_ones = [
        pair
        for pair in uncertain
        if pair.high > bar and pair.count + pair.reverse_count >= _WORTH_A_WORD
    ]
    return [
        Finding(
            kind="careful",
            severity=min(pair.similarity, 1.0),
            sentence=(
                f"{_name(pair.first)} and {_name(pair.second)} may look alike or not:"
                f" {_unsure_similarity(pair)}."
            ),
            advice="Collect more samples of both before acting on this pair.",
            classes=(pair.first, pair.second),
            cells=((pair.first, pair.second), (pair.second, pair.first)),
        )
        for pair in open_ones[:_WORTH_A_WORD]
    ]


def _unsure_similarity(pair: LookAlike) -> str:
    confusions = f"from {pair.count:,.6g} and {pair.reverse_count:,.6g} confusions"
    if pair.tells_nothing:
        return f"too few samples to tell {confusions}"
    return f"similarity {_interval(pair.similarity, pair.low, pair.high)} {confusions}"


def _doubts(reliability: Reliability, biases: Sequence[ClassBias]) -> list[Finding]:
    found = []
    n_classes = len(reliability)
    unseen = tuple(bias.label for bias in biases if bias.verdict == "never seen")
    if unseen:
        found.append(
            _careful(
                f"{_names(unseen)} never {_verb(unseen, 'occurs', 'occur')} as a true class, so"
                " nothing is known of how such samples are classified.",
                "Collect samples of these classes, or leave the classes out.",
                unseen,
                n_classes,
            )
        )
    few = tuple(
        item.label
        for item in reliability
        if item.samples > 0 and min(item.effective_samples, item.effective_predictions) < 10
    )
    if few:
        found.append(
            _careful(
                f"{_names(few)} {_verb(few, 'has', 'have')} fewer than 10 effective samples as true"
                " or as predicted class; similarities with them are guesses.",
                "Collect more samples of these classes.",
                few,
                n_classes,
            )
        )
    invented = tuple(item.label for item in reliability if item.epsilon_share > _EPSILON_SHARE)
    if invented:
        most = max(item.epsilon_share for item in reliability)
        found.append(
            _careful(
                f"More than {_EPSILON_SHARE:.0%} (up to {most:.0%}) of the row or column of"
                f" {_names(invented)} exists only because of epsilon"
                f" ({reliability.normalized.epsilon:.3g} in every cell).",
                "Collect more samples, or compare with a smaller epsilon.",
                invented,
                n_classes,
            )
        )
    moving = tuple(item.label for item in reliability if item.epsilon_shift > _EPSILON_SHARE)
    if moving:
        most = max(item.epsilon_shift for item in reliability)
        found.append(
            _careful(
                f"{_names(moving)} {_verb(moving, 'changes', 'change')} by more than"
                f" {_EPSILON_SHARE:.0%} (up to {most:.0%}) between epsilon / 10 and epsilon x 10.",
                "Trust the order of large cells there, not the values of small ones.",
                moving,
                n_classes,
            )
        )
    weak = reliability.effective_samples < 0.1 * reliability.total
    if weak and reliability.total > 0:
        found.append(
            _careful(
                f"The importance weights are very uneven: {reliability.total:,.6g} samples are"
                f" worth {reliability.effective_samples:,.3g} equal ones.",
                "Classes are too unevenly represented for one matrix to say much of the rare ones:"
                " collect more of those.",
                (),
                n_classes,
            )
        )
    return found


def _careful(sentence: str, advice: str, classes: tuple[Label, ...], n_classes: int) -> Finding:
    severity = len(classes) / n_classes if classes else 1.0
    return Finding("careful", severity, sentence, advice, classes)


def _name(label: Label) -> str:
    return f"“{shorten(printable(label), _NAME_WIDTH)}”"


def _names(labels: Sequence[Label]) -> str:
    shown = [_name(label) for label in labels[:_MOST]]
    if len(labels) > _MOST:
        return f"{', '.join(shown)} and {len(labels) - _MOST:,} more classes"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _verb(labels: Sequence[Label], one: str, many: str) -> str:
    return one if len(labels) == 1 else many


def _interval(value: float, low: float, high: float) -> str:
    # Two digits, or as many as tell the ends of a narrow interval apart.
    digits = next((n for n in (2, 3, 4) if significant(low, n) != significant(high, n)), 2)
    told, start, end = (significant(number, digits) for number in (value, low, high))
    return f"{told} ({start} to {end})"


def _times(factor: float) -> str:
    # With most pairs never confused, the middle one is epsilon alone, and says nothing.
    return f", {significant(factor)} times that of the middle pair" if factor < _MANY_TIMES else ""
