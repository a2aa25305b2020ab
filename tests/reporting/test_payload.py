"""The payload: what a page carries is what Python computed, complete and in one version."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.demo import make_demo
from deconfuse.reporting import page_payload
from deconfuse.reporting import payload as schema
from deconfuse.reporting.page import asset, bundle, to_html, to_latex, to_markdown
from deconfuse.reporting.payload import EncodedArray, encode, to_json
from tests.reporting.studies import CLOTHES, HOSTILE, matrix, predictions, summarize


@pytest.fixture(scope="module")
def clothes() -> dc.ConfusionMatrix:
    return matrix(10, 8_000, names=CLOTHES)


@given(
    st.lists(st.floats(width=32) | st.integers(0, 65_535).map(float), max_size=20),
)
def test_arrays_come_back_as_they_went(values: list[float]) -> None:
    np.testing.assert_array_equal(encode(values, "f8").decode(), np.array(values, dtype=float))


def test_the_browser_reads_the_version_that_python_writes() -> None:
    said = re.search(r"SCHEMA_VERSION = (\d+);", asset("explorer/model.js"))
    assert said is not None
    assert int(said[1]) == schema.SCHEMA_VERSION


# A change here changes what old pages and new explorers say to each other: raise the version.
KEYS = {
    "ReportPayload": (
        "schema_version generator title headline labels outcomes limits models findings "
        "similarity_order linkage bucket directory samples geometry comparison kinds groups "
        "other_samples"
    ),
    "ModelPayload": (
        "name total n_samples weighted cells counts scalings estimate intervals attribution "
        "classes bucket_values headline scores outcomes"
    ),
    "EstimatePayload": "rows columns unit hits shape concentration wide wide_share"
    " similar_share similar_times background least",
    "OutcomePayload": "outcome side counts low high others",
    "ScalingPayload": "epsilon left right status residual",
    "IntervalPayload": "low high",
    "AttributionPayload": "base label prediction",
    "ClassesPayload": "bias bias_low bias_high verdicts grades reasons condition",
    "FindingPayload": "kind severity sentence advice cells classes ranks",
    "GroupPayload": "name classes",
    "KindPayload": "name title",
    "LimitsPayload": "few_samples few_labels level quantile wide_ratio",
    "BucketPayload": "n_classes",
    "BucketValuesPayload": "row col",
    "DirectoryPayload": (
        "labels total label_counts prediction_counts right called_offsets called_at called_counts"
        " scalings estimate"
    ),
    "SamplesPayload": "noun cells offsets rows ids image_at images texts scores",
    "PointsPayload": "x y true pred total",
    "GeometryPayload": "matrices agreement points",
    "ComparisonPayload": "changes cells p_values difference level overlap overlap_interval",
}


def test_version_two_has_these_keys() -> None:
    assert schema.SCHEMA_VERSION == 2
    records = [name for name in schema.__all__ if name.endswith("Payload")]
    assert {
        name: " ".join(f.name for f in fields(getattr(schema, name))) for name in records
    } == KEYS


def test_json_keys_are_the_field_names(clothes: dc.ConfusionMatrix) -> None:
    plain = json.loads(to_json(summarize(clothes, title="t")))
    assert list(plain) == KEYS["ReportPayload"].split()
    assert list(plain["models"][0]) == KEYS["ModelPayload"].split()


def test_counts_and_diagonals_give_every_normalization(clothes: dc.ConfusionMatrix) -> None:
    [model] = summarize(clothes, title="t").models
    counts = np.zeros(100)
    counts[model.cells.decode()] = model.counts.decode()
    counts = counts.reshape(10, 10)
    np.testing.assert_array_equal(counts, clothes.counts)
    for key in ("row", "col", "all", "bi-epsilon"):
        method, scaling = key.removesuffix("-epsilon"), model.scalings[key]
        values = (
            scaling.left.decode()[:, None] * (counts + scaling.epsilon) * scaling.right.decode()
        )
        np.testing.assert_allclose(values, clothes.normalize(method).matrix, rtol=1e-9)
    parts = dc.diagnose(clothes).attribution
    np.testing.assert_allclose(np.log(model.attribution.label.decode()), parts.label)
    assert np.log(model.attribution.base) == pytest.approx(parts.base)


def test_weighted_counts_stay_what_they_are() -> None:
    cm = dc.ConfusionMatrix.from_predictions(
        [0, 0, 1, 1], [0, 1, 1, 0], sample_weight=[0.5, 2, 1, 3]
    )
    [model] = summarize(cm, title="t").models
    assert model.weighted
    assert model.total == 6.5
    assert model.counts.decode().tolist() == [0.5, 2.0, 3.0, 1.0]


def test_equal_input_gives_equal_bytes(clothes: dc.ConfusionMatrix) -> None:
    true, pred = predictions(10, 8_000)
    names = np.array(CLOTHES)
    pages = set()
    for _ in range(2):
        again = dc.ConfusionMatrix.from_predictions(names[true], names[pred], labels=CLOTHES)
        samples = dc.Samples(
            names[true], names[pred], images=np.ones((8_000, 4, 4)) * true[:, None, None]
        )
        embeddings = np.column_stack([true, pred, true * pred]).astype(float)
        pages.add(to_html(dc.Study(again, samples=samples, embeddings=embeddings), "t"))
    assert len(pages) == 1


def test_the_page_allows_its_own_script_and_nothing_else(clothes: dc.ConfusionMatrix) -> None:
    page = to_html(dc.Study(clothes), "t")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert set(re.findall(r"https?://[\w.]+", page)) == {"http://www.w3.org"}, "names of XML only"


def test_names_cannot_leave_the_payload_or_the_text() -> None:
    page = to_html(dc.Study(matrix(len(HOSTILE), 4_000, names=HOSTILE)), "</title><script>")
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<!--" not in page
    assert "<img" not in page.replace(bundle("page"), "")
    body = re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)
    assert body is not None
    assert json.loads(body[1])["labels"] == HOSTILE


def test_the_headline_names_classes_that_never_occur() -> None:
    counts = [[80, 4, 0, 1], [5, 90, 0, 2], [0, 0, 0, 0], [0, 0, 0, 0]]
    one = dc.ConfusionMatrix.from_counts([row[:3] for row in counts[:3]], labels=["a", "b", "c"])
    assert summarize(one, title="t").headline.endswith(". “c” is neither a label nor predicted.")
    two = dc.ConfusionMatrix.from_counts(counts, labels=["a", "b", "c", "d"])
    assert summarize(two, title="t").headline.endswith(
        ". “d” is never a label. “c” is neither a label nor predicted."
    )


def test_the_headline_tells_no_bias_that_no_finding_tells() -> None:
    cm = dc.ConfusionMatrix.from_counts([[9_000, 1_000], [1_500, 8_500]], labels=["a", "b"])
    page = summarize(cm, title="t")
    assert [found.kind for found in page.findings] == []
    assert "predicted 1" not in page.headline
    assert "none is shown to be over- or under-predicted" in page.headline


def test_the_headline_contrasts_what_is_alike_with_what_is_only_confused() -> None:
    page = summarize(make_demo().cm, title="t")
    assert (
        "“3” and “9” are similar, and so are 3 more pairs (for 2 of them other errors may explain"
        " it)."
        " “0” and “6”, and 1 more pair, are often confused, but less similar."
    ) in page.headline


def test_the_headline_says_how_many_classes_have_few_labels() -> None:
    rare = dc.ConfusionMatrix.from_counts([[4, 1, 1], [1, 400, 20], [1, 20, 300]])
    page = summarize(rare, title="t")
    assert page.headline.endswith("1 class has fewer than 10 labels.")
    assert any(found.kind == "careful" and 0 in found.classes for found in page.findings)


def test_markdown_has_the_findings_and_the_counts() -> None:
    cm = matrix(len(HOSTILE), 4_000, names=HOSTILE)
    text = to_markdown(dc.Study(cm), "a|b")
    assert text.startswith("# a\\|b\n")
    assert "True classes on rows, predicted classes on columns" in text
    assert "<img" not in text.replace("\\<img", "")
    rows = [line for line in text.splitlines() if line.startswith("| **")]
    assert len(rows) == len(HOSTILE)
    assert [int(v) for v in re.findall(r"(?<= )\d+(?= )", rows[0])] == cm.counts[0].tolist()


def test_latex_has_values_and_counts(clothes: dc.ConfusionMatrix) -> None:
    text = to_latex(dc.Study(clothes), "100 %")
    value = clothes.normalize("bi").matrix[0, 0]
    assert f"{value:.3f} ({clothes.counts[0, 0]})" in text
    assert r"100 \%" in text
    assert text.count(r"\\") == 11


def test_texts_hold_counts_in_full_and_no_value_of_a_class_never_seen() -> None:
    counts = [[123_456_789_012_345, 1, 0], [2, 8, 0], [0, 0, 0]]
    study = dc.Study(dc.ConfusionMatrix.from_counts(counts, labels=list("abc")))
    table = to_latex(study, "t")
    assert "(123,456,789,012,345)" in table
    assert r"c & – (0) & – (0) & – (0) \\" in table
    assert table.count(" –: never seen.") == 1
    markdown = to_markdown(study, "t")
    assert "| **a** | 123,456,789,012,345 | 1 | 0 |" in markdown
    assert "| **c** | 0 | 0 | 0 |" in markdown
    seen = to_latex(dc.Study(dc.ConfusionMatrix.from_counts([[1.5, 1], [2, 8]])), "t")
    assert "–" not in seen
    assert "(1.5)" in seen


@pytest.mark.parametrize("n_matrices", [1, 2])
def test_findings_about_thousands_of_classes_look_names_up_once(
    n_matrices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = 2_500
    rng = np.random.default_rng(0)
    true = rng.integers(0, k, 4 * k)
    pred = np.where(rng.random(4 * k) < 0.8, true, rng.integers(0, k, 4 * k))
    cm = dc.ConfusionMatrix.from_predictions(true, pred, labels=range(k))
    looked_up = []
    index_of = dc.ConfusionMatrix.index_of
    monkeypatch.setattr(
        dc.ConfusionMatrix,
        "index_of",
        lambda self, labels: (looked_up.append(len(labels)), index_of(self, labels))[1],
    )
    diagnosis = dc.diagnose(cm)
    most = max(len(found.classes) for found in diagnosis.findings)
    assert most > k / 2
    asked = len(looked_up)
    payload = summarize({str(name): cm for name in range(n_matrices)}, title="many")
    # A lookup costs as much as there are classes: none beside those of the diagnosis.
    assert len(looked_up) <= (1 + n_matrices) * (asked + 1)
    # Rows of the page, each once: hundreds of classes share the bucket's.
    n = len(payload.labels)
    for found, shown in zip(diagnosis.findings, payload.findings, strict=True):
        assert len(set(shown.classes)) == len(shown.classes) <= n
        assert len(set(shown.cells)) == len(shown.cells)
        kept = [name for name in map(str, found.classes) if name in payload.labels]
        assert [payload.labels[row] for row in shown.classes if row < n - 1] == kept
        assert (n - 1 in shown.classes) == (len(kept) < len(found.classes))


def test_the_bundle_holds_every_module_once_and_imports_nothing() -> None:
    for entry in ("page", "widget"):
        script = bundle(entry)
        assert re.search(r"^import ", script, re.MULTILINE) is None
        assert script.count("export default") == (entry == "widget")
        defined = re.findall(r"^const (\$\w+) = ", script, re.MULTILINE)
        assert len(defined) == len(set(defined)) > 20


def test_large_weights_and_single_classes_have_a_page() -> None:
    for counts in ([[7]], [[3, 0], [0, 0]], [[0, 4], [4, 0]], [[2**40, 1], [1, 2**40]]):
        study = dc.Study(dc.ConfusionMatrix.from_counts(counts))
        page = page_payload.summarize(study, "t")
        assert page.models[0].total == np.sum(counts)
        assert isinstance(page.models[0].counts, EncodedArray)
        assert to_html(study, "t")


@pytest.mark.parametrize("n_classes", [5, 40])
def test_the_differences_of_the_same_samples_are_tested_by_their_pairs(n_classes: int) -> None:
    true, first = predictions(n_classes, 4_000)
    rng = np.random.default_rng(1)
    second = np.where(rng.random(true.size) < 0.3, true, first)
    labels = list(range(n_classes))
    one, other = (
        dc.ConfusionMatrix.from_predictions(true, said, labels=labels) for said in (first, second)
    )
    paired = (true, first, second)
    page = summarize({"a": one, "b": other}, title="t", paired=paired)
    assert page.comparison is not None
    expected = dc.compare(one, other, paired=paired).p_values.ravel()
    cells = page.comparison.cells.decode()
    np.testing.assert_allclose(page.comparison.p_values.decode(), expected[cells], rtol=1e-6)
    apart = summarize({"a": one, "b": other}, title="t")
    assert apart.comparison is not None
    assert apart.comparison.p_values != page.comparison.p_values


@pytest.mark.parametrize("method", ["row", "col", "all"])
@pytest.mark.parametrize("unit", [1, 0.5])
def test_intervals_of_the_page_are_those_of_the_normalization(method: Any, unit: float) -> None:
    counts = np.asarray(matrix(120, 4_000).counts) * unit
    counts[7] = 0
    cm = dc.ConfusionMatrix.from_counts(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = cm.normalize(method, throw=False).confidence_interval()
        table: Any = summarize(cm, title="").models[0].intervals
    at = np.divmod(table["cells"].decode(), 120)
    np.testing.assert_allclose(table[method].low.decode(), low[at], rtol=1e-6)
    np.testing.assert_allclose(table[method].high.decode(), high[at], rtol=1e-6)
