"""The explorer's modules as one script, so that a page opens from disk and from a notebook.

A browser imports no modules from ``file://``. Each module therefore becomes a function that
returns its exports, in the order of their imports: no build step, no tool, equal text each time.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["asset", "bundle"]

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def asset(name: str) -> str:
    """Return the text of a file of the assets folder."""
    return (files("deconfuse.reporting") / "assets" / name).read_text(encoding="utf-8")


@cache
def bundle(entry: Literal["page", "widget"]) -> str:
    """Return the explorer as one script: for the page, or as a module for anywidget."""
    written: list[str] = []
    _add(entry, written, set())
    text = "".join(written)
    if entry == "widget":
        text += "export default { render: $widget.render };\n"
    return text


def _add(name: str, written: list[str], done: set[str]) -> None:
    if name in done:
        return
    done.add(name)
    if name == "css":
        written.append(f"const $css = {{ css: {json.dumps(asset('explorer.css'))} }};\n")
        return
    source = asset(f"explorer/{name}.js")
    for _, dependency in _IMPORT.findall(source):
        _add(dependency, written, done)
    exports = _EXPORT.findall(source)
    body = _IMPORT.sub(_take, source)
    body = _EXPORT.sub("", body)
    returned = f"return {{ {', '.join(exports)} }};\n"
    written.append(f"const {_variable(name)} = (() => {{\n{body}{returned}}})();\n")


def _take(match: re.Match[str]) -> str:
    names = ", ".join(name.strip() for name in match[1].split(",") if name.strip())
    return f"const {{ {names} }} = {_variable(match[2])};\n"


def _variable(name: str) -> str:
    return "$" + name.replace("-", "_")
