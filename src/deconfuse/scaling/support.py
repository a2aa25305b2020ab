"""Decide what the zeros of a matrix allow, before any iteration and at sparse cost.

A non-negative matrix can be scaled to margins exactly when some table with those margins is
positive just where the matrix is (*total support*). With *support* only, the margins are met in the
limit and some cells vanish. Otherwise the margins are impossible. For equal margins of a square
matrix this is bipartite matching and the Dulmage-Mendelsohn decomposition; for other margins a flow
takes the place of the matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from deconfuse.scaling.factors import FloatArray, Matrix

__all__ = ["Support", "find_support", "row_blocks"]

IndexArray = NDArray[np.intp]

# Targets that differ by less than this share of their sum differ by rounding alone, and an entry
# that carries no more of what it could carry is taken for one that carries nothing.
_ROUNDING_SHARE = 1e-13
_CAPACITY = 2**30


@dataclass(frozen=True, eq=False)
class Support:
    """What the zero pattern allows.

    Attributes
    ----------
    is_feasible : bool
        Whether any table of that pattern has the margins.
    vanishing : ndarray of shape (n_cells, 2)
        Positive cells that are zero in every such table; empty means total support.
    blocking_rows, blocking_columns : ndarray of int
        Why it is not feasible: rows that have entries in these columns alone.
    has_empty_lines : bool
        Whether these are instead the rows and columns without any entry.
    """

    is_feasible: bool
    vanishing: IndexArray
    blocking_rows: IndexArray
    blocking_columns: IndexArray
    has_empty_lines: bool = False

    @property
    def is_total(self) -> bool:
        return self.is_feasible and self.vanishing.size == 0


def find_support(matrix: Matrix, rows: FloatArray, columns: FloatArray) -> Support:
    """Decide whether the zeros of a matrix let it be scaled to its margins, and if not, why.

    Examples
    --------
    >>> upper = np.array([[5.0, 1.0], [0.0, 5.0]])
    >>> find_support(upper, np.ones(2), np.ones(2)).vanishing
    array([[0, 1]])
    """
    pattern = sparse.csr_array(matrix)
    if isinstance(matrix, np.ndarray) and pattern.nnz == matrix.size:
        return _feasible(np.empty((0, 2), dtype=np.intp))
    if not pattern.data.all():
        pattern = pattern.copy()
        pattern.eliminate_zeros()
    empty_rows = np.flatnonzero(np.diff(pattern.indptr) == 0)
    filled = np.zeros(pattern.shape[1], dtype=bool)
    filled[pattern.indices] = True
    if empty_rows.size or not filled.all():
        no_cells = np.empty((0, 2), dtype=np.intp)
        return Support(False, no_cells, empty_rows, np.flatnonzero(~filled), has_empty_lines=True)

    is_uniform = pattern.shape[0] == pattern.shape[1] and np.ptp(rows) == np.ptp(columns) == 0
    entry_rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    if is_uniform:
        carries, unmet = _match(pattern, entry_rows)
    else:
        carries, unmet = _flow(pattern, entry_rows, rows, columns)
    if unmet.size:
        blocked = _blocking_set(pattern, entry_rows, carries, unmet)
        asked, held = rows[blocked.blocking_rows].sum(), columns[blocked.blocking_columns].sum()
        if asked - held > _ROUNDING_SHARE * asked:
            return blocked
    return _feasible(_vanishing_cells(pattern, entry_rows, carries))


def row_blocks(matrix: Matrix) -> IndexArray | None:
    """Return the number of each row's block, where blocks share no column; None for a single one.

    Examples
    --------
    >>> row_blocks(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0]]))
    array([0, 1, 0])
    """
    pattern = sparse.csr_array(matrix)
    n_rows, n_columns = pattern.shape
    entry_rows = np.repeat(np.arange(n_rows), np.diff(pattern.indptr))
    size = n_rows + n_columns
    graph = sparse.csr_array(
        (pattern.data != 0, (entry_rows, n_rows + pattern.indices)), shape=(size, size)
    )
    count, block = csgraph.connected_components(graph, directed=False)
    return None if count == 1 else np.unique(block[:n_rows], return_inverse=True)[1]


def _feasible(vanishing: IndexArray) -> Support:
    nothing = np.empty(0, dtype=np.intp)
    return Support(True, vanishing, nothing, nothing)


def _match(
    pattern: sparse.csr_array, entry_rows: IndexArray
) -> tuple[NDArray[np.bool_], IndexArray]:
    """Return which entries a maximum matching uses, and the rows it leaves out."""
    # Older releases of scipy match with narrow indices only.
    narrow = np.int32 if pattern.nnz < 2**31 else np.int64
    links = sparse.csr_array(
        (pattern.data, pattern.indices.astype(narrow), pattern.indptr.astype(narrow)),
        shape=pattern.shape,
    )
    matched = csgraph.maximum_bipartite_matching(links, perm_type="column")
    return pattern.indices == matched[entry_rows], np.flatnonzero(matched < 0)


def _flow(
    pattern: sparse.csr_array, entry_rows: IndexArray, rows: FloatArray, columns: FloatArray
) -> tuple[NDArray[np.bool_], IndexArray]:
    """Return which entries carry mass in a largest flow from rows to columns, and unmet rows.

    Capacities of SciPy's flow are integers of 32 bits, targets may span any number of decades. So
    targets are served in rounds: each in units (powers of two, so that nothing is rounded) of a
    fraction of what is left, on the residual graph of the rounds before.
    """
    n_rows, n_columns = pattern.shape
    size = n_rows + n_columns
    most = np.minimum(rows[entry_rows], columns[pattern.indices])
    flow = np.zeros(pattern.nnz)
    supply, room = rows.copy(), columns.copy()
    while True:
        unit = 2.0 ** np.ceil(np.log2(max(supply.sum(), room.sum()) / _CAPACITY))
        flow, supply, room = _push(pattern, entry_rows, flow, supply, room, unit)
        left = min(supply.sum(), room.sum())
        # What is left of a flow that serves all targets is less than a unit for each of them.
        if left > 2 * size * unit:
            return flow > 0.0, np.flatnonzero(supply >= unit)
        if left == 0.0 or unit < _ROUNDING_SHARE * most.min():
            return flow > _ROUNDING_SHARE * most, np.empty(0, dtype=np.intp)


def _push(
    pattern: sparse.csr_array,
    entry_rows: IndexArray,
    flow: FloatArray,
    supply: FloatArray,
    room: FloatArray,
    unit: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the flow, and what rows and columns have left, after a round in one unit."""
    n_rows, n_columns = pattern.shape
    source, sink = n_rows + n_columns, n_rows + n_columns + 1
    senders, receivers = np.arange(n_rows), n_rows + np.arange(n_columns)
    entry_columns = n_rows + pattern.indices
    supplied, taken = np.floor(supply / unit), np.floor(room / unit)
    # No arc carries more than all that is left, and only what flows can flow back.
    every = supplied.sum()
    back = np.floor(np.minimum(flow / unit, every))
    returns = np.flatnonzero(back)
    capacities = np.concatenate([supplied, np.full(flow.size, every), back[returns], taken])
    tails = np.concatenate([np.full(n_rows, source), entry_rows, entry_columns[returns], receivers])
    heads = np.concatenate([senders, entry_columns, entry_rows[returns], np.full(n_columns, sink)])
    network = sparse.csr_array(
        (capacities.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1)
    )
    # Older SciPy takes indices of 32 bits only.
    network.indices, network.indptr = (
        part.astype(np.int32) for part in (network.indices, network.indptr)
    )
    pushed = csgraph.maximum_flow(network, source, sink).flow
    moved = unit * np.asarray(pushed[entry_rows, entry_columns], dtype=np.float64).ravel()
    sent = unit * np.asarray(pushed[[source], :n_rows].toarray(), dtype=np.float64).ravel()
    arrived = unit * np.asarray(pushed[n_rows:source, [sink]].toarray(), dtype=np.float64).ravel()
    return flow + moved, supply - sent, room - arrived


def _residual_graph(
    pattern: sparse.csr_array,
    entry_rows: IndexArray,
    carries: NDArray[np.bool_],
    starts: IndexArray,
) -> sparse.csr_array:
    """Return the graph of moves: any entry may gain mass, one that carries some may lose it.

    Nodes are rows, then columns. One more node has arcs to the rows in ``starts``.
    """
    n_rows, n_columns = pattern.shape
    size = n_rows + n_columns
    entry_columns = n_rows + pattern.indices
    tails = np.concatenate([entry_rows, entry_columns[carries], np.full(starts.size, size)])
    heads = np.concatenate([entry_columns, entry_rows[carries], starts])
    ones = np.ones(tails.size, dtype=np.int8)
    return sparse.csr_array((ones, (tails, heads)), shape=(size + 1, size + 1))


def _vanishing_cells(
    pattern: sparse.csr_array, entry_rows: IndexArray, carries: NDArray[np.bool_]
) -> IndexArray:
    """Return the entries that no table with these margins can fill.

    An entry can carry mass when it lies on a cycle of the residual graph, that is when its row and
    column are strongly connected.
    """
    graph = _residual_graph(pattern, entry_rows, carries, np.empty(0, dtype=np.intp))
    _, part = csgraph.connected_components(graph, directed=True, connection="strong")
    n_rows = pattern.shape[0]
    apart = (part[entry_rows] != part[n_rows + pattern.indices]) & ~carries
    return np.column_stack([entry_rows[apart], pattern.indices[apart]]).astype(np.intp)


def _blocking_set(
    pattern: sparse.csr_array,
    entry_rows: IndexArray,
    carries: NDArray[np.bool_],
    unmet: IndexArray,
) -> Support:
    """Return the rows reachable from those unmet: their columns are full (Hall's theorem)."""
    graph = _residual_graph(pattern, entry_rows, carries, unmet)
    n_rows, size = pattern.shape[0], graph.shape[0]
    reached = np.zeros(size, dtype=bool)
    reached[csgraph.breadth_first_order(graph, size - 1, return_predecessors=False)] = True
    blocking_rows = np.flatnonzero(reached[:n_rows])
    blocking_columns = np.flatnonzero(reached[n_rows : size - 1])
    return Support(False, np.empty((0, 2), dtype=np.intp), blocking_rows, blocking_columns)
