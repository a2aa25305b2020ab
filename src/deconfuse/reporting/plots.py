"""Confusion matrices as static figures, with the names of scikit-learn.

Turns counts and normalized matrices into matplotlib axes and files. It leaves pictures of other
things (clusters, curves over experiments) to the modules that compute them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse._files import atomic_write
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import dense
from deconfuse.errors import InputError
from deconfuse.normalization import MethodName, Normalized
from deconfuse.reporting import drawing
from deconfuse.reporting.beside import BAR_ROOM, Beside, draw_margins, draw_outcomes
from deconfuse.reporting.tables import SUMS, counts_of, values_to_read
from deconfuse.statistics.reliability import FEW_SAMPLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["ConfusionMatrixDisplay", "Look", "picture_format", "plot_four", "write_figure"]


# Above this a picture has less than one pixel per class, and matplotlib needs many gigabytes.
_MOST_CLASSES = 4_000

_TITLES = {
    "row": "Row-normalized",
    "col": "Column-normalized",
    "all": "All-normalized",
    "bi": "Bi-normalized",
}


class Look(TypedDict, total=False):
    """How a matrix is drawn: the options of `ConfusionMatrixDisplay.plot`."""

    include_values: bool | None
    cmap: str | Colormap | None
    xticks_rotation: Literal["vertical", "horizontal"] | float | None
    values_format: str | None
    ax: Axes | None
    colorbar: bool
    im_kw: Mapping[str, Any] | None
    text_kw: Mapping[str, Any] | None


class ConfusionMatrixDisplay:
    """Draw a confusion matrix, counts or normalized, as scikit-learn's class of this name does.

    Most people call `from_predictions`, `from_estimator` or `from_confusion_matrix`, which count,
    normalize and draw at once.

    Parameters
    ----------
    confusion_matrix : ConfusionMatrix, Normalized or array-like of shape (n_classes, n_classes)
        What to draw, true classes on rows, predicted classes on columns. An array is drawn as it
        is; NaN marks undefined cells.
    display_labels : sequence of shape (n_classes,), optional
        Names to show instead of those of the matrix.

    Attributes
    ----------
    confusion_matrix : ndarray of shape (n_classes, n_classes)
        The values that are drawn.
    display_labels : tuple
        The names that are shown; control characters are spelled out, and long names are
        shortened in the picture only.
    im_ : matplotlib AxesImage
        The cells; only those off the diagonal where the diagonal has a scale of its own.
    im_diagonal_ : matplotlib AxesImage or None
        The cells on the diagonal, where they have a scale of their own.
    text_ : ndarray of shape (n_classes, n_classes) of matplotlib Text, or None
        The numbers; None where they do not fit or were not asked for.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Notes
    -----
    The diagonal is orange and the rest blue, each on a scale of its own, because errors of a good
    classifier would all be white on a scale that also holds the hits. A ``cmap`` asks for one
    scale over all cells instead. Where one error is far larger than the others, the blue scale
    ends before it, and an arrow on the colour bar says so. Undefined cells are grey. A faint
    number, and in a normalized matrix a faint cell, has fewer than five samples behind it. A class
    without a true sample has dashes in its row. Where cells have room, the count is written below
    the ratio. Where there is no room for every name, the axis says how many are left out. The bars
    at the top and at the left are the sums of columns and rows. Answers that are no class stand
    apart, as grey bars: their share of the samples of a true class, or of the predictions.

    Examples
    --------
    >>> import deconfuse as dc
    >>> display = dc.ConfusionMatrixDisplay.from_predictions(
    ...     ["cat", "dog", "dog", "cat"], ["cat", "dog", "cat", "cat"], normalize="bi"
    ... )
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('Predicted label', 'True label')
    >>> display.figure_.clear()
    """

    im_: AxesImage
    im_diagonal_: AxesImage | None
    text_: npt.NDArray[Any] | None
    ax_: Axes
    figure_: Figure

    def __init__(
        self, confusion_matrix: Any, *, display_labels: Sequence[object] | None = None
    ) -> None:
        drawn = confusion_matrix
        self._method: str | None = None
        self._title: str | None = None
        self._counts: npt.NDArray[Any] | None = None
        self._beside: tuple[Beside, ...] = ()
        if isinstance(drawn, ConfusionMatrix | Normalized):
            cm = counts_of(drawn)
            refuse_too_many(cm.n_classes)
            names: Sequence[object] = cm.labels
            self._counts = values = dense(cm.counts)
            self._beside = (Beside.answers(cm), Beside.backgrounds(cm))
            self._title = f"Counts\nall cells sum to {cm.total:,.12g}"
        else:
            values = _checked_values(drawn)
            names = range(len(values))
        if isinstance(drawn, Normalized):
            values, self._method = values_to_read(drawn), drawn.method
            added = f" (epsilon {drawn.epsilon:.3g})" if drawn.epsilon else ""
            self._title = f"{_TITLES[drawn.method]}{added}\n{SUMS[drawn.method]}"
        if display_labels is not None:
            names = tuple(display_labels)
            if len(names) != len(values):
                raise InputError(
                    f"`display_labels` must have one name per class, got {len(names):,} names for"
                    f" {len(values):,} classes."
                )
        self.confusion_matrix = values
        self.display_labels = tuple(names)

    def plot(self, **look: Unpack[Look]) -> ConfusionMatrixDisplay:
        """Draw the matrix.

        Parameters
        ----------
        include_values : bool, optional
            Write the numbers into the cells. By default only where they are large enough to read.
        cmap : str or matplotlib Colormap, optional
            One colour scale for all cells. By default oranges on the diagonal and blues off it.
        xticks_rotation : {"vertical", "horizontal"} or float, optional
            Turn the names of the columns. By default as far as they need.
        values_format : str, optional
            Format of the numbers, such as ``".1%"``. By default counts are short (12k), and ratios
            have the decimals that the largest error needs.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure as large as the classes need.
        colorbar : bool
            Add a colour bar for each scale.
        im_kw : mapping, optional
            Options of ``Axes.imshow``, for the cells on and off the diagonal alike.
        text_kw : mapping, optional
            Options of ``Axes.text``, for the numbers.

        Returns
        -------
        ConfusionMatrixDisplay
            Itself.
        """
        unknown = [name for name in look if name not in Look.__annotations__]
        if unknown:
            raise TypeError(f"plot() got an unexpected keyword argument {unknown[0]!r}")
        values = self.confusion_matrix.astype(np.float64)
        names = drawing.label_texts(self.display_labels)
        cmap, im_kw = look.get("cmap"), look.get("im_kw") or {}
        include_values, values_format = look.get("include_values"), look.get("values_format")
        whole = self.confusion_matrix.dtype.kind in "biu"
        counts = whole or (self._method is None and self._counts is not None)
        ax = look.get("ax")
        if ax is None:
            import matplotlib.pyplot as plt

            beside = [len(part.names) for part in self._beside]
            size = drawing.figure_size(len(values), names, beside)
            _, ax = plt.subplots(figsize=size, layout="constrained")
        top = 1.0 if self._method in ("row", "col", "bi") else None
        few = None
        if self._method is not None and self._counts is not None and not {"alpha"} & set(im_kw):
            few = self._counts < FEW_SAMPLES
        images = drawing.draw_cells(ax, values, cmap=cmap, top=top, few=few, options=im_kw)
        ax.set(xlabel="Predicted label", ylabel="True label")
        ax.set_ylim(len(values) - 0.5, -0.5)
        has_margins = self._counts is not None
        bars = BAR_ROOM if has_margins else 0.0
        if self._title is not None:
            drawing.draw_title(ax, self._title, above=bars)
        cell = drawing.cell_points(ax, len(values))
        after = below = 0.0
        if any(part.names for part in self._beside):
            after, below = draw_outcomes(ax, self._beside, cell=cell, counts=self._method is None)
        if look.get("colorbar", True):
            drawing.add_colorbars(ax, *images, whole=whole, after=after)
        if has_margins:
            draw_margins(ax, values)
        cell = drawing.fit_labels(
            ax, names, cell=cell, rotation=look.get("xticks_rotation"), apart=(bars, below)
        )
        self.text_ = None
        if include_values or (include_values is None and drawing.has_room(cell)):
            texts = drawing.number_texts(
                values, counts=counts, values_format=values_format, cell=cell
            )
            if few is not None and self._counts is not None and values_format is None:
                if include_values is None:
                    # As on the page: where nothing was counted, there is no number to read.
                    texts[(values >= 0) & (self._counts == 0)] = "·"
                texts = drawing.with_counts(texts, self._counts, cell)
            faint = values == 0 if self._counts is None else self._counts == 0
            self.text_ = drawing.draw_numbers(
                ax,
                texts,
                images,
                cell=cell,
                faint=faint if few is None else few,
                options=look.get("text_kw") or {},
                always=include_values is True,
            )
        self.im_, self.im_diagonal_ = images
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    @classmethod
    def from_confusion_matrix(
        cls,
        confusion_matrix: Any,
        *,
        normalize: MethodName | None = None,
        epsilon: float | None = None,
        display_labels: Sequence[object] | None = None,
        **look: Unpack[Look],
    ) -> ConfusionMatrixDisplay:
        """Normalize counts and draw them.

        Parameters
        ----------
        confusion_matrix : ConfusionMatrix, DataFrame or array-like of shape (n_classes, n_classes)
            Counts, true classes on rows, predicted classes on columns.
        normalize : {"row", "col", "all", "bi"}, optional
            Also ``"true"`` and ``"pred"``, as in scikit-learn. By default counts are drawn.
        epsilon : float, optional
            Added to every cell before normalizing; see `deconfuse.normalize`.
        display_labels : sequence of shape (n_classes,), optional
            Names to show instead of those of the matrix.
        **look
            How it is drawn: the options of `plot`.

        Returns
        -------
        ConfusionMatrixDisplay

        Examples
        --------
        >>> import deconfuse as dc
        >>> display = dc.ConfusionMatrixDisplay.from_confusion_matrix(
        ...     [[9, 1], [3, 7]], normalize="row"
        ... )
        >>> display.confusion_matrix
        array([[0.9, 0.1],
               [0.3, 0.7]])
        >>> display.figure_.clear()
        """
        cm = ConfusionMatrix._from_bare(confusion_matrix)
        drawn = cm if normalize is None else cm.normalize(normalize, epsilon=epsilon)
        return cls(drawn, display_labels=display_labels).plot(**look)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Sequence[object] | None = None,
        sample_weight: Any = None,
        normalize: MethodName | None = None,
        epsilon: float | None = None,
        display_labels: Sequence[object] | None = None,
        **look: Unpack[Look],
    ) -> ConfusionMatrixDisplay:
        """Count labels and predictions, normalize and draw them.

        Parameters
        ----------
        y_true, y_pred : sequence of shape (n_samples,)
            Labels and predictions.
        labels : sequence, optional
            All classes in the order wanted; see `ConfusionMatrix.from_predictions`.
        sample_weight : sequence of shape (n_samples,), optional
        normalize : {"row", "col", "all", "bi"}, optional
            Also ``"true"`` and ``"pred"``, as in scikit-learn. By default counts are drawn.
        epsilon : float, optional
            Added to every cell before normalizing; see `deconfuse.normalize`.
        display_labels : sequence of shape (n_classes,), optional
            Names to show instead of the labels.
        **look
            How it is drawn: the options of `plot`.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        cm = ConfusionMatrix.from_predictions(
            y_true, y_pred, labels=labels, sample_weight=sample_weight
        )
        return cls.from_confusion_matrix(
            cm,
            normalize=normalize,
            epsilon=epsilon,
            display_labels=display_labels,
            **look,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        labels: Sequence[object] | None = None,
        sample_weight: Any = None,
        normalize: MethodName | None = None,
        epsilon: float | None = None,
        display_labels: Sequence[object] | None = None,
        **look: Unpack[Look],
    ) -> ConfusionMatrixDisplay:
        """Let a fitted classifier predict, then count, normalize and draw.

        Parameters
        ----------
        estimator : classifier
            A fitted scikit-learn classifier, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
        y : sequence of shape (n_samples,)
            True labels.
        labels, sample_weight, normalize, epsilon, display_labels
            See `from_predictions`.
        **look
            How it is drawn: the options of `plot`.

        Returns
        -------
        ConfusionMatrixDisplay

        Raises
        ------
        InputError
            If the estimator is not a classifier.
        """
        from sklearn.base import is_classifier

        if not is_classifier(estimator):
            raise InputError(
                f"`estimator` must be a fitted classifier, got {type(estimator).__name__}.",
                hint="for predictions made elsewhere, use `from_predictions`.",
            )
        return cls.from_predictions(
            y,
            estimator.predict(X),
            labels=labels,
            sample_weight=sample_weight,
            normalize=normalize,
            epsilon=epsilon,
            display_labels=display_labels,
            **look,
        )


def refuse_too_many(n_classes: int) -> None:
    """Raise if there are more classes than a picture has room for."""
    if n_classes > _MOST_CLASSES:
        raise InputError(
            f"A picture must have at most {_MOST_CLASSES:,} classes, got {n_classes:,}.",
            hint="join classes with `merge_classes`, or look at `deconfuse.report`, which zooms.",
        )


def _checked_values(matrix: Any) -> npt.NDArray[Any]:
    values = dense(matrix)
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"`confusion_matrix` must be numbers, got {show(values.ravel().tolist(), 2)}."
        )
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InputError(f"`confusion_matrix` must be square, got shape {values.shape}.")
    if np.isinf(values).any():
        raise InputError(
            f"`confusion_matrix` must be finite, got {int(np.isinf(values).sum()):,} infinite."
        )
    refuse_too_many(len(values))
    return values


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
    >>> from deconfuse.reporting.plots import plot_four
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
    beside = (len(cm.outcomes) * bool(np.any(cm.outcome_counts)),) * 2
    room = drawing.room_around(cm.n_classes, names, beside)
    # Four full sizes are too much for a page; the cells and their numbers shrink to fit.
    side = max(min(room.side, 20.0 / across - room.width), 2.2)
    width, height = side + room.width, side + room.height
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure()
    figure.set_size_inches(width * across, height * (4 // across))
    methods: tuple[MethodName, ...] = ("all", "row", "col", "bi")
    for place, method in enumerate(methods):
        row, column = divmod(place, across)
        # Given in inches: matplotlib's search for a layout takes longer than the drawing.
        ax = figure.add_axes(
            (
                (column + room.left / width) / across,
                1 - (row + 1 - room.below / height) * across / 4,
                side / width / across,
                side / height * across / 4,
            )
        )
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
