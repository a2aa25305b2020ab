"""Take a confusion matrix apart: which classes look alike, and how skewed labels and predictions are.

Every public name loads its module when it is first used, so ``import deconfuse`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deconfuse._version import __version__

if TYPE_CHECKING:
    from deconfuse.agreement import kl_divergence, l1_distance, overlap
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.errors import (
        ColumnChoiceWarning,
        DeconfuseError,
        DeconfuseWarning,
        GeometryWarning,
        InputError,
        MissingExtraError,
        NotScalableError,
        UndefinedCellsWarning,
    )
    from deconfuse.geometry.gcm import geometric_confusion, geometric_confusions
    from deconfuse.geometry.result import GeometricConfusion
    from deconfuse.normalization import Normalized, normalize
    from deconfuse.scaling import Scaling, ScalingStatus, scale

_HOMES = {
    "ColumnChoiceWarning": "deconfuse.errors",
    "ConfusionMatrix": "deconfuse.confusion",
    "DeconfuseError": "deconfuse.errors",
    "DeconfuseWarning": "deconfuse.errors",
    "GeometricConfusion": "deconfuse.geometry.result",
    "GeometryWarning": "deconfuse.errors",
    "InputError": "deconfuse.errors",
    "MissingExtraError": "deconfuse.errors",
    "Normalized": "deconfuse.normalization",
    "NotScalableError": "deconfuse.errors",
    "Scaling": "deconfuse.scaling",
    "ScalingStatus": "deconfuse.scaling",
    "UndefinedCellsWarning": "deconfuse.errors",
    "geometric_confusion": "deconfuse.geometry.gcm",
    "geometric_confusions": "deconfuse.geometry.gcm",
    "kl_divergence": "deconfuse.agreement",
    "l1_distance": "deconfuse.agreement",
    "normalize": "deconfuse.normalization",
    "overlap": "deconfuse.agreement",
    "scale": "deconfuse.scaling",
}

__all__ = [
    "ColumnChoiceWarning",
    "ConfusionMatrix",
    "DeconfuseError",
    "DeconfuseWarning",
    "GeometricConfusion",
    "GeometryWarning",
    "InputError",
    "MissingExtraError",
    "Normalized",
    "NotScalableError",
    "Scaling",
    "ScalingStatus",
    "UndefinedCellsWarning",
    "__version__",
    "geometric_confusion",
    "geometric_confusions",
    "kl_divergence",
    "l1_distance",
    "normalize",
    "overlap",
    "scale",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'deconfuse' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
