"""Best-of timing: on a shared machine the fastest run is the one least disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def best_time(
    action: Callable[[], T], *, at_least: float = 0.2, most: int = 200
) -> tuple[float, T]:
    """Return the shortest time of a call, repeated until ``at_least`` seconds have passed."""
    action()  # the first call pays for imports and caches
    best = float("inf")
    spent = 0.0
    for _ in range(most):
        start = time.perf_counter()
        result = action()
        taken = time.perf_counter() - start
        best = min(best, taken)
        spent += taken
        if spent > at_least:
            break
    return best, result
