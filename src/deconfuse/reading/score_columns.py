"""Turn scores into predictions: the class with the highest score, the first one of a tie.

Scores come as one column a class, or as one column of lists. Only what the caller asked for is a
score; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from deconfuse._checks import Label, class_names, is_missing, kind_of, show
from deconfuse.classes import Classes, parse_label
from deconfuse.errors import InputError
from deconfuse.reading.column_names import find_column
from deconfuse.reading.pairs import ClassOptions, PairSums

__all__ = [
    "ScoreColumns",
    "Scores",
    "add_position",
    "read_scores",
    "refuse_strange_scores",
    "refuse_unknown_scores",
]

Scores: TypeAlias = str | Sequence[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Where the scores are and which class each belongs to.

    Attributes
    ----------
    columns : tuple of str
        One column a class, or the one column of lists.
    classes : tuple or None
        Class names in the order of the scores; None for 0, 1, 2 and so on.
    is_list : bool
        Whether the scores are lists in one column.
    """

    columns: tuple[str, ...]
    classes: tuple[Label, ...] | None
    is_list: bool

    @property
    def described(self) -> str:
        """The columns, for a message."""
        return show(self.columns)

    def class_list(self, n_scores: int, labels: Sequence[Label | None]) -> tuple[Label, ...]:
        """Return the class of each score, in the type of the labels.

        Raises
        ------
        InputError
            If no label is one of them: then columns have other names than their classes.
        """
        classes = self._typed_classes(n_scores, labels)
        refuse_strange_scores(self, classes, labels)
        return classes

    def _typed_classes(self, n_scores: int, labels: Sequence[Label | None]) -> tuple[Label, ...]:
        if self.classes is None:
            return tuple(range(n_scores))
        if self.is_list and len(self.classes) != n_scores:
            raise InputError(
                f"`scores` must name one class per score, got {len(self.classes):,} names for"
                f" lists of {n_scores:,} in {self.columns[0]!r}."
            )
        names = self.classes
        kind = next((kind_of(label) for label in labels if label is not None), None)
        if kind is None or not all(isinstance(name, str) for name in names):
            return names
        # The name of a column can only be a string: "7" means 7 where labels are integers.
        typed = [parse_label(str(name), kind) for name in names]
        return names if None in typed else tuple(name for name in typed if name is not None)

    def named(self, pairs: PairSums, classes: tuple[Label, ...]) -> PairSums:
        """Return the pairs with the position of the highest score replaced by its class."""
        values = [classes[int(position)] for position in pairs.pred.values]  # type: ignore[arg-type]
        return replace(pairs, pred=replace(pairs.pred, name="the scores", values=values))

    def options(
        self, options: ClassOptions, classes: tuple[Label, ...], pairs: PairSums
    ) -> ClassOptions:
        """Return the options with every class of a score or a label, if none are asked for."""
        if options.labels is not None:
            return options
        seen = {label for label in pairs.true.values if label is not None} - set(options.outcomes)
        every = sorted({*seen, *classes}, key=lambda label: (str(kind_of(label)), label))
        return replace(options, labels=Classes.of(every, name="scores"))


def read_scores(scores: Scores, columns: Sequence[str]) -> ScoreColumns:
    """Return what ``scores`` asks for, checked against the columns of the table.

    Parameters
    ----------
    scores : str, sequence of str, or mapping
        The column of lists; the columns named by their classes; columns to class names; or the
        column of lists to all class names.
    columns : sequence of str
        The columns there are.

    Returns
    -------
    ScoreColumns

    Examples
    --------
    >>> read_scores(["cat", "dog"], ["label", "cat", "dog"]).classes
    ('cat', 'dog')
    >>> read_scores({"p": [7, 8]}, ["label", "p"])
    ScoreColumns(columns=('p',), classes=(7, 8), is_list=True)
    """
    if isinstance(scores, str):
        return ScoreColumns((find_column(columns, scores, role="scores"),), None, is_list=True)
    if not isinstance(scores, (Mapping, Sequence)) or not len(scores):
        raise InputError(
            f"`scores` must be a column of lists, or the columns of the classes, got {scores!r}.",
            hint='write scores="probabilities", scores=["cat", "dog"] or scores={"p_cat": "cat",'
            ' "p_dog": "dog"}.',
        )
    found = tuple(find_column(columns, name, role="scores") for name in scores)
    if len(set(found)) < len(found):
        raise InputError(f"`scores` must name each column once, got {show(found)}.")
    if not isinstance(scores, Mapping):
        return ScoreColumns(found, class_names(found), is_list=False)
    values = list(scores.values())
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return ScoreColumns(found, class_names(values[0], name="scores"), is_list=True)
    return ScoreColumns(found, class_names(values, name="scores"), is_list=False)


def refuse_strange_scores(
    scores: ScoreColumns, classes: tuple[Label, ...], labels: Sequence[Label | None]
) -> None:
    """Raise if no label is the class of a score, as where columns are called ``p_cat``."""
    seen = {label for label in labels if label is not None}
    if not seen or not seen.isdisjoint(classes):
        return
    found = sorted(seen, key=str)
    if scores.is_list:
        hint = f"name the class of each score, in order: scores={{{scores.columns[0]!r}: [...]}}."
    else:
        meant = {
            column: _meant(column, found[place:] or found)
            for place, column in enumerate(scores.columns[:2])
        }
        pairs = ", ".join(f"{column!r}: {name!r}" for column, name in meant.items())
        typed = ",".join(f"{column}={name}" for column, name in meant.items())
        more = ", ..." if len(scores.columns) > 2 else ""
        hint = (
            f"say which class each column is: scores={{{pairs}{more}}}, or"
            f" `--scores {typed}{more.replace(' ', '')}` on the command line."
        )
    raise InputError(
        f"Scores must belong to the classes of the labels, got scores of {show(classes)} where"
        f" labels are {show(found)}.",
        hint=hint,
    )


def _meant(column: str, labels: Sequence[Label]) -> Label:
    """Return the label that the name of a column ends with, or else any, as an example."""
    ends = [label for label in labels if column.casefold().endswith(str(label).casefold())]
    return max(ends, key=lambda label: len(str(label)), default=labels[0])


def refuse_unknown_scores(missing: int, rows: int, scores: ScoreColumns) -> None:
    """Raise if a score is missing or NaN in some row."""
    if not missing:
        return
    if missing == rows and scores.is_list:
        raise InputError(
            f"`scores` must be a column of lists of numbers, got none in {scores.described}.",
            hint="give one column a class as a list of names.",
        )
    what = "or lists of another length " if scores.is_list else ""
    raise InputError(
        f"Scores must be numbers, got missing or NaN scores {what}in {missing:,} of {rows:,} rows"
        f" of {scores.described}.",
        hint="drop these rows, or look for what made the model return them.",
    )


def add_position(
    frame: nw.LazyFrame[Any],
    scores: ScoreColumns,
    *,
    spelled: Mapping[str, str],
    keep: Sequence[nw.Expr],
    name: str,
) -> tuple[nw.LazyFrame[Any], int]:
    """Return the columns ``keep`` with the position of the highest score, and how many scores.

    ``spelled`` says how the engine spells each column. The position is missing where a score is
    missing or NaN, or a list is of another length.
    """
    columns = [spelled[column] for column in scores.columns]
    if not scores.is_list:
        for column, given in zip(columns, scores.columns, strict=True):
            _check_numbers(frame.collect_schema()[column], given)
        named = [nw.col(column).cast(nw.Float64()) for column in columns]
        return _with_position(frame, named, keep, name), len(named)
    column = columns[0]
    frame = _lists_as_arrow(frame, column, said=scores.described)
    n_scores = _first_length(frame, column, said=scores.described)
    # Lists of another length become missing here: reading past their end is an error in Polars.
    lists = nw.when(nw.col(column).list.len() == n_scores).then(nw.col(column)).alias(column)
    items = [nw.col(column).list.get(item).cast(nw.Float64()) for item in range(n_scores)]
    return _with_position(frame.with_columns(lists), items, keep, name), n_scores


def _check_numbers(dtype: Any, column: str) -> None:
    if not dtype.is_numeric():
        raise InputError(
            f"Scores must be numbers, got {dtype} in column {column!r}.",
            hint="cast the column to floats.",
        )


def _with_position(
    frame: nw.LazyFrame[Any], scores: Sequence[nw.Expr], keep: Sequence[nw.Expr], name: str
) -> nw.LazyFrame[Any]:
    # Step by step, each a column of its own: Dask cannot align them inside one expression.
    columns = [f"score_{item}" for item in range(len(scores))]
    values = [nw.col(column) for column in columns]
    frame = frame.select(*keep, *(s.alias(to) for s, to in zip(scores, columns, strict=True)))
    kept = [column for column in frame.collect_schema().names() if column not in columns]
    frame = frame.with_columns(
        nw.max_horizontal(*values).alias("best"),
        nw.any_horizontal(*(v.is_null() | v.is_nan() for v in values), ignore_nulls=False).alias(
            "unknown"
        ),
    )
    hits = [nw.when(v == nw.col("best")).then(nw.lit(item)) for item, v in enumerate(values)]
    frame = frame.with_columns(*(hit.alias(to) for hit, to in zip(hits, columns, strict=True)))
    frame = frame.with_columns(nw.min_horizontal(*values).alias("position"))
    known = nw.when(~nw.col("unknown")).then(nw.col("position")).alias(name)
    return frame.select(*kept, known)


def _first_length(frame: nw.LazyFrame[Any], column: str, *, said: str) -> int:
    present = frame.select(nw.col(column)).filter(~nw.col(column).is_null())
    lengths = present.select(nw.col(column).list.len().alias("n")).head(1).collect()
    if lengths.is_empty() or not int(lengths["n"].to_list()[0]):
        raise InputError(f"`scores` must be lists with one score per class, got none in {said}.")
    return int(lengths["n"].to_list()[0])


def _lists_as_arrow(frame: nw.LazyFrame[Any], column: str, *, said: str) -> nw.LazyFrame[Any]:
    """Return the frame with a column that narwhals can read as lists."""
    dtype = frame.collect_schema()[column]
    if isinstance(dtype, (nw.List, nw.Array)) and not _inner(dtype).is_numeric():
        raise InputError(
            f"`scores` must be lists of numbers, got {dtype} in {said}.",
            hint="cast what the lists hold to floats.",
        )
    if isinstance(dtype, nw.List):
        return frame
    if isinstance(dtype, nw.Array):
        return frame.with_columns(nw.col(column).cast(nw.List(nw.Float64())))
    native = frame.to_native()
    if dtype == nw.Object and hasattr(native, "assign"):
        import pandas as pd
        import pyarrow as pa

        lists = pd.ArrowDtype(pa.list_(pa.float64()))
        if hasattr(native, "map_partitions"):
            typed = native[column].map_partitions(_to_lists, lists, meta=(column, lists))
        else:
            typed = _to_lists(native[column], lists)
        return nw.from_native(native.assign(**{column: typed})).lazy()
    raise InputError(
        f"`scores` must be a column of lists of numbers, got {dtype} in {said}.",
        hint="give one column a class as a list of names; of Spark's vectors, make arrays with"
        " pyspark.ml.functions.vector_to_array.",
    )


def _inner(dtype: Any) -> Any:
    inner = dtype.inner
    return inner() if isinstance(inner, type) else inner


def _to_lists(values: Any, dtype: Any) -> Any:
    try:
        rows = [None if is_missing(row) else np.asarray(row, float) for row in values]
        return type(values)(rows, index=values.index, name=values.name, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`scores` must be lists of numbers, got something else in {values.name!r}: {error}.",
            hint="look at the rows whose value is no list, or a list of texts or of lists.",
        ) from error
