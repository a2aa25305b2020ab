"""Settings that every test shares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines import ENGINES, Constructor, dask_cluster, make_constructor, spark_session
from tests.support import REQUIRE_ALL

# No test asserts a time, so no example has a deadline; machines that run tests are busy.
settings.register_profile(
    "deconfuse",
    deadline=None,
    # In CI the same examples each time, so that a change is judged by itself; elsewhere new ones.
    derandomize="DECONFUSE_SAME_EXAMPLES" in os.environ,
    max_examples=int(os.environ.get("DECONFUSE_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("deconfuse")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped anything where everything was asked for."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRE_ALL and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(params=ENGINES)
def constructor(request: pytest.FixtureRequest) -> Constructor:
    """Make a frame of one engine from a dictionary of columns."""
    return make_constructor(request.param, request)


# For one module: as long as there is a client, all frames of Dask are computed by its workers.
@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session
