"""Validate the scores, labels and weights that `Rebalancer` is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from deconfuse._checks import as_label, class_names, from_torch, show
from deconfuse.errors import DeconfuseWarning, InputError, warn

__all__ = [
    "FloatArray",
    "ScoreKind",
    "as_codes",
    "as_scores",
    "as_weights",
    "check_informative",
    "check_same_names",
    "column_names",
    "kind_of_scores",
    "log_scores",
    "looks_like_probabilities",
    "plain",
    "refuse_probabilities",
]

ScoreKind = Literal["auto", "logits", "probabilities"]
FloatArray = NDArray[np.float64]

# A probability of zero would be beyond the reach of any offset.
_LEAST_PROBABILITY = 1e-12
# How far the rows of probabilities may be from one: float32 softmax of many classes, and rounding
# to three digits in a file.
_SUM_TOLERANCE = 5e-3
# A row of logits may lie between 0 and 1 and sum to about one by accident, so many rows hardly.
_FEW_ROWS = 10
# Of few rows only those that a softmax made in single precision are told from logits.
_EXACT_SUM = 1e-6


def kind_of_scores(table: FloatArray, kind: ScoreKind) -> ScoreKind:
    """Return what the scores are, looking at them where ``kind`` says so."""
    if kind == "probabilities":
        _check_probabilities(table, 'pass `kind="logits"` if these are logits or decision values.')
    if kind != "auto":
        return kind
    return "probabilities" if looks_like_probabilities(table) else "logits"


def _check_probabilities(table: FloatArray, hint: str) -> None:
    if not _is_in_range(table):
        raise InputError(
            f"Probabilities must lie between 0 and 1, got {table.min():.6g} to {table.max():.6g}.",
            hint=hint,
        )


def _is_in_range(table: FloatArray) -> bool:
    return bool(((table >= 0) & (table <= 1 + _SUM_TOLERANCE)).all())


def log_scores(table: FloatArray, kind: ScoreKind) -> FloatArray:
    """Return what offsets are added to."""
    if kind == "logits":
        return table
    _check_probabilities(table, "`fit` was given probabilities; give probabilities here too.")
    logs: FloatArray = np.log(np.maximum(table, _LEAST_PROBABILITY))
    return logs


def looks_like_probabilities(table: FloatArray) -> bool:
    """Return whether scores lie between 0 and 1 and every row sums to one."""
    off = np.abs(table.sum(axis=1) - 1)
    return _is_in_range(table) and bool((off <= _SUM_TOLERANCE).all())


def refuse_probabilities(table: FloatArray, *, is_told: bool) -> None:
    """Refuse probabilities where `fit` was given logits, whose offsets are on another scale.

    A few rows of logits may look so by accident. ``is_told`` says that the caller named them
    logits: then only many rows are proof enough.
    """
    if not looks_like_probabilities(table):
        return
    hint = "give logits here too, or fit on probabilities."
    if len(table) <= _FEW_ROWS:
        is_exact = bool((np.abs(table.sum(axis=1) - 1) <= _EXACT_SUM).all())
        if is_told or not is_exact or (table == np.rint(table)).all():
            return
        hint += ' If these are logits, fit with `kind="logits"`.'
    raise InputError(
        "`scores` must be logits as in `fit`, got probabilities: all lie between 0 and 1, and every"
        " row sums to one.",
        hint=hint,
    )


def as_scores(scores: ArrayLike) -> FloatArray:
    """Return scores as a finite table, one row per sample and one column per class."""
    if issparse(scores):
        raise InputError("`scores` must be a dense array, got a sparse one.", hint="`.toarray()`.")
    raw = np.asarray(from_torch(scores))
    if np.iscomplexobj(raw):
        raise InputError("`scores` must be real. Complex data not supported.")
    try:
        table = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "`scores` must be a table of numbers, one row per sample and one column per class."
        ) from error
    if table.ndim != 2:
        raise InputError(
            f"`scores` must be a 2D array, one column per class, got {table.ndim}D of shape"
            f" {table.shape}.",
            hint="for two classes: `np.column_stack([-margin, margin])` or `[1 - p, p]`. "
            "Reshape your data with `.reshape(1, -1)` if it is one sample.",
        )
    if 0 in table.shape:
        raise InputError(
            f"`scores` must have samples and columns, got {table.shape[0]} sample(s) and"
            f" {table.shape[1]} feature(s) (shape={table.shape}) while a minimum of 1 is required."
        )
    broken = int((~np.isfinite(table)).sum())
    if broken:
        raise InputError(
            f"`scores` must be finite, got {broken:,} NaN or infinity (inf) values.",
            hint="a log-probability of minus infinity: pass the probabilities instead.",
        )
    return table


def as_codes(
    y: ArrayLike,
    shape: tuple[int, ...],
    classes: Sequence[Any] | None,
    names: Sequence[Any] | None,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the class of every column, and the column of every label.

    ``names`` are those of the columns of a frame: where they are the classes, they say which column
    is which.
    """
    if y is None:
        raise InputError("`y` must be given: requires y to be passed, but the target y is None.")
    # numpy would turn a list of mixed types into strings, quietly.
    given = from_torch(y)
    labels = np.asarray(given) if hasattr(given, "dtype") else np.asarray(given, dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(labels, warn=True)
    if labels.ndim != 1 or len(labels) != shape[0]:
        raise InputError(
            f"`scores` and `y` must describe the same samples, got shapes {shape} and"
            f" {labels.shape}."
        )
    if labels.dtype.kind == "O":
        labels = _from_objects(labels)
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise InputError("`y` must have no missing values, got NaN or infinity (inf).")
        if not (labels == np.rint(labels)).all():
            raise InputError("`y` must be classes, got fractions. Unknown label type: continuous.")
    seen = np.unique(labels)
    columns = _column_classes(seen, shape[1], classes, names)
    unknown = ~np.isin(seen, columns)
    if unknown.any():
        raise InputError(
            f"`y` must be classes of the columns, got {show(plain(seen[unknown]))}.",
            hint=f"the columns are {show(plain(columns))}.",
        )
    order = np.argsort(columns, kind="stable")
    return columns, order[np.searchsorted(columns, labels, sorter=order)].astype(np.intp)


def _column_classes(
    seen: NDArray[Any],
    n_columns: int,
    classes: Sequence[Any] | None,
    names: Sequence[Any] | None,
) -> NDArray[Any]:
    if classes is not None:
        chosen = np.asarray(class_names(classes, name="classes"))
        if len(chosen) != n_columns:
            raise InputError(
                f"`scores` must have one column per class, got {n_columns} columns for"
                f" {len(chosen)} classes."
            )
        texts = [_text(value) for value in plain(chosen)]
        given = [str(name) for name in names or ()]
        if given != texts and sorted(given) == sorted(texts):
            raise InputError(
                f"`classes` must be in the order of the columns, got {show(plain(chosen))} for"
                f" columns named {show(given)}.",
                hint="leave `classes` out: the columns are named by them.",
            )
        return chosen
    if names is not None and not _is_numbering(names, seen):
        return _classes_by_name(seen, names)
    if len(seen) == n_columns:
        return seen
    if len(seen) < n_columns and seen.dtype.kind in "iu" and seen[0] >= 0 and seen[-1] < n_columns:
        return np.arange(n_columns)
    raise InputError(
        f"`scores` must have one column per class, got n_features = {n_columns} and {len(seen)}"
        f" classes in `y`: {show(plain(seen))}.",
        hint="say which class each column is: `Rebalancer(classes=[...])`.",
    )


def as_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return one weight per sample."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weights = np.asarray(from_torch(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("`sample_weight` must be numbers, one per sample.") from error
    if weights.shape != (n_samples,):
        raise InputError(
            f"`sample_weight` must have one value per sample, got shape {weights.shape} for"
            f" {n_samples} samples."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("`sample_weight` must be finite, not negative and not all zero.")
    return weights


def check_informative(table: FloatArray, codes: NDArray[np.intp]) -> None:
    """Refuse scores that no offset can be learnt from."""
    n_samples, n_classes = table.shape
    if n_samples <= n_classes:
        raise InputError(
            f"Offsets need more samples than classes, got n_samples = {n_samples} for {n_classes}"
            " classes.",
            hint="give a larger validation set, or merge classes.",
        )
    if n_classes < 2 or len(np.unique(codes)) < 2:
        raise InputError(
            "`y` must have at least two classes, got only one class.",
            hint="a bias between classes shows only where there are several.",
        )
    if not np.ptp(table, axis=1).any():
        raise InputError(
            "`scores` must differ between the classes, got rows of equal scores throughout.",
            hint="pass the scores before argmax, one column per class.",
        )
    lowest, highest = float(table.min()), float(table.max())
    is_highest = table == highest
    if (is_highest.sum(axis=1) == 1).all() and (table[~is_highest] == lowest).all():
        raise InputError(
            "`scores` must say how sure the classifier is, got one-hot rows: one"
            f" {highest:g} and else {lowest:g}.",
            hint="pass probabilities or logits, not predictions: an offset would move all of a"
            " class or nothing.",
        )


def _from_objects(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        names = [as_label(value, what="`y`") for value in labels]
    except InputError as error:
        raise InputError(f"{error.message} Unknown label type.", hint=error.hint) from error
    kinds = {type(name) for name in names}
    if len(kinds) > 1:
        raise InputError("`y` must name classes by one type, got several. Unknown label type.")
    return np.asarray(names)


def column_names(scores: Any) -> list[Any] | None:
    """Return the names of the columns of a frame, or None where there are none but numbers."""
    columns = getattr(scores, "column_names", getattr(scores, "columns", None))
    if columns is None or not np.iterable(columns):
        return None
    names = list(columns)
    return None if names == list(range(len(names))) else names


def _is_numbering(names: Sequence[Any], seen: NDArray[Any]) -> bool:
    """Return whether names are the numbers that pandas gives by itself, and not the classes."""
    if not all(isinstance(name, (int, np.integer)) for name in names):
        return False
    is_run = np.array_equal(names, np.arange(names[0], names[0] + len(names)))
    return bool(is_run) and not set(plain(seen)) <= {int(name) for name in names}


def _classes_by_name(seen: NDArray[Any], names: Sequence[Any]) -> NDArray[Any]:
    """Return the class of each column by its name.

    Names are compared as text, since files store numbers so.
    """
    known = {_text(value): value for value in plain(seen)}
    texts = [str(name) for name in names]
    lacking = [value for text, value in known.items() if text not in set(texts)]
    if lacking or len(set(texts)) < len(texts):
        raise InputError(
            f"Named columns of `scores` must be the classes, got {show(names)} for the classes"
            f" {show(plain(seen))}.",
            hint="name each column by its class, or say which class each column is, in their"
            " order: `Rebalancer(classes=[...])`.",
        )
    # A column without samples is a class too, of the type of the others.
    if seen.dtype.kind in "iu" and all(text.lstrip("-").isdecimal() for text in texts):
        return np.array([int(text) for text in texts])
    return np.array([known.get(text, text) for text in texts])


def check_same_names(names: Sequence[Any] | None, fitted: Sequence[Any] | None) -> None:
    """Raise, or warn where one side has none, if columns are not those of `fit`.

    The words are scikit-learn's, which its users look for.
    """
    if names == fitted:
        return
    if names is None or fitted is None:
        said, how = ("X has", "without") if names else ("X does not have valid", "with")
        warn(
            f"{said} feature names, but Rebalancer was fitted {how} feature names: columns are"
            " taken in their order.",
            DeconfuseWarning,
        )
        return
    raise InputError(
        "`scores` must have the columns of `fit`. The feature names should match those that were"
        f" passed during fit, in the same order: {show(fitted)}, got {show(names)}.",
        hint="bring the columns in that order, as `scores[names]` does.",
    )


def _text(value: Any) -> str:
    # Classes that are whole numbers stand as floats in many tables.
    return str(int(value)) if isinstance(value, float) else str(value)


def plain(values: Any) -> list[Any]:
    """Return class names as Python scalars."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]
