from .attribution import Attribution as Attribution, CellAttribution as CellAttribution
from .bias import ClassBias as ClassBias
from .choice import SimilarityChoice as SimilarityChoice, similarity_choice as similarity_choice
from .comparison import (
    CellDifference as CellDifference,
    Comparison as Comparison,
    compare as compare,
)
from .diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from .estimate import (
    BiEstimate as BiEstimate,
    EstimatedScore as EstimatedScore,
    estimate_bi as estimate_bi,
    separability_score as separability_score,
)
from .findings import Finding as Finding
from .metrics import Estimate as Estimate, PerClass as PerClass
from .outcomes import (
    OutcomeChange as OutcomeChange,
    OutcomeRate as OutcomeRate,
    OutcomeRates as OutcomeRates,
)
from .reliability import ClassReliability as ClassReliability, Reliability as Reliability
from .score_differences import (
    RecallDifferences as RecallDifferences,
    ScoreDifference as ScoreDifference,
)
from .similarity import LookAlike as LookAlike
from .tree import Hierarchy as Hierarchy, hierarchy as hierarchy
