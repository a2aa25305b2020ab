"""Files of predictions, opened once: counted, looked up row by row, compared column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import class_names, show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseError, InputError
from deconfuse.reading.column_names import (
    DEFAULT_LABEL,
    DEFAULT_PREDICTION,
    ColumnChoice,
    choose_columns,
    find_column,
)
from deconfuse.reading.files import DataFile, inspect_file
from deconfuse.reading.matrices import TableOptions
from deconfuse.reading.matrix_files import load_matrices, refuse_columns
from deconfuse.reading.pairs import (
    PairTable,
    WeightSums,
    build_matrix,
    name_positions,
    refuse_empty,
    refuse_missing,
    refuse_spaced,
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
from deconfuse.reading.text_values import from_json, from_text

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
    labels: Iterable[object] | None = None,
    transpose: bool = False,
    drop: Iterable[object] = (),
    max_decompressed: int | None = None,
) -> ConfusionMatrix:
    """Count two columns of files without loading them.

    Parameters
    ----------
    path : path, or iterable of paths
        CSV, TSV, Parquet, JSON lines or Arrow IPC; CSV and JSON plain or compressed with gzip or
        zstd. A file, a folder, a pattern such as ``"preds/*.parquet"``, or several of these. The
        content must be what the name says. A matrix that was saved with its class names is
        recognized and loaded; several of them are merged, as `+` does.
    label, prediction : str
        Columns of class names. Where a default name is absent, the usual ones are looked for
        ("y_true", "target", "y_pred", "pred" and so on), and a ``ColumnChoiceWarning`` says which
        were taken.
    weight : str, optional
        Column of sample weights, finite and non-negative.
    scores : str, sequence of str, or mapping, optional
        Take the class with the highest score as the prediction, instead of a column: the name of a
        column of lists, the columns named by their classes, or a mapping of columns to classes.
    labels : sequence, optional
        The classes in order, also those that do not occur; a value outside of them is an error.
        Where they are strings, values of CSV are strings too: so "3.10" and "4.5" can be classes.
    transpose, drop
        How to read a matrix: see `deconfuse.reading.matrices.named_counts`.
    max_decompressed : int, optional
        How many bytes each compressed file may unpack to; by default 1 GiB, or a hundred times its
        size where that is more.

    Returns
    -------
    ConfusionMatrix
        With the classes sorted, or in the order of ``labels``.

    Raises
    ------
    InputError
        If a file does not exist, is empty, truncated, malformed or not what its name says; if a
        column is missing, or holds missing values, fractions or identifiers; if two class names
        differ only in the spaces around them; if no label is the class of a score; if a matrix has
        predictions on rows, totals or shares; if columns are named for a matrix, which has none.
    MissingExtraError
        For Arrow IPC and for zstd, if PyArrow is not installed.

    Warns
    -----
    DeconfuseWarning
        If no label occurs among the predictions, as with "cat" and "Cat".

    Notes
    -----
    Parquet and Arrow have types, and JSON has some. In CSV, classes are whole numbers, bools or ISO
    dates where all values of both columns are written as such, and strings otherwise. An empty
    value is a missing one. Whole floats are whole numbers.

    Files of one set may differ in the order of their columns and in the width of their whole
    numbers. Compressed files are unpacked to a temporary folder, which verifies their checksums.

    DuckDB spills to a temporary folder, and may neither read other files, nor load extensions, nor
    use the network.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "predictions.csv"
    ...     _ = path.write_text("label,prediction\\ncat,cat\\ndog,cat\\ndog,dog\\n")
    ...     count_file(path).counts
    array([[1, 0],
           [1, 1]])
    """
    names = None if labels is None else class_names(labels)
    opened = open_table(
        path,
        scores=scores,
        transpose=transpose,
        drop=drop,
        labels=names,
        max_decompressed=max_decompressed,
    )
    if isinstance(opened, ConfusionMatrix):
        refuse_columns(label=label, prediction=prediction, weight=weight)
        return opened
    with opened:
        return opened.count(
            label=label, prediction=prediction, weight=weight, scores=scores, labels=names
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
        labels: Iterable[object] | None = None,
    ) -> ConfusionMatrix:
        """Count the pairs of two columns; see `count_file`."""
        wanted = None if labels is None else class_names(labels)
        as_text = wanted is not None and isinstance(wanted[0], str)
        choice, asked = self._choose(label, prediction, weight, scores)
        with _explained(self._files):
            result = self._fetch(pair_query(self._scans, choice, asked), choice, asked)
            table = self._pairs(result, choice, asked, as_text=as_text)
        classes = wanted or ()
        if asked is not None:
            assert isinstance(table.true, np.ndarray)
            scored = asked.class_list(_n_scores(result, asked), table.true.tolist())
            table, classes = name_positions(table, scored), (*classes, *scored)
        cm = build_matrix(table, choice, classes=classes)
        if wanted is None:
            return cm
        outside = [name for name in cm.labels if name not in set(wanted)]
        if outside:
            raise InputError(
                f"Every class must be one of `labels`, got {show(outside)}.",
                hint="add it to `labels`.",
            )
        return cm.reorder(wanted)

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
            true, pred = self._typed(found["true_value"], found["pred_value"], choice)
        if asked is not None:
            classes = asked.class_list(int(found["width"].max()), true.tolist())
            names = np.empty(len(classes), dtype=object)
            names[:] = classes
            pred = names[pred.astype(np.intp)]
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
            refuse_empty(int(rows.sum()))
            missing = [int(rows[np.ma.getmaskarray(found[key])].sum()) for key in keys]
            columns = (choice.label, str(choice.prediction), str(other.prediction))
            refuse_missing(dict(zip(columns, missing, strict=True)), int(rows.sum()))
            true, one = self._typed(found["true_value"], found["pred_value"], choice)
            again, two = self._typed(found["true_value"], found["other_value"], other)
        if true.dtype != again.dtype or type(true[0]) is not type(again[0]):
            raise InputError(
                f"Predictions of both models must be of one type, got {one[0]!r} in {first!r} and"
                f" {two[0]!r} in {second!r}.",
                hint="map one column to the names of the other.",
            )
        refuse_spaced(set().union(*(column.tolist() for column in (true, one, two))))
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
        try:
            return self._connection.execute(query.sql, query.parameters).fetchnumpy()
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
        *,
        as_text: bool,
    ) -> PairTable:
        """Return counts, values and weights of the grouped rows."""
        rows = np.asarray(result["rows"], dtype=np.int64)
        refuse_too_many_pairs(len(rows))
        total = int(rows.sum())
        refuse_empty(total)
        unknown = {
            name: int(rows[np.ma.getmaskarray(result[name])].sum())
            for name in ("true_value", "pred_value")
        }
        missing = {choice.label: unknown["true_value"]}
        if choice.prediction is not None:
            missing[choice.prediction] = unknown["pred_value"]
        refuse_missing(missing, total)
        if scores is not None:
            refuse_unknown_scores(unknown["pred_value"], total, scores)
        if self._scans[0].typing == "text" and scores is None:
            _refuse_headers(result, choice, rows)
        true, pred = self._typed(result["true_value"], result["pred_value"], choice, as_text)
        weights = None
        if choice.weight is not None:
            weights = WeightSums(
                _floats(result["weight_sum"]),
                _floats(result["weight_squares"]),
                np.asarray(result["weight_present"], dtype=np.int64),
                _floats(result["weight_lowest"]),
            )
        return PairTable(true, pred, rows, weights)

    def _typed(
        self, true: Any, pred: Any, choice: ColumnChoice, as_text: bool = False
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return values of labels and predictions with their types; positions stay as they are."""
        arrays = (np.ma.getdata(true), np.ma.getdata(pred))
        label, prediction = choice.label, choice.prediction
        if self._scans[0].typing == "native":
            return _plain(arrays[0]), _plain(arrays[1])
        if self._scans[0].typing == "json":
            typed = from_json(arrays[0].tolist(), label)
            if prediction is None:
                return typed, arrays[1]
            return typed, from_json(arrays[1].tolist(), prediction)
        if as_text:
            return arrays[0].astype(object), arrays[1]
        texts = arrays[0].tolist()
        if prediction is None:
            return from_text(texts, texts, (label, label))[0], arrays[1]
        return from_text(texts, arrays[1].tolist(), (label, prediction))


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


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values as integers, bools or objects: fetched dates are numpy's."""
    return values.astype("datetime64[us]").astype(object) if values.dtype.kind == "M" else values


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
