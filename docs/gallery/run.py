"""Run every script of the gallery: ``python docs/gallery/run.py [FOLDER]``, default ``docs``.

Pictures go to ``FOLDER/images``, tables to ``FOLDER/generated``.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent


def main() -> None:
    """Run all scripts in one process, so that libraries load once."""
    mpl.use("agg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent
    for script in sorted(HERE.glob("*.py")):
        if script.stem in ("run", "shared"):
            continue
        start = time.perf_counter()
        module = importlib.import_module(script.stem)
        module.main(folder)
        print(f"{script.name}: {time.perf_counter() - start:.1f} s\n", flush=True)


if __name__ == "__main__":
    main()
