"""Static figures: scikit-learn's manners, readable sizes, names that stay text."""

from __future__ import annotations

import io
import itertools
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay as SklearnDisplay
from sklearn.metrics import confusion_matrix

import deconfuse as dc
from deconfuse.errors import InputError
from deconfuse.reporting.plots import ConfusionMatrixDisplay, plot_four, write_figure

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    r"$\frac{1}{$",
    r"\textbf{tex}_^&%#",
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "x" * 200,
    "\u202eesrever",
    "",
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def simulated(n_classes: int, labels=None, total: int = 20_000) -> dc.ConfusionMatrix:
    rng = np.random.default_rng(n_classes)
    chances = rng.gamma(0.3, 1.0, (n_classes, n_classes)) + 0.9 * n_classes * np.eye(n_classes)
    counts = rng.multinomial(total, (chances / chances.sum()).ravel())
    return dc.ConfusionMatrix.from_counts(counts.reshape(n_classes, n_classes), labels)


def rendered(figure: Figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_from_predictions_draws_what_scikit_learn_draws():
    y_true, y_pred = ["a", "b", "b", "c", "c", "c"], ["a", "b", "c", "c", "a", "c"]
    for ours, theirs in ((None, None), ("true", "true"), ("col", "pred"), ("all", "all")):
        mine = ConfusionMatrixDisplay.from_predictions(y_true, y_pred, normalize=ours)
        other = SklearnDisplay.from_predictions(y_true, y_pred, normalize=theirs)
        np.testing.assert_allclose(mine.confusion_matrix, other.confusion_matrix)
        assert [t.get_text() for t in mine.ax_.get_xticklabels()] == ["a", "b", "c"]
        assert mine.ax_.get_xlabel() == other.ax_.get_xlabel()
        assert mine.ax_.get_ylabel() == other.ax_.get_ylabel()
        assert mine.ax_.get_ylim() == other.ax_.get_ylim()
        assert mine.text_.shape == other.text_.shape
        assert mine.figure_ is mine.ax_.figure


def test_bi_is_drawn_with_its_epsilon_and_sums_in_the_title():
    cm = simulated(4)
    display = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="bi")
    np.testing.assert_allclose(display.confusion_matrix, cm.normalize("bi").matrix)
    assert display.ax_.get_title() == (
        "Bi-normalized (epsilon 0.25)\neach row and each column sums to 1"
    )
    half = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="bi", epsilon=0.5)
    np.testing.assert_allclose(half.confusion_matrix, cm.normalize("bi", epsilon=0.5).matrix)


def test_from_estimator_predicts_and_refuses_what_is_no_classifier():
    data, labels = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(data, labels)
    display = ConfusionMatrixDisplay.from_estimator(
        model, data, labels, display_labels=["setosa", "versicolor", "virginica"]
    )
    np.testing.assert_array_equal(
        display.confusion_matrix, confusion_matrix(labels, model.predict(data))
    )
    assert display.display_labels == ("setosa", "versicolor", "virginica")
    with pytest.raises(InputError, match="must be a fitted classifier, got LinearRegression"):
        ConfusionMatrixDisplay.from_estimator(LinearRegression().fit(data, labels), data, labels)


def test_from_predictions_takes_labels_and_weights():
    display = ConfusionMatrixDisplay.from_predictions(
        [0, 1, 1], [0, 1, 0], labels=[1, 0, 2], sample_weight=[0.5, 2.0, 1.0]
    )
    np.testing.assert_allclose(display.confusion_matrix, [[2, 1, 0], [0, 0.5, 0], [0, 0, 0]])
    assert display.display_labels == (1, 0, 2)


def test_plot_returns_itself_and_draws_into_given_axes():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4))
    display = ConfusionMatrixDisplay(simulated(3))
    assert display.plot(ax=axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].images
    # The colour bars take their room from the axes, not from the neighbour.
    figure.canvas.draw()
    assert display.im_.colorbar.ax.get_window_extent().x1 < figure.bbox.x1


def test_it_draws_into_a_subfigure():
    part, _ = plt.figure(layout="constrained", figsize=(8, 4)).subfigures(1, 2)
    display = ConfusionMatrixDisplay(simulated(3)).plot(ax=part.subplots())
    assert display.figure_ is part
    assert display.text_ is not None


def test_diagonal_and_errors_have_scales_of_their_own():
    display = ConfusionMatrixDisplay(simulated(10)).plot()
    on, off = display.im_diagonal_, display.im_
    assert "Oranges" in on.cmap.name
    assert "Blues" in off.cmap.name
    assert on.get_clim()[1] > 2 * off.get_clim()[1]
    assert np.ma.getmaskarray(off.get_array()).sum() == 10
    assert np.ma.getmaskarray(on.get_array()).sum() == 90
    assert on.colorbar is not None
    assert off.colorbar is not None


def test_a_cmap_means_one_scale_as_in_scikit_learn():
    cm = simulated(4)
    for display in (
        ConfusionMatrixDisplay(cm).plot(cmap="viridis"),
        ConfusionMatrixDisplay(cm).plot(im_kw={"cmap": "viridis"}),
    ):
        assert display.im_diagonal_ is None
        assert display.im_.cmap.name == "viridis"
        assert display.im_.get_clim() == (cm.counts.min(), cm.counts.max())


def test_one_huge_error_does_not_bleach_the_others():
    counts = np.full((10, 10), 5) + np.diag(np.full(10, 100))
    counts[3, 7] = 5_000
    display = ConfusionMatrixDisplay(dc.ConfusionMatrix.from_counts(counts)).plot()
    assert display.im_.get_clim()[1] == 20
    assert display.im_.colorbar.extend == "max"
    assert display.text_[3, 7].get_text() == "5000"


def test_options_reach_imshow_and_text():
    display = ConfusionMatrixDisplay(simulated(3)).plot(
        im_kw={"vmin": 0, "vmax": 7, "alpha": 0.5},
        text_kw={"fontsize": 4, "color": "red"},
        values_format=".1e",
        colorbar=False,
        xticks_rotation="vertical",
    )
    assert display.im_.get_clim() == display.im_diagonal_.get_clim() == (0, 7)
    assert display.im_.get_alpha() == 0.5
    assert display.im_.colorbar is None
    assert {text.get_fontsize() for text in display.text_.flat} == {4}
    assert {text.get_color() for text in display.text_.flat} == {"red"}
    first = display.confusion_matrix[0, 0]
    assert display.text_[0, 0].get_text() == f"{first:.1e}"
    assert {label.get_rotation() for label in display.ax_.get_xticklabels()} == {90.0}


def test_a_norm_is_not_shared_by_the_two_scales():
    norm = mpl.colors.PowerNorm(0.5)
    display = ConfusionMatrixDisplay(simulated(5)).plot(im_kw={"norm": norm})
    assert display.im_.get_clim()[1] < display.im_diagonal_.get_clim()[1]
    assert norm.vmax is None


def test_weighted_counts_are_short_and_take_no_integer_format():
    cm = dc.ConfusionMatrix.from_predictions([0, 0, 1], [0, 1, 1], sample_weight=[1234.5, 0.25, 8])
    display = ConfusionMatrixDisplay(cm).plot()
    assert [[t.get_text() for t in row] for row in display.text_] == [["1234", "0.25"], ["0", "8"]]
    half = ConfusionMatrixDisplay(cm).plot(values_format=".1f")
    assert half.text_[0, 0].get_text() == "1234.5"


def test_counts_take_integer_formats():
    display = ConfusionMatrixDisplay(simulated(3)).plot(values_format=",d")
    assert display.text_[0, 0].get_text() == f"{display.confusion_matrix[0, 0]:,d}"


@pytest.mark.parametrize(
    ("n_classes", "normalize"), [(2, None), (10, "bi"), (30, None), (30, "bi"), (100, None)]
)
def test_numbers_and_names_fit_their_cells(n_classes, normalize):
    names = [f"species number {k}" for k in range(n_classes)]
    display = ConfusionMatrixDisplay.from_confusion_matrix(
        simulated(n_classes, names, total=3_000_000), normalize=normalize
    )
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
    cell = ax.get_window_extent().width / n_classes
    if n_classes <= 10:
        assert display.text_ is not None
    if n_classes >= 100:
        assert display.text_ is None
    if display.text_ is not None:
        boxes = [text.get_window_extent() for text in display.text_.flat]
        assert max(box.width for box in boxes) < cell
        assert max(box.height for box in boxes) < cell
        assert min(text.get_fontsize() for text in display.text_.flat) >= 5.5
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert min(label.get_fontsize() for label in labels) >= 5.5
    rows = [label.get_window_extent() for label in ax.get_yticklabels()]
    for above, below in itertools.pairwise(rows):
        assert above.y0 >= below.y1 - 1.0
    # Nothing is cut off at the border of the picture.
    whole = figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    assert whole.x0 >= -1
    assert whole.y0 >= -1
    assert whole.x1 <= figure.bbox.width + 1
    assert whole.y1 <= figure.bbox.height + 1


def test_values_can_be_forced_and_forbidden():
    _, small = plt.subplots(figsize=(2, 2))
    many = ConfusionMatrixDisplay(simulated(20))
    assert many.plot(ax=small).text_ is None
    assert many.plot(ax=small, include_values=True).text_.shape == (20, 20)
    assert ConfusionMatrixDisplay(simulated(3)).plot(include_values=False).text_ is None


def test_numbers_are_short_and_zero_is_told_from_almost_zero():
    n = dc.ConfusionMatrix.from_counts([[9_996, 4, 0], [10, 90, 0], [0, 40, 60]]).normalize("row")
    display = ConfusionMatrixDisplay(n).plot()
    texts = [[text.get_text() for text in row] for row in display.text_]
    assert texts == [
        ["1.00\n9996", ".00\n4", "·"],
        [".10\n10", ".90\n90", "·"],
        ["·", ".40\n40", ".60\n60"],
    ]


def test_cells_with_few_samples_are_faint():
    cm = [[80, 40, 1], [30, 90, 2], [1, 0, 50]]
    display = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="bi")
    few = np.array(cm) < 5
    soft = np.vectorize(lambda text: text.get_color() == "0.38")(display.text_)
    np.testing.assert_array_equal(soft, few)
    np.testing.assert_array_equal(display.im_.get_alpha(), np.where(few, 0.5, 1.0))
    counts = ConfusionMatrixDisplay.from_confusion_matrix([[8, 0], [4, 5]])
    assert counts.text_[0, 1].get_color() == "0.38"


@pytest.mark.parametrize("look", [{}, {"cmap": "viridis"}, {"cmap": "RdBu"}])
def test_every_number_can_be_read_on_its_cell(look):
    from matplotlib.colors import to_rgb

    def light(colour):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722])) + 0.05

    counts = np.arange(144).reshape(12, 12) % 61 + np.diag(np.arange(12) * 11)
    for normalize in (None, "bi"):
        display = ConfusionMatrixDisplay.from_confusion_matrix(
            counts, normalize=normalize, include_values=True, **look
        )
        for i, j in np.ndindex(12, 12):
            image = display.im_diagonal_ if i == j and not look else display.im_
            value = np.ma.asarray(image.get_array())[i, j]
            alpha = image.get_alpha()
            kept = 1.0 if alpha is None else alpha[i, j]
            under = 1 + kept * (np.array(image.cmap(image.norm(value))[:3]) - 1)
            low, high = sorted([light(under), light(to_rgb(display.text_[i, j].get_color()))])
            assert high / low >= 4.5


def test_a_class_never_seen_has_no_number():
    cm = dc.ConfusionMatrix.from_counts([[8, 1, 0], [2, 9, 0], [0, 0, 0]], labels=["a", "b", "c"])
    display = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="bi")
    assert np.isnan(display.confusion_matrix[2]).all()
    assert [text.get_text() for text in display.text_[2]] == ["–", "–", "–"]
    assert np.isnan(display.confusion_matrix[:, 2]).all()
    assert np.isfinite(display.confusion_matrix[:2, :2]).all()


def test_names_that_are_left_out_are_counted_on_the_axes():
    few = ConfusionMatrixDisplay(simulated(30)).plot()
    assert few.ax_.get_ylabel() == "True label"
    assert len(few.ax_.get_yticklabels()) == 30
    many = ConfusionMatrixDisplay(simulated(300)).plot(colorbar=False)
    shown = len(many.ax_.get_yticklabels())
    step = int(many.ax_.get_ylabel().removeprefix("True label (1 of ").split()[0])
    assert shown == -(-300 // step) < 300
    assert many.ax_.get_xlabel() == f"Predicted label (1 of {step} named)"


def test_text_in_svg_is_text(tmp_path):
    figure = ConfusionMatrixDisplay(simulated(2, ["cat", "dog"])).plot().figure_
    write_figure(figure, tmp_path / "m.svg")
    assert ">cat</text>" in (tmp_path / "m.svg").read_text()


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        ConfusionMatrixDisplay.from_confusion_matrix(simulated(2), colour="red")


def test_undefined_cells_are_grey_with_a_dash():
    cm = dc.ConfusionMatrix.from_counts([[8, 1], [0, 0]])
    with pytest.warns(dc.errors.UndefinedCellsWarning):
        display = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="row")
    assert [text.get_text() for text in display.text_[1]] == ["–", "–"]
    picture = rendered(display.figure_)
    x, y = display.ax_.transData.transform((0.35, 1.35)).astype(int)
    red, green, blue, _ = picture[picture.shape[0] - y, x]
    assert red == green == blue == round(0.82 * 255)


@pytest.mark.parametrize("rc", [{}, {"text.parse_math": True}])
def test_names_from_data_stay_text(rc):
    with mpl.rc_context(rc), warnings.catch_warnings():
        warnings.simplefilter("error")
        display = ConfusionMatrixDisplay(simulated(len(HOSTILE), HOSTILE)).plot()
        rendered(display.figure_)
        buffer = io.BytesIO()
        display.figure_.savefig(buffer, format="svg")
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown[1] == r"$\frac{1}{$"
    assert shown[3] == r"\x1b[31mred\x1b[0m"
    assert shown[4] == r"two\nlines"
    assert len(shown[5]) == 24
    assert shown[6] == r"\u202eesrever"
    assert shown[7] == "''"
    assert not any(label.get_parse_math() for label in display.ax_.get_xticklabels())
    assert b"<img" not in buffer.getvalue()
    assert list(display.display_labels) == HOSTILE


def test_arrays_are_drawn_as_they_are():
    values = np.array([[0.5, np.nan], [0.25, 1.0]])
    display = ConfusionMatrixDisplay(values, display_labels=["no", "yes"]).plot()
    assert display.confusion_matrix is values
    assert display.ax_.get_title() == ""
    assert display.text_[0, 1].get_text() == "–"


def test_a_single_class_and_a_perfect_classifier_can_be_drawn():
    for counts in ([[5]], [[5, 0], [0, 3]], [[0, 0], [0, 0]]):
        display = ConfusionMatrixDisplay(dc.ConfusionMatrix.from_counts(counts)).plot()
        rendered(display.figure_)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2, 3], [4, 5, 6]], r"must be square, got shape \(2, 3\)"),
        ([["a", "b"], ["c", "d"]], "must be numbers, got 'a', 'b' and 2 more"),
        ([[1.0, np.inf], [0.0, 1.0]], "must be finite, got 1 infinite"),
        (np.zeros((4_001, 4_001), dtype=np.int8), "at most 4,000 classes, got 4,001"),
    ],
)
def test_what_cannot_be_drawn_is_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        ConfusionMatrixDisplay(np.array(matrix))


def test_display_labels_must_be_one_per_class():
    with pytest.raises(InputError, match="one name per class, got 1 names for 3 classes"):
        ConfusionMatrixDisplay(simulated(3), display_labels=["a"])


def test_four_matrices_make_one_picture():
    cm = simulated(10)
    figure = plot_four(cm)
    assert [ax.get_title().split()[0] for ax in figure.axes] == [
        "All-normalized", "Row-normalized", "Column-normalized", "Bi-normalized",
    ]  # fmt: skip
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in figure.axes)
    figure.canvas.draw()
    assert len({round(ax.get_window_extent().y0) for ax in figure.axes}) == 1
    own = Figure()
    assert plot_four(cm, columns=2, figure=own, epsilon=0.5) is own
    assert own.axes[3].get_title().startswith("Bi-normalized (epsilon 0.5)")
    with pytest.raises(InputError, match="`columns` must be 1, 2 or 4, got 3"):
        plot_four(cm, columns=3)


def test_a_figure_is_written_whole_or_not_at_all(tmp_path):
    figure = ConfusionMatrixDisplay(simulated(3)).plot().figure_
    for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        write_figure(figure, tmp_path / f"matrix.{suffix}")
        assert (tmp_path / f"matrix.{suffix}").read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"name that ends in its format, got '.*matrix\.docx'"):
        write_figure(figure, tmp_path / "matrix.docx")
    assert len(list(tmp_path.iterdir())) == 3


def margin_lengths(display: ConfusionMatrixDisplay) -> list[list[float]]:
    """Return the lengths of the bars above and left of the cells, the longest as one."""
    patches = [artist for artist in display.ax_.patches if isinstance(artist, StepPatch)]
    lengths = [np.asarray(patch.get_data().values) - patch.get_data().baseline for patch in patches]
    return [(length / np.max(lengths)).tolist() for length in lengths]


def test_margins_are_bars_as_long_as_the_sums():
    cm = dc.ConfusionMatrix.from_counts([[30, 10], [0, 20]], labels=["a", "b"])
    display = ConfusionMatrixDisplay.from_confusion_matrix(cm)
    assert margin_lengths(display) == [[0.75, 0.75], [1.0, 0.5]]
    display.figure_.canvas.draw()
    cells = display.ax_.get_window_extent()
    above, left = (patch.get_window_extent() for patch in display.ax_.patches)
    assert above.y0 > cells.y1
    assert left.x1 < cells.x0
    assert (above.x0, above.x1) == pytest.approx((cells.x0, cells.x1))
    display.ax_.set_title("A title of the reader's own")
    display.figure_.canvas.draw()
    assert above.y1 <= display.ax_.title.get_window_extent().y0, "stands above the bars"
    level = ConfusionMatrixDisplay.from_confusion_matrix(cm, normalize="bi")
    np.testing.assert_allclose(margin_lengths(level), 1.0, rtol=1e-8)
    bare = ConfusionMatrixDisplay(np.eye(2)).plot()
    assert margin_lengths(bare) == [], "an array is drawn as it is"


@pytest.mark.parametrize("layout", ["constrained", None])
@pytest.mark.parametrize("normalize", [None, "bi"])
def test_outcomes_stand_apart_and_change_nothing_in_the_square(normalize, layout):
    cm = dc.ConfusionMatrix.from_counts(
        [[80, 6, 14], [5, 70, 25], [12, 9, 0]], labels=["car", "bus", "$back$"]
    ).treat_as_outcome("$back$")
    _, ax = plt.subplots(layout=layout)
    display = ConfusionMatrixDisplay.from_confusion_matrix(
        cm, normalize=normalize, ax=ax, colorbar=False
    )
    square = dc.ConfusionMatrix.from_counts(cm.counts, labels=cm.labels)
    alone = ConfusionMatrixDisplay.from_confusion_matrix(square, normalize=normalize)
    np.testing.assert_array_equal(display.confusion_matrix, alone.confusion_matrix)
    beside, below = ax.child_axes[:2]
    shares = [bar.get_width() for bar in beside.patches]
    np.testing.assert_allclose(shares, [0.14, 0.25])
    np.testing.assert_allclose([-bar.get_height() for bar in below.patches], [12 / 97, 9 / 85])
    first = "14" if normalize is None else "14 %\n14"
    assert beside.texts[0].get_text() == first
    assert beside.get_xticklabels()[0].get_text() == "$back$"
    display.figure_.canvas.draw()
    cells = ax.get_window_extent()
    assert beside.get_window_extent().x0 > cells.x1
    assert below.get_window_extent().y1 < cells.y0
    colours = {bar.get_facecolor() for bar in (*beside.patches, *below.patches)}
    assert all(max(c[:3]) - min(c[:3]) < 0.06 for c in colours), "a grey"
