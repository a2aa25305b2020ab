"""The command line. ``main`` is what the program ``deconfuse`` runs."""

from __future__ import annotations

from deconfuse.cli.app import app, main

__all__ = ["app", "main"]
