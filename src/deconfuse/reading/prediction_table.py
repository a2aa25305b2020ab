"""Open files of predictions once, to count them, look up rows and compare columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.classes import ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseError, InputError
from deconfuse.reading.column_names import (
    ColumnChoice,
    Columns,
    choose_columns,
    find_column,
    read_scores,
    refuse_unknown_scores,
)
from deconfuse.reading.count_tables import TableOptions
from deconfuse.reading.file_scans import (
    INVALID,
    MARK,
    Scan,
    connect,
    make_scans,
    refuse_several_filters,
    validate_arrow,
)
from deconfuse.reading.files import DataFile, Paths, expand_paths, inspect_file
from deconfuse.reading.label_columns import ONE_CLASS_HINT, Column, LabelColumn, open_column
from deconfuse.reading.matrix_files import load_matrices, refuse_columns
from deconfuse.reading.pairs import (
    CodedColumn,
    PairSums,
    matrix_of,
    parse_texts,
    refuse_no_samples,
    refuse_too_many_pairs,
    row_names,
    validate_weights,
)
from deconfuse.reading.queries import (
    Chosen,
    Extra,
    Query,
    model_query,
    pair_query,
    refuse_mixed_files,
    sample_query,
)
from deconfuse.reading.sequences import count_sequences

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "PredictionTable",
    "Rows",
    "TwoModels",
    "count_file",
    "open_table",
]


def open_table(
    path: Paths,
    *,
    options: TableOptions = TableOptions(),  # noqa: B008 - frozen
    has_scores: bool = False,
    max_decompressed: int | None = None,
) -> PredictionTable | ConfusionMatrix:
    """Open files: a table of predictions, or the matrix that they hold.

    This is the only place that tells one from the other; ``options`` say how to read a matrix.
    Where scores are asked for, a table of names and numbers is one of scores, not of counts.
    Several matrices are merged. A table must be closed: use it in a ``with`` statement.

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
    found = expand_paths(path)
    with ExitStack() as stack:
        # For what is unpacked, and what does not fit in memory.
        spill = Path(stack.enter_context(TemporaryDirectory(prefix="deconfuse-")))
        files = [inspect_file(file, spill, max_decompressed) for file in found.paths]
        with _explained(files):
            saved = load_matrices(files, options, is_scored=has_scores)
            if saved is not None:
                return saved
            _refuse_matrix_options(options)
            connection = stack.enter_context(connect(files, spill))
            scans = make_scans(connection, files, partitioned=found.partitioned)
        return PredictionTable(connection, scans, stack.pop_all())


def _refuse_matrix_options(options: TableOptions) -> None:
    """Raise if predictions are read with options that only a matrix has."""
    asked = [f"`{name}`" for name in ("transpose", "drop") if getattr(options, name)]
    if asked:
        raise InputError(
            f"{' and '.join(asked)} must be of a matrix of counts, got predictions.",
            hint="swap `label` and `prediction`, or leave classes out of the matrix with `subset`.",
        )


def count_file(
    path: Paths,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    classes: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    options: TableOptions = TableOptions(),  # noqa: B008 - frozen
    *,
    max_decompressed: int | None = None,
) -> ConfusionMatrix:
    """Count two columns of files without loading them: see `ConfusionMatrix.from_file`."""
    opened = open_table(
        path,
        options=options,
        has_scores=columns.scores is not None,
        max_decompressed=max_decompressed,
    )
    if isinstance(opened, ConfusionMatrix):
        refuse_columns(columns, classes)
        return opened
    with opened:
        return opened.count(columns, classes)


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
        columns: Columns = Columns(),  # noqa: B008 - frozen
        classes: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> ConfusionMatrix:
        """Count the pairs of two columns; see `ConfusionMatrix.from_file`."""
        chosen = self._choose(columns)
        with _explained(self._files):
            found = self._fetch(pair_query(chosen), chosen)
            pairs, options = _fetched_pairs(found, chosen, classes)
        return matrix_of(pairs, self._with_invalid(options, pairs.pred.values))

    def rows(
        self,
        columns: Columns = Columns(),  # noqa: B008 - frozen
        classes: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
        *,
        id: str | None = None,
        image: str | None = None,
        text: str | None = None,
        per_cell: int | None = 12,
    ) -> Rows:
        """Return the first rows behind every cell, or all; of scores the most confident ones.

        ``id``, ``image`` and ``text`` are columns that name and show a sample; all must have a
        value in every row. A picture is a path, taken from the folder of the table where it is
        relative, or the bytes of a file, as Parquet can hold them. ``per_cell=None`` takes all
        rows. They are in the order of the files, with the classes and outcomes that `count` counts.
        """
        chosen = self._choose(replace(columns, weight=None))
        extras = [
            Extra(column, role, "files" if role == "image" else "text")
            for role, column in (("id", id), ("image", image), ("text", text))
            if column is not None
        ]
        with _explained(self._files):
            query = sample_query(chosen, extras, per_cell)
            found = self._fetch(query, chosen, [extra.column for extra in extras])
            pairs, options = _fetched_pairs(found, chosen, classes)
        true, pred = row_names(pairs, self._with_invalid(options, pairs.pred.values))
        shown = {extra.role: _present_values(found[extra.role], extra.column) for extra in extras}
        folder = self._files[0].path.parent
        images = shown.get("image")
        return Rows(
            true,
            pred,
            shown.get("id", found["row"].tolist()),
            None if images is None else [_located(value, folder) for value in images],
            shown.get("text"),
            found.get("score"),
        )

    def models(
        self,
        against: str,
        columns: Columns = Columns(),  # noqa: B008 - frozen
        classes: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
    ) -> TwoModels:
        """Return the labels and two columns of predictions: that of ``columns``, and ``against``.

        Equal samples stand together; the order of the rows is not kept.
        """
        chosen = self._choose(columns)
        first, second = (
            str(chosen.columns.prediction),
            find_column(self.columns, against, role="against"),
        )
        if first == second:
            raise InputError(
                f"The two models must have columns of their own, got {second!r} for both."
            )
        refuse_mixed_files(self._scans, second, "against")
        with _explained(self._files):
            found = self._fetch(model_query(chosen, second), chosen, [second])
            sides = []
            for pred in (("pred_value", first), ("other_value", second)):
                pairs, options = _fetched_pairs(found, chosen, classes, pred=pred)
                sides.append(row_names(pairs, self._with_invalid(options, pairs.pred.values)))
        (true, one), (again, two) = sides
        if len(true) and type(true[0]) is not type(again[0]):
            raise InputError(
                f"Predictions of both models must be of one type, got {one[0]!r} in {first!r} and"
                f" {two[0]!r} in {second!r}.",
                hint="map one column to the names of the other.",
            )
        rows = np.asarray(found["rows"], dtype=np.int64)
        return TwoModels(*(np.repeat(column, rows) for column in (true, one, two)))

    def _choose(self, asked: Columns) -> Chosen:
        """Return the columns to use; those that are found by their usual names are said once."""
        with _explained(self._files):
            for scan in self._scans:
                if scan.is_harness:
                    refuse_several_filters(self._connection, scan, asked.where)
        scores = read_scores(asked.scores, self.columns, asked.threshold)
        key = (asked.label, None if scores else asked.prediction)
        label, prediction = self._choices.get(key, key)
        known = replace(asked, label=label, prediction=prediction or asked.prediction)
        choice = choose_columns(self.columns, known)
        refuse_mixed_files(self._scans, choice.label, "label")
        if choice.prediction is not None:
            refuse_mixed_files(self._scans, choice.prediction, "prediction")
        self._choices[key] = (choice.label, choice.prediction)
        return Chosen(self._scans, choice, scores, asked.where)

    def _with_invalid(self, options: ClassOptions, answers: Sequence[object]) -> ClassOptions:
        """Return the options with what lm-evaluation-harness writes for no answer as an outcome."""
        is_class = options.labels is not None and INVALID in options.labels
        if not self._scans[0].is_harness or INVALID not in answers or is_class:
            return options
        return replace(options, outcomes=tuple(dict.fromkeys([*options.outcomes, INVALID])))

    def _fetch(self, query: Query, chosen: Chosen, extras: Sequence[str] = ()) -> dict[str, Any]:
        """Run a query and return its columns as arrays."""
        choice, scores = chosen.columns, chosen.scores
        names = [choice.label, choice.prediction, choice.weight, *extras, *chosen.where]
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
        if mark:
            raise InputError(f"{where}: {reason}.") from error
        raise InputError(
            f"{where} could not be read: {reason}",
            hint="look at the place that is named; a file that is cut short must be written again.",
        ) from error


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


def _fetched_pairs(
    found: dict[str, Any],
    chosen: Chosen,
    options: ClassOptions,
    *,
    pred: tuple[str, str] | None = None,
) -> tuple[PairSums, ClassOptions]:
    """Return labels and predictions of a query, distinct pairs or row by row, and the options.

    ``pred`` is the key and the column of other predictions. With scores and no classes asked for,
    the options get every class of a score.
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
    weights = None
    if choice.weight is not None:
        n_missing = int((rows - np.asarray(found["weight_present"], dtype=np.int64)).sum())
        sums = [_floats(found[f"weight_{name}"]) for name in ("lowest", "sum", "squares")]
        weights = validate_weights(choice.weight, n_missing, *sums)
    pairs = PairSums.of(true, second, rows, weights, is_text=is_text)
    if scores is None:
        return pairs, options
    return scores.resolve(pairs, _n_scores(found, chosen), options)


def _column(values: Any, name: str, rows: npt.NDArray[np.int64], *, is_json: bool) -> CodedColumn:
    """Return the values of a column of classes, with the types that its format has."""
    column = CodedColumn.of(_labels(values, f"column {name!r}"), rows)
    if not is_json:
        return column
    read = [None if text is None else _from_json(str(text), name) for text in column.values]
    again = CodedColumn.of(LabelColumn(column.name, Column.of(read)), np.zeros(len(read), np.int64))
    codes = again.codes[column.codes]
    # NaN, which Python's json writes though JSON has none, is known to be missing only now.
    is_missing = np.array([value is None for value in again.values], dtype=bool)[codes]
    return replace(column, values=again.values, codes=codes, n_missing=int(rows[is_missing].sum()))


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


def _floats(values: Any) -> npt.NDArray[np.float64]:
    return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))


def _present_values(values: npt.NDArray[Any], column: str) -> list[Any]:
    """Return the values of a column that must have one in every row."""
    missing = int(np.ma.getmaskarray(values).sum())
    if missing:
        raise InputError(
            f"Column {column!r} must have no missing values, got {missing:,} among the"
            f" {len(values):,} rows shown.",
            hint="fill them, or leave the column out.",
        )
    return list(np.ma.getdata(values).tolist())


def _located(image: Any, folder: Path) -> Any:
    """Return the bytes of a picture, or its path, beside the table where it is there."""
    if not isinstance(image, str):
        return bytes(image)
    beside = folder / image
    return beside if beside.exists() else Path(image)
