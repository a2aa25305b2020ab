"""Adapters, one third-party library per module; import the one that you use."""
