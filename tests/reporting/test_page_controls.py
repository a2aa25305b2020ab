"""The page as a reader uses it, in a real browser: every control, no error, no request."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deconfuse as dc
from tests.reporting.browser import Reader, chromium
from tests.reporting.studies import CLOTHES, matrix
from tests.support import require

pytestmark = pytest.mark.browser

Open = Callable[..., Reader]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require("playwright", programs=("chromium",))
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def clothes() -> dc.ConfusionMatrix:
    return matrix(10, 8_000, names=CLOTHES)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, clothes: dc.ConfusionMatrix) -> Path:
    return dc.report(clothes, tmp_path_factory.mktemp("page") / "clothes.html", title="clothes-v3")


@pytest.fixture
def open_page(browser: Any, page: Path) -> Iterator[Open]:
    readers: list[Reader] = []

    def opened(fragment: str = "", path: Path = page, **options: Any) -> Reader:
        readers.append(Reader(browser, path, fragment, **options))
        return readers[-1]

    yield opened
    for reader in readers:
        reader.close()


def test_the_first_look_says_what_matters(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    assert "are similar" in reader.text(".headline")
    assert reader.text("h1") == "clothes-v3"
    assert "true on rows, predicted on columns" in reader.text("header")
    assert "10 classes · 8000 samples" in reader.text("header")
    assert "every row and every column sums to 1" in reader.caption()
    assert "bi-normalized" in reader.text(".inspector")
    assert reader.page.title() == "clothes-v3"


@pytest.mark.parametrize(
    ("key", "method", "words"),
    [
        ("1", "counts", "number of samples"),
        ("2", "row", "each row sums to 1"),
        ("3", "col", "each column sums to 1"),
        ("4", "all", "all cells together sum to 1"),
        ("5", "bi", "every row and every column"),
    ],
)
def test_each_normalization_by_button_and_by_key(
    open_page: Open, key: str, method: str, words: str
) -> None:
    reader = open_page("#method=bi" if method != "bi" else "#method=row")
    before = reader.picture()
    reader.method(method)
    assert words in reader.caption()
    assert reader.page.get_attribute(f"[data-method={method}]", "aria-pressed") == "true"
    after = reader.picture()
    assert after != before
    reader.page.keyboard.press("1" if key != "1" else "2")
    reader.page.keyboard.press(key)
    assert words in reader.caption()
    assert reader.picture() == after


def test_cells_morph_for_a_moment_unless_motion_is_unwanted(open_page: Open) -> None:
    record = """
        root.querySelector('[data-method=counts]').click();
        const seen = new Set();
        return new Promise((done) => {
          const look = (frames) => {
            seen.add(root.querySelector('canvas.matrix').toDataURL());
            if (frames > 0) requestAnimationFrame(() => look(frames - 1));
            else setTimeout(() => done(seen.size), 700);
          };
          look(4);
        });
    """
    assert open_page(reduced_motion="no-preference").ask(record) > 1
    assert open_page().ask(record) == 1


def test_two_side_by_side(open_page: Open) -> None:
    reader = open_page()
    assert reader.page.locator("canvas.matrix:visible").count() == 1
    reader.choose("beside", "counts")
    assert reader.page.locator("canvas.matrix:visible").count() == 2
    captions = reader.page.locator("figure.pane .caption").all_inner_texts()
    assert [text.split()[0] for text in captions] == ["bi", "counts"]
    boxes = [canvas.bounding_box() for canvas in reader.page.locator("canvas.matrix").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    reader.choose("beside", "")
    assert reader.page.locator("canvas.matrix:visible").count() == 1


@pytest.mark.parametrize("order", ["name", "size", "similarity"])
def test_orders(open_page: Open, clothes: dc.ConfusionMatrix, order: str) -> None:
    reader = open_page()
    before = reader.picture()
    reader.choose("order", order)
    assert reader.picture() != before
    names = reader.ask("return root.host.explorer.frame.order;")
    if order == "name":
        assert [CLOTHES[k] for k in names] == sorted(CLOTHES)
    elif order == "size":
        sizes = clothes.label_counts[names]
        assert (np.diff(sizes) <= 0).all()
    else:
        assert names == dc.hierarchy(clothes).order.tolist()
    assert f"order={order}" in reader.hash()


def test_log_colours(open_page: Open) -> None:
    reader = open_page()
    before = reader.picture()
    reader.page.click("[data-control=log]")
    assert reader.picture() != before
    assert "log" in reader.text(".legend")
    reader.page.keyboard.press("l")
    assert reader.picture() == before


def test_groups_collapse_and_open(open_page: Open) -> None:
    reader = open_page()
    reader.choose("groups", "5")
    units = reader.ask("return root.host.explorer.frame.units.map((u) => u.members.length);")
    n = len(units)
    assert 2 <= n < 10
    assert max(units) <= 5
    assert reader.ask("return root.querySelector('[data-control=groups]').value;") == "5"
    for method in ("counts", "row", "bi"):
        reader.method(method)
    sums = reader.ask(
        """const { values } = root.host.explorer.pane('bi', '0');
        const { n } = root.host.explorer.frame;
        return Array.from({ length: n }, (_, i) => values.slice(n * i, n * i + n)
          .reduce((sum, value) => sum + value));"""
    )
    np.testing.assert_allclose(sums, 1, atol=1e-8)
    reader.page.keyboard.press("ArrowRight")
    assert "group of" in reader.text(".inspector")
    restored = reader.hash()
    reader.choose("groups", "0")
    assert reader.ask("return root.host.explorer.frame.n;") == 10
    again = open_page(restored)
    assert again.ask("return root.host.explorer.frame.n;") == n


def test_a_knot_of_the_tree_collapses_its_branch(open_page: Open) -> None:
    reader = open_page("#order=similarity")
    knot = """
        const { views, branches, study } = root.host.explorer;
        const { layout, tree, view } = views[0].scene;
        const box = views[0].canvas.getBoundingClientRect();
        const node = tree.find((line) => %s);
        return [box.x + layout.x + layout.side + 5 + (layout.tree - 10) * node.height,
          box.y + layout.y + (node.at - view.y) * layout.side / view.span,
          branches.get(node.id).members.length];
    """
    x, y, members = reader.ask(knot % "line.children.every((child) => child.height === 0)")
    reader.page.mouse.click(x, y)
    assert reader.ask("return root.host.explorer.frame.n;") == 11 - members
    x, y, _ = reader.ask(knot % "line.collapsed")
    reader.page.mouse.click(x, y)
    assert reader.ask("return root.host.explorer.frame.n;") == 10


def test_click_a_cell_a_row_a_column(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    x, y = reader.cell(6, 0, 10)
    reader.page.mouse.click(x, y)
    text = reader.text(".inspector")
    assert text.startswith("true Shirt\npredicted T-shirt")
    assert f"{clothes.counts[6, 0]} samples" in text
    assert "#cell=6.0" in reader.hash()
    left = reader.page.locator("canvas.matrix").first.bounding_box()
    reader.page.mouse.click(left["x"] + 40, y)
    assert reader.text(".inspector").startswith("true Shirt\n")
    assert "row=6" in reader.hash()
    reader.page.mouse.click(x, left["y"] + 60)
    assert reader.text(".inspector").startswith("predicted T-shirt")
    assert "col=0" in reader.hash()


def number(text: str) -> float:
    """Read a number as the page writes it: 0.25, or 1.2×10⁻⁴ below a thousandth."""
    digits = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    return float(text.translate(digits).replace("×10", "e"))


def test_the_inspector_tells_all_of_a_cell(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    errors = clothes.counts - np.diag(np.diag(clothes.counts))
    i, j = (int(k) for k in np.unravel_index(np.argmax(errors), errors.shape))
    true, pred = CLOTHES[i], CLOTHES[j]
    reader = open_page(f"#cell={i}.{j}")
    rows = reader.page.locator(".dots tr").all_inner_texts()
    for text, method in zip(rows, ("row", "col", "all", "bi"), strict=True):
        n = clothes.normalize(method)
        low, high = n.confidence_interval()
        name, value, interval = text.split("\t")[0].split()[0], *text.split("\t")[-2:]
        assert name == method
        assert float(value) == pytest.approx(n.matrix[i, j], rel=0.005)
        ends = [float(end) for end in interval.split(" to ")]
        assert ends == pytest.approx([low[i, j], high[i, j]], rel=0.06)
    parts = dc.diagnose(clothes).attribution.cell(true, pred)
    factors = [float(v) for v in re.findall(r"×([\d.]+)", reader.text(".fall"))]
    expected = np.exp([parts.similarity, parts.label, parts.prediction])
    assert factors == pytest.approx(expected, rel=0.06)
    text = reader.text(".inspector")
    weight = clothes.normalize("bi").weights([true], [pred])[0]
    said = re.search(r"weighs (\S+) in bi", text)
    assert said is not None
    assert number(said[1]) == pytest.approx(weight, rel=0.01)
    assert f"The other way: {pred} → {true}: {clothes.counts[j, i]} sample" in text
    reader.page.click(".reverse button")
    assert reader.text(".inspector").startswith(f"true {pred}\npredicted {true}")


def test_warnings_where_a_cell_rests_on_little(
    open_page: Open, clothes: dc.ConfusionMatrix
) -> None:
    empty = np.argwhere(clothes.counts == 0)[0]
    few = np.argwhere((clothes.counts > 0) & (clothes.counts < 5))[0]
    reader = open_page(f"#cell={empty[0]}.{empty[1]}")
    assert "comes from epsilon alone" in reader.text(".warning")
    zero, reach = reader.page.locator(".dots tr").first.inner_text().split("\t")[-2:]
    assert zero == "0"
    assert re.fullmatch(r"0 to 0\.\d+", reach), "how large the value may still be"
    reader = open_page(f"#cell={few[0]}.{few[1]}")
    assert "too few samples to say more" in reader.text(".warning")


def test_hover_names_the_cell(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    reader.page.mouse.move(*reader.cell(6, 0, 10))
    assert reader.text(".tip").startswith("Shirt → T-shirt")
    assert f"({clothes.counts[6, 0]})" in reader.text(".tip")
    reader.page.mouse.move(5, 5)
    assert not reader.page.is_visible(".tip")


def test_findings_lead_to_their_cells(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    finding = dc.diagnose(clothes).findings[0]
    assert finding.sentence == reader.text("button.finding >> nth=0")
    assert finding.advice == reader.text(".advice >> nth=0")
    reader.page.click("button.finding >> nth=0")
    first, second = finding.classes
    assert reader.text(".inspector").startswith(f"true {first}\npredicted {second}")
    more = reader.page.locator(".findings .link")
    while more.count():
        more.first.click()
    for button in reader.page.locator("button.finding").all():
        button.click()
        assert not reader.text(".inspector").startswith("How to read")


def test_search_jumps_to_a_class(open_page: Open) -> None:
    reader = open_page()
    reader.page.keyboard.press("/")
    reader.page.keyboard.type("sh")
    options = reader.page.locator("[role=option]").all_inner_texts()
    assert [text.split(" ")[0] for text in options] == ["Shirt", "T-shirt"]
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Enter")
    assert reader.text(".inspector").startswith("true T-shirt")
    reader.page.fill("input[type=search]", "zebra")
    assert "no class of this name" in reader.text(".matches")
    reader.page.keyboard.press("Escape")
    assert not reader.page.is_visible(".matches")


def test_zoom_keeps_the_cell_under_the_pointer_and_pan_moves(open_page: Open) -> None:
    reader = open_page()
    x, y = reader.cell(7, 2, 10)
    reader.page.mouse.move(x, y)
    reader.page.keyboard.down("Control")
    reader.page.mouse.wheel(0, -240)
    reader.page.keyboard.up("Control")
    view = "return root.host.explorer.view;"
    zoomed = reader.ask(view)
    assert zoomed["span"] < 10
    assert reader.text(".tip").startswith("Sneaker → Pullover")
    assert reader.page.is_visible("canvas.minimap")
    reader.page.mouse.down()
    reader.page.mouse.move(x + 60, y + 40, steps=4)
    reader.page.mouse.up()
    panned = reader.ask(view)
    assert panned["x"] < zoomed["x"]
    assert panned["y"] < zoomed["y"]
    assert reader.text(".inspector").startswith("How to read"), "a drag is not a click"
    box = reader.page.locator("canvas.minimap").bounding_box()
    reader.page.mouse.click(box["x"] + box["width"] - 3, box["y"] + 3)
    jumped = reader.ask(view)
    assert jumped["x"] > panned["x"]
    assert jumped["y"] == 0
    reader.page.click("[data-control=fit]")
    assert reader.ask(view) == {"x": 0, "y": 0, "span": 10}
    assert not reader.page.is_visible("canvas.minimap")


def test_the_link_brings_the_view_back(open_page: Open) -> None:
    reader = open_page()
    reader.method("row")
    reader.choose("order", "size")
    reader.page.click("[data-control=log]")
    reader.page.mouse.click(*reader.cell(3, 4, 10))
    fragment = reader.hash()
    again = open_page(fragment)
    assert again.text(".inspector") == reader.text(".inspector")
    assert again.caption() == reader.caption()
    assert again.picture() == reader.picture()
    nonsense = open_page("#method=<img>&cell=99.99&view=a_b_c&groups=3")
    assert "every row and every column" in nonsense.caption()
    nonsense.go("method=col")
    assert "each column sums to 1" in nonsense.caption()


def saved(reader: Reader, name: str) -> bytes:
    with reader.page.expect_download() as download:
        reader.page.click(f"[data-export={name}]")
    return Path(download.value.path()).read_bytes()


def test_exported_counts_can_be_read_again(
    open_page: Open, clothes: dc.ConfusionMatrix, tmp_path: Path
) -> None:
    reader = open_page("#method=counts&order=size")
    (tmp_path / "counts.csv").write_bytes(saved(reader, "CSV"))
    assert dc.ConfusionMatrix.from_file(tmp_path / "counts.csv").reorder(clothes.labels) == clothes


def test_exports(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page("#method=row&order=size")
    rows = list(csv.reader(io.StringIO(saved(reader, "CSV").decode())))
    assert rows[0][0].startswith("true \\ predicted (row: each row sums to 1")
    expected = clothes.normalize("row").to_pandas()
    values = np.array([[float(v) for v in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(
        values, expected.loc[[row[0] for row in rows[1:]], rows[0][1:]], rtol=1e-9
    )
    drawing = ET.fromstring(saved(reader, "SVG").decode())
    text = " ".join(drawing.itertext())
    assert all(name in text for name in CLOTHES)
    assert "true class" in text
    assert "predicted class" in text
    assert "each row sums to 1" in text
    picture = saved(reader, "PNG")
    assert picture.startswith(b"\x89PNG")
    size = int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")
    assert min(size) > 600
    table = saved(reader, "LaTeX").decode()
    assert table.count(r"\\") == 11
    assert "True classes on rows, predicted classes on columns" in table


def test_light_dark_and_the_switch(open_page: Open) -> None:
    background = "return getComputedStyle(root.querySelector('.explorer')).backgroundColor;"
    light, dark = open_page(), open_page(color_scheme="dark")
    assert light.ask(background) == "rgb(255, 255, 255)"
    assert dark.ask(background) == "rgb(21, 23, 28)"
    assert light.picture() != dark.picture()
    light.page.click("[data-control=theme]")
    assert light.ask(background) == dark.ask(background)
    assert "theme=dark" in light.hash()
    light.page.click("[data-control=theme]")
    light.page.emulate_media(color_scheme="light")
    assert light.ask(background) == "rgb(255, 255, 255)"


def test_keyboard_alone_reaches_everything(open_page: Open) -> None:
    reader = open_page()
    press = reader.page.keyboard.press
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        press(key)
    assert reader.text(".inspector").startswith("true Trouser\npredicted Trouser")
    assert "true Trouser, predicted Trouser" in reader.ask(
        "return root.querySelector('[aria-live]').textContent;"
    )
    press("ArrowRight")
    press("r")
    assert reader.text(".inspector").startswith("true Pullover\npredicted Trouser")
    press("o")
    assert "order=name" in reader.hash()
    press("+")
    assert reader.ask("return root.host.explorer.view.span;") < 10
    press("0")
    press("?")
    assert reader.page.is_visible("dialog.help")
    press("Escape")
    assert not reader.page.is_visible("dialog.help")
    press("Escape")
    assert reader.text(".inspector").startswith("How to read")
    reached = set()
    for _ in range(60):
        press("Tab")
        reached.add(
            reader.ask(
                """const at = root.activeElement; if (!at) return '';
                const style = getComputedStyle(at);
                const { method, control, export: format } = at.dataset;
                return (method || control || format || at.className || at.tagName)
                  + (style.outlineStyle === 'none' ? ' unseen' : '');"""
            )
        )
    wanted = {
        "counts",
        "row",
        "col",
        "all",
        "bi",
        "beside",
        "order",
        "groups",
        "log",
        "theme",
        "help",
    }
    assert wanted | {"CSV", "PNG", "SVG", "LaTeX", "link", "matrix", "finding"} <= reached
    assert not [name for name in reached if name.endswith("unseen")]


def test_a_screen_reader_finds_the_matrix_as_a_table(
    open_page: Open, clothes: dc.ConfusionMatrix
) -> None:
    reader = open_page("#method=counts")
    reader.page.wait_for_selector(".stage .hidden table", state="attached")
    table = reader.ask(
        """return [...root.querySelectorAll('.stage .hidden table tr')].map((row) =>
          [...row.children].map((cell) => cell.textContent));"""
    )
    assert table[0] == ["true \\ predicted", *CLOTHES]
    assert [
        [int(v.replace("\u202f", "")) for v in row[1:]] for row in table[1:]
    ] == clothes.counts.tolist()
    assert "True classes on rows" in reader.ask("return root.querySelector('caption').textContent;")


def test_phone_width_needs_no_sideways_scrolling(open_page: Open) -> None:
    reader = open_page("#cell=6.0&beside=counts", size=(390, 844))
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [canvas.bounding_box() for canvas in reader.page.locator("canvas.matrix").all()]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"] - 1
    assert reader.text(".inspector").startswith("true Shirt")


def test_two_fingers_zoom_and_one_moves(open_page: Open) -> None:
    reader = open_page(size=(390, 844), has_touch=True, is_mobile=True)
    client = reader.context.new_cdp_session(reader.page)
    x, y = reader.cell(4, 4, 10)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(points)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    assert reader.ask("return root.querySelector('canvas.matrix').style.touchAction;") == "pan-y"
    touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 6):
        touch("touchMove", (x - 20 - 12 * step, y), (x + 20 + 12 * step, y))
    touch("touchEnd")
    zoomed = reader.ask("return root.host.explorer.view;")
    assert zoomed["span"] < 6
    assert reader.ask("return root.querySelector('canvas.matrix').style.touchAction;") == "none"
    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x + 10 * step, y + 10 * step))
    touch("touchEnd")
    moved = reader.ask("return root.host.explorer.view;")
    assert moved["span"] == zoomed["span"]
    assert moved["x"] < zoomed["x"]
    assert moved["y"] < zoomed["y"]


def test_paper_has_the_matrix_all_findings_and_what_to_do(open_page: Open) -> None:
    reader = open_page(color_scheme="dark")
    expected = reader.ask(
        """const { findings } = root.host.explorer.study;
        return { sentences: findings.map((f) => f.sentence),
          advice: [...new Set(findings.map((f) => f.advice.replaceAll('`', '')))] };"""
    )
    assert len(expected["sentences"]) > 5
    reader.page.emulate_media(media="print")
    for hidden in (".toolbar", ".exports", ".corner"):
        assert not reader.page.is_visible(hidden)
    assert reader.page.is_visible("canvas.matrix")
    printed = reader.ask("return root.querySelector('.findings').innerText;")
    for text in (*expected["sentences"], *expected["advice"]):
        assert text in printed
    assert pages_of(reader) <= 2


def test_paper_shows_what_was_selected(open_page: Open) -> None:
    reader = open_page("#cell=6.0", color_scheme="dark")
    reader.page.emulate_media(media="print")
    for shown in ("canvas.matrix", ".dots", ".fall", ".findings .advice"):
        assert reader.page.locator(shown).first.is_visible()
    inspector, stage = (
        reader.page.locator(name).bounding_box() for name in (".inspector", ".stage")
    )
    assert inspector["x"] >= stage["x"] + stage["width"]
    assert pages_of(reader) <= 2


def pages_of(reader: Reader) -> int:
    sheet = reader.page.pdf(prefer_css_page_size=True, print_background=True)
    return len(re.findall(rb"/Type\s*/Page\b", sheet))


def test_the_inspector_the_findings_and_the_headline_say_the_same_numbers(
    open_page: Open,
) -> None:
    reader = open_page()
    found = reader.ask("return root.host.explorer.study.findings;")
    said = r"similarity (\S+ \(\S+ to [^)]+\))"
    pairs = [f for f in found if f["kind"] == "look_alike"]
    assert pairs
    for finding in pairs:
        (i, j), *_ = finding["cells"]
        reader.ask(f"root.host.explorer.select({{ kind: 'cell', i: {i}, j: {j} }});")
        similarity = re.search(said, finding["sentence"])
        assert similarity
        assert similarity[1] in reader.text(".alike")
    biased = [f for f in found if f["kind"] in ("over_predicted", "under_predicted")]
    assert biased
    for finding in biased:
        (k,) = finding["classes"]
        reader.ask(f"root.host.explorer.select({{ kind: 'col', i: {k}, j: {k} }});")
        ratio = re.search(r"be predicted (\S+) (\(\S+ to [^)]+\)) times", finding["sentence"])
        assert ratio
        text = reader.text(".inspector")
        assert f"×{ratio[1]} {ratio[2]}" in text
    over = max((f for f in biased if f["kind"] == "over_predicted"), key=lambda f: f["severity"])
    ratio = re.search(r"be predicted (\S+) ", over["sentence"])
    assert ratio
    assert f", {ratio[1]} times as often as it occurs)" in reader.text(".headline")
