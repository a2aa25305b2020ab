"""What the page is made of: frozen records, arrays as base64, one schema version.

This is the contract with the browser. The keys of the JSON are the field names here; the explorer
refuses a payload of another version. No arithmetic happens in this module.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SCHEMA_VERSION",
    "AttributionPayload",
    "BucketPayload",
    "BucketValuesPayload",
    "ClassesPayload",
    "ComparisonPayload",
    "DirectoryPayload",
    "EncodedArray",
    "EstimatePayload",
    "FindingPayload",
    "GeometryPayload",
    "GroupPayload",
    "IntervalPayload",
    "KindPayload",
    "LimitsPayload",
    "ModelPayload",
    "OutcomePayload",
    "PointsPayload",
    "ReportPayload",
    "SamplesPayload",
    "ScalingPayload",
    "encode",
    "to_json",
]

SCHEMA_VERSION = 2

ArrayType = Literal["u2", "u4", "i4", "f4", "f8"]


@dataclass(frozen=True, slots=True)
class EncodedArray:
    """Numbers as little-endian bytes in base64: a third larger than binary, exact, and quick."""

    dtype: ArrayType
    data: str

    def decode(self) -> NDArray[Any]:
        """Return the numbers again."""
        return np.frombuffer(base64.b64decode(self.data), dtype=f"<{self.dtype}")


def encode(values: ArrayLike, dtype: ArrayType) -> EncodedArray:
    """Return numbers as the browser reads them.

    Examples
    --------
    >>> encode([1, 2], "u2")
    EncodedArray(dtype='u2', data='AQACAA==')
    """
    array = np.ascontiguousarray(np.asarray(values).ravel(), dtype=f"<{dtype}")
    return EncodedArray(dtype, base64.b64encode(array.tobytes()).decode("ascii"))


@dataclass(frozen=True, slots=True)
class ScalingPayload:
    """One normalization: cells are ``left[i] * (count + epsilon) * right[j]``."""

    epsilon: float
    left: EncodedArray
    right: EncodedArray
    status: str
    residual: float | None


@dataclass(frozen=True, slots=True)
class EstimatePayload:
    """What makes counts into the expected counts of `deconfuse.estimate_bi`; NaN: no estimate.

    The estimate is then ``left[i] * expected * right[j]`` of the scaling ``bi``; the definition is
    the scaling ``bi-epsilon``.
    """

    rows: EncodedArray
    columns: EncodedArray
    unit: EncodedArray
    hits: EncodedArray
    shape: float
    concentration: float
    wide: float
    wide_share: float
    similar_share: float
    similar_times: float
    background: float
    least: float


@dataclass(frozen=True, slots=True)
class IntervalPayload:
    """Ends of the intervals of one normalization; NaN where a value does not exist."""

    low: EncodedArray
    high: EncodedArray


@dataclass(frozen=True, slots=True)
class AttributionPayload:
    """Count = base x similarity x label[i] x prediction[j]; similarity is the rest."""

    base: float
    label: EncodedArray
    prediction: EncodedArray


@dataclass(frozen=True, slots=True)
class BucketValuesPayload:
    """Cells of the "other" bucket in one normalization: from it (row) and into it (col)."""

    row: EncodedArray
    col: EncodedArray


@dataclass(frozen=True, slots=True)
class ClassesPayload:
    """What is known of each class: prediction bias with its interval, and how far to trust it.

    ``condition`` is what is supposed of the label shares where a bias is told.
    """

    bias: EncodedArray
    bias_low: EncodedArray
    bias_high: EncodedArray
    verdicts: tuple[str, ...]
    grades: tuple[str, ...]
    reasons: tuple[str, ...]
    condition: str


@dataclass(frozen=True, slots=True)
class OutcomePayload:
    """How often one outcome occurs per class: samples, and the interval of their share.

    ``outcome`` is its position among those of the report. On the side "answer" classes are the
    true ones, on the side "background" the predicted ones. ``others`` is the share of all other
    classes together.
    """

    outcome: int
    side: str
    counts: EncodedArray
    low: EncodedArray
    high: EncodedArray
    others: EncodedArray


@dataclass(frozen=True, slots=True)
class ModelPayload:
    """One confusion matrix: its nonzero cells (``i * n + j``), its diagonals, its intervals.

    ``total`` are the samples of these cells, ``n_samples`` also those with an outcome. ``scores``
    are accuracy, balanced accuracy, macro F1, Cohen's kappa (None where it is undefined), and the
    share of samples for which a class was named.
    """

    name: str
    total: float
    n_samples: float
    weighted: bool
    cells: EncodedArray
    counts: EncodedArray
    scalings: dict[str, ScalingPayload]
    estimate: EstimatePayload
    intervals: dict[str, IntervalPayload | EncodedArray] | None
    attribution: AttributionPayload
    classes: ClassesPayload
    bucket_values: dict[str, BucketValuesPayload] | None
    headline: str
    scores: dict[str, float | None]
    outcomes: tuple[OutcomePayload, ...]


@dataclass(frozen=True, slots=True)
class FindingPayload:
    """One sentence about the classifier, what to do, and the cells or classes it speaks of.

    ``ranks`` are those of a pair of classes: by similarity, and by counts. In cells, outcomes are
    counted after the classes.
    """

    kind: str
    severity: float
    sentence: str
    advice: str
    cells: tuple[tuple[int, int], ...]
    classes: tuple[int, ...]
    ranks: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class KindPayload:
    """One kind of finding and the title above such findings; kinds come in their order."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class GroupPayload:
    """Classes that belong together, as rows of the page."""

    name: str
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LimitsPayload:
    """What the page needs to judge as Python does.

    Below how many samples a cell is hatched, and below how many labels or predictions a row or a
    column (in the unit of the weights); the level of the intervals, and its quantile; how many
    times its low end the high end of a ratio's interval is, where the ratio is not told.
    """

    few_samples: float
    few_labels: float
    level: float
    quantile: float
    wide_ratio: float


@dataclass(frozen=True, slots=True)
class BucketPayload:
    """The last class of the page stands for this many classes."""

    n_classes: int


@dataclass(frozen=True, slots=True)
class DirectoryPayload:
    """Classes inside the bucket, for the search and for the matrix of a class and its nearest.

    ``called`` are off-diagonal counts by row: of the shown classes first (without the bucket, and
    only where they are called a class of this directory), then of these; ``called_at`` counts
    columns the same way. ``scalings`` and ``estimate`` are as those of a model, in short numbers.
    """

    labels: tuple[str, ...]
    total: int
    label_counts: EncodedArray
    prediction_counts: EncodedArray
    right: EncodedArray
    called_offsets: EncodedArray
    called_at: EncodedArray
    called_counts: EncodedArray
    scalings: dict[str, dict[str, EncodedArray]]
    estimate: dict[str, EncodedArray]


@dataclass(frozen=True, slots=True)
class SamplesPayload:
    """Samples behind the cells: for each cell listed, a run of row numbers or ids.

    Cells are ``i * m + j``, where ``m`` is the number of classes and of outcomes, which follow the
    classes. Each sample comes with its picture, its text and the score of its prediction, where
    there are some.
    """

    noun: str
    cells: EncodedArray
    offsets: EncodedArray
    rows: EncodedArray | None
    ids: tuple[str, ...] | None
    image_at: EncodedArray | None
    images: tuple[str, ...]
    texts: tuple[str, ...] | None
    scores: EncodedArray | None


@dataclass(frozen=True, slots=True)
class PointsPayload:
    """A scatter of the projection, coordinates as shares of 65535."""

    x: EncodedArray
    y: EncodedArray
    true: EncodedArray
    pred: EncodedArray
    total: int


@dataclass(frozen=True, slots=True)
class GeometryPayload:
    """Geometric confusion matrices by weighting, and their overlap with each normalization."""

    matrices: dict[str, EncodedArray]
    agreement: dict[str, dict[str, float]]
    points: PointsPayload


@dataclass(frozen=True, slots=True)
class ComparisonPayload:
    """Corrected p-values of the differences of two bi-normalized matrices, at the cells listed.

    ``changes`` are the sentences about recalls, label shares, prediction bias and similarity.
    ``difference`` has all differences where one of the two has an estimate of more classes than the
    other, so that they are not those of the two matrices that are shown.
    """

    changes: tuple[str, ...]
    cells: EncodedArray
    p_values: EncodedArray
    difference: EncodedArray | None
    level: float
    overlap: float
    overlap_interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class ReportPayload:
    """Everything a report shows, in any format.

    ``samples`` are those of the first matrix, ``other_samples`` of others by their names;
    ``outcomes`` are the names of answers that are no class, of all matrices.
    """

    schema_version: int
    generator: str
    title: str
    headline: str
    labels: tuple[str, ...]
    outcomes: tuple[str, ...]
    limits: LimitsPayload
    models: tuple[ModelPayload, ...]
    findings: tuple[FindingPayload, ...]
    similarity_order: EncodedArray | None
    linkage: EncodedArray | None
    bucket: BucketPayload | None
    directory: DirectoryPayload | None
    samples: SamplesPayload | None
    geometry: GeometryPayload | None
    comparison: ComparisonPayload | None
    kinds: tuple[KindPayload, ...]
    groups: tuple[GroupPayload, ...]
    other_samples: dict[str, SamplesPayload]


def to_json(payload: ReportPayload) -> str:
    """Return the payload as JSON; equal payloads give equal text."""
    return json.dumps(_plain(payload), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    # dataclasses.asdict copies deeply, base64 text included; this only walks.
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
