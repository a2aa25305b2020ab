"""Whole pictures of a matrix, and writing them to files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deconfuse._files import atomic_write
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import MethodName
from deconfuse.reporting import drawing
from deconfuse.reporting.plots import ConfusionMatrixDisplay, refuse_too_many

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["picture_format", "plot_four", "write_figure"]

_PICTURES = ("png", "svg", "pdf", "eps", "jpg", "jpeg", "tif", "tiff", "webp")


def plot_four(
    cm: ConfusionMatrix,
    *,
    epsilon: float | None = None,
    columns: Literal[1, 2, 4] | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Draw the four normalizations of one matrix as one picture.

    Parameters
    ----------
    cm : ConfusionMatrix
    epsilon : float, optional
        What bi-normalization adds to every cell; see `deconfuse.normalize`.
    columns : {1, 2, 4}, optional
        How many matrices stand side by side: by default four for up to 20 classes, else two.
    figure : matplotlib Figure, optional
        An empty figure to draw into; by default a new one of pyplot's.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import deconfuse as dc
    >>> from deconfuse.reporting.pictures import plot_four
    >>> figure = plot_four(dc.ConfusionMatrix.from_counts([[9, 1], [3, 7]], ["cat", "dog"]))
    >>> [ax.get_title().split()[0] for ax in figure.axes]
    ['All-normalized', 'Row-normalized', 'Column-normalized', 'Bi-normalized']
    >>> figure.clear()
    """
    across = columns or (4 if cm.n_classes <= 20 else 2)
    if across not in (1, 2, 4):
        raise InputError(f"`columns` must be 1, 2 or 4, got {columns!r}.")
    refuse_too_many(cm.n_classes)
    names = drawing.label_texts(cm.labels)
    width, height = drawing.figure_size(cm.n_classes, names)
    down = 4 // across
    # Four full sizes are too much for a page; the numbers shrink to fit.
    shrink = min(1.0, 16.0 / (width * across))
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure()
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained", w_pad=0.1)
    figure.set_size_inches(width * across * shrink, height * down * shrink)
    panels = figure.subplots(down, across, squeeze=False)
    methods: tuple[MethodName, ...] = ("all", "row", "col", "bi")
    for method, ax in zip(methods, panels.flat, strict=True):
        ConfusionMatrixDisplay.from_confusion_matrix(
            cm, normalize=method, epsilon=epsilon if method == "bi" else None, ax=ax
        )
    return figure


def write_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 150) -> None:
    """Write a figure to a file, all of it or none; the name's suffix is its format."""
    from matplotlib import rc_context

    format = picture_format(path)
    # Text stays text in vector formats: it can be searched, copied and set in another font.
    with atomic_write(path) as stream, rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(stream, format=format, dpi=dpi)


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a picture's name ends in, or raise if it is none.

    Examples
    --------
    >>> picture_format("matrix.PNG")
    'png'
    """
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in _PICTURES:
        raise InputError(
            f"A picture must have a name that ends in its format, got {str(path)!r}.",
            hint=f"use one of {', '.join(_PICTURES)}.",
        )
    return suffix
