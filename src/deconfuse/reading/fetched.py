"""What DuckDB returned, as labels, predictions and samples in the types that the files have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.class_options import ClassOptions
from deconfuse.reading.column_names import ColumnChoice
from deconfuse.reading.frames import refuse_bad_weights, refuse_infinite_weights
from deconfuse.reading.label_codes import ONE_CLASS_HINT, LabelColumn, open_column
from deconfuse.reading.pairs import (
    CodedColumn,
    PairSums,
    parse_texts,
    refuse_no_samples,
    refuse_too_many_pairs,
)
from deconfuse.reading.queries import Chosen
from deconfuse.reading.score_columns import refuse_unknown_scores
from deconfuse.reading.sequences import count_sequences

__all__ = ["Rows", "TwoModels", "fetched_pairs", "located", "present_values"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Samples in the order of the files: their classes, their names, and what shows them.

    Attributes
    ----------
    y_true, y_pred : ndarray of shape (n_rows,)
        Classes, or outcomes where the matrix counts them as such.
    ids : list
        Values of the id column, or row numbers from 0 over all files.
    images : list or None
        A path each, or the bytes of a picture.
    texts : list of str or None
    scores : ndarray or None
        Of the predicted class, where the table has the scores of every class.
    """

    y_true: npt.NDArray[Any]
    y_pred: npt.NDArray[Any]
    ids: list[Any]
    images: list[Any] | None = None
    texts: list[str] | None = None
    scores: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TwoModels:
    """Labels, and the predictions of two models for them, sample by sample."""

    y_true: npt.NDArray[Any]
    first: npt.NDArray[Any]
    second: npt.NDArray[Any]

    def matrices(
        self,
        options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """Return the confusion matrix of each model, over the classes of both."""
        one, two = (
            count_sequences(self.y_true, column, None, options)
            for column in (self.first, self.second)
        )
        classes = one.classes.union(two.classes)
        return one.reindex(classes), two.reindex(classes)


def fetched_pairs(
    found: dict[str, Any],
    chosen: Chosen,
    options: ClassOptions,
    *,
    pred: tuple[str, str] | None = None,
) -> tuple[PairSums, ClassOptions]:
    """Return labels and predictions of a query, distinct pairs or row by row.

    Parameters
    ----------
    found : dict of arrays
        With the columns true_value, pred_value and rows; without rows, each stands for one.
    chosen : Chosen
        What was asked for.
    options : ClassOptions
    pred : (key, column), optional
        Where other predictions are, of which column.

    Returns
    -------
    PairSums
    ClassOptions
        Also with every class of a score, if none are asked for.
    """
    choice, scores = chosen.columns, chosen.scores
    rows = np.asarray(found.get("rows", np.ones(len(found["true_value"]))), dtype=np.int64)
    refuse_too_many_pairs(len(rows))
    refuse_no_samples(len(rows))
    key, name = pred or ("pred_value", str(choice.prediction))
    typing = chosen.scans[0].typing
    is_text = typing == "text"
    if scores is not None:
        unknown = int(rows[np.ma.getmaskarray(found[key])].sum())
        refuse_unknown_scores(unknown, int(rows.sum()), scores)
    elif is_text and options.labels is None:
        _refuse_headers(found, choice, rows)
    true = _column(found["true_value"], choice.label, rows, is_json=typing == "json")
    if scores is None:
        second = _column(found[key], name, rows, is_json=typing == "json")
    else:
        second = CodedColumn.of(_labels(found[key], "the scores"), rows)
        if is_text:
            # Beside positions of scores, only the labels are text.
            texts = [value for value in true.values if value is not None]
            typed = dict(zip(texts, parse_texts(texts, texts, options.labels)[0], strict=True))
            values = [None if value is None else typed[value] for value in true.values]
            true, is_text = replace(true, values=values), False
    weights = None if choice.weight is None else _weights(found, rows, choice.weight)
    pairs = PairSums.of(true, second, rows, weights, is_text=is_text)
    if scores is None:
        return pairs, options
    classes = scores.class_list(_n_scores(found, chosen), true.values, options)
    return scores.named(pairs, classes), scores.options(options, classes, pairs)


def _column(values: Any, name: str, rows: npt.NDArray[np.int64], *, is_json: bool) -> CodedColumn:
    """Return the values of a column of classes, with the types that its format has."""
    column = CodedColumn.of(_labels(values, f"column {name!r}"), rows)
    if not is_json:
        return column
    read = [None if text is None else _from_json(str(text), name) for text in column.values]
    again = CodedColumn.of(_labels(_objects(read), column.name), np.zeros(len(read), np.int64))
    return replace(column, values=again.values, codes=again.codes[column.codes])


def _refuse_headers(result: dict[str, Any], choice: ColumnChoice, rows: Any) -> None:
    """Raise if the names of the columns stand among their values, as in files joined end to end."""
    true, pred = (np.ma.getdata(result[name]) for name in ("true_value", "pred_value"))
    repeated = int(rows[(true == choice.label) & (pred == choice.prediction)].sum())
    if repeated:
        raise InputError(
            f"Rows must be samples, got {repeated:,} that repeat the header ({choice.label!r},"
            f" {choice.prediction!r}).",
            hint="files that were joined keep their headers: give the files themselves. If the"
            " names are classes, list all classes in `labels`.",
        )


def _n_scores(found: dict[str, Any], chosen: Chosen) -> int:
    assert chosen.scores is not None
    widths = [found["width"]] if "width" in found else [found["shortest"], found["longest"]]
    shortest, longest = int(widths[0].min()), int(widths[-1].max())
    if shortest != longest:
        raise InputError(
            f"Scores must be lists of one length, got lengths from {shortest:,} to {longest:,} in"
            f" {chosen.scores.described}.",
        )
    return shortest


def _labels(values: Any, name: str) -> LabelColumn:
    """Open a fetched column; a masked value is a missing one, and dates are numpy's."""
    if np.ma.getdata(values).dtype.kind == "M":
        values = np.ma.filled(values, np.datetime64("NaT"))
    return LabelColumn(name, open_column(values, name=name))


def _from_json(text: str, column: str) -> Any:
    """Return the value of a JSON text, which must be one that can name a class."""
    value = json.loads(text)
    if isinstance(value, (list, dict)):
        raise InputError(
            f"Column {column!r} must hold one class per sample, got {show([value])}.",
            hint=ONE_CLASS_HINT,
        )
    return value


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _weights(
    result: dict[str, Any], rows: npt.NDArray[np.int64], name: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    present = int(np.asarray(result["weight_present"], dtype=np.int64).sum())
    refuse_bad_weights(int(rows.sum()) - present, _floats(result["weight_lowest"]), name)
    sums, squares = _floats(result["weight_sum"]), _floats(result["weight_squares"])
    refuse_infinite_weights(sums, squares, name)
    return sums, squares


def _floats(values: Any) -> npt.NDArray[np.float64]:
    return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))


def present_values(values: npt.NDArray[Any], column: str) -> list[Any]:
    """Return the values of a column that must have one in every row."""
    missing = int(np.ma.getmaskarray(values).sum())
    if missing:
        raise InputError(
            f"Column {column!r} must have no missing values, got {missing:,} among the"
            f" {len(values):,} rows shown.",
            hint="fill them, or leave the column out.",
        )
    return list(np.ma.getdata(values).tolist())


def located(image: Any, folder: Path) -> Any:
    """Return the bytes of a picture, or its path, beside the table where it is there."""
    if not isinstance(image, str):
        return bytes(image)
    beside = folder / image
    return beside if beside.exists() else Path(image)
