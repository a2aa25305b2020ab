"""The one function behind ``dc.report``: matrices in, a complete file out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deconfuse._files import write_text
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reporting import render
from deconfuse.reporting.samples import Samples
from deconfuse.reporting.summary import summarize

__all__ = ["FORMATS", "report"]

_WRITERS = {
    ".html": render.to_html,
    ".htm": render.to_html,
    ".md": render.to_markdown,
    ".json": render.to_json,
    ".tex": render.to_latex,
}
#: What the name of a report may end in.
FORMATS = tuple(_WRITERS)


def report(
    cm: ConfusionMatrix | Mapping[str, ConfusionMatrix],
    path: str | os.PathLike[str],
    *,
    embeddings: Any = None,
    samples: Samples | None = None,
    title: str | None = None,
    paired: tuple[Any, Any, Any] | None = None,
) -> Path:
    """Write a report on a confusion matrix, or on two of them to compare.

    Parameters
    ----------
    cm : ConfusionMatrix or mapping of names to ConfusionMatrix
        One matrix; or two with their names, such as ``{"before": cm_a, "after": cm_b}``, whose
        difference is then shown with what is significant.
    path : path-like
        Where to write. The ending decides: ``.html`` is one self-contained interactive page,
        ``.md`` the findings and counts, ``.json`` the numbers behind the page, ``.tex`` a table.
    embeddings : array-like of shape (n_samples, n_features), optional
        The representation of each sample; adds the geometric matrices and a scatter. Needs
        ``samples``.
    samples : Samples, optional
        The predictions, so that each cell lists its samples, by id and with pictures if given. With
        two matrices these are samples of the first.
    title : str, optional
        What the report is about; the file's name by default.
    paired : tuple (y_true, first_predictions, second_predictions), optional
        The predictions behind two matrices, when two models predicted the same samples: what is
        significant is then told by the pairs. See `deconfuse.compare`.

    Returns
    -------
    Path
        The file, complete; on any error there is none, or the one from before.

    Raises
    ------
    InputError
        If ``path`` is none or its ending unknown, the folder does not exist, there are more than
        two matrices, or ``samples``, ``embeddings`` or ``paired`` do not belong to them.

    Notes
    -----
    Equal input gives equal bytes. The page needs no network and carries counts, class names and
    diagonals; the browser computes the cells. Beyond 1,000 classes it shows the most confused ones
    and pools the others, with a search over all.

    Examples
    --------
    >>> import tempfile, deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 25]], labels=["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = dc.report(cm, f"{folder}/pets.html")
    ...     page.name, page.read_text(encoding="utf-8").startswith("<!doctype html>")
    ('pets.html', True)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(
            f"`path` must be the name of a file to write, got {path!r:.80}.",
            hint='such as "report.html"; in a notebook, the matrix itself shows the same page.',
        )
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise InputError(
            f"`path` must end in {', '.join(_WRITERS)}, got {target.name!r}.",
            hint='the page is the ".html" one.',
        )
    if not target.parent.is_dir():
        raise InputError(
            f"`path` must lie in a folder that exists, but {str(target.parent)!r} is none.",
            hint="make the folder first.",
        )
    payload = summarize(
        cm,
        title=target.stem if title is None else title,
        embeddings=embeddings,
        samples=samples,
        paired=paired,
    )
    write_text(target, writer(payload))
    return target
