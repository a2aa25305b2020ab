"""Run ``deconfuse demo``: train on real digits and write a page, in seconds."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from deconfuse._text import significant
from deconfuse.cli import console
from deconfuse.cli.commands import leave_page
from deconfuse.cli.inputs import check_output, check_page
from deconfuse.cli.options import JsonOption, OpenOption, PageOption, named

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.demo import Demo
    from deconfuse.reporting.study import Study
    from deconfuse.statistics.diagnosis import Diagnosis
    from deconfuse.statistics.similarity import LookAlike

__all__ = ["demo"]


def demo(
    output: PageOption = Path("deconfuse-demo.html"),
    picture: Annotated[
        Path | None,
        named("--picture", "Also draw the four normalizations side by side (.png, .svg, .pdf)."),
    ] = None,
    open_page: OpenOption = False,
    json: JsonOption = False,
) -> None:
    """Try it on real data: handwritten digits, learned from a skewed sample.

    Trains a small classifier on scikit-learn's digits, of which some are rare, and leaves a page
    that shows which digits really are similar and which are only over-predicted.

    [bold]Examples[/bold]

      deconfuse demo --open

      deconfuse demo --picture four-matrices.png
    """
    import deconfuse as dc
    from deconfuse.demo import make_demo
    from deconfuse.reporting.plots import picture_format

    check_output(output)
    check_page(output)
    check_output(picture)
    if picture is not None:
        picture_format(picture)
    with console.working("Training on digits"):
        data = make_demo()
    with console.working("Writing the page"):
        study = dc.Study(
            data.cm,
            embeddings=data.images.reshape(len(data.images), -1),
            samples=dc.Samples(data.y_true, data.y_pred, images=255 - data.images * (255 / 16)),
        )
        page = dc.report(study, output, title="Digits, learned from a skewed sample")
    if json:
        console.print_json({"path": str(page), **study.to_dict()})
    else:
        _tell(data, study)
    if picture is not None:
        _draw(data.cm, picture)
    leave_page(page, open_page=open_page)


def _tell(data: Demo, study: Study) -> None:
    from rich.text import Text

    from deconfuse.reporting.display import print_matrix

    out, found, trained = console.out(), study.diagnosis(), data.trained
    bi = study.bi()
    out.print(
        f"A classifier learned from {trained.max()} images of a {trained.argmax()}, down to"
        f" {trained.min()} of a {trained.argmin()}, then read {data.cm.total:,} others.\n"
    )
    print_matrix(out, data.cm)
    largest = found.attribution.top(1)[0]
    similarity, label, prediction = (
        f"x {exp(part):.2g}" for part in (largest.similarity, largest.label, largest.prediction)
    )
    out.print(
        f"The largest error: a {largest.true} read as {largest.pred}, {largest.count:g} times."
        f" Against a typical error that is {similarity} for how similar they are, {label} for how"
        f" many {largest.true} there are, and {prediction} for how readily {largest.pred} is"
        " predicted.\n"
    )
    print_matrix(out, bi)
    alike = found.look_alikes[0]
    out.print(
        f"Most similar: {alike.first} and {alike.second}, similarity"
        f" {significant(alike.similarity)}, though by counts this pair has rank {alike.raw_rank}."
    )
    for pair in _confused_only(found):
        out.print(
            f"Less similar: {pair.first} and {pair.second}, similarity"
            f" {significant(pair.similarity)}, though by counts this pair has rank {pair.raw_rank}."
        )
    out.print()
    console.show_findings(study)
    by_bi, by_counts = (data.agreement_of_errors(m) for m in (bi.matrix, data.cm.counts))
    out.print(
        Text.assemble(
            ("\nIs it true? ", "bold"),
            f"The same classifier, learned from equally many of each digit, shares {by_bi:.0%} of"
            f" its errors with the bi-normalized matrix, and {by_counts:.0%} with the counts.",
        )
    )


def _confused_only(found: Diagnosis) -> list[LookAlike]:
    """Return the pairs that counts put first and that were found not to be alike."""
    named = [finding.classes for finding in found.findings if finding.kind == "not_alike"]
    pairs = {(p.first, p.second): p for p in (*found.look_alikes, *found.uncertain_pairs)}
    return [pairs[classes] for classes in named if classes in pairs]


def _draw(cm: ConfusionMatrix, picture: Path) -> None:
    from matplotlib.figure import Figure

    from deconfuse.reporting.plots import plot_four, write_figure

    write_figure(plot_four(cm, figure=Figure()), picture)
    console.say(f"wrote {picture}")
