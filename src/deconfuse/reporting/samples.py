"""The samples behind the cells: which rows, under which ids, with which pictures.

Turns predictions into the part of the payload that lets a reader go from a cell to its samples.
What does not fit the limits is left out of the page, and the page says how many there are.
"""

from __future__ import annotations

import base64
import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import show
from deconfuse._text import shorten
from deconfuse.errors import InputError
from deconfuse.reading.label_columns import open_labels
from deconfuse.reading.sequences import positions_of
from deconfuse.reading.tally import distinct_integers
from deconfuse.reporting.payload import EncodedArray, SamplesPayload, encode

if TYPE_CHECKING:
    from PIL.Image import Image

    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reporting.study import Shown

__all__ = ["PageCells", "Samples", "Thumbnails", "sample_positions", "samples_payload"]

IntArray = NDArray[np.int64]

# Rows listed in one page; with twelve a cell this is reached at some thousand classes.
_MAX_SAMPLES = 120_000
_DIAGONAL_SAMPLES = 6
# Letters of a text: enough to see why it was mistaken, little enough for a page of thousands.
_TEXT_LENGTH = 280
# Pixels of a thumbnail.
_SIDE = 64
# Small pictures stay exact; larger ones are photographs, where JPEG is a tenth of the size.
_EXACT_SIDE = 32
# Pillow would hand other formats to other programs: PostScript to Ghostscript, for one.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
# A picture of 50 kilobytes can claim gigabytes of pixels; a large camera has 50 million.
_MOST_PIXELS = 80_000_000
_COLUMNS = ("ids", "images", "texts", "scores")


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Predictions whose samples a report should show behind its cells.

    Parameters
    ----------
    y_true, y_pred : sequence of shape (n_samples,)
        Labels and predictions, classes or outcomes of the matrix of the report. All samples of the
        matrix, or some of them.
    ids : sequence of shape (n_samples,), optional
        What to call the samples; their row numbers, from 0, by default.
    images : sequence of shape (n_samples,), optional
        A picture for each sample: file paths, encoded images as bytes, or arrays of height x width
        (grey) or height x width x 3 or 4; also one array for all. They become thumbnails.
    texts : sequence of str of shape (n_samples,), optional
        What was classified, where that is text; the page shows it as text.
    scores : array-like of shape (n_samples,), optional
        How confident the model was of each prediction. The samples of a cell are then listed from
        the most to the least confident; without scores, in their order.
    max_per_cell : int
        How many samples of a cell the page lists at most.
    max_image_bytes : int
        How many bytes of thumbnails the page carries at most. The most confused cells go first.
    other, missing : str, optional
        The outcomes that take every prediction outside the classes, and missing predictions, where
        the matrix was counted with them.

    Examples
    --------
    >>> from deconfuse import Samples
    >>> Samples(["cat", "dog"], ["dog", "dog"], ids=["a.jpg", "b.jpg"])
    <Samples: 2 with ids>
    """

    y_true: Any
    y_pred: Any
    ids: Any = None
    images: Any = None
    texts: Any = None
    scores: Any = None
    max_per_cell: int = 12
    max_image_bytes: int = 1_500_000
    other: str | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        n_true, n_pred = len(self.y_true), len(self.y_pred)
        if n_true != n_pred:
            raise InputError(
                "`y_true` and `y_pred` must describe the same samples, got "
                f"{n_true} and {n_pred} values.",
                hint="check for a filter applied to only one of them.",
            )
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None and len(column) != n_true:
                raise InputError(
                    f"`{name}` must have one entry per sample, got {len(column)} for {n_true}."
                )
            if hasattr(column, "iloc"):
                # A series of pandas is looked up by its index, but rows are meant by position.
                object.__setattr__(self, name, list(column))

    def __repr__(self) -> str:
        extras = [name for name in _COLUMNS if getattr(self, name) is not None]
        return f"<Samples: {len(self.y_true):,}{' with ' if extras else ''}{', '.join(extras)}>"


@dataclass(frozen=True, slots=True)
class PageCells:
    """The cells of a page: its classes, then the outcomes; ``closeness`` ranks those of classes."""

    shown: Shown
    outcomes: tuple[str, ...]
    closeness: NDArray[np.float64]

    @property
    def side(self) -> int:
        """Classes and outcomes."""
        return self.shown.n + len(self.outcomes)

    def place(self, cm: ConfusionMatrix) -> NDArray[np.int64]:
        """Return the page's row of every class of a matrix, then of its outcomes."""
        own = [self.shown.n + self.outcomes.index(name) for name in cm.outcomes]
        return np.concatenate([self.shown.place(cm.n_classes), np.array(own, dtype=np.int64)])


def samples_payload(samples: Samples, cm: ConfusionMatrix, page: PageCells) -> SamplesPayload:
    """Return the rows behind each cell of the page."""
    true, pred = sample_positions(samples, cm)
    _check_inside(cm, true, pred)
    side = page.side
    keys = page.place(cm)[true] * side + page.place(cm)[pred]
    scores = _scores(samples)
    rows = np.argsort(keys, kind="stable") if scores is None else np.lexsort((-scores, keys))
    cells, starts, sizes = np.unique(keys[rows], return_index=True, return_counts=True)
    on_diagonal = cells // side == cells % side
    most = np.where(on_diagonal, min(samples.max_per_cell, _DIAGONAL_SAMPLES), samples.max_per_cell)
    taken = np.minimum(sizes, most)
    taken = _within(taken, on_diagonal)
    offsets = np.concatenate([[0], np.cumsum(taken)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], taken)
    listed = rows[np.repeat(starts, taken) + within]
    ids = None if samples.ids is None else tuple(str(samples.ids[row]) for row in listed)
    image_at: EncodedArray | None = None
    images: tuple[str, ...] = ()
    if samples.images is not None:
        beside = side - page.shown.n
        closeness = np.pad(page.closeness, ((0, beside), (0, beside)))
        order = _picture_order(cells, offsets, side, closeness)
        thumbnails = Thumbnails.of(samples.images, samples.max_image_bytes)
        at, images = thumbnails.make(listed, order)
        image_at = encode(at, "i4")
    return SamplesPayload(
        noun="row" if ids is None else "id",
        cells=encode(cells, "u4"),
        offsets=encode(offsets, "u4"),
        rows=encode(listed, "u4") if ids is None else None,
        ids=ids,
        image_at=image_at,
        images=images,
        texts=(
            None
            if samples.texts is None
            else tuple(shorten(str(samples.texts[row]), _TEXT_LENGTH) for row in listed)
        ),
        scores=None if scores is None else encode(scores[listed], "f4"),
    )


def _scores(samples: Samples) -> NDArray[np.float64] | None:
    """Return how confident the model was of each sample, as numbers."""
    if samples.scores is None:
        return None
    try:
        scores = np.asarray(samples.scores, dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.array([np.nan])
    if scores.ndim != 1 or np.isnan(scores).any():
        raise InputError(
            "`scores` must be one number per sample.",
            hint="give the score of the predicted class, such as predict_proba(...).max(axis=1).",
        )
    return scores


def sample_positions(
    samples: Samples, cm: ConfusionMatrix
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the true and the predicted class of each sample; outcomes follow the classes."""
    instead = {"other": samples.other, "missing": samples.missing}
    return (
        _positions(samples.y_true, cm, "samples.y_true", {}),
        _positions(samples.y_pred, cm, "samples.y_pred", instead),
    )


def _positions(
    values: Any, cm: ConfusionMatrix, name: str, instead: dict[str, str | None]
) -> NDArray[np.intp]:
    """Return the position of each value among the classes, which the outcomes follow."""
    if not cm.outcomes:
        return positions_of(values, cm.classes, name=name)
    column = open_labels(values, name=name)
    distinct, codes = distinct_integers(column.codes(0, column.size)[0])
    outcomes = {outcome: cm.n_classes + k for k, outcome in enumerate(cm.outcomes)}
    positions = []
    for label in column.labels(distinct):
        if label is not None and label in cm.classes:
            positions.append(cm.classes.place[label])
            continue
        outcome = instead.get("missing" if label is None else "other")
        if isinstance(label, str) and label in outcomes:
            outcome = label
        if outcome is None or outcome not in outcomes:
            raise InputError(
                f"Values of `{name}` must be classes or outcomes of the matrix, got {label!r}.",
                hint=f"the outcomes are {show(cm.outcomes)}; `other` and `missing` of `Samples` say"
                " which takes other predictions.",
            )
        positions.append(outcomes[outcome])
    return np.array(positions, dtype=np.intp)[codes]


def _check_inside(cm: ConfusionMatrix, true: Any, pred: Any) -> None:
    """Refuse samples that the matrix cannot have counted: the page would contradict itself."""
    inside = (true < cm.n_classes) & (pred < cm.n_classes)
    true, pred = true[inside], pred[inside]
    shape = (cm.n_classes, cm.n_classes)
    tally = sparse.coo_array((np.ones(true.size), (true, pred)), shape=shape).tocsr()
    entries = sparse.coo_array(tally)
    counts = sparse.csr_array(cm.counts)
    counted = np.asarray(counts[entries.row, entries.col]).ravel()
    # A weighted count says nothing about how many samples it holds, except when it holds none.
    limit = np.where(counted > 0, np.inf, 0.0) if cm.is_weighted else counted
    over = np.flatnonzero(entries.data > limit)
    if over.size == 0:
        return
    i, j = int(entries.row[over[0]]), int(entries.col[over[0]])
    raise InputError(
        f"`samples` must be samples of the matrix, but they have {int(tally[i, j])} of true "
        f"{cm.labels[i]!r} predicted {cm.labels[j]!r}, where the matrix counts "
        f"{float(counts[i, j]):g}.",
        hint="make the matrix and the samples from the same predictions.",
    )


def _within(taken: IntArray, on_diagonal: NDArray[np.bool_]) -> IntArray:
    """Return how many samples each cell lists when all cells together have a limit."""
    most = int(taken.max(initial=0))
    while taken.sum() > _MAX_SAMPLES and most > 1:
        most -= 1
        taken = np.minimum(taken, most)
    if taken.sum() > _MAX_SAMPLES:
        taken = np.where(on_diagonal, 0, taken)
    over = np.cumsum(taken) > _MAX_SAMPLES
    return np.where(over, 0, taken)


def _picture_order(
    cells: IntArray, offsets: IntArray, n: int, closeness: NDArray[np.float64]
) -> list[int]:
    """Return positions of listed samples, those of the closest pairs of classes first."""
    i, j = cells // n, cells % n
    where = {int(cell): k for k, cell in enumerate(cells)}
    ranked = np.argsort(-closeness[i, j], kind="stable")
    order: dict[int, None] = {}
    for k in ranked[i[ranked] != j[ranked]]:
        a, b = int(i[k]), int(j[k])
        for cell in (a * n + b, b * n + a, a * n + a, b * n + b):
            at = where.get(cell)
            if at is not None:
                order.update(dict.fromkeys(range(int(offsets[at]), int(offsets[at + 1]))))
    order.update(dict.fromkeys(range(int(offsets[-1]))))
    return list(order)


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnails:
    """Pictures not yet read, and how many bytes of them may be shown."""

    images: Any
    max_bytes: int
    darkest: float
    brightest: float

    @classmethod
    def of(cls, images: Any, max_bytes: int) -> Thumbnails:
        """Look at the pictures once: arrays of numbers need a common range of brightness."""
        if isinstance(images, np.ndarray) and images.dtype.kind in "biuf":
            if images.ndim not in (3, 4):
                raise InputError(
                    "`images` as one array must have the shape (n_samples, height, width) or "
                    f"(n_samples, height, width, channels), got {images.shape}."
                )
            if images.dtype != np.uint8 and images.size:
                return cls(images, max_bytes, float(np.nanmin(images)), float(np.nanmax(images)))
        return cls(images, max_bytes, 0.0, 255.0)

    def make(
        self, rows: NDArray[np.int64], order: list[int]
    ) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Return for each listed sample the position of its picture or -1, and the pictures."""
        at = np.full(rows.size, -1, dtype=np.int64)
        urls: list[str] = []
        spent = 0
        for position in order:
            url = self._url(int(rows[position]))
            if spent + len(url) > self.max_bytes:
                break
            at[position] = len(urls)
            urls.append(url)
            spent += len(url)
        return at, tuple(urls)

    def _url(self, row: int) -> str:
        picture = self._open(self.images[row], row)
        exact = max(picture.size) <= _EXACT_SIDE
        picture = picture.convert("L" if picture.mode in ("1", "L", "I;16") else "RGB")
        picture.thumbnail((_SIDE, _SIDE))
        stream = io.BytesIO()
        if exact:
            picture.save(stream, "PNG", optimize=True)
        else:
            picture.save(stream, "JPEG", quality=80)
        kind = "png" if exact else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"

    def _open(self, source: Any, row: int) -> Image:
        from PIL import Image

        if not isinstance(source, bytes | bytearray | memoryview | str | os.PathLike):
            return Image.fromarray(self._pixels(source, row))
        try:
            return _decode(source)
        # A decoder that is given damaged bytes may raise anything.
        except Exception as error:
            raise InputError(
                f"`images` must be readable pictures, but that of row {row} is not: {error}",
                hint=f"give {', '.join(_FORMATS)} as paths or bytes, or arrays of numbers.",
            ) from error

    def _pixels(self, source: Any, row: int) -> NDArray[np.uint8]:
        array = np.asarray(source)
        if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[-1] not in (1, 3, 4):
            array = np.moveaxis(array, 0, -1)
        if array.ndim == 3 and array.shape[-1] == 1:
            array = array[..., 0]
        shaped = array.ndim == 2 or (array.ndim == 3 and array.shape[-1] in (3, 4))
        if not shaped or array.dtype.kind not in "biuf" or 0 in array.shape:
            raise InputError(
                "`images` must be paths, bytes or arrays of height x width or height x width x "
                f"3 or 4, but that of row {row} is {type(source).__name__} of shape {array.shape}."
            )
        if array.dtype == np.uint8:
            return array
        if isinstance(self.images, np.ndarray) and self.images.dtype.kind in "biuf":
            low, high = self.darkest, self.brightest
        else:
            low, high = float(array.min(initial=0)), float(array.max(initial=1))
        reach = high - low if high > low else 1.0
        scaled = (array.astype(np.float64) - low) / reach
        return np.asarray(np.clip(255.0 * scaled + 0.5, 0, 255), dtype=np.uint8)


def _decode(source: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Image:
    """Return the first frame of a picture, or raise whatever is wrong with it."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, str | os.PathLike):
        if not stat.S_ISREG(os.stat(source).st_mode):
            raise ValueError(f"{os.fspath(source)!r} is not a file")
        source = Path(source).read_bytes()
    try:
        picture = Image.open(io.BytesIO(bytes(source)), formats=_FORMATS)
    except UnidentifiedImageError as error:
        # Pillow's own text names the address of a buffer.
        raise ValueError("it is damaged or of another format") from error
    if picture.width * picture.height > _MOST_PIXELS:
        raise ValueError(
            f"{picture.width:,} x {picture.height:,} pixels are more than {_MOST_PIXELS:,}"
        )
    # Opening reads the header alone; a file that ends early is noticed here.
    picture.load()
    return picture
