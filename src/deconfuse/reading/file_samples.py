"""Some rows behind every cell of a matrix that was counted from files, with their ids and pictures.

One more pass over the files finds the first rows of each (label, prediction) pair; only these leave
DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.file_paths import Paths
from deconfuse.reading.file_queries import Extra, PairQuery, row_query, value_columns
from deconfuse.reading.files import Predictions, open_predictions, typed_pairs
from deconfuse.reading.score_columns import Scores

if TYPE_CHECKING:
    from deconfuse.reporting.samples import Samples

__all__ = ["SampleColumns", "read_samples"]


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """Which columns name and show a sample; without an id it is called by its row number."""

    id: str | None = None
    image: str | None = None


def read_samples(
    path: Paths,
    *,
    label: str = "label",
    prediction: str = "prediction",
    scores: Scores | None = None,
    shown: SampleColumns = SampleColumns(),  # noqa: B008 - frozen
    per_cell: int | None = 12,
) -> Samples | None:
    """Return the first rows behind every cell, or None for a file that holds a matrix.

    Parameters
    ----------
    path, label, prediction, scores
        As in `deconfuse.reading.files.count_file`.
    shown : SampleColumns
        The columns of ids and of pictures. A picture is a path, taken from the folder of the table
        where it is relative, or the bytes of a file, as Parquet can hold them.
    per_cell : int or None
        How many rows of a cell to take; None for all rows.

    Returns
    -------
    Samples or None
        In the order of the rows. Ids are row numbers, from 0 over all files, by default.

    Raises
    ------
    InputError
        As `count_file`; also if a picture or an id is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "predictions.csv"
    ...     _ = path.write_text("name,label,prediction\\na,cat,cat\\nb,dog,cat\\nc,dog,dog\\n")
    ...     read_samples(path, shown=SampleColumns(id="name")).ids
    ['a', 'b', 'c']
    """
    from deconfuse.reporting.samples import Samples

    with open_predictions(
        path, label=label, prediction=prediction, weight=None, scores=scores, ordered=True
    ) as opened:
        if isinstance(opened, ConfusionMatrix):
            return None
        found = opened.fetch(_query(opened, shown, per_cell))
        scan = opened.scans[0]
        folder = scan.files[0].path.parent
    true, pred = typed_pairs(found["true_value"], found["pred_value"], scan, opened.columns)
    if opened.scores is not None:
        classes = opened.scores.class_list(int(found["width"].max()), true)
        names = np.empty(len(classes), dtype=object)
        names[:] = classes
        pred = names[pred.astype(np.intp)]
    ids = found["row"].tolist() if shown.id is None else _present(found["id"], shown.id)
    images = None
    if shown.image is not None:
        images = [_located(image, folder) for image in _present(found["image"], shown.image)]
    return Samples(true, pred, ids=ids, images=images)


def _query(opened: Predictions, shown: SampleColumns, per_cell: int | None) -> PairQuery:
    extras: list[Extra] = []
    fields = ["'row': r"]
    outer = ["found.row AS row"]
    for name, column in (("id", shown.id), ("image", shown.image)):
        if column is not None:
            fields.append(f"'{name}': e{len(extras)}")
            outer.append(f"found.{name} AS {name}")
            extras.append(Extra(column, name, "files" if name == "image" else "text"))
    if opened.scores is not None:
        fields.append("'width': len(s)")
        outer.append("found.width AS width")
    rows = row_query(opened.scans, opened.columns, opened.scores, extras)
    true, pred = value_columns(opened.scans, opened.columns)
    record = f"{{{', '.join(fields)}}}"
    taken, grouped = f"unnest(arg_min({record}, r, {per_cell}))", " GROUP BY t, p"
    if per_cell is None:
        taken, grouped = record, ""
    sql = (
        f"SELECT {true} AS true_value, {pred} AS pred_value, {', '.join(outer)} FROM ("
        f"SELECT t, p, {taken} AS found FROM ("
        f"SELECT *, row_number() OVER () - 1 AS r FROM ({rows.sql})"
        f"){grouped}) ORDER BY row"
    )
    return PairQuery(sql, rows.parameters)


def _present(values: npt.NDArray[Any], column: str) -> Sequence[Any]:
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
