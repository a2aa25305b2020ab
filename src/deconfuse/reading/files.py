"""Files of predictions to a confusion matrix, counted by DuckDB without loading them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import ColumnChoice, choose_columns
from deconfuse.reading.file_errors import explain_failure
from deconfuse.reading.file_formats import DataFile, inspect_file
from deconfuse.reading.file_paths import Paths, expand_paths
from deconfuse.reading.file_queries import (
    PairQuery,
    pair_query,
    refuse_mixed_files,
)
from deconfuse.reading.file_scans import Scan, make_scans
from deconfuse.reading.gzip_check import verified_gzip
from deconfuse.reading.matrices import TableOptions
from deconfuse.reading.matrix_files import load_matrices, refuse_columns
from deconfuse.reading.pairs import (
    PairTable,
    WeightSums,
    build_matrix,
    name_positions,
    refuse_empty,
    refuse_missing,
    refuse_too_many_pairs,
)
from deconfuse.reading.score_columns import (
    ScoreColumns,
    Scores,
    read_scores,
    refuse_unknown_scores,
)
from deconfuse.reading.text_values import from_json, from_text
from deconfuse.reading.zstd_lines import zstd_head

if TYPE_CHECKING:
    import duckdb

__all__ = ["Predictions", "count_file", "open_predictions", "typed_pairs"]


def count_file(
    path: Paths,
    *,
    label: str = "label",
    prediction: str = "prediction",
    weight: str | None = None,
    scores: Scores | None = None,
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

    Returns
    -------
    ConfusionMatrix
        With the classes sorted.

    Raises
    ------
    InputError
        If a file does not exist, is empty, truncated, malformed or not what its name says; if a
        column is missing, or holds missing values, floats or identifiers; if two class names
        differ only in the spaces around them; if no label is the class of a score; if a table
        could be scores as well as a matrix, or has predictions on rows, or totals; if columns are
        named for a matrix, which has none.
    MissingExtraError
        For Arrow IPC, and for matrices in zstd, if PyArrow is not installed.

    Warns
    -----
    DeconfuseWarning
        If no label occurs among the predictions, as with "cat" and "Cat".

    Notes
    -----
    Parquet and Arrow have types, and JSON has some. In CSV, classes are whole numbers, bools or ISO
    dates where all values of both columns are written as such, and strings otherwise. An empty
    value is a missing one.

    Files of one set may differ in the order of their columns and in the width of their whole
    numbers. The checksums of gzip files are verified on a second thread while DuckDB counts.

    DuckDB runs in memory of its own, spills to a temporary folder, and may neither load extensions
    nor use the network.

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
    with open_predictions(
        path, label=label, prediction=prediction, weight=weight, scores=scores
    ) as opened:
        if isinstance(opened, ConfusionMatrix):
            refuse_columns(label=label, prediction=prediction, weight=weight)
            return opened
        asked, columns, scan = opened.scores, opened.columns, opened.scans[0]
        result = opened.fetch(pair_query(opened.scans, columns, asked))
    table = _read_pairs(result, scan, columns, asked)
    if asked is None:
        return build_matrix(table, columns)
    classes = asked.class_list(_n_scores(result, asked), table.true)
    return build_matrix(name_positions(table, classes), columns, classes=classes)


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files of predictions, open in DuckDB, with the columns that were asked for or found."""

    connection: duckdb.DuckDBPyConnection
    scans: list[Scan]
    columns: ColumnChoice
    scores: ScoreColumns | None

    def fetch(self, query: PairQuery) -> dict[str, Any]:
        """Run a query and return its columns as arrays."""
        files = (file for scan in self.scans for file in scan.files)
        with verified_gzip([file.path for file in files if file.compression == "gzip"]):
            return self.connection.execute(query.sql, query.parameters).fetchnumpy()


@contextmanager
def open_predictions(
    path: Paths,
    *,
    label: str,
    prediction: str,
    weight: str | None,
    scores: Scores | None,
    ordered: bool = False,
) -> Iterator[Predictions | ConfusionMatrix]:
    """Open files of predictions for queries; a saved matrix is given as it is.

    Parameters and errors are those of `count_file`. With ``ordered``, rows come as the files do.
    """
    files = expand_paths(path)
    with _connect() as connection:
        inspected = [
            inspect_file(file, lambda zipped: zstd_head(connection, zipped)) for file in files.paths
        ]
        if scores is None:
            saved = load_matrices(
                inspected, label=label, prediction=prediction, options=TableOptions()
            )
            if saved is not None:
                yield saved
                return
        with _explained(inspected):
            scans = make_scans(
                connection, inspected, partitioned=files.partitioned, ordered=ordered
            )
            names = scans[0].columns
            asked = None if scores is None else read_scores(scores, names)
            columns = choose_columns(
                names, label=label, prediction=None if asked else prediction, weight=weight
            )
            refuse_mixed_files(scans, columns.label, "label")
            if columns.prediction is not None:
                refuse_mixed_files(scans, columns.prediction, "prediction")
            yield Predictions(connection, scans, columns, asked)


@contextmanager
def _connect() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB so that it reads local files, and does nothing else that data could ask for."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="deconfuse-") as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "temp_directory": spill,
        }
        limit = _process_limit()
        if limit is not None:
            # DuckDB knows the machine's memory, not the limit of a process: spill in time.
            config["memory_limit"] = f"{limit // 3 >> 20}MiB"
        connection = duckdb.connect(":memory:", config=config)
        try:
            # It would write to standard output, where results go.
            connection.execute("SET enable_progress_bar = false")
            # Two columns of up to 2,000 whole numbers then index a table instead of being hashed,
            # which halves the work; 22 bits take at most 100 MiB a thread.
            connection.execute("SET perfect_ht_threshold = 22")
            yield connection
        finally:
            connection.close()


def _process_limit() -> int | None:
    """Return how many bytes this process may have, if someone limited it."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    finite = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(finite, default=None)


@contextmanager
def _explained(files: Sequence[DataFile]) -> Iterator[None]:
    """Turn what DuckDB and PyArrow raise on a bad file into an `InputError`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise explain_failure(str(error), files) from error
    except OSError as error:
        # PyArrow's ArrowInvalid is a ValueError, its read errors are OSErrors.
        raise explain_failure(str(error), files) from error


def _read_pairs(
    result: dict[str, Any], scan: Scan, columns: ColumnChoice, scores: ScoreColumns | None
) -> PairTable:
    """Read counts, missing values and weights from the grouped rows."""
    rows = np.asarray(result["rows"], dtype=np.int64)
    refuse_too_many_pairs(len(rows))
    total = int(rows.sum())
    refuse_empty(total)
    unknown = {
        name: int(rows[np.ma.getmaskarray(result[name])].sum())
        for name in ("true_value", "pred_value")
    }
    missing = {columns.label: unknown["true_value"]}
    if columns.prediction is not None:
        missing[columns.prediction] = unknown["pred_value"]
    refuse_missing(missing, total)
    if scores is not None:
        refuse_unknown_scores(unknown["pred_value"], total, scores)
    if scan.typing == "text" and scores is None:
        _refuse_headers(result, columns, rows)
    true, pred = typed_pairs(result["true_value"], result["pred_value"], scan, columns)
    weights = None
    if columns.weight is not None:
        weights = WeightSums(
            _floats(result["weight_sum"]),
            _floats(result["weight_squares"]),
            np.asarray(result["weight_present"], dtype=np.int64),
            _floats(result["weight_lowest"]),
        )
    return PairTable(true, pred, rows, weights)


def _refuse_headers(result: dict[str, Any], columns: ColumnChoice, rows: Any) -> None:
    """Raise if the names of the columns stand among their values, as in files joined end to end."""
    true, pred = (np.ma.getdata(result[name]) for name in ("true_value", "pred_value"))
    repeated = int(rows[(true == columns.label) & (pred == columns.prediction)].sum())
    if repeated:
        raise InputError(
            f"Rows must be samples, got {repeated:,} that repeat the header ({columns.label!r},"
            f" {columns.prediction!r}).",
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


def typed_pairs(
    true: Any, pred: Any, scan: Scan, columns: ColumnChoice
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the values of the pairs with their types; positions of scores stay as they are."""
    arrays = (np.ma.getdata(true), np.ma.getdata(pred))
    label, prediction = columns.label, columns.prediction
    if scan.typing == "native":
        return _plain(arrays[0]), _plain(arrays[1])
    if scan.typing == "json":
        typed = from_json(arrays[0].tolist(), label)
        return typed, arrays[1] if prediction is None else from_json(arrays[1].tolist(), prediction)
    texts = arrays[0].tolist()
    if prediction is None:
        return from_text(texts, texts, (label, label))[0], arrays[1]
    return from_text(texts, arrays[1].tolist(), (label, prediction))


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values as integers, bools or objects: fetched dates are numpy's."""
    return values.astype("datetime64[us]").astype(object) if values.dtype.kind == "M" else values


def _floats(values: Any) -> npt.NDArray[np.float64]:
    return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
