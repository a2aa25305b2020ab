"""The explorer in a notebook: the page's own script as an anywidget."""

from __future__ import annotations

import anywidget
import traitlets

from deconfuse.reporting.bundle import bundle
from deconfuse.reporting.payload import ReportPayload, to_json

__all__ = ["Explorer"]


class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
    """A live matrix in a notebook cell.

    Attributes
    ----------
    payload : str
        What is shown, as JSON; a new one replaces the picture.
    selection : dict
        The cell, row or column that the reader selected: ``kind``, ``i`` (true class) and ``j``
        (predicted class) as positions; empty when nothing is selected.
    """

    _esm = bundle("widget")
    payload = traitlets.Unicode().tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)

    @classmethod
    def of(cls, payload: ReportPayload) -> Explorer:
        """Return the widget that shows a payload."""
        return cls(payload=to_json(payload))
