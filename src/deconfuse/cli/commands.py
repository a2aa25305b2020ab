"""Run ``deconfuse report`` and ``deconfuse diagnose``: read, call, show and write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deconfuse.cli import console
from deconfuse.cli.inputs import (
    Wanted,
    called,
    check_columns,
    check_output,
    check_page,
    name_files,
    read_embeddings,
    read_input,
    read_matrices,
)
from deconfuse.cli.options import (
    EpsilonOption,
    FilesArgument,
    JsonOption,
    OpenOption,
    PageOption,
    PairArgument,
    Reading,
    UnionOption,
    column,
    named,
    takes_reading,
)
from deconfuse.cli.two_inputs import Matching, join_inputs, refuse_many_files
from deconfuse.errors import InputError

__all__ = ["diagnose", "leave_page", "report"]


@takes_reading
def diagnose(
    reading: Reading,
    files: FilesArgument,
    epsilon: EpsilonOption = None,
    level: Annotated[float, typer.Option("--level", help="Level of the intervals.")] = 0.95,
    json: JsonOption = False,
) -> None:
    """Say which classes look alike, which are over-predicted, what to doubt, and what to do.

    [bold]Examples[/bold]

      deconfuse diagnose predictions.csv

      deconfuse diagnose week-*.csv --label target --prediction pred

      deconfuse diagnose matrix.csv --json | jq .look_alikes
    """
    import deconfuse as dc

    cm = read_matrices(files, reading)
    with console.working("Diagnosing"):
        found = dc.diagnose(cm, epsilon=epsilon, level=level)
    if json:
        console.print_json(found.to_dict())
    else:
        console.out().print(found)


@takes_reading
def report(
    reading: Reading,
    files: PairArgument,
    output: PageOption = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option("--title", help="What the page is about. Default: the name of FILE."),
    ] = None,
    open_page: OpenOption = False,
    json: JsonOption = False,
    union: UnionOption = False,
    id: Annotated[
        str | None,
        column(
            "--id",
            "Column that names a sample. Default: its row number, from 0. Where both of two files"
            " have it, they are compared sample by sample.",
        ),
    ] = None,
    image: Annotated[
        str | None,
        column(
            "--image",
            "Column of pictures: paths, from the folder of FILE, or whole files in Parquet.",
        ),
    ] = None,
    text: Annotated[str | None, column("--text", "Column of texts, shown as text.")] = None,
    samples: Annotated[
        bool, typer.Option("--samples/--no-samples", help="List the samples behind each cell.")
    ] = True,
    embeddings: Annotated[
        Path | None,
        named(
            "--embeddings",
            "Array of numpy (.npy) with a row for each row of FILE: adds the geometry.",
        ),
    ] = None,
) -> None:
    """Write a page to explore a confusion matrix, and say what was found.

    The page is one file that needs no network. Made from predictions, it lists some samples behind
    each cell.

    [bold]Examples[/bold]

      deconfuse report predictions.csv --open

      deconfuse report predictions.csv --id name --image path

      deconfuse report predictions.csv --embeddings latent.npy

      deconfuse report before.parquet after.parquet --id name -o change.html

      deconfuse report scores.csv --label y --scores cat,dog,bird --title "Pets, v3"
    """
    import deconfuse as dc

    refuse_many_files("`report` shows one model or compares two", files)
    file, file2 = files[0], files[1] if len(files) == 2 else None
    if file2 is not None:
        console.say(
            f"comparing {called(file)} with {called(file2)}; the shards of one model are added up"
            " by a quoted pattern or a folder"
        )
    check_output(output, *files)
    check_page(output)
    names = name_files(files)
    shown = {"--id": id if file2 is None else None, "--image": image, "--text": text}
    listed = samples or embeddings is not None
    _refuse_unused(file2, shown, samples=listed, union=union)
    to_pair = None if file2 is None else Wanted(id, all_rows=True, if_there=True)
    wanted = to_pair
    if listed:
        whole = embeddings is not None or (file2 is not None and id is not None)
        wanted = Wanted(id, image, text, all_rows=whole)
    inputs = [read_input(file, reading, wanted)]
    if file2 is not None:
        inputs.append(read_input(file2, reading, to_pair))
    check_columns(files, inputs, reading, wanted)
    first, rows = inputs[0].cm, inputs[0].samples
    points = read_embeddings(embeddings, rows)
    two = None
    if file2 is not None:
        matching = Matching((file, file2), id=id, union=union)
        two = join_inputs(inputs[0], inputs[1], reading, matching)
    subject = first if two is None else dict(zip(names, (two.first, two.second), strict=True))
    name = title or " and ".join(names)
    with console.working("Writing the page"):
        study = dc.Study(
            subject,
            samples=rows if listed else None,
            embeddings=points,
            paired=None if two is None else two.paired,
        )
        page = dc.report(study, output, title=name)
    if json:
        console.print_json({"path": str(page), "title": name, **study.to_dict()})
    else:
        console.show_findings(study)
    leave_page(page, open_page=open_page)


def _refuse_unused(
    file2: str | None, shown: dict[str, str | None], *, samples: bool, union: bool
) -> None:
    """Refuse options that nothing would come of."""
    if union and file2 is None:
        raise InputError(
            "`--union` takes the classes of two files, got one.",
            hint="leave it out, or give a second model as FILE2.",
        )
    # Without samples, ids still pair two files.
    for option, name in shown.items():
        if name is not None and not samples:
            raise InputError(
                f"`{option}` is about the samples behind each cell, got `--no-samples` too.",
                hint="leave out one of them.",
            )


def leave_page(page: Path, *, open_page: bool) -> None:
    """Say where the page is, and open it if asked."""
    console.say(f"wrote {page}")
    console.say(f"open {page.resolve().as_uri()}")
    if open_page:
        typer.launch(page.resolve().as_uri())
