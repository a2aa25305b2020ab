"""Random matrices and margins for `scale`, against exact support, 60 digits and twins."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import fsum

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import deconfuse as dc

Array = NDArray[np.float64]
Cells = set[tuple[int, int]]
# How far a cell may be off, as a share of the smaller of its two targets.
CLOSE = 1e-5


def trial(rng: np.random.Generator) -> str:
    """Scale one random matrix, check everything known about the answer, and return its status."""
    matrix, rows, columns, kind = make_problem(rng)
    expected, vanishing = exact_status(matrix, rows, columns)
    s = dc.scale(matrix, rows, columns, throw=False)
    assert s.status.name == expected, (s, expected)
    assert {tuple(cell) for cell in s.vanishing.tolist()} == vanishing
    for twin, scaled in twins(matrix, rows, columns, rng):
        assert twin.status is s.status, (s, twin)
        if expected != "INFEASIBLE":
            assert_close(scaled, dense(s), rows, columns)
    if expected == "INFEASIBLE":
        return expected
    check_margins(dense(s), rows, columns)
    if kind == "moderate" and max(matrix.shape) <= 5:
        for cell in vanishing:
            matrix[cell] = 0.0
        assert_close(dense(s), sixty_digits(matrix, rows, columns), rows, columns)
        return f"{expected}, to 60 digits"
    return f"{expected}, {kind}"


def make_problem(rng: np.random.Generator) -> tuple[Array, Array, Array, str]:
    """Return a matrix with zeros, and margins of equal total that are exact in binary."""
    shape = tuple(np.repeat(rng.integers(1, 8, 2), rng.choice([1, 2]))[:2])
    kind = str(rng.choice(["moderate", "wide entries", "wide margins"]))
    decades = {"moderate": 2.0, "wide entries": 60.0, "wide margins": 3.0}[kind]
    matrix = 10.0 ** rng.uniform(-decades, decades, shape)
    if rng.random() < 0.6:
        matrix[rng.random(shape) < rng.choice([0.1, 0.4, 0.7])] = 0.0
    if rng.random() < 0.2:
        matrix = np.triu(matrix)
    # Whole numbers below 2**50 add up exactly, and so do their multiples by powers of two.
    bits = 40 if kind == "wide margins" else 6
    table = np.floor(2.0 ** rng.uniform(0, bits, shape))
    if rng.random() < 0.7:
        table = np.where(matrix > 0, table, 0.0)
    if shape[0] == shape[1] and rng.random() < 0.4:
        # Margins of a few cells alone let others only vanish.
        table *= np.eye(shape[0]) + (rng.random(shape) < rng.choice([0.0, 0.1]))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if not (rows.all() and columns.all() and matrix.any()):
        return make_problem(rng)
    unit = 2.0 ** rng.integers(-60, 60)
    return matrix, rows * unit, columns * unit, kind


def exact_status(matrix: Array, rows: Array, columns: Array) -> tuple[str, Cells]:
    """Decide by a flow in exact fractions which cells some table with these margins fills."""
    n_rows, n_columns = matrix.shape
    supply, room = [Fraction(u) for u in rows], [Fraction(v) for v in columns]
    flow = {(i, j): Fraction(0) for i, j in np.argwhere(matrix > 0).tolist()}

    def path(start: int) -> list[int] | None:
        """Return a path of moves from a row to a column with room, or None; columns are >= n."""
        before = {start: -1}
        queue = [start]
        for node in queue:
            if node >= n_rows and room[node - n_rows] > 0:
                steps = [node]
                while before[steps[-1]] >= 0:
                    steps.append(before[steps[-1]])
                return steps[::-1]
            for other in neighbours(node):
                if other not in before:
                    before[other] = node
                    queue.append(other)
        return None

    def neighbours(node: int) -> list[int]:
        if node < n_rows:
            return [n_rows + j for j in range(n_columns) if (node, j) in flow]
        return [i for i in range(n_rows) if flow.get((i, node - n_rows), 0) > 0]

    for i in range(n_rows):
        while supply[i] > 0:
            steps = path(i)
            if steps is None:
                return "INFEASIBLE", set()
            cells = [
                ((a, b - n_rows), 1) if a < n_rows else ((b, a - n_rows), -1)
                for a, b in itertools.pairwise(steps)
            ]
            amount = min(supply[i], room[steps[-1] - n_rows])
            amount = min([amount, *(flow[cell] for cell, sign in cells if sign < 0)])
            for cell, sign in cells:
                flow[cell] += sign * amount
            supply[i] -= amount
            room[steps[-1] - n_rows] -= amount

    def reaches(start: int, end: int) -> bool:
        seen, queue = {start}, [start]
        for node in queue:
            new = [other for other in neighbours(node) if other not in seen]
            seen.update(new)
            queue.extend(new)
        return end in seen

    empty = [cell for cell, amount in flow.items() if amount == 0]
    vanishing = {(i, j) for i, j in empty if not reaches(n_rows + j, i)}
    return "LIMIT_ONLY" if vanishing else "CONVERGED", vanishing


def sixty_digits(matrix: Array, rows: Array, columns: Array) -> Array:
    """Scale by Newton on both sides at once, with 60 digits."""
    with mpmath.workdps(60):
        entries = mpmath.matrix(matrix.tolist())
        unit = mpmath.mpf(float(rows.sum()))
        u, v = (
            [mpmath.mpf(float(x)) / unit for x in rows],
            [mpmath.mpf(float(x)) / unit for x in columns],
        )
        n_rows, n_columns = matrix.shape
        left, right = [mpmath.mpf(1)] * n_rows, [mpmath.mpf(1)] * n_columns
        for step in range(2000):
            left = [
                u[i] / sum(entries[i, j] * right[j] for j in range(n_columns))
                for i in range(n_rows)
            ]
            right = [
                v[j] / sum(entries[i, j] * left[i] for i in range(n_rows)) for j in range(n_columns)
            ]
            cells = [
                [left[i] * entries[i, j] * right[j] for j in range(n_columns)]
                for i in range(n_rows)
            ]
            gap = [u[i] - sum(cells[i]) for i in range(n_rows)]
            if max(abs(g) for g in gap) < mpmath.mpf(10) ** -40:
                break
            if step % 5 < 4:
                continue
            # The Hessian of `deconfuse.scaling.newton`, with one row and column more so that the
            # constant is fixed, also one per block.
            hessian = mpmath.matrix(n_rows, n_rows)
            for i in range(n_rows):
                for k in range(n_rows):
                    shared = sum(cells[i][j] * cells[k][j] / v[j] for j in range(n_columns))
                    hessian[i, k] = (sum(cells[i]) if i == k else 0) - shared
                hessian[i, i] += mpmath.mpf(10) ** -30
            change = mpmath.lu_solve(hessian, mpmath.matrix(gap))
            longest = max(abs(x) for x in change)
            shrink = min(mpmath.mpf(1), 1 / longest) if longest else mpmath.mpf(1)
            left = [left[i] * mpmath.exp(shrink * change[i]) for i in range(n_rows)]
            right = [
                v[j] / sum(entries[i, j] * left[i] for i in range(n_rows)) for j in range(n_columns)
            ]
        else:
            raise AssertionError("the oracle did not converge")
        return np.array([[float(cell * unit) for cell in row] for row in cells])


def twins(
    matrix: Array, rows: Array, columns: Array, rng: np.random.Generator
) -> list[tuple[dc.Scaling, Array]]:
    """Return the scalings of the same problem in other words, each with its cells put back."""
    down, across = rng.permutation(matrix.shape[0]), rng.permutation(matrix.shape[1])
    powers = [2.0 ** rng.integers(-20, 20, (n, 1)) for n in matrix.shape]
    permuted = dc.scale(matrix[np.ix_(down, across)], rows[down], columns[across], throw=False)
    back = np.empty_like(matrix)
    back[np.ix_(down, across)] = dense(permuted)
    transposed = dc.scale(matrix.T, columns, rows, throw=False)
    rescaled = dc.scale(powers[0] * matrix * powers[1].T, rows, columns, throw=False)
    scarce = dc.scale(sparse.csr_array(matrix), rows, columns, throw=False)
    return [
        (permuted, back), (transposed, dense(transposed).T),
        (rescaled, dense(rescaled)), (scarce, dense(scarce)),
    ]  # fmt: skip


def dense(s: dc.Scaling) -> Array:
    return s.matrix.toarray() if sparse.issparse(s.matrix) else np.asarray(s.matrix)


def check_margins(cells: Array, rows: Array, columns: Array) -> None:
    """Add up exactly, and ask for what the tolerance promises: each target to its own scale."""
    gaps = [abs(fsum(line) - u) / u for line, u in zip(cells, rows, strict=True)]
    gaps += [abs(fsum(line) - v) / v for line, v in zip(cells.T, columns, strict=True)]
    assert max(gaps) <= 1.1e-10 * max(cells.shape), max(gaps)


def assert_close(a: Array, b: Array, rows: Array, columns: Array) -> None:
    """Ask for equal cells, but for the residual: a small cell may have to take all of it.

    Such a cell is the difference of two large targets that are met to twelve digits each.
    """
    residual = sum(
        np.abs(cells.sum(axis=1) - rows).sum() + np.abs(cells.sum(axis=0) - columns).sum()
        for cells in (a, b)
    )
    off = (np.abs(a - b) - residual) / np.minimum(rows[:, None], columns)
    assert off.max() <= CLOSE, off.max()
