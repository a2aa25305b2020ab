"""Read what a person names on the command line as confusion matrices and samples."""

from __future__ import annotations

import glob
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deconfuse.cli.class_lists import in_order, split_names
from deconfuse.cli.console import say, working
from deconfuse.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.pairs import ClassOptions
    from deconfuse.reading.prediction_table import PredictionTable, TwoModels
    from deconfuse.reporting.samples import Samples

__all__ = [
    "STANDARD",
    "Columns",
    "Input",
    "SampleColumns",
    "called",
    "check_output",
    "check_page",
    "name_files",
    "read_embeddings",
    "read_matrices",
    "read_matrix",
    "read_models",
    "read_rows",
    "read_with_samples",
]

STANDARD = "-"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table to count by, and over which classes, as given on the command line.

    ``labels`` are the classes with commas between; None takes those that occur.
    """

    label: str
    prediction: str
    weight: str | None = None
    scores: Sequence[str] | None = None
    labels: str | None = None
    outcomes: str | None = None
    other: str | None = None
    missing: str | None = None

    @property
    def class_options(self) -> ClassOptions:
        """Which answers are no class; with `--other`, the classes are those of `--labels`."""
        from deconfuse.classes import infer_kind, parse_label
        from deconfuse.reading.pairs import ClassOptions

        labels = None
        if self.other is not None and self.labels is not None:
            texts = split_names(self.labels, "--labels")
            labels = [parse_label(text, infer_kind(texts)) for text in texts]
        outcomes = None if self.outcomes is None else split_names(self.outcomes, "--outcomes")
        return ClassOptions.of(labels, outcomes, self.other, self.missing)

    @property
    def score_columns(self) -> str | list[str] | dict[str, str] | None:
        """The one column of lists, the columns of the classes, or columns with their classes."""
        if not self.scores:
            return None
        names = list(self.scores)
        if len(names) == 1:
            names = [name.strip() for name in names[0].split(",")] if "," in names[0] else names
        if all("=" in name for name in names):
            return _with_classes(names)
        return names if len(self.scores) > 1 or "," in self.scores[0] else names[0]


def _with_classes(pairs: Sequence[str]) -> dict[str, str]:
    """Return columns and their classes, of words such as p_cat=cat."""
    classes: dict[str, str] = {}
    for pair in pairs:
        column, _, name = pair.rpartition("=")
        if column in classes:
            raise InputError(f"`--scores` must name each column once, got {column!r} twice.")
        classes[column] = name
    return classes


class Input(NamedTuple):
    """What was read: a matrix, its rows if asked for, and why columns were not looked for.

    ``unused`` is the error of columns that a person named and that a matrix does not have. Of two
    inputs, the other may have them.
    """

    cm: ConfusionMatrix
    rows: Samples | None = None
    unused: InputError | None = None


class SampleColumns(NamedTuple):
    """Which columns name and show a sample; without an id it is called by its row number."""

    id: str | None = None
    image: str | None = None


def read_matrix(source: str, columns: Columns) -> ConfusionMatrix:
    """Count a file, a folder, a pattern or standard input, and say how much was read."""
    with _opened(source, columns) as opened:
        return _count(source, opened, columns).cm


def read_matrices(sources: Sequence[str], columns: Columns) -> ConfusionMatrix:
    """Count several inputs and add them up, as shards of one set of predictions."""
    twice = [source for source in dict.fromkeys(sources) if sources.count(source) > 1]
    if twice:
        raise InputError(f"Each file must be given once, got {called(twice[0])} more than once.")
    first, *others = (read_matrix(source, columns) for source in sources)
    return sum(others, start=first)


def read_with_samples(
    source: str, columns: Columns, shown: SampleColumns, *, all_rows: bool, one_of_two: bool
) -> Input:
    """Count an input, and take some rows of every cell, or all; a saved matrix has none."""
    from deconfuse.confusion import ConfusionMatrix

    with _opened(source, columns) as opened:
        counted = _count(source, opened, columns, one_of_two=one_of_two)
        if not isinstance(opened, ConfusionMatrix):
            samples = _samples(opened, columns, shown, per_cell=None if all_rows else 12)
            return counted._replace(rows=samples)
    # Of two inputs, a matrix has no ids to pair by, and that is said where they are joined.
    for role, name in (("id", None if one_of_two else shown.id), ("image", shown.image)):
        if name is not None:
            raise InputError(
                f"`--{role}` must be a column of predictions, but {called(source)} holds a matrix,"
                f" which has no column {name!r}.",
                hint=f"leave out `--{role}`, or give the table that the matrix was counted from.",
            )
    return counted


def read_rows(source: str, columns: Columns, id_column: str | None) -> Input:
    """Count one of two inputs, and take all its rows by their ids, if it has such a column."""
    from deconfuse.confusion import ConfusionMatrix

    with _opened(source, columns) as opened:
        counted = _count(source, opened, columns, one_of_two=True)
        if isinstance(opened, ConfusionMatrix) or id_column not in opened.columns:
            return counted
        samples = _samples(opened, columns, SampleColumns(id=id_column), per_cell=None)
        return counted._replace(rows=samples)


def read_embeddings(path: Path | None, samples: Samples | None) -> npt.NDArray[Any] | None:
    """Open an array whose rows belong to the rows that were read; it is not loaded yet."""
    import numpy as np

    if path is None:
        return None
    if samples is None:
        raise InputError(
            "`--embeddings` needs the predictions of each row, but FILE holds a matrix.",
            hint="give the table of predictions as FILE.",
        )
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"`--embeddings` must be an array of numbers saved by numpy, and {str(path)!r} is not.",
            hint="write it with `numpy.save`.",
        ) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or len(array) != len(samples.y_true):
        shape = getattr(array, "shape", "several arrays")
        raise InputError(
            f"`--embeddings` must have one row per row of FILE, got {shape} for"
            f" {len(samples.y_true):,} rows."
        )
    return array


def read_models(source: str, columns: Columns, against: str) -> TwoModels:
    """Read the predictions of two models on the rows of one table."""
    from deconfuse.confusion import ConfusionMatrix

    if columns.weight is not None or columns.score_columns is not None:
        raise InputError(
            "`--against` compares two columns of predictions, without weights, scores."
        )
    with working(f"Reading {called(source)}"), _opened(source, columns) as opened:
        if isinstance(opened, ConfusionMatrix):
            raise InputError(
                "Two models are compared row by row, but the file holds a matrix.",
                hint="give a table of predictions, or two matrices.",
            )
        models = opened.models(columns.prediction, against, label=columns.label)
    say(f"{called(source)}: {len(models.y_true):,} samples, predicted twice")
    return models


@contextmanager
def _opened(source: str, columns: Columns) -> Iterator[PredictionTable | ConfusionMatrix]:
    """Open an input once, whatever is asked of it."""
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.prediction_table import open_table

    with _local_file(source) as path:
        opened = open_table(path, scores=columns.score_columns)
        if isinstance(opened, ConfusionMatrix):
            yield opened
            return
        with opened:
            yield opened


def _count(
    source: str,
    opened: PredictionTable | ConfusionMatrix,
    columns: Columns,
    *,
    one_of_two: bool = False,
) -> Input:
    """Count an input and say how much was read; one of two may be a matrix without columns."""
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.matrix_files import refuse_columns

    named = {"label": columns.label, "prediction": columns.prediction}
    unused = None
    if isinstance(opened, ConfusionMatrix):
        cm = opened
        try:
            refuse_columns(**named, weight=columns.weight)
        except InputError as error:
            if not one_of_two:
                raise
            unused = error
    else:
        with working(f"Counting {called(source)}"):
            cm = opened.count(
                label=columns.label,
                prediction=columns.prediction,
                weight=columns.weight,
                scores=columns.score_columns,
                options=columns.class_options,
            )
    total = f"{cm.total:,.12g}"
    samples = f"samples weighing {total}" if cm.is_weighted else f"{total} samples"
    classes = f"{cm.n_classes:,} class{'es' * (cm.n_classes > 1)}"
    say(f"{called(source)}: {samples} of {classes}")
    return Input(cm if columns.labels is None else in_order(cm, columns.labels), None, unused)


def _samples(
    opened: PredictionTable, columns: Columns, shown: SampleColumns, per_cell: int | None
) -> Samples:
    from deconfuse.reporting.samples import Samples

    with working("Looking up samples"):
        rows = opened.rows(
            label=columns.label,
            prediction=columns.prediction,
            scores=columns.score_columns,
            id=shown.id,
            image=shown.image,
            per_cell=per_cell,
            options=columns.class_options,
        )
    return Samples(rows.y_true, rows.y_pred, ids=rows.ids, images=rows.images)


@contextmanager
def _local_file(source: str) -> Iterator[str]:
    """Give a path for what was named; standard input becomes a file as long as it is needed.

    Counting may read its input more than once, and tells its format by the first bytes.
    """
    if source != STANDARD:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="deconfuse-") as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            yield str(path)
        except InputError as error:
            # The person knows nothing of the file that stands for standard input.
            message = error.message.replace(f"File {str(path)!r}", "Standard input")
            raise InputError(message.replace(str(path), "-"), hint=error.hint) from error


def called(source: str) -> str:
    """Return what to call an input when speaking to the person who named it."""
    return "standard input" if source == STANDARD else source


def name_files(files: list[str]) -> list[str]:
    """Return a name for each input: that of its file, or the whole path where these are equal."""
    if files.count(STANDARD) > 1:
        raise InputError("Standard input can be read once, got - twice.")
    if len(set(files)) < len(files):
        raise InputError(
            f"The two files must differ, got {files[0]!r} twice.",
            hint="two models in one table are compared with `deconfuse compare FILE --against`.",
        )
    names = [Path(called(file)).stem for file in files]
    return names if len(set(names)) == len(names) else [called(file) for file in files]


def check_output(output: Path | None, *sources: str) -> None:
    """Refuse to write over what is read, or into a folder that does not exist."""
    if output is None or str(output) == STANDARD:
        return
    if not output.parent.is_dir():
        raise InputError(
            f"`--output` must lie in a folder that exists, but {str(output.parent)!r} is none.",
            hint="make the folder first.",
        )
    if output.is_dir():
        raise InputError(f"`--output` must be a file, and {str(output)!r} is a folder.")
    for source in sources:
        if source != STANDARD and output.exists() and _is_among(output, source):
            raise InputError(
                f"`--output` must not be the input, got {str(output)!r} for both.",
                hint="choose another name: the predictions would be lost.",
            )


def check_page(output: Path) -> None:
    """Refuse a name that says no format of a report, before anything is counted."""
    from deconfuse.reporting.report import FORMATS

    if output.suffix.lower() not in FORMATS:
        raise InputError(
            f"`--output` (-o) must end in {', '.join(FORMATS)}, got {str(output)!r}.",
            hint="the page is the .html one.",
        )


def _is_among(output: Path, source: str) -> bool:
    """Return whether a file is what was named, or in the folder, or matches the pattern."""
    folder = Path(source)
    if folder.is_dir():
        files: Iterable[str | Path] = (path for path in folder.rglob("*") if path.is_file())
    else:
        files = [source] if folder.exists() else glob.glob(source, recursive=True)
    return any(output.samefile(file) for file in files)
