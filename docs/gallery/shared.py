"""What the gallery's scripts share: where pictures and tables go, and how they are written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from deconfuse._files import atomic_write, write_text

DOCS = Path(__file__).parents[1]


def run(main: Callable[[Path], None]) -> None:
    """Run a script: ``python SCRIPT [FOLDER]``, where FOLDER is ``docs`` by default."""
    mpl.use("agg")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure to ``images``, with the same bytes for the same picture."""
    import matplotlib.pyplot as plt

    (folder / "images").mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / "images" / name) as stream:
        figure.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def write_table(
    folder: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Write a Markdown table to ``generated``, which the guide's pages include."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(_show(cell) for cell in row)} |" for row in rows]
    text = "\n".join(lines) + "\n"
    (folder / "generated").mkdir(parents=True, exist_ok=True)
    write_text(folder / "generated" / name, text)
    print(f"{name}\n{text}")


def _show(cell: object) -> str:
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.3f}"
    return str(cell).replace("|", "\\|")
