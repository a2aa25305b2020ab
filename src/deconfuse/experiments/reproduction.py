"""From records to the published results: the text with its verdicts, the tables, the figures."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deconfuse._files import write_bytes, write_text
from deconfuse.errors import InputError
from deconfuse.experiments import causes, extensions
from deconfuse.experiments.analysis import METHODS, Scores, score_records, to_csv
from deconfuse.experiments.arrays import read_arrays
from deconfuse.experiments.claims import LEAST_SEEDS, Claim, paper_claims
from deconfuse.experiments.config import DATASETS, PAPER_MODEL, RunConfig
from deconfuse.experiments.figures import draw_clusters, draw_curves, draw_effects, draw_instance
from deconfuse.experiments.records import Record, read_records
from deconfuse.experiments.text import MARKS, claim_table, dataset_title, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["describe_runs", "write_results"]

#: The run that is shown as an instance, the paper's choice.
_SHOWN = RunConfig("fashion-mnist", 0, 0.3)

# Records do not hold embeddings.
_NEEDS_ARRAYS = "clusters.png"

_CAPTIONS = {
    "effects.png": "The paper's Figure 1: what each cause does to a confusion matrix.",
    "clusters.png": "The paper's Figure 2, of real embeddings: clusters of three classes of "
    "Fashion-MNIST on two components, and their histograms beneath.",
    "overlap.png": "The paper's Figure 3: Overlap of each normalization with three targets. "
    "Points are means over seeds, bars 95 % bootstrap intervals.",
    "overlap-other-targets.png": "The appendix's curves: the targets GCM all and GCM col.",
    "kl.png": "The appendix's curves: KL divergence from the balanced matrix; lower is closer.",
    "off-diagonal.png": "Not in the paper: Overlap of the off-diagonal parts, with M1 and with "
    "bi(M1).",
    "other-methods.png": "Not in the paper: Luce's similarity-choice model, and the classifier "
    "rebalanced, beside bi and row.",
    "instance.png": "The paper's Figure 4: Fashion-MNIST, seed 0, α = 0.3.",
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
        Where ``REPRODUCTION.md``, ``tables/`` and ``figures/`` go.
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
    if not any(not record.config.is_balanced for record in records):
        raise InputError(
            f"There must be records of runs in {records_folder}, but there are none.",
            hint="run `deconfuse reproduce` first.",
        )
    scores = score_records(records, extra=extensions.other_estimates)
    figures = _draw_all(scores, records)
    if cache is not None and (arrays := read_arrays(Path(cache), _SHOWN)) is not None:
        figures[_NEEDS_ARRAYS] = draw_clusters(arrays)
    claims = paper_claims(scores, dataset_title)
    rest = [
        causes.section(records),
        causes.heterogeneity_section(records),
        causes.geometry_section(records),
        *extensions.sections(records, scores),
    ]
    for name in _CAPTIONS.keys() - figures.keys() - {_NEEDS_ARRAYS}:
        # What these records do not show must not be there as if they did.
        (folder / "figures" / name).unlink(missing_ok=True)
    shown = [name for name in _CAPTIONS if name in figures or (folder / "figures" / name).exists()]
    text = _write_text(records, claims, shown, rest)
    written = []
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        stream = io.BytesIO()
        # Without the library's version in the file, equal records give equal bytes.
        figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
        write_bytes(folder / "figures" / name, stream.getvalue())
        written.append(folder / "figures" / name)
    write_text(folder / "tables" / "scores.csv", to_csv(scores))
    write_text(folder / "REPRODUCTION.md", text)
    return [*written, folder / "tables" / "scores.csv", folder / "REPRODUCTION.md"]


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
    by_config = {record.config: record for record in records}
    if _SHOWN in by_config and _SHOWN.balanced in by_config:
        figures["instance.png"] = draw_instance(by_config[_SHOWN.balanced], by_config[_SHOWN])
    return figures


def _write_text(
    records: Sequence[Record], claims: Sequence[Claim], figures: Sequence[str], rest: Sequence[str]
) -> str:
    summary = markdown_table(
        ["claim of the paper", "verdict", "rests on"],
        [[c.title, f"**{c.verdict}**", _basis(c)] for c in claims],
    )
    marks = ", ".join(f"{mark} {support.value}" for support, mark in MARKS.items())
    parts = [
        "# What became of the paper's claims",
        "This text, the tables and the figures are computed from the records in `records/` by "
        "`deconfuse reproduce --only-report`; nothing in them is typed by hand.",
        "## What was run",
        describe_runs(records),
        "## Verdicts",
        summary,
        "A claim *holds* when the 95 % bootstrap interval over seeds is on its side of zero in "
        f"every cell of its table with {LEAST_SEEDS} seeds or more, *in part* when it is in half "
        f"of these or more, and otherwise *does not hold*. Marks: {marks}. With few seeds (n below "
        "about ten) an interval is itself uncertain.",
    ]
    for number, claim in enumerate(claims, 1):
        parts += [f"### {number}. {claim.title}", claim_table(claim)]
    parts += ["## Figures"]
    for name in figures:
        parts += [f"![{_CAPTIONS[name]}](figures/{name})", f"*{_CAPTIONS[name]}*"]
    return "\n\n".join([*parts, *(part for part in rest if part)]) + "\n"


def _basis(claim: Claim) -> str:
    """Say how many seeds of which datasets a verdict rests on, and which were not run."""
    parts = []
    for dataset, (fewest, most) in claim.basis.items():
        seeds = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        few = ", too few" if most < LEAST_SEEDS else ""
        parts.append(f"{dataset} n = {seeds}{few}")
    titles = [dataset_title(name) for name in DATASETS]
    missing = [title for title in titles if title not in claim.basis]
    # A study of other datasets owes the paper's nothing.
    if missing and len(missing) < len(titles):
        parts.append(f"not run: {', '.join(missing)}")
    return "; ".join(parts) or "–"


def describe_runs(records: Sequence[Record]) -> str:
    """Return a table of what there is: seeds, epochs, accuracies, time."""
    rows = []
    for dataset in dict.fromkeys(record.config.dataset for record in records):
        mine = [r for r in records if r.config.dataset == dataset]
        model_1 = [r for r in mine if r.config.is_balanced]
        model_2 = [r for r in mine if r.config.sampling == "relative"]
        other = [r for r in mine if r.config.sampling == "budget"]
        levels: dict[float, int] = {}
        for record in model_2:
            levels[record.config.alpha or 0.0] = levels.get(record.config.alpha or 0.0, 0) + 1
        rows.append(
            [
                dataset_title(dataset),
                str(len(model_1)),
                ", ".join(f"{n} at {alpha:g}" for alpha, n in sorted(levels.items(), reverse=True)),
                str(len(other)),
                _mean_epochs(model_1) + " / " + _mean_epochs(model_2),
                _mean_accuracy(model_1) + " / " + _mean_accuracy(model_2),
                f"{sum(record.seconds for record in mine) / 3600:.2f}",
            ]
        )
    head = [
        "dataset",
        "balanced models",
        "runs by α",
        "runs of the other sampling",
        "mean epochs (M1 / M2)",
        "balanced test accuracy (M1 / M2)",
        "training, hours",
    ]
    versions = sorted({_made_with(record) for record in records})
    return markdown_table(head, rows) + f"\n\nMade with {'; '.join(versions)}."


def _made_with(record: Record) -> str:
    # What a classifier of a user's own is made with, only its user knows.
    library = "torch" if record.config.model == PAPER_MODEL else "numpy"
    versions = record.versions
    device = versions.get("device", versions.get("machine", "?"))
    return f"{library} {versions.get(library, '?')} on {device}"


def _mean_epochs(records: Iterable[Record]) -> str:
    values = [record.epochs for record in records if record.history]
    return f"{np.mean(values):.1f}" if values else "–"


def _mean_accuracy(records: Iterable[Record]) -> str:
    values = [record.balanced_accuracy for record in records]
    return f"{100 * np.mean(values):.1f} %" if values else "–"
