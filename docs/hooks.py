"""What MkDocs does beside its plugins: formulas, notebooks, and files from the repository's root.

Formulas become plain HTML, so that the site needs no script from elsewhere. Notebooks become pages,
with the outputs that they were saved with.
"""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

# Pages that show a file from the repository's root.
INCLUDED = {
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
    "reproduction.md": "results/REPRODUCTION.md",
    "benchmarks.md": "benchmarks/RESULTS.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every notebook, and the pictures that included files show."""
    docs = Path(config["docs_dir"])
    for notebook in sorted((docs / "notebooks").glob("*.ipynb")):
        page, pictures = notebook_page(notebook)
        name = f"notebooks/{notebook.stem}"
        files.append(File.generated(config, f"{name}.md", content=page))
        for number, picture in enumerate(pictures):
            files.append(File.generated(config, f"{name}-{number}.png", content=picture))
    for page, source in INCLUDED.items():
        text = _source_text(source)
        for link, target in _pictures(source, text):
            files.append(File.generated(config, link, abs_src_path=str(target)))
        if files.get_file_from_path(page) is None:
            files.append(File.generated(config, page, content=_rewritten(source, text)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to files of the repository at their pages; put in the help of every command."""
    folder = posixpath.dirname(page.file.src_uri)

    def on_site(target: str) -> str:
        return "](" + posixpath.relpath(target, folder or ".")

    for target, source in INCLUDED.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(source)}", on_site(target), markdown)
    figures = on_site("included/reproduction/figures")
    markdown = re.sub(r"\]\((?:\.\./)+results/figures", figures, markdown)
    markdown = re.sub(r"(\]\([./\w-]*notebooks/[\w-]+)\.ipynb", r"\1.md", markdown)
    mark = "<!-- commands -->"
    return markdown.replace(mark, command_help()) if mark in markdown else markdown


def command_help() -> str:
    """Return the help of the program and of all its commands."""
    import os

    from typer.main import get_command
    from typer.testing import CliRunner

    from deconfuse.cli.app import app

    os.environ.update(COLUMNS="80", TERMINAL_WIDTH="80", NO_COLOR="1")
    parts = []

    def describe(words: tuple[str, ...], command: Any) -> None:
        text = CliRunner().invoke(app, [*words, "--help"], prog_name="deconfuse").stdout
        title = " ".join(("deconfuse", *words))
        lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        parts.append(f"## {title}\n\n```text\n{lines}\n```")
        if hasattr(command, "list_commands"):
            context = command.make_context(title, [], resilient_parsing=True)
            for name in command.list_commands(context):
                describe((*words, name), command.get_command(context, name))

    describe((), get_command(app))
    return "\n\n".join(parts)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of docstrings and pages by HTML."""
    content = re.sub(
        r"<p>\.\. math::\s*(.*?)</p>",
        lambda match: _formula(match[1], "formula block"),
        content,
        flags=re.S,
    )
    content = re.sub(
        r":math:<code>(.*?)</code>", lambda m: _formula(m[1], "formula"), content, flags=re.S
    )
    # Citations and reference lists of numpydoc, written for another format.
    return re.sub(r"(?:\.\. )?\[(\d+)\]_?(?=[\s,.;)])", r"[\1]", content)


def _source_text(source: str) -> str:
    path = ROOT / source
    if path.exists():
        return path.read_text(encoding="utf-8")
    command = {"benchmarks/RESULTS.md": "python -m benchmarks"}.get(source, "deconfuse reproduce")
    return f"# Not measured here\n\nThis page is written by `{command}`, which was not run yet.\n"


def _pictures(source: str, text: str) -> list[tuple[str, Path]]:
    folder = (ROOT / source).parent
    links = re.findall(r"!\[[^\]]*\]\(([^)#?]+)\)", text)
    return [(_link(source, link), folder / link) for link in dict.fromkeys(links)]


def _link(source: str, link: str) -> str:
    return f"included/{Path(source).stem.lower()}/{link.replace('../', '')}"


def _rewritten(source: str, text: str) -> str:
    """Point pictures to their copies, and links that leave the site to plain text."""
    text = re.sub(
        r"(!\[[^\]]*\]\()([^)#?]+)(\))", lambda m: m[1] + _link(source, m[2]) + m[3], text
    )
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)", r"\1 (`\2`)", text)


def notebook_page(path: Path) -> tuple[str, list[bytes]]:
    """Return a notebook as Markdown, and the pictures of its outputs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    parts, pictures = [], []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f"![Output]({path.stem}-{len(pictures)}.png)")
                pictures.append(base64.b64decode("".join(data["image/png"])))
            elif "text/html" in data:
                parts.append(f'<div class="output">{_inert("".join(data["text/html"]))}</div>')
            else:
                text = "".join(data.get("text/plain", output.get("text", "")))
                fenced = f"```text\n{text.rstrip()}\n```"
                parts.append(f'<div class="output" markdown>\n{fenced}\n</div>')
    where = f"*This page is a notebook: `docs/notebooks/{path.name}`. It is run on every change.*"
    return "\n\n".join([parts[0], where, *parts[1:]]) + "\n", pictures


def _inert(markup: str) -> str:
    """Return a notebook's HTML on one line, so that Markdown leaves it alone."""
    return re.sub(r"\s*\n\s*", " ", markup)


_SYMBOLS = {
    "approx": "≈",
    "cdot": "·",
    "cup": "∪",
    "epsilon": "ε",
    "varepsilon": "ε",
    "eta": "η",
    "ge": "≥",
    "in": "∈",
    "infty": "∞",
    "lambda": "λ",
    "lVert": "‖",
    "rVert": "‖",
    "ldots": "…",
    "le": "≤",
    "mid": "|",
    "mu": "μ",
    "omega": "ω",
    "odot": "∘",
    "pm": "±",
    "propto": "∝",
    "qquad": "&emsp;",
    "quad": "&ensp;",
    "sigma": "σ",
    "sum": "Σ",
    "times": "×",
    "to": "→",
    "top": "⊤",
    "left": "",
    "right": "",
    "prod": "Π",
    "delta": "δ",
    "alpha": "α",
    "beta": "β",
}
_WORDS = {"log", "min", "max", "exp", "arg"}
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


def _formula(tex: str, kind: str) -> str:
    tag = "div" if "block" in kind else "span"
    return f'<{tag} class="{kind}">{tex_to_html(html.unescape(tex))}</{tag}>'


def tex_to_html(tex: str) -> str:
    """Return a formula as HTML; for what our docstrings use of TeX, not for all of it."""
    text = html.escape(" ".join(tex.split()), quote=False).replace("&amp;", "")
    text = re.sub(r"\\\\", " ", text)
    text = re.sub(r"\\[,;!]", "\u2009", text).replace("\\ ", " ").replace("~", " ")
    text = re.sub(r"\\(?:begin|end)\{[a-z*]+\}", "", text)
    while True:
        before = text
        text = re.sub(
            rf"\\frac{_GROUP}{_GROUP}",
            r'<span class="over"><span>\1</span><span>\2</span></span>',
            text,
        )
        text = re.sub(rf"\\sqrt{_GROUP}", r"√(\1)", text)
        text = re.sub(rf"\\underbrace{_GROUP}_{_GROUP}", r"[\1]_{\2}", text)
        text = re.sub(rf"\\(?:mathrm|operatorname|text|mathbb){_GROUP}", r"\1", text)
        text = re.sub(rf"\\hat{_GROUP}", "\\1\u0302", text)
        text = re.sub(r"\\hat ([A-Za-z])", "\\1\u0302", text)
        text = re.sub(rf"_{_GROUP}", r"<sub>\1</sub>", text)
        text = re.sub(rf"\^{_GROUP}", r"<sup>\1</sup>", text)
        if text == before:
            break
    text = re.sub(r"\\([A-Za-z]+)", _symbol, text)
    text = re.sub(r"_([A-Za-z0-9+])", r"<sub>\1</sub>", text)
    text = re.sub(r"\^([A-Za-z0-9+*⊤])", r"<sup>\1</sup>", text)
    return text.replace("{", "").replace("}", "").replace("\\", "")


def _symbol(match: re.Match[str]) -> str:
    name = match[1]
    if name in _WORDS:
        return name
    return _SYMBOLS.get(name, name)
