"""Put the payload of a page together from the parts of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from deconfuse._version import __version__
from deconfuse.reporting.directory import directory_payload
from deconfuse.reporting.document import KINDS
from deconfuse.reporting.geometry_part import geometry_payload
from deconfuse.reporting.models import model_payload
from deconfuse.reporting.payload import (
    SCHEMA_VERSION,
    BucketPayload,
    ComparisonPayload,
    EncodedArray,
    FindingPayload,
    GroupPayload,
    KindPayload,
    LimitsPayload,
    ReportPayload,
    SamplesPayload,
    encode,
)
from deconfuse.reporting.samples import PageCells, samples_payload
from deconfuse.reporting.shown_classes import closeness_of
from deconfuse.statistics.bias import WIDE_RATIO
from deconfuse.statistics.comparison_text import counted_cells
from deconfuse.statistics.reliability import FEW_SAMPLES

if TYPE_CHECKING:
    from deconfuse._checks import Label
    from deconfuse.reporting.study import Study
    from deconfuse.statistics.findings import Finding

__all__ = ["summarize"]


def summarize(study: Study, title: str) -> ReportPayload:
    """Return everything that the page of a study shows."""
    first, shown = study.first, study.shown
    labels = tuple(str(first.labels[k]) for k in shown.kept)
    hidden = first.n_classes - shown.kept.size
    samples = {name: _samples(study, name) for name in study.samples}
    return ReportPayload(
        schema_version=SCHEMA_VERSION,
        generator=f"deconfuse {__version__}",
        title=title,
        headline=study.headline,
        labels=(*labels, f"other ({hidden:,} classes)") if shown.bucket else labels,
        outcomes=study.outcomes,
        limits=LimitsPayload(
            FEW_SAMPLES, study.level, float(norm.ppf(0.5 + study.level / 2)), WIDE_RATIO
        ),
        models=tuple(model_payload(study, name) for name in study.names),
        findings=_findings(study),
        similarity_order=_order(study),
        linkage=None if study.tree is None else encode(study.tree.linkage, "f8"),
        bucket=BucketPayload(hidden) if shown.bucket else None,
        directory=directory_payload(study),
        samples=samples.pop(study.names[0], None),
        geometry=(
            None
            if study.embeddings is None
            else geometry_payload(study.embeddings, study.samples[study.names[0]], first, shown)
        ),
        comparison=_comparison(study),
        kinds=tuple(KindPayload(kind.name, kind.title) for kind in KINDS),
        groups=_groups(study),
        other_samples=samples,
    )


def _samples(study: Study, name: str) -> SamplesPayload:
    closeness = closeness_of(study.bi(name), study.shown)
    page = PageCells(study.shown, study.outcomes, closeness)
    return samples_payload(study.samples[name], study.matrices[name], page)


def _order(study: Study) -> EncodedArray | None:
    """Return the shown classes in the order of the tree; the bucket, if any, goes last."""
    if study.tree is None:
        return None
    bucket = [study.shown.kept.size] if study.shown.bucket else []
    return encode([*study.tree.order, *bucket], "u4")


def _comparison(study: Study) -> ComparisonPayload | None:
    found = study.comparison
    if found is None:
        return None
    cells = np.flatnonzero(counted_cells(found))
    low, high = found.overlap_interval
    return ComparisonPayload(
        cells=encode(cells, "u4"),
        p_values=encode(found.p_values.ravel()[cells], "f4"),
        level=round(1 - found.level, 12),
        overlap=found.overlap,
        overlap_interval=(float(low), float(high)),
    )


def _groups(study: Study) -> tuple[GroupPayload, ...]:
    place = study.shown.place(study.first.n_classes)
    return tuple(
        GroupPayload(name, tuple(dict.fromkeys(place[study.first.index_of(members)].tolist())))
        for name, members in (study.groups or {}).items()
        if members
    )


def _findings(study: Study) -> tuple[FindingPayload, ...]:
    ranks = {
        (pair.first, pair.second): (pair.rank, pair.raw_rank)
        for pair in study.diagnosis().look_alikes
    }
    place = study.shown.place(study.first.n_classes).tolist()
    rows: dict[Label, int] = dict(zip(study.first.labels, place, strict=True))
    rows |= {name: study.shown.n + k for k, name in enumerate(study.outcomes)}
    return tuple(
        _finding(found, rows, ranks.get(found.classes))  # type: ignore[arg-type]
        for found in study.findings
    )


def _finding(
    found: Finding, rows: dict[Label, int], ranks: tuple[int, int] | None
) -> FindingPayload:
    """Return a finding with its classes as rows of the page.

    Each row once: thousands of classes may share that of the bucket, and the sentence counts them.
    """
    return FindingPayload(
        kind=found.kind,
        severity=float(found.severity),
        sentence=found.sentence,
        advice=found.advice,
        cells=tuple(dict.fromkeys((rows[true], rows[pred]) for true, pred in found.cells)),
        classes=tuple(dict.fromkeys(rows[label] for label in found.classes)),
        ranks=ranks,
    )
