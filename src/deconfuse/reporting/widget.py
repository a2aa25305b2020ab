"""The explorer in a notebook: the page's own script as an anywidget."""

from __future__ import annotations

from functools import cache
from typing import Any

from deconfuse.errors import MissingExtraError
from deconfuse.reporting.bundle import bundle
from deconfuse.reporting.payload import ReportPayload, to_json

__all__ = ["explorer"]


def explorer(payload: ReportPayload, start: str = "") -> Any:
    """Return a live matrix for a notebook cell.

    Parameters
    ----------
    payload : ReportPayload
        What to show.
    start : str
        The view to open with, as the page's address holds it: ``"method=row&order=size"``.

    Returns
    -------
    anywidget.AnyWidget
        With the traits ``payload`` (JSON; a new one replaces the picture) and ``selection``: the
        cell, row or column that the reader selected, as ``kind``, ``i`` (true class) and ``j``
        (predicted class) by position; empty when nothing is selected.

    Raises
    ------
    MissingExtraError
        If anywidget is not installed.
    """
    return _widget_class()(payload=to_json(payload), start=start)


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingExtraError.of(
            "anywidget", extra="notebook", feature="The live explorer"
        ) from error

    class Explorer(anywidget.AnyWidget):
        _esm = bundle("widget")
        payload = traitlets.Unicode().tag(sync=True)
        start = traitlets.Unicode().tag(sync=True)
        selection = traitlets.Dict().tag(sync=True)

    return Explorer
