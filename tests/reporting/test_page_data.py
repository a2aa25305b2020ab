"""The page on all kinds of data, in a real browser: many classes, strange names, two models."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.reporting.page import bundle
from deconfuse.reporting.payload import to_json
from deconfuse.reporting.study import MAX_SHOWN
from tests.reporting.browser import Open, Reader
from tests.reporting.studies import CLOTHES, HOSTILE, matrix, predictions, read_numbers, summarize

pytestmark = pytest.mark.browser

VIEW = "return root.host.explorer.view;"


@pytest.fixture
def open_report(open_page: Open, tmp_path: Path) -> Open:
    """Open the page of a matrix, which is written once for all that is asked of it."""
    written: list[Any] = []

    def opened(cm: Any, fragment: str = "", *, size: Any = (1440, 900), **parts: Any) -> Reader:
        if [cm, parts] not in written:
            dc.report(cm, tmp_path / f"page{len(written)}.html", **parts)
            written.append([cm, parts])
        path = tmp_path / f"page{written.index([cm, parts])}.html"
        return open_page(path, fragment, size=size)

    return opened


def use_everything(reader: Reader) -> None:
    """Touch every control once; the reader's close then checks that nothing complained."""
    for method in ("counts", "row", "col", "all", "bi"):
        reader.method(method)
    reader.page.click("[data-control=log]")
    for control in ("order", "beside", "groups", "least"):
        if reader.page.locator(f"[data-control={control}]").count() == 0:
            continue
        values = reader.ask(
            f"return [...root.querySelector('[data-control={control}]').options]"
            ".filter((option) => !option.hidden).map((option) => option.value);"
        )
        for value in values:
            reader.choose(control, value)
        reader.choose(control, values[0])
    reader.press("ArrowRight", "ArrowDown", "r", "Enter", "+", "-", "0", "o", "Escape", "Escape")
    reader.page.click("[data-control=theme]")
    reader.page.click("[data-control=diagonal]")
    more = reader.page.locator(".findings .more")
    while more.count():
        more.first.click()
    for finding in reader.page.locator("button.finding").all()[:30]:
        finding.click()


@pytest.mark.parametrize(("n_places", "n_samples"), [(1, 2_000), (2, 20_000)])
def test_every_control_on_ten_and_a_hundred_classes(
    open_report: Open, n_places: int, n_samples: int
) -> None:
    true, pred = read_numbers(n_places, n_samples)
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    reader = open_report(cm)
    assert f"{10**n_places} classes" in reader.text("header")
    use_everything(reader)


@pytest.mark.parametrize("counts", [[[30, 4], [7, 20]], [[5, 0], [0, 5]], [[9]]])
def test_every_control_on_two_classes_or_one(open_report: Open, counts: list[list[int]]) -> None:
    use_everything(open_report(dc.ConfusionMatrix.from_counts(counts)))


def test_exports_of_many_classes_are_readable_or_refused(open_report: Open) -> None:
    true, pred = read_numbers(2, 20_000)
    reader = open_report(dc.ConfusionMatrix.from_predictions(true, pred), "#view=0_0_100")
    reader.click_export("LaTeX")
    assert reader.text(".said") == "zoom in first: a table takes up to 60 classes"
    drawing = reader.export("SVG").decode()
    order = reader.ask("return root.host.explorer.frame.order;")
    labels = reader.ask("return root.host.explorer.study.labels;")
    for at in (0, 2, 50, 98):
        assert drawing.count(f">{labels[order[at]]}</text>") == 2
    assert f">{labels[order[1]]}</text>" not in drawing, "every second name"


def test_a_thousand_classes(open_report: Open) -> None:
    true, pred = read_numbers(3, 50_000)
    labels = [f"{number:03d}" for number in range(1_000)]
    cm = dc.ConfusionMatrix.from_predictions(true, pred, labels=labels)
    reader = open_report(cm, samples=dc.Samples(true, pred))
    assert Path(reader.address.removeprefix("file://")).stat().st_size < 5_000_000
    assert reader.ask(VIEW)["span"] == 24, "opens on the most confused block"
    assert reader.page.is_visible("canvas.minimap")
    assert reader.page.input_value("[data-control=order]") == "similarity"
    reader.page.fill("input[type=search]", "777")
    reader.page.keyboard.press("Enter")
    assert reader.inspected() == "true 777"
    values = reader.ask(
        "return [...root.host.explorer.study.models[0].dense('bi').slice(0, 1000)];"
    )
    np.testing.assert_allclose(values, dc.estimate_bi(cm).matrix[0], rtol=1e-6)
    before = reader.ask(VIEW)
    box = reader.main().bounding_box()
    reader.page.mouse.move(box["x"] + 400, box["y"] + 400)
    reader.main().focus()
    reader.page.mouse.wheel(0, 120)
    reader.page.wait_for_function(
        f"() => document.getElementById('deconfuse').explorer.view.span > {before['span']}"
    )
    use_everything(reader)


def test_the_opening_block_is_the_most_confused(open_report: Open) -> None:
    # Eighty classes told apart well, but for six in the middle of nowhere.
    counts = np.diag(np.full(80, 200))
    group = [3, 20, 41, 55, 66, 79]
    counts[np.ix_(group, group)] += 40
    reader = open_report(dc.ConfusionMatrix.from_counts(counts))
    shown = reader.ask(
        "const e = root.host.explorer; const { x, span } = e.view;"
        "return e.frame.order.slice(Math.floor(x), Math.ceil(x + span));"
    )
    assert set(group) <= set(shown)


def test_a_link_to_all_of_many_classes_shows_all_of_them(open_report: Open) -> None:
    cm = matrix(100, 9_000)
    reader = open_report(cm)
    opened = reader.ask(VIEW)
    assert opened["span"] == 24
    assert reader.hash() in ("", "#")
    reader.press("0")
    everything = {"x": 0, "y": 0, "span": 100}
    assert reader.ask(VIEW) == everything
    assert reader.hash() == "#view=all"
    reader.page.reload()
    reader.page.wait_for_selector("canvas.matrix")
    assert reader.ask(VIEW) == everything
    # The same address means the same, whether the page opens with it or is sent there.
    for fragment in ("method=row", "view=all", "", "cell=3.4", "order=size", "view=5_6_30"):
        reader.go(fragment)
        sent = reader.ask(VIEW)
        assert open_report(cm, f"#{fragment}").ask(VIEW) == sent, fragment
        assert (sent == opened) == (fragment in ("method=row", "")), fragment


# Where the page opened, and the confusion inside each window of that size, the bucket and what
# rests on a few samples left out.
BLOCKS = """
const { study, frame, view } = root.host.explorer;
const counts = study.models[0].dense("counts");
const values = study.models[0].dense("bi")
  .map((value, k) => (counts[k] >= study.limits.few_samples ? value : 0));
const pair = study.findings.find((finding) => finding.kind === "look_alike").classes;
const masses = [];
for (let start = 0; start + view.span < study.n; start++) {
  const inside = frame.order.slice(start, start + view.span);
  if (!pair.every((k) => inside.includes(k))) {
    masses.push(0);
    continue;
  }
  let mass = 0;
  for (const i of inside) for (const j of inside) if (i !== j) mass += values[i * study.n + j];
  masses.push(mass);
}
return [view.x, masses];
"""


def _very_many() -> dc.ConfusionMatrix:
    """Return 3,000 classes; the first forty are twenty pairs that are alike."""
    rng = np.random.default_rng(5)
    n_classes = 3_000
    true = rng.integers(0, n_classes, 120_000)
    pred = np.where(rng.random(true.size) < 0.7, true, rng.integers(0, n_classes, true.size))
    twins = (true < 40) & (rng.random(true.size) < 0.5)
    pred = np.where(twins, true ^ 1, pred)
    names = np.array([f"item {k}" for k in range(n_classes)])
    return dc.ConfusionMatrix.from_predictions(names[true], names[pred])


def test_more_than_a_thousand_classes(open_report: Open) -> None:
    cm = _very_many()
    reader = open_report(cm)
    assert "400 of 3,000 classes" in reader.text("header")
    labels = reader.ask("return root.host.explorer.study.labels;")
    assert labels[-1] == "other (2,600 classes)"
    assert {f"item {k}" for k in range(40)} <= set(labels)
    for method, sides in {"bi": ("rows", "cols"), "row": ("rows",), "col": ("cols",)}.items():
        for side in sides:
            sums = reader.ask(
                f"return [...root.host.explorer.study.models[0].margins('{method}').{side}];"
            )
            np.testing.assert_allclose(sums[:-1], 1, atol=1e-6)
    value = reader.ask(
        "const { study } = root.host.explorer; const k = (name) => study.labels.indexOf(name);"
        "return study.models[0].value('bi', k('item 0'), k('item 1'));"
    )
    estimate = dc.estimate_bi(cm)
    assert value == pytest.approx(estimate.cell("item 0", "item 1").value, rel=1e-6)
    opened, masses = reader.ask(BLOCKS)
    assert masses[opened] == pytest.approx(max(masses))
    assert masses[opened] > 0
    assert masses[0] < 0.9 * max(masses)
    reader.ask("root.host.explorer.focusOn({ kind: 'cell', i: 0, j: 1 });")
    assert f"Intervals are not computed above {MAX_SHOWN:,} classes." in reader.text(".inspector")
    assert "95 %" not in reader.text(".inspector")
    use_everything(reader)


def test_any_of_very_many_classes_is_shown_with_its_nearest(open_report: Open) -> None:
    cm = _very_many()
    bi, estimate = cm.normalize("bi"), dc.estimate_bi(cm)
    reader = open_report(cm)
    labels = reader.ask("return root.host.explorer.study.labels;")
    # A short name, with which many others begin: the whole name comes first.
    hidden = min((str(name) for name in cm.labels if name not in labels), key=len)
    reader.page.fill("input[type=search]", hidden)
    first = reader.page.locator(".matches [role=option]").first
    assert first.inner_text().startswith(f"{hidden} ")
    assert first.inner_text().endswith("labels · in other")
    first.click()
    index = list(cm.labels).index(hidden)
    assert reader.inspected() == f"true {hidden}"
    assert f"labels\t{cm.label_counts[index]}\t" in reader.text(".facts")
    near = reader.ask("return root.host.explorer.study.labels;")
    confused = (cm.counts[[index]] + cm.counts[:, [index]].T).toarray()[0]
    confused[index] = 0
    partners = {cm.labels[k] for k in np.flatnonzero(confused)}
    assert len(near) == 24
    assert set(near[1 : 1 + len(partners)]) == partners or partners > set(near[1:])
    at = cm.index_of(near)
    counts = cm.counts[at][:, at].toarray()
    nearby = {
        "counts": counts,
        "bi": estimate.matrix[at][:, at],
        "bi-epsilon": bi.left[at][:, None] * (counts + bi.epsilon) * bi.right[at],
    }
    for method, expected in nearby.items():
        reader.method(method)
        values = reader.ask(f"return [...root.host.explorer.study.models[0].dense('{method}')];")
        np.testing.assert_allclose(np.reshape(values, (24, 24)), expected, rtol=1e-6)
    reader.method("bi")
    again = open_report(cm, reader.hash())
    assert again.ask("return root.host.explorer.study.labels;") == near
    reader.press("Escape", "Escape")
    assert reader.ask("return root.host.explorer.frame.n;") == 401


def test_intervals_of_tiny_values_stay_inside_their_panel(open_report: Open) -> None:
    counts = np.full((10, 10), 12)
    np.fill_diagonal(counts, 9_000)
    counts[0, 1] = 3
    cm = dc.ConfusionMatrix.from_counts(counts)
    beyond = (
        "const right = (name) => root.querySelector(name).getBoundingClientRect().right;"
        "return right('.dots') - right('.inspector');"
    )
    reader = open_report(cm, "#cell=0.1", size=(1400, 900))
    assert "3.3×10⁻⁴\t1.1×10⁻⁴ to 9.7×10⁻⁴" in reader.page.locator(".dots tr").first.inner_text()
    for width in (1400, 1100, 390):
        reader.page.set_viewport_size({"width": width, "height": 900})
        assert reader.ask(beyond) <= 0.5, width
    reader.page.emulate_media(media="print")
    assert reader.ask(beyond) <= 0.5


def test_an_empty_cell_among_many_classes_promises_no_interval(open_report: Open) -> None:
    cm = matrix(150, 9_000)
    counts = np.asarray(cm.counts)
    empty = np.argwhere(counts == 0)[0]
    full = np.unravel_index(counts.argmax(), counts.shape)
    reader = open_report(cm, f"#cell={empty[0]}.{empty[1]}")
    text = reader.text(".inspector")
    assert "95 % interval" not in text
    assert "the page has intervals of the larger counts only" in text
    reader = open_report(cm, f"#cell={full[0]}.{full[1]}")
    assert "Value and 95 % interval" in reader.text(".inspector")


def test_names_are_text_whatever_they_are(open_report: Open) -> None:
    cm = matrix(len(HOSTILE), 4_000, names=HOSTILE)
    reader = open_report(
        {"<b>one</b>": cm, "</script>": matrix(len(HOSTILE), 4_000, seed=1, names=HOSTILE)},
        title="<title>&amp;",
    )
    assert reader.text("h1") == "<title>&amp;"
    for k in range(len(HOSTILE)):
        reader.go(f"cell={k}.{(k + 1) % len(HOSTILE)}")
        names = reader.ask(
            "return [...root.querySelectorAll('.inspector h2 bdi')].map((b) => b.textContent);"
        )
        pair = [HOSTILE[k], HOSTILE[(k + 1) % len(HOSTILE)]]
        assert names == [name or "(no name)" for name in pair]
    use_everything(reader)
    reader.page.fill("input[type=search]", "<img")
    assert HOSTILE[0] in reader.text(".matches")
    reader.page.keyboard.press("Enter")
    assert reader.ask("return root.querySelectorAll('img, b > b, script, a').length;") == 0
    assert reader.page.evaluate("document.querySelectorAll('script').length") == 2
    rows = list(csv.reader(io.StringIO(reader.export("CSV").decode(), newline="")))
    escaped = {"=HYPERLINK(0)": "'=HYPERLINK(0)"}
    assert sorted(rows[0][1:]) == sorted(escaped.get(name, name) for name in HOSTILE)
    for name in ("SVG", "PNG", "LaTeX"):
        reader.export(name)


def test_a_class_never_seen_is_not_a_zero(open_report: Open) -> None:
    cm = dc.ConfusionMatrix.from_counts(
        [[50, 5, 0, 0], [4, 40, 0, 0], [0, 0, 0, 0], [9, 0, 0, 30]], labels=["a", "b", "ghost", "c"]
    )
    reader = open_report(cm, "#method=row&cell=2.0")
    assert "no sample of \u2068ghost\u2069" in reader.text(".warning")
    assert "never seen" in reader.text(".dots")
    shades = reader.ask("return [...root.host.explorer.views[0].scene.shades];")
    assert shades[8] == shades[9] == shades[10] == 1024
    assert shades[2] == 0
    use_everything(reader)


def test_exports_look_like_the_page_where_a_class_was_never_seen(open_report: Open) -> None:
    cm = dc.ConfusionMatrix.from_counts([[9, 1, 0], [2, 8, 0], [0, 0, 0]], labels=list("abc"))
    reader = open_report(cm)
    drawing = reader.export("SVG").decode()
    assert drawing.count('fill="url(#unseen)"') == 5, "the row and the column"
    assert drawing.count('font-weight="600" text-anchor="middle"') == 2, "of three on the diagonal"
    table = reader.export("LaTeX").decode()
    assert re.search(r"^c & -- \{\\tiny 0\} & -- \{\\tiny 0\} & -- ", table, re.MULTILINE)
    # The middle of the cell (c, c) in the picture, of two pixels each, is grey.
    x, y = (
        float(at) + 22
        for at in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*url\(#unseen\)', drawing)[-1]
    )
    picture = base64.b64encode(reader.export("PNG")).decode()
    pixels = reader.page.evaluate(
        """async ([picture, x, y]) => {
          const image = new Image();
          image.src = `data:image/png;base64,${picture}`;
          await image.decode();
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
          const g = canvas.getContext("2d");
          g.drawImage(image, 0, 0);
          return [...g.getImageData(2 * x - 8, 2 * y - 8, 16, 16).data];
        }""",
        [picture, x, y],
    )
    colours = np.reshape(pixels, (-1, 4))[:, :3]
    assert (np.ptp(colours, axis=1) < 20).all()
    assert (colours > 150).all()


@pytest.mark.parametrize(
    ("names", "fragment"),
    [
        (["a", "b"], ""),
        (["a", "b"], "#method=counts&scale=log"),
        (list("abcde"), ""),
        (list("abcdefg"), "#scale=log"),
        ([f"a class of a very long name {k}" for k in range(4)], "#method=row"),
        ([f"class {k}" for k in range(30)], "#method=all"),
    ],
)
def test_a_drawing_has_room_for_everything_in_it(
    open_report: Open, names: list[str], fragment: str
) -> None:
    counts = 7 * np.asarray(matrix(max(2, len(names)), 3_000).counts)[: len(names), : len(names)]
    # A class never seen, and cells far beyond all others: every mark and every line of a legend.
    counts[-1] = 0
    counts[0, 0] = 123_456_789
    counts[0, -1] += 9_876_543
    cm = dc.ConfusionMatrix.from_counts(counts, labels=names)
    title = "A title that is rather long for such a small matrix, and goes on in a second line"
    reader = open_report({title[:40]: cm, title[40:]: cm}, fragment, title=title)
    for model in ("0", "difference"):
        reader.page.click(f"[data-model='{model}']")
        drawing = reader.export("SVG").decode()
        outside = reader.page.evaluate(
            """(drawing) => {
              const box = document.createElement("div");
              box.innerHTML = drawing;
              document.body.append(box);
              const svg = box.querySelector("svg");
              const all = svg.getBoundingClientRect();
              const beyond = [...svg.querySelectorAll("text, rect")].filter((part) => {
                const { left, right, top, bottom } = part.getBoundingClientRect();
                return left < all.left || right > all.right || top < all.top || bottom > all.bottom;
              }).map((part) => part.outerHTML);
              const texts = [...svg.querySelectorAll("text[font-size='10']")];
              const over = texts.filter((one) => texts.some((other) => {
                const [a, b] = [one, other].map((part) => part.getBoundingClientRect());
                return one !== other && a.left < b.right && b.left < a.right
                  && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
              })).map((part) => part.outerHTML);
              box.remove();
              return [...beyond, ...over];
            }""",
            drawing,
        )
        assert outside == []


def test_two_models_show_their_difference(open_report: Open) -> None:
    first, second = matrix(10, 9_000, names=CLOTHES), matrix(10, 9_000, seed=3, names=CLOTHES)
    reader = open_report({"before": first, "after": second.reorder(CLOTHES[::-1])})
    assert "after − before" in reader.caption()
    found = dc.compare(first, second)
    assert reader.text("nav.findings h2 >> nth=0").startswith("What changed")
    assert f"Overlap of the two {found.overlap:.3f}" in reader.text(".inspector")
    reader.page.click("button.finding >> nth=0")
    assert "Two models" in reader.text(".inspector")
    values = reader.ask("return [...root.host.explorer.pane('bi', 'difference').values];")
    np.testing.assert_allclose(np.reshape(values, (10, 10)), found.difference, atol=1e-9)
    faded = reader.ask("return [...root.host.explorer.pane('bi', 'difference').faded];")
    counted = (first.counts > 0) | (second.counts > 0)
    np.testing.assert_array_equal(
        np.reshape(faded, (10, 10)) == 0, (found.p_values < 0.05) & counted
    )
    i, j = np.unravel_index(np.argmax(np.abs(found.difference)), (10, 10))
    reader.go(f"cell={i}.{j}")
    assert "significant" in reader.text(".inspector") or "may be chance" in reader.text(
        ".inspector"
    )
    for model in ("1", "difference"):
        reader.page.click(f"[data-model='{model}']")
        use_everything(reader)
    reader.page.click("[data-model='0']")
    assert "before" in reader.caption()


def test_embeddings_add_geometry_and_a_scatter(open_report: Open) -> None:
    true, pred = predictions(6, 900)
    rng = np.random.default_rng(0)
    embeddings = 3 * rng.normal(size=(6, 12))[true] + rng.normal(size=(900, 12))
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    reader = open_report(cm, embeddings=embeddings, samples=dc.Samples(true, pred))
    assert reader.page.is_visible("canvas.scatter")
    reader.method("gcm")
    assert "geometry, bi" in reader.caption()
    gcms = dc.geometric_confusions(embeddings, true, pred)
    for weighting, gcm in gcms.items():
        reader.choose("weighting", f"gcm-{weighting}")
        assert f"geometry, {weighting}" in reader.caption()
        shown = reader.ask(
            f"return [...root.host.explorer.study.models[0].dense('gcm-{weighting}')];"
        )
        total = 1 if weighting == "all" else 6
        assert sum(shown) == pytest.approx(total, rel=1e-5)
        assert f"all cells together sum to {total}" in reader.caption()
        expected = gcm.matrix / gcm.matrix.sum()
        np.testing.assert_allclose(np.array(shown) / np.sum(shown), expected.ravel(), rtol=1e-5)
    table = dc.geometry.geometry_agreement(gcms)
    rows = reader.page.locator(".agreement tbody tr").all_inner_texts()
    for text, values in zip(rows, table.overlap, strict=True):
        assert [float(v) for v in text.split()[1:]] == pytest.approx(values, abs=0.006)
    before = reader.ask("return root.querySelector('canvas.scatter').toDataURL();")
    reader.press("6")
    reader.go("cell=0.1")
    assert reader.ask("return root.querySelector('canvas.scatter').toDataURL();") != before
    right = int(((true == 0) & (pred == 0)).sum())
    assert f"0, right {right}" in reader.text(".key")
    use_everything(reader)


def test_a_group_lights_the_embeddings_of_all_its_classes(open_report: Open) -> None:
    true, pred = predictions(6, 900)
    embeddings = np.random.default_rng(0).normal(size=(900, 4)) + 3 * np.eye(6, 4)[true]
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    reader = open_report(cm, embeddings=embeddings, samples=dc.Samples(true, pred))
    reader.choose("groups", "3")
    units = reader.ask("return root.host.explorer.frame.units;")
    at = next(k for k, unit in enumerate(units) if len(unit["members"]) > 1)
    group, other = units[at], units[at - 1]
    reader.ask(
        f"root.host.explorer.select({{ kind: 'cell', i: {group['members'][0]},"
        f" j: {other['members'][0]} }});"
    )
    inside = [np.isin(labels, group["members"]) for labels in (true, pred)]
    outside = [np.isin(labels, other["members"]) for labels in (true, pred)]
    mixed = (inside[0] & outside[1]) | (outside[0] & inside[1])
    assert reader.page.locator(".key li").all_inner_texts() == [
        f"{group['label']}, right {(inside[0] & inside[1]).sum()}",
        f"{other['label']}, right {(outside[0] & outside[1]).sum()}",
        f"one taken for the other {mixed.sum()}",
    ]


@pytest.fixture
def two_models_with_embeddings() -> tuple[dict[str, dc.ConfusionMatrix], dict[str, Any]]:
    true, pred = predictions(6, 900)
    other = predictions(6, 900, seed=4)
    embeddings = np.random.default_rng(0).normal(size=(900, 4)) + 3 * np.eye(6, 4)[true]
    models = {
        "old": dc.ConfusionMatrix.from_predictions(true, pred),
        "new": dc.ConfusionMatrix.from_predictions(*other),
    }
    return models, {"samples": dc.Samples(true, pred), "embeddings": embeddings}


def test_geometry_of_two_models_is_that_of_the_first(
    open_report: Open,
    two_models_with_embeddings: tuple[dict[str, dc.ConfusionMatrix], dict[str, Any]],
) -> None:
    models, options = two_models_with_embeddings
    shown = "return [...root.host.explorer.views[0].scene.pane.values];"
    pressed = (
        "return [...root.querySelectorAll('.choices [aria-pressed=true]')]"
        ".map((button) => button.textContent);"
    )
    reader = open_report(models, "#method=gcm-bi&model=1", **options)
    geometry = reader.ask(shown)
    assert "geometry, bi · old" in reader.caption()
    assert reader.ask(pressed) == ["geometry", "old"]
    # Back in the counts the choice of the model is what it was.
    reader.method("counts")
    assert reader.ask(shown) == models["new"].counts.ravel().tolist()
    assert reader.ask(pressed) == ["counts", "new"]
    reader.press("6")
    assert reader.ask(shown) == geometry
    for model in ("0", "1", "difference"):
        reader.page.click(f"[data-model='{model}']")
        assert reader.ask(shown) == geometry
        assert reader.ask(pressed) == ["geometry", "old"]
    said = reader.ask(
        "root.querySelector(\"[data-model='1']\").click();"
        "return root.querySelector('.said').textContent;"
    )
    assert said.startswith("geometry is that of \u2068old\u2069")
    reader.method("row")
    for model in ("1", "difference"):
        reader.page.click(f"[data-model='{model}']")
        reader.choose("beside", "gcm-row")
        assert "geometry, row · old" in reader.text("figure.pane:nth-of-type(2) .caption")
        reader.choose("beside", "")


@pytest.mark.parametrize("model", ["0", "1", "difference"])
def test_the_inspector_speaks_of_the_model_that_the_matrix_shows(
    open_report: Open,
    two_models_with_embeddings: tuple[dict[str, dc.ConfusionMatrix], dict[str, Any]],
    model: str,
) -> None:
    models, options = two_models_with_embeddings
    old, new = (cm.counts for cm in models.values())
    # An error that both models make, not equally often.
    often = np.where((old != new) & ~np.eye(6, dtype=bool), np.minimum(old, new), -1)
    i, j = (int(k) for k in np.unravel_index(often.argmax(), often.shape))
    reader = open_report(models, f"#cell={i}.{j}&model={model}", **options)
    for method, name in (("bi", "old" if model == "0" else "new"), ("gcm", "old")):
        reader.method(method)
        cm = models[name]
        text = reader.text(".inspector")
        assert f"{cm.counts[i, j]} sample" in text
        assert (
            f"of {cm.label_counts[i]} true, {cm.prediction_counts[j]} predicted, "
            f"in \u2068{name}\u2069" in text
        )
        value = float(reader.page.locator(".dots tr").first.inner_text().split("\t")[-2])
        assert value == pytest.approx(cm.normalize("row").matrix[i, j], rel=0.005)
        counted = float(reader.text(".fall").split()[-1])
        assert counted == pytest.approx(cm.counts[i, j], rel=0.005)
        # The samples are those of the first model.
        assert ("Samples by row in old" in text) == (name == "old" or model == "difference")


def test_embeddings_of_many_classes_are_points_alone(open_report: Open) -> None:
    true, pred = predictions(310, 4_000)
    labels = list(range(310))
    reader = open_report(
        dc.ConfusionMatrix.from_predictions(true, pred, labels=labels),
        samples=dc.Samples(true, pred),
        embeddings=np.random.default_rng(0).normal(size=(4_000, 3)),
    )
    assert reader.page.is_visible("canvas.scatter")
    assert reader.page.locator("[data-method=gcm]").count() == 0
    caption = reader.caption()
    reader.press("6")
    assert reader.caption() == caption
    reader.method("counts")
    assert "number of samples" in reader.caption()
    reader.press("?")
    assert "geometry" not in reader.text("dialog.help dl")


def test_a_cell_lists_its_samples_with_pictures(open_report: Open) -> None:
    true, pred = predictions(5, 400)
    images = np.random.default_rng(0).integers(0, 256, (400, 8, 8), dtype=np.uint8)
    ids = [f"<i>{k}</i>.png" for k in range(400)]
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    errors = cm.counts - np.diag(np.diag(cm.counts))
    i, j = (int(k) for k in np.unravel_index(np.argmax(errors), errors.shape))
    rows = np.flatnonzero((true == i) & (pred == j))
    samples = dc.Samples(true, pred, ids=ids, images=images, max_per_cell=4)
    reader = open_report(cm, f"#cell={i}.{j}", samples=samples)
    for picture in reader.page.locator(".samples img").all():
        picture.scroll_into_view_if_needed()
        picture.evaluate("(image) => image.decode()")
    shown = reader.ask(
        "return [...root.querySelector('.samples').querySelectorAll('img')]"
        ".map((image) => [image.alt, image.naturalWidth]);"
    )
    assert shown == [[f"id <i>{row}</i>.png", 8] for row in rows[:4]]
    assert f"here 4 of {rows.size}" in reader.text(".inspector")
    thumbnail = reader.page.locator(".samples button").first
    thumbnail.click()
    large = reader.page.locator("dialog.enlarged img")
    assert large.get_attribute("alt") == f"id <i>{rows[0]}</i>.png"
    assert large.bounding_box()["width"] > 6 * thumbnail.bounding_box()["width"]
    reader.page.keyboard.press("ArrowRight")
    reader.page.get_by_label("next picture").click()
    assert "3 of 4" in reader.text("dialog.enlarged")
    assert large.get_attribute("alt") == f"id <i>{rows[2]}</i>.png"
    # The arrow moved the picture, not the selected cell behind it.
    assert f"cell={i}.{j}" in reader.hash()
    reader.page.keyboard.press("Escape")
    reader.page.wait_for_selector("dialog.enlarged", state="detached")
    assert f"cell={i}.{j}" in reader.hash()
    plain = open_report(cm, f"#cell={i}.{j}", samples=dc.Samples(true, pred))
    assert plain.page.locator(".samples").first.locator("li").all_inner_texts() == [
        str(row) for row in rows[:12]
    ]


def test_two_explorers_on_one_page_share_nothing(browser: Any, tmp_path: Path) -> None:
    payloads = [to_json(summarize(matrix(n, 2_000), title=f"{n}")) for n in (4, 7)]
    page = browser.new_page(reduced_motion="reduce")
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content("<div id=a></div><div id=b></div>")
    script = bundle("widget").replace("export default", "window.widget =")
    page.add_script_tag(content=script, type="module")
    page.wait_for_function("window.widget")
    page.evaluate(
        """(payloads) => {
          window.models = payloads.map((payload) => {
            const values = { payload, start: 'method=col' };
            const listeners = {};
            return { values, listeners, get: (k) => values[k], set: (k, v) => (values[k] = v),
              save_changes: () => (values.saved = (values.saved ?? 0) + 1),
              on: (name, act) => (listeners[name] = act), off: (name) => delete listeners[name] };
          });
          window.cleanups = ["a", "b"].map((id, k) =>
            window.widget.render({ model: window.models[k], el: document.getElementById(id) }));
        }""",
        payloads,
    )
    page.wait_for_selector("#b canvas.matrix")
    page.click("#a [data-method=row]")
    assert page.inner_text("#a .caption >> nth=0").startswith("row")
    assert page.inner_text("#b .caption >> nth=0").startswith("col")
    page.click("#b figure canvas.matrix >> nth=0", position={"x": 300, "y": 250})
    assert page.evaluate("window.models[0].values.selection") is None
    assert page.evaluate("window.models[1].values.selection.kind") == "cell"
    assert page.evaluate("location.hash") == "", "a notebook's address is not ours"
    page.evaluate(
        "() => { const [a, b] = window.models; a.values.payload = b.values.payload;"
        "a.listeners['change:payload'](); }"
    )
    assert page.inner_text("#a h1") == "7"
    page.evaluate("window.cleanups.forEach((end) => end())")
    assert page.evaluate("Object.keys(window.models[0].listeners).length") == 0
    assert complaints == []
    page.close()


def test_a_notebook_may_attach_the_element_later_and_change_its_theme(browser: Any) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.set_content("<body data-jp-theme-light='true'><div id=a></div>")
    script = bundle("widget").replace("export default", "window.widget =")
    page.add_script_tag(content=script, type="module")
    page.wait_for_function("window.widget")
    page.evaluate(
        """(payload) => {
          const values = { payload, start: "" };
          const model = { get: (k) => values[k], set: () => {}, save_changes: () => {},
            on: () => {}, off: () => {} };
          const el = document.createElement("div");
          window.widget.render({ model, el });
          document.getElementById("a").append(el);
        }""",
        to_json(summarize(matrix(5, 2_000), title="t")),
    )
    corner = """() => {
      const canvas = document.querySelector("#a > div > div").shadowRoot.querySelector("canvas");
      return canvas.width > 200 && [...canvas.getContext("2d").getImageData(3, 3, 1, 1).data];
    }"""
    page.wait_for_function(f"JSON.stringify(({corner})()) === '[255,255,255,255]'")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_function(f"JSON.stringify(({corner})()) === '[21,23,28,255]'")
    page.close()


def test_without_scripts_the_findings_are_still_there(browser: Any, tmp_path: Path) -> None:
    cm = matrix(6, 2_000)
    path = dc.report(cm, tmp_path / "page.html")
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    text = page.inner_text("body")
    for finding in dc.diagnose(cm).findings:
        assert finding.sentence in text
    page.close()


def test_a_broken_payload_says_so_and_keeps_the_text(browser: Any, tmp_path: Path) -> None:
    path = dc.report(matrix(6, 2_000), tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"schema_version":2', '"schema_version":9'), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert "could not start: this explorer reads payloads of version 2" in page.inner_text("body")
    assert "are similar" in page.inner_text("body")
    page.close()


def test_given_groups_collapse_and_open_under_their_names(open_report: Open) -> None:
    cm = matrix(10, 8_000, names=CLOTHES)
    shoes, tops = ["Sandal", "Sneaker", "Boot"], ["T-shirt", "Pullover", "Coat", "Shirt"]
    reader = open_report(cm, groups={"shoes": shoes, "<b>tops</b>": tops})
    reader.choose("groups", "given")
    labels = reader.ask("return root.host.explorer.frame.units.map((unit) => unit.label);")
    assert labels == ["<b>tops</b>", "Trouser", "Dress", "shoes", "Bag"]
    counts = np.reshape(
        reader.ask("return [...root.host.explorer.pane('counts', '0').values];"), (5, 5)
    )
    rows, cols = cm.index_of(shoes), cm.index_of(tops)
    assert counts[3, 0] == cm.counts[np.ix_(rows, cols)].sum()
    values = reader.ask("return [...root.host.explorer.pane('bi', '0').values];")
    np.testing.assert_allclose(np.reshape(values, (5, 5)).sum(axis=0), 1, atol=1e-8)
    fragment = reader.hash()
    reader.ask("root.host.explorer.select({ kind: 'row', i: 5, j: 5 });")
    reader.page.click(".members summary")
    reader.page.click("[data-control=group]")
    assert reader.ask("return root.host.explorer.frame.n;") == 7
    assert reader.page.input_value("[data-control=groups]") == "own"
    reader.page.click("[data-control=group]")
    assert reader.ask("return root.host.explorer.frame.n;") == 5
    again = open_report(cm, fragment, groups={"shoes": shoes, "<b>tops</b>": tops})
    assert again.ask("return root.host.explorer.frame.n;") == 5
    use_everything(again)


def test_more_than_two_models_are_picked_from_a_list(open_report: Open) -> None:
    models = {f"epoch {k}": matrix(6, 3_000, seed=k) for k in range(4)}
    reader = open_report(models)
    options = reader.page.locator("[data-control=model] option").all_inner_texts()
    assert options[:4] == list(models)
    assert options[4:] == [f"epoch {k} − epoch 0" for k in (1, 2, 3)]
    shown = "return [...root.host.explorer.views[0].scene.pane.values];"
    for k, (name, cm) in enumerate(models.items()):
        reader.choose("model", str(k))
        expected = dc.estimate_bi(cm).matrix
        np.testing.assert_allclose(np.reshape(reader.ask(shown), (6, 6)), expected, rtol=1e-6)
        assert name in reader.caption()
    reader.choose("model", "difference-3")
    difference = expected - dc.estimate_bi(models["epoch 0"]).matrix
    np.testing.assert_allclose(np.reshape(reader.ask(shown), (6, 6)), difference, atol=1e-7)
    assert "epoch 3 − epoch 0" in reader.caption()
    told = [span for span in reader.page.locator("header .model").all() if span.is_visible()]
    assert [span.locator("b").inner_text() for span in told] == ["epoch 0", "epoch 3"]
    use_everything(reader)


def test_a_cell_of_a_difference_lists_the_samples_of_both_models(open_report: Open) -> None:
    true, old = predictions(6, 900)
    new = np.where(true == 2, 4, old)
    models = {
        "old": dc.ConfusionMatrix.from_predictions(true, old),
        "new": dc.ConfusionMatrix.from_predictions(true, new),
    }
    samples = {"old": dc.Samples(true, old), "new": dc.Samples(true, new)}
    reader = open_report(models, "#cell=2.4", samples=samples)
    text = reader.text(".inspector")
    assert "Samples by row in old" in text
    assert "Samples by row in new" in text
    lists = reader.page.locator(".inspector .samples").all()
    listed = [[int(row) for row in found.inner_text().split()] for found in lists]
    assert np.flatnonzero((true == 2) & (new == 4))[:12].tolist() in listed
    assert np.flatnonzero((true == 2) & (old == 4))[:12].tolist() in listed
    colours = reader.ask(
        """const { scene } = root.host.explorer.views[0];
        const table = (i, j) => Math.floor((scene.shades[6 * i + j] % 1025) / 256);
        return [table(2, 4), table(2, 2)];"""
    )
    assert colours == [2, 2], "more errors and fewer hits are both worse"


def test_texts_are_shown_as_text_the_most_confident_first(open_report: Open) -> None:
    true, pred = predictions(4, 200)
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    errors = cm.counts - np.diag(np.diag(cm.counts))
    i, j = (int(k) for k in np.unravel_index(np.argmax(errors), errors.shape))
    scores = np.random.default_rng(0).random(200)
    texts = [f"<i>text</i> number {k}" for k in range(200)]
    samples = dc.Samples(true, pred, texts=texts, scores=scores)
    reader = open_report(cm, f"#cell={i}.{j}", samples=samples)
    rows = np.flatnonzero((true == i) & (pred == j))
    best = rows[np.argsort(-scores[rows])][:12]
    shown = reader.page.locator(".samples").first.locator("li bdi").all_inner_texts()
    assert shown == [texts[row] for row in best]
    assert "most confident first" in reader.text(".inspector")


def test_long_names_differ_on_screen_on_a_phone_and_in_exports(open_report: Open) -> None:
    kinds = ("without complications", "with unspecified complications", "with kidney disease")
    names = [f"Type 2 diabetes mellitus {kind}" for kind in kinds]
    names += [f"Essential (primary) hypertension, {kind} heart failure" for kind in ("with", "no")]
    cm = matrix(5, 3_000, names=names)
    # The names as the canvas was told to write them, by what it wrote.
    record = """
        const written = [];
        const { fillText } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
          written.push(text);
          return fillText.call(this, text, ...rest);
        };
        root.host.explorer.views[0].draw();
        CanvasRenderingContext2D.prototype.fillText = fillText;
        return written.filter((text) => text.includes("…") || text.length > 20);
    """
    for size in ((1440, 900), (390, 844)):
        reader = open_report(cm, size=size)
        drawn = reader.ask(record)
        assert len(drawn) == 10, drawn
        assert len(set(drawn[:5])) == len(set(drawn[5:])) == 5, drawn
    reader = open_report(cm)
    texts = re.findall(r">([^<>]*)</text>", reader.export("SVG").decode())
    labels = [text for text in texts if re.search("diabetes|compl|kidney|heart|with", text)]
    assert len(labels) == 10
    assert len(set(labels[:5])) == 5


def test_very_many_classes_open_on_what_is_certain(open_report: Open) -> None:
    rng = np.random.default_rng(1)
    n = 2_500
    sizes = (3_000 / (1 + np.arange(n)) ** 1.1).astype(int) + 1
    true = np.repeat(np.arange(n), sizes)
    wrong = rng.random(true.size) < 0.3
    pred = np.where(wrong, np.clip(true ^ 1, 0, n - 1), true)
    # Classes of one sample that is always mistaken: striking, and worth nothing.
    pred = np.where(sizes[true] == 1, np.clip(true ^ 1, 0, n - 1), pred)
    reader = open_report(dc.ConfusionMatrix.from_predictions(true, pred, labels=list(range(n))))
    cells = reader.ask(
        """const { frame, view, study } = root.host.explorer;
        const { scene } = root.host.explorer.views[0];
        const seen = frame.order.slice(Math.floor(view.x), Math.ceil(view.x + view.span));
        const found = [];
        for (const i of seen) for (const j of seen) if (i !== j) {
          const count = scene.pane.counts[i * frame.n + j];
          found.push(count > 0 && count < study.limits.few_samples ? 1 : count > 0 ? 2 : 0);
        }
        return found;"""
    )
    assert cells.count(2) > 0, "it opens on evidence"
    assert cells.count(1) <= 0.2 * len(cells)
