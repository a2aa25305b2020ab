"""The interactive page as a reader sees it: light, dark, on a phone, with a hundred classes.

Needs Chromium and playwright; says so and leaves the pictures as they are where they are absent.
"""

from __future__ import annotations

import importlib.util
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from shared import run

import deconfuse as dc
from comparing import predictions
from deconfuse._files import write_bytes
from deconfuse.demo import make_demo

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
DESK, FIRST, PHONE = (1440, 860), (1180, 660), (390, 780)


def pages(folder: Path) -> dict[str, Path]:
    """Write the reports that are photographed."""
    demo = make_demo()
    samples = dc.Samples(demo.y_true, demo.y_pred, images=255 - demo.images * (255 / 16))
    numbers = dc.load_example("two-digit-numbers")
    said = predictions()
    return {
        "digits": dc.report(demo.cm, folder / "digits.html", title="digits", samples=samples),
        "numbers": dc.report(numbers, folder / "numbers.html", title="two-digit numbers"),
        "two": dc.report(
            {
                "whole image": dc.ConfusionMatrix.from_predictions(said["label"], said["even"]),
                "upper half": dc.ConfusionMatrix.from_predictions(said["label"], said["blind"]),
            },
            folder / "two.html",
            title="noisy digits",
        ),
    }


def photograph(
    browser: Any, page: Path, fragment: str, *, size: tuple[int, int], dark: bool
) -> bytes:
    """Return a picture of a page in one of its states, in few colours so that it is small."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.goto(page.as_uri() + fragment)
    tab.wait_for_selector("canvas.matrix")
    tab.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    context.close()
    stream = io.BytesIO()
    # All colours: a palette would put steps into the legends.
    picture.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def film(browser: Any, page: Path) -> bytes:
    """Return the counts becoming bi, as the page plays it, frame by frame of a stopped clock."""
    context = browser.new_context(viewport={"width": FIRST[0], "height": FIRST[1]})
    tab = context.new_page()
    tab.clock.install(time=0)
    tab.goto(page.as_uri())
    tab.wait_for_selector("canvas.matrix")
    tab.clock.pause_at(3_600_000)
    tab.click("[data-control=play]")
    tab.mouse.move(5, 5)
    frames, durations = [], []
    # The counts stand for 900 ms, then they change for as long.
    for step, duration in [(600, 1_500), *[(75, 75)] * 16, (600, 3_000)]:
        tab.clock.run_for(step)
        picture = tab.locator("section.stage").screenshot()
        frames.append(Image.open(io.BytesIO(picture)).convert("RGB"))
        durations.append(duration)
    context.close()
    palette = frames[-1].quantize(128, kmeans=1)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    stream = io.BytesIO()
    drawn[0].save(stream, "GIF", save_all=True, append_images=drawn[1:], duration=durations, loop=0)
    return stream.getvalue()


def main(folder: Path) -> None:
    """Photograph and film the page."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("explorer: needs chromium and playwright, the pictures stay as they are")
        return
    from playwright.sync_api import sync_playwright

    shots = {
        "explorer-first.png": ("digits", "", FIRST, False),
        "explorer-bi.png": ("digits", "#cell=9.3", DESK, False),
        "explorer-dark.png": ("digits", "#cell=9.3&order=similarity", DESK, True),
        "explorer-beside.png": ("digits", "#beside=counts&cell=3.9", DESK, False),
        "explorer-many.png": ("numbers", "", DESK, False),
        "explorer-many-dark.png": ("numbers", "#view=0_0_100&scale=log", DESK, True),
        "explorer-two.png": ("two", "#cell=7.3", DESK, False),
        "explorer-phone.png": ("digits", "#cell=9.3", PHONE, False),
    }
    (folder / "images").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        written = pages(Path(scratch))
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for name, (page, fragment, size, dark) in shots.items():
            data = photograph(browser, written[page], fragment, size=size, dark=dark)
            write_bytes(folder / "images" / name, data)
            print(f"{name}: {len(data) / 1000:.0f} kB")
        write_bytes(folder / "images" / "counts-to-bi.gif", film(browser, written["digits"]))
        browser.close()


if __name__ == "__main__":
    run(main)
