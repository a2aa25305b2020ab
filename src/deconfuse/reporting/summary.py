"""Matrices, diagnosis, samples and embeddings -> the payload. All arithmetic of a report is here.

`summarize` decides what a page carries; the parts are made by the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.stats import norm

from deconfuse._version import __version__
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.reporting.classes import choose_classes, closeness_of, directory_payload
from deconfuse.reporting.findings import Findings, comparison_part, findings_of
from deconfuse.reporting.geometry import geometry_payload
from deconfuse.reporting.models import Shown, model_payload, normalize_all
from deconfuse.reporting.payload import (
    SCHEMA_VERSION,
    BucketPayload,
    LimitsPayload,
    ReportPayload,
    encode,
)
from deconfuse.reporting.samples import Samples, samples_payload
from deconfuse.statistics.reliability import FEW_SAMPLES

__all__ = ["summarize"]

_LEVEL = 0.95


def summarize(
    cm: ConfusionMatrix | Mapping[str, ConfusionMatrix],
    *,
    title: str,
    embeddings: Any = None,
    samples: Samples | None = None,
    paired: tuple[Any, Any, Any] | None = None,
    epsilon: float | None = None,
) -> ReportPayload:
    """Return everything a report shows, in any format.

    Parameters and errors are those of `deconfuse.report`; ``epsilon`` is that of
    bi-normalization.
    """
    matrices = _matrices(cm)
    _check_parts(samples, embeddings)
    if paired is not None and len(matrices) < 2:
        raise InputError("`paired` belongs to two matrices, and there is one.")
    names = list(matrices)
    first = matrices[names[0]]
    normalized = {name: normalize_all(matrix, epsilon=epsilon) for name, matrix in matrices.items()}
    bi = normalized[names[0]]["bi"]
    shown = choose_classes(bi)
    found = _findings(matrices, normalized, shown, paired)
    labels = tuple(str(first.labels[k]) for k in shown.kept)
    hidden = first.n_classes - shown.kept.size
    return ReportPayload(
        schema_version=SCHEMA_VERSION,
        generator=f"deconfuse {__version__}",
        title=title,
        headline=found.headline,
        labels=(*labels, f"other ({hidden:,} classes)") if shown.bucket else labels,
        limits=LimitsPayload(FEW_SAMPLES, _LEVEL, float(norm.ppf(0.5 + _LEVEL / 2))),
        models=tuple(
            model_payload(matrix, name, shown, normalized=normalized[name], level=_LEVEL)
            for name, matrix in matrices.items()
        ),
        findings=found.findings,
        similarity_order=None if found.order is None else encode(found.order, "u4"),
        linkage=None if found.linkage is None else encode(found.linkage, "f8"),
        bucket=BucketPayload(hidden) if shown.bucket else None,
        directory=directory_payload(first, shown),
        samples=(
            None
            if samples is None
            else samples_payload(samples, first, shown, closeness_of(bi, shown))
        ),
        geometry=(
            None
            if embeddings is None or samples is None
            else geometry_payload(embeddings, samples, first, shown)
        ),
        comparison=found.comparison,
    )


def _matrices(
    cm: ConfusionMatrix | Mapping[str, ConfusionMatrix],
) -> dict[str, ConfusionMatrix]:
    """Return one or two matrices by name, the second with the classes in the order of the first."""
    if isinstance(cm, ConfusionMatrix):
        cm = {"model": cm}
    if not isinstance(cm, Mapping) or not all(isinstance(m, ConfusionMatrix) for m in cm.values()):
        kind = type(cm).__name__
        raise InputError(
            f"`cm` must be a ConfusionMatrix, or a mapping of names to two of them, got {kind}.",
            hint="make one with ConfusionMatrix.from_predictions or from_counts.",
        )
    if not 1 <= len(cm) <= 2:
        raise InputError(f"`cm` must hold one or two matrices, got {len(cm)}.")
    matrices = {str(name): matrix for name, matrix in cm.items()}
    for name, matrix in matrices.items():
        if matrix.total == 0:
            raise InputError(
                f"A report needs samples, but all counts of {name!r} are zero.",
                hint="count some predictions first.",
            )
    first, *rest = matrices
    for name in rest:
        if set(matrices[name].labels) != set(matrices[first].labels):
            only = set(matrices[name].labels) ^ set(matrices[first].labels)
            shown = ", ".join(sorted(map(repr, only))[:5])
            raise InputError(
                f"The two matrices must have the same classes, but only one has {shown}.",
                hint="count both with the same `labels`.",
            )
        matrices[name] = matrices[name].reorder(matrices[first].labels)
    return matrices


def _check_parts(samples: Samples | None, embeddings: Any) -> None:
    if samples is not None and not isinstance(samples, Samples):
        raise InputError(
            f"`samples` must be a Samples, got {type(samples).__name__}.",
            hint="dc.Samples(y_true, y_pred) says which sample is in which cell.",
        )
    if embeddings is not None and samples is None:
        raise InputError(
            "`embeddings` need `samples`, which say the classes of each row, but there are none.",
            hint="add samples=dc.Samples(y_true, y_pred).",
        )


def _findings(
    matrices: dict[str, ConfusionMatrix],
    normalized: dict[str, dict[Any, Normalized]],
    shown: Shown,
    paired: tuple[Any, Any, Any] | None,
) -> Findings:
    *_, last = matrices
    found = findings_of(matrices[last], normalized[last]["bi"], shown)
    if len(matrices) == 1:
        return found
    return comparison_part(matrices, found, shown, paired)
