"""From records to the published results: the text with its verdicts, the tables, the figures."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from deconfuse._files import write_bytes
from deconfuse.errors import InputError
from deconfuse.experiments import extensions, findings, sections
from deconfuse.experiments.analysis import (
    METHODS,
    Question,
    Sample,
    Scores,
    complete_seeds,
    score_records,
    to_rows,
)
from deconfuse.experiments.claims import LEAST_SEEDS, Claim, paper_claims
from deconfuse.experiments.config import DATASETS, RunConfig
from deconfuse.experiments.figures import (
    draw_clusters,
    draw_curves,
    draw_effects,
    draw_instance,
    draw_shuffled,
)
from deconfuse.experiments.grids import read_grids, score_grids
from deconfuse.experiments.human import Comparison, read_comparison
from deconfuse.experiments.records import Record, read_records
from deconfuse.experiments.runs import read_arrays
from deconfuse.experiments.text import (
    MARKS,
    claim_table,
    claims_csv,
    csv_text,
    dataset_title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GRIDS", "HUMAN", "read_summary", "write_results"]

#: Where, beside the records, measurements are that need more than records.
GRIDS, HUMAN = "grids", "human.json"

_TEXT, _CAME_OUT = "REPRODUCTION.md", "## What came out"

#: The run that is shown as an instance, the paper's choice.
_SHOWN = RunConfig("fashion-mnist", 0, 0.3)

# Records do not hold embeddings.
_NEEDS_ARRAYS = "clusters.png"

_SAME = "Colours as in the first figure of curves."
_COLOURS = "bi is orange, row blue, col green, all pink; the paper's are red, blue, orange, green."

#: Every figure: the claim whose section shows it (or none), and its caption.
_FIGURES = {
    "effects.png": (
        "",
        "The paper's Figure 1 with its own shades: (d) is the sum of (a) to (c). The last panel, "
        "not in the paper, multiplies them. Drawn from constants.",
    ),
    "clusters.png": (
        "",
        "The paper's Figure 2, of real embeddings (Fashion-MNIST, seed 0, α = 0.3, not in the "
        "records): Pullover, Coat and Shirt on two components, labels left and predictions right, "
        "with their histograms. A GCM is what left and right share.",
    ),
    "overlap.png": (
        "1",
        "The paper's Figure 3: Overlap with M1, GCM row and GCM bi; means and 95 % t intervals "
        f"over seeds, one scale per row. Colours differ: here {_COLOURS}",
    ),
    "instance.png": (
        "3",
        "The paper's Figure 4: Fashion-MNIST, seed 0, α = 0.3; shares of each matrix in percent, "
        "diagonal in orange, the rest in blue, one scale for all. {shown}",
    ),
    "kl.png": ("4", f"The appendix's curves: KL divergence from M1; lower is closer. {_SAME}"),
    "overlap-other-targets.png": (
        "5",
        f"The appendix's curves: the targets GCM all and GCM col. {_SAME}",
    ),
    "shuffled.png": (
        "5b",
        "Not in the paper: Experiment 2 with the network's embeddings (full lines) and with "
        "embeddings shuffled among the samples (dotted).",
    ),
    "off-diagonal.png": (
        "past",
        "Not in the paper: the same for errors alone, with M1 and bi(M1).",
    ),
    "other-methods.png": (
        "past",
        "Not in the paper: Luce's similarity-choice model (black) and the rebalanced classifier "
        "(yellow) beside bi and row.",
    ),
}

_CURVES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "overlap.png": (
        ("balanced", "overlap", "Overlap with M1 (%)"),
        ("gcm row", "overlap", "Overlap with GCM row (%)"),
        ("gcm bi", "overlap", "Overlap with GCM bi (%)"),
    ),
    "overlap-other-targets.png": (
        ("gcm all", "overlap", "Overlap with GCM all (%)"),
        ("gcm col", "overlap", "Overlap with GCM col (%)"),
    ),
    "kl.png": (("balanced", "kl", "KL divergence (× 100)"),),
    "off-diagonal.png": (
        ("balanced", "off-diagonal overlap", "off-diagonal\nOverlap with M1 (%)"),
        ("bi(balanced)", "off-diagonal overlap", "off-diagonal\nOverlap with bi(M1) (%)"),
    ),
    "other-methods.png": (
        ("balanced", "overlap", "Overlap with M1 (%)"),
        ("bi(balanced)", "off-diagonal overlap", "off-diagonal\nOverlap with bi(M1) (%)"),
    ),
}


def write_results(
    folder: str | os.PathLike[str],
    records_folder: str | os.PathLike[str],
    cache: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write text, tables and figures from the records, each file whole or not at all.

    Parameters
    ----------
    folder : path
        Where ``REPRODUCTION.md``, ``tables/`` and ``figures/`` go. What ``deconfuse reproduce
        --grids`` and ``--human`` left there is reported too.
    records_folder : path
        Where the records are, each study (model, setting) in a folder of its own.
    cache : path, optional
        Where the arrays of runs are. The figure of clusters needs embeddings, which records do
        not hold; without them the one that is there stays.

    Returns
    -------
    list of Path
        What was written.
    """
    folder = Path(folder)
    records = read_records(Path(records_folder))
    if not any(record.config.sampling == "relative" for record in records):
        raise InputError(
            f"There must be records of runs in {records_folder}, but there are none.",
            hint="run `deconfuse reproduce` first.",
        )
    grids, people = read_grids(folder / GRIDS), read_comparison(folder / HUMAN)
    scores = score_records(records, extra=extensions.other_estimates).joined(score_grids(grids))
    control = score_records(records, sampling="equal-size")
    claims = paper_claims(scores, dataset_title, control)
    figures = _draw_all(scores, records)
    if cache is not None and (arrays := read_arrays(Path(cache), _SHOWN)) is not None:
        figures[_NEEDS_ARRAYS] = draw_clusters(arrays)
    for name in _FIGURES.keys() - figures.keys() - {_NEEDS_ARRAYS}:
        # A figure of other records must not stay beside this text.
        (folder / "figures" / name).unlink(missing_ok=True)
    shown = [name for name in _FIGURES if name in figures or (folder / "figures" / name).exists()]
    text = _write_text(records, claims, shown, people)
    measured = sections.measured_sections(records, grids, people)
    epsilons = extensions.epsilon_rows(records)
    past = [*extensions.past_the_paper(records, scores, epsilons), *_pictures(shown, "past")]
    text = "\n\n".join([text, *measured, *past, _TABLES]) + "\n"
    text = text.replace("{shown}", _shown_among(claims))
    contents: dict[Path, bytes] = {}
    for name, figure in figures.items():
        stream = io.BytesIO()
        # Without the library's version in the file, equal records give equal bytes.
        figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
        contents[folder / "figures" / name] = stream.getvalue()
    tables = _tables(records, scores, control, claims)
    tables["epsilon.csv"] = csv_text(_EPSILON, epsilons)
    for name, table in tables.items():
        contents[folder / "tables" / name] = table.encode()
    contents[folder / _TEXT] = text.encode()
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return list(contents)


_TABLES = (
    "## Tables\n\n"
    "`tables/claims.csv` has every cell of every claim; `scores.csv` every Overlap and divergence; "
    "`controls.csv` those of balanced controls of equal size; `runs.csv` sizes, epochs and "
    "accuracies by level; `epsilon.csv` bi under other ε; `components.csv` Experiment 2 with 2, 3, "
    "5 and 10 components."
)


def _tables(
    records: Sequence[Record], scores: Scores, control: Scores, claims: Sequence[Claim]
) -> dict[str, str]:
    head = [*Question._fields, "mean", "low", "high", "n"]
    three = [f"{name} {part}" for name in ("own", "lead", "bi minus others") for part in _PARTS]
    return {
        "claims.csv": claims_csv([*claims, *extensions.stricter_claims(scores)]),
        "scores.csv": csv_text(head, to_rows(scores)),
        "controls.csv": csv_text(head, to_rows(control)),
        "runs.csv": sections.runs_csv(records),
        "components.csv": csv_text(
            ["dataset", "components", "embeddings", "cells per point", *three, "closest", "n"],
            extensions.geometry_rows(records),
        ),
    }


_PARTS = ("mean", "low", "high")
_EPSILON = ("dataset", "alpha", "metric", "epsilon", *_PARTS)


def _draw_all(scores: Scores, records: Sequence[Record]) -> dict[str, Figure]:
    figures = {"effects.png": draw_effects()}
    there = {question.target for question in scores.questions()}
    for name, targets in _CURVES.items():
        # Without balanced models there is no Experiment 1 to show.
        shown = [row for row in targets if row[0] in there]
        beside = ("bi", "row", "similarity-choice", "rebalanced")
        methods = beside if name == "other-methods.png" else METHODS
        if shown:
            figures[name] = draw_curves(scores, shown, dataset_title, methods)
    if "shuffled gcm bi" in there:
        figures["shuffled.png"] = draw_shuffled(scores, dataset_title)
    by_config = {record.config: record for record in records}
    if _SHOWN in by_config and _SHOWN.balanced in by_config:
        figures["instance.png"] = draw_instance(by_config[_SHOWN.balanced], by_config[_SHOWN])
    return figures


def _write_text(
    records: Sequence[Record], claims: Sequence[Claim], figures: Sequence[str], people: Comparison
) -> str:
    marks = ", ".join(f"{mark} {support.value}" for support, mark in MARKS.items())
    is_paper = sections.is_paper(records)
    parts = [
        "# What became of the paper's claims",
        "`deconfuse reproduce --only-report` writes this page, its tables and its figures from "
        f"`records/`, `{GRIDS}/` and `{HUMAN}`; captions say where a figure is made of something "
        "else.",
        _CAME_OUT,
        _summary(records, claims, people),
        "## What was run",
        sections.describe_runs(records),
    ]
    if is_paper:
        notes = files("deconfuse.experiments").joinpath("paper_notes.md").read_text("utf-8")
        parts.append(notes.replace("{seeds}", _seeds(records)).rstrip())
    parts += [
        "## The claims",
        "Cells have means over seeds and 95 % intervals of Student's t, paired by seed, in points "
        f"(hundredths of Overlap). Marks: {marks}. *Near zero*: the interval lies within half a "
        "point of zero, for growth over the whole range of levels. A claim *holds* when it does in "
        f"every cell with {LEAST_SEEDS} seeds or more, *in part* in half of them or more.",
    ]
    for claim in claims:
        parts += [
            f"### {claim.number}. {claim.title}",
            f"**{claim.verdict[0].upper()}{claim.verdict[1:]}.** Measured: {claim.measured}.",
            claim_table(claim),
            *_pictures(figures, claim.number),
        ]
    return "\n\n".join([*parts, *_pictures(figures, "")])


def _pictures(shown: Sequence[str], place: str) -> list[str]:
    return [
        f"![{name.removesuffix('.png')}](figures/{name})\n\n*{caption}*"
        for name, (where, caption) in _FIGURES.items()
        if where == place and name in shown
    ]


def _shown_among(claims: Sequence[Claim]) -> str:
    """Say how typical the run is that is shown as an instance: its lead among all seeds."""
    title = dataset_title(_SHOWN.dataset)
    cell = claims[0].cell(title, f"α = {_SHOWN.alpha:g}")
    if cell is None:
        return ""
    own, *others = cell.sample.values.tolist()
    rank = 1 + sum(other > own for other in others)
    return f"By the lead of bi over {cell.note} it is number {rank} of {cell.sample.n} seeds."


def _seeds(records: Sequence[Record]) -> str:
    counts = {name: len(complete_seeds(records, name)) for name in DATASETS}
    return ", ".join(f"{n} ({dataset_title(name)})" for name, n in counts.items() if n)


def _summary(records: Sequence[Record], claims: Sequence[Claim], people: Comparison) -> str:
    """Say in ten lines what came out; lines without evidence are left out."""
    lines = []
    for number in dict.fromkeys(claim.number[0] for claim in claims):
        mine = [claim for claim in claims if claim.number[0] == number]
        verdicts = "; ".join(
            (f"{claim.way}: " if claim.way else "") + f"**{claim.verdict}**" for claim in mine
        )
        lines.append(f"{number}. {mine[0].short}: {verdicts}.")
    by_dataset = sections.datasets_of(records)
    kept = [found for mine in by_dataset.values() if (found := findings.persistence(mine))]
    if kept:
        bi = [found["bi"] for found in kept]
        rest = [max((f[m] for m in METHODS if m != "bi"), key=lambda s: s.mean) for f in kept]
        lines.append(
            f"8. Similarity persists, bias varies: between different label draws bi changes least, "
            f"Overlap {_range(bi)} % against {_range(rest)} % for the best other."
        )
    ceilings = [findings.noise_ceiling(mine) for mine in by_dataset.values()]
    alphas = sorted({r.config.alpha for r in records if r.config.alpha is not None})
    ends = [[f[f"{a:g}"] for f in ceilings if f"{a:g}" in f] for a in (alphas[-1], alphas[0])]
    if all(ends):
        lines.append(
            f"9. bi(M2) is within {_range(ends[0], '+.1f')} points of the noise of the seed at "
            f"α = {alphas[-1]:g}, and {_range(ends[1], '+.1f')} from it at α = {alphas[0]:g}."
        )
    if people:
        lines.append(
            f"10. People agree: {sections.people_verdict(people)[0].lower()}"
            f"{sections.people_verdict(people)[1:]}"
        )
    return "\n".join(lines)


def read_summary(folder: Path) -> str:
    """Return the lines of the text that say what came out."""
    text = (folder / _TEXT).read_text(encoding="utf-8")
    return text.split(f"{_CAME_OUT}\n\n")[1].split("\n\n")[0]


def _range(samples: Sequence[Sample], style: str = ".1f") -> str:
    means = [100 * sample.mean for sample in samples]
    low, high = f"{min(means):{style}}", f"{max(means):{style}}"
    return low if low == high else f"{low} to {high}"
