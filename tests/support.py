"""What tests share: asking for optional things honestly."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

REQUIRE_ALL = os.environ.get("DECONFUSE_REQUIRE_ALL") == "1"


def require(*packages: str, programs: tuple[str, ...] = ()) -> None:
    """Skip the calling test where something optional is absent; fail where skips are forbidden."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    missing += [name for name in programs if shutil.which(name) is None]
    if not missing:
        return
    reason = f"needs {', '.join(missing)}"
    if REQUIRE_ALL:
        pytest.fail(f"{reason}, and DECONFUSE_REQUIRE_ALL=1 forbids skips")
    pytest.skip(reason, allow_module_level=True)
