"""`report`: writes a study to a file, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deconfuse._checks import Label
from deconfuse._files import write_text
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reporting import render
from deconfuse.reporting.samples import Samples
from deconfuse.reporting.study import Study

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
    cm: Study | ConfusionMatrix | Mapping[str, ConfusionMatrix] | Any,
    path: str | os.PathLike[str],
    *,
    embeddings: Any = None,
    samples: Samples | Mapping[str, Samples] | None = None,
    title: str | None = None,
    groups: Mapping[str, Sequence[Label]] | None = None,
    paired: tuple[Any, Any, Any] | None = None,
) -> Path:
    """Write a report on one confusion matrix, or on several.

    Parameters
    ----------
    cm : Study, ConfusionMatrix, array-like, or mapping of names to matrices
        One matrix, or several by name: models, epochs or slices. Of two, such as
        ``{"before": cm_a, "after": cm_b}``, the difference is shown with what is significant.
    path : path-like
        Where to write. The ending decides: ``.html`` is one self-contained interactive page,
        ``.md`` the findings and counts, ``.json`` the numbers behind the page, ``.tex`` a table.
    embeddings : array-like of shape (n_samples, n_features), optional
        The representation of each sample; adds the geometric matrices and a scatter. Needs
        ``samples``.
    samples : Samples or mapping of names to Samples, optional
        The predictions, so that each cell lists its samples, by id and with pictures if given. With
        several matrices they are named as these are; without names they belong to the first.
    title : str, optional
        What the report is about; the file's name by default.
    groups : mapping of names to sequences of classes, optional
        Classes that belong together; a class in no group stands alone.
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
        If ``path`` is not the name of a file or its ending is unknown, the folder does not exist,
        or ``samples``, ``embeddings``, ``groups`` or ``paired`` do not belong to the matrices.

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
    parts = {"embeddings": embeddings, "samples": samples, "groups": groups, "paired": paired}
    given = {name: part for name, part in parts.items() if part is not None}
    if isinstance(cm, Study) and given:
        raise InputError(
            f"A `Study` has its own parts, got {', '.join(f'`{name}`' for name in given)} too.",
            hint="give them to `Study`.",
        )
    study = cm if isinstance(cm, Study) else Study(cm, **given)
    write_text(target, writer(study, target.stem if title is None else title))
    return target
