"""The page as a reader uses it, in a real browser: every control, no error, no request."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deconfuse as dc
from tests.reporting.browser import Open, Reader
from tests.reporting.studies import CLOTHES, matrix

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def clothes() -> dc.ConfusionMatrix:
    return matrix(10, 8_000, names=CLOTHES)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, clothes: dc.ConfusionMatrix) -> Path:
    return dc.report(clothes, tmp_path_factory.mktemp("page") / "clothes.html", title="clothes-v3")


@pytest.fixture
def open_page(open_page: Open, page: Path) -> Open:
    return lambda fragment="", path=page, **screen: open_page(path, fragment, **screen)


def test_the_first_look_says_what_matters(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    assert "are similar" in reader.text(".headline")
    assert reader.text("h1") == "clothes-v3"
    assert "true on rows, predicted on columns" in reader.text("header")
    assert all(
        words in reader.text("header") for words in ("10 classes", "8,000 samples", "accuracy 0.")
    )
    assert "every row and every column sums to 1" in reader.caption()
    assert "bi-normalized" in reader.text(".inspector")
    assert reader.page.title() == "clothes-v3"


def test_each_normalization_by_button_and_by_key(open_page: Open) -> None:
    reader = open_page()
    before = reader.picture()
    for key, method, words in (
        ("1", "counts", "number of samples"),
        ("2", "row", "each row sums to 1"),
        ("3", "col", "each column sums to 1"),
        ("4", "all", "all cells together sum to 1"),
        ("5", "bi", "every row and every column"),
    ):
        reader.method(method)
        assert words in reader.caption()
        assert reader.page.get_attribute(f"[data-method={method}]", "aria-pressed") == "true"
        reader.page.evaluate("document.activeElement.blur()")
        after = reader.picture()
        assert after != before
        reader.press("1" if key != "1" else "2", key)
        reader.page.evaluate("document.activeElement.blur()")
        assert words in reader.caption()
        assert reader.picture() == after
        before = after


def test_cells_morph_for_a_moment_unless_motion_is_unwanted(open_page: Open) -> None:
    record = """
        root.querySelector('[data-method=counts]').click();
        const seen = new Set();
        return new Promise((done) => {
          const look = (frames) => {
            seen.add(root.querySelector('figure canvas.matrix').toDataURL());
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
    panes = reader.page.locator("figure.pane canvas.matrix:visible")
    assert panes.count() == 1
    reader.choose("beside", "counts")
    assert panes.count() == 2
    captions = reader.page.locator("figure.pane .caption").all_inner_texts()
    assert [text.split()[0] for text in captions] == ["bi", "counts"]
    after, before = (canvas.bounding_box() for canvas in panes.all())
    assert after["y"] == before["y"]
    assert before["x"] + before["width"] <= after["x"], "the counts come first"
    reader.choose("beside", "")
    assert panes.count() == 1


def test_orders(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    counts = np.asarray(clothes.counts)
    shares = counts / counts.sum(axis=1, keepdims=True)
    ranks = {
        "name": np.array(CLOTHES),
        "size": -clothes.label_counts,
        "errors": np.diag(counts) - counts.sum(axis=1),
        "recall": np.diag(shares),
        "bias": -shares.sum(axis=0),
    }
    orders = {order: np.argsort(rank, kind="stable").tolist() for order, rank in ranks.items()}
    orders["similarity"] = dc.statistics.hierarchy(clothes).order.tolist()
    for order, expected in orders.items():
        before = reader.picture()
        reader.choose("order", order)
        assert reader.picture() != before
        assert reader.ask("return root.host.explorer.frame.order;") == expected
        assert f"order={order}" in reader.hash()


def test_log_colours(open_page: Open) -> None:
    reader = open_page()
    before = reader.picture()
    reader.page.click("[data-control=log]")
    assert reader.picture() != before
    assert "log" in reader.text(".legend")
    reader.press("l")
    reader.page.evaluate("document.activeElement.blur()")
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
    grouped = units.index(max(units))
    reader.ask(
        f"const {{ explorer }} = root.host; const [k] = explorer.frame.units[{grouped}].members;"
        "explorer.select({ kind: 'cell', i: k, j: k });"
    )
    assert f"group of {max(units)} classes" in reader.text(".inspector")
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
    assert "true Shirt\npredicted T-shirt" in text
    assert f"{clothes.counts[6, 0]} samples" in text
    assert "#cell=6.0" in reader.hash()
    left = reader.main().bounding_box()
    reader.page.mouse.click(left["x"] + 40, y)
    assert reader.inspected() == "true Shirt"
    assert "row=6" in reader.hash()
    reader.page.mouse.click(x, left["y"] + 20)
    assert reader.inspected() == "predicted T-shirt"
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
    estimate = dc.estimate_bi(clothes)
    for text, method in zip(rows[:4], ("row", "col", "all", "bi"), strict=True):
        n = clothes.normalize(method)
        matrix, low, high = n.matrix, *n.confidence_interval()
        if method == "bi":
            matrix, low, high = estimate.matrix, estimate.low, estimate.high
        name, value, interval = text.split("\t")[0].split()[0], *text.split("\t")[-2:]
        assert name == method
        assert float(value) == pytest.approx(matrix[i, j], rel=0.005)
        ends = [float(end) for end in interval.split(" to ")]
        assert ends == pytest.approx([low[i, j], high[i, j]], rel=0.06)
    [definition] = rows[4:]
    assert definition.startswith("bi + ε")
    assert f"{clothes.normalize('bi').matrix[i, j]:.3f}"[:5] in definition
    parts = dc.diagnose(clothes).attribution.cell(true, pred)
    factors = [float(v) for v in re.findall(r"×([\d.]+)", reader.text(".fall"))]
    expected = np.exp([parts.similarity, parts.label, parts.prediction])
    assert factors == pytest.approx(expected, rel=0.06)
    reader.page.click("[data-method='bi-epsilon']")
    text = reader.text(".inspector")
    weight = clothes.normalize("bi").weights([true], [pred])[0]
    said = re.search(r"weighs (\S+) in bi \+ ε", text)
    assert said is not None
    assert number(said[1]) == pytest.approx(weight, rel=0.01)
    assert f"The other way: {pred} → {true}: {clothes.counts[j, i]} sample" in text
    reader.page.click(".reverse button")
    assert reader.inspected() == f"true {pred}\npredicted {true}"


def test_warnings_where_a_cell_rests_on_little(
    open_page: Open, clothes: dc.ConfusionMatrix
) -> None:
    empty = np.argwhere(clothes.counts == 0)[0]
    few = np.argwhere((clothes.counts > 0) & (clothes.counts < 5))[0]
    reader = open_page(f"#cell={empty[0]}.{empty[1]}")
    assert "the value is an estimate" in reader.text(".warning")
    reader.page.click("[data-method='bi-epsilon']")
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


def test_findings_are_lines_that_open_and_lead_to_their_cells(
    open_page: Open, clothes: dc.ConfusionMatrix
) -> None:
    reader = open_page()
    finding = dc.diagnose(clothes).findings[0]
    first, second = finding.classes
    assert reader.text("button.finding >> nth=0").startswith(f"{first} ↔ {second}")
    assert not reader.page.locator(".detail").first.is_visible()
    reader.page.click("button.finding >> nth=0")
    assert reader.text(".detail >> nth=0").startswith(finding.sentence)
    assert finding.advice.replace("`", "") in reader.text(".detail >> nth=0")
    assert reader.inspected() == f"true {first}\npredicted {second}"
    more = reader.page.locator(".findings .more")
    while more.count():
        more.first.click()
    buttons = reader.page.locator("button.finding")
    biased = [bias for bias in dc.diagnose(clothes).biases if bias.verdict in ("over", "under")]
    others = [f for f in dc.diagnose(clothes).findings if not f.kind.endswith("predicted")]
    assert buttons.count() == len(biased) + len(others), "all of them, not the first few"
    for button in buttons.all():
        button.click()
        assert reader.inspected() != "Before: the counts"


def test_the_matrix_stays_in_view_while_findings_are_read(open_page: Open) -> None:
    reader = open_page(size=(1280, 420))
    more = reader.page.locator(".findings .more")
    while more.count():
        more.first.click()
    last = reader.page.locator("button.finding").last
    last.scroll_into_view_if_needed()
    last.click()
    assert reader.page.evaluate("scrollY") > 0
    box = reader.main().bounding_box()
    assert box["y"] < 120
    assert box["y"] + box["height"] > 120


def test_a_bias_opens_the_view_that_shows_it(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page()
    biased = [bias for bias in dc.diagnose(clothes).biases if bias.verdict == "over"]
    most = max(biased, key=lambda bias: bias.ratio)
    reader.page.click(f".findings .over_predicted + .heads + ul button:has-text('{most.label}')")
    assert "method=row" in reader.hash()
    assert reader.inspected() == f"predicted {most.label}"
    assert "epsilon" not in reader.text(".inspector"), "nothing is added in this view"
    bar, even, drawn = reader.ask(
        """const { scene } = root.host.explorer.views[0];
        const { cols } = scene.bars;
        const reach = scene.layout.bar - 4;
        const pixels = (share) => reach * Math.min(1, share / scene.pane.longest);
        const own = cols[scene.selection.j];
        return [pixels(own), pixels(scene.pane.even.cols), own / scene.pane.even.cols];"""
    )
    assert bar / even == pytest.approx(most.ratio, rel=0.01)
    assert drawn == pytest.approx(most.ratio)


def test_counts_and_bi_are_both_on_the_first_screen(open_page: Open) -> None:
    reader = open_page()
    before, after = (
        reader.page.locator(f"{place} canvas.matrix:visible").first.bounding_box()
        for place in (".inspector", "figure")
    )
    for box in (before, after):
        assert box["y"] + box["height"] <= 900
    assert before["x"] + before["width"] <= after["x"]
    scenes = reader.ask(
        """const e = root.host.explorer;
        return [e.before, e.views[0]].map(({ scene }) => [scene.pane.method, scene.marks]);"""
    )
    assert [method for method, _ in scenes] == ["counts", "bi"]
    assert scenes[0][1] == scenes[1][1] != []
    pair = reader.ask("return root.host.explorer.study.findings[0];")
    alike, counts = pair["ranks"]
    assert f"{counts} → {alike}" in reader.text(".ranks")
    bottom = reader.page.locator(".ranks").bounding_box()
    assert bottom["y"] + bottom["height"] <= 900


def test_play_turns_counts_into_bi_and_moves_nothing_where_motion_is_unwanted(
    open_page: Open,
) -> None:
    still = open_page()
    bi = still.picture()
    still.page.click("[data-control=play]")
    assert still.ask("return root.host.explorer.views[0].scene.pane.method;") == "counts"
    counts = still.picture()
    assert counts != bi
    still.page.wait_for_timeout(1200)
    assert still.picture() == counts, "nothing changes by itself"
    still.page.click("[data-control=play]")
    assert still.picture() == bi
    moving = open_page(reduced_motion="no-preference")
    moving.page.click("[data-control=play]")
    assert moving.picture() == counts
    moving.page.wait_for_function(
        "() => document.getElementById('deconfuse').explorer.views[0].scene.pane.method === 'bi'"
    )
    moving.page.wait_for_timeout(1500)
    assert moving.picture() == bi
    assert moving.page.evaluate("history.length") == 2, "playing is no step to go back to"


@pytest.mark.parametrize("n", [10, 24])
def test_the_matrix_and_its_metrics_get_the_room(open_page: Open, tmp_path: Path, n: int) -> None:
    names = [f"Type 2 diabetes with complication {k}, unspecified" for k in range(n)]
    path = dc.report(matrix(n, 9_000, names=names), tmp_path / "page.html")
    for size in ((1280, 720), (1366, 768), (1440, 900), (1920, 1080), (3840, 2160)):
        reader = open_page(path=path, size=size)
        for order in ("given", "similarity"):
            reader.choose("order", order)
            assert reader.layout()["columns"] == 4, "recall, precision, bias and n"
            assert reader.layout()["side"] >= 0.55 * size[1]
        box = reader.main().bounding_box()
        assert box["y"] + box["height"] <= size[1]
        inspector = reader.page.locator(".inspector").bounding_box()
        assert box["x"] - inspector["x"] - inspector["width"] <= 64
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_window_made_taller_gives_a_larger_matrix(open_page: Open) -> None:
    reader = open_page(size=(1900, 600))
    before = reader.layout()["side"]
    reader.page.set_viewport_size({"width": 1900, "height": 1000})
    reader.settle()
    assert reader.layout()["side"] > before + 200


def test_the_header_has_the_scores(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    said = re.search(
        r"accuracy (\S+), balanced (\S+), macro F1 (\S+), kappa (\S+)",
        open_page().text("header").replace("\n", " "),
    )
    assert said is not None
    expected = (clothes.accuracy, clothes.balanced_accuracy, clothes.macro_f1, clothes.kappa)
    assert [float(number) for number in said.groups()] == pytest.approx(expected, abs=5e-4)


def test_errors_only_and_at_least_so_many_samples(open_page: Open) -> None:
    reader = open_page("#method=counts")
    before = reader.picture()
    reader.page.click("[data-control=diagonal]")
    reader.choose("least", "20")
    assert "diagonal=hidden" in reader.hash()
    assert "least=20" in reader.hash()
    assert reader.picture() != before
    shades, counts = reader.ask(
        """const { scene } = root.host.explorer.views[0];
        return [[...scene.shades], [...scene.pane.counts]];"""
    )
    seen = np.reshape(np.array(shades) > 0, (10, 10))
    np.testing.assert_array_equal(
        seen, (np.reshape(counts, (10, 10)) >= 20) & ~np.eye(10, dtype=bool)
    )
    again = open_page(reader.hash())
    assert again.picture() == reader.picture()


def test_back_retraces_the_steps(open_page: Open) -> None:
    reader = open_page()
    where = [reader.inspected()]
    for k in range(3):
        reader.page.click(f"button.finding >> nth={k}")
        where.append(reader.inspected())
    reader.press("ArrowRight", "ArrowRight", "ArrowDown")
    for expected in reversed(where[:-1]):
        reader.page.go_back()
        reader.settle()
        assert reader.inspected() == expected
    assert reader.page.url == reader.address
    reader.page.go_forward()
    reader.settle()
    assert reader.inspected() == where[1]


def test_a_label_shows_its_whole_name(open_page: Open) -> None:
    reader = open_page()
    x, y = reader.cell(6, 0, 10)
    reader.page.mouse.move(reader.main().bounding_box()["x"] + 40, y)
    assert re.fullmatch(
        r"true Shirt\n[\d,]+ samples\nrecall 0\.\d+, precision 0\.\d+, bias ×\d\.\d+",
        reader.text(".tip"),
    )
    reader.page.mouse.move(x, reader.main().bounding_box()["y"] + 20)
    assert reader.text(".tip").startswith("predicted T-shirt")


def test_a_tap_on_a_phone_is_answered_in_view(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page(size=(390, 844), has_touch=True, is_mobile=True)
    x, y = reader.cell(2, 0, 10)
    reader.page.touchscreen.tap(x, y)
    for selector in (".lead", ".dots"):
        box = reader.page.locator(selector).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 844
    assert f"{clothes.counts[2, 0]}" in reader.text(".lead")
    reader.page.click(".inspector .close")
    assert reader.inspected() == "Before: the counts"
    reader.page.touchscreen.tap(*reader.cell(9, 0, 10))
    assert reader.cell(9.4, 0, 10)[1] < reader.page.locator(".inspector").bounding_box()["y"]


def test_swiping_scrolls_and_the_wheel_too(open_page: Open, tmp_path: Path) -> None:
    path = dc.report(matrix(100, 9_000), tmp_path / "page.html")
    reader = open_page(path=path, size=(390, 844), has_touch=True, is_mobile=True)
    client = reader.context.new_cdp_session(reader.page)
    box = reader.main().bounding_box()
    view = reader.ask("return root.host.explorer.view;")
    x, y = box["x"] + 200, box["y"] + 250
    for step in range(16):
        kind, finger = "touchMove" if step else "touchStart", {"x": x, "y": y - 20 * step}
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
        reader.page.wait_for_timeout(16)
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    reader.page.wait_for_function("scrollY > 200")
    assert reader.ask("return root.host.explorer.view;") == view
    desk = open_page(path=path, size=(1280, 500))
    center = desk.main().bounding_box()
    desk.page.mouse.move(center["x"] + 300, center["y"] + 200)
    for step in (240, -240):
        desk.page.mouse.wheel(0, step)
        desk.page.wait_for_timeout(150)
    assert desk.ask("return root.host.explorer.view;") == view, "the wheel scrolls, both ways"
    desk.main().focus()
    desk.page.mouse.wheel(0, -240)
    desk.page.wait_for_function(
        f"() => document.getElementById('deconfuse').explorer.view.span < {view['span']}"
    )


def test_embedded_in_a_frame_without_an_address(open_page: Open, page: Path, browser: Any) -> None:
    complaints: list[str] = []
    tab = browser.new_page(viewport={"width": 1300, "height": 900}, reduced_motion="reduce")
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    for sandbox in ("allow-scripts", "allow-scripts allow-same-origin"):
        # As Streamlit and Gradio do it, and as the guide shows it.
        tab.set_content(
            f'<p>An application</p><iframe sandbox="{sandbox}" width="1200" height="800" '
            f'srcdoc="{escape(page.read_text(encoding="utf-8"))}"></iframe>'
        )
        frame = tab.frame_locator("iframe")
        frame.locator("button.finding").first.click()
        frame.locator("[data-method=row]").click()
        assert "each row sums to 1" in frame.locator(".caption").first.inner_text()
        frame.locator(".exports summary").click()
        frame.locator("[data-export=link]").click()
        assert "no address of its own" in frame.locator(".said").inner_text()
    assert complaints == []
    tab.close()


def test_the_ring_of_the_focus_is_whole(open_page: Open) -> None:
    reader = open_page()
    reader.page.focus("[data-method=row]")
    reader.page.keyboard.press("Tab")
    reader.page.keyboard.press("Shift+Tab")
    cut = reader.ask(
        """const button = root.activeElement;
        const style = getComputedStyle(button);
        if (style.outlineStyle === 'none') return ['no ring'];
        const found = [];
        for (let at = button.parentElement; at; at = at.parentElement) {
          if (getComputedStyle(at).overflow !== 'visible') found.push(at.className);
        }
        return found;"""
    )
    assert cut == []


def test_search_jumps_to_a_class(open_page: Open) -> None:
    reader = open_page()
    reader.press("/")
    reader.page.keyboard.type("sh")
    options = reader.page.locator("[role=option]").all_inner_texts()
    assert [text.split(" ")[0] for text in options] == ["Shirt", "T-shirt"]
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Enter")
    assert reader.inspected() == "true T-shirt"
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
    assert reader.inspected() == "Before: the counts", "a drag is not a click"
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


def test_exported_counts_can_be_read_again(
    open_page: Open, clothes: dc.ConfusionMatrix, tmp_path: Path
) -> None:
    reader = open_page("#method=counts&order=size")
    (tmp_path / "counts.csv").write_bytes(reader.export("CSV"))
    assert dc.ConfusionMatrix.from_file(tmp_path / "counts.csv").reorder(clothes.labels) == clothes


def test_exports(open_page: Open, clothes: dc.ConfusionMatrix) -> None:
    reader = open_page("#method=row&order=size")
    rows = list(csv.reader(io.StringIO(reader.export("CSV").decode())))
    assert rows[0][0].startswith("true \\ predicted (row: each row sums to 1")
    expected = clothes.normalize("row").to_pandas()
    values = np.array([[float(v) for v in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(
        values, expected.loc[[row[0] for row in rows[1:]], rows[0][1:]], rtol=1e-9
    )
    drawing = ET.fromstring(reader.export("SVG").decode())
    text = " ".join(drawing.itertext())
    assert all(name in text for name in CLOTHES)
    assert "true class" in text
    assert "predicted class" in text
    assert "each row sums to 1" in text
    picture = reader.export("PNG")
    assert picture.startswith(b"\x89PNG")
    size = int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")
    assert min(size) > 600
    table = reader.export("LaTeX").decode()
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
    press("ArrowRight")
    assert reader.inspected() == "Before: the counts", "without the focus keys are the browser's"
    reader.main().focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        press(key)
    assert reader.inspected() == "true Trouser\npredicted Trouser"
    assert "true Trouser, predicted Trouser" in reader.ask(
        "return root.querySelector('[aria-live]').textContent;"
    )
    press("ArrowRight")
    press("r")
    assert reader.inspected() == "true Pullover\npredicted Trouser"
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
    assert reader.inspected() == "Before: the counts"
    reached = set()
    reader.page.evaluate("document.activeElement.blur()")
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
    wanted = "counts row col all bi beside order groups log theme help diagonal least play"
    assert {*wanted.split(), "matrix", "finding"} <= reached
    assert not [name for name in reached if name.endswith("unseen")]


def test_a_screen_reader_finds_the_matrix_as_a_grid(
    open_page: Open, clothes: dc.ConfusionMatrix
) -> None:
    reader = open_page("#method=counts")
    reader.page.wait_for_selector("canvas [role=gridcell]", state="attached")
    grid = reader.ask(
        """return [...root.querySelectorAll('figure canvas [role=row]')].map((row) =>
          [...row.children].map((cell) => cell.textContent));"""
    )
    assert grid[0] == ["true \\ predicted", *CLOTHES]
    assert [
        [int(v.replace(",", "")) for v in row[1:]] for row in grid[1:]
    ] == clothes.counts.tolist()
    assert "True classes on rows" in str(reader.main().get_attribute("aria-label"))
    reader.press("ArrowRight", "ArrowRight")
    reader.page.wait_for_selector("canvas[aria-activedescendant]")
    active = reader.ask(
        """const grid = root.querySelector('figure canvas');
        const cell = root.getElementById(grid.getAttribute('aria-activedescendant'));
        return [cell.getAttribute('aria-selected'), cell.textContent];"""
    )
    assert active == ["true", str(clothes.counts[0, 1])]
    client = reader.context.new_cdp_session(reader.page)
    tree = client.send("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in tree if not node["ignored"]]
    assert roles.count("grid") == 1
    assert roles.count("gridcell") == 100
    assert roles.count("columnheader") >= 11


def test_phone_width_needs_no_sideways_scrolling(open_page: Open) -> None:
    reader = open_page("#cell=6.0&beside=counts", size=(390, 844))
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    after, before = (c.bounding_box() for c in reader.page.locator("figure canvas.matrix").all())
    assert after["y"] > before["y"] + before["height"] - 1
    assert reader.inspected() == "true Shirt\npredicted T-shirt"


def test_two_fingers_zoom_and_move(open_page: Open) -> None:
    reader = open_page(size=(390, 844), has_touch=True, is_mobile=True)
    client = reader.context.new_cdp_session(reader.page)
    x, y = reader.cell(4, 4, 10)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(points)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 6):
        touch("touchMove", (x - 20 - 12 * step, y), (x + 20 + 12 * step, y))
    touch("touchEnd")
    zoomed = reader.ask("return root.host.explorer.view;")
    assert zoomed["span"] < 6
    touch("touchStart", (x - 40, y), (x + 40, y))
    for step in range(1, 6):
        touch("touchMove", (x - 40 + 10 * step, y + 10 * step), (x + 40 + 10 * step, y + 10 * step))
    touch("touchEnd")
    moved = reader.ask("return root.host.explorer.view;")
    assert moved["span"] == pytest.approx(zoomed["span"], rel=0.2)
    assert reader.inspected() == "Before: the counts", "two fingers select nothing"
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
    for hidden in (".toolbar", ".corner"):
        assert not reader.page.is_visible(hidden)
    assert reader.main().is_visible()
    printed = reader.ask("return root.querySelector('.findings').innerText;")
    for text in (*expected["sentences"], *expected["advice"]):
        assert text in printed
    assert pages_of(reader) <= 2


def test_paper_shows_what_was_selected(open_page: Open) -> None:
    reader = open_page("#cell=4.1", color_scheme="dark")
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
