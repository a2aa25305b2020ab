"""Random inputs against oracles: `python -m tests.fuzz` for as long as you like."""
