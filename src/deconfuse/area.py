"""Remote sensing: error matrices whose map classes have known areas.

A map is checked at points drawn class by class from the map, so the counts of a class say how many
points were looked at, not how much land there is. With the mapped area of each class, this turns
them into estimates for the whole map (Olofsson et al. 2014). Map classes are predictions, so they
are columns here; reference classes are true classes, on rows. Many papers print the transpose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deconfuse._checks import Label, per_class, show
from deconfuse._text import printable
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.statistics.cells import as_confusion, check_level
from deconfuse.statistics.metrics import wilson

__all__ = ["MapAccuracy", "area_weighted", "map_accuracy"]

FloatArray = NDArray[np.float64]
Areas = Mapping[Any, float] | Sequence[float] | NDArray[Any]
# Points added to each map class, spread evenly, before the interval of an estimate is taken.
_IMAGINED = 1.0

Estimate = Literal["overall", "producers", "users", "areas"]


@dataclass(frozen=True, eq=False)
class MapAccuracy:
    """Accuracy and areas of a map, estimated from a sample stratified by map class.

    Attributes
    ----------
    labels : tuple
        Class names, in matrix order.
    proportions : ndarray of shape (n_classes, n_classes)
        Estimated share of the map in each cell; true classes on rows, map classes on columns.
    overall, overall_error : float
        Share of the map that is right, and its standard error.
    producers, producers_error : ndarray of shape (n_classes,)
        Of the land that is a class, the share that the map calls so; and standard errors.
    users, users_error : ndarray of shape (n_classes,)
        Of the land that the map calls a class, the share that is; and standard errors.
    areas, areas_error : ndarray of shape (n_classes,)
        Estimated true area of each class, in the unit of the mapped areas; and standard errors.
    total_area : float
    samples : ndarray of shape (n_classes,)
        Points that were checked in each map class.
    """

    labels: tuple[Label, ...]
    proportions: FloatArray
    overall: float
    overall_error: float
    producers: FloatArray
    producers_error: FloatArray
    users: FloatArray
    users_error: FloatArray
    areas: FloatArray
    areas_error: FloatArray
    total_area: float
    samples: FloatArray

    def __repr__(self) -> str:
        # A standard error of 0 is not certainty; see `interval`.
        reach = f" ± {1.96 * self.overall_error:.3f}" if self.overall_error > 0 else ""
        return (
            f"<MapAccuracy of {len(self.labels):,} classes: overall {self.overall:.3f}{reach},"
            f" from {self.samples.sum():,.0f} points>"
        )

    def __str__(self) -> str:
        # Four digits of the total: areas can be shares as well as hectares.
        decimals = min(max(3 - math.floor(math.log10(self.total_area)), 0), 20)

        def shown(estimate: Estimate) -> list[str]:
            low, high = self.interval(estimate)
            spec = f",.{decimals}f" if estimate == "areas" else ".2f"
            return [
                f"{value:{spec}} ({a:{spec}} to {b:{spec}})"
                if np.isfinite(a)
                else f"{value:{spec}}"
                for value, a, b in zip(
                    np.atleast_1d(getattr(self, estimate)), low.flat, high.flat, strict=True
                )
            ]

        from deconfuse.reporting.table import Table

        columns = (
            [printable(label) for label in self.labels],
            [f"{n:,.0f}" for n in self.samples],
            *(shown(estimate) for estimate in ("users", "producers", "areas")),
        )
        head = ("map class", "points", "user's accuracy", "producer's accuracy", "estimated area")
        table = Table(head, list(zip(*columns, strict=True)), "lllll")
        title = f"overall accuracy {shown('overall')[0]}, 95 % intervals"
        return f"{title}\n{table.to_text()}"

    def interval(
        self, estimate: Estimate, level: float = 0.95, *, scale: Literal["logit", "plain"] = "logit"
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of confidence intervals.

        Parameters
        ----------
        estimate : {"overall", "producers", "users", "areas"}
        level : float
            Between 0 and 1.
        scale : {"logit", "plain"}
            ``"plain"`` is estimate ± z × standard error, as papers print it; it can leave the
            range from 0 to 1, and is a point where all samples were right. ``"logit"`` does not.

        Returns
        -------
        low, high : ndarray

        Notes
        -----
        A map class in which no point of another class was found may still contain some, and a
        standard error of 0 does not say so: with a few dozen points per class, ``"plain"``
        intervals of producer's accuracy and of areas are much too narrow. So ``"logit"`` intervals
        are those of one more point in each map class, spread evenly over the classes, extended to
        the estimate. User's accuracy has Wilson's interval.
        """
        check_level(level)
        if estimate not in ("overall", "producers", "users", "areas"):
            raise InputError(
                f'`estimate` must be "overall", "producers", "users" or "areas", got {estimate!r}.'
            )
        if scale not in ("logit", "plain"):
            raise InputError(f'`scale` must be "logit" or "plain", got {scale!r}.')
        unit = self.total_area if estimate == "areas" else 1.0
        value = np.asarray(getattr(self, estimate)) / unit
        error = np.asarray(getattr(self, f"{estimate}_error")) / unit
        z = float(special.ndtri(0.5 + level / 2))
        if scale == "plain":
            return (value - z * error) * unit, (value + z * error) * unit
        if estimate == "users":
            low, high = wilson(value, np.where(self.samples > 0, self.samples, np.nan), z)
            return low, high
        shares = self.proportions.sum(axis=0)
        rates = np.divide(
            self.proportions, shares, out=np.zeros_like(shares * self.proportions), where=shares > 0
        )
        center, spread = _estimates(rates * self.samples, self.samples, shares, _IMAGINED)[estimate]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = z * spread / (center * (1 - center))
        low, high = (special.expit(special.logit(center) + side * step) for side in (-1, 1))
        return np.minimum(low, value) * unit, np.maximum(high, value) * unit


def area_weighted(cm: ConfusionMatrix | Any, areas: Areas) -> ConfusionMatrix:
    r"""Weigh the counts so that each map class counts as much as its area.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Counts of checked points: reference classes on rows, map classes on columns.
    areas : mapping of class to area, or sequence in matrix order
        Mapped area of each class, in any unit. A series of pandas is taken by the names in its
        index.

    Returns
    -------
    ConfusionMatrix
        With the same total as ``cm`` and columns in proportion to the areas; its variances are
        those of the weighted counts, so that intervals of normalizations know of the weights.

    Raises
    ------
    InputError
        If an area is missing, negative or not finite, or a class with area has no samples.

    Notes
    -----
    A point of map class :math:`j` weighs :math:`n W_j / n_{+j}`, with :math:`W_j` its share of the
    mapped area. This scales columns alone. So the bi-normalized matrix of the weighted counts is
    that of the plain ones, up to epsilon: it never depended on how many points a class was given.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[45, 10], [5, 40]], labels=["forest", "other"])
    >>> dc.area.area_weighted(cm, {"forest": 100, "other": 900}).counts
    array([[ 9., 18.],
           [ 1., 72.]])
    """
    cm = as_confusion(cm)
    counts, totals, shares, _ = _strata(cm, areas)
    weights = np.divide(shares * totals.sum(), totals, out=np.zeros_like(shares), where=totals > 0)
    variances = np.asarray(cm.variances, dtype=np.float64) * weights**2
    return ConfusionMatrix(counts * weights, cm.labels, variances)


def map_accuracy(cm: ConfusionMatrix | Any, areas: Areas) -> MapAccuracy:
    r"""Estimate the accuracy of a map and the true area of its classes.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Unweighted counts of points drawn at random within each map class: reference classes on
        rows, map classes on columns.
    areas : mapping of class to area, or sequence in matrix order
        Mapped area of each class, in any unit. A series of pandas is taken by the names in its
        index.

    Returns
    -------
    MapAccuracy

    Raises
    ------
    InputError
        If counts are weighted, areas do not fit, or a class with area has fewer than two samples.

    Notes
    -----
    The stratified estimators of Olofsson et al. (2014), equations 1 to 11, with map classes as
    strata: :math:`\hat p_{ij} = W_j n_{ij} / n_{+j}`.

    References
    ----------
    P. Olofsson, G. M. Foody, M. Herold, S. V. Stehman, C. E. Woodcock, M. A. Wulder (2014). Good
    practices for estimating area and assessing accuracy of land change. Remote Sensing of
    Environment 148, 42-57.

    Examples
    --------
    The worked example of that paper:

    >>> import deconfuse as dc
    >>> by_map_class = [[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]]
    >>> names = ["deforestation", "forest gain", "stable forest", "stable non-forest"]
    >>> cm = dc.ConfusionMatrix.from_counts(list(zip(*by_map_class)), labels=names)
    >>> estimate = dc.area.map_accuracy(cm, [200_000, 150_000, 3_200_000, 6_450_000])
    >>> estimate.users.round(2).tolist(), estimate.producers.round(2).tolist()
    ([0.88, 0.73, 0.93, 0.96], [0.75, 0.85, 0.93, 0.96])
    >>> round(estimate.areas[0])
    235086
    >>> estimate
    <MapAccuracy of 4 classes: overall 0.947 ± 0.018, from 640 points>
    """
    cm = as_confusion(cm)
    if cm.is_weighted:
        raise InputError(
            "`cm` must hold unweighted counts of samples, got weighted ones.",
            hint="the areas are the weights; give the counts of points as they were drawn.",
        )
    counts, totals, shares, total_area = _strata(cm, areas)
    thin = _classes(cm, (shares > 0) & (totals < 2))
    if thin:
        raise InputError(
            f"Each map class with area must have at least two samples, got one of {show(thin)}.",
            hint="without a second one there is no standard error; sample more, or merge classes.",
        )
    overall, producers, users, land = _estimates(counts, totals, shares, 0.0).values()
    return MapAccuracy(
        labels=cm.labels,
        proportions=np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0) * shares,
        overall=float(overall[0]),
        overall_error=float(overall[1]),
        producers=producers[0],
        producers_error=producers[1],
        users=users[0],
        users_error=users[1],
        areas=land[0] * total_area,
        areas_error=land[1] * total_area,
        total_area=total_area,
        samples=totals,
    )


def _estimates(
    counts: FloatArray, totals: FloatArray, shares: FloatArray, imagined: float
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the estimates and their standard errors, areas as shares of the map.

    ``imagined`` points are added to each map class, spread evenly over the classes.
    """
    size = len(counts)
    rates = np.divide(
        counts + imagined / size,
        totals + imagined,
        out=np.zeros_like(counts),
        where=np.broadcast_to(totals > 0, counts.shape),
    )
    proportions = rates * shares
    # Variance of each estimated share within its stratum: W^2 p (1 - p) / (n - 1).
    spread = shares**2 * rates * (1 - rates) / np.maximum(totals - 1, 1)
    hits, spread_of_hits = np.diag(proportions), np.diag(spread)
    land = proportions.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        producers = hits / land
        # Ratio estimator: hits in the class's own stratum, misses in all the others.
        misses = spread.sum(axis=1) - spread_of_hits
        producers_error = (
            np.sqrt((1 - producers) ** 2 * spread_of_hits + producers**2 * misses) / land
        )
        users = np.where(shares > 0, np.diag(rates), np.nan)
        users_error = np.sqrt(spread_of_hits) / shares
    return {
        "overall": (hits.sum(), np.sqrt(spread_of_hits.sum())),
        "producers": (producers, producers_error),
        "users": (users, users_error),
        "areas": (land, np.sqrt(spread.sum(axis=1))),
    }


def _strata(cm: ConfusionMatrix, areas: Areas) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return counts, samples of each map class, shares of the mapped area, and the total area."""
    if cm.is_sparse:
        raise InputError(
            f"Area weights must be for a map of at most 2,048 classes, got {cm.n_classes:,}."
        )
    values = per_class(cm.labels, areas, "areas")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(
            f"`areas` must be finite, not negative and not all zero, got {show(values.tolist())}."
        )
    counts = np.asarray(cm.counts, dtype=np.float64)
    totals = counts.sum(axis=0)
    bare = _classes(cm, (values > 0) & (totals == 0))
    if bare:
        raise InputError(
            f"Each map class with area must have samples, got none of {show(bare)}.",
            hint="check that predictions (map classes) are columns, or sample these classes too.",
        )
    lost = _classes(cm, (values == 0) & (totals > 0))
    if lost:
        raise InputError(f"A map class with samples must have an area, got 0 for {show(lost)}.")
    return counts, totals, values / values.sum(), float(values.sum())


def _classes(cm: ConfusionMatrix, chosen: NDArray[np.bool_]) -> list[Label]:
    return [cm.labels[k] for k in np.flatnonzero(chosen)]
