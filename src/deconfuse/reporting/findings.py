"""Diagnosis and comparison -> sentences for a report, with the cells they speak of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label
from deconfuse._text import printable, shorten
from deconfuse.confusion import ConfusionMatrix
from deconfuse.normalization import Normalized
from deconfuse.reporting.models import Shown
from deconfuse.reporting.payload import ComparisonPayload, FindingPayload, encode
from deconfuse.statistics.comparison import Comparison, compare
from deconfuse.statistics.diagnosis import Diagnosis, diagnose
from deconfuse.statistics.hierarchy import hierarchy

__all__ = ["Findings", "comparison_part", "findings_of", "headline_of"]

_NAME_WIDTH = 40
_CHANGES = 10


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
    '“cat” and “dog” look alike. “cat” rests on 17 samples.'
    """
    kinds = {found.kind: found for found in reversed(diagnosis.findings)}
    sentences = []
    if "look_alike" in kinds:
        first, second = (_quoted(label) for label in kinds["look_alike"].classes)
        sentences.append(f"{first} and {second} look alike.")
    sentences += _bias_sentences(diagnosis)[: 3 - len(sentences)]
    thin = [item for item in diagnosis.reliability if item.grade != "good" and item.samples > 0]
    if thin and len(sentences) < 3:
        least = min(thin, key=lambda item: item.samples)
        noun = "sample" if least.samples == 1 else "samples"
        sentences.append(f"{_quoted(least.label)} rests on {least.samples:,.6g} {noun}.")
    if not sentences:
        return "No pair of classes stands out, and none is over- or under-predicted."
    return " ".join(sentences)


def _bias_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return the strongest over- and under-prediction, the clearer one first."""
    sentences = []
    for verdict in ("over", "under"):
        biased = [bias for bias in diagnosis.biases if bias.verdict == verdict]
        if not biased:
            continue
        most = max(biased, key=lambda bias: bias.ratio if verdict == "over" else -bias.ratio)
        if most.ratio == 0:
            sentences.append(f"{_quoted(most.label)} is never predicted.")
        elif verdict == "over":
            sentences.append(f"{_quoted(most.label)} is over-predicted {most.ratio:.2g}×.")
        else:
            sentences.append(f"{_quoted(most.label)} is under-predicted {1 / most.ratio:.2g}×.")
    return sentences


def _quoted(label: Label) -> str:
    return f"“{shorten(printable(label), _NAME_WIDTH)}”"


def _finding(found: Any, cm: ConfusionMatrix, place: NDArray[np.int64]) -> FindingPayload:
    """Return a finding with its classes as rows of the page."""

    def at(label: Label) -> int:
        return int(place[cm.index_of([label])[0]])

    return FindingPayload(
        kind=found.kind,
        severity=float(found.severity),
        sentence=found.sentence,
        advice=found.advice,
        cells=tuple((at(true), at(pred)) for true, pred in found.cells),
        classes=tuple(at(label) for label in found.classes),
    )


def comparison_part(
    matrices: dict[str, ConfusionMatrix], found: Findings, shown: Shown
) -> Findings:
    """Return the findings with what differs between two matrices before them."""
    names = list(matrices)
    if shown.bucket:
        # The tests need all cells at once; with so many classes the difference stands alone.
        return replace(found, headline=f"{found.headline} ({names[1]})")
    result = compare(matrices[names[0]], matrices[names[1]])
    cells = np.flatnonzero(_counted(matrices))
    p_values = result.p_values
    changes = _changes(result, matrices)
    comparison = ComparisonPayload(
        cells=encode(cells, "u4"),
        p_values=encode(p_values.ravel()[cells], "f4"),
        level=1 - result.level,
        overlap=float(result.overlap),
        overlap_interval=(float(result.overlap_interval[0]), float(result.overlap_interval[1])),
    )
    return replace(
        found,
        headline=_change_headline(result, names),
        findings=(*changes, *found.findings),
        comparison=comparison,
    )


def _counted(matrices: dict[str, ConfusionMatrix]) -> NDArray[np.bool_]:
    first, second = (np.asarray(_dense(matrix.counts)) for matrix in matrices.values())
    return np.asarray(((first > 0) | (second > 0)).ravel())


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _changes(
    result: Comparison, matrices: dict[str, ConfusionMatrix]
) -> tuple[FindingPayload, ...]:
    """Return the significant differences as findings, largest first."""
    before, after = matrices.values()
    p_values = result.p_values
    size = np.abs(result.difference)
    significant = np.argwhere(p_values < 1 - result.level)
    order = np.argsort(-size[tuple(significant.T)], kind="stable")[:_CHANGES]
    first, second = _dense(result.first.matrix), _dense(result.second.matrix)
    found = []
    for i, j in significant[order].tolist():
        true, pred = _quoted(before.labels[i]), _quoted(before.labels[j])
        what = f"{true} told apart" if i == j else f"{true} taken for {pred}"
        found.append(
            FindingPayload(
                kind="change",
                severity=float(min(size[i, j], 1.0)),
                sentence=(
                    f"{what}: {first[i, j]:.2g} → {second[i, j]:.2g} ({before.counts[i, j]:,.6g} → "
                    f"{after.counts[i, j]:,.6g} samples; corrected p {_p_value(p_values[i, j])})."
                ),
                advice="",
                cells=((i, j),),
                classes=(i,) if i == j else (i, j),
            )
        )
    return tuple(found)


def _p_value(value: float) -> str:
    return "below 1e-15" if value < 1e-15 else f"{value:.1g}"


def _change_headline(result: Comparison, names: list[str]) -> str:
    """Return in one or two sentences what changed from the first matrix to the second."""
    first, second = (_quoted(name) for name in names)
    n_cells = int((result.p_values < 1 - result.level).sum())
    if n_cells == 0:
        return (
            f"No cell differs significantly between {first} and {second}: overlap "
            f"{result.overlap:.3f}, where equal ones would show {result.overlap_if_equal:.3f}."
        )
    before, after = (
        float(np.mean(np.diag(_dense(n.matrix)))) for n in (result.first, result.second)
    )
    word = "better" if after > before else "worse"
    plural = "cells differ" if n_cells > 1 else "cell differs"
    return (
        f"{second} tells the classes apart {word} than {first}: {before:.2f} → {after:.2f} of each "
        f"class on the diagonal. {n_cells:,} {plural} significantly."
    )
