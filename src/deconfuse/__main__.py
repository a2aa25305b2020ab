"""Run the command line with ``python -m deconfuse``, where the script is not on the path."""

from __future__ import annotations

from deconfuse.cli import main

if __name__ == "__main__":
    main()
