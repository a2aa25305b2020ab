"""What tests share: asking for optional things honestly, and looking at refusals."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from deconfuse import InputError

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


def refused(message: str, hint: str | None, act: Callable[[], Any]) -> None:
    """Check that a call raises an `InputError` with this message and this hint, or without one."""
    with pytest.raises(InputError) as caught:
        act()
    assert re.search(message, caught.value.message), caught.value.message
    if hint is None:
        assert caught.value.hint is None
    else:
        assert caught.value.hint is not None
        assert re.search(hint, caught.value.hint), caught.value.hint
