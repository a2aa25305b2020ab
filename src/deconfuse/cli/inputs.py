"""Read what a person names on the command line as confusion matrices and samples."""

from __future__ import annotations

import glob
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deconfuse.cli.console import say, working
from deconfuse.cli.options import Reading
from deconfuse.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.prediction_table import PredictionTable, TwoModels
    from deconfuse.reporting.samples import Samples

__all__ = [
    "STANDARD",
    "Input",
    "Wanted",
    "called",
    "check_columns",
    "check_output",
    "check_page",
    "name_files",
    "read_embeddings",
    "read_input",
    "read_matrices",
    "read_models",
]

STANDARD = "-"


class Input(NamedTuple):
    """What was read: a matrix, whether the file holds it as such, and samples if asked for."""

    cm: ConfusionMatrix
    is_matrix: bool
    samples: Samples | None = None


class Wanted(NamedTuple):
    """Which samples to take: named and shown by these columns, some of every cell or all.

    ``if_there`` takes none of a table without the id column.
    """

    id: str | None = None
    image: str | None = None
    text: str | None = None
    all_rows: bool = False
    if_there: bool = False


def read_input(source: str, reading: Reading, wanted: Wanted | None = None) -> Input:
    """Count a file, a folder, a pattern or standard input, and say how much was read."""
    from deconfuse.confusion import ConfusionMatrix

    with _opened(source, reading) as opened:
        is_matrix, samples = isinstance(opened, ConfusionMatrix), None
        if isinstance(opened, ConfusionMatrix):
            wanted_classes = reading.classes.with_types(opened.labels, is_text=False).labels
            cm = opened if wanted_classes is None else opened.reindex(wanted_classes)
        else:
            with working(f"Counting {called(source)}"):
                cm = opened.count(reading.columns, reading.classes)
            if wanted is not None and (not wanted.if_there or wanted.id in opened.columns):
                samples = _samples(opened, reading, wanted)
    total = f"{cm.total:,.12g}"
    counted = f"samples weighing {total}" if cm.is_weighted else f"{total} samples"
    classes = f"{cm.n_classes:,} class{'es' * (cm.n_classes > 1)}"
    beside = f", {cm.n_samples - cm.total:,.12g} with an outcome" if cm.outcomes else ""
    say(f"{called(source)}: {counted} of {classes}{beside}")
    return Input(cm, is_matrix, samples)


def read_matrices(sources: Sequence[str], reading: Reading) -> ConfusionMatrix:
    """Count several inputs and add them up, as shards of one set of predictions."""
    twice = [source for source in dict.fromkeys(sources) if sources.count(source) > 1]
    if twice:
        raise InputError(f"Each file must be given once, got {called(twice[0])} more than once.")
    inputs = [read_input(source, reading) for source in sources]
    check_columns(sources, inputs, reading)
    first, *others = (given.cm for given in inputs)
    return sum(others, start=first)


def check_columns(
    sources: Sequence[str], inputs: Sequence[Input], reading: Reading, wanted: Wanted | None = None
) -> None:
    """Refuse columns that no input has, because all are matrices; say which input has none."""
    from deconfuse.reading.matrix_files import refuse_columns

    matrices = [s for s, given in zip(sources, inputs, strict=True) if given.is_matrix]
    if len(matrices) == len(inputs):
        refuse_columns(reading.columns, reading.classes)
    elif reading.columns.named:
        for source in matrices:
            say(f"{called(source)} holds a matrix: the columns named are those of the other file")
    # Of two inputs, a matrix has no ids to pair by, and that is said where they are joined.
    roles = ("id", "image", "text")
    shown = {} if wanted is None else {role: getattr(wanted, role) for role in roles}
    for role, name in shown.items():
        if name is not None and inputs[0].is_matrix and (role != "id" or len(inputs) == 1):
            raise InputError(
                f"`--{role}` must be a column of predictions, but {called(sources[0])} holds a"
                f" matrix, which has no column {name!r}.",
                hint=f"leave out `--{role}`, or give the table that the matrix was counted from.",
            )


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
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"`--embeddings` must be an array of numbers saved by numpy, and {str(path)!r} is not.",
            hint="write it with `numpy.save`.",
        ) from error


def read_models(source: str, reading: Reading, against: str) -> TwoModels:
    """Read the predictions of two models on the rows of one table."""
    from deconfuse.confusion import ConfusionMatrix

    if reading.weight is not None or reading.scores:
        raise InputError(
            "`--against` compares two columns of predictions, got `--weight` or `--scores` too.",
            hint="leave them out.",
        )
    with working(f"Reading {called(source)}"), _opened(source, reading) as opened:
        if isinstance(opened, ConfusionMatrix):
            raise InputError(
                "Two models are compared row by row, but the file holds a matrix.",
                hint="give a table of predictions, or two matrices.",
            )
        models = opened.models(against, reading.columns, reading.classes)
    say(f"{called(source)}: {len(models.y_true):,} samples, predicted twice")
    return models


@contextmanager
def _opened(source: str, reading: Reading) -> Iterator[PredictionTable | ConfusionMatrix]:
    """Open an input once, whatever is asked of it."""
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.prediction_table import open_table

    with _local_file(source) as path:
        opened = open_table(
            path,
            options=reading.matrix,
            has_scores=bool(reading.scores),
            max_decompressed=reading.max_decompressed,
        )
        if isinstance(opened, ConfusionMatrix):
            yield opened
            return
        with opened:
            yield opened


def _samples(opened: PredictionTable, reading: Reading, wanted: Wanted) -> Samples:
    from deconfuse.reporting.samples import Samples

    with working("Looking up samples"):
        rows = opened.rows(
            reading.columns,
            reading.classes,
            id=wanted.id,
            image=wanted.image,
            text=wanted.text,
            per_cell=None if wanted.all_rows else 12,
        )
    return Samples(
        rows.y_true,
        rows.y_pred,
        ids=rows.ids,
        images=rows.images,
        texts=rows.texts,
        scores=rows.scores,
    )


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
    if len(set(files)) < len(files):
        raise InputError(
            f"The two files must differ, got {files[0]!r} twice.",
            hint="two models in one table are compared with `deconfuse compare FILE --against`.",
        )
    names = [Path(called(file)).stem for file in files]
    return names if len(set(names)) == len(names) else [called(file) for file in files]


def check_output(output: Path | None, *sources: str) -> None:
    """Refuse to write over what is read, or into a folder that does not exist."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise InputError(
            f"`--output` must be in a folder that exists, got {str(output.parent)!r}.",
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
    from deconfuse.reporting.page import FORMATS

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
