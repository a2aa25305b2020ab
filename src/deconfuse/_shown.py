"""How results show themselves in a terminal and in a notebook: the methods that they share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

    from deconfuse.reporting.document import Document

__all__ = ["ShownDocument", "ShownMatrix"]


class ShownMatrix:
    """A matrix over classes: a table of its cells, or the live explorer in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        from deconfuse.reporting.display import matrix_text

        return matrix_text(self)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from deconfuse.reporting.display import matrix_html

        return matrix_html(self)  # type: ignore[arg-type]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from deconfuse.reporting.display import mimebundle

        return mimebundle(self, self._repr_html_())


class ShownDocument(ABC):
    """A result in sentences and tables: as text, in colour, as HTML and as JSON."""

    __slots__ = ()

    @property
    @abstractmethod
    def document(self) -> Document:
        """The sentences and tables that are shown."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings, for JSON."""

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text, which any JSON reader takes (no NaN, no infinity).

        Parameters
        ----------
        indent : int, optional
            Spaces per level; by default all on one line.

        Returns
        -------
        str

        Examples
        --------
        >>> import json, deconfuse as dc
        >>> d = dc.diagnose([[80, 20], [9, 91]])
        >>> json.loads(d.to_json())["look_alikes"][0]["count"]
        20.0
        >>> c = dc.compare([[80, 20], [9, 91]], [[50, 50], [9, 91]])
        >>> json.loads(c.to_json())["is_paired"]
        False
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        return self.document.to_text()

    def __rich__(self) -> Group:
        return self.document.to_rich()

    def _repr_html_(self) -> str:
        return self.document.to_html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from deconfuse.reporting.display import mimebundle

        return mimebundle(self, self._repr_html_())
