"""Convert values of results to types that JSON supports."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

__all__ = ["plain_value"]


def plain_value(value: Any) -> Any:
    """Return a value as JSON knows it; what is undefined or infinite as None.

    Examples
    --------
    >>> plain_value({"p": (0.5, float("nan")), "day": datetime.date(2024, 1, 2)})
    {'p': [0.5, None], 'day': '2024-01-02'}
    """
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
