"""Run ``deconfuse compare``: read two models, say what changed, and fail if asked to."""

from __future__ import annotations

from typing import Annotated

import typer

from deconfuse.cli import console
from deconfuse.cli.inputs import Wanted, check_columns, name_files, read_input, read_models
from deconfuse.cli.options import (
    EpsilonOption,
    JsonOption,
    Reading,
    UnionOption,
    column,
    named,
    takes_reading,
)
from deconfuse.cli.two_inputs import Matching, join_inputs, paired_inputs, refuse_many_files
from deconfuse.errors import InputError

__all__ = ["compare"]


@takes_reading
def compare(
    reading: Reading,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE_A [FILE_B]",
            help="FILE_A as FILE of the other commands, FILE_B of the other model or dataset.",
            show_default=False,
        ),
    ],
    against: Annotated[
        str | None,
        named(
            "--against",
            "Column of the other model's predictions, where FILE_A has both. The comparison then"
            " uses that the samples are the same.",
        ),
    ] = None,
    id: Annotated[
        str | None,
        column(
            "--id",
            "Column that names a sample, in both files: the comparison then uses that the samples"
            " are the same.",
        ),
    ] = None,
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
    refuse_many_files("`compare` compares two models", files)
    if (len(files) < 2) == (against is None):
        raise InputError(
            "Two models are compared: give FILE_B, or a second column with `--against`.",
            hint="`deconfuse compare --help` has examples.",
        )
    if against is None:
        name_files(files)
        if id is not None and reading.weight is not None:
            raise InputError(
                "`--id` pairs samples that weigh one each, got `--weight` too.",
                hint="leave out one of them.",
            )
        matching = Matching((files[0], files[1]), id=id, union=union, strict=True)
        wanted = Wanted(id, all_rows=True, if_there=True)
        inputs = [read_input(file, reading, wanted) for file in files]
        check_columns(files, inputs, reading)
        two = join_inputs(inputs[0], inputs[1], reading, matching)
    elif id is not None:
        raise InputError(
            "`--id` pairs the rows of two files, got one.",
            hint="with `--against` the rows of FILE_A are paired as they are.",
        )
    else:
        two = paired_inputs(read_models(files[0], reading, against), reading.classes)
    with console.working("Comparing"):
        found = dc.compare(two.first, two.second, paired=two.paired, epsilon=epsilon)
    worse = found.deteriorations(margin) if fail_if_worse else ()
    if json:
        console.print_json(found.to_dict())
    else:
        console.out().print(found)
    for sentence in worse:
        console.say(sentence)
    if worse:
        raise typer.Exit(3)
