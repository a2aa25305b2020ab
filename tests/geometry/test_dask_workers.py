"""Geometric Confusion Matrices from a Dask frame on real worker processes."""

from __future__ import annotations

from typing import Any

import pytest

import deconfuse as dc
from tests.engines import make_constructor
from tests.geometry.test_frame_geometry import DATA, EMBEDDING, assert_same, columns_of


@pytest.mark.dask
def test_worker_processes_of_dask_equal_memory(
    dask_client: Any, request: pytest.FixtureRequest
) -> None:
    few = DATA._replace(embeddings=DATA.embeddings[:, :3])
    frame = make_constructor("dask", request)(columns_of(few))
    names = EMBEDDING[:3]
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=names, n_components=2)
    assert_same(found, dc.geometric_confusions(*few, n_components=2))
