"""Show the default that a function has, where numpydoc would read the first choice as one.

In ``method : {"row", "col"}`` the braces say "one of", and by convention the first is the default.
Our signatures say what the default is, so the braces go before the docstring is read.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_CHOICES = re.compile(r"^(\s*\w[\w, ]* : )\{([^}]+)\}", re.MULTILINE)


class Choices(griffe.Extension):
    """Take braces off the types of parameters."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of everything that has one."""
        if obj.docstring is not None:
            obj.docstring.value = _CHOICES.sub(r"\1\2", obj.docstring.value)
