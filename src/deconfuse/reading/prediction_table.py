"""Open files of predictions once, to count them, look up rows and compare columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import Label, show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseError, InputError
from deconfuse.reading.column_names import (
    DEFAULT_LABEL,
    DEFAULT_PREDICTION,
    ColumnChoice,
    choose_columns,
    find_column,
)
from deconfuse.reading.columns import LabelColumn, open_column
from deconfuse.reading.files import DataFile, inspect_file
from deconfuse.reading.frames import refuse_bad_weights, refuse_infinite_weights
from deconfuse.reading.matrices import TableOptions
from deconfuse.reading.matrix_files import load_matrices, refuse_columns
from deconfuse.reading.pairs import (
    ClassOptions,
    PairColumn,
    PairSums,
    matrix_of,
    parse_texts,
    refuse_too_many_pairs,
)
from deconfuse.reading.paths import Paths, expand_paths
from deconfuse.reading.queries import (
    MARK,
    Extra,
    Query,
    pair_query,
    refuse_mixed_files,
    row_query,
    value_columns,
)
from deconfuse.reading.scans import Scan, connect, make_scans, spill_folder, validate_arrow
from deconfuse.reading.score_columns import (
    ScoreColumns,
    Scores,
    read_scores,
    refuse_unknown_scores,
)

if TYPE_CHECKING:
    import duckdb

__all__ = ["PredictionTable", "Rows", "TwoModels", "count_file", "open_table"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Samples in the order of the files: their classes, their names, and what shows them.

    Attributes
    ----------
    y_true, y_pred : ndarray of shape (n_rows,)
    ids : list
        Values of the id column, or row numbers from 0 over all files.
    images : list or None
        A path each, or the bytes of a picture.
    texts : list of str or None
    """

    y_true: npt.NDArray[Any]
    y_pred: npt.NDArray[Any]
    ids: list[Any]
    images: list[Any] | None = None
    texts: list[str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TwoModels:
    """Labels, and the predictions of two models for them, sample by sample."""

    y_true: npt.NDArray[Any]
    first: npt.NDArray[Any]
    second: npt.NDArray[Any]

    def matrices(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """Return the confusion matrix of each model, over the classes of both."""
        columns = (self.y_true, self.first, self.second)
        classes = sorted(set().union(*(column.tolist() for column in columns)))
        return (
            ConfusionMatrix.from_predictions(self.y_true, self.first, labels=classes),
            ConfusionMatrix.from_predictions(self.y_true, self.second, labels=classes),
        )


def open_table(
    path: Paths,
    *,
    scores: Scores | None = None,
    transpose: bool = False,
    drop: Iterable[object] = (),
    labels: Iterable[object] | None = None,
    max_decompressed: int | None = None,
) -> PredictionTable | ConfusionMatrix:
    """Open files: a table of predictions, or the matrix that they hold.

    This is the only place that tells one from the other.

    Parameters
    ----------
    path : path, or iterable of paths
        CSV, TSV, Parquet, JSON lines, Arrow IPC, or matrices that were saved.
    scores : optional
        If scores are asked for, a table of names and numbers is one of scores, not of counts.
    transpose, drop, labels
        How to read a matrix: see `deconfuse.reading.matrices.named_counts`.
    max_decompressed : int, optional
        How many bytes each compressed file may unpack to; by default 1 GiB, or a hundred times its
        size where that is more.

    Returns
    -------
    PredictionTable or ConfusionMatrix
        A table must be closed: use it in a ``with`` statement. Several matrices are merged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "predictions.csv"
    ...     _ = path.write_text("name,label,prediction\\na,cat,cat\\nb,dog,cat\\nc,dog,dog\\n")
    ...     with open_table(path) as table:
    ...         table.columns, table.count().total, table.rows(id="name").ids
    (('name', 'label', 'prediction'), 3, ['a', 'b', 'c'])
    """
    options = TableOptions.of(transpose=transpose, drop=drop, labels=labels)
    found = expand_paths(path)
    with ExitStack() as stack:
        spill = stack.enter_context(spill_folder())
        files = [inspect_file(file, spill, max_decompressed) for file in found.paths]
        with _explained(files):
            saved = load_matrices(files, options, is_scored=scores is not None)
            if saved is not None:
                return saved
            connection = stack.enter_context(connect(files, spill))
            scans = make_scans(connection, files, partitioned=found.partitioned)
        return PredictionTable(connection, scans, stack.pop_all())


def count_file(
    path: Paths,
    *,
    label: str = DEFAULT_LABEL,
    prediction: str = DEFAULT_PREDICTION,
    weight: str | None = None,
    scores: Scores | None = None,
    options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    transpose: bool = False,
    drop: Iterable[object] = (),
    max_decompressed: int | None = None,
) -> ConfusionMatrix:
    """Count two columns of files without loading them: see `ConfusionMatrix.from_file`."""
    opened = open_table(
        path,
        scores=scores,
        transpose=transpose,
        drop=drop,
        labels=options.labels,
        max_decompressed=max_decompressed,
    )
    if isinstance(opened, ConfusionMatrix):
        refuse_columns(label=label, prediction=prediction, weight=weight)
        return opened
    with opened:
        return opened.count(
            label=label, prediction=prediction, weight=weight, scores=scores, options=options
        )


class PredictionTable:
    """Files of predictions, open for any number of questions until they are closed.

    Made by `open_table`; used in a ``with`` statement.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, scans: list[Scan], resources: ExitStack
    ) -> None:
        self._connection = connection
        self._scans = scans
        self._resources = resources
        self._files = [file for scan in scans for file in scan.files]
        self._choices: dict[tuple[str, str | None], tuple[str, str | None]] = {}

    def __enter__(self) -> PredictionTable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._resources.close()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as the first file spells them."""
        return self._scans[0].columns

    def count(
        self,
        *,
        label: str = DEFAULT_LABEL,
        prediction: str = DEFAULT_PREDICTION,
        weight: str | None = None,
        scores: Scores | None = None,
        options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> ConfusionMatrix:
        """Count the pairs of two columns; see `ConfusionMatrix.from_file`."""
        choice, asked = self._choose(label, prediction, weight, scores)
        with _explained(self._files):
            result = self._fetch(pair_query(self._scans, choice, asked), choice, asked)
            pairs = self._pairs(result, choice, asked, options)
        if asked is None:
            return matrix_of(pairs, options)
        classes = asked.class_list(_n_scores(result, asked), pairs.true.values)
        return matrix_of(asked.named(pairs, classes), asked.options(options, classes, pairs))

    def rows(
        self,
        *,
        label: str = DEFAULT_LABEL,
        prediction: str = DEFAULT_PREDICTION,
        scores: Scores | None = None,
        id: str | None = None,
        image: str | None = None,
        text: str | None = None,
        per_cell: int | None = 12,
        options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> Rows:
        """Return the first rows behind every cell, or all.

        Parameters
        ----------
        label, prediction, scores
            As in `count`.
        id, image, text : str, optional
            Columns that name and show a sample. A picture is a path, taken from the folder of the
            table where it is relative, or the bytes of a file, as Parquet can hold them.
        per_cell : int or None
            How many rows of a cell to take; None for all rows.
        options : ClassOptions
            As in `count`: classes have the same type in both.

        Returns
        -------
        Rows
            In the order of the files.

        Raises
        ------
        InputError
            As `count`; also if a picture, a text or an id is missing.
        """
        choice, asked = self._choose(label, prediction, None, scores)
        extras = [
            Extra(column, role, "files" if role == "image" else "text")
            for role, column in (("id", id), ("image", image), ("text", text))
            if column is not None
        ]
        query = _row_samples(self._scans, choice, asked, extras, per_cell)
        with _explained(self._files):
            found = self._fetch(query, choice, asked, [extra.column for extra in extras])
            true, pred = self._typed(found["true_value"], found["pred_value"], choice, options)
        if asked is not None:
            classes = asked.class_list(int(found["width"].max()), true.tolist())
            pred = _objects(classes)[pred.astype(np.intp)]
        shown = {extra.role: _present(found[extra.role], extra.column) for extra in extras}
        folder = self._files[0].path.parent
        images = shown.get("image")
        return Rows(
            true,
            pred,
            shown.get("id", found["row"].tolist()),
            None if images is None else [_located(value, folder) for value in images],
            shown.get("text"),
        )

    def models(self, first: str, second: str, *, label: str = DEFAULT_LABEL) -> TwoModels:
        """Return the labels and two columns of predictions.

        Equal samples stand together; the order of the rows is not kept.
        """
        choice, _ = self._choose(label, first, None, None)
        other = replace(choice, prediction=find_column(self.columns, second, role="against"))
        if other.prediction == choice.prediction:
            raise InputError(
                f"The two models must have columns of their own, got {second!r} for both."
            )
        refuse_mixed_files(self._scans, str(other.prediction), "against")
        keys = ("true_value", "pred_value", "other_value")
        with _explained(self._files):
            query = _triples(self._scans, choice, other)
            found = self._fetch(query, choice, None, [str(other.prediction)])
            rows = np.asarray(found["rows"], dtype=np.int64)
            refuse_too_many_pairs(len(rows))
            for column, key in zip(
                (choice.label, str(choice.prediction), str(other.prediction)), keys, strict=True
            ):
                _present(found[key], column)
            true, one = self._typed(found["true_value"], found["pred_value"], choice)
            again, two = self._typed(found["true_value"], found["other_value"], other)
        if len(true) and type(true[0]) is not type(again[0]):
            raise InputError(
                f"Predictions of both models must be of one type, got {one[0]!r} in {first!r} and"
                f" {two[0]!r} in {second!r}.",
                hint="map one column to the names of the other.",
            )
        return TwoModels(*(np.repeat(column, rows) for column in (true, one, two)))

    def _choose(
        self, label: str, prediction: str, weight: str | None, scores: Scores | None
    ) -> tuple[ColumnChoice, ScoreColumns | None]:
        """Return the columns to use; those that are found by their usual names are said once."""
        asked = None if scores is None else read_scores(scores, self.columns)
        key = (label, None if asked else prediction)
        known_label, known_prediction = self._choices.get(key, key)
        choice = choose_columns(
            self.columns, label=known_label, prediction=known_prediction, weight=weight
        )
        refuse_mixed_files(self._scans, choice.label, "label")
        if choice.prediction is not None:
            refuse_mixed_files(self._scans, choice.prediction, "prediction")
        self._choices[key] = (choice.label, choice.prediction)
        return choice, asked

    def _fetch(
        self,
        query: Query,
        choice: ColumnChoice,
        scores: ScoreColumns | None,
        extras: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Run a query and return its columns as arrays."""
        names = [choice.label, choice.prediction, choice.weight, *extras]
        names += scores.columns if scores is not None else ()
        for scan in self._scans:
            if scan.files[0].format == "arrow":
                validate_arrow(scan, [name for name in names if name is not None])
        import duckdb

        try:
            return self._connection.execute(query.sql, query.parameters).fetchnumpy()
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except RuntimeError as error:
            # So DuckDB says that somebody pressed Ctrl-C; its errors are others.
            if type(error) is RuntimeError:
                raise KeyboardInterrupt from error
            raise

    def _pairs(
        self,
        result: dict[str, Any],
        choice: ColumnChoice,
        scores: ScoreColumns | None,
        options: ClassOptions,
    ) -> PairSums:
        """Return the distinct pairs of a grouped query, with their sums."""
        rows = np.asarray(result["rows"], dtype=np.int64)
        refuse_too_many_pairs(len(rows))
        if scores is not None:
            unknown = int(rows[np.ma.getmaskarray(result["pred_value"])].sum())
            refuse_unknown_scores(unknown, int(rows.sum()), scores)
        is_text = self._scans[0].typing == "text"
        if is_text and scores is None:
            _refuse_headers(result, choice, rows)
        true = self._column(result["true_value"], choice.label, rows)
        if scores is None:
            pred = self._column(result["pred_value"], str(choice.prediction), rows)
        else:
            pred = PairColumn.of(_labels(result["pred_value"], "the scores"), rows)
            if is_text:
                # Beside positions of scores, only the labels are text.
                texts = [value for value in true.values if value is not None]
                typed = dict(zip(texts, parse_texts(texts, texts, options.labels)[0], strict=True))
                values = [None if value is None else typed[value] for value in true.values]
                true, is_text = replace(true, values=values), False
        sums: tuple[Any, Any] = rows, None
        if choice.weight is not None:
            sums = _weights(result, rows, choice.weight)
        return PairSums(true, pred, int(rows.sum()), *sums, is_text=is_text)

    def _column(self, values: Any, name: str, rows: npt.NDArray[np.int64]) -> PairColumn:
        """Return the values of a column of classes, with the types that its format has."""
        column = PairColumn.of(_labels(values, f"column {name!r}"), rows)
        if self._scans[0].typing != "json":
            return column
        read = [None if text is None else _from_json(str(text), name) for text in column.values]
        again = PairColumn.of(_labels(_objects(read), column.name), np.zeros(len(read), np.int64))
        return replace(column, values=again.values, codes=again.codes[column.codes])

    def _typed(
        self,
        true: Any,
        pred: Any,
        choice: ColumnChoice,
        options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return values of labels and predictions, row by row; positions of scores stay."""
        rows = np.ones(len(true), np.int64)
        columns = [self._column(true, choice.label, rows)]
        if choice.prediction is not None:
            columns.append(self._column(pred, choice.prediction, rows))
        values: list[list[Label | None]] = [list(column.values) for column in columns]
        if self._scans[0].typing == "text":
            texts = [
                [v for v in column if v is not None and v not in options.outcomes]
                for column in values
            ]
            parsed = parse_texts(texts[0], texts[-1], options.labels)
            for k, (column, names) in enumerate(zip(texts, parsed, strict=False)):
                if k < len(values):
                    typed = dict(zip(column, names, strict=True))
                    values[k] = [typed.get(v, v) for v in values[k]]  # type: ignore[arg-type]
        arrays = [_objects(v)[c.codes] for v, c in zip(values, columns, strict=True)]
        return arrays[0], arrays[1] if len(arrays) > 1 else np.ma.getdata(pred)


@contextmanager
def _explained(files: Sequence[DataFile]) -> Iterator[None]:
    """Turn what DuckDB, PyArrow and Python raise on a bad file into an `InputError`."""
    import duckdb

    try:
        yield
    except DeconfuseError:
        raise
    except (
        *(duckdb.Error, OSError, ValueError, TypeError, KeyError, NotImplementedError),
        *(RecursionError, OverflowError, MemoryError),
    ) as error:
        _, mark, ours = str(error).partition(MARK)
        lines = (ours if mark else str(error)).strip().splitlines() or [type(error).__name__]
        # The first line says what it is; for CSV, the next two show the line and what is wrong.
        reason = "; ".join(line.strip()[:200] for line in lines[: 1 if mark else 3])
        names = ", ".join(repr(str(file.path)) for file in files[:3])
        where = f"File {names}" if len(files) == 1 else f"One of {len(files):,} files ({names})"
        raise InputError(
            f"{where} could not be read: {reason}",
            hint="look at the place that is named; a file that is cut short must be written again.",
        ) from error


def _row_samples(
    scans: Sequence[Scan],
    choice: ColumnChoice,
    scores: ScoreColumns | None,
    extras: Sequence[Extra],
    per_cell: int | None,
) -> Query:
    """Return the query of the first rows of every cell, with their numbers."""
    fields = ["'row': r", *(f"'{extra.role}': e{k}" for k, extra in enumerate(extras))]
    outer = ["row", *(extra.role for extra in extras)]
    if scores is not None:
        fields.append("'width': len(s)")
        outer.append("width")
    rows = row_query(scans, choice, scores, extras)
    true, pred = value_columns(scans, choice)
    record = f"{{{', '.join(fields)}}}"
    taken, grouped = f"unnest(arg_min({record}, r, {per_cell}))", " GROUP BY t, p"
    if per_cell is None:
        taken, grouped = record, ""
    sql = (
        f"SELECT {true} AS true_value, {pred} AS pred_value,"
        f" {', '.join(f'found.{name} AS {name}' for name in outer)} FROM ("
        f"SELECT t, p, {taken} AS found FROM ("
        f"SELECT *, row_number() OVER () - 1 AS r FROM ({rows.sql})"
        f"){grouped}) ORDER BY row"
    )
    return Query(sql, rows.parameters)


def _triples(scans: Sequence[Scan], choice: ColumnChoice, other: ColumnChoice) -> Query:
    """Return the query that groups rows by label and two predictions."""
    rows = row_query(scans, choice, None, [Extra(str(other.prediction), "against", "classes")])
    true, pred = value_columns(scans, choice)
    _, second = value_columns(scans, other, key="e0")
    return Query(
        f"SELECT {true} AS true_value, {pred} AS pred_value, {second} AS other_value, rows FROM ("
        f"SELECT t, p, e0, count(*) AS rows FROM ({rows.sql}) GROUP BY t, p, e0)"
        " ORDER BY true_value, pred_value, other_value",
        rows.parameters,
    )


def _refuse_headers(result: dict[str, Any], choice: ColumnChoice, rows: Any) -> None:
    """Raise if the names of the columns stand among their values, as in files joined end to end."""
    true, pred = (np.ma.getdata(result[name]) for name in ("true_value", "pred_value"))
    repeated = int(rows[(true == choice.label) & (pred == choice.prediction)].sum())
    if repeated:
        raise InputError(
            f"Rows must be samples, got {repeated:,} that repeat the header ({choice.label!r},"
            f" {choice.prediction!r}).",
            hint="files that were joined keep their headers; give the files themselves instead.",
        )


def _n_scores(result: dict[str, Any], scores: ScoreColumns) -> int:
    shortest, longest = int(result["shortest"].min()), int(result["longest"].max())
    if shortest != longest:
        raise InputError(
            f"Scores must be lists of one length, got lengths from {shortest:,} to {longest:,} in"
            f" {scores.described}.",
        )
    return shortest


def _labels(values: Any, name: str) -> LabelColumn:
    """Open a fetched column; a masked value is a missing one, and dates are numpy's."""
    if np.ma.getdata(values).dtype.kind == "M":
        values = np.ma.filled(values, np.datetime64("NaT"))
    size, read = open_column(values, name=name)
    return LabelColumn(name, size, read)


def _from_json(text: str, column: str) -> Any:
    """Return the value of a JSON text, which must be one that can name a class."""
    value = json.loads(text)
    if isinstance(value, (list, dict)):
        raise InputError(
            f"Column {column!r} must hold one class per sample, got {show([value])}.",
            hint="for scores use `scores`; for several labels per sample, count one matrix per"
            " label.",
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


def _present(values: npt.NDArray[Any], column: str) -> list[Any]:
    missing = int(np.ma.getmaskarray(values).sum())
    if missing:
        raise InputError(
            f"Column {column!r} must have no missing values, got {missing:,} among the"
            f" {len(values):,} rows shown.",
            hint="fill them, or leave the column out.",
        )
    return list(np.ma.getdata(values).tolist())


def _located(image: Any, folder: Path) -> Any:
    if not isinstance(image, str):
        return bytes(image)
    beside = folder / image
    return beside if beside.exists() else Path(image)
