"""Fuzz one part, or all in turn: ``python -m tests.fuzz [scaling|readers|saves] --minutes 60``.

Each module of this folder has ``trial(rng)``, which makes one random input, returns what kind it
was, and raises where the answer is wrong. A failure prints the seed that makes it again; so does
an input that takes longer than any small one should.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

PARTS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if not path.stem.startswith(("_", "test_"))
)
# Seconds of computing that one input may take.
LONGEST = 60.0
# Files in memory: a disk that is asked to sync takes most of the time otherwise.
MEMORY_DISK = Path("/dev/shm")


@contextmanager
def bounded() -> Iterator[None]:
    """Raise if the body takes more computing than any small input should."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {LONGEST} seconds of computing")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each part")
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    options = parser.parse_args()
    if MEMORY_DISK.is_dir():
        tempfile.tempdir = str(MEMORY_DISK)
    failed = 0
    for name in options.parts or PARTS:
        trial = importlib.import_module(f"tests.fuzz.{name}").trial
        kinds: Counter[str] = Counter()
        failures, seed = 0, options.seed
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            try:
                with bounded():
                    kinds[trial(np.random.default_rng(seed))] += 1
            except Exception:  # noqa: BLE001
                failures += 1
                print(f"{name}, seed {seed}:\n{traceback.format_exc()}")
            seed += 1
        print(f"{name}: {seed - options.seed:,} inputs, {failures} failures")
        for kind, count in kinds.most_common():
            print(f"  {count:8,}  {kind}")
        failed += failures
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
