"""Matrix scaling: factors for rows and columns that make a matrix meet given margins."""

from deconfuse.scaling.solution import Scaling, ScalingStatus
from deconfuse.scaling.solve import Solver, scale

__all__ = ["Scaling", "ScalingStatus", "Solver", "scale"]
