"""One `constructor` for all engines; clusters start once and only where a test asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.engines import (
    ENGINES,
    Constructor,
    dask_cluster,
    make_constructor,
    spark_session,
)


@pytest.fixture(params=ENGINES)
def constructor(request: pytest.FixtureRequest) -> Constructor:
    """Make a frame of one engine from a dictionary of columns."""
    return make_constructor(request.param, request)


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session
