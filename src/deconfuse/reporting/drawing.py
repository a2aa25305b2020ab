"""How a confusion matrix is drawn: cell colours, numbers, labels and their sizes.

Works on plain arrays and matplotlib axes. What is drawn, and from what, is decided in `plots`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deconfuse._text import compact_count, printable, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

__all__ = [
    "POINTS_PER_INCH",
    "add_colorbars",
    "as_plain_text",
    "cell_points",
    "draw_cells",
    "draw_numbers",
    "draw_title",
    "figure_size",
    "fit_labels",
    "has_room",
    "number_texts",
    "side_points",
    "with_counts",
]

FloatArray = npt.NDArray[np.float64]

_LONGEST_LABEL = 24
_SMALLEST_NUMBER = 5.5
_PLEASANT_NUMBER = 7.0
_NUMBER_HEIGHT = 0.46
# Smaller names are grey lines on a screen; some are then left out, and the axis says so.
_SMALLEST_LABEL, _THINNED_LABEL = 5.5, 8.5
# How much of its colour a cell with few samples keeps.
_FEW_ALPHA = 0.5
# Numbers that rest on little are grey; of that grey, its luminance as WCAG counts it.
_SOFT, _SOFT_LIGHT = "0.38", 0.169
# The scales of the page, light: even steps of lightness in one hue (explorer/color.js).
_RAMPS = {
    "Oranges": "#faf5ed #f8e1c1 #f2cda0 #ebb882 #e4a365 #dc8f4b #d3792e #ca6305 #bf4b00",
    "Blues": "#f2f6fa #cbe1f9 #abcaee #8eb3e2 #729cd4 #5986c6 #416fb7 #2a58a7 #144097",
}
# A cell this high, in points, has room for a count below the ratio.
_TWO_LINES = 30.0
# Text is about this much of its size wide per character, and this much apart from line to line.
_CHARACTER_WIDTH, _LINE_HEIGHT = 0.6, 1.15
_UNDEFINED = "0.82"
POINTS_PER_INCH = 72.0


class Room(NamedTuple):
    """The side of a square of cells that gives every class room, and what is around it, in inches.

    ``width`` and ``height`` are those of everything around the square, ``left`` and ``below`` the
    parts of them before it.
    """

    side: float
    width: float
    height: float
    left: float
    below: float


def room_around(n_classes: int, names: Sequence[str], beside: Sequence[int] = ()) -> Room:
    """Return the room for a matrix, its names, title and colour bars, within reason.

    ``beside`` are columns and rows of outcomes.
    """
    side = max(2.4, min(0.56 * n_classes, 5.2 + 0.04 * n_classes, 12.0))
    label_size = _label_size(side * POINTS_PER_INCH / n_classes)
    longest = max((len(name) for name in names), default=1)
    margin = longest * label_size * _CHARACTER_WIDTH / POINTS_PER_INCH
    angle = math.radians(_angle(names, label_size, side * POINTS_PER_INCH / n_classes))
    right, below = (0.5 * number + 0.4 * (number > 0) for number in beside or (0, 0))
    under = margin * math.sin(angle) + below
    return Room(side, margin + right + 1.85, under + 1.5, margin + 0.65, under + 0.7)


def figure_size(
    n_classes: int, names: Sequence[str], beside: Sequence[int] = ()
) -> tuple[float, float]:
    """Return width and height in inches that give every class room, within reason."""
    room = room_around(n_classes, names, beside)
    return room.side + room.width, room.side + room.height


def draw_cells(
    ax: Axes,
    values: FloatArray,
    *,
    cmap: str | Colormap | None,
    top: float | None,
    few: npt.NDArray[np.bool_] | None,
    options: Mapping[str, Any],
) -> tuple[AxesImage, AxesImage | None]:
    """Colour the cells; return the image, and that of the diagonal where it has its own scale.

    ``top`` is the upper end of the diagonal's scale, None for the largest value there; cells with
    ``few`` samples are pale.
    """
    options = {"interpolation": "nearest", **options}
    if few is not None:
        options["alpha"] = np.where(few, _FEW_ALPHA, 1.0)
    undefined = np.isnan(values)
    if few is not None and undefined.any():
        # Pale on white; the grey of the axes is left to undefined cells.
        white = np.ma.masked_where(undefined, np.ones_like(values))
        ax.imshow(white, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.set_facecolor(_UNDEFINED if undefined.any() else "white")
    if cmap is not None or "cmap" in options:
        options.setdefault("cmap", cmap)
        return ax.imshow(np.ma.masked_invalid(values), **options), None
    on_diagonal = np.eye(len(values), dtype=bool)
    off_values = values[~on_diagonal & ~undefined]
    diagonal_values = values[on_diagonal & ~undefined]
    highest = top or diagonal_values.max(initial=0.0)
    images = []
    for hidden, colours, limit in (
        (on_diagonal, _ramp("Blues"), max(_robust_top(off_values), _even_error(values))),
        (~on_diagonal, _ramp("Oranges"), highest),
    ):
        own = {"cmap": colours, **_own_scale(options)}
        if "norm" not in own:
            own.setdefault("vmin", min(0.0, values[~undefined].min(initial=0.0)))
            own.setdefault("vmax", limit or 1.0)
        images.append(ax.imshow(np.ma.masked_where(hidden | undefined, values), **own))
    return images[0], images[1]


def _ramp(name: str) -> Colormap:
    """Return one of the page's two scales."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"{name} of the page", _RAMPS[name].split())


def _own_scale(options: Mapping[str, Any]) -> dict[str, Any]:
    # A norm learns its limits from the first image that uses it.
    return {key: copy.copy(value) if key == "norm" else value for key, value in options.items()}


def _robust_top(values: FloatArray) -> float:
    """Return the end of a scale that one huge cell cannot stretch until the rest is white."""
    positive = values[values > 0]
    if not positive.size:
        return 0.0
    return float(min(positive.max(), 4.0 * np.quantile(positive, 0.95)))


def _even_error(values: FloatArray) -> float:
    """Return an error cell where a quarter of everything is spread evenly over the errors.

    Errors that are all smaller should all look small, and with few classes there is no crowd of
    small cells that would show it.
    """
    n_errors = len(values) * (len(values) - 1)
    return 0.25 * float(np.nansum(values)) / n_errors if n_errors else 0.0


def add_colorbars(
    ax: Axes, image: AxesImage, diagonal: AxesImage | None, *, whole: bool, after: float
) -> None:
    """Put one colour bar, or one for each scale, to the right of the matrix and as high as it.

    ``after`` is how many points are taken there by something else.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure = ax.figure
    if figure.figure.get_layout_engine() is None and ax.get_subplotspec() is not None:
        # As matplotlib's own colour bars: take the room from the axes that they belong to.
        box = ax.get_position(original=True)
        ax.set_position((box.x0, box.y0, box.width * 0.84, box.height))
    images = [("", image)] if diagonal is None else [("off the diagonal", image)]
    if diagonal is not None:
        images.append(("on the diagonal", diagonal))
    height = 1.0 if diagonal is None else 0.46
    point = 1.0 / side_points(ax)
    for position, (name, scale) in enumerate(images):
        bottom = position * (1.0 - height)
        inset = ax.inset_axes((1.0 + (8 + after) * point, bottom, 10 * point, height))
        bar = figure.colorbar(scale, cax=inset, extend=_extend(scale))
        bar.locator = MaxNLocator(4, integer=whole)
        if whole:
            bar.formatter = FuncFormatter(lambda count, _: compact_count(count))
        bar.update_ticks()
        bar.ax.tick_params(labelsize=7.5, length=2, width=0.5)
        bar.outline.set_linewidth(0.5)
        if name:
            bar.set_label(name, fontsize=8)


def _extend(image: AxesImage) -> str:
    values: Any = np.ma.asarray(image.get_array())
    low, high = image.get_clim()
    above = high is not None and values.count() and float(values.max()) > high
    below = low is not None and values.count() and float(values.min()) < low
    return {(True, True): "both", (True, False): "max", (False, True): "min"}.get(
        (bool(above), bool(below)), "neither"
    )


def cell_points(ax: Axes, n_classes: int) -> float:
    """Return the width of a cell in points, after the layout has found its place."""
    root = ax.figure.figure
    layout = root.get_layout_engine()
    if layout is not None:
        layout.execute(root)
    return side_points(ax) / n_classes


def side_points(ax: Axes) -> float:
    """Return the side of the square of cells in points."""
    ax.apply_aspect()
    box = ax.get_window_extent()
    return float(min(box.width, box.height)) / ax.figure.figure.dpi * POINTS_PER_INCH


def draw_title(ax: Axes, text: str, *, above: float) -> None:
    """Write a title so many points above the cells.

    Its place is given: to find it matplotlib would measure the names of all rows.
    """
    from matplotlib import rcParams

    ax.set_title(text, fontsize=9.5, y=1.0, pad=rcParams["axes.titlepad"] + above)


def fit_labels(
    ax: Axes,
    names: Sequence[str],
    *,
    cell: float,
    rotation: str | float | None,
    apart: tuple[float, float],
) -> float:
    """Name rows and columns; return how wide a cell is then.

    The names take room from the cells, and the cells set the size of the names.
    """
    for _ in range(2):
        named = cell
        _draw_labels(ax, names, cell=cell, rotation=rotation, apart=apart)
        cell = cell_points(ax, len(names))
        if cell == named:
            break
    return cell


def _draw_labels(
    ax: Axes,
    names: Sequence[str],
    *,
    cell: float,
    rotation: str | float | None,
    apart: tuple[float, float],
) -> None:
    """Name rows and columns, in a size that fits; where some are left out, the axis says so.

    ``apart`` are the points between the cells and the names of rows, and of columns.
    """
    step = max(1, math.ceil(_SMALLEST_LABEL * _LINE_HEIGHT / cell))
    size = _label_size(cell * step) if step == 1 else _THINNED_LABEL
    shown = list(range(0, len(names), step))
    texts = [names[k] for k in shown]
    ax.set_xticks(shown, texts, fontsize=size)
    ax.set_yticks(shown, texts, fontsize=size)
    angle = _angle(texts, size, cell) if rotation is None else rotation
    for label in ax.get_xticklabels():
        label.set_rotation(angle)  # type: ignore[arg-type]
        if angle == 45:
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        as_plain_text(label)
    if step > 1:
        for axis, side in ((ax.xaxis, "Predicted"), (ax.yaxis, "True")):
            axis.set_label_text(f"{side} label (1 of {step} named)")
    rows, columns = apart
    long = 0.0 if cell > 12 else 1.5
    ax.tick_params(axis="y", length=0.0 if rows else long, width=0.5, pad=2 + rows)
    ax.tick_params(axis="x", length=0.0 if columns else long, width=0.5, pad=2 + columns)


def _label_size(room: float) -> float:
    return max(_SMALLEST_LABEL, min(10.0, room / _LINE_HEIGHT))


def _angle(texts: Sequence[str], size: float, cell: float) -> float:
    longest = max((len(text) for text in texts), default=0) * size * _CHARACTER_WIDTH
    if longest <= 0.85 * cell:
        return 0.0
    return 45.0 if cell > 2 * size else 90.0


def label_texts(labels: Sequence[object], longest: int = _LONGEST_LABEL) -> list[str]:
    """Return class names to draw: without control characters, cut so that they still differ."""
    return tell_apart([printable(label) for label in labels], longest)


def number_texts(
    values: FloatArray, *, counts: bool, values_format: str | None, cell: float
) -> npt.NDArray[np.str_]:
    """Return what to write into each cell, counts or ratios; an undefined one has a dash."""
    if values_format is not None:
        # As in scikit-learn: a format of counts, such as "d", must get integers.
        whole = counts and bool((values == np.floor(values)).all())
        numbers = values.astype(np.int64) if whole else values
        written = [
            format(v, values_format) if not math.isnan(v) else "–" for v in numbers.ravel().tolist()
        ]
        return np.array(written).reshape(values.shape)
    if counts:
        return np.array([compact_count(v) for v in values.flat]).reshape(values.shape)
    decimals = _decimals(values)
    texts = _ratios(values, decimals)
    if decimals > 2 and fitting_size(texts, cell) < _PLEASANT_NUMBER:
        return _ratios(values, decimals - 1)
    return texts


def with_counts(
    texts: npt.NDArray[np.str_], counts: npt.NDArray[Any], cell: float
) -> npt.NDArray[np.str_]:
    """Return the texts with the counts below them, where a cell has room for two lines."""
    if cell < _TWO_LINES:
        return texts
    pairs = zip(texts.flat, counts.flat, strict=True)
    below = [f"{text}\n{compact_count(count)}" if count else text for text, count in pairs]
    return np.array(below).reshape(texts.shape)


def _decimals(values: FloatArray) -> int:
    """Return decimals that leave the largest error two digits."""
    errors = values[~np.eye(len(values), dtype=bool)]
    largest = np.nanmax(errors, initial=0.0)
    if largest <= 0.0:
        return 2
    return int(np.clip(1 - math.floor(math.log10(largest)), 0 if largest >= 100 else 2, 5))


def _ratios(values: FloatArray, decimals: int) -> npt.NDArray[np.str_]:
    return np.array([_ratio(v, decimals) for v in values.flat]).reshape(values.shape)


def _ratio(value: float, decimals: int) -> str:
    if math.isnan(value):
        return "–"
    if value == 0.0:
        return "0"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("0") if text != "0" else text


def draw_numbers(
    ax: Axes,
    texts: npt.NDArray[np.str_],
    images: tuple[AxesImage, AxesImage | None],
    *,
    cell: float,
    faint: npt.NDArray[np.bool_],
    options: Mapping[str, Any],
    always: bool,
) -> npt.NDArray[Any] | None:
    """Write the numbers in the largest size that fits, or none where they would be unreadable."""
    size = fitting_size(texts, cell)
    if not always and size < _SMALLEST_NUMBER:
        return None
    result: npt.NDArray[Any] = np.empty(texts.shape, dtype=object)
    for i, j in np.ndindex(*texts.shape):
        image = images[1] if i == j and images[1] is not None else images[0]
        own: dict[str, Any] = {"ha": "center", "va": "center", **options}
        if not {"size", "fontsize", "fontproperties", "font"} & own.keys():
            own["fontsize"] = max(size, 2.0)
        if not {"color", "c"} & own.keys():
            own["color"] = _ink(image, i, j, faint=bool(faint[i, j]))
        text = ax.text(j, i, str(texts[i, j]), **own)
        as_plain_text(text)
        # Numbers lie inside their cells; a layout that measured each would take seconds.
        text.set_in_layout(False)
        result[i, j] = text
    return result


def has_room(cell: float) -> bool:
    """Whether a cell is high enough for a number of any length."""
    return _NUMBER_HEIGHT * cell >= _SMALLEST_NUMBER


def fitting_size(texts: npt.NDArray[np.str_], cell: float) -> float:
    """Return the font size at which the longest of the texts fits into a cell."""
    lines = [line for text in texts.flat for line in text.split("\n")]
    longest = max(map(len, lines), default=1)
    height = _NUMBER_HEIGHT * cell * (1.0 if len(lines) == texts.size else 0.7)
    return min(11.0, height, 0.86 * cell / (max(longest, 2) * _CHARACTER_WIDTH))


def _ink(image: AxesImage, i: int, j: int, *, faint: bool) -> str:
    """Return a colour that can be read on a cell: at least 4.5 : 1, as WCAG asks for."""
    value = np.ma.asarray(image.get_array())[i, j]
    if value is np.ma.masked:
        return _SOFT
    kept = np.asarray(1.0 if image.get_alpha() is None else image.get_alpha())
    colour = np.array(image.cmap(image.norm(value))[:3])
    under = 1.0 + (kept[i, j] if kept.ndim else kept) * (colour - 1.0)
    linear = np.where(under <= 0.04045, under / 12.92, ((under + 0.055) / 1.055) ** 2.4)
    light = float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05
    if faint and light / _SOFT_LIGHT >= 4.5:
        return _SOFT
    return "black" if light / 0.05 >= 1.05 / light else "white"


def as_plain_text(text: Text) -> None:
    """Keep matplotlib and TeX from reading dollars and backslashes in names as formulas."""
    text.set_parse_math(False)
    text.set_usetex(False)
