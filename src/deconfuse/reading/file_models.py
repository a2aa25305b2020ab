"""Predictions of two models on the same rows of a file, for a comparison that uses the pairing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import find_column
from deconfuse.reading.file_paths import Paths
from deconfuse.reading.file_queries import (
    Extra,
    PairQuery,
    refuse_mixed_files,
    row_query,
    value_columns,
)
from deconfuse.reading.files import Predictions, open_predictions, typed_pairs
from deconfuse.reading.pairs import (
    refuse_empty,
    refuse_missing,
    refuse_spaced,
    refuse_too_many_pairs,
)

__all__ = ["TwoModels", "read_two_models"]


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


def read_two_models(path: Paths, *, label: str, first: str, second: str) -> TwoModels:
    """Read labels and two columns of predictions.

    Parameters
    ----------
    path : path, or iterable of paths
        Files of predictions; see `deconfuse.reading.files.count_file`.
    label, first, second : str
        The columns.

    Returns
    -------
    TwoModels
        Equal samples stand together; the order of the rows is not kept.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.csv"
    ...     _ = path.write_text("label,a,b\\ncat,cat,cat\\ndog,cat,dog\\ndog,dog,dog\\n")
    ...     models = read_two_models(path, label="label", first="a", second="b")
    >>> [cm.counts.tolist() for cm in models.matrices()]
    [[[1, 0], [1, 1]], [[1, 0], [0, 2]]]
    """
    with open_predictions(path, label=label, prediction=first, weight=None, scores=None) as opened:
        if isinstance(opened, ConfusionMatrix):
            raise InputError(
                "Two models are compared row by row, but the file holds a matrix.",
                hint="give a table of predictions, or two matrices.",
            )
        scan, columns = opened.scans[0], opened.columns
        other = replace(columns, prediction=find_column(scan.columns, second, role="against"))
        if other.prediction == columns.prediction:
            raise InputError(
                f"The two models must have columns of their own, got {second!r} for both."
            )
        refuse_mixed_files(opened.scans, str(other.prediction), "against")
        found = opened.fetch(_query(opened, str(other.prediction)))
    rows = np.asarray(found["rows"], dtype=np.int64)
    refuse_too_many_pairs(len(rows))
    refuse_empty(int(rows.sum()))
    refuse_missing(
        {
            str(name): int(rows[np.ma.getmaskarray(found[key])].sum())
            for name, key in (
                (columns.label, "true_value"),
                (columns.prediction, "pred_value"),
                (other.prediction, "other_value"),
            )
        },
        int(rows.sum()),
    )
    true, one = typed_pairs(found["true_value"], found["pred_value"], scan, columns)
    again, two = typed_pairs(found["true_value"], found["other_value"], scan, other)
    if true.dtype != again.dtype or type(true[0]) is not type(again[0]):
        raise InputError(
            f"Predictions of both models must be of one type, got {one[0]!r} in {first!r} and"
            f" {two[0]!r} in {second!r}.",
            hint="map one column to the names of the other.",
        )
    refuse_spaced(set().union(*(column.tolist() for column in (true, one, two))))
    return TwoModels(*(np.repeat(column, rows) for column in (true, one, two)))


def _query(opened: Predictions, second: str) -> PairQuery:
    columns = opened.columns
    rows = row_query(opened.scans, columns, None, [Extra(second, "against", "classes")])
    true, pred = value_columns(opened.scans, columns)
    _, other = value_columns(opened.scans, replace(columns, prediction=second), key="e0")
    return PairQuery(
        f"SELECT {true} AS true_value, {pred} AS pred_value, {other} AS other_value, rows FROM ("
        f"SELECT t, p, e0, count(*) AS rows FROM ({rows.sql}) GROUP BY t, p, e0)"
        " ORDER BY true_value, pred_value, other_value",
        rows.parameters,
    )
