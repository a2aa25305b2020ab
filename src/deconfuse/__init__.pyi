from . import (
    area as area,
    errors as errors,
    geometry as geometry,
    rebalance as rebalance,
    statistics as statistics,
)
from ._version import __version__ as __version__
from .agreement import (
    kl_divergence as kl_divergence,
    l1_distance as l1_distance,
    overlap as overlap,
)
from .confusion import ConfusionMatrix as ConfusionMatrix
from .errors import (
    DeconfuseError as DeconfuseError,
    DeconfuseWarning as DeconfuseWarning,
    InputError as InputError,
    MissingExtraError as MissingExtraError,
    NotScalableError as NotScalableError,
)
from .examples import load_example as load_example
from .geometry.gcm import (
    geometric_confusion as geometric_confusion,
    geometric_confusions as geometric_confusions,
)
from .geometry.result import GeometricConfusion as GeometricConfusion
from .normalization import Normalized as Normalized, normalize as normalize
from .rebalance import Rebalancer as Rebalancer
from .reporting.plots import ConfusionMatrixDisplay as ConfusionMatrixDisplay
from .reporting.page import report as report
from .reporting.samples import Samples as Samples
from .reporting.study import Study as Study
from .scaling import Scaling as Scaling, ScalingStatus as ScalingStatus, scale as scale
from .statistics.choice import (
    SimilarityChoice as SimilarityChoice,
    similarity_choice as similarity_choice,
)
from .statistics.comparison import Comparison as Comparison, compare as compare
from .statistics.diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from .statistics.estimate import BiEstimate as BiEstimate, estimate_bi as estimate_bi
