"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No test asserts a time, so no example has a deadline; machines that run tests are busy.
settings.register_profile(
    "deconfuse",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("deconfuse")
