"""What must hold on every page, over classifiers of every size and kind, in a real browser."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB

import deconfuse as dc
from deconfuse.demo import make_demo
from tests.reporting.browser import Reader
from tests.reporting.studies import matrix

pytestmark = pytest.mark.browser

Given = tuple[Any, dict[str, Any]]

KINDS = ["terrier", "finch", "owl", "snake", "beetle", "crab", "fox", "wolf", "lizard", "heron"]
LOOKS = ["small", "giant", "red", "black", "white", "golden", "spotted", "striped", "royal"]
ILLNESSES = [
    f"Type 2 diabetes mellitus with {kind} {end}"
    for kind in ("other specified complications", "chronic kidney disease", "diabetic foot ulcer")
    for end in ("in partial remission", "in full remission", "without complication")
]
SCRIPTS = ["猫", "собака", "σκύλος", "كلب", "שלום", "หมา", "👩‍🚀 astronaut", "ñandú"]
MODULES = """
argparse ast asyncio collections datetime decimal difflib doctest email enum fractions ftplib
gettext gzip heapq html http imaplib inspect io ipaddress json locale logging mailbox math
mimetypes multiprocessing operator optparse os pathlib pdb pickle platform plistlib poplib pprint
pydoc queue random re selectors shelve shlex shutil smtplib socket socketserver ssl statistics
string subprocess tarfile tempfile textwrap threading tokenize traceback types unittest
"""


def named(n_classes: int, n_samples: int) -> Given:
    """Return a matrix whose classes are called as animals are."""
    names = [
        f"{LOOKS[k // len(KINDS) % len(LOOKS)]} {KINDS[k % len(KINDS)]}"
        + (f" {k // 90}" if k >= 90 else "")
        for k in range(n_classes)
    ]
    return matrix(n_classes, n_samples, names=names), {}


def demo() -> Given:
    """Return the page of the demo, with its pictures."""
    found = make_demo()
    samples = dc.Samples(found.y_true, found.y_pred, images=255 - found.images * (255 / 16))
    return found.cm, {"samples": samples}


def docstrings() -> Given:
    """Return which module of Python's library a paragraph of documentation is from."""
    texts: list[str] = []
    labels: list[str] = []
    for name in MODULES.split():
        module = importlib.import_module(name)
        documented = [inspect.getdoc(value) or "" for value in vars(module).values()]
        parts = {part for text in documented for part in text.split("\n\n") if len(part) > 30}
        texts += sorted(parts)
        labels += [name] * len(parts)
    true, train = np.array(labels), np.random.default_rng(0).random(len(labels)) < 0.5
    words = TfidfVectorizer()
    known = words.fit_transform([text for text, kept in zip(texts, train, strict=True) if kept])
    model = MultinomialNB(alpha=0.02).fit(known, true[train])
    held = [text for text, kept in zip(texts, train, strict=True) if not kept]
    scores = model.predict_proba(words.transform(held))
    pred = model.classes_[scores.argmax(axis=1)]
    cm = dc.ConfusionMatrix.from_predictions(true[~train], pred)
    samples = dc.Samples(true[~train], pred, texts=held, scores=scores.max(axis=1))
    return cm, {"samples": samples}


def fifty_thousand() -> Given:
    """Return classes of very different sizes, most with one sample."""
    n, rng = 50_000, np.random.default_rng(0)
    sizes = np.maximum(1, (20_000 / (1 + np.arange(n)) ** 0.9).astype(int))
    true = np.repeat(np.arange(n), sizes)
    near = np.minimum(true // 16 * 16 + rng.integers(0, 16, true.size), n - 1)
    pred = np.where(rng.random(true.size) < 0.3, near, true)
    counts = sparse.coo_array((np.ones(true.size, dtype=np.int64), (true, pred)), shape=(n, n))
    labels = [f"class {k:05d}" for k in range(n)]
    return dc.ConfusionMatrix.from_counts(counts.tocsr(), labels=labels), {}


FIXTURES: dict[str, Callable[[], Given]] = {
    "demo": demo,
    "docstrings": docstrings,
    "thirty": lambda: named(30, 6_000),
    "two models of a thousand": lambda: (
        {"old": named(1_000, 60_000)[0], "new": named(1_000, 50_000)[0]},
        {},
    ),
    "fifty thousand": fifty_thousand,
    "two classes": lambda: (
        dc.ConfusionMatrix.from_counts([[9_500, 300], [60, 140]], labels=["healthy", "ill"]),
        {},
    ),
    "illnesses": lambda: (matrix(len(ILLNESSES), 4_000, names=ILLNESSES), {}),
    "scripts": lambda: (matrix(len(SCRIPTS), 4_000, names=SCRIPTS), {}),
    "perfect": lambda: (dc.ConfusionMatrix.from_counts(np.diag([50, 40, 30, 10])), {}),
}


@pytest.fixture(scope="module", params=FIXTURES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given, parts = FIXTURES[request.param]()
    return dc.report(given, tmp_path_factory.mktemp("pages") / "page.html", **parts)


# What the canvas writes of the names of the rows, while it draws.
LABELS = """
const view = root.host.explorer.views[0];
const { layout, frame } = view.scene;
const written = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
  if (Math.abs(x - (layout.x - layout.bar - 7)) < 0.5) written.push(text);
  return fillText.call(this, text, x, ...rest);
};
view.draw();
CanvasRenderingContext2D.prototype.fillText = fillText;
return written;
"""

# Cells off the diagonal that the page opens on: how many are hatched, of how many.
HATCHED = """
const { frame, view, study } = root.host.explorer;
const { pane } = root.host.explorer.views[0].scene;
const seen = frame.order.slice(Math.floor(view.x), Math.ceil(view.x + view.span));
let few = 0;
for (const i of seen) for (const j of seen) {
  const count = pane.counts[i * frame.n + j];
  few += Number(i !== j && count > 0 && count < study.limits.few_samples);
}
return [few, seen.length * (seen.length - 1)];
"""


def test_the_page_holds_on_every_fixture(browser: Any, page: Path) -> None:
    reader = Reader(browser, page)
    headline = reader.text(".headline")
    if "-predicted" in headline:
        assert re.search(
            "If (all|the [\\d,]+) classes (compared here )?were equally frequent", headline
        )
    if "No errors" in headline:
        assert headline == "No errors in 130 samples."
    # Every name that is drawn can be told from the others, by its letters and not by a number.
    names = reader.ask(LABELS)
    assert len(names) > 0
    assert len(set(names)) == len(names)
    assert not [name for name in names if "·" in name]
    # The pair of the headline is outlined in the picture beside it, whatever there is room for.
    marks, view, places = reader.ask(
        "const { scene } = root.host.explorer.views[0];"
        "return [scene.marks, scene.view, [...scene.frame.place]];"
    )
    for mark in marks:
        for start, unit in ((view["y"], mark["i"]), (view["x"], mark["j"])):
            assert start <= places[unit] < start + view["span"]
    assert reader.layout()["side"] >= 0.55 * 900
    reader.page.set_viewport_size({"width": 1280, "height": 720})
    reader.settle()
    assert reader.layout()["side"] >= 0.55 * 720
    assert reader.page.locator(".toolbar").bounding_box()["height"] < 60, "one row of controls"
    few, cells = reader.ask(HATCHED)
    if reader.ask("return root.host.explorer.study.n;") > 100:
        assert few <= 0.25 * cells, "it opens on evidence"
    if reader.ask("return root.host.explorer.study.bucket !== null;"):
        reader.page.fill("input[type=search]", "class 04321")
        reader.page.keyboard.press("Enter")
        near = reader.ask("return root.host.explorer.study.labels;")
        assert near[0] == "class 04321"
        assert {name[6:] for name in near} <= {f"{k:05d}" for k in range(4320, 4336)}
        assert "near=" in reader.hash()
    # A bias is followed to the view that shows it: the bar of the class over the even one.
    biases = reader.page.locator("h2.over_predicted + .heads + ul button.finding")
    if biases.count() > 0:
        biases.first.click()
        assert "method=row" in reader.hash()
        shown, even, ratio, out = reader.ask(
            "const { study, frame, store } = root.host.explorer;"
            "const { pane } = root.host.explorer.views[0].scene;"
            "const { i, j, kind } = store.state.selection;"
            "if (kind !== 'col') throw new Error(kind);"
            "const { bias } = study.models.at(-1).classes;"
            "const out = bias.filter((value) => Number.isNaN(value)).length;"
            "return [pane.cols[frame.unitOf[j]], pane.even.cols, bias[j], out];"
        )
        # Classes without a bias, such as those never predicted, still have a row: one at most each.
        assert shown / even == pytest.approx(ratio, abs=0.01 * ratio + out)
    reader.close()


def test_a_phone_shows_every_fixture_without_sideways_scrolling(browser: Any, page: Path) -> None:
    reader = Reader(browser, page, size=(390, 844), has_touch=True)
    wide = reader.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    assert reader.main().bounding_box()["width"] <= 390
    names = reader.ask(LABELS)
    assert len(set(names)) == len(names)
    reader.close()


# Every text of the page with too little contrast to what is behind it, as WCAG 2 computes it.
FAINT = """
const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
const g = canvas.getContext("2d", { willReadFrequently: true });
const over = (color, under) => {
  g.fillStyle = `rgb(${under.join()})`;
  g.fillRect(0, 0, 1, 1);
  g.fillStyle = color;
  g.fillRect(0, 0, 1, 1);
  return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (rgb) => {
  const [r, green, b] = rgb.map((v) => v / 255).map((v) =>
    (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * green + 0.0722 * b;
};
const behind = (node) => {
  const around = [];
  for (let at = node; at; at = at.parentElement ?? at.getRootNode().host ?? null) around.push(at);
  return around.reverse().reduce((color, at) => over(getComputedStyle(at).backgroundColor, color),
    [255, 255, 255]);
};
const faint = [];
let read = 0;
for (const node of root.querySelectorAll("*")) {
  const text = [...node.childNodes].filter((child) => child.nodeType === 3)
    .map((child) => child.data.trim()).join("");
  if (text === "" || node.closest("canvas, style, option") || !node.checkVisibility()) continue;
  const { color, fontSize, fontWeight, fill } = getComputedStyle(node);
  const under = behind(node);
  const [low, high] = [light(under), light(over(node.closest("svg") ? fill : color, under))]
    .sort((a, b) => a - b);
  const size = parseFloat(fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
  read += 1;
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < (large ? 3 : 4.5)) faint.push([text.slice(0, 40), Math.round(100 * ratio) / 100]);
}
return [read, faint];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Any, tmp_path: Path, scheme: str) -> None:
    given, parts = demo()
    one = dc.report(given, tmp_path / "one.html", **parts)
    new = dc.ConfusionMatrix.from_counts(np.asarray(given.counts) + 5, labels=given.labels)
    two = dc.report({"old": given, "new": new}, tmp_path / "two.html")
    states = ["", "#cell=9.3", "#method=row&col=2", "#beside=counts&cell=3.9"]
    for path, state in [*((one, state) for state in states), (two, "#cell=3.9")]:
        reader = Reader(browser, path, state, color_scheme=scheme)
        reader.page.click("button.finding >> nth=0")
        read, faint = reader.ask(FAINT)
        assert read > 40
        assert faint == [], state
        reader.close()
