"""``report``, ``diagnose`` and ``compare``. They read, call, show and write; others compute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deconfuse.cli import console
from deconfuse.cli.found import show_findings
from deconfuse.cli.inputs import (
    Columns,
    Input,
    check_output,
    check_page,
    name_files,
    read_embeddings,
    read_matrices,
    read_matrix,
    read_models,
    read_rows,
    read_with_samples,
)
from deconfuse.cli.options import (
    EpsilonOption,
    FileArgument,
    FilesArgument,
    IdOption,
    ImageOption,
    JsonOption,
    LabelOption,
    LabelsOption,
    MissingOption,
    OpenOption,
    OtherOption,
    OutcomesOption,
    PageOption,
    PredictionOption,
    SamplesOption,
    ScoresOption,
    TitleOption,
    UnionOption,
    WeightOption,
)
from deconfuse.cli.two_inputs import (
    Matching,
    join_inputs,
    paired_inputs,
    refuse_weighted_pairs,
)
from deconfuse.errors import InputError

__all__ = ["compare", "diagnose", "leave_page", "report"]


def diagnose(
    files: FilesArgument,
    epsilon: EpsilonOption = None,
    level: Annotated[float, typer.Option("--level", help="Level of the intervals.")] = 0.95,
    json: JsonOption = False,
    label: LabelOption = "label",
    prediction: PredictionOption = "prediction",
    weight: WeightOption = None,
    scores: ScoresOption = None,
    labels: LabelsOption = None,
    outcomes: OutcomesOption = None,
    other: OtherOption = None,
    missing: MissingOption = None,
) -> None:
    """Say which classes look alike, which are over-predicted, what to doubt, and what to do.

    [bold]Examples[/bold]

      deconfuse diagnose predictions.csv

      deconfuse diagnose week-*.csv --label target --prediction pred

      deconfuse diagnose matrix.csv --json | jq .look_alikes
    """
    import deconfuse as dc

    cm = read_matrices(
        files, Columns(label, prediction, weight, scores, labels, outcomes, other, missing)
    )
    with console.working("Diagnosing"):
        found = dc.diagnose(cm, epsilon=epsilon, level=level)
    if json:
        console.print_json(found.to_dict())
    else:
        console.out().print(found)


def report(
    file: FileArgument,
    file2: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE2",
            help="A second model to compare with. Shards of one model: a folder or a quoted"
            " pattern as FILE.",
            show_default=False,
        ),
    ] = None,
    output: PageOption = Path("report.html"),
    title: TitleOption = None,
    open_page: OpenOption = False,
    json: JsonOption = False,
    labels: LabelsOption = None,
    outcomes: OutcomesOption = None,
    other: OtherOption = None,
    missing: MissingOption = None,
    union: UnionOption = False,
    label: LabelOption = "label",
    prediction: PredictionOption = "prediction",
    weight: WeightOption = None,
    scores: ScoresOption = None,
    id: IdOption = None,
    image: ImageOption = None,
    samples: SamplesOption = True,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            "--embeddings",
            help="Array of numpy (.npy) with a row for each row of FILE: adds the geometry.",
            show_default=False,
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
    from deconfuse.cli.inputs import SampleColumns

    files = [file] if file2 is None else [file, file2]
    check_output(output, *files)
    check_page(output)
    names = name_files(files)
    _refuse_unused(
        file2, id=id, image=image, samples=samples or embeddings is not None, union=union
    )
    columns = Columns(label, prediction, weight, scores, labels, outcomes, other, missing)
    if samples or embeddings is not None:
        shown = SampleColumns(id, image)
        whole = embeddings is not None or (file2 is not None and id is not None)
        given = read_with_samples(
            file, columns, shown, all_rows=whole, one_of_two=file2 is not None
        )
    elif file2 is not None:
        given = read_rows(file, columns, id)
    else:
        given = Input(read_matrix(file, columns))
    first, rows = given.cm, given.rows
    points = read_embeddings(embeddings, rows)
    two = None
    if file2 is not None:
        matching = Matching((file, file2), id=id, union=union)
        two = join_inputs(given, read_rows(file2, columns, id), columns, matching)
    subject = first if two is None else dict(zip(names, (two.first, two.second), strict=True))
    name = title or " and ".join(names)
    with console.working("Writing the page"):
        study = dc.Study(
            subject,
            samples=rows if samples or embeddings is not None else None,
            embeddings=points,
            paired=None if two is None else two.paired,
        )
        page = dc.report(study, output, title=name)
    if json:
        console.print_json({"path": str(page), "title": name, **study.to_dict()})
    else:
        show_findings(console.out(), study)
    leave_page(page, open_page=open_page)


def _refuse_unused(
    file2: str | None, *, id: str | None, image: str | None, samples: bool, union: bool
) -> None:
    """Refuse options that nothing would come of."""
    if union and file2 is None:
        raise InputError(
            "`--union` takes the classes of two files, got one.",
            hint="leave it out, or give a second model as FILE2.",
        )
    # Without samples, ids still pair two files.
    for option, given in (
        ("--id", file2 is None and id is not None),
        ("--image", image is not None),
    ):
        if given and not samples:
            raise InputError(
                f"`{option}` is about the samples behind each cell, got `--no-samples` too.",
                hint="leave out one of them.",
            )


def compare(
    file_a: Annotated[
        str,
        typer.Argument(metavar="FILE_A", help="As FILE of the other commands.", show_default=False),
    ],
    file_b: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE_B", help="The other model, or the other dataset.", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Column of the other model's predictions, where FILE_A has both. The comparison"
            " then uses that the samples are the same.",
            show_default=False,
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Column that names a sample, in both files: the comparison then uses that the"
            " samples are the same.",
            rich_help_panel="Columns of FILE",
            show_default=False,
        ),
    ] = None,
    labels: LabelsOption = None,
    outcomes: OutcomesOption = None,
    other: OtherOption = None,
    missing: MissingOption = None,
    union: UnionOption = False,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Exit with 3 where the second is certainly worse, and say in what.",
        ),
    ] = False,
    margin: Annotated[
        float,
        typer.Option("--margin", help="How much worse it may be, 0.02 for two points."),
    ] = 0.0,
    epsilon: EpsilonOption = None,
    json: JsonOption = False,
    label: LabelOption = "label",
    prediction: PredictionOption = "prediction",
    weight: WeightOption = None,
    scores: ScoresOption = None,
) -> None:
    """Compare two models, or one model on two datasets: what changed, and whether it is chance.

    [bold]Examples[/bold]

      deconfuse compare before.csv after.csv

      deconfuse compare before.csv after.csv --id name

      deconfuse compare both.csv --prediction old_model --against new_model

      deconfuse compare monday.parquet tuesday.parquet --json

      deconfuse compare released.csv candidate.csv --id name --fail-if-worse --margin 0.02
    """
    import deconfuse as dc

    if margin and not fail_if_worse:
        raise InputError(
            "`--margin` is how much worse the second may be, got no `--fail-if-worse`.",
            hint="give both, or neither.",
        )
    if (file_b is None) == (against is None):
        raise InputError(
            "Two models are compared: give FILE_B, or a second column with `--against`.",
            hint="`deconfuse compare --help` has examples.",
        )
    columns = Columns(label, prediction, weight, scores, labels, outcomes, other, missing)
    if file_b is not None:
        name_files([file_a, file_b])
        refuse_weighted_pairs(id, weight)
        matching = Matching((file_a, file_b), id=id, union=union, strict=True)
        inputs = (read_rows(file, columns, id) for file in (file_a, file_b))
        two = join_inputs(next(inputs), next(inputs), columns, matching)
    elif id is not None:
        raise InputError(
            "`--id` pairs the rows of two files, got one.",
            hint="with `--against` the rows of FILE_A are paired as they are.",
        )
    else:
        two = paired_inputs(read_models(file_a, columns, str(against)), columns)
    with console.working("Comparing"):
        found = dc.compare(two.first, two.second, paired=two.paired, epsilon=epsilon)
    if json:
        console.print_json(found.to_dict())
    else:
        console.out().print(found)
    worse = found.deteriorations(margin) if fail_if_worse else ()
    for sentence in worse:
        console.say(sentence)
    if worse:
        raise typer.Exit(3)


def leave_page(page: Path, *, open_page: bool) -> None:
    """Say where the page is, and open it if asked."""
    console.say(f"wrote {page}")
    console.say(f"open {page.resolve().as_uri()}")
    if open_page:
        typer.launch(page.resolve().as_uri())
