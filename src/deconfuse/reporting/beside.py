"""What stands beside the cells: margin bars, and answers that are no class, as shares per class.

In a figure both stand outside the axes of the matrix, which stay what scikit-learn's are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse._text import compact_count, printable, shorten
from deconfuse.reporting.drawing import POINTS_PER_INCH, as_plain_text, side_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deconfuse.confusion import ConfusionMatrix

__all__ = ["BAR_ROOM", "Beside", "draw_margins", "draw_outcomes", "share_text"]

FloatArray = npt.NDArray[np.float64]

# Points: thickness of a margin bar, room between parts, and the least size of a cell of outcomes.
_BAR, _GAP, _LEAST = 9.0, 3.0, 26.0
#: Points that margin bars take beside the cells.
BAR_ROOM = _BAR + 2 * _GAP
_BAR_COLOUR, _PAPER, _SHARE = "#a9b0bc", "#eceef1", "#c3c8d1"
_LONGEST_NAME = 24
_SMALLEST_NUMBER = 9.0


@dataclass(frozen=True, slots=True)
class Beside:
    """Outcomes on one side of a matrix: samples per class and outcome, and their share of all.

    ``totals`` are all samples of a true class, or all predictions of a class. Outcomes that do not
    occur on this side are left out.
    """

    names: tuple[str, ...]
    counts: FloatArray
    shares: FloatArray
    totals: FloatArray

    @classmethod
    def answers(cls, cm: ConfusionMatrix) -> Beside:
        """Return what was said instead of a class, per true class."""
        return cls._of(cm, np.asarray(cm.outcome_counts), np.asarray(cm.label_counts))

    @classmethod
    def backgrounds(cls, cm: ConfusionMatrix) -> Beside:
        """Return the labels that are no class, per predicted class."""
        return cls._of(cm, np.asarray(cm.background_counts).T, np.asarray(cm.prediction_counts))

    @classmethod
    def _of(cls, cm: ConfusionMatrix, counts: FloatArray, inside: FloatArray) -> Beside:
        occurs = np.flatnonzero(counts.any(axis=0))
        totals = inside + counts.sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares = counts[:, occurs] / totals[:, None]
        names = tuple(cm.outcomes[k] for k in occurs)
        return cls(names, counts[:, occurs].astype(np.float64), np.nan_to_num(shares), totals)


def share_text(share: float) -> str:
    """Return a share in percent, with two digits.

    Examples
    --------
    >>> share_text(0.4837), share_text(0.0067), share_text(1.0)
    ('48 %', '0.67 %', '100 %')
    """
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.2g} %"


def _texts(beside: Beside, *, counts: bool) -> npt.NDArray[np.str_]:
    """Return what to write into each cell: the count, or the share above it."""
    written = [
        ("" if counts or not count else f"{share_text(share)}\n") + compact_count(count)
        for count, share in zip(beside.counts.flat, beside.shares.flat, strict=True)
    ]
    return np.array(written).reshape(beside.counts.shape)


def draw_margins(ax: Axes, values: FloatArray) -> None:
    """Draw the sums of rows and columns as bars at the left and at the top of the cells.

    Sums that are all the same have bars of equal length.
    """
    from matplotlib.patches import StepPatch
    from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

    sums = np.nan_to_num(values)
    lengths = sums.sum(axis=0), sums.sum(axis=1)
    edges, longest = np.arange(len(values) + 1) - 0.5, max(map(np.max, lengths)) or 1.0
    # Their thickness is in points: it does not depend on the size that the layout finds.
    points = Affine2D().scale(1 / POINTS_PER_INCH) + ax.figure.dpi_scale_trans
    frame: Any = ax.transAxes
    up = points + ScaledTranslation(0.0, 1.0, frame)
    leftwards = Affine2D().scale(-1.0, 1.0) + points + ScaledTranslation(0.0, 0.0, frame)
    ways: tuple[dict[str, Any], ...] = ({}, {"orientation": "horizontal"})
    look: dict[str, Any] = {"facecolor": _BAR_COLOUR, "linewidth": 0.0, "clip_on": False}
    above, left = (
        StepPatch(length * (_BAR / longest) + _GAP, edges, baseline=_GAP, fill=True, **look, **way)
        for length, way in zip(lengths, ways, strict=True)
    )
    above.set_transform(blended_transform_factory(ax.transData, up))
    left.set_transform(blended_transform_factory(leftwards, ax.transData))
    for bars in (above, left):
        # As an artist: a patch would change the limits of the axes.
        ax.add_artist(bars)
    # Titles, of the reader too, stand above whatever axes are inside these.
    above_cells = blended_transform_factory(frame, up)
    ax.inset_axes((0.0, 0.0, 1.0, BAR_ROOM), transform=above_cells).set_axis_off()


def draw_outcomes(
    ax: Axes, beside: Sequence[Beside], *, cell: float, counts: bool
) -> tuple[float, float]:
    """Draw answers to the right of the cells and labels below; return the points that they take.

    Bars are the shares. Colours of the square are not used: these are no cells of it.
    """
    answers, backgrounds = beside
    n_classes = len(answers.counts)
    if ax.figure.figure.get_layout_engine() is None and ax.get_subplotspec() is not None:
        # As matplotlib's own colour bars: take the room from the axes that they belong to.
        box = ax.get_position(original=True)
        right, below = (len(part.names) / (n_classes + len(part.names)) for part in beside)
        high = box.height * (1 - below)
        ax.set_position((box.x0, box.y0 + box.height - high, box.width * (1 - right), high))
        cell = side_points(ax) / n_classes
    point = 1.0 / (cell * n_classes)
    size = max(cell, _LEAST)
    taken = [0.0, 0.0]
    if answers.names:
        wide = size * len(answers.names)
        strip = ax.inset_axes((1.0 + 2 * _GAP * point, 0.0, wide * point, 1.0))
        _draw_strip(strip, answers, cell, counts=counts, upright=True)
        strip.set(ylim=ax.get_ylim())
        taken[0] = wide + 2 * _GAP
    if backgrounds.names:
        high = size * len(backgrounds.names)
        strip = ax.inset_axes((0.0, -(2 * _GAP + high) * point, 1.0, high * point))
        _draw_strip(strip, backgrounds, cell, counts=counts, upright=False)
        strip.set(xlim=ax.get_xlim())
        taken[1] = high + 2 * _GAP
    return taken[0], taken[1]


def _draw_strip(ax: Axes, beside: Beside, cell: float, *, counts: bool, upright: bool) -> None:
    """Draw the cells of outcomes: a column each where they are upright, else a row each."""
    n_classes, n_outcomes = beside.shares.shape
    ax.set_facecolor(_PAPER)
    texts = _texts(beside, counts=counts)
    for k in range(n_outcomes):
        at = np.arange(n_classes)
        if upright:
            ax.barh(at, beside.shares[:, k], height=1.0, left=k, color=_SHARE)
        else:
            ax.bar(at, -beside.shares[:, k], width=1.0, bottom=k + 1, color=_SHARE)
        for i in range(n_classes) if cell >= _SMALLEST_NUMBER else ():
            place = (k + 0.5, i) if upright else (i, k + 0.5)
            look: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.0}
            lines = texts[i, k].count("\n") + 1
            points = min(7.5, 0.8 * (cell if upright else _LEAST) / lines)
            as_plain_text(
                ax.text(place[0], place[1], texts[i, k], fontsize=points, color="0.1", **look)
            )
    names = [shorten(printable(name), _LONGEST_NAME) for name in beside.names]
    _frame(ax, names, n_classes, upright=upright)


def _frame(ax: Axes, names: Sequence[str], n_classes: int, *, upright: bool) -> None:
    """Name the outcomes, and part their cells by lines."""
    ticks = np.arange(len(names)) + 0.5
    lines = np.arange(n_classes + 1) - 0.5
    if upright:
        ax.set(xlim=(0.0, len(names)), xticks=ticks, yticks=[])
        ax.set_xticklabels(names, rotation=90, fontsize=8)
        ax.hlines(lines, 0, len(names), colors="white", linewidth=0.8)
        ax.vlines(np.arange(1, len(names)), -0.5, n_classes - 0.5, colors="white", linewidth=1.6)
    else:
        ax.set(ylim=(len(names), 0.0), yticks=ticks, xticks=[])
        ax.set_yticklabels(names, fontsize=8)
        ax.vlines(lines, 0, len(names), colors="white", linewidth=0.8)
        ax.hlines(np.arange(1, len(names)), -0.5, n_classes - 0.5, colors="white", linewidth=1.6)
    ax.tick_params(length=0, pad=2)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        as_plain_text(label)
    for spine in ax.spines.values():
        spine.set_visible(False)
