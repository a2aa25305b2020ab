"""Take a confusion matrix apart: which classes look alike, which are only over-predicted.

Every public name loads its module when it is first used, so ``import deconfuse`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deconfuse._version import __version__

if TYPE_CHECKING:
    from deconfuse.agreement import kl_divergence, l1_distance, overlap
    from deconfuse.area import MapAccuracy, area_weighted, map_accuracy
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
    from deconfuse.examples import load_example
    from deconfuse.geometry.compare import GeometryAgreement, geometry_agreement
    from deconfuse.geometry.frame_geometry import geometric_confusions_from_frame
    from deconfuse.geometry.gcm import geometric_confusion, geometric_confusions
    from deconfuse.geometry.grid_sensitivity import GeometrySensitivity, geometry_sensitivity
    from deconfuse.geometry.result import GeometricConfusion
    from deconfuse.normalization import Normalized, normalize
    from deconfuse.rebalance import Rebalancer, class_weights
    from deconfuse.reporting.geometry_plots import (
        plot_clusters,
        plot_geometry_agreement,
        plot_geometry_sensitivity,
    )
    from deconfuse.reporting.plots import ConfusionMatrixDisplay
    from deconfuse.reporting.report import report
    from deconfuse.reporting.samples import Samples
    from deconfuse.reporting.study import Study
    from deconfuse.scaling import Scaling, ScalingStatus, scale
    from deconfuse.statistics.choice import SimilarityChoice, similarity_choice
    from deconfuse.statistics.comparison import Comparison, compare
    from deconfuse.statistics.diagnosis import Diagnosis, diagnose
    from deconfuse.statistics.estimate import BiEstimate, estimate_bi
    from deconfuse.statistics.findings import Finding
    from deconfuse.statistics.hierarchy import Hierarchy, hierarchy
    from deconfuse.statistics.separability import separability_score

_HOMES = {
    "BiEstimate": "deconfuse.statistics.estimate",
    "ColumnChoiceWarning": "deconfuse.errors",
    "Comparison": "deconfuse.statistics.comparison",
    "ConfusionMatrix": "deconfuse.confusion",
    "ConfusionMatrixDisplay": "deconfuse.reporting.plots",
    "DeconfuseError": "deconfuse.errors",
    "DeconfuseWarning": "deconfuse.errors",
    "Diagnosis": "deconfuse.statistics.diagnosis",
    "Finding": "deconfuse.statistics.findings",
    "GeometricConfusion": "deconfuse.geometry.result",
    "GeometryAgreement": "deconfuse.geometry.compare",
    "GeometrySensitivity": "deconfuse.geometry.grid_sensitivity",
    "GeometryWarning": "deconfuse.errors",
    "Hierarchy": "deconfuse.statistics.hierarchy",
    "InputError": "deconfuse.errors",
    "MapAccuracy": "deconfuse.area",
    "MissingExtraError": "deconfuse.errors",
    "Normalized": "deconfuse.normalization",
    "NotScalableError": "deconfuse.errors",
    "Rebalancer": "deconfuse.rebalance",
    "Samples": "deconfuse.reporting.samples",
    "Scaling": "deconfuse.scaling",
    "ScalingStatus": "deconfuse.scaling",
    "Study": "deconfuse.reporting.study",
    "SimilarityChoice": "deconfuse.statistics.choice",
    "UndefinedCellsWarning": "deconfuse.errors",
    "area_weighted": "deconfuse.area",
    "class_weights": "deconfuse.rebalance",
    "compare": "deconfuse.statistics.comparison",
    "diagnose": "deconfuse.statistics.diagnosis",
    "estimate_bi": "deconfuse.statistics.estimate",
    "geometric_confusion": "deconfuse.geometry.gcm",
    "geometric_confusions": "deconfuse.geometry.gcm",
    "geometric_confusions_from_frame": "deconfuse.geometry.frame_geometry",
    "geometry_agreement": "deconfuse.geometry.compare",
    "geometry_sensitivity": "deconfuse.geometry.grid_sensitivity",
    "hierarchy": "deconfuse.statistics.hierarchy",
    "kl_divergence": "deconfuse.agreement",
    "l1_distance": "deconfuse.agreement",
    "load_example": "deconfuse.examples",
    "map_accuracy": "deconfuse.area",
    "normalize": "deconfuse.normalization",
    "overlap": "deconfuse.agreement",
    "plot_clusters": "deconfuse.reporting.geometry_plots",
    "plot_geometry_agreement": "deconfuse.reporting.geometry_plots",
    "plot_geometry_sensitivity": "deconfuse.reporting.geometry_plots",
    "report": "deconfuse.reporting.report",
    "scale": "deconfuse.scaling",
    "separability_score": "deconfuse.statistics.separability",
    "similarity_choice": "deconfuse.statistics.choice",
}

__all__ = [
    "BiEstimate",
    "ColumnChoiceWarning",
    "Comparison",
    "ConfusionMatrix",
    "ConfusionMatrixDisplay",
    "DeconfuseError",
    "DeconfuseWarning",
    "Diagnosis",
    "Finding",
    "GeometricConfusion",
    "GeometryAgreement",
    "GeometrySensitivity",
    "GeometryWarning",
    "Hierarchy",
    "InputError",
    "MapAccuracy",
    "MissingExtraError",
    "Normalized",
    "NotScalableError",
    "Rebalancer",
    "Samples",
    "Scaling",
    "ScalingStatus",
    "SimilarityChoice",
    "Study",
    "UndefinedCellsWarning",
    "__version__",
    "area_weighted",
    "class_weights",
    "compare",
    "diagnose",
    "estimate_bi",
    "geometric_confusion",
    "geometric_confusions",
    "geometric_confusions_from_frame",
    "geometry_agreement",
    "geometry_sensitivity",
    "hierarchy",
    "kl_divergence",
    "l1_distance",
    "load_example",
    "map_accuracy",
    "normalize",
    "overlap",
    "plot_clusters",
    "plot_geometry_agreement",
    "plot_geometry_sensitivity",
    "report",
    "scale",
    "separability_score",
    "similarity_choice",
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
