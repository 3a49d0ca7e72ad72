import numpy
import pytest

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.heat_map import (
    Box,
    draw_heat_map,
    heat_map_image,
    heat_map_table,
    measure_heat_map,
)
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict

GOOD, BAD = Verdict.satisfied, Verdict.violated
CELLS = [Cell(0, 1, 0, 1), Cell(1, 1, 1, 4), Cell(1, 3, 5, 0), Cell(2, 3, 5, 2)]
VERDICTS = [BAD, GOOD, GOOD, GOOD, BAD, Verdict.vacuous, GOOD]


@pytest.fixture
def result():
    return measure_heat_map(CELLS, VERDICTS, Box(symbols=1, length=2))


def test_cells_and_totals(result):
    assert [cell["correct"] for cell in result["cells"]] == [0, 3, 0, 1]
    # Out of all sentences: the mean over cells would be another number.
    assert result["overall"] == Proportion(4, 7)
    assert result["inside_box"] == Proportion(3, 5)
    assert result["outside_box"] == Proportion(1, 2)
    assert [row[:2] for row in heat_map_table(result)[1:]] == [
        [0, 1],
        [1, 4],
        [2, 2],
        ["inside box", 5],
        ["outside box", 2],
        ["overall", 7],
    ]


def test_colour_is_accuracy_and_brightness_is_density(result):
    image = heat_map_image(result["cells"], 4)
    assert image.shape == (3, 3, 3)  # 0 to 2 symbols, 1 to 3 tokens
    colours = plots.color_map("RdYlGn")
    assert image[1, 0] == pytest.approx(colours(0.75)[:3])  # 4 of 4 samples
    assert image[0, 0] == pytest.approx(numpy.multiply(colours(0.0)[:3], 0.25))
    assert image[2, 2] == pytest.approx(numpy.multiply(colours(0.5)[:3], 0.5))
    for empty in ((1, 2), (0, 1), (2, 0)):
        assert (image[empty] == 0).all()
    red, green = image[0, 0], heat_map_image([{**result["cells"][0], "correct": 1}], 4)[0, 0]
    assert red[0] > red[1] and green[1] > green[0]


def test_cells_of_a_stepped_grid_touch():
    cells = [
        {"symbols": symbols, "length": length, "count": 1, "correct": right}
        for symbols, length, right in ((4, 4, 1), (4, 8, 0), (8, 8, 1))
    ]
    image = heat_map_image(cells, 1)
    assert image.shape == (9, 8, 3)
    green, red = (plots.color_map("RdYlGn")(share)[:3] for share in (1.0, 0.0))
    for rows, columns, colour in (
        (slice(1, 5), slice(0, 4), green),
        (slice(1, 5), slice(4, 8), red),
        (slice(5, 9), slice(4, 8), green),
        (slice(5, 9), slice(0, 4), (0, 0, 0)),  # no such cell
        (slice(0, 1), slice(0, 8), (0, 0, 0)),
    ):
        assert numpy.allclose(image[rows, columns], colour)


def test_a_single_cell_is_one_pixel():
    image = heat_map_image([{"symbols": 2, "length": 3, "count": 1, "correct": 1}], 1)
    assert numpy.argwhere(image.any(axis=2)).tolist() == [[2, 2]]


def test_colours_may_begin_above_zero(result):
    image = heat_map_image(result["cells"], 4, lowest=0.5)
    colours = plots.color_map("RdYlGn")
    assert image[1, 0] == pytest.approx(colours(0.5)[:3])  # 0.75 is half-way
    assert image[0, 0] == pytest.approx(numpy.multiply(colours(0.0)[:3], 0.25))


def test_more_samples_than_full_brightness_are_no_brighter(result):
    assert heat_map_image(result["cells"], 1).max() <= 1.0
    assert heat_map_image(result["cells"], 2)[1, 0] == pytest.approx(
        heat_map_image(result["cells"], 4)[1, 0]
    )


def test_figure_shows_the_image_and_the_box(result, tmp_path, monkeypatch):
    figures = []
    save = plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    draw_heat_map(result, str(tmp_path / "map.png"), 4)
    assert (tmp_path / "map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert not list(tmp_path.glob(".map.png.*"))
    axes = figures[0].axes[0]
    (image,), (box,) = axes.get_images(), axes.get_lines()
    assert (image.get_array() == heat_map_image(result["cells"], 4)).all()
    # Pixels are unit squares around (length, symbols).
    assert image.get_extent() == [0.5, 3.5, -0.5, 2.5] and image.origin == "lower"
    assert (box.get_linestyle(), box.get_color()) == ("--", "w")
    corners = set(map(tuple, box.get_xydata()))
    assert corners == {(0.5, -0.5), (2.5, -0.5), (2.5, 1.5), (0.5, 1.5)}
    assert "57.14 %" in axes.get_title()
