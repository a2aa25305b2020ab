"""The grid: widths, edges, sparsely numbered cells, and what it does about odd dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.geometry.grid import Grid, Spread, fit_grid


@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), m=st.integers(1, 5))
def test_every_point_lies_in_its_cell(seed: int, n: int, m: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, m))
    grid = fit_grid(Spread.of(points))
    low = points.min(axis=0)
    np.testing.assert_array_equal(grid.origin, low)
    expected = 3.5 * points.std(axis=0) * n ** (-1 / (2 + m))
    np.testing.assert_allclose(grid.widths, expected, rtol=1e-13)
    for k, position in enumerate(grid.positions(points)):
        assert position.min() == 0
        assert position.max() == grid.bins[k] - 1
        inside = (points[:, k] - low[k]) / grid.widths[k] - position
        assert (inside > -1e-9).all()
        assert (inside < 1 + 1e-9).all()


def test_a_point_on_the_upper_edge_belongs_to_the_last_cell() -> None:
    grid = Grid(np.array([0.0]), np.array([0.5]), np.array([4]), np.array([0]))
    points = np.array([[0.0], [0.5], [1.999], [2.0]])
    assert next(grid.positions(points)).tolist() == [0, 1, 3, 3]


@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), factor=st.sampled_from([1e-9, 0.5, 3.5]))
def test_two_points_share_a_number_where_they_share_a_cell(
    seed: int, n: int, factor: float
) -> None:
    # In twelve dimensions tiny cells need more codes than 64 bits hold.
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 12))[np.r_[0, 1, rng.integers(0, n, 2 * n)]]
    grid = fit_grid(Spread.of(points), factor)
    cells, n_cells = grid.cells(points)
    positions = [tuple(row) for row in np.stack(list(grid.positions(points)), axis=1).tolist()]
    assert sorted(set(cells.tolist())) == list(range(n_cells))
    assert n_cells == len(set(positions))
    assert len(set(zip(cells.tolist(), positions, strict=True))) == n_cells


def test_constant_dimensions_are_left_out_and_said() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 2))
    padded = np.column_stack([np.full(50, 0.1), points[:, 0], np.full(50, 7.0), points[:, 1]])
    classes = rng.integers(0, 2, (2, 50))
    plain = dc.geometric_confusion(points, *classes, projection=None)
    note = "2 of 4 dimensions are constant and do not divide the grid."
    with pytest.warns(dc.errors.GeometryWarning, match=note):
        other = dc.geometric_confusion(padded, *classes, projection=None)
    assert other.notes == (note,)
    assert other.grid.dimensions.tolist() == [1, 3]
    np.testing.assert_array_equal(plain.matrix, other.matrix)


def test_equal_points_share_one_cell_and_that_is_said() -> None:
    with pytest.warns(dc.errors.GeometryWarning, match="all points are equal"):
        g = dc.geometric_confusion(np.ones((4, 3)), [0, 0, 1, 1], [0, 1, 1, 1], weighting="all")
    assert (g.n_cells, g.cell_volume) == (1, 1.0)
    np.testing.assert_allclose(g.matrix, [[0.25, 0.5], [0.25, 0.5]])


def test_fewer_components_warn_at_the_caller() -> None:
    with pytest.warns(dc.errors.GeometryWarning, match="2 components are used where 10") as caught:
        g = dc.geometric_confusion(np.eye(4)[:, :2], [0, 0, 1, 1], [0, 1, 1, 1])
    assert caught[0].filename == __file__
    assert g.notes == (str(caught[0].message),)


def test_a_volume_that_is_no_number() -> None:
    points = np.random.default_rng(0).normal(size=(20, 10)) * 1e-40
    with pytest.raises(dc.InputError, match=r"volume of a cell must be .* 1e-39\d in 10 dim"):
        fit_grid(Spread.of(points))


def test_too_many_bins() -> None:
    points = np.random.default_rng(0).normal(size=(20, 1))
    with pytest.raises(dc.InputError, match=r"fewer than 2\*\*53 cells along each dimension"):
        fit_grid(Spread.of(points), 1e-30)
