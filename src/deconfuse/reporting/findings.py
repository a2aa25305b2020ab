"""Diagnosis and comparison -> sentences for a report, with the cells they speak of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label
from deconfuse._text import printable, shorten, significant
from deconfuse.agreement import overlap
from deconfuse.confusion import ConfusionMatrix
from deconfuse.normalization import Normalized
from deconfuse.reporting.models import Shown
from deconfuse.reporting.payload import ComparisonPayload, FindingPayload, encode
from deconfuse.statistics.comparison import cell_p_values, compare
from deconfuse.statistics.diagnosis import Diagnosis, diagnose
from deconfuse.statistics.hierarchy import hierarchy
from deconfuse.statistics.reliability import ClassReliability

__all__ = ["Findings", "comparison_part", "findings_of", "headline_of"]

_NAME_WIDTH = 40
_CHANGES = 10
_ALPHA = 0.05
# Up to here the interval of the Overlap is resampled too; that takes seconds.
_RESAMPLED_CLASSES = 30


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What was found: sentences, the tree of the shown classes, and the comparison if any."""

    headline: str
    findings: tuple[FindingPayload, ...]
    order: NDArray[np.int64] | None
    linkage: NDArray[np.float64] | None
    comparison: ComparisonPayload | None = None


def _tree(
    cm: ConfusionMatrix, bi: Normalized, shown: Shown
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Return order and linkage of the shown classes; the bucket, if any, goes last."""
    if shown.kept.size < 3:
        return None, None
    counts = _dense(cm.counts[shown.kept][:, shown.kept])
    tree = hierarchy(counts, epsilon=bi.epsilon)
    order = np.asarray(tree.order, dtype=np.int64)
    if shown.bucket:
        order = np.append(order, shown.kept.size)
    return order, tree.linkage


def findings_of(cm: ConfusionMatrix, bi: Normalized, shown: Shown) -> Findings:
    """Return what the diagnosis of one matrix says, about the classes that are shown."""
    diagnosis = diagnose(cm, epsilon=bi.epsilon)
    place = shown.place(cm.n_classes)
    order, linkage = _tree(cm, bi, shown)
    return Findings(
        headline=headline_of(diagnosis),
        findings=tuple(_finding(found, cm, place) for found in diagnosis.findings),
        order=order,
        linkage=linkage,
    )


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


def _finding(found: Any, cm: ConfusionMatrix, place: NDArray[np.int64]) -> FindingPayload:
    """Return a finding with its classes as rows of the page.

    Each row once: thousands of classes may share that of the bucket, and the sentence counts them.
    """
    cells = [label for cell in found.cells for label in cell]
    # One lookup for all: it costs as much as there are classes in the matrix.
    rows = place[cm.index_of([*found.classes, *cells])].tolist() if found.classes or cells else []
    n_classes = len(found.classes)
    pairs = zip(rows[n_classes::2], rows[n_classes + 1 :: 2], strict=True)
    return FindingPayload(
        kind=found.kind,
        severity=float(found.severity),
        sentence=found.sentence,
        advice=found.advice,
        cells=tuple(dict.fromkeys(pairs)),
        classes=tuple(dict.fromkeys(rows[:n_classes])),
    )


def comparison_part(
    matrices: dict[str, ConfusionMatrix],
    found: Findings,
    shown: Shown,
    paired: tuple[Any, Any, Any] | None = None,
) -> Findings:
    """Return the findings with what differs between two matrices before them."""
    first, second = (_quoted(name) for name in matrices)
    if shown.bucket:
        # The tests need all cells at once; with so many classes the difference stands alone.
        headline = f"{second} minus {first}, without tests. Of {second}: {found.headline}"
        return replace(found, headline=headline)
    before, after = matrices.values()
    change = _Change.of(before, after, paired)
    cells = np.flatnonzero(change.counted)
    comparison = ComparisonPayload(
        cells=encode(cells, "u4"),
        p_values=encode(change.p_values.ravel()[cells], "f4"),
        level=_ALPHA,
        overlap=change.overlap,
        overlap_interval=change.overlap_interval,
    )
    return replace(
        found,
        headline=change.headline(first, second),
        findings=(*change.findings(), *found.findings),
        comparison=comparison,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """Two bi-normalized matrices and which of their cells surely differ."""

    before: Normalized
    after: Normalized
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    p_values: NDArray[np.float64]
    overlap: float
    overlap_interval: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        before: ConfusionMatrix,
        after: ConfusionMatrix,
        paired: tuple[Any, Any, Any] | None = None,
    ) -> _Change:
        n_before, n_after = before.normalize("bi"), after.normalize("bi")
        interval = None
        if before.n_classes <= _RESAMPLED_CLASSES:
            result = compare(before, after, paired=paired)
            p_values = result.p_values
            interval = (float(result.overlap_interval[0]), float(result.overlap_interval[1]))
        else:
            p_values = cell_p_values(before, after, paired=paired)
        first, second = _dense(n_before.matrix), _dense(n_after.matrix)
        shared = float(overlap(n_before, n_after))
        return cls(n_before, n_after, first, second, p_values, shared, interval)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Cells in which either matrix has a sample: the others hold epsilon alone."""
        either = [_dense(n.source.counts) > 0 for n in (self.before, self.after)]
        return np.asarray(either[0] | either[1])

    @property
    def significant(self) -> NDArray[np.int64]:
        """Positions of the cells that surely differ, the largest differences first."""
        cells = np.argwhere((self.p_values < _ALPHA) & self.counted)
        size = np.abs(self.second - self.first)[tuple(cells.T)]
        return cells[np.argsort(-size, kind="stable")]

    def findings(self) -> tuple[FindingPayload, ...]:
        """Return the largest significant differences as findings."""
        return tuple(self._finding(i, j) for i, j in self.significant[:_CHANGES].tolist())

    def _finding(self, i: int, j: int) -> FindingPayload:
        labels = self.before.labels
        true, pred = _quoted(labels[i]), _quoted(labels[j])
        what = f"{true} told apart" if i == j else f"{true} taken for {pred}"
        counts = [float(n.source.counts[i, j]) for n in (self.before, self.after)]
        p_value = float(self.p_values[i, j])
        certainty = "below 10⁻¹⁵" if p_value < 1e-15 else significant(p_value)
        return FindingPayload(
            kind="change",
            severity=min(abs(float(self.second[i, j] - self.first[i, j])), 1.0),
            sentence=(
                f"{what}: {significant(self.first[i, j], 3)} → {significant(self.second[i, j], 3)}"
                f" ({counts[0]:,.6g} → {counts[1]:,.6g} samples; corrected p {certainty})."
            ),
            advice="",
            cells=((i, j),),
            classes=(i,) if i == j else (i, j),
        )

    def headline(self, first: str, second: str) -> str:
        """Return in one or two sentences what changed from the first matrix to the second."""
        n_cells = len(self.significant)
        if n_cells == 0:
            return f"No cell differs significantly between {first} and {second}."
        before, after = (float(np.diag(matrix).mean()) for matrix in (self.first, self.second))
        word = "better" if after > before else "worse"
        plural = "cells differ" if n_cells > 1 else "cell differs"
        return (
            f"{second} tells the classes apart {word} than {first}: {before:.2f} → {after:.2f} of "
            f"each class on the diagonal. {n_cells:,} {plural} significantly."
        )


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
